// SPDX-License-Identifier: Apache-2.0
//
// The signature builder. Readers of ABI metadata call it at load, on one thread; the
// signature that it builds is immutable. signature_verify.c checks the signature as a
// whole, so that users can trust every index and depth. The builder knows no syntax.
#include "farcall/type.h"

#include <stdio.h>

#include "abi/signature_verify.h"
#include "abi/walk.h"

enum {
  DIMS_MAX = 1 << 20,
  CHARS_MAX = 1 << 24,
  ATTRS_MAX = 1 << 10,  // because each is compared with all those before it
};

typedef struct pool_t {
  void *data;
  uint32_t count;
  uint32_t capacity;
} pool_t;

typedef struct node_t {
  fc_type_t type;
  uint32_t last_child;
  bool taken;  // has a parent or is a parameter
} node_t;

struct fc_builder_t {
  fc_allocator_t allocator;
  fc_error_t error;     // the first failure
  pool_t nodes;         // node_t
  pool_t dims;          // int64_t
  pool_t dim_names;     // fc_text_ref_t
  pool_t sizes;         // int64_t
  pool_t states;        // fc_state_decl_t
  pool_t arguments;     // fc_param_t
  pool_t results;       // fc_param_t
  pool_t attrs;         // fc_attr_t
  pool_t chars;         // char
  fc_signature_t head;  // everything but the pools
  bool counted;         // fc_builder_raw_counts has set the raw counts
  int32_t next_argument;
  int32_t next_result;
};

// ---------------------------------------------------------------------------
// Pools

static bool failed(const fc_builder_t *builder) {
  return builder->error.status != FC_OK;
}

// Makes room for `count` more elements; NULL after a failure.
static void *pool_add(fc_builder_t *builder, pool_t *pool, size_t size,
                      size_t count, uint32_t limit, const char *what) {
  if (failed(builder)) return NULL;
  if (count > limit - pool->count) {
    (void)fc_fail(&builder->error, FC_CODE_ABI_METADATA,
                  "a signature holds at most %u %s", limit, what);
    return NULL;
  }
  uint32_t need = pool->count + (uint32_t)count;
  if (need > pool->capacity) {
    uint32_t capacity = pool->capacity ? 2 * pool->capacity : 16;
    if (capacity < need) capacity = need;
    void *data = fc_realloc(builder->allocator, pool->data, pool->count * size,
                            capacity * size);
    if (!data) {
      (void)fc_fail_memory(&builder->error);
      return NULL;
    }
    pool->data = data;
    pool->capacity = capacity;
  }
  void *place = (char *)pool->data + pool->count * size;
  memset(place, 0, count * size);
  pool->count = need;
  return place;
}

static node_t *node_at(const fc_builder_t *builder, uint32_t node) {
  return &((node_t *)builder->nodes.data)[node];
}

// Fails the builder when there is no such node.
static bool node_check(fc_builder_t *builder, uint32_t node) {
  if (failed(builder)) return false;
  if (node < builder->nodes.count) return true;
  (void)fc_fail(&builder->error, FC_CODE_INTERNAL, "type node %u of %u", node,
                builder->nodes.count);
  return false;
}

// ---------------------------------------------------------------------------
// The head

static void head_init(fc_builder_t *builder) {
  builder->head = (fc_signature_t){
      .allocator = builder->allocator,
      .source = FC_SOURCE_MLIR,
      .callable = true,
      .memory_safe = true,
      .alignment = 64,
  };
  builder->counted = false;
  builder->next_argument = 0;
  builder->next_result = 0;
  fc_error_reset(&builder->error);
}

fc_builder_t *fc_builder_create(fc_allocator_t allocator) {
  fc_builder_t *builder = fc_alloc(allocator, sizeof *builder);
  if (!builder) return NULL;
  builder->allocator = allocator;
  head_init(builder);
  return builder;
}

