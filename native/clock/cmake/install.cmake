# What find_package(aferir_clock) and pkg-config need to find the installed libraries.
set(clock_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/aferir_clock)

get_property(clock_libraries GLOBAL PROPERTY AFERIR_CLOCK_LIBRARIES)
install(TARGETS ${clock_libraries} EXPORT aferir_clock COMPONENT clock
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/../include/aferir COMPONENT clock
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "rvec.h*" PATTERN "rgap.h*")
install(EXPORT aferir_clock NAMESPACE aferir:: FILE aferir_clock-targets.cmake COMPONENT clock
  DESTINATION ${clock_cmake_dir})

file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/aferir_clock-config.cmake
  "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n"
  "include(\${CMAKE_CURRENT_LIST_DIR}/aferir_clock-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/aferir_clock-config-version.cmake
  VERSION ${clock_version} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/aferir_clock-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/aferir_clock-config-version.cmake
  COMPONENT clock DESTINATION ${clock_cmake_dir})

set(rvec_description "Strictly increasing clock read without a system call")
set(rgap_description "Global clock without resynchronisation")
set(rvec_requires "")
set(rgap_requires "rvec")
# Relative, so that an installed tree may be moved.
file(RELATIVE_PATH clock_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name IN LISTS clock_libraries)
  set(clock_name ${name})
  set(clock_description ${${name}_description})
  set(clock_requires ${${name}_requires})
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/library.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc COMPONENT clock
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/../../share/man/man3/${name}.3 COMPONENT clock
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
endforeach()
