# SPDX-License-Identifier: Apache-2.0
#
# cmake -DFROM=FOLDER -DTO=FILE -P pack.cmake: writes the explorer's files to FILE, for
# dialect/explorer.c to include, with one row for each:
#   FC_EXPLORER_FILE(NAME, "digest", size when unpacked, the bytes of its gzip form)
# The scripts become one file. A script comes first if others use its names while they are
# loaded. The panes are in the order of the page.
set(scripts dom state api values form tensor grid picture shown result
  panes/functions panes/health panes/token panes/empty panes/signature panes/arguments
  panes/call panes/answer panes/time panes/session panes/repeat panes/snippets
  main)

include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/Gzip.cmake)
get_filename_component(folder ${TO} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
file(WRITE ${folder}/explorer.js "")
foreach(script IN LISTS scripts)
  file(READ ${FROM}/${script}.js text)
  file(APPEND ${folder}/explorer.js "${text}")
endforeach()

set(rows "")
macro(pack name file)
  file(SHA256 ${file} digest)
  string(SUBSTRING ${digest} 0 32 digest)
  file(SIZE ${file} size)
  gzip(bytes ${file} ${folder}/explorer.gz)
  string(APPEND rows
    "FC_EXPLORER_FILE(${name}, \"${digest}\", ${size}, ${bytes})\n")
endmacro()
pack(PAGE ${FROM}/index.html)
pack(SCRIPT ${folder}/explorer.js)
pack(STYLE ${FROM}/explorer.css)
pack(ICON ${FROM}/explorer.svg)
file(WRITE ${TO} "${rows}")
