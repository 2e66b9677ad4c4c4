# SPDX-License-Identifier: Apache-2.0
#
# Installs the programs, libfarcall, its headers, and what find_package(farcall)
# and pkg-config need.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/farcall)

install(TARGETS farcall farcall-shared EXPORT farcall)
install(FILES cmake/exports.list DESTINATION ${CMAKE_INSTALL_DATADIR}/farcall)
foreach(program farcalld farcall-cli)
  if(TARGET ${program})
    install(TARGETS ${program})
  endif()
endforeach()
install(FILES docs/farcalld.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES docs/farcall.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES config/completion/farcall.bash RENAME farcall
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES config/completion/_farcall
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES config/completion/farcall.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES config/farcalld.conf
  DESTINATION ${CMAKE_INSTALL_DATADIR}/farcall)
install(DIRECTORY config/grafana config/prometheus
  DESTINATION ${CMAKE_INSTALL_DATADIR}/farcall)
install(DIRECTORY include/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
  PATTERN "*.h" PATTERN "*.def")

install(EXPORT farcall NAMESPACE farcall:: FILE farcall-targets.cmake
  DESTINATION ${package_dir})
configure_package_config_file(cmake/farcall-config.cmake.in
  ${PROJECT_BINARY_DIR}/farcall-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/farcall-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/farcall-config.cmake
  ${PROJECT_BINARY_DIR}/farcall-config-version.cmake
  DESTINATION ${package_dir})

# Paths in the .pc file are relative to where it lies, unless somebody chose
# folders that are not below the prefix.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up /${pc_dir} /)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(name libdir includedir datadir)
  string(TOUPPER CMAKE_INSTALL_${name} folder)
  set(pc_${name} \${prefix}/${${folder}})
  if(IS_ABSOLUTE ${${folder}})
    set(pc_${name} ${${folder}})
  endif()
endforeach()
# Two names, because a linker that is given -lfarcall takes the shared library
# wherever both libraries are: farcall-static names the archive itself.
foreach(name farcall farcall-static)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir})
endforeach()
