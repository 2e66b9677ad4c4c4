// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a list: one node for each part. The list itself comes first, and each
// list comes before its parts. After a node stand the key of the part if it is in a
// dict, its dims, and its elements. There are no pointers or offsets, so the bytes have
// the same meaning wherever they are mapped. A function may have written over them, so
// each node is copied before it is checked.
#include "marshal/kept_list.h"

#include "base/width.h"
#include "marshal/stored_value.h"
#include "value/gather.h"

#define DEPTH_MAX FC_PRINT_DEPTH_MAX

typedef struct node_t {
  uint8_t kind;  // fc_value_kind_t
  uint8_t dtype;
  uint8_t rank;
  uint8_t reserved;
  uint32_t key_size;
  uint64_t size;  // bytes of the elements; of a LIST, its parts
} node_t;

// ---------------------------------------------------------------------------
// The parts of a list, with their types

typedef struct level_t {
  fc_value_t *next;
  uint64_t left;
  const fc_op_t *op;  // of the next; NULL: of any type
  bool repeats, keyed;
} level_t;

typedef struct walk_t {
  level_t levels[1 + DEPTH_MAX];
  uint32_t depth;
} walk_t;

typedef struct part_t {
  fc_value_t *value;
  const fc_op_t *op;
  fc_str_t key;
} part_t;

static void begin(walk_t *walk, fc_value_t *list, const fc_op_t *op) {
  walk->levels[0] = (level_t){.next = list, .left = 1, .op = op};
  walk->depth = 1;
}

static bool next_part(walk_t *walk, part_t *out) {
  while (walk->depth && !walk->levels[walk->depth - 1].left) walk->depth--;
  if (!walk->depth) return false;
  level_t *level = &walk->levels[walk->depth - 1];
  *out = (part_t){.value = level->next++, .op = level->op};
  if (level->keyed) out->key = level->op->key;
  level->left--;
  if (level->op && !level->repeats) level->op = fc_op_next(level->op);
  return true;
}

static bool is_any(const fc_op_t *op) {
  return !op || op->kind == FC_TYPE_UNKNOWN || op->kind == FC_TYPE_NULL;
}

// Enters the parts of a list. False: the type has another number of parts, or
// no parts, or the list is nested too deep.
static bool enter(walk_t *walk, const fc_op_t *op, fc_value_t *items,
                  uint64_t count) {
  level_t level = {.next = items, .left = count};
  if (walk->depth > DEPTH_MAX) return false;
  if (!is_any(op)) {
    level.repeats = op->kind == FC_TYPE_LIST;
    level.keyed = op->kind == FC_TYPE_DICT;
    const bool fixed = op->kind == FC_TYPE_TUPLE || level.keyed;
    if (!level.repeats && (!fixed || count != op->child_count)) return false;
    level.op = fc_op_child(op);
  }
  walk->levels[walk->depth++] = level;
  return true;
}

// ---------------------------------------------------------------------------
// Writing

typedef struct writer_t {
  fc_frame_t *frame;
  uint8_t *to;  // NULL: bytes are only counted
  size_t at;
} writer_t;

// Makes room for `size` aligned bytes. *out_bytes is NULL when they are only counted.
static fc_status_t extend(writer_t *writer, size_t size, size_t alignment,
                          uint8_t **out_bytes, fc_error_t *err) {
  size_t at, end;
  *out_bytes = NULL;
  if (!fc_size_align(writer->at, alignment, &at) ||
      !fc_size_add(at, size, &end)) {
    return fc_fail_memory(err);
  }
  if (writer->to) {
    *out_bytes = writer->to + at;
    memset(writer->to + writer->at, 0, at - writer->at);
  }
  writer->at = end;
  return FC_OK;
}

static fc_status_t put(writer_t *writer, const void *bytes, size_t size,
                       size_t alignment, fc_error_t *err) {
  uint8_t *to;
  FC_TRY(extend(writer, size, alignment, &to, err));
  return to && size ? fc_frame_copy(writer->frame, to, bytes, size, err)
                    : FC_OK;
}

