// SPDX-License-Identifier: Apache-2.0
//
// SIP signatures (attribute `sip`, 2019-2021): the tree that binds structured
// arguments and results to the flat values of a call.
//   sig   := I(value?) R(value?)
//   value := '_'n | 'S'( ('k'i value)* ) | 'D'( ('K'(bytes) value)* )
// IREE's parser accepts texts that its writer never makes (keys of the wrong
// kind, several roots, keys without a value) and can loop endlessly. Here one
// walk of each side checks everything before any visitor is called: there is
// one root; S has only indices, ascending; D has only names, unique; every raw
// input is used exactly once; depth and size are limited. Any thread.
#include "abi/sip.h"

#include "abi/named.h"
#include "abi/span.h"
#include "base/utf8.h"
#include "json/writer.h"

// The most leaves a text can have: the shortest leaf in a structure is "k0_0".
#define LEAVES_MAX (FC_SPAN_TEXT_MAX / 4)
#define FEW_KEYS 16

typedef struct level_t {
  size_t end;
  bool is_dict;
  bool has_key;
  int64_t last_index;
  fc_sip_key_t key;
} level_t;

// The facts that the check finds out about a side.
typedef struct side_facts_t {
  uint32_t leaf_count;
  int32_t max_index;    // -1: no leaves
  size_t max_index_at;  // offset of that index in the text
  size_t duplicate_at;  // offset of the first raw index that was used before
  bool has_duplicate;
  uint8_t used[LEAVES_MAX / 8];
} side_facts_t;

typedef struct walk_t {
  fc_span_reader_t reader;
  uint32_t depth;
  bool has_root;
  level_t levels[FC_TYPE_DEPTH_MAX];
  const fc_sip_visitor_t *visitor;  // NULL: only check
  side_facts_t *facts;              // NULL: the text was checked before
} walk_t;

static level_t *top(walk_t *walk) {
  return walk->depth ? &walk->levels[walk->depth - 1] : NULL;
}

// ---------------------------------------------------------------------------
// Unique keys of one dict

// Counts the names that stand directly in the window, not in spans inside it, and
// collects the first `capacity` of them. Other fields are skipped. Syntax errors are left
// to the walk, which finds them in the order of the text.
static size_t collect_keys(fc_span_reader_t window, fc_named_t *keys,
                           size_t capacity) {
  size_t count = 0;
  while (window.at < window.end) {
    fc_field_t field;
    if (fc_span_next(&window, &field, NULL) != FC_OK) break;
    if (field.tag != 'K') continue;
    if (count < capacity) {
      keys[count] =
          (fc_named_t){fc_field_text(&window, &field), (uint32_t)field.offset};
    }
    count++;
  }
  return count;
}

static fc_status_t check_keys(fc_named_t *keys, size_t count, const char *text,
                              fc_error_t *err) {
  fc_named_t first, second;
  if (!fc_named_find_twins(keys, count, &first, &second)) return FC_OK;
  char shown[96];
  fc_escape(shown, sizeof shown, 64, second.name);
  return fc_abi_fail(err, (size_t)(second.name.data - text),
                     "key \"%s\" comes twice", shown);
}

static fc_status_t check_unique_keys(fc_span_reader_t window, fc_error_t *err) {
  fc_named_t few[FEW_KEYS];
  const size_t count = collect_keys(window, few, FEW_KEYS);
  if (count <= FEW_KEYS) return check_keys(few, count, window.text, err);
  const fc_allocator_t allocator = fc_allocator_system();
  fc_named_t *keys = fc_alloc_array(allocator, count, sizeof *keys);
  if (!keys) return fc_fail_memory(err);
  collect_keys(window, keys, count);
  fc_status_t status = check_keys(keys, count, window.text, err);
  fc_free(allocator, keys);
  return status;
}

// ---------------------------------------------------------------------------
// The walk

static fc_sip_key_t take_key(walk_t *walk) {
  level_t *level = top(walk);
  if (!level) return (fc_sip_key_t){.kind = FC_SIP_KEY_NONE};
  level->has_key = false;
  return level->key;
}

