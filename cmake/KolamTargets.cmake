# How kolam's own targets are made: one function per kind, so that flags stand in one place.

# Public headers are included as <kolam/core/...> in the tree too: the build makes the link folder.
set(KOLAM_INCLUDE_LINKS "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${KOLAM_INCLUDE_LINKS}/kolam")
foreach(layer core parallel models)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${layer}" "${KOLAM_INCLUDE_LINKS}/kolam/${layer}" SYMBOLIC)
endforeach()

# Warnings, instruction set and sanitizers of kolam's own code; never passed on to users.
add_library(kolam_build_flags INTERFACE)
target_compile_options(kolam_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<BOOL:${KOLAM_WARNINGS_AS_ERRORS}>:-Werror>
  $<$<BOOL:${KOLAM_NATIVE}>:-march=native>
  # g++ 12 warns falsely about "literal" + std::string (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
)
if(KOLAM_SANITIZE)
  target_compile_options(kolam_build_flags INTERFACE
    -fsanitize=${KOLAM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # Instrumented code makes g++ see uninitialized members in std::regex.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  )
  target_link_options(kolam_build_flags INTERFACE -fsanitize=${KOLAM_SANITIZE})
endif()

# kolam_library(NAME DEPENDENCY...): the static library kolam_NAME with the alias kolam::NAME.
function(kolam_library name)
  add_library(kolam_${name} STATIC)
  add_library(kolam::${name} ALIAS kolam_${name})
  set_target_properties(kolam_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(kolam_${name} PUBLIC cxx_std_20)
  target_include_directories(kolam_${name} PUBLIC
    $<BUILD_INTERFACE:${KOLAM_INCLUDE_LINKS}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  )
  target_link_libraries(kolam_${name} PUBLIC ${ARGN} PRIVATE $<BUILD_INTERFACE:kolam_build_flags>)
endfunction()