static fc_status_t put_elements(writer_t *writer, const fc_tensor_t *tensor,
                                size_t count, size_t size, fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(tensor->dtype);
  uint8_t *to;
  FC_TRY(extend(writer, size, FC_STORE_ALIGNMENT, &to, err));
  if (!to || !size) return FC_OK;
  FC_TRY(fc_gather(tensor, to, &writer->frame->stop, err));
  if (info->bits < 8u * info->size) fc_width_fill(info, to, count);
  return FC_OK;
}

// Describes a part, and counts its elements. False: a store cannot hold such a value.
static bool describe(const fc_value_t *value, node_t *node, size_t *out_count) {
  const fc_tensor_t *tensor = &value->tensor;
  size_t size = 0;
  node->kind = (uint8_t)value->kind;
  switch (value->kind) {
    case FC_VALUE_NULL:
      break;
    case FC_VALUE_LIST:
      size = value->list.count;
      break;
    case FC_VALUE_BYTES:
      size = value->bytes.size;
      break;
    case FC_VALUE_SCALAR:
      node->dtype = (uint8_t)value->dtype;
      size = fc_dtype_size(value->dtype);
      break;
    case FC_VALUE_TENSOR:
      node->dtype = (uint8_t)tensor->dtype;
      node->rank = (uint8_t)tensor->rank;
      if (tensor->rank < 0 || tensor->rank > FC_RANK_MAX ||
          !fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, out_count,
                          &size)) {
        return false;
      }
      break;
    default:
      return false;
  }
  node->size = size;
  return true;
}

static fc_status_t put_part(writer_t *writer, const part_t *part,
                            fc_error_t *err) {
  const fc_value_t *value = part->value;
  node_t node = {.key_size = (uint32_t)part->key.size};
  size_t count = 0;
  if (!describe(value, &node, &count)) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "a list is to be kept that holds what cannot be: an opaque "
                   "reference, or a tensor without a shape");
  }
  const size_t size = (size_t)node.size;
  const fc_tensor_t scalar = {.dtype = value->dtype,
                              .data = (void *)(uintptr_t)value->scalar.bytes};
  FC_TRY(put(writer, &node, sizeof node, sizeof(int64_t), err));
  FC_TRY(put(writer, part->key.data, part->key.size, 1, err));
  switch (value->kind) {
    case FC_VALUE_SCALAR:
      return put_elements(writer, &scalar, 1, size, err);
    case FC_VALUE_BYTES:
      return put(writer, value->bytes.data, size, 1, err);
    case FC_VALUE_TENSOR:
      FC_TRY(put(writer, value->tensor.shape, node.rank * sizeof(int64_t),
                 sizeof(int64_t), err));
      return put_elements(writer, &value->tensor, count, size, err);
    default:
      return FC_OK;
  }
}

static fc_status_t put_all(writer_t *writer, const fc_value_t *list,
                           const fc_op_t *op, fc_error_t *err) {
  fc_value_t root = *list;
  walk_t walk;
  part_t part;
  begin(&walk, &root, op);
  while (next_part(&walk, &part)) {
    const fc_value_list_t *items = &part.value->list;
    FC_TRY(put_part(writer, &part, err));
    if (part.value->kind == FC_VALUE_LIST &&
        !enter(&walk, part.op, items->items, items->count)) {
      return fc_fail(err, FC_CODE_BAD_RESULT,
                     "the function returned another list than it declares, or "
                     "lists nested deeper than %d",
                     DEPTH_MAX);
    }
  }
  return FC_OK;
}

fc_status_t fc_kept_list_measure(fc_frame_t *frame, const fc_value_t *value,
                                 const fc_op_t *op, uint64_t *out_size,
                                 fc_error_t *err) {
  writer_t writer = {.frame = frame};
  FC_TRY(put_all(&writer, value, op, err));
  *out_size = writer.at;
  return FC_OK;
}

fc_status_t fc_kept_list_write(fc_frame_t *frame, const fc_value_t *value,
                               const fc_op_t *op, void *to, fc_error_t *err) {
  writer_t writer = {.frame = frame, .to = to};
  return put_all(&writer, value, op, err);
}

// ---------------------------------------------------------------------------
// Reading

typedef struct reader_t {
  fc_frame_t *frame;
  const fc_store_row_t *row;  // of the list
  uint8_t *data;
  uint64_t at;
} reader_t;