static fc_status_t on_key(walk_t *walk, const fc_field_t *field,
                          fc_error_t *err) {
  level_t *level = top(walk);
  if (!level) return fc_abi_fail(err, field->offset, "key at the root");
  if (level->has_key) {
    return fc_abi_fail(err, field->offset, "two keys in a row");
  }
  if (level->is_dict != (field->tag == 'K')) {
    return fc_abi_fail(err, field->offset, "key '%c' is not for a '%c'",
                       field->tag, level->is_dict ? 'D' : 'S');
  }
  level->has_key = true;
  if (level->is_dict) {
    level->key = (fc_sip_key_t){.kind = FC_SIP_KEY_NAME,
                                .name = fc_field_text(&walk->reader, field)};
    return FC_OK;
  }
  if (field->number <= level->last_index) {
    return fc_abi_fail(err, field->offset, "index %d is not above %lld",
                       (int)field->number, (long long)level->last_index);
  }
  level->last_index = field->number;
  level->key = (fc_sip_key_t){.kind = FC_SIP_KEY_INDEX, .index = field->number};
  return FC_OK;
}

static void note_leaf(side_facts_t *facts, const fc_field_t *field) {
  const int32_t index = field->number;
  facts->leaf_count++;
  if (index > facts->max_index) {
    facts->max_index = index;
    facts->max_index_at = field->offset;
  }
  if (index >= LEAVES_MAX) return;
  uint8_t *byte = &facts->used[index / 8];
  const uint8_t bit = (uint8_t)(1u << (index % 8));
  if ((*byte & bit) && !facts->has_duplicate) {
    facts->has_duplicate = true;
    facts->duplicate_at = field->offset;
  }
  *byte |= bit;
}

static fc_status_t on_leaf(walk_t *walk, const fc_field_t *field,
                           fc_error_t *err) {
  if (field->number < 0) {
    return fc_abi_fail(err, field->offset, "raw index %d is negative",
                       (int)field->number);
  }
  if (walk->facts) note_leaf(walk->facts, field);
  const fc_sip_key_t key = take_key(walk);
  if (!walk->visitor) return FC_OK;
  return walk->visitor->leaf(walk->visitor->context, key, field->number);
}

static fc_status_t on_begin(walk_t *walk, const fc_field_t *field,
                            fc_error_t *err) {
  const bool is_dict = field->tag == 'D';
  if (walk->depth == FC_TYPE_DEPTH_MAX) {
    return fc_abi_fail(err, field->offset, "nested deeper than %d",
                       FC_TYPE_DEPTH_MAX);
  }
  const fc_span_reader_t inside = fc_field_reader(&walk->reader, field);
  if (is_dict && walk->facts) FC_TRY(check_unique_keys(inside, err));
  const fc_sip_key_t key = take_key(walk);
  walk->levels[walk->depth++] =
      (level_t){.end = field->end, .is_dict = is_dict, .last_index = -1};
  walk->reader.at = inside.at;
  if (!walk->visitor) return FC_OK;
  return walk->visitor->begin(walk->visitor->context, key, is_dict);
}

static fc_status_t on_value(walk_t *walk, const fc_field_t *field,
                            fc_error_t *err) {
  const level_t *level = top(walk);
  if (level && !level->has_key) {
    return fc_abi_fail(err, field->offset, "value without a key");
  }
  if (!level && walk->has_root) {
    return fc_abi_fail(err, field->offset, "more than one root");
  }
  walk->has_root = true;
  return field->tag == '_' ? on_leaf(walk, field, err)
                           : on_begin(walk, field, err);
}

static fc_status_t close_levels(walk_t *walk, fc_error_t *err) {
  while (walk->depth && walk->reader.at == top(walk)->end) {
    const level_t closed = *top(walk);
    if (closed.has_key) {
      return fc_abi_fail(err, closed.end, "the last key has no value");
    }
    walk->depth--;
    if (walk->visitor) {
      FC_TRY(walk->visitor->end(walk->visitor->context, closed.is_dict));
    }
  }
  return FC_OK;
}

static fc_status_t walk_side(walk_t *walk, fc_error_t *err) {
  const size_t side_end = walk->reader.end;
  for (;;) {
    FC_TRY(close_levels(walk, err));
    if (walk->reader.at == side_end) return FC_OK;
    walk->reader.end = walk->depth ? top(walk)->end : side_end;
    fc_field_t field;
    FC_TRY(fc_span_next(&walk->reader, &field, err));
    if (field.tag == 'k' || field.tag == 'K') {
      FC_TRY(on_key(walk, &field, err));
    } else if (field.tag == '_' || field.tag == 'S' || field.tag == 'D') {
      FC_TRY(on_value(walk, &field, err));
    } else {
      return fc_abi_fail(err, field.offset, "tag '%c' is unknown", field.tag);
    }
  }
}

