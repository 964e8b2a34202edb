# Installs BUILD into WORK/prefix, moves it, and builds and runs EXAMPLES against it.
function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command} ended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}/prefix" "${WORK}/moved" "${WORK}/examples")
run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/prefix")
# A package must not remember where it was installed first.
file(RENAME "${WORK}/prefix" "${WORK}/moved")

run(${CMAKE_COMMAND} -S "${EXAMPLES}" -B "${WORK}/examples" -G Ninja
  -DCMAKE_PREFIX_PATH=${WORK}/moved -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
)
run(${CMAKE_COMMAND} --build "${WORK}/examples")

run("${WORK}/examples/embed")
if(NOT output MATCHES "loss [0-9.]+ -> [0-9.]+")
  message(FATAL_ERROR "embed printed: ${output}")
endif()
run("${WORK}/examples/quickstart")
if(NOT output MATCHES "step 40  loss [0-9.]+")
  message(FATAL_ERROR "quickstart printed: ${output}")
endif()
run("${WORK}/moved/bin/kolam" --version)
