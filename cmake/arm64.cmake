# SPDX-License-Identifier: Apache-2.0
#
# Compiles for AArch64 on another machine, with Debian's cross compiler and the libraries
# of FARCALL_SYSROOT, which `scripts/arm64` fills; tests run in qemu-user. Preset arm64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_STRIP aarch64-linux-gnu-strip)

if(DEFINED ENV{XDG_CACHE_HOME})
  set(FARCALL_SYSROOT $ENV{XDG_CACHE_HOME}/farcall/arm64/sysroot CACHE PATH
    "Folder of arm64 packages")
else()
  set(FARCALL_SYSROOT $ENV{HOME}/.cache/farcall/arm64/sysroot CACHE PATH
    "Folder of arm64 packages")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FARCALL_SYSROOT)
if(NOT EXISTS ${FARCALL_SYSROOT}/usr/include)
  message(FATAL_ERROR "no arm64 libraries in ${FARCALL_SYSROOT}: run scripts/arm64")
endif()

set(CMAKE_SYSROOT ${FARCALL_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${FARCALL_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${FARCALL_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${FARCALL_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${FARCALL_SYSROOT})
