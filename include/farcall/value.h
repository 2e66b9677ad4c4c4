// SPDX-License-Identifier: Apache-2.0
//
// Flat values, which pass between the marshaller and a backend. No JSON, no
// memref, no HAL. A value borrows everything it points to. It is valid as long
// as the call (arena, placed tensor memory); a result is valid until call_end.
#ifndef FARCALL_VALUE_H_
#define FARCALL_VALUE_H_

#include "farcall/type.h"

#if defined(__cplusplus)
extern "C" {
#endif
FC_PUBLIC_BEGIN

// One element as it lies in memory, little-endian, in the first bytes of the
// union.
typedef union fc_scalar_t {
  uint8_t bytes[16];
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  float f32;
  double f64;
} fc_scalar_t;

// A view of elements. Strides count elements; NULL means dense row-major.
// `data` is the address of element (0,…,0); it may be NULL when there are no
// elements. `shape` and `strides` have `rank` entries.
typedef struct fc_tensor_t {
  fc_dtype_t dtype;
  int32_t rank;
  const int64_t *shape;
  const int64_t *strides;
  void *data;
} fc_tensor_t;

typedef enum fc_value_kind_t {
  FC_VALUE_NULL,    // a null reference
  FC_VALUE_SCALAR,  // dtype, scalar
  FC_VALUE_TENSOR,
  FC_VALUE_LIST,    // a VM list; a tuple or dict that is one value of the flat
                    // call, too
  FC_VALUE_BYTES,   // a byte buffer
  FC_VALUE_OPAQUE,  // a reference nobody can serialise
} fc_value_kind_t;

// An object of the module. It stays as long as the value; whoever wants it longer counts
// it.
typedef struct fc_opaque_t {
  fc_str_t type;  // its name
  void *object;   // NULL: it cannot be kept
  // Adds `change`, 1 or -1, to the references of `object`. The last one frees it, which
  // must happen before the module's instances end. Any thread.
  void (*count)(void *object, int change);
} fc_opaque_t;

typedef struct fc_value_t fc_value_t;
typedef struct fc_value_list_t {
  fc_value_t *items;
  size_t count;
} fc_value_list_t;

struct fc_value_t {
  fc_value_kind_t kind;
  fc_dtype_t dtype;  // of a SCALAR
  union {
    fc_scalar_t scalar;
    fc_tensor_t tensor;
    fc_value_list_t list;
    fc_str_t bytes;
    fc_opaque_t opaque;
  };
};

// Computes the number of elements and their size in bytes. False when either
// overflows, or when a dim is negative.
bool fc_shape_count(const int64_t *shape, int32_t rank, fc_dtype_t dtype,
                    size_t *out_count, size_t *out_size);
// True when the elements lie as in a dense row-major array. This is always so without
// strides or without elements. The stride of a dim of size 1 does not matter.
bool fc_tensor_is_dense(const fc_tensor_t *tensor);
// Copies a strided view into dense row-major memory of the tensor's own size.
void fc_tensor_gather(const fc_tensor_t *tensor, void *dest);

FC_PUBLIC_END
#if defined(__cplusplus)
}
#endif
#endif  // FARCALL_VALUE_H_
