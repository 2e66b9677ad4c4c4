// SPDX-License-Identifier: Apache-2.0
//
// Writes SIP signatures from a signature's tree. Children are sorted, so the output is
// canonical: it does not depend on their order in the tree.
#include "abi/named.h"
#include "abi/sip.h"
#include "abi/span.h"

typedef enum place_kind_t {
  PLACE_LEAF,
  PLACE_SEQUENCE,
  PLACE_DICT
} place_kind_t;

// One value of the text. The children of a place lie side by side, after their parent.
typedef struct place_t {
  place_kind_t kind;
  uint32_t node;  // of the signature; FC_NODE_NONE: the list that add_flat adds
  uint32_t parent, first, count;
  int32_t raw_index;
  int32_t index;   // its key, if it is in a sequence
  fc_str_t name;   // its key, if it is in a dict
  size_t content;  // bytes after the '!' of its span, as measure() counts them
} place_t;

// Arguments or results while they are being written.
typedef struct side_t {
  const fc_signature_t *signature;
  place_t *places;
  uint32_t count;
  fc_named_t *keys;  // scratch: the keys of one dict, to be sorted
  fc_error_t *err;
} side_t;

static bool is_gap(const fc_type_t *type) {
  return type->kind == FC_TYPE_NULL && type->raw_index == FC_RAW_NONE;
}

// The array has room for one place per node, one per value, and one for the list of all.
static void add(side_t *side, place_t place) {
  side->places[side->count++] = place;
}

static fc_status_t add_node(side_t *side, uint32_t parent, int32_t index,
                            fc_str_t name, uint32_t node) {
  const fc_type_t *type = fc_signature_node(side->signature, node);
  const bool dict = type->kind == FC_TYPE_DICT;
  const bool sequence =
      type->kind == FC_TYPE_TUPLE && type->raw_index == FC_RAW_NONE;
  if (!dict && !sequence && type->raw_index < 0) {
    return fc_fail(side->err, FC_CODE_UNSUPPORTED_TYPE,
                   "a leaf without raw_index has no place in a sip signature");
  }
  add(side, (place_t){.kind = dict       ? PLACE_DICT
                              : sequence ? PLACE_SEQUENCE
                                         : PLACE_LEAF,
                      .node = node,
                      .parent = parent,
                      .raw_index = type->raw_index,
                      .index = index,
                      .name = name});
  return FC_OK;
}

static fc_status_t add_dict(side_t *side, uint32_t at) {
  const fc_signature_t *signature = side->signature;
  uint32_t child = fc_signature_node(signature, side->places[at].node)->child;
  size_t count = 0;
  while (child != FC_NODE_NONE) {
    const fc_type_t *type = fc_signature_node(signature, child);
    side->keys[count++] =
        (fc_named_t){fc_signature_text(signature, type->key), child};
    child = type->next;
  }
  fc_named_sort(side->keys, count);
  for (size_t i = 0; i < count; i++) {
    const fc_named_t *key = &side->keys[i];
    if (i && fc_str_equal(key->name, key[-1].name)) {
      return fc_fail(side->err, FC_CODE_ABI_METADATA, "a dict key comes twice");
    }
    FC_TRY(add_node(side, at, 0, key->name, key->number));
  }
  return FC_OK;
}

static fc_status_t add_sequence(side_t *side, uint32_t at) {
  const fc_signature_t *signature = side->signature;
  uint32_t child = fc_signature_node(signature, side->places[at].node)->child;
  for (int32_t index = 0; child != FC_NODE_NONE; index++) {
    const fc_type_t *type = fc_signature_node(signature, child);
    if (!is_gap(type)) {
      FC_TRY(add_node(side, at, index, FC_STR(""), child));
    }
    child = type->next;
  }
  return FC_OK;
}

// Adds a tree level by level: the array of places is the queue.
static fc_status_t add_tree(side_t *side, uint32_t root) {
  FC_TRY(add_node(side, FC_NODE_NONE, 0, FC_STR(""), root));
  for (uint32_t at = 0; at < side->count; at++) {
    const place_kind_t kind = side->places[at].kind;
    side->places[at].first = side->count;
    if (kind == PLACE_DICT) FC_TRY(add_dict(side, at));
    if (kind == PLACE_SEQUENCE) FC_TRY(add_sequence(side, at));
    side->places[at].count = side->count - side->places[at].first;
  }
  return FC_OK;
}

