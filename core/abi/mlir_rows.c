// SPDX-License-Identifier: Apache-2.0
//
// The rows of vectors: see mlir_rows.h.
#include "abi/mlir_rows.h"

#include <inttypes.h>
#include <stdio.h>

enum {
  RANK_MAX = 4,             // of elements
  ROW_COUNT_MAX = 1 << 20,  // of elements
  ROW_SIZE_MAX = 64,        // the alignment of memory that arguments are in
};

// True for elements that are numbers and fill their bytes: LLVM packs other elements.
static bool is_whole(fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  return info->bits == 8u * info->size &&
         info->class_ != FC_DTYPE_CLASS_COMPLEX;
}

// Returns the size of a row in bytes. 0 if LLVM lays the row out in another way than an
// array of its elements: it packs the elements, or leaves a gap after them.
static uint64_t row_size(fc_dtype_t dtype, int32_t rank, const int64_t *dims) {
  const uint64_t count = rank ? (uint64_t)dims[rank - 1] : 1;
  uint64_t size;
  if (!is_whole(dtype) ||
      __builtin_mul_overflow(count, fc_dtype_size(dtype), &size) || !size ||
      (size & (size - 1)) != 0) {
    return 0;
  }
  return size;
}

// Returns the number of rows; UINT64_MAX if the number overflows.
static uint64_t row_count(int32_t rank, const int64_t *dims) {
  uint64_t rows = 1;
  for (int32_t i = 0; i + 1 < rank; i++) {
    if (__builtin_mul_overflow(rows, (uint64_t)dims[i], &rows))
      return UINT64_MAX;
  }
  return rows;
}

// A row of 16 bytes is in one register on every processor (a row of f16 since LLVM 15).
// There are three registers for what a function returns (core/module/native/returned.h).
bool fc_mlir_rows_are_in_registers(fc_dtype_t dtype, int32_t rank,
                                   const int64_t *dims) {
  const uint64_t rows = row_count(rank, dims);
  return row_size(dtype, rank, dims) == 16 && rows > 0 && rows <= 3;
}

bool fc_mlir_rows_are_elements(fc_dtype_t dtype, int32_t rank,
                               const int64_t *dims,
                               char out_why[FC_MLIR_ROWS_TEXT]) {
  const uint64_t size = row_size(dtype, rank, dims);
  const uint64_t rows = row_count(rank, dims);
  *out_why = '\0';
  if (rank > RANK_MAX) {
    snprintf(out_why, FC_MLIR_ROWS_TEXT,
             "as elements, vectors have up to %d dims, not %" PRId32, RANK_MAX,
             rank);
  } else if (!is_whole(dtype)) {
    snprintf(out_why, FC_MLIR_ROWS_TEXT,
             "as elements, vectors are of 8, 16, 32 or 64 bits, not complex");
  } else if (!size || size > ROW_SIZE_MAX) {
    snprintf(out_why, FC_MLIR_ROWS_TEXT,
             "as elements, vectors have rows of 1, 2, 4 … %d bytes",
             ROW_SIZE_MAX);
  } else if (!rows || rows > ROW_COUNT_MAX) {
    snprintf(out_why, FC_MLIR_ROWS_TEXT,
             "as elements, vectors have 1 to %d rows, not %" PRIu64,
             ROW_COUNT_MAX, rows);
  }
  return !*out_why;
}
