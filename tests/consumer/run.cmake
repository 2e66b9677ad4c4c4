# SPDX-License-Identifier: Apache-2.0
#
# Installs the build in BUILD_DIR below WORK_DIR and uses the installed copy as a
# stranger would. HOW:
#   cmake       find_package, both libraries: main.c and examples/embed
#   pkg-config  the same with the shared library, which is then opened late, too; and
#               the commands of docs/embedding.md
#   archive     the same with the archive: alone, and beside the shared library
#   headers     each compiled alone, as C and as C++, by gcc and by clang
#   exports     names the shared library has, and how it is called
#   texts       manual pages, and what shells look for
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(output_of variable)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()
function(expect what wanted got)
  if(NOT wanted STREQUAL got)
    message(FATAL_ERROR "${what}: wanted '${wanted}', got '${got}'")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
set(example ${SOURCE_DIR}/examples/embed)
set(consumer ${SOURCE_DIR}/tests/consumer)
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
file(GLOB_RECURSE pc ${prefix}/farcall.pc)
cmake_path(GET pc PARENT_PATH folder)
set(ENV{PKG_CONFIG_PATH} ${folder})
cmake_path(GET folder PARENT_PATH libdir)
if(SANITIZE)
  set(FLAGS "${FLAGS} -fsanitize=${SANITIZE}")
endif()
separate_arguments(flags UNIX_COMMAND "${FLAGS}")

# The example that was built as `program` reads its digit.
function(classify program)
  output_of(digit ${program} ${WORK_DIR}/shade.so
    ${SOURCE_DIR}/examples/iree/digits.vmfb)
  expect(${program} "7, sure to 97 %" "${digit}")
endfunction()
if(HOW MATCHES "^(cmake|pkg-config|archive)$")
  run(${CC} -shared -fPIC -O1 -o ${WORK_DIR}/shade.so ${example}/shade.c)
  file(COPY ${example}/shade.farcall.json DESTINATION ${WORK_DIR})
endif()

# Builds main.c and the example with the flags `link`, and runs them.
function(build_and_run link)
  foreach(source ${consumer}/main.c ${example}/embed.c)
    cmake_path(GET source STEM name)
    run(${CC} ${source} ${flags} ${link} -o ${WORK_DIR}/${name})
  endforeach()
  run(${WORK_DIR}/main)
  classify(${WORK_DIR}/embed)
endfunction()

if(HOW STREQUAL "cmake")
  run(${CMAKE_COMMAND} -S ${consumer} -B ${WORK_DIR}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_C_COMPILER=${CC}
    -D CMAKE_C_FLAGS=${FLAGS} -D EXAMPLE=${example})
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
  foreach(library farcall shared)
    run(${WORK_DIR}/build/main-${library})
    classify(${WORK_DIR}/build/embed-${library})
  endforeach()

elseif(HOW STREQUAL "pkg-config")
  output_of(link pkg-config --cflags --libs farcall)
  separate_arguments(link UNIX_COMMAND "${link}")
  set(ENV{LD_LIBRARY_PATH} ${libdir})
  build_and_run("${link}")
  output_of(needed readelf -d ${WORK_DIR}/embed)
  if(NOT needed MATCHES "NEEDED[^\n]*libfarcall" OR needed MATCHES "NEEDED[^\n]*libffi")
    message(FATAL_ERROR "the shared library alone was to be linked: ${needed}")
  endif()
  run(${CC} ${consumer}/late.c ${flags} -I${prefix}/include -ldl
    -o ${WORK_DIR}/late)
  run(${WORK_DIR}/late ${libdir}/libfarcall.so
    ${BUILD_DIR}/tests/modules/native/shim.so)
  file(COPY ${SOURCE_DIR}/examples/embed ${SOURCE_DIR}/examples/iree
    DESTINATION ${WORK_DIR}/examples)
  file(STRINGS ${SOURCE_DIR}/docs/embedding.md commands REGEX "^[$] ")
  list(TRANSFORM commands REPLACE "^[$] " "")
  list(TRANSFORM commands REPLACE "^cc " "${CC} ${FLAGS} ")
  list(JOIN commands " && " commands)
  output_of(printed sh -c "cd ${WORK_DIR} && ${commands}")
  expect("docs/embedding.md" "7, sure to 97 %" "${printed}")

