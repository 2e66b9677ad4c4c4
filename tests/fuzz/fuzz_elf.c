// SPDX-License-Identifier: Apache-2.0
//
// The reader of shared objects must not read outside the bytes that it is given.
#include <stdlib.h>

#include "module/native/so_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch(const char *data, size_t size) {
  static volatile unsigned sum;
  unsigned total = 0;
  for (size_t i = 0; i < size; i++) total += (unsigned char)data[i];
  sum = sum + total;
}

static void visit(void *context, fc_str_t symbol, uint64_t address) {
  const fc_so_t *elf = context;
  touch(symbol.data, symbol.size);
  if (address % 8 != 0) abort();
  (void)fc_so_is_relro(elf, address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The copy is on the heap, rounded up to 16 bytes, so that a read further past the
  // end is noticed. It is aligned like a mapping.
  char *bytes = aligned_alloc(16, (size + 15) & ~(size_t)15);
  if (!bytes) return 0;
  char *end = bytes + ((size + 15) & ~(size_t)15);
  if (size) memcpy(bytes, data, size);
  memset(bytes + size, 0xA5, (size_t)(end - bytes) - size);
  fc_so_t elf;
  if (fc_so_parse(fc_str_make(bytes, size), &elf, NULL) == FC_OK) {
    for (size_t i = 0; i < elf.symbol_count; i++) {
      fc_so_symbol_t symbol;
      if (fc_so_symbol(&elf, i, &symbol)) {
        touch(symbol.name.data, symbol.name.size);
      }
    }
    fc_str_t text;
    if (fc_so_text(&elf, FC_STR("__farcall_abi"), &text)) {
      if (text.data[text.size] != '\0') abort();
      touch(text.data, text.size);
    }
    (void)fc_so_uses_origin(&elf);
    (void)fc_so_state_size(&elf);
    fc_so_each_reference(&elf, visit, &elf);
  }
  free(bytes);
  return 0;
}
