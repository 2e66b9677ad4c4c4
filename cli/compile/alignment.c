// SPDX-License-Identifier: Apache-2.0
//
// Looks for the word "align" in the lines of LLVM IR.
#include "compile/alignment.h"

#define PLAIN_ALIGNMENT 8

static bool is_plain_line(fc_str_t line) {
  static const char kWord[] = "align ";
  if (memmem(line.data, line.size, "\"align\"", 7))
    return false;  // llvm.assume
  const char *end = line.data + line.size, *at = line.data;
  while ((at = memmem(at, (size_t)(end - at), kWord, sizeof kWord - 1))) {
    at += sizeof kWord - 1;
    unsigned value = 0;
    for (; at < end && *at >= '0' && *at <= '9' && value < 100; at++) {
      value = value * 10 + (unsigned)(*at - '0');
    }
    if (value > PLAIN_ALIGNMENT) return false;
  }
  return true;
}

bool fc_ir_is_plainly_aligned(fc_str_t ir) {
  while (ir.size) {
    const char *end = memchr(ir.data, '\n', ir.size);
    const size_t size = end ? (size_t)(end - ir.data) : ir.size;
    // The module itself aligns the globals that it defines.
    if (ir.data[0] != '@' && !is_plain_line(fc_str_make(ir.data, size))) {
      return false;
    }
    const size_t skip = end ? size + 1 : size;
    ir = fc_str_make(ir.data + skip, ir.size - skip);
  }
  return true;
}
