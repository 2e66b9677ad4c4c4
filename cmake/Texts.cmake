# SPDX-License-Identifier: Apache-2.0
#
# Manual pages, and what shells complete: made of what the programs say of themselves, so
# that a new option or verb is in them. Install.cmake takes them from here.
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
    COMMAND farcall-cli completion ${shell} > ${texts}/${file} VERBATIM)
  set(made ${made} ${texts}/${file} PARENT_SCOPE)
endfunction()

add_manual(farcall-cli farcall.1)
add_manual(farcalld farcalld.8)
add_completion(bash farcall.bash)
add_completion(zsh _farcall)
add_completion(fish farcall.fish)
add_custom_target(texts ALL DEPENDS ${made})