// Adds values that have no tree. Arguments by position are a list, and so are several
// results; a single result is the root itself, as in IREE's own signatures.
static fc_status_t add_flat(side_t *side, const fc_param_t *params,
                            uint32_t count, bool list) {
  if (list) {
    add(side, (place_t){.kind = PLACE_SEQUENCE,
                        .node = FC_NODE_NONE,
                        .parent = FC_NODE_NONE,
                        .first = 1,
                        .count = count});
  }
  for (uint32_t i = 0; i < count; i++) {
    const fc_type_t *type = fc_signature_node(side->signature, params[i].type);
    if (params[i].raw_index < 0) {
      return fc_fail(side->err, FC_CODE_UNSUPPORTED_TYPE,
                     "value %u is a tree beside other values, for which a sip "
                     "signature has no form",
                     i);
    }
    if (type->child != FC_NODE_NONE) {
      return fc_fail(side->err, FC_CODE_UNSUPPORTED_TYPE,
                     "value %u is a structure in one raw value, for which a "
                     "sip signature has no form",
                     i);
    }
    add(side, (place_t){.kind = PLACE_LEAF,
                        .node = params[i].type,
                        .parent = list ? 0 : FC_NODE_NONE,
                        .raw_index = params[i].raw_index,
                        .index = (int32_t)i});
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Writing

static size_t key_size(const side_t *side, const place_t *place) {
  if (side->places[place->parent].kind == PLACE_DICT) {
    return fc_span_size(place->name.size);
  }
  return 1 + fc_span_digits((uint64_t)place->index);
}

static size_t value_size(const place_t *place) {
  if (place->kind != PLACE_LEAF) return fc_span_size(place->content);
  return 1 + fc_span_digits((uint64_t)place->raw_index);
}

// Computes `content` of every place and returns the size of the whole. Children come
// after their parent, so one pass backwards adds them all up.
static size_t measure(side_t *side) {
  for (uint32_t i = side->count; i-- > 1;) {
    const place_t *place = &side->places[i];
    side->places[place->parent].content +=
        key_size(side, place) + value_size(place);
  }
  return side->count ? value_size(&side->places[0]) : 0;
}

static fc_status_t put_key(const side_t *side, const place_t *place,
                           fc_sink_t *sink) {
  if (place->parent == FC_NODE_NONE) return FC_OK;
  if (side->places[place->parent].kind != PLACE_DICT) {
    return fc_span_put_number(sink, 'k', place->index, side->err);
  }
  FC_TRY(fc_span_put_begin(sink, 'K', place->name.size, side->err));
  return fc_sink_put(sink, place->name, side->err);
}

static fc_status_t put_place(const side_t *side, const place_t *place,
                             fc_sink_t *sink) {
  FC_TRY(put_key(side, place, sink));
  if (place->kind == PLACE_LEAF) {
    return fc_span_put_number(sink, '_', place->raw_index, side->err);
  }
  return fc_span_put_begin(sink, place->kind == PLACE_DICT ? 'D' : 'S',
                           place->content, side->err);
}

// Finds the place that is written after this one and all places below it.
static uint32_t next_of(const side_t *side, uint32_t at) {
  for (uint32_t parent; at; at = parent) {
    parent = side->places[at].parent;
    const place_t *above = &side->places[parent];
    if (at + 1 < above->first + above->count) return at + 1;
  }
  return FC_NODE_NONE;
}

static fc_status_t put_side(side_t *side, char tag, fc_sink_t *sink) {
  const size_t size = measure(side);
  if (size > FC_SPAN_TEXT_MAX) {
    return fc_fail(side->err, FC_CODE_ABI_METADATA,
                   "the signature would be over the limit of %d bytes",
                   FC_SPAN_TEXT_MAX);
  }
  FC_TRY(fc_span_put_begin(sink, tag, size, side->err));
  uint32_t at = side->count ? 0 : FC_NODE_NONE;
  while (at != FC_NODE_NONE) {
    const place_t *place = &side->places[at];
    FC_TRY(put_place(side, place, sink));
    at = place->count ? place->first : next_of(side, at);
  }
  return FC_OK;
}

static fc_status_t write_side(const fc_signature_t *signature,
                              const fc_param_t *params, uint32_t count,
                              char tag, fc_sink_t *sink, fc_error_t *err) {
  const fc_allocator_t allocator = signature->allocator;
  const size_t most = (size_t)signature->node_count + count + 1;
  const bool list = tag == 'I' || count > 1;
  side_t side = {.signature = signature,
                 .places = fc_alloc_array(allocator, most, sizeof(place_t)),
                 .keys = fc_alloc_array(allocator, most, sizeof(fc_named_t)),
                 .err = err};
  fc_status_t status = FC_OK;
  if (!side.places || !side.keys) status = fc_fail_memory(err);
  else if (count == 1 && params[0].raw_index == FC_RAW_NONE)
    status = add_tree(&side, params[0].type);
  else if (count) status = add_flat(&side, params, count, list);
  if (status == FC_OK) status = put_side(&side, tag, sink);
  fc_free(allocator, side.places);
  fc_free(allocator, side.keys);
  return status;
}

fc_status_t fc_sip_mangle(const fc_signature_t *signature, fc_sink_t *sink,
                          fc_error_t *err) {
  FC_TRY(write_side(signature, signature->arguments, signature->argument_count,
                    'I', sink, err));
  return write_side(signature, signature->results, signature->result_count, 'R',
                    sink, err);
}
