# aferir.clock._native: both libraries for Python. Needs nanobind (requirements/build.in) and the
# headers of a Python; without them the rest is built all the same. The module keeps to the stable
# ABI of Python 3.11 (PEP 384), so that one wheel serves every later version, too: what differs
# between versions is in the package nanobind-backend, which pip chooses. With AFERIR_ONE_PYTHON, for
# distributions that compile for one Python and have no such package, it is compiled in.
option(AFERIR_ONE_PYTHON "Compile the clocks' module for the Python at hand alone" OFF)
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

if(AFERIR_ONE_PYTHON)
  nanobind_add_module(aferir_clock_python NB_STATIC python/module.cpp)
else()
  nanobind_add_module(aferir_clock_python BACKEND_MODULE nanobind_backend STABLE_ABI_VERSION 3.11
    python/module.cpp)
endif()
set_target_properties(aferir_clock_python PROPERTIES OUTPUT_NAME _native)
target_link_libraries(aferir_clock_python PRIVATE rgap)
target_link_options(aferir_clock_python PRIVATE -Wl,--exclude-libs,ALL)
install(TARGETS aferir_clock_python LIBRARY DESTINATION aferir/clock)
