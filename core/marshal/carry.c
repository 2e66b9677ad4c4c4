// SPDX-License-Identifier: Apache-2.0
//
// The block begins with a head and the user's own bytes. Then come a node and a place for
// each value, and after them shapes and elements. If a value outgrows its room, it gets a
// room of twice the size at the end of the block. So all abandoned rooms together are no
// larger than the rooms in use.
#include "marshal/carry.h"

#include "value/gather.h"

#define ALIGNMENT ((size_t)64)
#define MARK UINT64_C(0x3179727261634366)

typedef struct head_t {
  uint64_t mark;
  uint64_t own_size;
  uint32_t value_count;  // of the flat call
  uint32_t node_count;
} head_t;

static size_t aligned(size_t size) {
  return (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

// ---------------------------------------------------------------------------
// Pointers into the block

static void link_node(fc_carry_t *carry, uint32_t node) {
  fc_value_t *value = &carry->nodes[node];
  const fc_carry_place_t *place = &carry->places[node];
  switch (value->kind) {
    case FC_VALUE_TENSOR:
      value->tensor.shape = (int64_t *)(void *)(carry->data + place->shape_at);
      value->tensor.data = place->size ? carry->data + place->at : NULL;
      break;
    case FC_VALUE_BYTES:
      value->bytes = fc_str_make((const char *)carry->data + place->at,
                                 (size_t)place->size);
      break;
    case FC_VALUE_LIST:
      value->list.items = carry->nodes + place->at;
      break;
    default:
      break;
  }
}

static void link_all(fc_carry_t *carry) {
  const head_t *head = (const head_t *)(const void *)carry->data;
  const size_t own_at = aligned(sizeof *head);
  const size_t nodes_at = own_at + aligned((size_t)head->own_size);
  carry->count = head->node_count;
  carry->own_size = (size_t)head->own_size;
  carry->own = carry->data + own_at;
  carry->nodes = (fc_value_t *)(void *)(carry->data + nodes_at);
  carry->places = (fc_carry_place_t *)(void *)(carry->nodes + carry->count);
  for (uint32_t i = 0; i < carry->count; i++) link_node(carry, i);
}

static bool is_inside(const fc_carry_t *carry, uint64_t at, uint64_t size) {
  return at <= carry->size && size <= carry->size - at;
}

// True for bytes in the block after the places, where the rooms are. Functions write only
// to rooms, not to the head, nodes and places, which are checked only once.
static bool is_room(const fc_carry_t *carry, uint64_t at, uint64_t size) {
  const uint8_t *begin = (const uint8_t *)(carry->places + carry->count);
  return is_inside(carry, at, size) &&
         (!size || at >= (uint64_t)(begin - carry->data));
}

// True when a node and its place fit the block and each other. Not checked: that a shape
// has the size that its place says, because each step checks that.
static bool is_sound(const fc_carry_t *carry, uint32_t node) {
  const fc_value_t *value = &carry->nodes[node];
  const fc_carry_place_t *place = &carry->places[node];
  const fc_tensor_t *tensor = &value->tensor;
  switch (value->kind) {
    case FC_VALUE_LIST:
      return place->at > node && place->at <= carry->count &&
             value->list.count <= carry->count - place->at;
    case FC_VALUE_BYTES:
      return place->size <= place->room &&
             is_room(carry, place->at, place->room);
    case FC_VALUE_TENSOR:
      return tensor->rank >= 0 && tensor->rank <= FC_RANK_MAX &&
             !tensor->strides && tensor->dtype < FC_DTYPE_COUNT &&
             place->shape_at % sizeof(int64_t) == 0 &&
             (uint64_t)tensor->rank * sizeof(int64_t) <= place->shape_room &&
             is_room(carry, place->shape_at, place->shape_room) &&
             place->size <= place->room &&
             is_room(carry, place->at, place->room);
    case FC_VALUE_SCALAR:
      return value->dtype < FC_DTYPE_COUNT;
    default:
      return value->kind == FC_VALUE_NULL;
  }
}

static fc_status_t fail_damaged(fc_error_t *err) {
  return fc_fail(err, FC_CODE_INTERNAL,
                 "what the call keeps between its steps is damaged");
}

fc_status_t fc_carry_open(fc_carry_t *carry, const fc_plan_t *plan,
                          fc_error_t *err) {
  const head_t *head = (const head_t *)(const void *)carry->data;
  const size_t each = sizeof(fc_value_t) + sizeof(fc_carry_place_t);
  size_t nodes_at = 0, size = 0;
  bool sound = carry->data && (uintptr_t)carry->data % ALIGNMENT == 0 &&
               carry->size >= sizeof *head && head->mark == MARK &&
               head->own_size <= carry->size &&
               head->value_count == plan->signature->raw_argument_count &&
               head->node_count >= head->value_count;
  if (sound) {
    nodes_at = aligned(sizeof *head) + aligned((size_t)head->own_size);
    sound = fc_size_mul(head->node_count, each, &size) &&
            is_inside(carry, nodes_at, size);
  }
  if (sound) {
    carry->count = head->node_count;
    carry->nodes = (fc_value_t *)(void *)(carry->data + nodes_at);
    carry->places = (fc_carry_place_t *)(void *)(carry->nodes + carry->count);
  }
  for (uint32_t i = 0; sound && i < carry->count; i++) {
    sound = is_sound(carry, i);
  }
  if (!sound) return fail_damaged(err);
  link_all(carry);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Room

// Makes the block `size` bytes longer. The new bytes begin at a multiple of the
// alignment.
static fc_status_t extend(fc_carry_t *carry, size_t size, uint64_t *out_at,
                          fc_error_t *err) {
  size_t at, end;
  if (!fc_size_align(carry->size, ALIGNMENT, &at) ||
      !fc_size_add(at, size, &end)) {
    return fc_fail_memory(err);
  }
  if (end > carry->capacity) {
    const bool linked = carry->nodes != NULL;
    FC_TRY(carry->grow(carry, end, err));
    if (linked) link_all(carry);
  }
  carry->size = end;
  *out_at = at;
  return FC_OK;
}

// Returns the next `size` bytes, rounded up for alignment, of those by which the block
// was extended.
static uint64_t take(uint64_t *next, size_t size) {
  const uint64_t at = *next;
  *next += aligned(size);
  return at;
}

// ---------------------------------------------------------------------------
// Packing

// The values of a call in the order of their nodes: the items of a list come after the
// list.
typedef struct queue_t {
  const fc_value_t **values;
  size_t count;
  size_t capacity;
} queue_t;

static fc_status_t reserve(fc_frame_t *frame, queue_t *queue, size_t count,
                           fc_error_t *err) {
  if (count <= queue->capacity - queue->count) return FC_OK;
  const size_t wanted = 2 * (queue->count + count);
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, wanted, sizeof *queue->values, &memory, err));
  if (queue->count) {
    memcpy(memory, (const void *)queue->values,
           queue->count * sizeof *queue->values);
  }
  queue->values = memory;
  queue->capacity = wanted;
  return FC_OK;
}

static fc_status_t append(fc_frame_t *frame, queue_t *queue,
                          const fc_value_t *values, size_t count,
                          fc_error_t *err) {
  FC_TRY(reserve(frame, queue, count, err));
  for (size_t i = 0; i < count; i++) {
    queue->values[queue->count++] = &values[i];
  }
  return FC_OK;
}

static size_t shape_size(const fc_tensor_t *tensor) {
  return (size_t)tensor->rank * sizeof *tensor->shape;
}

// Computes the bytes that a value needs besides its node, and adds them to *total.
static bool measure(const fc_value_t *value, size_t *out_size, size_t *total) {
  size_t count;
  *out_size = 0;
  if (value->kind == FC_VALUE_BYTES) {
    *out_size = value->bytes.size;
  } else if (value->kind == FC_VALUE_TENSOR) {
    if (!fc_shape_count(value->tensor.shape, value->tensor.rank,
                        value->tensor.dtype, &count, out_size)) {
      return false;
    }
    if (!fc_size_add(*total, aligned(shape_size(&value->tensor)), total)) {
      return false;
    }
  }
  return *out_size <= SIZE_MAX - ALIGNMENT &&
         fc_size_add(*total, aligned(*out_size), total);
}

// Copies a value to its node. *next_item is the node for the first item of the next list.
static fc_status_t pack_value(fc_carry_t *carry, fc_frame_t *frame,
                              uint32_t node, const fc_value_t *value,
                              uint64_t *next_item, uint64_t *next_byte,
                              fc_error_t *err) {
  fc_carry_place_t *place = &carry->places[node];
  size_t size, total = 0;
  *place = (fc_carry_place_t){0};
  carry->nodes[node] = *value;
  FC_ASSERT(measure(value, &size, &total));
  place->size = place->room = size;
  if (value->kind == FC_VALUE_LIST) {
    place->at = *next_item;
    *next_item += value->list.count;
  } else if (value->kind == FC_VALUE_BYTES) {
    place->at = take(next_byte, size);
    FC_TRY(fc_frame_copy(frame, carry->data + place->at, value->bytes.data,
                         size, err));
  } else if (value->kind == FC_VALUE_TENSOR) {
    place->shape_room = shape_size(&value->tensor);
    place->shape_at = take(next_byte, (size_t)place->shape_room);
    place->at = take(next_byte, size);
    if (place->shape_room) {
      memcpy(carry->data + place->shape_at, value->tensor.shape,
             (size_t)place->shape_room);
    }
    carry->nodes[node].tensor.strides = NULL;
    if (size) {
      FC_TRY(fc_gather(&value->tensor, carry->data + place->at, &frame->stop,
                       err));
    }
  }
  return FC_OK;
}

static fc_status_t find_all(fc_frame_t *frame, queue_t *queue,
                            fc_error_t *err) {
  FC_TRY(append(frame, queue, frame->arguments,
                frame->plan->signature->raw_argument_count, err));
  for (size_t i = 0; i < queue->count; i++) {
    const fc_value_t *value = queue->values[i];
    if (value->kind != FC_VALUE_LIST) continue;
    FC_TRY(append(frame, queue, value->list.items, value->list.count, err));
  }
  return FC_OK;
}

fc_status_t fc_carry_pack(fc_carry_t *carry, fc_frame_t *frame, size_t own_size,
                          fc_error_t *err) {
  queue_t queue = {0};
  FC_TRY(find_all(frame, &queue, err));
  const size_t each = sizeof(fc_value_t) + sizeof(fc_carry_place_t);
  const size_t own_at = aligned(sizeof(head_t));
  const size_t nodes_at = own_at + aligned(own_size);
  // These sums cannot overflow: all values are in the frame's memory, which is limited.
  uint64_t next = nodes_at + aligned(queue.count * each);
  size_t total = (size_t)next, size;
  for (size_t i = 0; i < queue.count; i++) {
    if (!measure(queue.values[i], &size, &total)) return fc_fail_memory(err);
  }
  uint64_t at, item = frame->plan->signature->raw_argument_count;
  carry->size = 0;
  carry->nodes = NULL;
  FC_TRY(extend(carry, total, &at, err));
  head_t *head = (head_t *)(void *)carry->data;
  *head = (head_t){.mark = MARK,
                   .own_size = own_size,
                   .value_count = (uint32_t)item,
                   .node_count = (uint32_t)queue.count};
  memset(carry->data + own_at, 0, own_size);
  carry->nodes = (fc_value_t *)(void *)(carry->data + nodes_at);
  carry->places = (fc_carry_place_t *)(void *)(carry->nodes + queue.count);
  for (uint32_t i = 0; i < queue.count; i++) {
    FC_TRY(pack_value(carry, frame, i, queue.values[i], &item, &next, err));
  }
  link_all(carry);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Passing the arguments to a step, and storing its results

// Passes a copy of the shape, so that a function that writes outside its tensors cannot
// change the shape in the block.
static fc_status_t pass_shape(const fc_carry_t *carry, fc_frame_t *frame,
                              uint32_t node, fc_error_t *err) {
  fc_tensor_t *tensor = &carry->nodes[node].tensor;
  const fc_carry_place_t *place = &carry->places[node];
  size_t count, size;
  void *shape = NULL;
  FC_TRY(fc_frame_alloc(frame, (size_t)tensor->rank + 1, sizeof(int64_t),
                        &shape, err));
  if (tensor->rank) {
    memcpy(shape, carry->data + place->shape_at, shape_size(tensor));
  }
  tensor->shape = shape;
  const bool sound = fc_shape_count(tensor->shape, tensor->rank, tensor->dtype,
                                    &count, &size) &&
                     size == place->size;
  return sound ? FC_OK : fail_damaged(err);
}

// Passes a copy of a tensor, because the function may write to it. With a guard there
// is no copy here, since the guard copies each tensor anyway.
static fc_status_t pass_tensor(fc_carry_t *carry, fc_frame_t *frame,
                               uint32_t node, fc_error_t *err) {
  fc_tensor_t *tensor = &carry->nodes[node].tensor;
  const fc_carry_place_t *place = &carry->places[node];
  const size_t size = (size_t)place->size;
  if (!size) return FC_OK;
  tensor->data = carry->data + place->at;
  if (place->fed || frame->guard) return FC_OK;
  void *copy = fc_arena_alloc(&frame->tensors, size, ALIGNMENT);
  if (!copy) return fc_fail_memory(err);
  FC_TRY(fc_frame_copy(frame, copy, tensor->data, size, err));
  tensor->data = copy;
  return FC_OK;
}

static fc_status_t check_tensor(fc_frame_t *frame, const fc_plan_param_t *input,
                                const fc_op_t *op, const fc_value_t *value,
                                fc_error_t *err) {
  const bool shaped =
      value->kind == FC_VALUE_TENSOR && op->rank >= 0 &&
      (op->kind == FC_TYPE_TENSOR || op->kind == FC_TYPE_VECTOR);
  return shaped ? fc_frame_check_shape(frame, input, op, &value->tensor, err)
                : FC_OK;
}

static bool has_parts(const fc_op_t *op, const fc_value_t *value) {
  return value->kind == FC_VALUE_LIST && op->child_count;
}

// A list whose items are being checked.
typedef struct check_level_t {
  const fc_op_t *child;  // of the next item
  const fc_value_t *next;
  size_t left;
  bool repeats;  // all items have one type
} check_level_t;

static fc_status_t open_level(const fc_op_t *op, const fc_value_t *value,
                              check_level_t *out_level, fc_error_t *err) {
  const bool array = op->kind == FC_TYPE_REFARRAY;  // of items, then of dims
  const bool repeats = array || op->kind == FC_TYPE_LIST;
  if (array) {
    if (!value->list.count) return fail_damaged(err);
    value = value->list.items;
  }
  if (value->kind != FC_VALUE_LIST) return fail_damaged(err);
  const size_t count = repeats ? value->list.count : op->child_count;
  if (count > value->list.count) return fail_damaged(err);
  *out_level = (check_level_t){.child = fc_op_child(op),
                               .next = value->list.items,
                               .left = count,
                               .repeats = repeats};
  return FC_OK;
}

// Checks the shapes of all values in a list.
static fc_status_t check_list(fc_frame_t *frame, const fc_plan_param_t *input,
                              const fc_op_t *op, const fc_value_t *value,
                              fc_error_t *err) {
  check_level_t levels[FC_JSON_DEPTH_MAX];
  FC_TRY(open_level(op, value, &levels[0], err));
  for (uint32_t depth = 1; depth;) {
    check_level_t *level = &levels[depth - 1];
    if (!level->left) {
      depth--;
      continue;
    }
    const fc_op_t *child = level->child;
    const fc_value_t *item = level->next++;
    level->left--;
    if (!level->repeats) level->child = fc_op_next(child);
    if (!has_parts(child, item)) {
      FC_TRY(check_tensor(frame, input, child, item, err));
    } else if (depth == FC_JSON_DEPTH_MAX) {
      return fail_damaged(err);
    } else {
      FC_TRY(open_level(child, item, &levels[depth++], err));
    }
  }
  return FC_OK;
}

// Checks all shapes, because the shapes of fed tensors must fit those of the others.
static fc_status_t check_shapes(fc_frame_t *frame, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_plan_param_t *input = &plan->inputs[i];
    const fc_op_t *end = fc_op_next(input->op);
    for (const fc_op_t *op = input->op; op < end; op++) {
      if (op->raw < 0) continue;
      const fc_value_t *value = &frame->arguments[op->raw];
      FC_TRY(has_parts(op, value) ? check_list(frame, input, op, value, err)
                                  : check_tensor(frame, input, op, value, err));
    }
  }
  return FC_OK;
}

fc_status_t fc_carry_pass(fc_carry_t *carry, fc_frame_t *frame,
                          fc_error_t *err) {
  if (!frame->arguments || !frame->named_dims) return fc_fail_memory(err);
  for (uint32_t i = 0; i < carry->count; i++) {
    if (carry->nodes[i].kind != FC_VALUE_TENSOR) continue;
    FC_TRY(pass_shape(carry, frame, i, err));
    FC_TRY(pass_tensor(carry, frame, i, err));
  }
  memcpy(frame->arguments, carry->nodes,
         frame->plan->signature->raw_argument_count * sizeof *carry->nodes);
  if (carry->lend) FC_TRY(carry->lend(carry, frame, err));
  FC_TRY(check_shapes(frame, err));
  FC_TRY(fc_frame_place_stores(frame, err));
  frame->decoded = true;
  return FC_OK;
}

// Ensures that the room at *at has at least `size` bytes. If the room moves, its contents
// are lost.
static fc_status_t make_room(fc_carry_t *carry, uint64_t *at, uint64_t *room,
                             size_t size, fc_error_t *err) {
  if (size <= *room) return FC_OK;
  const size_t twice = *room > SIZE_MAX / 2 ? SIZE_MAX : 2 * (size_t)*room;
  const size_t wanted = size > twice ? size : twice;
  FC_TRY(extend(carry, wanted, at, err));
  *room = wanted;
  return FC_OK;
}

fc_status_t fc_carry_store(fc_carry_t *carry, uint32_t node,
                           const fc_value_t *value, fc_error_t *err) {
  // A copy of the place, because the block may move.
  fc_carry_place_t place = carry->places[node];
  const void *data = value->kind == FC_VALUE_BYTES
                         ? (const void *)value->bytes.data
                         : value->tensor.data;
  size_t size, total = 0;
  if (!measure(value, &size, &total)) return fc_fail_memory(err);
  if (value->kind != FC_VALUE_SCALAR) {
    FC_TRY(make_room(carry, &place.at, &place.room, size, err));
    if (size && data) memcpy(carry->data + place.at, data, size);
    place.size = size;
  }
  if (value->kind == FC_VALUE_TENSOR) {
    const size_t shape = shape_size(&value->tensor);
    FC_TRY(make_room(carry, &place.shape_at, &place.shape_room, shape, err));
    if (shape) {
      memcpy(carry->data + place.shape_at, value->tensor.shape, shape);
    }
  }
  carry->nodes[node] = *value;
  carry->places[node] = place;
  link_node(carry, node);
  return FC_OK;
}
