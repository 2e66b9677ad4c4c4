// SPDX-License-Identifier: Apache-2.0
//
// Writes SIP signatures, from leaves that the caller adds one by one, or from a
// signature's tree. Children are kept sorted, so the output is the canonical one in
// whatever order leaves are added. One thread at a time.
#include "abi/named.h"
#include "abi/sip.h"
#include "abi/span.h"

typedef enum place_kind_t {
  PLACE_LEAF,
  PLACE_SEQUENCE,
  PLACE_DICT
} place_kind_t;

// One node. Children come after their parent in the array.
typedef struct place_t {
  place_kind_t kind;
  uint32_t parent, first, last, next;
  int32_t raw_index;
  int32_t index;  // its key, if it is in a sequence
  size_t name;    // its key, if it is in a dict: offset in chars
  size_t name_size;
  size_t content;  // bytes between '!' and the end, when written
} place_t;

struct fc_sip_mangler_t {
  fc_allocator_t allocator;
  place_t *places;
  uint32_t count, capacity;
  char *chars;
  size_t char_count, char_capacity;
};

fc_sip_mangler_t *fc_sip_mangler_create(fc_allocator_t allocator) {
  fc_sip_mangler_t *mangler = fc_alloc(allocator, sizeof *mangler);
  if (mangler) mangler->allocator = allocator;
  return mangler;
}

void fc_sip_mangler_destroy(fc_sip_mangler_t *mangler) {
  if (!mangler) return;
  fc_free(mangler->allocator, mangler->places);
  fc_free(mangler->allocator, mangler->chars);
  fc_free(mangler->allocator, mangler);
}

static fc_str_t place_name(const fc_sip_mangler_t *mangler,
                           const place_t *place) {
  return fc_str_make(mangler->chars ? mangler->chars + place->name : "",
                     place->name_size);
}

static int compare_key(const fc_sip_mangler_t *mangler, const place_t *place,
                       fc_sip_key_t key) {
  if (key.kind == FC_SIP_KEY_NAME) {
    return fc_str_compare(place_name(mangler, place), key.name);
  }
  return (place->index > key.index) - (place->index < key.index);
}

// The child with that key. When there is none, FC_NODE_NONE, and *out_after is the
// sibling behind which it belongs (FC_NODE_NONE: in front of all).
static uint32_t find_child(const fc_sip_mangler_t *mangler, uint32_t parent,
                           fc_sip_key_t key, uint32_t *out_after) {
  const place_t *places = mangler->places;
  const uint32_t last = places[parent].last;
  *out_after = FC_NODE_NONE;
  // Most callers add children in the order of their keys.
  if (last != FC_NODE_NONE && compare_key(mangler, &places[last], key) < 0) {
    *out_after = last;
    return FC_NODE_NONE;
  }
  for (uint32_t child = places[parent].first; child != FC_NODE_NONE;
       child = places[child].next) {
    const int order = compare_key(mangler, &places[child], key);
    if (order == 0) return child;
    if (order > 0) return FC_NODE_NONE;
    *out_after = child;
  }
  return FC_NODE_NONE;
}

static fc_status_t reserve(fc_sip_mangler_t *mangler, size_t places,
                           size_t chars, fc_error_t *err) {
  if (places > FC_SPAN_TEXT_MAX - mangler->count ||
      chars > FC_SPAN_TEXT_MAX - mangler->char_count) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "the signature would be over the limit of %d bytes",
                   FC_SPAN_TEXT_MAX);
  }
  const size_t place_need = mangler->count + places;
  if (place_need > mangler->capacity) {
    const size_t next = place_need * 2;
    place_t *grown =
        fc_realloc(mangler->allocator, mangler->places,
                   mangler->count * sizeof *grown, next * sizeof *grown);
    if (!grown) return fc_fail_memory(err);
    mangler->places = grown;
    mangler->capacity = (uint32_t)next;
  }
  const size_t char_need = mangler->char_count + chars;
  if (char_need > mangler->char_capacity) {
    const size_t next = char_need * 2;
    char *grown = fc_realloc(mangler->allocator, mangler->chars,
                             mangler->char_count, next);
    if (!grown) return fc_fail_memory(err);
    mangler->chars = grown;
    mangler->char_capacity = next;
  }
  return FC_OK;
}

