# Programs once more for 32 bits (gcc -m32), if asked: it takes Debian's g++-multilib, and as long again
# for what few need. They are built by this project itself in a folder of its own, since most of what they
# are made of has to be compiled again. There is no 32-bit MPI to link to, so threads alone.
option(AFERIR_32 "Build 32-bit variants of programs (takes g++-multilib)" OFF)
if(NOT AFERIR_32 OR CMAKE_CXX_FLAGS OR NOT AFERIR_LINK_STATIC OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  return()
endif()

set(CMAKE_REQUIRED_FLAGS "-m32 -fopenmp -static")
check_cxx_source_compiles("#include <omp.h>
  #include <string>
  static_assert(sizeof(void*) == 4 && __i386__);
  int main(int, char** arguments) {
    int sum = 0;
    #pragma omp parallel reduction(+ : sum)
    sum += omp_get_thread_num();
    return sum + static_cast<int>(std::string(arguments[0]).size());
  }" AFERIR_HAS_32)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT AFERIR_HAS_32)
  message(FATAL_ERROR "No libraries for -m32: apt-get install g++-multilib")
endif()

include(ExternalProject)
set(folder ${PROJECT_BINARY_DIR}/m32)
ExternalProject_Add(aferir_32
  SOURCE_DIR ${PROJECT_SOURCE_DIR}
  BINARY_DIR ${folder}
  PREFIX ${PROJECT_BINARY_DIR}/m32-steps
  CMAKE_ARGS
    -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DCMAKE_C_FLAGS=-m32 -DCMAKE_CXX_FLAGS=-m32
    -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    -DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
    -DAFERIR_WERROR=${AFERIR_WERROR}
  BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target lattice-boltzmann
  INSTALL_COMMAND ""
  BUILD_ALWAYS ON)
install(PROGRAMS ${folder}/native/kernels/lbm/lattice-boltzmann
  DESTINATION aferir/kernels RENAME lattice-boltzmann-32)