void fc_builder_destroy(fc_builder_t *builder) {
  if (!builder) return;
  pool_t *pools[] = {&builder->nodes,   &builder->dims,  &builder->dim_names,
                     &builder->results, &builder->attrs, &builder->arguments,
                     &builder->chars,   &builder->sizes, &builder->states};
  for (size_t i = 0; i < FC_ARRAY_COUNT(pools); i++) {
    fc_free(builder->allocator, pools[i]->data);
  }
  fc_free(builder->allocator, builder);
}

void fc_builder_reset(fc_builder_t *builder) {
  builder->nodes.count = 0;
  builder->dims.count = 0;
  builder->dim_names.count = 0;
  builder->sizes.count = 0;
  builder->states.count = 0;
  builder->arguments.count = 0;
  builder->results.count = 0;
  builder->attrs.count = 0;
  builder->chars.count = 0;
  head_init(builder);
}

fc_text_ref_t fc_builder_text(fc_builder_t *builder, fc_str_t text) {
  if (!text.size) return (fc_text_ref_t){0};
  uint32_t offset = builder->chars.count;
  char *place =
      pool_add(builder, &builder->chars, 1, text.size, CHARS_MAX, "characters");
  if (!place) return (fc_text_ref_t){0};
  memcpy(place, text.data, text.size);
  return (fc_text_ref_t){offset, (uint32_t)text.size};
}

static fc_str_t read_text(const fc_builder_t *builder, fc_text_ref_t ref) {
  return (fc_str_t){(const char *)builder->chars.data + ref.offset, ref.size};
}

void fc_builder_name(fc_builder_t *builder, fc_str_t name) {
  builder->head.name = fc_builder_text(builder, name);
}

void fc_builder_source(fc_builder_t *builder, fc_source_t source) {
  builder->head.source = source;
}

void fc_builder_async(fc_builder_t *builder, bool async) {
  builder->head.async = async;
}

void fc_builder_root_tree(fc_builder_t *builder, bool root_tree) {
  builder->head.root_tree = root_tree;
}

void fc_builder_cconv(fc_builder_t *builder, fc_str_t cconv) {
  builder->head.cconv = fc_builder_text(builder, cconv);
}

void fc_builder_warning(fc_builder_t *builder, fc_str_t warning) {
  builder->head.warning = fc_builder_text(builder, warning);
}

void fc_builder_alignment(fc_builder_t *builder, uint8_t alignment) {
  builder->head.alignment = alignment;
}

void fc_builder_memory_safe(fc_builder_t *builder, bool memory_safe,
                            bool dynamic_dims) {
  builder->head.memory_safe = memory_safe;
  builder->head.trusts_dims = !memory_safe && dynamic_dims;
  builder->head.memory_known = true;
}

void fc_builder_refuse(fc_builder_t *builder, fc_str_t reason) {
  if (!builder->head.callable) return;
  builder->head.callable = false;
  builder->head.reason = fc_builder_text(builder, reason);
}

void fc_builder_attr(fc_builder_t *builder, fc_str_t key, fc_str_t value) {
  fc_attr_t *attr = builder->attrs.data;
  for (uint32_t i = 0; i < builder->attrs.count; i++) {
    if (fc_str_equal(read_text(builder, attr[i].key), key)) return;
  }
  attr = pool_add(builder, &builder->attrs, sizeof *attr, 1, ATTRS_MAX,
                  "attributes");
  if (!attr) return;
  attr->key = fc_builder_text(builder, key);
  attr->value = fc_builder_text(builder, value);
}

void fc_builder_raw_counts(fc_builder_t *builder, uint32_t arguments,
                           uint32_t results) {
  builder->head.raw_argument_count = arguments;
  builder->head.raw_result_count = results;
  builder->counted = true;
}

