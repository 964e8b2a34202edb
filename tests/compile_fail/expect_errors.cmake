# Compiles SOURCE and expects every `// error: MESSAGE` in it as an error of the compiler.
set(flags -std=c++20 -fsyntax-only)
foreach(folder IN LISTS INCLUDES)
  list(APPEND flags "-I${folder}")
endforeach()
foreach(folder IN LISTS SYSTEM_INCLUDES)
  list(APPEND flags -isystem "${folder}")
endforeach()

execute_process(COMMAND ${COMPILER} ${flags} -DKOLAM_ONLY_VALID ${SOURCE}
  RESULT_VARIABLE valid_result OUTPUT_VARIABLE valid_output ERROR_VARIABLE valid_output)
if(NOT valid_result EQUAL 0)
  message(FATAL_ERROR "without its mistakes the program must compile:\n${valid_output}")
endif()

execute_process(COMMAND ${COMPILER} ${flags} ${SOURCE}
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "the program with mistakes compiled")
endif()

# Not file(STRINGS): it would split at semicolons in the messages.
file(READ "${SOURCE}" text)
string(REPLACE ";" "<semicolon>" text "${text}")
string(REGEX MATCHALL "// error: [^\n]*" expectations "${text}")
list(LENGTH expectations count)
if(count EQUAL 0)
  message(FATAL_ERROR "${SOURCE} expects no error")
endif()
foreach(expectation IN LISTS expectations)
  string(REPLACE "// error: " "" expectation "${expectation}")
  string(REPLACE "<semicolon>" ";" expectation "${expectation}")
  string(FIND "${output}" "static assertion failed: ${expectation}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "the compiler did not say: ${expectation}\n${output}")
  endif()
endforeach()
message(STATUS "${count} mistakes are refused with their messages")
