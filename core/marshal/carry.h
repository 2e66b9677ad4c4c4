// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a call in one block of memory. The next steps of the call use them,
// even if the block was moved to the memory of another worker, or to another address.
// References inside the block are offsets. The pointers in it are valid until the block
// is moved. Private to the marshaller and the programs; one thread at a time.
#ifndef FARCALL_MARSHAL_CARRY_H_
#define FARCALL_MARSHAL_CARRY_H_

#include "marshal/frame.h"

// Where the bytes of a value lie in the block.
typedef struct fc_carry_place_t {
  uint64_t at;    // offset of its bytes; of a LIST, the node of its first item
  uint64_t size;  // of a TENSOR or BYTES, in bytes
  uint64_t room;  // bytes reserved there
  uint64_t shape_at;
  uint64_t shape_room;
  uint64_t fed;  // not 0: before each later step a result becomes this value
} fc_carry_place_t;

typedef struct fc_carry_t fc_carry_t;
struct fc_carry_t {
  // The owner of the memory sets these before each use; zeroed: there is no memory yet.
  uint8_t *data;    // aligned as a tensor
  size_t size;      // bytes in use, which stay and are moved with the block
  size_t capacity;  // bytes allocated
  // Makes `capacity` at least as large as the argument, and keeps the first
  // `size` bytes; `data` may change.
  fc_status_t (*grow)(fc_carry_t *carry, size_t capacity, fc_error_t *err);
  void *context;  // belongs to the owner
  // Set by the user: gives a call the arguments for which the block has no value. NULL:
  // the block has all values.
  fc_status_t (*lend)(const fc_carry_t *carry, fc_frame_t *frame,
                      fc_error_t *err);
  // The members from here on are set by carry.c: where the parts of the block are now.
  fc_value_t *nodes;         // the values of the flat call, then items of lists
  fc_carry_place_t *places;  // one for each node
  uint32_t count;
  uint8_t *own;  // the user's own bytes, aligned as a tensor
  size_t own_size;
};

// Copies the arguments of a decoded call into the block, and adds `own_size` zeroed
// bytes for the user.
fc_status_t fc_carry_pack(fc_carry_t *carry, fc_frame_t *frame, size_t own_size,
                          fc_error_t *err);
// Finds the parts of a packed block. FC_CODE_INTERNAL when the block is
// damaged, or was packed for another plan.
fc_status_t fc_carry_open(fc_carry_t *carry, const fc_plan_t *plan,
                          fc_error_t *err);
// Gives the packed arguments to the call that was begun on `frame`. Tensors are copied,
// because a function may write to them; fed tensors are not copied.
fc_status_t fc_carry_pass(fc_carry_t *carry, fc_frame_t *frame,
                          fc_error_t *err);
// Replaces the value of a node by a scalar, a dense tensor or bytes. The memory to which
// `value` points must not lie in the block. If its data pointer is NULL, the bytes are
// already in place.
fc_status_t fc_carry_store(fc_carry_t *carry, uint32_t node,
                           const fc_value_t *value, fc_error_t *err);

static inline bool fc_carry_has(const fc_carry_t *carry, const void *memory) {
  return (uintptr_t)memory - (uintptr_t)carry->data < carry->capacity;
}

#endif  // FARCALL_MARSHAL_CARRY_H_