// Checks that every raw input is used exactly once.
static fc_status_t check_inputs(const side_facts_t *facts, fc_error_t *err) {
  if (facts->has_duplicate) {
    return fc_abi_fail(err, facts->duplicate_at, "raw input is used twice");
  }
  if (facts->max_index < (int64_t)facts->leaf_count) return FC_OK;
  return fc_abi_fail(err, facts->max_index_at,
                     "raw input %d where there are %u leaves",
                     (int)facts->max_index, facts->leaf_count);
}

typedef struct sip_t {
  fc_span_reader_t sides[2];  // by fc_sip_side_t
  uint32_t leaf_counts[2];
  int32_t max_indices[2];
} sip_t;

static fc_status_t check(fc_str_t text, sip_t *out_sip, fc_error_t *err) {
  fc_field_t fields[2];
  FC_TRY(fc_span_open(text, &fields[0], &fields[1], err));
  const fc_span_reader_t whole = {text.data, 0, text.size};
  for (int side = 0; side < 2; side++) {
    side_facts_t facts = {.max_index = -1};
    walk_t walk = {.reader = fc_field_reader(&whole, &fields[side]),
                   .facts = &facts};
    out_sip->sides[side] = walk.reader;
    FC_TRY(walk_side(&walk, err));
    if (side == FC_SIP_INPUTS) FC_TRY(check_inputs(&facts, err));
    out_sip->leaf_counts[side] = facts.leaf_count;
    out_sip->max_indices[side] = facts.max_index;
  }
  return FC_OK;
}

fc_status_t fc_sip_visit(fc_str_t text, fc_sip_side_t side,
                         const fc_sip_visitor_t *visitor, fc_error_t *err) {
  sip_t sip;
  FC_TRY(check(text, &sip, err));
  walk_t walk = {.reader = sip.sides[side], .visitor = visitor};
  return walk_side(&walk, err);
}

// ---------------------------------------------------------------------------
// Text, as IREE itself prints it

typedef struct text_printer_t {
  fc_sink_t *sink;
  fc_error_t *err;
  uint32_t indent;
} text_printer_t;

static fc_status_t print(text_printer_t *printer, fc_str_t text) {
  return fc_sink_put(printer->sink, text, printer->err);
}

static fc_status_t print_indent(text_printer_t *printer) {
  for (uint32_t i = 0; i < printer->indent; i++) {
    FC_TRY(print(printer, FC_STR("  ")));
  }
  return FC_OK;
}

static fc_status_t print_key(text_printer_t *printer, fc_sip_key_t key) {
  if (key.kind == FC_SIP_KEY_NONE) return FC_OK;
  FC_TRY(print_indent(printer));
  if (key.kind == FC_SIP_KEY_NAME) return print(printer, key.name);
  return fc_json_write_i64(printer->sink, key.index, printer->err);
}

static fc_status_t print_leaf(void *context, fc_sip_key_t key,
                              int32_t raw_index) {
  text_printer_t *printer = context;
  FC_TRY(print_key(printer, key));
  FC_TRY(print(printer, FC_STR("=raw(")));
  FC_TRY(fc_json_write_i64(printer->sink, raw_index, printer->err));
  return print(printer, FC_STR("),\n"));
}

static fc_status_t print_begin(void *context, fc_sip_key_t key, bool is_dict) {
  text_printer_t *printer = context;
  FC_TRY(print_key(printer, key));
  printer->indent++;
  return print(printer, is_dict ? FC_STR(":{\n") : FC_STR(":[\n"));
}

static fc_status_t print_end(void *context, bool is_dict) {
  text_printer_t *printer = context;
  printer->indent--;
  FC_TRY(print_indent(printer));
  return print(printer, is_dict ? FC_STR("},\n") : FC_STR("],\n"));
}

fc_status_t fc_sip_print_text(fc_str_t text, fc_sip_side_t side,
                              fc_sink_t *sink, fc_error_t *err) {
  text_printer_t printer = {.sink = sink, .err = err};
  const fc_sip_visitor_t visitor = {&printer, print_leaf, print_begin,
                                    print_end};
  return fc_sip_visit(text, side, &visitor, err);
}

// ---------------------------------------------------------------------------
// A signature

