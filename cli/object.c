// SPDX-License-Identifier: Apache-2.0
//
// Reads .stack_sizes of a 64-bit little-endian ELF file: entries of an 8-byte address and
// the frame size in ULEB128. Every read is checked; any other kind of file counts as a
// file without that section.
#include "object.h"

#include <elf.h>

static bool piece(fc_str_t file, uint64_t offset, uint64_t size,
                  fc_str_t *out_piece) {
  if (offset > file.size || size > file.size - offset) return false;
  *out_piece = (fc_str_t){file.data + offset, size};
  return true;
}

static bool section(fc_str_t file, const Elf64_Ehdr *head, uint16_t index,
                    Elf64_Shdr *out_section) {
  fc_str_t bytes;
  uint64_t offset;
  if (__builtin_add_overflow(head->e_shoff,
                             (uint64_t)index * sizeof *out_section, &offset)) {
    return false;
  }
  if (!piece(file, offset, sizeof *out_section, &bytes)) return false;
  memcpy(out_section, bytes.data, sizeof *out_section);
  return true;
}

static uint64_t largest(fc_str_t entries) {
  uint64_t best = 0;
  size_t at = 0;
  while (entries.size - at > sizeof(uint64_t)) {
    at += sizeof(uint64_t);
    uint64_t frame = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
      byte = (uint8_t)entries.data[at++];
      if (shift < 64) frame |= (uint64_t)(byte & 0x7F) << shift;
      shift += 7;
    } while (byte & 0x80 && at < entries.size);
    if (frame > best) best = frame;
  }
  return best;
}

uint64_t fc_object_max_frame(fc_str_t file) {
  Elf64_Ehdr head;
  Elf64_Shdr names, each;
  fc_str_t text, entries;
  if (file.size < sizeof head) return 0;
  memcpy(&head, file.data, sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) ||
      head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_shentsize != sizeof each) {
    return 0;
  }
  if (!section(file, &head, head.e_shstrndx, &names) ||
      !piece(file, names.sh_offset, names.sh_size, &text)) {
    return 0;
  }
  static const char kName[] = ".stack_sizes";
  uint64_t best = 0;
  for (uint16_t i = 0; i < head.e_shnum; i++) {
    if (!section(file, &head, i, &each)) return best;
    if (each.sh_type != SHT_PROGBITS || each.sh_name >= text.size) continue;
    size_t left = text.size - each.sh_name;
    if (left < sizeof kName) continue;
    if (memcmp(text.data + each.sh_name, kName, sizeof kName)) continue;
    if (!piece(file, each.sh_offset, each.sh_size, &entries)) continue;
    uint64_t frame = largest(entries);
    if (frame > best) best = frame;
  }
  return best;
}