int64_t fc_builder_dim_name(fc_builder_t *builder, fc_str_t name) {
  if (failed(builder)) return FC_DIM_DYNAMIC;
  if (!name.size || name.size > FC_DIM_NAME_SIZE_MAX) {
    (void)fc_fail(&builder->error, FC_CODE_ABI_METADATA,
                  "a dim's name has %zu bytes, it may have 1 to %d", name.size,
                  FC_DIM_NAME_SIZE_MAX);
    return FC_DIM_DYNAMIC;
  }
  const fc_text_ref_t *names = builder->dim_names.data;
  uint32_t index = 0;
  for (; index < builder->dim_names.count; index++) {
    if (fc_str_equal(read_text(builder, names[index]), name)) break;
  }
  if (index == builder->dim_names.count) {
    fc_text_ref_t *added = pool_add(builder, &builder->dim_names, sizeof *added,
                                    1, FC_DIM_NAMES_MAX, "dim names");
    if (!added) return FC_DIM_DYNAMIC;
    *added = fc_builder_text(builder, name);
  }
  return -2 - (int64_t)index;
}

void fc_builder_sizes(fc_builder_t *builder, const int64_t *row) {
  const uint32_t count = builder->dim_names.count;
  builder->head.size_count++;
  if (!count) return;
  int64_t *place = pool_add(builder, &builder->sizes, sizeof *place, count,
                            FC_SIZES_MAX * FC_DIM_NAMES_MAX, "sizes");
  if (place) memcpy(place, row, count * sizeof *place);
}

// ---------------------------------------------------------------------------
// Nodes

static uint32_t node_new(fc_builder_t *builder, fc_type_kind_t kind) {
  uint32_t index = builder->nodes.count;
  node_t *node = pool_add(builder, &builder->nodes, sizeof *node, 1,
                          FC_NODE_MAX, "type nodes");
  if (!node) return FC_NODE_NONE;
  node->type.kind = (uint8_t)kind;
  node->type.child = FC_NODE_NONE;
  node->type.next = FC_NODE_NONE;
  node->type.raw_index = FC_RAW_NONE;
  node->last_child = FC_NODE_NONE;
  return index;
}

// Appends dims to the pool and returns the index of the first.
static uint32_t dims_add(fc_builder_t *builder, int32_t rank,
                         const int64_t *dims) {
  if (failed(builder)) return 0;
  if (rank < FC_RANK_DYNAMIC || rank > FC_RANK_MAX) {
    (void)fc_fail(&builder->error, FC_CODE_ABI_METADATA,
                  "rank %d exceeds the limit of %d", (int)rank, FC_RANK_MAX);
    return 0;
  }
  uint32_t first = builder->dims.count;
  size_t count = rank < 0 ? 0 : (size_t)rank;
  if (!count) return first;
  int64_t *place =
      pool_add(builder, &builder->dims, sizeof *place, count, DIMS_MAX, "dims");
  for (size_t i = 0; place && i < count; i++) place[i] = dims[i];
  return first;
}

uint32_t fc_builder_scalar(fc_builder_t *builder, fc_dtype_t dtype) {
  uint32_t node = node_new(builder, FC_TYPE_SCALAR);
  if (node != FC_NODE_NONE) node_at(builder, node)->type.dtype = (uint8_t)dtype;
  return node;
}

static uint32_t shaped_new(fc_builder_t *builder, fc_type_kind_t kind,
                           fc_dtype_t dtype, int32_t rank,
                           const int64_t *dims) {
  uint32_t first = dims_add(builder, rank, dims);
  uint32_t node = node_new(builder, kind);
  if (node == FC_NODE_NONE) return node;
  fc_type_t *type = &node_at(builder, node)->type;
  type->dtype = (uint8_t)dtype;
  type->rank = rank;
  type->dims = first;
  return node;
}

uint32_t fc_builder_tensor(fc_builder_t *builder, fc_dtype_t dtype,
                           int32_t rank, const int64_t *dims) {
  return shaped_new(builder, FC_TYPE_TENSOR, dtype, rank, dims);
}

uint32_t fc_builder_strided(fc_builder_t *builder, fc_dtype_t dtype,
                            int32_t rank, const int64_t *dims,
                            const int64_t *strides, int64_t offset) {
  uint32_t node = shaped_new(builder, FC_TYPE_TENSOR, dtype, rank, dims);
  (void)dims_add(builder, rank, strides);
  (void)dims_add(builder, 1, &offset);
  if (node != FC_NODE_NONE)
    node_at(builder, node)->type.flags = FC_TYPE_STRIDED;
  return node;
}

