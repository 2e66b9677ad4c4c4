# SPDX-License-Identifier: Apache-2.0
#
# cmake -DFROM=FOLDER -DTO=FILE -P pack.cmake: writes the scripts of FOLDER to FILE, as
# compile/script.c includes them, a row each: FC_COMPILE_SCRIPT("NAME", its bytes)
get_filename_component(folder ${TO} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
file(GLOB scripts ${FROM}/*.py ${FROM}/*.mlir)
set(rows "")
foreach(script IN LISTS scripts)
  get_filename_component(name ${script} NAME)
  file(READ ${script} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND rows "FC_COMPILE_SCRIPT(\"${name}\", ${bytes})\n")
endforeach()
file(WRITE ${TO} "${rows}")
