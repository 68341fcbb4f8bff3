# Each object of one instruction-set level offers exactly one symbol to the linker: its entry point.
# Any other could be picked, with its newer instructions, for the sake of an older level.
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --defined-only --extern-only ${object}
    OUTPUT_VARIABLE symbols OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
  list(LENGTH lines count)
  if(NOT count EQUAL 1 OR NOT symbols MATCHES "isa_")
    message(FATAL_ERROR "${object} offers more or less than its entry point:\n${symbols}")
  endif()
endforeach()
list(LENGTH OBJECTS count)
if(count EQUAL 0)
  message(FATAL_ERROR "no objects were given")
endif()
