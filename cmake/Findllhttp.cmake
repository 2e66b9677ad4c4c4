# SPDX-License-Identifier: Apache-2.0
#
# Defines llhttp::llhttp and LLHTTP_VERSION wherever llhttp comes from. Debian
# 13's config file exports llhttp::llhttp_shared and _static only, newer ones
# llhttp::llhttp as well, and pkg-config calls it libllhttp. The version is read
# from the header, because the config files disagree about where it is written.
set(LLHTTP_HOW)

if(NOT FARCALL_ONE)  # which wants the archive: Debian's config file has none
  find_package(llhttp CONFIG QUIET)
endif()
foreach(candidate llhttp::llhttp_shared llhttp::llhttp_static)
  if(TARGET ${candidate} AND NOT TARGET llhttp::llhttp)
    add_library(llhttp::llhttp INTERFACE IMPORTED)
    set_property(TARGET llhttp::llhttp
      PROPERTY INTERFACE_LINK_LIBRARIES ${candidate})
  endif()
endforeach()
if(TARGET llhttp::llhttp)
  set(LLHTTP_HOW "CMake package ${llhttp_DIR}")
endif()

if(NOT LLHTTP_HOW)
  pkg_check_modules(FARCALL_LLHTTP QUIET IMPORTED_TARGET libllhttp)
  if(FARCALL_LLHTTP_FOUND)
    add_library(llhttp::llhttp INTERFACE IMPORTED)
    set_property(TARGET llhttp::llhttp
      PROPERTY INTERFACE_LINK_LIBRARIES PkgConfig::FARCALL_LLHTTP)
    set(LLHTTP_HOW "pkg-config libllhttp")
  endif()
endif()

if(NOT LLHTTP_HOW)
  find_path(LLHTTP_INCLUDE_DIR llhttp.h)
  find_library(LLHTTP_LIBRARY llhttp)
  if(LLHTTP_INCLUDE_DIR AND LLHTTP_LIBRARY)
    add_library(llhttp::llhttp UNKNOWN IMPORTED)
    set_target_properties(llhttp::llhttp PROPERTIES
      IMPORTED_LOCATION ${LLHTTP_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${LLHTTP_INCLUDE_DIR})
    set(LLHTTP_HOW ${LLHTTP_LIBRARY})
  endif()
endif()

if(LLHTTP_HOW)
  # Compile the header as a user of the target would see it, and read the program: it may
  # be one of another processor.
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/llhttp_version)
  file(WRITE ${probe}.c [[
#include <llhttp.h>
#define WRITTEN(number) #number
#define TEXT(number) WRITTEN(number)
const char version[] =
    "version of llhttp " TEXT(LLHTTP_VERSION_MAJOR) "."
    TEXT(LLHTTP_VERSION_MINOR) "." TEXT(LLHTTP_VERSION_PATCH);
int main(void) { return version[0]; }
]])
  if(NOT DEFINED LLHTTP_VERSION)
    try_compile(LLHTTP_PROBE_BUILT ${probe} ${probe}.c
      LINK_LIBRARIES llhttp::llhttp COPY_FILE ${probe}.bin)
    if(LLHTTP_PROBE_BUILT)
      file(STRINGS ${probe}.bin version LIMIT_COUNT 1 REGEX "version of llhttp [0-9]")
      string(REGEX REPLACE "^.*version of llhttp ([0-9.]+).*$" "\\1" version "${version}")
      set(LLHTTP_VERSION ${version} CACHE INTERNAL "version of llhttp found")
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(llhttp
  REQUIRED_VARS LLHTTP_HOW LLHTTP_VERSION
  VERSION_VAR LLHTTP_VERSION)
