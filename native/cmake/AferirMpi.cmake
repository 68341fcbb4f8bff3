# MPI libraries, each by what its own compiler wrapper passes on: several may be installed, and
# CMake's FindMPI knows one.

# aferir_find_mpi(<name>): the target aferir_mpi_<name>, if there is a mpicc.<name>.
function(aferir_find_mpi name)
  find_program(AFERIR_MPICC_${name} NAMES mpicc.${name} DOC "Compiler wrapper of ${name}")
  if(NOT AFERIR_MPICC_${name})
    message(STATUS "No mpicc.${name}: nothing is built for it")
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
foreach(name IN LISTS AFERIR_MPIS)
  aferir_find_mpi(${name})
endforeach()

# Environment of tests that start MPI programs. What an MPI keeps until the end of a program is not
# ours to free. And hwloc, which MPIs ask for the machine, reads the names of all PCI devices into a
# buffer that grows: a sanitizer copies it each time, which takes a rank a second of a processor.
set(AFERIR_MPI_TEST_ENVIRONMENT ASAN_OPTIONS=detect_leaks=0 HWLOC_COMPONENTS=-pci)
