# The Fortran module of librvec, where there is a Fortran compiler for this target.
include(CheckLanguage)
if(NOT CMAKE_CROSSCOMPILING)
  check_language(Fortran)
endif()
if(CMAKE_Fortran_COMPILER)
  enable_language(Fortran)
  add_library(rvec_fortran STATIC rvec.f90)
  set_target_properties(rvec_fortran PROPERTIES POSITION_INDEPENDENT_CODE ON
    Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fortran)
  target_include_directories(rvec_fortran
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}/fortran>)
  target_link_libraries(rvec_fortran PUBLIC rvec)
  # Compilers do not read each other's module files: each version has a folder, and others the source.
  if(NOT SKBUILD)
    string(REGEX MATCH "^[0-9]+" fortran_version "${CMAKE_Fortran_COMPILER_VERSION}")
    string(TOLOWER "${CMAKE_Fortran_COMPILER_ID}-${fortran_version}" fortran_version)
    set(fortran_dir ${CMAKE_INSTALL_LIBDIR}/aferir/fortran/${fortran_version})
    install(TARGETS rvec_fortran COMPONENT clock ARCHIVE DESTINATION ${fortran_dir})
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fortran/aferir_rvec.mod COMPONENT clock
      DESTINATION ${fortran_dir})
    install(FILES rvec.f90 COMPONENT clock DESTINATION ${CMAKE_INSTALL_DATADIR}/aferir)
  endif()
  if(BUILD_TESTING)
    add_executable(rvec_fortran_test ${CMAKE_CURRENT_SOURCE_DIR}/../tests/clock/rvec_fortran_test.f90)
    target_link_libraries(rvec_fortran_test PRIVATE rvec_fortran aferir_clock_link_flags)
    add_test(NAME clock.rvec_fortran_test COMMAND rvec_fortran_test)
  endif()
endif()
