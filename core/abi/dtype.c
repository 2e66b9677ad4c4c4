// SPDX-License-Identifier: Apache-2.0
//
// Lookups in the table of element types (farcall/dtype.def). Called by readers
// of ABI metadata at load and by the codecs in every call; any thread.
#include "farcall/type.h"

static const fc_dtype_info_t dtypes[FC_DTYPE_COUNT] = {
    [FC_DTYPE_NONE] = {"none", FC_DTYPE_CLASS_NONE, 0, 0, 0, "", "", "",
                       FC_DTYPE_NONE},
#define FC_DTYPE(name, text, class_, bits, bytes, hal, oip, npy, aliases,    \
                 part, format)                                               \
  [FC_DTYPE_##                                                               \
      name] = {text,    FC_DTYPE_CLASS_##class_, bits, bytes, hal, oip, npy, \
               aliases, FC_DTYPE_##part},
#include "farcall/dtype.def"
#undef FC_DTYPE
};

// A row that contradicts itself does not compile. The checks: floats, and only floats,
// have a format; an element is large enough for its bits; the low byte of IREE's type
// code, if there is one, is the number of bits (8 for a boolean).
#define NOT_FLOAT 0
#define FLOAT(mantissa_bits, bias, ...) ((bias) > 0)
#define FC_DTYPE(name, text, class_, bits, bytes, hal, oip, npy, aliases,     \
                 part, format)                                                \
  _Static_assert(                                                             \
      ((format) != 0) == (FC_DTYPE_CLASS_##class_ == FC_DTYPE_CLASS_FLOAT) && \
          (bits) <= 8 * (bytes) && sizeof text > 1 &&                         \
          (!(hal) || ((hal)&0xFF) == ((bits) == 1 ? 8 : (bits))),             \
      #name);
#include "farcall/dtype.def"
#undef FC_DTYPE

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

static bool has_name(fc_dtype_t dtype, fc_str_t name) {
  const fc_dtype_info_t *info = &dtypes[dtype];
  if (!name.size) return false;
  if (fc_str_equal(name, fc_str(info->text)) ||
      fc_str_equal(name, fc_str(info->oip))) {
    return true;
  }
  for (const char *word = info->aliases; *word;) {
    const size_t size = strcspn(word, " ");
    if (fc_str_equal(name, fc_str_make(word, size))) return true;
    word += size + (word[size] == ' ');
  }
  return false;
}

fc_dtype_t fc_dtype_find_named(fc_str_t name, fc_dtype_t dtype) {
  if (dtype != FC_DTYPE_NONE && has_name(dtype, name)) return dtype;
  for (unsigned i = FC_DTYPE_NONE + 1; i < FC_DTYPE_COUNT; i++) {
    if (has_name((fc_dtype_t)i, name)) return (fc_dtype_t)i;
  }
  return FC_DTYPE_NONE;
}

const char *fc_dtype_texts(void) {
  static const char kTexts[] =
#define FC_DTYPE(name, text, class_, bits, bytes, hal, oip, npy, aliases, \
                 part, format)                                            \
  ", " text
#define FC_DTYPE_WIDTH(bits, bytes)
#include "farcall/dtype.def"
#undef FC_DTYPE
      " and iN, siN, uiN to 64 bits";
  return kTexts + 2;
}

fc_dtype_t fc_dtype_from_hal(uint32_t hal_word) {
  if (!hal_word) return FC_DTYPE_NONE;
  for (unsigned i = FC_DTYPE_NONE + 1; i < FC_DTYPE_COUNT; i++) {
    if (dtypes[i].hal_word == hal_word) return (fc_dtype_t)i;
  }
  return FC_DTYPE_NONE;
}

// Finds a type by its name in NumPy. If several rows have the name, the first is found,
// so NumPy's signed integers are read as signless.
fc_dtype_t fc_dtype_from_npy(fc_str_t descr) {
  if (!descr.size) return FC_DTYPE_NONE;
  for (unsigned i = FC_DTYPE_NONE + 1; i < FC_DTYPE_COUNT; i++) {
    if (fc_str_equal(descr, fc_str(dtypes[i].npy))) return (fc_dtype_t)i;
  }
  return FC_DTYPE_NONE;
}