// Adds a node behind the sibling `after`. The caller has reserved room for it.
static uint32_t add_place(fc_sip_mangler_t *mangler, place_kind_t kind,
                          uint32_t parent, uint32_t after, fc_sip_key_t key) {
  const uint32_t at = mangler->count++;
  place_t *place = &mangler->places[at];
  *place = (place_t){.kind = kind,
                     .parent = parent,
                     .first = FC_NODE_NONE,
                     .last = FC_NODE_NONE,
                     .next = FC_NODE_NONE,
                     .index = key.index,
                     .name = mangler->char_count,
                     .name_size = key.name.size};
  if (key.name.size) {
    memcpy(mangler->chars + mangler->char_count, key.name.data, key.name.size);
    mangler->char_count += key.name.size;
  }
  if (parent == FC_NODE_NONE) return at;
  place_t *above = &mangler->places[parent];
  uint32_t *link =
      after == FC_NODE_NONE ? &above->first : &mangler->places[after].next;
  place->next = *link;
  *link = at;
  if (place->next == FC_NODE_NONE) above->last = at;
  return at;
}

static fc_status_t check_path(int32_t raw_index, const fc_sip_key_t *path,
                              size_t path_count, fc_error_t *err) {
  if (raw_index < 0) {
    return fc_fail(err, FC_CODE_ABI_METADATA, "raw index %d is negative",
                   (int)raw_index);
  }
  if (path_count > FC_TYPE_DEPTH_MAX) {
    return fc_fail(err, FC_CODE_ABI_METADATA, "path of %zu keys, at most %d",
                   path_count, FC_TYPE_DEPTH_MAX);
  }
  for (size_t i = 0; i < path_count; i++) {
    if (path[i].kind == FC_SIP_KEY_NAME) continue;
    if (path[i].kind == FC_SIP_KEY_INDEX && path[i].index >= 0) continue;
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "key %zu of the path is neither a name nor an index >= 0",
                   i);
  }
  return FC_OK;
}

static place_kind_t kind_for(const fc_sip_key_t *path, size_t path_count,
                             size_t level) {
  if (level == path_count) return PLACE_LEAF;
  return path[level].kind == FC_SIP_KEY_NAME ? PLACE_DICT : PLACE_SEQUENCE;
}

fc_status_t fc_sip_mangler_set(fc_sip_mangler_t *mangler, int32_t raw_index,
                               const fc_sip_key_t *path, size_t path_count,
                               fc_error_t *err) {
  FC_TRY(check_path(raw_index, path, path_count, err));
  // Follow the path as far as it exists.
  uint32_t at = mangler->count ? 0 : FC_NODE_NONE;
  uint32_t parent = FC_NODE_NONE, after = FC_NODE_NONE;
  size_t level = 0;
  while (at != FC_NODE_NONE) {
    const place_kind_t wanted = kind_for(path, path_count, level);
    if (mangler->places[at].kind != wanted || wanted == PLACE_LEAF) {
      return fc_fail(err, FC_CODE_ABI_METADATA,
                     "the place of raw value %d is taken or of another kind "
                     "at level %zu",
                     (int)raw_index, level);
    }
    parent = at;
    at = find_child(mangler, parent, path[level], &after);
    level++;
  }
  // Create the rest; nothing after `reserve` can fail.
  size_t chars = 0;
  for (size_t i = level ? level - 1 : 0; i < path_count; i++) {
    chars += path[i].name.size;
  }
  FC_TRY(reserve(mangler, path_count + 1 - level, chars, err));
  for (; level <= path_count; level++) {
    const fc_sip_key_t key =
        level ? path[level - 1] : (fc_sip_key_t){.kind = FC_SIP_KEY_NONE};
    parent = add_place(mangler, kind_for(path, path_count, level), parent,
                       after, key);
    after = FC_NODE_NONE;
  }
  mangler->places[parent].raw_index = raw_index;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Writing

static size_t key_size(const fc_sip_mangler_t *mangler, const place_t *place) {
  if (place->parent == FC_NODE_NONE) return 0;
  if (mangler->places[place->parent].kind == PLACE_DICT) {
    return fc_span_size(place->name_size);
  }
  return 1 + fc_span_digits((uint64_t)place->index);
}

static size_t value_size(const place_t *place) {
  if (place->kind != PLACE_LEAF) return fc_span_size(place->content);
  return 1 + fc_span_digits((uint64_t)place->raw_index);
}

// Computes `content` of every node and returns the size of the whole. Children come
// after their parent, so one pass backwards adds them all up.
static size_t measure(fc_sip_mangler_t *mangler) {
  for (uint32_t i = 0; i < mangler->count; i++) mangler->places[i].content = 0;
  for (uint32_t i = mangler->count; i-- > 1;) {
    const place_t *place = &mangler->places[i];
    mangler->places[place->parent].content +=
        key_size(mangler, place) + value_size(place);
  }
  return mangler->count ? value_size(&mangler->places[0]) : 0;
}

static fc_status_t put_key(const fc_sip_mangler_t *mangler,
                           const place_t *place, fc_sink_t *sink,
                           fc_error_t *err) {
  if (place->parent == FC_NODE_NONE) return FC_OK;
  if (mangler->places[place->parent].kind != PLACE_DICT) {
    return fc_span_put_number(sink, 'k', place->index, err);
  }
  FC_TRY(fc_span_put_begin(sink, 'K', place->name_size, err));
  return fc_sink_put(sink, place_name(mangler, place), err);
}

static fc_status_t put_place(const fc_sip_mangler_t *mangler,
                             const place_t *place, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(put_key(mangler, place, sink, err));
  if (place->kind == PLACE_LEAF) {
    return fc_span_put_number(sink, '_', place->raw_index, err);
  }
  return fc_span_put_begin(sink, place->kind == PLACE_DICT ? 'D' : 'S',
                           place->content, err);
}

static fc_status_t put_side(fc_sip_mangler_t *mangler, char tag,
                            fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_span_put_begin(sink, tag, measure(mangler), err));
  uint32_t at = mangler->count ? 0 : FC_NODE_NONE;
  while (at != FC_NODE_NONE) {
    const place_t *place = &mangler->places[at];
    FC_TRY(put_place(mangler, place, sink, err));
    uint32_t next = place->first;
    while (next == FC_NODE_NONE && at != FC_NODE_NONE) {
      next = mangler->places[at].next;
      at = mangler->places[at].parent;
    }
    at = next;
  }
  return FC_OK;
}