elseif(HOW STREQUAL "archive")
  output_of(link pkg-config --cflags --libs farcall-static)
  separate_arguments(link UNIX_COMMAND "${link}")
  build_and_run("${link}")
  output_of(needed readelf -d ${WORK_DIR}/embed)
  if(needed MATCHES "NEEDED[^\n]*libfarcall")
    message(FATAL_ERROR "the archive was to be linked: ${needed}")
  endif()
  file(GLOB shared ${libdir}/libfarcall.so*)
  file(REMOVE ${shared})
  output_of(link pkg-config --static --cflags --libs farcall)
  separate_arguments(link UNIX_COMMAND "${link}")
  build_and_run("${link}")
  # The program must export what modules import.
  file(STRINGS ${SOURCE_DIR}/cmake/exports.list names REGEX "^  .*;$")
  output_of(exported nm -D --defined-only ${WORK_DIR}/embed)
  foreach(name IN LISTS names)
    string(REGEX REPLACE "[ ;]" "" name ${name})
    if(NOT exported MATCHES " T ${name}(\n|$)")
      message(FATAL_ERROR "the program does not export ${name}")
    endif()
  endforeach()

elseif(HOW STREQUAL "headers")
  find_program(GXX NAMES g++ REQUIRED)
  find_program(CLANG NAMES clang-22 clang REQUIRED)
  set(warn -Wall -Wextra -Wpedantic -Wshadow -Werror)
  file(GLOB headers RELATIVE ${prefix}/include ${prefix}/include/farcall/*.h)
  foreach(header IN LISTS headers)
    file(WRITE ${WORK_DIR}/alone "#include <${header}>\n")
    foreach(compile "${CC};-std=c17;-xc" "${CLANG};-std=c17;-xc"
        "${GXX};-std=c++17;-xc++" "${CLANG};-std=c++17;-xc++")
      run(${compile} ${warn} -fsyntax-only -I${prefix}/include ${WORK_DIR}/alone)
    endforeach()
  endforeach()

elseif(HOW STREQUAL "exports")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" release ${VERSION})
  output_of(dynamic readelf -d ${libdir}/libfarcall.so)
  string(REGEX MATCH "soname: \\[[^]]*\\]" soname "${dynamic}")
  expect("soname" "soname: [libfarcall.so.${release}]" "${soname}")
  # The library must export what headers declare and what modules import, and
  # nothing else.
  file(GLOB headers ${prefix}/include/farcall/*.h)
  set(declared)
  foreach(header IN LISTS headers)
    file(READ ${header} text)
    string(REGEX MATCHALL "fc_[a-z0-9_]+" found "${text}")
    list(APPEND declared ${found})
  endforeach()
  file(STRINGS ${SOURCE_DIR}/cmake/exports.list names REGEX "^  .*;$")
  list(TRANSFORM names REPLACE "[ ;]" "")
  output_of(exported nm -D --defined-only --format=just-symbols ${libdir}/libfarcall.so)
  string(REPLACE "\n" ";" exported "${exported}")
  set(unknown ${exported})
  list(REMOVE_ITEM unknown ${declared} ${names})
  expect("names that no header has" "" "${unknown}")
  set(missing ${names} fc_call_run fc_module_open fc_backends fc_version)
  list(REMOVE_ITEM missing ${exported})
  expect("names that are not exported" "" "${missing}")

elseif(HOW STREQUAL "texts")
  foreach(page man1/farcall.1 man8/farcalld.8)
    if(NOT EXISTS ${prefix}/share/man/${page})
      message(FATAL_ERROR "${page} is not installed")
    endif()
  endforeach()
  foreach(row "bash bash-completion/completions/farcall"
      "zsh zsh/site-functions/_farcall"
      "fish fish/vendor_completions.d/farcall.fish")
    string(REPLACE " " ";" row ${row})
    list(GET row 0 shell)
    list(GET row 1 file)
    run(${prefix}/bin/farcall completion ${shell} OUTPUT_FILE ${WORK_DIR}/${shell})
    run(${CMAKE_COMMAND} -E compare_files ${WORK_DIR}/${shell} ${prefix}/share/${file})
  endforeach()

else()
  message(FATAL_ERROR "HOW is '${HOW}'")
endif()
