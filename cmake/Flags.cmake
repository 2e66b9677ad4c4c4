# SPDX-License-Identifier: Apache-2.0
#
# farcall_flags: how every source of the project is compiled and linked. It is
# linked privately everywhere and never installed.
add_library(farcall_flags INTERFACE)

target_compile_definitions(farcall_flags INTERFACE _GNU_SOURCE)
target_compile_options(farcall_flags INTERFACE
  -fno-common -fno-math-errno -ffp-contract=off -fno-omit-frame-pointer
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion
  -Wvla -Walloca -Wundef -Wpointer-arith -Wwrite-strings -Wcast-align
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -Wnested-externs -Wformat=2 -Wimplicit-fallthrough -Wredundant-decls)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(farcall_flags INTERFACE
    -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init)
elseif(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  # This warning asks for attributes on static helpers that gcc checks well
  # without.
  target_compile_options(farcall_flags INTERFACE -Wno-missing-format-attribute)
endif()
if(FARCALL_WERROR)
  target_compile_options(farcall_flags INTERFACE -Werror)
endif()

# What is shipped does not depend on where it was built.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(map -ffile-prefix-map=${PROJECT_BINARY_DIR}=build
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  target_compile_options(farcall_flags INTERFACE ${map})
  # With FARCALL_LTO the linker compiles, in the folder of the build; the build id, which
  # is left when debug information is stripped, comes of its name.
  target_link_options(farcall_flags INTERFACE ${map})
endif()

if(FARCALL_HARDEN)
  target_compile_options(farcall_flags INTERFACE
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
    -fstack-protector-strong -fstack-clash-protection
    -ftrivial-auto-var-init=zero -fno-strict-overflow
    -fzero-call-used-regs=used-gpr)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    target_compile_options(farcall_flags INTERFACE -fcf-protection=full)
  endif()
  target_link_options(farcall_flags INTERFACE
    -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()

if(FARCALL_LTO)
  # Objects hold both what the linker optimises across files (WHOLE programs)
  # and ordinary code (the others): see Programs.cmake.
  target_compile_options(farcall_flags INTERFACE -flto -ffat-lto-objects)
endif()

if(FARCALL_ONE)
  # Nothing of ours unwinds the stack; frame pointers remain.
  set(no_tables -fno-asynchronous-unwind-tables -fno-unwind-tables)
  target_compile_options(farcall_flags INTERFACE ${no_tables})
  target_link_options(farcall_flags INTERFACE ${no_tables})
endif()

if(FARCALL_SANITIZE)
  target_compile_options(farcall_flags INTERFACE
    -fsanitize=${FARCALL_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(farcall_flags INTERFACE -fsanitize=${FARCALL_SANITIZE})
endif()
if(FARCALL_COVERAGE)
  target_compile_options(farcall_flags INTERFACE --coverage)
  target_link_options(farcall_flags INTERFACE --coverage)
endif()
if(FARCALL_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FARCALL_FUZZ needs clang, for libFuzzer")
  endif()
  target_compile_options(farcall_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