uint32_t fc_builder_vector(fc_builder_t *builder, fc_dtype_t dtype,
                           int32_t rank, const int64_t *dims) {
  return shaped_new(builder, FC_TYPE_VECTOR, dtype, rank, dims);
}

uint32_t fc_builder_bytes(fc_builder_t *builder, fc_flavor_t flavor) {
  uint32_t node = node_new(builder, FC_TYPE_BYTES);
  if (node != FC_NODE_NONE) {
    node_at(builder, node)->type.flavor = (uint8_t)flavor;
  }
  return node;
}

uint32_t fc_builder_opaque(fc_builder_t *builder, fc_str_t text) {
  uint32_t node = node_new(builder, FC_TYPE_OPAQUE);
  if (node == FC_NODE_NONE) return node;
  node_at(builder, node)->type.text = fc_builder_text(builder, text);
  return failed(builder) ? FC_NODE_NONE : node;
}

uint32_t fc_builder_node(fc_builder_t *builder, fc_type_kind_t kind) {
  uint32_t node = node_new(builder, kind);
  if (node != FC_NODE_NONE && kind == FC_TYPE_TUPLE) {
    node_at(builder, node)->type.flavor = FC_FLAVOR_TUPLE;
  }
  return node;
}

// Marks a node as a child or as the type of a parameter; fails when it already is one.
static bool node_take(fc_builder_t *builder, uint32_t node) {
  if (!node_check(builder, node)) return false;
  node_t *taken = node_at(builder, node);
  if (taken->taken) {
    (void)fc_fail(&builder->error, FC_CODE_INTERNAL,
                  "type node %u has two parents", node);
    return false;
  }
  taken->taken = true;
  return true;
}

void fc_builder_append(fc_builder_t *builder, uint32_t parent, uint32_t child) {
  if (!node_check(builder, parent) || !node_take(builder, child)) return;
  node_t *above = node_at(builder, parent);
  if (above->last_child == FC_NODE_NONE) {
    above->type.child = child;
  } else {
    node_at(builder, above->last_child)->type.next = child;
  }
  above->last_child = child;
  above->type.child_count++;
}

void fc_builder_append_key(fc_builder_t *builder, uint32_t parent, fc_str_t key,
                           uint32_t child) {
  if (!node_check(builder, parent) || !node_check(builder, child)) return;
  node_at(builder, child)->type.key = fc_builder_text(builder, key);
  fc_builder_append(builder, parent, child);
}

fc_type_t *fc_builder_at(fc_builder_t *builder, uint32_t node) {
  return node_check(builder, node) ? &node_at(builder, node)->type : NULL;
}

int64_t *fc_builder_get_dims(fc_builder_t *builder, uint32_t node) {
  if (!node_check(builder, node)) return NULL;
  if (!builder->dims.data) return NULL;  // there is no dim at all
  return (int64_t *)builder->dims.data + node_at(builder, node)->type.dims;
}

void fc_builder_replace_dim(fc_builder_t *builder, int64_t from, int64_t to) {
  for (uint32_t i = 0; i < builder->nodes.count; i++) {
    int64_t *dims = fc_builder_get_dims(builder, i);
    const int32_t rank = node_at(builder, i)->type.rank;
    for (int32_t k = 0; dims && k < rank; k++) {
      if (dims[k] == from) dims[k] = to;
    }
  }
}

void fc_builder_dims(fc_builder_t *builder, uint32_t node, int32_t rank,
                     const int64_t *dims) {
  if (!node_check(builder, node)) return;
  fc_type_t type = node_at(builder, node)->type;
  int64_t tail[FC_RANK_MAX + 1];
  bool strided = (type.flags & FC_TYPE_STRIDED) && type.rank == rank;
  if (strided) {
    const int64_t *old = (const int64_t *)builder->dims.data + type.dims;
    memcpy(tail, old + rank, sizeof *tail * ((size_t)rank + 1));
  }
  type.dims = dims_add(builder, rank, dims);
  if (strided) {
    (void)dims_add(builder, rank, tail);
    (void)dims_add(builder, 1, tail + rank);
  } else {
    type.flags &= (uint8_t)~FC_TYPE_STRIDED;
  }
  type.rank = rank;
  node_at(builder, node)->type = type;
}

