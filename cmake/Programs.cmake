# SPDX-License-Identifier: Apache-2.0

# The rules every executable of the project follows. A program that loads
# modules must offer them the MLIR runtime functions of libfarcall: the linker
# is told to take them from the archive although nothing of ours calls them,
# and to export these names only. Programs that are shipped or measured say
# WHOLE: with FARCALL_LTO they are optimised across files. Tests do not, as
# each would take seconds to link.
function(farcall_program target)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.list)
  target_link_libraries(${target} PRIVATE farcall_flags)
  if(FARCALL_LTO)
    if("WHOLE" IN_LIST ARGN)
      target_link_options(${target} PRIVATE -flto=auto)
    else()
      target_link_options(${target} PRIVATE -fno-lto)
    endif()
  endif()
  # Relocations take a twentieth of a program. glibc reads these since 2.36; a linker that
  # does not know the flag ignores it.
  if(FARCALL_HARDEN AND NOT APPLE)
    target_link_options(${target} PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
  if(FARCALL_SANITIZE)
    target_sources(${target} PRIVATE
      ${PROJECT_SOURCE_DIR}/cmake/sanitizer_options.c)
  endif()
  if(NOT APPLE)
    target_link_options(${target} PRIVATE
      -Wl,--dynamic-list=${PROJECT_SOURCE_DIR}/cmake/exports.list)
  endif()
endfunction()

# A program's objects as the shared library NAME-inner, for tests.
function(farcall_inner name)  # what the objects need
  set(target ${name}-inner)
  add_library(${target} SHARED $<TARGET_OBJECTS:${name}-objects>)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  target_link_libraries(${target} PUBLIC farcall-inner ${ARGN} PRIVATE farcall_flags)
  foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS)
    set_property(TARGET ${target} PROPERTY INTERFACE_${property}
      $<TARGET_PROPERTY:${name}-objects,INTERFACE_${property}>)
  endforeach()
endfunction()
