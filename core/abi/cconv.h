// SPDX-License-Identifier: Apache-2.0
//
// Calling-convention strings of the IREE VM: `0rI_r` takes a reference and an
// i64 and returns a reference. `C…D` is a variadic span: the tuple of its
// elements may be passed any number of times. The rules are those of IREE's
// vm/module.h. Used at load, any thread.
#ifndef FARCALL_ABI_CCONV_H_
#define FARCALL_ABI_CCONV_H_

#include "farcall/type.h"

#define FC_CCONV_SPAN 'C'

// A checked calling-convention string, taken apart. The texts point into the string.
typedef struct fc_cconv_t {
  fc_str_t text;
  fc_str_t arguments;  // items, to be read with fc_cconv_next
  fc_str_t results;
  uint32_t argument_count;  // a span counts as one
  uint32_t result_count;
  bool variadic;  // has a span, which only an import may have
} fc_cconv_t;

// Checks a calling-convention string and takes it apart. The empty string has no
// arguments and no results. The error is FC_CODE_ABI_METADATA with the byte offset.
fc_status_t fc_cconv_parse(fc_str_t text, fc_cconv_t *out_cconv,
                           fc_error_t *err);

typedef struct fc_cconv_item_t {
  char kind;      // i I f F r, or FC_CCONV_SPAN
  fc_str_t span;  // elements of a span, to be read with fc_cconv_next
} fc_cconv_item_t;

// Takes the next item off `rest`; false at the end. While you read a span, do
// not use the item that holds the span: pass another one.
static inline bool fc_cconv_next(fc_str_t *rest, fc_cconv_item_t *item) {
  while (rest->size && rest->data[0] == 'v') {  // void: nothing is passed
    *rest = fc_str_make(rest->data + 1, rest->size - 1);
  }
  if (!rest->size) return false;
  size_t size = 1;
  item->kind = rest->data[0];
  item->span = (fc_str_t){0};
  if (item->kind == FC_CCONV_SPAN) {
    while (size < rest->size && rest->data[size] != 'D') size++;
    item->span = fc_str_make(rest->data + 1, size - 1);
    if (size < rest->size) size++;
  }
  *rest = fc_str_make(rest->data + size, rest->size - size);
  return true;
}

// Returns the element type of a scalar item; NONE for a reference or a span.
static inline fc_dtype_t fc_cconv_dtype(char kind) {
  switch (kind) {
    case 'i':
      return FC_DTYPE_I32;
    case 'I':
      return FC_DTYPE_I64;
    case 'f':
      return FC_DTYPE_F32;
    case 'F':
      return FC_DTYPE_F64;
    default:
      return FC_DTYPE_NONE;
  }
}

// True when IREE has values of this type. It passes an index as an i64.
static inline bool fc_cconv_has(fc_dtype_t dtype) {
  return fc_dtype_info(dtype)->hal_word != 0 || dtype == FC_DTYPE_INDEX;
}

// Adds source, cconv, raw counts, arguments and results, each with its raw_index.
// Scalars get the type of their kind; references are UNKNOWN, since only the value says
// what it is. A variadic function is not callable; elements of a span have no
// raw_index. The caller adds the name.
void fc_cconv_build(fc_builder_t *builder, const fc_cconv_t *cconv);

#endif  // FARCALL_ABI_CCONV_H_