fc_status_t fc_sip_mangler_write(fc_sip_mangler_t *inputs,
                                 fc_sip_mangler_t *results, fc_sink_t *sink,
                                 fc_error_t *err) {
  FC_TRY(put_side(inputs, 'I', sink, err));
  return put_side(results, 'R', sink, err);
}

// ---------------------------------------------------------------------------
// From a signature

static bool is_gap(const fc_type_t *type) {
  return type->kind == FC_TYPE_NULL && type->raw_index == FC_RAW_NONE;
}

// A tree being placed: the signature's node of each place, and room to sort the
// keys of one dict.
typedef struct placing_t {
  const fc_signature_t *signature;
  fc_sip_mangler_t *mangler;
  uint32_t *nodes;
  fc_named_t *keys;
  fc_error_t *err;
} placing_t;

static fc_status_t place_child(placing_t *placing, uint32_t parent,
                               fc_sip_key_t key, uint32_t node) {
  fc_sip_mangler_t *mangler = placing->mangler;
  const fc_type_t *type = fc_signature_node(placing->signature, node);
  const bool dict = type->kind == FC_TYPE_DICT;
  const bool sequence =
      type->kind == FC_TYPE_TUPLE && type->raw_index == FC_RAW_NONE;
  if (!dict && !sequence && type->raw_index < 0) {
    return fc_fail(placing->err, FC_CODE_UNSUPPORTED_TYPE,
                   "a leaf without raw_index has no place in a sip signature");
  }
  FC_TRY(reserve(mangler, 1, key.name.size, placing->err));
  uint32_t after = FC_NODE_NONE;
  if (parent != FC_NODE_NONE &&
      find_child(mangler, parent, key, &after) != FC_NODE_NONE) {
    return fc_fail(placing->err, FC_CODE_ABI_METADATA,
                   "a dict key comes twice");
  }
  const uint32_t place = add_place(mangler,
                                   dict       ? PLACE_DICT
                                   : sequence ? PLACE_SEQUENCE
                                              : PLACE_LEAF,
                                   parent, after, key);
  mangler->places[place].raw_index = type->raw_index;
  placing->nodes[place] = node;
  return FC_OK;
}

// Adds the children in order of their keys: find_child then needs one
// comparison for each.
static fc_status_t place_dict(placing_t *placing, uint32_t at) {
  const fc_signature_t *signature = placing->signature;
  uint32_t child = fc_signature_node(signature, placing->nodes[at])->child;
  size_t count = 0;
  while (child != FC_NODE_NONE) {
    const fc_type_t *type = fc_signature_node(signature, child);
    placing->keys[count++] =
        (fc_named_t){fc_signature_text(signature, type->key), child};
    child = type->next;
  }
  fc_named_sort(placing->keys, count);
  for (size_t i = 0; i < count; i++) {
    const fc_sip_key_t key = {.kind = FC_SIP_KEY_NAME,
                              .name = placing->keys[i].name};
    FC_TRY(place_child(placing, at, key, placing->keys[i].number));
  }
  return FC_OK;
}

