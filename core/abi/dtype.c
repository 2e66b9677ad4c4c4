// SPDX-License-Identifier: Apache-2.0
//
// Lookups in the table of element types (farcall/dtype.def). Called by readers
// of ABI metadata at load and by the codecs in every call; any thread.
#include "farcall/type.h"

static const fc_dtype_info_t dtypes[FC_DTYPE_COUNT] = {
    [FC_DTYPE_NONE] = {"none", FC_DTYPE_CLASS_NONE, 0, 0, 0, "", ""},
#define FC_DTYPE(name, text, class_, bits, bytes, hal, oip, npy) \
  [FC_DTYPE_##                                                   \
      name] = {text, FC_DTYPE_CLASS_##class_, bits, bytes, hal, oip, npy},
#include "farcall/dtype.def"
#undef FC_DTYPE
};

const fc_dtype_info_t *fc_dtype_info(fc_dtype_t dtype) {
  unsigned index = (unsigned)dtype;
  return &dtypes[index < FC_DTYPE_COUNT ? index : FC_DTYPE_NONE];
}

fc_dtype_t fc_dtype_find(fc_str_t text) {
  for (unsigned i = FC_DTYPE_NONE + 1; i < FC_DTYPE_COUNT; i++) {
    if (fc_str_equal(text, fc_str(dtypes[i].text))) return (fc_dtype_t)i;
  }
  return FC_DTYPE_NONE;
}

fc_dtype_t fc_dtype_from_hal(uint32_t hal_word) {
  if (!hal_word) return FC_DTYPE_NONE;
  for (unsigned i = FC_DTYPE_NONE + 1; i < FC_DTYPE_COUNT; i++) {
    if (dtypes[i].hal_word == hal_word) return (fc_dtype_t)i;
  }
  return FC_DTYPE_NONE;
}

// The first row wins: NumPy's signed integers read as signless.
fc_dtype_t fc_dtype_from_npy(fc_str_t descr) {
  if (!descr.size) return FC_DTYPE_NONE;
  for (unsigned i = FC_DTYPE_NONE + 1; i < FC_DTYPE_COUNT; i++) {
    if (fc_str_equal(descr, fc_str(dtypes[i].npy))) return (fc_dtype_t)i;
  }
  return FC_DTYPE_NONE;
}
