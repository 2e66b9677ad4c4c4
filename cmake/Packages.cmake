# SPDX-License-Identifier: Apache-2.0
#
# The Debian packages, by CPack: scripts/debs, with -DFARCALL_PACKAGES=ON. A package is a
# component of Install.cmake, and what Debian wants of every package is added by
# PackageFiles.cmake once its files are there. The library's package is named after its
# soname, so that programs of two minor versions can be used side by side.
set(debian ${PROJECT_SOURCE_DIR}/config/debian)
install(FILES config/systemd/farcalld.conf DESTINATION /etc/farcall COMPONENT farcalld)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME farcall)
set(CPACK_PACKAGE_CONTACT "The developers of farcall <farcall@farcall.invalid>")
set(CPACK_PACKAGE_VENDOR farcall)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/PackageFiles.cmake)
set(CPACK_FARCALL_SOURCE ${PROJECT_SOURCE_DIR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL farcall farcalld lib dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENT_DEV_DEPENDS lib)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0.1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)

set(release ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(what "Functions that were compiled by MLIR or IREE are called over HTTP, with
tensors as JSON or as bytes.")
foreach(row
    "FARCALL|farcall|utils|compiled MLIR and IREE functions, from the command line|This \
package has farcall, which calls, lists, compiles and measures them."
    "FARCALLD|farcalld|net|server of compiled MLIR and IREE functions|This package has \
farcalld, the server, and its units for systemd."
    "LIB|libfarcall${release}|libs|library that calls compiled MLIR and IREE functions|\
This package has the shared library."
    "DEV|libfarcall-dev|libdevel|library that calls compiled MLIR and IREE functions - \
headers|This package has headers, the archive, and what CMake and pkg-config need.")
  string(REPLACE "|" ";" row "${row}")
  list(POP_FRONT row id name section summary text)
  set(CPACK_DEBIAN_${id}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${id}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${id}_DESCRIPTION "${summary}\n${what}\n${text}")
endforeach()
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

# farcalld and farcall are linked with the archive. They load OpenSSL when it is wanted, so
# dpkg-shlibdeps does not see it.
set(CPACK_DEBIAN_FARCALLD_PACKAGE_DEPENDS
  "systemd | systemd-standalone-sysusers, systemd | systemd-standalone-tmpfiles")
if(FARCALL_TLS)
  string(APPEND CPACK_DEBIAN_FARCALLD_PACKAGE_DEPENDS ", libssl3 (>= 3.0.0)")
  set(CPACK_DEBIAN_FARCALL_PACKAGE_DEPENDS "libssl3 (>= 3.0.0)")
endif()
set(CPACK_DEBIAN_FARCALLD_PACKAGE_RECOMMENDS farcall)
set(CPACK_DEBIAN_FARCALL_PACKAGE_SUGGESTS "farcalld, mlir-22-tools, llvm-22")
string(CONCAT CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "libffi-dev, libyyjson-dev, nettle-dev, zlib1g-dev")
set(CPACK_DEBIAN_FARCALLD_PACKAGE_CONTROL_EXTRA
  ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA ${debian}/triggers)

include(CPack)
