# MPI libraries, each by what its own compiler wrapper passes on: several may be installed, and
# CMake's FindMPI knows one.

# aferir_mpicc(<name> <macro>): sets AFERIR_MPICC_<name>. Debian calls the wrapper mpicc.<name>; elsewhere it
# is an mpicc whose mpi.h defines the macro. Any other is named by -DAFERIR_MPICC_<name>=PATH.
function(aferir_mpicc name macro)
  find_program(AFERIR_MPICC_${name} NAMES mpicc.${name} DOC "Compiler wrapper of ${name}")
  find_program(AFERIR_MPICC NAMES mpicc DOC "Compiler wrapper of whichever MPI")
  if(AFERIR_MPICC_${name} OR NOT AFERIR_MPICC)
    return()
  endif()
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/mpi.c "#include <mpi.h>\n")
  execute_process(COMMAND ${AFERIR_MPICC} -E -dM ${CMAKE_CURRENT_BINARY_DIR}/mpi.c
    OUTPUT_VARIABLE macros ERROR_QUIET)
  if(macros MATCHES "#define ${macro} ")
    set(AFERIR_MPICC_${name} ${AFERIR_MPICC} CACHE FILEPATH "Compiler wrapper of ${name}" FORCE)
  endif()
endfunction()

# aferir_find_mpi(<name> <macro>): the target aferir_mpi_<name>, if there is a compiler wrapper of it.
function(aferir_find_mpi name macro)
  aferir_mpicc(${name} ${macro})
  if(NOT AFERIR_MPICC_${name})
    message(STATUS "No mpicc of ${name}: nothing is built for it")
    return()
  endif()
  execute_process(COMMAND ${AFERIR_MPICC_${name}} -show OUTPUT_VARIABLE shown
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(words UNIX_COMMAND "${shown}")
  add_library(aferir_mpi_${name} INTERFACE)
  foreach(word IN LISTS words)
    if(word MATCHES "^-I(.+)")
      target_include_directories(aferir_mpi_${name} SYSTEM INTERFACE ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-L(.+)")
      target_link_directories(aferir_mpi_${name} INTERFACE ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-l(.+)")
      target_link_libraries(aferir_mpi_${name} INTERFACE ${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

set(AFERIR_MPIS openmpi mpich)
aferir_find_mpi(openmpi OPEN_MPI)
aferir_find_mpi(mpich MPICH_NAME)

# How many ranks tests start with each. MPICH's spin without giving way: each message takes a time
# slice where ranks are more than processors. What our code does to memory is the same with either
# MPI, so that sanitizers see more ranks with the other one alone.
set(AFERIR_MOST_RANKS_openmpi 64)
set(AFERIR_MOST_RANKS_mpich 64)
if(CMAKE_CXX_FLAGS MATCHES "fsanitize")
  set(AFERIR_MOST_RANKS_mpich 2)
endif()

# Environment of tests that start MPI programs. What an MPI keeps until the end of a program is not
# ours to free. And hwloc, which MPIs ask for the machine, reads the names of all PCI devices into a
# buffer that grows: a sanitizer copies it each time, which takes a rank a second of a processor.
# UCX, by which MPICH sends, opens every interface of the network unless it is told that ranks are on
# one host: MPI_Init fails when another test removes an interface meanwhile.
set(AFERIR_MPI_TEST_ENVIRONMENT ASAN_OPTIONS=detect_leaks=0 HWLOC_COMPONENTS=-pci
  UCX_TLS=self,sm)