typedef struct tree_builder_t {
  fc_builder_t *builder;
  fc_raw_nodes_t raw;  // types of the leaves; without it all are UNKNOWN
  bool has_raw;
  fc_error_t *err;
  uint32_t root;
  uint32_t depth;
  uint32_t gap_count;
  uint32_t nodes[FC_TYPE_DEPTH_MAX];
  uint32_t filled[FC_TYPE_DEPTH_MAX];  // number of children, with the gaps
  uint8_t taken[FC_NODE_MAX / 8];      // raw nodes that have a parent
} tree_builder_t;

// Adds a null for each index that the text left out. Their number is limited, since one
// large index in a short text could require millions of them.
static fc_status_t fill_gap(tree_builder_t *tree, uint32_t parent,
                            uint32_t from, uint32_t to) {
  if (to - from > FC_SPAN_TEXT_MAX - tree->gap_count) {
    return fc_fail(tree->err, FC_CODE_ABI_METADATA,
                   "index %u leaves more than %d places empty", to,
                   FC_SPAN_TEXT_MAX);
  }
  tree->gap_count += to - from;
  for (; from < to; from++) {
    fc_builder_append(tree->builder, parent,
                      fc_builder_node(tree->builder, FC_TYPE_NULL));
  }
  return FC_OK;
}

static fc_status_t attach(tree_builder_t *tree, fc_sip_key_t key,
                          uint32_t node) {
  if (key.kind == FC_SIP_KEY_NONE) {
    tree->root = node;
    return FC_OK;
  }
  const uint32_t level = tree->depth - 1;
  const uint32_t parent = tree->nodes[level];
  if (key.kind == FC_SIP_KEY_NAME) {
    // A name in JSON is text. Other bytes would change when the JSON is read back.
    if (!fc_utf8_is_valid(key.name) ||
        memchr(key.name.data, '\0', key.name.size)) {
      return fc_fail(tree->err, FC_CODE_ABI_METADATA,
                     "a dict key of %zu bytes is not UTF-8 text without NUL",
                     key.name.size);
    }
    fc_builder_append_key(tree->builder, parent, key.name, node);
    return FC_OK;
  }
  FC_TRY(fill_gap(tree, parent, tree->filled[level], (uint32_t)key.index));
  fc_builder_append(tree->builder, parent, node);
  tree->filled[level] = (uint32_t)key.index + 1;
  return FC_OK;
}

// Copies the node of a raw value that appears a second time in the results, since a
// node has only one parent.
static uint32_t copy_node(fc_builder_t *builder, uint32_t original) {
  const fc_type_t *from = fc_builder_at(builder, original);
  if (!from) return FC_NODE_NONE;
  fc_type_t type = *from;
  uint32_t copy = fc_builder_node(builder, FC_TYPE_UNKNOWN);
  fc_type_t *to = fc_builder_at(builder, copy);
  if (!to) return FC_NODE_NONE;
  type.next = FC_NODE_NONE;
  *to = type;
  return copy;
}

static uint32_t leaf_node(tree_builder_t *tree, int32_t raw_index) {
  fc_builder_t *builder = tree->builder;
  if (!tree->has_raw || (uint32_t)raw_index >= tree->raw.count) {
    uint32_t node = fc_builder_node(builder, FC_TYPE_UNKNOWN);
    fc_type_t *type = fc_builder_at(builder, node);
    if (type) type->raw_index = raw_index;
    return node;
  }
  // A text can have more raw values than a signature can have nodes. Then the
  // builder has failed, this value has no node, and `taken` has no bit for it.
  const uint32_t node = tree->raw.first + (uint32_t)raw_index;
  if (!fc_builder_at(builder, node)) return FC_NODE_NONE;
  uint8_t *byte = &tree->taken[raw_index / 8];
  const uint8_t bit = (uint8_t)(1u << (raw_index % 8));
  if (*byte & bit) return copy_node(builder, node);
  *byte |= bit;
  return node;
}

static fc_status_t build_leaf(void *context, fc_sip_key_t key,
                              int32_t raw_index) {
  tree_builder_t *tree = context;
  return attach(tree, key, leaf_node(tree, raw_index));
}

static fc_status_t build_begin(void *context, fc_sip_key_t key, bool is_dict) {
  tree_builder_t *tree = context;
  uint32_t node =
      fc_builder_node(tree->builder, is_dict ? FC_TYPE_DICT : FC_TYPE_TUPLE);
  fc_type_t *type = fc_builder_at(tree->builder, node);
  if (type && !is_dict) type->flavor = FC_FLAVOR_LIST;
  FC_TRY(attach(tree, key, node));
  tree->nodes[tree->depth] = node;
  tree->filled[tree->depth++] = 0;
  return FC_OK;
}

