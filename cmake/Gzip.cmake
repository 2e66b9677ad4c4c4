# SPDX-License-Identifier: Apache-2.0
#
# gzip(OUT FILE PACKED): sets OUT to FILE as gzip, as the bytes of an array of C. The same
# file makes the same bytes: gzip's time of day (bytes 4 to 7) is left out. PACKED is
# written on the way.
function(gzip out file packed)
  file(ARCHIVE_CREATE OUTPUT ${packed} PATHS ${file} FORMAT raw COMPRESSION GZip
    COMPRESSION_LEVEL 9)
  file(READ ${packed} bytes HEX)
  string(SUBSTRING "${bytes}" 16 -1 bytes)
  string(PREPEND bytes 1f8b080000000000)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  set(${out} "${bytes}" PARENT_SCOPE)
endfunction()