// ---------------------------------------------------------------------------
// Parameters

static void param_add(fc_builder_t *builder, pool_t *pool, int32_t *next_index,
                      fc_param_t param, fc_str_t name) {
  if (!node_take(builder, param.type)) return;
  if (param.raw_index == FC_RAW_NEXT) {
    param.raw_index = (*next_index)++;
  } else if (param.raw_index < FC_RAW_NONE) {
    (void)fc_fail(&builder->error, FC_CODE_INTERNAL, "raw index %d",
                  (int)param.raw_index);
    return;
  }
  param.name = fc_builder_text(builder, name);
  fc_param_t *place = pool_add(builder, pool, sizeof *place, 1, FC_NODE_MAX,
                               "arguments or results");
  if (place) *place = param;
}

void fc_builder_argument(fc_builder_t *builder, fc_str_t name, uint32_t node,
                         fc_role_t role, bool keyword, int32_t raw_index) {
  param_add(builder, &builder->arguments, &builder->next_argument,
            (fc_param_t){.type = node,
                         .role = (uint8_t)role,
                         .keyword = keyword,
                         .raw_index = raw_index},
            name);
}

void fc_builder_result(fc_builder_t *builder, fc_str_t name, uint32_t node,
                       int32_t raw_index) {
  param_add(builder, &builder->results, &builder->next_result,
            (fc_param_t){.type = node, .raw_index = raw_index}, name);
}

static void param_name(fc_builder_t *builder, const pool_t *pool,
                       uint32_t index, fc_str_t name, bool keyword) {
  if (failed(builder)) return;
  if (index >= pool->count) {
    (void)fc_fail(&builder->error, FC_CODE_INTERNAL, "parameter %u of %u",
                  index, pool->count);
    return;
  }
  const fc_text_ref_t text = fc_builder_text(builder, name);
  fc_param_t *param = (fc_param_t *)pool->data + index;
  param->name = text;
  param->keyword = keyword;
}

void fc_builder_name_argument(fc_builder_t *builder, uint32_t index,
                              fc_str_t name) {
  param_name(builder, &builder->arguments, index, name, name.size > 0);
}

void fc_builder_name_result(fc_builder_t *builder, uint32_t index,
                            fc_str_t name) {
  param_name(builder, &builder->results, index, name, false);
}

void fc_builder_role(fc_builder_t *builder, uint32_t index, fc_role_t role,
                     bool certain) {
  if (failed(builder) || index >= builder->arguments.count) return;
  fc_param_t *param = (fc_param_t *)builder->arguments.data + index;
  param->role = (uint8_t)role;
  param->certain = certain;
}

static void set_role(const pool_t *pool, uint32_t index, bool certain) {
  if (index >= pool->count) return;  // fc_signature_verify refuses it
  fc_param_t *param = (fc_param_t *)pool->data + index;
  param->role = FC_ROLE_STATE;
  param->certain = certain;
}

void fc_builder_state(fc_builder_t *builder, fc_str_t name, uint32_t argument,
                      uint32_t result, int32_t rank, const int64_t *shape,
                      bool survives) {
  fc_state_decl_t state = {.argument = argument,
                           .result = result,
                           .survives = survives,
                           .name = fc_builder_text(builder, name)};
  if (failed(builder)) return;
  int32_t wanted = rank;
  const int64_t *dims = shape;
  if (argument < builder->arguments.count) {
    const fc_param_t *param =
        (const fc_param_t *)builder->arguments.data + argument;
    wanted = node_at(builder, param->type)->type.rank;
    if (!shape) dims = fc_builder_get_dims(builder, param->type);
  }
  if (shape && rank != wanted) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, name);
    (void)fc_fail(&builder->error, FC_CODE_ABI_METADATA,
                  "state '%s': a shape of %d dims for a type of %d", shown,
                  (int)rank, (int)wanted);
    return;
  }
  int64_t copy[FC_RANK_MAX];
  wanted = wanted > 0 && dims ? wanted : 0;
  if (wanted) memcpy(copy, dims, (size_t)wanted * sizeof *copy);
  state.dims = dims_add(builder, wanted, copy);
  fc_state_decl_t *place = pool_add(builder, &builder->states, sizeof *place, 1,
                                    FC_STATES_MAX, "states");
  if (!place) return;
  *place = state;
  set_role(&builder->arguments, argument, true);
  set_role(&builder->results, result, false);
}