static fc_status_t place_sequence(placing_t *placing, uint32_t at) {
  const fc_signature_t *signature = placing->signature;
  uint32_t child = fc_signature_node(signature, placing->nodes[at])->child;
  for (int32_t index = 0; child != FC_NODE_NONE; index++) {
    const fc_type_t *type = fc_signature_node(signature, child);
    const fc_sip_key_t key = {.kind = FC_SIP_KEY_INDEX, .index = index};
    if (!is_gap(type)) FC_TRY(place_child(placing, at, key, child));
    child = type->next;
  }
  return FC_OK;
}

// Places a tree level by level: the array of places is the queue, and `nodes`
// has the signature's node of each place.
static fc_status_t place_tree(placing_t *placing, uint32_t root) {
  const fc_sip_key_t none = {.kind = FC_SIP_KEY_NONE};
  FC_TRY(place_child(placing, FC_NODE_NONE, none, root));
  for (uint32_t at = 0; at < placing->mangler->count; at++) {
    const place_kind_t kind = placing->mangler->places[at].kind;
    if (kind == PLACE_DICT) FC_TRY(place_dict(placing, at));
    if (kind == PLACE_SEQUENCE) FC_TRY(place_sequence(placing, at));
  }
  return FC_OK;
}

// Values without a tree: arguments by position and several results are a list, one
// result is the root itself, as IREE's own signatures have them.
static fc_status_t place_flat(placing_t *placing, const fc_param_t *params,
                              uint32_t count, bool list) {
  const fc_sip_key_t none = {.kind = FC_SIP_KEY_NONE};
  fc_sip_mangler_t *mangler = placing->mangler;
  FC_TRY(reserve(mangler, count + (size_t)list, 0, placing->err));
  uint32_t parent = FC_NODE_NONE, after = FC_NODE_NONE;
  if (list) {
    parent =
        add_place(mangler, PLACE_SEQUENCE, FC_NODE_NONE, FC_NODE_NONE, none);
  }
  for (uint32_t i = 0; i < count; i++) {
    const fc_type_t *type =
        fc_signature_node(placing->signature, params[i].type);
    if (params[i].raw_index < 0) {
      return fc_fail(placing->err, FC_CODE_UNSUPPORTED_TYPE,
                     "value %u is a tree beside other values, for which a sip "
                     "signature has no form",
                     i);
    }
    if (type->child != FC_NODE_NONE) {
      return fc_fail(placing->err, FC_CODE_UNSUPPORTED_TYPE,
                     "value %u is a structure in one raw value, for which a "
                     "sip signature has no form",
                     i);
    }
    const fc_sip_key_t key = {.kind = FC_SIP_KEY_INDEX, .index = (int32_t)i};
    after = add_place(mangler, PLACE_LEAF, parent, after, list ? key : none);
    mangler->places[after].raw_index = params[i].raw_index;
  }
  return FC_OK;
}

static fc_status_t place_side(const fc_signature_t *signature,
                              fc_sip_mangler_t *mangler,
                              const fc_param_t *params, uint32_t count,
                              bool list, fc_error_t *err) {
  if (count == 0) return FC_OK;
  const fc_allocator_t allocator = signature->allocator;
  const uint32_t most = signature->node_count;
  placing_t placing = {.signature = signature, .mangler = mangler, .err = err};
  if (count > 1 || params[0].raw_index != FC_RAW_NONE) {
    return place_flat(&placing, params, count, list || count > 1);
  }
  placing.nodes = fc_alloc_array(allocator, most, sizeof *placing.nodes);
  placing.keys = fc_alloc_array(allocator, most, sizeof *placing.keys);
  fc_status_t status = placing.nodes && placing.keys
                           ? place_tree(&placing, params[0].type)
                           : fc_fail_memory(err);
  fc_free(allocator, placing.nodes);
  fc_free(allocator, placing.keys);
  return status;
}

fc_status_t fc_sip_mangle(const fc_signature_t *signature, fc_sink_t *sink,
                          fc_error_t *err) {
  fc_sip_mangler_t inputs = {.allocator = signature->allocator};
  fc_sip_mangler_t results = {.allocator = signature->allocator};
  fc_status_t status = place_side(signature, &inputs, signature->arguments,
                                  signature->argument_count, true, err);
  if (status == FC_OK) {
    status = place_side(signature, &results, signature->results,
                        signature->result_count, false, err);
  }
  if (status == FC_OK) {
    status = fc_sip_mangler_write(&inputs, &results, sink, err);
  }
  fc_free(inputs.allocator, inputs.places);
  fc_free(inputs.allocator, inputs.chars);
  fc_free(results.allocator, results.places);
  fc_free(results.allocator, results.chars);
  return status;
}
