# Finds oneDNN and defines the imported target OneDNN::dnnl.
#
# oneDNN's own configuration file demands the OpenCL development files wherever oneDNN was built
# with a GPU runtime, as Debian's is; kolam uses its CPU engine only, so they are not asked for.
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)
set(OneDNN_VERSION "")
if(OneDNN_INCLUDE_DIR)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" line
      REGEX "#define DNNL_VERSION_${part} +[0-9]+")
    string(REGEX REPLACE ".* ([0-9]+)" "\\1" number "${line}")
    list(APPEND OneDNN_VERSION ${number})
  endforeach()
  list(JOIN OneDNN_VERSION "." OneDNN_VERSION)
endif()
include(FindPackageHandleStandardArgs)
# 3.0 has another interface.
find_package_handle_standard_args(OneDNN
  REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "install oneDNN 2 (libdnnl-dev), or set KOLAM_ONEDNN=OFF")
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)
if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES
    IMPORTED_LOCATION "${OneDNN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
endif()
