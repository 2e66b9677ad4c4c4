# SPDX-License-Identifier: Apache-2.0
#
# Installs the programs, libfarcall, its headers, what find_package(farcall) and
# pkg-config need, and the units of systemd. Components are the Debian packages of
# Packages.cmake: farcall, farcalld, lib, dev.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/farcall)
set(data ${CMAKE_INSTALL_DATADIR})

install(TARGETS farcall farcall-shared EXPORT farcall
  ARCHIVE COMPONENT dev
  LIBRARY COMPONENT lib NAMELINK_COMPONENT dev)
install(FILES cmake/exports.list DESTINATION ${data}/farcall COMPONENT dev)
install(DIRECTORY include/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING
  PATTERN "*.h" PATTERN "*.def")

if(TARGET farcall-cli)
  install(TARGETS farcall-cli RUNTIME COMPONENT farcall)
endif()

if(TARGET farcalld)
  install(TARGETS farcalld RUNTIME COMPONENT farcalld)
endif()
install(FILES config/farcalld.conf DESTINATION ${data}/farcall COMPONENT farcalld)
install(DIRECTORY config/grafana config/prometheus
  DESTINATION ${data}/farcall COMPONENT farcalld)

# systemd looks below /usr/local/lib as it does below /usr/lib.
file(READ config/systemd/farcalld.service unit)
string(REPLACE /usr/local/bin ${CMAKE_INSTALL_FULL_BINDIR} unit "${unit}")
file(WRITE ${PROJECT_BINARY_DIR}/farcalld.service "${unit}")
foreach(name farcalld.service farcalld@.service)
  install(FILES ${PROJECT_BINARY_DIR}/farcalld.service RENAME ${name}
    DESTINATION lib/systemd/system COMPONENT farcalld)
endforeach()
install(FILES config/systemd/farcalld.socket
  DESTINATION lib/systemd/system COMPONENT farcalld)
foreach(folder sysusers tmpfiles)
  install(FILES config/systemd/${folder}.conf RENAME farcalld.conf
    DESTINATION lib/${folder}.d COMPONENT farcalld)
endforeach()

install(EXPORT farcall NAMESPACE farcall:: FILE farcall-targets.cmake
  DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(cmake/farcall-config.cmake.in
  ${PROJECT_BINARY_DIR}/farcall-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/farcall-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/farcall-config.cmake
  ${PROJECT_BINARY_DIR}/farcall-config-version.cmake
  DESTINATION ${package_dir} COMPONENT dev)

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
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir} COMPONENT dev)
endforeach()

if(FARCALL_PACKAGES)
  include(Packages)
endif()
