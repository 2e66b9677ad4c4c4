# SPDX-License-Identifier: Apache-2.0
#
# bin/farcall-one: farcalld, or farcall when it is called by that name. libfarcall is in it
# once, and of other libraries what it uses, where they have archives (Dependencies.cmake).
# The images have it.
add_executable(farcall-one cmake/one.c)
foreach(each server cli)
  add_library(farcall-one-${each} OBJECT ${each}/main.c)
  target_compile_definitions(farcall-one-${each} PRIVATE main=fc_one_${each})
  target_compile_options(farcall-one-${each} PRIVATE
    -include ${PROJECT_SOURCE_DIR}/cmake/one.h)
endforeach()
target_link_libraries(farcall-one-server PRIVATE farcall_flags farcalld-objects)
target_link_libraries(farcall-one-cli PRIVATE farcall_flags farcall-cli-objects)
# Compiled for its size is all but what the call of a loaded function passes through.
file(GLOB_RECURSE rare core/*.c server/*.c)
file(GLOB hot core/base/*.c core/json/*.c core/memref/*.c core/module/call*.c
  core/marshal/container.c core/marshal/decode.c core/marshal/encode.c core/marshal/fill.c
  core/marshal/framed.c core/marshal/guard.c core/marshal/leaf.c core/marshal/leaves.c
  core/marshal/typed.c core/marshal/written.c core/marshal/oip_*.c core/module/native/cell.c
  core/module/native/function.c core/module/native/own.c core/module/vm/buffer.c
  core/module/vm/context.c core/module/vm/interp.c core/module/vm/list.c
  core/module/vm/object.c core/module/vm/stack.c core/module/vm/steps.c
  core/module/vm/hal/*.c
  server/dialect/native.c server/dialect/oip.c server/dialect/request.c
  server/dialect/place.c server/dialect/route.c server/exchange/*.c server/http1/*.c
  server/pool/block*.c
  server/pool/handoff.c server/pool/pool.c server/pool/process_give.c server/pool/process_hosts.c
  server/pool/process_take.c server/pool/queue.c
  server/pool/region.c server/pool/ring.c server/pool/threads*.c server/pool/helpers.c
  server/pool/worker.c
  server/stream/*.c)
# Of these, what few calls pass through, and little of their time.
set(seldom core/base/cgroup core/base/guard core/base/loaded core/base/name_table
  core/base/profile core/base/sha256 core/json/print core/json/where
  core/base/inflate core/base/quota core/json/decimal core/marshal/guard
  core/module/native/own core/module/vm/hal/command_calls core/module/vm/hal/devices
  core/module/vm/hal/executable core/module/vm/hal/executable_elf
  core/module/vm/hal/fences core/module/vm/hal/hal core/module/vm/hal/inline
  core/module/vm/hal/io_parameters core/module/vm/hal/loader core/module/vm/hal/preflight
  server/exchange/draft server/exchange/forwarded server/exchange/session
  server/exchange/values server/http1/http1 server/http1/stash server/pool/helpers
  server/pool/region server/pool/threads server/stream/listener server/stream/socket
  server/stream/tls_handshake server/stream/tls_keys server/stream/tls_try)
list(TRANSFORM seldom PREPEND ${PROJECT_SOURCE_DIR}/)
list(TRANSFORM seldom APPEND .c)
list(REMOVE_ITEM hot ${seldom})
list(REMOVE_ITEM rare ${hot})
set_property(SOURCE ${rare} TARGET_DIRECTORY farcall-core farcalld-objects
  APPEND PROPERTY COMPILE_OPTIONS -Oz)
foreach(target farcall-cli-objects farcall-one-cli farcall-one-server)
  target_compile_options(${target} PRIVATE -Oz)
endforeach()
target_link_libraries(farcall-one PRIVATE farcall-one-server farcall-one-cli
  farcalld-objects farcall-cli-objects farcall)
farcall_program(farcall-one WHOLE)
# Which files went into it: scripts/image-root lists the packages they are of.
target_link_options(farcall-one PRIVATE -Wl,--gc-sections
  -Wl,--dependency-file=${PROJECT_BINARY_DIR}/farcall-one.d)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")  # ld has it for others from 2.44 on
  target_link_options(farcall-one PRIVATE -Wl,-z,pack-relative-relocs)
endif()
