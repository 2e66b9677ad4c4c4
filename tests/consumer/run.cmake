# SPDX-License-Identifier: Apache-2.0
#
# Installs the build in BUILD_DIR below WORK_DIR, builds main.c against the
# installed copy as HOW says (cmake or pkg-config) and runs it.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
if(SANITIZE)
  set(FLAGS "${FLAGS} -fsanitize=${SANITIZE}")
endif()

if(HOW STREQUAL "cmake")
  run(${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_C_COMPILER=${CC}
    -D CMAKE_C_FLAGS=${FLAGS})
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
  run(${WORK_DIR}/build/consumer)
else()
  file(GLOB_RECURSE pc ${prefix}/farcall.pc)
  cmake_path(GET pc PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(
    COMMAND pkg-config --define-variable=prefix=${prefix} --static --cflags
      --libs farcall
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${FLAGS} ${flags}")
  run(${CC} ${SOURCE_DIR}/main.c ${flags} -o ${WORK_DIR}/consumer)
  run(${WORK_DIR}/consumer)
endif()