// ---------------------------------------------------------------------------
// Copying another signature

static void pool_copy(fc_builder_t *builder, pool_t *pool, size_t size,
                      const void *data, uint32_t count) {
  if (!count) return;
  void *place = pool_add(builder, pool, size, count, UINT32_MAX, "parts");
  if (place) memcpy(place, data, count * size);
}

void fc_builder_copy(fc_builder_t *builder, const fc_signature_t *signature) {
  const fc_signature_t *s = signature;
  fc_builder_reset(builder);
  builder->head = *s;
  builder->head.allocator = builder->allocator;
  builder->counted = true;
  pool_copy(builder, &builder->dims, sizeof *s->dims, s->dims, s->dim_count);
  pool_copy(builder, &builder->dim_names, sizeof *s->dim_names, s->dim_names,
            s->dim_name_count);
  pool_copy(builder, &builder->sizes, sizeof *s->sizes, s->sizes,
            s->size_count * s->dim_name_count);
  pool_copy(builder, &builder->states, sizeof *s->states, s->states,
            s->state_count);
  pool_copy(builder, &builder->arguments, sizeof *s->arguments, s->arguments,
            s->argument_count);
  pool_copy(builder, &builder->results, sizeof *s->results, s->results,
            s->result_count);
  pool_copy(builder, &builder->chars, 1, s->chars, s->char_count);
  if (!s->node_count) return;
  node_t *nodes = pool_add(builder, &builder->nodes, sizeof *nodes,
                           s->node_count, FC_NODE_MAX, "type nodes");
  for (uint32_t i = 0; nodes && i < s->node_count; i++) {
    nodes[i] = (node_t){s->nodes[i], FC_NODE_NONE, true};
  }
}

// ---------------------------------------------------------------------------
// The finished signature

// Lays the signature out in one block; with `block` NULL it only adds up the
// size.
static size_t lay_out(const fc_builder_t *builder, char *block) {
  size_t size = sizeof(fc_signature_t);
  size_t dims = size;
  size += builder->dims.count * sizeof(int64_t);
  size_t sizes = size;
  size += builder->sizes.count * sizeof(int64_t);
  size_t nodes = size;
  size += builder->nodes.count * sizeof(fc_type_t);
  size_t names = size;
  size += builder->dim_names.count * sizeof(fc_text_ref_t);
  size_t arguments = size;
  size += builder->arguments.count * sizeof(fc_param_t);
  size_t results = size;
  size += builder->results.count * sizeof(fc_param_t);
  size_t states = size;
  size += builder->states.count * sizeof(fc_state_decl_t);
  size_t attrs = size;
  size += builder->attrs.count * sizeof(fc_attr_t);
  size_t chars = size;
  size += builder->chars.count;
  if (!block) return size;

  fc_signature_t *signature = (fc_signature_t *)(void *)block;
  *signature = builder->head;
  fc_type_t *types = (fc_type_t *)(void *)(block + nodes);
  for (uint32_t i = 0; i < builder->nodes.count; i++) {
    types[i] = node_at(builder, i)->type;
  }
  struct {
    size_t place;
    const pool_t *pool;
    size_t size;
  } copies[] = {
      {dims, &builder->dims, sizeof(int64_t)},
      {sizes, &builder->sizes, sizeof(int64_t)},
      {names, &builder->dim_names, sizeof(fc_text_ref_t)},
      {arguments, &builder->arguments, sizeof(fc_param_t)},
      {results, &builder->results, sizeof(fc_param_t)},
      {states, &builder->states, sizeof(fc_state_decl_t)},
      {attrs, &builder->attrs, sizeof(fc_attr_t)},
      {chars, &builder->chars, 1},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(copies); i++) {
    if (!copies[i].pool->count) continue;
    memcpy(block + copies[i].place, copies[i].pool->data,
           copies[i].pool->count * copies[i].size);
  }
  signature->nodes = types;
  signature->node_count = builder->nodes.count;
  signature->dims = (const int64_t *)(void *)(block + dims);
  signature->dim_count = builder->dims.count;
  signature->sizes = (const int64_t *)(void *)(block + sizes);
  signature->dim_names = (const fc_text_ref_t *)(void *)(block + names);
  signature->dim_name_count = builder->dim_names.count;
  signature->arguments = (const fc_param_t *)(void *)(block + arguments);
  signature->argument_count = builder->arguments.count;
  signature->results = (const fc_param_t *)(void *)(block + results);
  signature->result_count = builder->results.count;
  signature->states = (const fc_state_decl_t *)(void *)(block + states);
  signature->state_count = builder->states.count;
  signature->attrs = (const fc_attr_t *)(void *)(block + attrs);
  signature->attr_count = builder->attrs.count;
  signature->chars = block + chars;
  signature->char_count = builder->chars.count;
  return size;
}

