# SPDX-License-Identifier: Apache-2.0
#
# Manual pages, and what shells complete: made of what the programs say of themselves, so
# that a new option or verb is in them. A build for another machine has them where an
# emulator runs its programs.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  return()
endif()
set(texts ${PROJECT_BINARY_DIR}/texts)
file(MAKE_DIRECTORY ${texts})
set(made)

function(add_manual target page)
  add_custom_command(OUTPUT ${texts}/${page}
    COMMAND ${CMAKE_COMMAND} -DFROM=$<TARGET_FILE:${target}>
      "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}" -DTO=${texts}/${page}
      -P ${PROJECT_SOURCE_DIR}/cmake/Manual.cmake
    DEPENDS ${target} ${PROJECT_SOURCE_DIR}/cmake/Manual.cmake VERBATIM)
  set(made ${made} ${texts}/${page} PARENT_SCOPE)
endfunction()

function(add_completion shell file)
  add_custom_command(OUTPUT ${texts}/${file}
    COMMAND farcall-cli completion ${shell} > ${texts}/${file}
    DEPENDS farcall-cli VERBATIM)
  set(made ${made} ${texts}/${file} PARENT_SCOPE)
endfunction()

add_manual(farcall-cli farcall.1)
add_manual(farcalld farcalld.8)
add_completion(bash farcall.bash)
add_completion(zsh _farcall)
add_completion(fish farcall.fish)
add_custom_target(texts ALL DEPENDS ${made})

install(FILES ${texts}/farcall.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT farcall)
install(FILES ${texts}/farcalld.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT farcalld)
install(FILES ${texts}/farcall.bash RENAME farcall
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT farcall)
install(FILES ${texts}/_farcall
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT farcall)
install(FILES ${texts}/farcall.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT farcall)