// Takes the next `size` bytes; NULL when there are fewer.
static void *take(reader_t *reader, uint64_t size, uint64_t alignment) {
  const uint64_t at = (reader->at + alignment - 1) & ~(alignment - 1);
  if (at > reader->row->size || size > reader->row->size - at) return NULL;
  reader->at = at + size;
  return reader->data + at;
}

static fc_status_t damaged(const reader_t *reader, fc_error_t *err) {
  return fc_fail(err, FC_CODE_INTERNAL,
                 "value '%s' is a list that was written over",
                 reader->row->name);
}

static fc_status_t differs(const reader_t *reader, const char *why,
                           fc_error_t *err) {
  return fc_stored_mismatch(reader->frame, reader->row, why, err);
}

// Reads what stands after the node of a part that is not a list.
static fc_status_t read_leaf(reader_t *reader, const part_t *part,
                             const node_t *node, fc_error_t *err) {
  fc_store_row_t row = *reader->row;
  row.kind = node->kind;
  row.dtype = node->dtype;
  row.rank = node->rank;
  row.size = node->size;
  const bool bytes = node->kind == FC_VALUE_BYTES;
  if (node->kind == FC_VALUE_TENSOR) {
    const size_t size = node->rank * sizeof *row.dims;
    const void *dims =
        node->rank <= FC_RANK_MAX ? take(reader, size, sizeof *row.dims) : NULL;
    if (!dims) return damaged(reader, err);
    memcpy(row.dims, dims, size);
  }
  void *data = take(reader, node->size, bytes ? 1 : FC_STORE_ALIGNMENT);
  if (!data || !fc_store_has_size(&row)) return damaged(reader, err);
  FC_TRY(fc_stored_check(reader->frame, part->op, &row, err));
  return fc_stored_set(reader->frame, part->op, &row, data, part->value, err);
}

static fc_status_t read_list(reader_t *reader, walk_t *walk, const part_t *part,
                             const node_t *node, fc_error_t *err) {
  void *items = NULL;
  if (part->op && part->op->kind == FC_TYPE_NULL) {
    return differs(reader, "null is expected", err);
  }
  if (node->size > reader->row->size / sizeof *node) {
    return damaged(reader, err);
  }
  FC_TRY(fc_frame_alloc(reader->frame, (size_t)node->size + 1,
                        sizeof(fc_value_t), &items, err));
  *part->value =
      (fc_value_t){.kind = FC_VALUE_LIST, .list = {items, (size_t)node->size}};
  if (enter(walk, part->op, items, node->size)) return FC_OK;
  return differs(reader, "a list of other parts is expected", err);
}

static fc_status_t read_part(reader_t *reader, walk_t *walk, const part_t *part,
                             fc_error_t *err) {
  node_t node;
  const void *bytes = take(reader, sizeof node, sizeof(int64_t));
  if (!bytes) return damaged(reader, err);
  memcpy(&node, bytes, sizeof node);
  const char *key = take(reader, node.key_size, 1);
  if (!key) return damaged(reader, err);
  if (part->key.data &&
      !fc_str_equal(part->key, fc_str_make(key, node.key_size))) {
    return differs(reader, "a dict with other names is expected", err);
  }
  if (node.kind == FC_VALUE_LIST) {
    return read_list(reader, walk, part, &node, err);
  }
  if (node.kind != FC_VALUE_NULL) return read_leaf(reader, part, &node, err);
  *part->value = (fc_value_t){.kind = FC_VALUE_NULL};
  return is_any(part->op) ? FC_OK
                          : differs(reader, "null is a part of it", err);
}

fc_status_t fc_kept_list_read(fc_frame_t *frame, const fc_op_t *op,
                              const fc_store_row_t *row, void *data,
                              fc_value_t *dest, fc_error_t *err) {
  reader_t reader = {.frame = frame, .row = row, .data = data};
  fc_value_t list = {.kind = FC_VALUE_NULL};
  walk_t walk;
  part_t part;
  begin(&walk, &list, op);
  while (next_part(&walk, &part)) {
    FC_TRY(read_part(&reader, &walk, &part, err));
  }
  if (list.kind != FC_VALUE_LIST) return damaged(&reader, err);
  *dest = list;
  return FC_OK;
}
