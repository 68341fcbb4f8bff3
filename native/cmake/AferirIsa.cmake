# One compute source, compiled once for each level of the x86-64 instruction set.
#
# The danger: an inline function or template that an x86-64-v4 object emits as a COMDAT may be the
# copy that the linker keeps for everybody, and the v2 path then dies of an illegal instruction.
# So the objects of one level are first joined by `ld -r --force-group-allocation`, which turns
# COMDAT groups into plain sections, and then every symbol but the entry point is made local by
# objcopy. No other object can see, let alone pick, the code inside. tests/kernels/sealed.cmake
# asserts that exactly one symbol is left global. `-d` gives common symbols their place before: as
# local ones they would have none, and clang's lock of `omp critical` is one.

include(CheckCXXSourceRuns)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(AFERIR_ISAS v2 v3 v4)
else()
  set(AFERIR_ISAS base)
endif()

if(NOT CMAKE_OBJCOPY)
  message(FATAL_ERROR "objcopy is missing: install binutils")
endif()
# LLVM's linker has no --force-group-allocation before release 19; binutils' has since 2.29.
# A cross-compiler's own is named by the compiler.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-prog-name=ld.bfd
  OUTPUT_VARIABLE AFERIR_OWN_LD OUTPUT_STRIP_TRAILING_WHITESPACE)
find_program(AFERIR_LD NAMES ${AFERIR_OWN_LD} ld.bfd ld REQUIRED)
set(AFERIR_LD_FORMAT)
if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(AFERIR_LD_FORMAT -m elf_i386)  # built with -m32 on a 64-bit system
endif()

# aferir_ranks_isas(<output-variable>): the levels that programs of ranks are compiled for.
# Under sanitizers that is the one that they run at here, the best of this processor: of their tests
# none names another, and what is compiled with checks of all memory takes long.
function(aferir_ranks_isas output)
  set(${output} ${AFERIR_ISAS} PARENT_SCOPE)
  if(NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
    return()
  endif()
  foreach(pair v4:avx512vl v3:avx2 v2:sse4.2)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 isa)
    list(GET pair 1 feature)
    if(isa IN_LIST AFERIR_ISAS)
      check_cxx_source_runs(
        "int main() { return !__builtin_cpu_supports(\"${feature}\"); }" AFERIR_RUNS_${isa})
      if(AFERIR_RUNS_${isa})
        set(${output} ${isa} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# aferir_isa_library(<name> <isa> SOURCES <files> [OPTIONS <flags>])
# Makes an object library of this level, <name>_<isa>.
function(aferir_isa_library name isa)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;OPTIONS")
  set(target ${name}_${isa})
  add_library(${target} OBJECT ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE aferir_warnings aferir_openmp)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/native/kernels)
  target_compile_definitions(${target} PRIVATE AFERIR_ISA=isa_${isa})
  if(NOT isa STREQUAL base)
    target_compile_options(${target} PRIVATE -march=x86-64-${isa})
  endif()
  # Poisoning every temporary of an unrolled kernel takes compilers a quarter of an hour, and so do
  # checks of every reference to one; what arithmetic and heap accesses do is checked all the same.
  if(CMAKE_CXX_FLAGS MATCHES "fsanitize")
    target_compile_options(${target} PRIVATE -fno-sanitize-address-use-after-scope
      -fno-sanitize=undefined -fsanitize=signed-integer-overflow,shift,integer-divide-by-zero)
    # The same checks, called instead of copied to each access: a quarter less to compile.
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${target} PRIVATE --param=asan-instrumentation-with-call-threshold=0)
    endif()
  endif()
  # `ld -r` and objcopy have to find machine code, whatever a distribution's flags are.
  target_compile_options(${target} PRIVATE ${arg_OPTIONS} -fno-lto)
  # Unique symbols would stay global whatever objcopy is told.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fno-gnu-unique)
  endif()
endfunction()

# aferir_isa_object(<output-variable> <name> <isa> ENTRY <mangled symbols> SOURCES <files>
#                   [OPTIONS <flags>] [WITH <libraries of aferir_isa_library, without their levels>])
# Sets the output variable to the path of one relocatable object of this level.
function(aferir_isa_object output name isa)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "ENTRY;SOURCES;OPTIONS;WITH")
  set(target ${name}_${isa})
  aferir_isa_library(${name} ${isa} SOURCES ${arg_SOURCES} OPTIONS ${arg_OPTIONS})
  list(TRANSFORM arg_WITH REPLACE "(.+)" "$<TARGET_OBJECTS:\\1_${isa}>" OUTPUT_VARIABLE objects)
  list(PREPEND objects $<TARGET_OBJECTS:${target}>)

  set(joined ${CMAKE_CURRENT_BINARY_DIR}/${target}.joined.o)
  set(sealed ${CMAKE_CURRENT_BINARY_DIR}/${target}.sealed.o)
  list(TRANSFORM arg_ENTRY PREPEND --keep-global-symbol= OUTPUT_VARIABLE keep)
  add_custom_command(
    OUTPUT ${sealed}
    COMMAND ${AFERIR_LD} ${AFERIR_LD_FORMAT} -r -d --force-group-allocation -o ${joined} ${objects}
    COMMAND ${CMAKE_OBJCOPY} ${keep} ${joined} ${sealed}
    DEPENDS ${objects}
    COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${sealed} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${output} ${sealed} PARENT_SCOPE)
  set_property(GLOBAL APPEND PROPERTY AFERIR_SEALED_OBJECTS ${sealed})
endfunction()
