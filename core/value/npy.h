// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files, format versions 1, 2 and 3: one array of numbers. Reads
// any byte order and memory order, writes little-endian row-major. A file may
// come from anywhere: nothing in it is believed before it is checked.
#ifndef FARCALL_VALUE_NPY_H_
#define FARCALL_VALUE_NPY_H_

#include "base/stop.h"
#include "farcall/type.h"

typedef struct fc_npy_t {
  fc_dtype_t dtype;
  int32_t rank;
  int64_t shape[FC_RANK_MAX];
  fc_str_t data;  // dense row-major, little-endian
} fc_npy_t;

// Reads the content of a .npy file. The array's `data` points into it, or into the
// arena when elements had to be moved or their bytes reversed. FC_CODE_BINARY_FRAMING,
// FC_CODE_DATA_LENGTH, FC_CODE_DTYPE_MISMATCH or FC_CODE_TENSOR_TOO_LARGE say what is
// wrong with the file. Every 16,384 elements it checks whether the call must end
// (fc_stop_look).
fc_status_t fc_npy_parse(fc_arena_t *arena, fc_str_t file,
                         const fc_stop_t *stop, fc_npy_t *out_array,
                         fc_error_t *err);

// Room for the longest head: each dim has at most 21 characters.
#define FC_NPY_HEAD_MAX (192 + FC_RANK_MAX * 22)
// Writes the part of a version 1 file before the elements. Its size is a
// multiple of 64 bytes, so that the elements are aligned.
// FC_CODE_DTYPE_MISMATCH when NumPy has no such element type.
fc_status_t fc_npy_print_head(const fc_npy_t *array, char out[FC_NPY_HEAD_MAX],
                              size_t *out_size, fc_error_t *err);
// Writes the whole file.
fc_status_t fc_npy_print(const fc_npy_t *array, fc_sink_t *sink,
                         fc_error_t *err);

#endif  // FARCALL_VALUE_NPY_H_
