# SPDX-License-Identifier: Apache-2.0
#
# Every library farcall links. core uses the first four; llhttp, OpenSSL and nghttp2 are
# used by server and cli, libuv by server alone.
find_package(PkgConfig REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

if(FARCALL_ONE)  # bin/farcall-one has of each library what it uses, where there is an archive
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
  set(libuv libuv-static)
else()
  set(libuv libuv)
endif()

pkg_check_modules(FARCALL_FFI REQUIRED IMPORTED_TARGET libffi>=3.3)
pkg_check_modules(FARCALL_YYJSON REQUIRED IMPORTED_TARGET yyjson>=0.10)
pkg_check_modules(FARCALL_ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(FARCALL_NETTLE REQUIRED IMPORTED_TARGET nettle>=3.7)
pkg_check_modules(FARCALL_UV REQUIRED IMPORTED_TARGET ${libuv}>=1.44)

if(FARCALL_HTTP2)
  pkg_check_modules(FARCALL_NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2>=1.52)
endif()

if(FARCALL_TLS)
  pkg_check_modules(FARCALL_SSL REQUIRED IMPORTED_TARGET openssl>=3.0)
endif()

find_package(llhttp MODULE REQUIRED)
if(LLHTTP_VERSION VERSION_LESS 9.2.1)
  message(FATAL_ERROR
    "llhttp ${LLHTTP_VERSION} is older than 9.2.1 and lets request smuggling "
    "through (CVE-2024-27982). scripts/deps installs a newer one.")
endif()

if(FARCALL_TESTS)
  pkg_check_modules(FARCALL_CMOCKA REQUIRED IMPORTED_TARGET cmocka>=1.1.5)
endif()
