# SPDX-License-Identifier: Apache-2.0
#
# cmake -DFROM=FOLDER -DTO=FILE -P pack.cmake: writes the scripts of FOLDER to FILE, which
# compile/script.c includes, one row each:
#   FC_COMPILE_SCRIPT("NAME", bytes when unpacked, its bytes as gzip)
include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/Gzip.cmake)
get_filename_component(folder ${TO} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
file(GLOB scripts ${FROM}/*.py ${FROM}/*.mlir)
set(rows "")
foreach(script IN LISTS scripts)
  get_filename_component(name ${script} NAME)
  file(SIZE ${script} size)
  gzip(bytes ${script} ${folder}/compile_scripts.gz)
  string(APPEND rows "FC_COMPILE_SCRIPT(\"${name}\", ${size}, ${bytes})\n")
endforeach()
file(WRITE ${TO} "${rows}")
