# The package: libraries, headers, and what find_package(kolam) needs.
include(CMakePackageConfigHelpers)

set(KOLAM_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/kolam")

set(kolam_installed kolam_core kolam_parallel kolam_models)
if(KOLAM_USES_MPI)
  list(APPEND kolam_installed kolam_mpi)
endif()
install(TARGETS ${kolam_installed} EXPORT kolamTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
)
install(EXPORT kolamTargets NAMESPACE kolam:: DESTINATION ${KOLAM_PACKAGE_DIR})

foreach(layer core parallel models)
  install(DIRECTORY ${layer}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kolam/${layer}
    FILES_MATCHING PATTERN "*.hpp"
    # What only the library's own sources include.
    PATTERN gemm_onednn.hpp EXCLUDE
    PATTERN blas_threads.hpp EXCLUDE
    PATTERN call.hpp EXCLUDE
    PATTERN exchange.hpp EXCLUDE
    PATTERN call_checks.hpp EXCLUDE
    PATTERN reduce.hpp EXCLUDE
    PATTERN rendezvous.hpp EXCLUDE
    PATTERN state.hpp EXCLUDE
    REGEX "in_process/communicator.hpp$" EXCLUDE
  )
endforeach()

configure_package_config_file(cmake/kolamConfig.cmake.in "${PROJECT_BINARY_DIR}/kolamConfig.cmake"
  INSTALL_DESTINATION ${KOLAM_PACKAGE_DIR}
)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kolamConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion
)
install(FILES
  "${PROJECT_BINARY_DIR}/kolamConfig.cmake" "${PROJECT_BINARY_DIR}/kolamConfigVersion.cmake"
  cmake/FindKolamKokkos.cmake cmake/FindHwloc.cmake cmake/FindOneDNN.cmake
  DESTINATION ${KOLAM_PACKAGE_DIR}
)
