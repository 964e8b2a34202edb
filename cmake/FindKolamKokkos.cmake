# Finds Kokkos and Kokkos Kernels and defines the interface targets kolam::kokkos and
# kolam::kokkos_kernels.
#
# A real installation (CMAKE_PREFIX_PATH, Kokkos_ROOT) is tried first. Debian ships Kokkos as a part
# of Trilinos, with CMake files that name folders that do not exist: there the headers are located
# under include/trilinos and the libraries by name.
find_package(Kokkos CONFIG QUIET NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH)
if(Kokkos_FOUND)
  find_package(KokkosKernels CONFIG REQUIRED)
  set(KolamKokkos_VERSION "${Kokkos_VERSION}")
  set(_kolam_kokkos_libraries Kokkos::kokkos)
  set(_kolam_kokkos_kernels_libraries Kokkos::kokkoskernels)
  set(_kolam_kokkos_includes "")
else()
  find_path(KolamKokkos_INCLUDE_DIR Kokkos_Core.hpp PATH_SUFFIXES trilinos)
  find_library(KolamKokkos_CORE_LIBRARY trilinos_kokkoscore)
  find_library(KolamKokkos_KERNELS_LIBRARY trilinos_kokkoskernels)
  set(_kolam_kokkos_libraries "${KolamKokkos_CORE_LIBRARY}" ${CMAKE_DL_LIBS})
  set(_kolam_kokkos_kernels_libraries "${KolamKokkos_KERNELS_LIBRARY}")
  set(_kolam_kokkos_includes "${KolamKokkos_INCLUDE_DIR}")
  mark_as_advanced(KolamKokkos_INCLUDE_DIR KolamKokkos_CORE_LIBRARY KolamKokkos_KERNELS_LIBRARY)
endif()

include(FindPackageHandleStandardArgs)
if(Kokkos_FOUND)
  find_package_handle_standard_args(KolamKokkos
    REQUIRED_VARS Kokkos_DIR KokkosKernels_DIR VERSION_VAR KolamKokkos_VERSION)
else()
  find_package_handle_standard_args(KolamKokkos
    REQUIRED_VARS KolamKokkos_CORE_LIBRARY KolamKokkos_KERNELS_LIBRARY KolamKokkos_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install libtrilinos-kokkos-dev and libtrilinos-kokkos-kernels-dev, or set Kokkos_ROOT")
endif()

if(KolamKokkos_FOUND AND NOT TARGET kolam::kokkos)
  add_library(kolam::kokkos INTERFACE IMPORTED)
  target_link_libraries(kolam::kokkos INTERFACE ${_kolam_kokkos_libraries})
  target_include_directories(kolam::kokkos SYSTEM INTERFACE ${_kolam_kokkos_includes})
  add_library(kolam::kokkos_kernels INTERFACE IMPORTED)
  target_link_libraries(kolam::kokkos_kernels INTERFACE ${_kolam_kokkos_kernels_libraries} kolam::kokkos)
  target_include_directories(kolam::kokkos_kernels SYSTEM INTERFACE ${_kolam_kokkos_includes})
endif()
