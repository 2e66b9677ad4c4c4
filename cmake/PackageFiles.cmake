# SPDX-License-Identifier: Apache-2.0
#
# Run by cpack once the files of every package lie in a folder of its own: adds copyright
# and changelogs, and does to files what Debian wants. SOURCE_DATE_EPOCH is their date.
function(compress file)
  execute_process(COMMAND gzip -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} id)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  set(doc ${root}/usr/share/doc/${CPACK_DEBIAN_${id}_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${doc})
  file(COPY_FILE ${CPACK_FARCALL_SOURCE}/config/debian/copyright ${doc}/copyright)
  file(COPY_FILE ${CPACK_FARCALL_SOURCE}/CHANGELOG.md ${doc}/changelog)
  compress(${doc}/changelog)
  file(WRITE ${doc}/changelog.Debian "farcall \
(${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * The release ${CPACK_PACKAGE_VERSION}: changelog.gz says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  compress(${doc}/changelog.Debian)
  file(GLOB pages ${root}/usr/share/man/man*/*)
  foreach(page IN LISTS pages)
    compress(${page})
  endforeach()
  set(zsh ${root}/usr/share/zsh)
  if(EXISTS ${zsh}/site-functions)
    file(RENAME ${zsh}/site-functions ${zsh}/vendor-completions)
  endif()
  # The archive's objects have no debugging information, and one kind of code.
  file(GLOB_RECURSE archives ${root}/usr/lib/*.a)
  foreach(archive IN LISTS archives)
    execute_process(COMMAND strip --strip-unneeded --enable-deterministic-archives
      --remove-section=.comment --remove-section=.gnu.lto_* ${archive}
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
