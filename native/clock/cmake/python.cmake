# aferir.clock._native: both libraries for Python. Needs nanobind (requirements/build.in) and the
# headers of the Python that the package is built for; without them the rest is built all the same.
find_package(Python 3.11 COMPONENTS Interpreter Development.Module)
if(Python_Development.Module_FOUND)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(nanobind CONFIG)
endif()
if(NOT nanobind_FOUND)
  message(WARNING "No headers of Python, or no nanobind: aferir.clock.rvec and rgap are left out")
  return()
endif()

nanobind_add_module(aferir_clock_python NB_STATIC python/module.cpp)
set_target_properties(aferir_clock_python PROPERTIES OUTPUT_NAME _native)
target_link_libraries(aferir_clock_python PRIVATE rgap)
target_link_options(aferir_clock_python PRIVATE -Wl,--exclude-libs,ALL)
install(TARGETS aferir_clock_python LIBRARY DESTINATION aferir/clock)