static fc_status_t build_end(void *context, bool is_dict) {
  (void)is_dict;
  ((tree_builder_t *)context)->depth--;
  return FC_OK;
}

static fc_status_t build_side(const sip_t *sip, fc_sip_side_t side,
                              fc_raw_nodes_t raw, bool has_raw,
                              fc_builder_t *builder, uint32_t *out_root,
                              fc_error_t *err) {
  tree_builder_t tree = {.builder = builder,
                         .raw = raw,
                         .has_raw = has_raw,
                         .err = err,
                         .root = FC_NODE_NONE};
  const fc_sip_visitor_t visitor = {&tree, build_leaf, build_begin, build_end};
  walk_t walk = {.reader = sip->sides[side], .visitor = &visitor};
  FC_TRY(walk_side(&walk, err));
  *out_root = tree.root;
  return FC_OK;
}

// Finds how many values one side of the flat call has. The module and the raw text must
// agree on this number. Every index of the tree must be below this number, and the tree
// of inputs must use every index.
static fc_status_t raw_count(const sip_t *sip, fc_sip_side_t side,
                             int32_t known, const fc_raw_nodes_t *raw,
                             uint32_t *out_count, fc_error_t *err) {
  static const char *const kNames[2] = {"inputs", "results"};
  const uint32_t least = (uint32_t)(sip->max_indices[side] + 1);
  uint32_t count = least;
  if (raw) count = raw->count;
  if (known != FC_COUNT_UNKNOWN && raw && count != (uint32_t)known) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "raw signature has %u %s, the function %d", count,
                   kNames[side], (int)known);
  }
  if (known != FC_COUNT_UNKNOWN) count = (uint32_t)known;
  const bool wrong = side == FC_SIP_INPUTS ? least != count : least > count;
  if (wrong) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "sip names %u raw %s, the function has %u", least,
                   kNames[side], count);
  }
  *out_count = count;
  return FC_OK;
}

// Adds the raw results one by one, for a text whose results are "R1!", which
// has no structure for them.
static void flat_results(fc_builder_t *builder, const fc_raw_nodes_t *raw,
                         uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t node =
        raw ? raw->first + i : fc_builder_node(builder, FC_TYPE_UNKNOWN);
    fc_type_t *type = fc_builder_at(builder, node);
    if (type) type->raw_index = (int32_t)i;
    fc_builder_result(builder, FC_STR(""), node, (int32_t)i);
  }
}

fc_status_t fc_sip_parse(fc_str_t text, fc_str_t raw, fc_raw_counts_t counts,
                         fc_builder_t *builder, fc_error_t *err) {
  sip_t sip;
  FC_TRY(check(text, &sip, err));
  fc_raw_nodes_t nodes[2] = {{0, 0}, {0, 0}};
  const bool has_raw = raw.size > 0;
  if (has_raw) {
    FC_TRY(fc_raw_build_nodes(raw, builder, &nodes[0], &nodes[1], err));
  }
  uint32_t argument_count, result_count, root;
  FC_TRY(raw_count(&sip, FC_SIP_INPUTS, counts.arguments,
                   has_raw ? &nodes[0] : NULL, &argument_count, err));
  FC_TRY(raw_count(&sip, FC_SIP_RESULTS, counts.results,
                   has_raw ? &nodes[1] : NULL, &result_count, err));
  FC_TRY(
      build_side(&sip, FC_SIP_INPUTS, nodes[0], has_raw, builder, &root, err));
  if (root != FC_NODE_NONE) {
    fc_builder_argument(builder, FC_STR(""), root, FC_ROLE_IN, false,
                        FC_RAW_NONE);
  }
  FC_TRY(
      build_side(&sip, FC_SIP_RESULTS, nodes[1], has_raw, builder, &root, err));
  if (root != FC_NODE_NONE) {
    fc_builder_result(builder, FC_STR(""), root, FC_RAW_NONE);
  } else {
    flat_results(builder, has_raw ? &nodes[1] : NULL, result_count);
  }
  fc_builder_source(builder, FC_SOURCE_SIP);
  fc_builder_root_tree(builder, true);
  fc_builder_raw_counts(builder, argument_count, result_count);
  return FC_OK;
}
