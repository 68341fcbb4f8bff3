# Warnings, linking and installation that all our native programs share.

include(CheckCXXSourceCompiles)

add_library(aferir_warnings INTERFACE)
target_compile_options(aferir_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Warns of "text" + std::string without cause (GCC bug 105651).
  target_compile_options(aferir_warnings INTERFACE -Wno-restrict)
endif()
if(AFERIR_WERROR)
  target_compile_options(aferir_warnings INTERFACE -Werror)
endif()

# Optimisation of code whose time counts. Under sanitizers none does, and GCC takes up to four times as
# long for what is checked.
set(AFERIR_FASTEST -O3)
if(CMAKE_CXX_FLAGS MATCHES "fsanitize")
  set(AFERIR_FASTEST -O1)
endif()

# The same file is put into containers and guests that have another userland, or none.
if(AFERIR_STATIC)
  set(CMAKE_REQUIRED_FLAGS "-fopenmp -static")
  check_cxx_source_compiles("#include <omp.h>
    #include <string>
    int main(int, char** arguments) {
      int sum = 0;
      #pragma omp parallel reduction(+ : sum)
      sum += omp_get_thread_num();
      return sum + static_cast<int>(std::string(arguments[0]).size());
    }" AFERIR_LINK_STATIC)
  unset(CMAKE_REQUIRED_FLAGS)
endif()

add_library(aferir_static INTERFACE)
if(AFERIR_STATIC AND AFERIR_LINK_STATIC)
  target_link_options(aferir_static INTERFACE -static)
elseif(AFERIR_STATIC)
  message(WARNING "No static libc or libgomp: programs will need this system's libraries")
  target_link_options(aferir_static INTERFACE -static-libstdc++ -static-libgcc)
endif()

# OpenMP::OpenMP_CXX names the shared library by its path, which no static link can use; the
# compiler's own flag finds the right one.
add_library(aferir_openmp INTERFACE)
target_compile_options(aferir_openmp INTERFACE ${OpenMP_CXX_FLAGS})
target_link_options(aferir_openmp INTERFACE ${OpenMP_CXX_FLAGS})

# aferir_program(<target>): link as above and install where aferir.programs looks for programs.
function(aferir_program target)
  target_link_libraries(${target} PRIVATE aferir_warnings aferir_static)
  install(TARGETS ${target} RUNTIME DESTINATION aferir/kernels)
endfunction()