// Says why a function with an odd leaf (FC_TYPE_ODD) is not callable; empty if there is
// no such leaf. The builder itself is not refused, because a later change may give the
// leaf another type.
static fc_text_ref_t find_odd(fc_builder_t *builder) {
  for (uint32_t i = 0; i < builder->nodes.count; i++) {
    const node_t *node = node_at(builder, i);
    if (!node->taken || !(node->type.flags & FC_TYPE_ODD)) continue;
    char shown[48], reason[96];
    fc_escape(shown, sizeof shown, 32, read_text(builder, node->type.text));
    snprintf(reason, sizeof reason, "type %s is not supported", shown);
    return fc_builder_text(builder, fc_str(reason));
  }
  return (fc_text_ref_t){0};
}

fc_status_t fc_signature_build(fc_builder_t *builder,
                               fc_signature_t **out_signature,
                               fc_error_t *err) {
  fc_text_ref_t odd = {0};
  if (!failed(builder) && builder->head.callable) odd = find_odd(builder);
  if (failed(builder)) {
    if (err) *err = builder->error;
    return builder->error.status;
  }
  char *block = fc_alloc(builder->allocator, lay_out(builder, NULL));
  if (!block) return fc_fail_memory(err);
  (void)lay_out(builder, block);
  fc_signature_t *signature = (fc_signature_t *)(void *)block;
  if (odd.size) {
    signature->callable = false;
    signature->reason = odd;
  }
  fc_named_t *scratch = fc_alloc_array(
      builder->allocator, fc_signature_most_names(signature), sizeof *scratch);
  fc_status_t status =
      scratch ? fc_signature_verify(signature, builder->sizes.count,
                                    builder->counted, scratch, err)
              : fc_fail_memory(err);
  fc_free(builder->allocator, scratch);
  if (status != FC_OK) {
    fc_free(builder->allocator, block);
    return status;
  }
  *out_signature = signature;
  return FC_OK;
}

void fc_signature_destroy(fc_signature_t *signature) {
  if (signature) fc_free(signature->allocator, signature);
}

fc_str_t fc_signature_attr(const fc_signature_t *signature, fc_str_t key) {
  for (uint32_t i = 0; i < signature->attr_count; i++) {
    if (fc_str_equal(fc_signature_text(signature, signature->attrs[i].key),
                     key)) {
      return fc_signature_text(signature, signature->attrs[i].value);
    }
  }
  return (fc_str_t){0};
}

static const char *const source_names[FC_SOURCE_COUNT] = {
#define FC_SOURCE(name, text) [FC_SOURCE_##name] = text,
#include "farcall/source.def"
#undef FC_SOURCE
};

const char *fc_source_name(fc_source_t source) {
  return (unsigned)source < FC_SOURCE_COUNT ? source_names[source] : "unknown";
}
