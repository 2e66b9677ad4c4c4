# SPDX-License-Identifier: Apache-2.0
#
# bin/farcall-one: farcalld, or farcall when it is called by that name. libfarcall is in it
# once, and of other libraries what it uses, where they have archives (Dependencies.cmake).
# The image without TLS has it; with TLS, farcall is linked with OpenSSL, which farcalld
# loads only when a listener wants it.
if(FARCALL_TLS)
  message(FATAL_ERROR "FARCALL_ONE is for builds without TLS")
endif()
add_executable(farcall-one cmake/one.c)
foreach(each server cli)
  add_library(farcall-one-${each} OBJECT ${each}/main.c)
  target_compile_definitions(farcall-one-${each} PRIVATE main=fc_one_${each})
  target_compile_options(farcall-one-${each} PRIVATE
    -include ${PROJECT_SOURCE_DIR}/cmake/one.h)
endforeach()
target_link_libraries(farcall-one-server PRIVATE farcall_flags farcalld-objects)
target_link_libraries(farcall-one-cli PRIVATE farcall_flags farcall-cli-objects)
# Compiled for its size is what no call passes through.
foreach(target farcall-cli-objects farcall-one-cli farcall-one-server)
  target_compile_options(${target} PRIVATE -Os)
endforeach()
file(GLOB rare core/abi/*.c core/value/*.c server/*.c server/config/*.c server/jail/*.c
  server/modules/*.c server/obs/*.c)
set_property(SOURCE ${rare} TARGET_DIRECTORY farcall-core farcalld-objects
  APPEND PROPERTY COMPILE_OPTIONS -Os)
target_link_libraries(farcall-one PRIVATE farcall-one-server farcall-one-cli
  farcalld-objects farcall-cli-objects farcall)
farcall_program(farcall-one WHOLE)
# Which files went into it: scripts/image-root lists the packages they are of.
target_link_options(farcall-one PRIVATE -Wl,--gc-sections
  -Wl,--dependency-file=${PROJECT_BINARY_DIR}/farcall-one.d)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")  # ld has it for others from 2.44 on
  target_link_options(farcall-one PRIVATE -Wl,-z,pack-relative-relocs)
endif()
