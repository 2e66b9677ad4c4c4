// SPDX-License-Identifier: Apache-2.0
//
// Prints the indented form of a signature from its canonical JSON.
#include "tree.h"

#include <stdio.h>

#include "abi/print.h"
#include "abi/walk.h"
#include "farcall/abi.h"

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

// Returns the word for a node with children, which are printed below it.
static const char *nest_name(const fc_type_t *type) {
  if (type->kind == FC_TYPE_TUPLE) {
    if (type->flavor == FC_FLAVOR_LIST) return "list";
    if (type->flavor == FC_FLAVOR_STRUCT) return "struct";
  }
  if (type->kind == FC_TYPE_LIST) return "list, each";
  if (type->kind == FC_TYPE_REFARRAY) return "array, each";
  return fc_type_kind_name((fc_type_kind_t)type->kind);
}

static fc_status_t put_node(const fc_signature_t *signature,
                            const fc_walk_t *walk, fc_sink_t *sink,
                            fc_error_t *err) {
  const fc_type_t *type = walk->type;
  if (fc_type_kind_nests(type->kind)) {
    FC_TRY(put(sink, nest_name(type), err));
  } else {
    uint32_t node = (uint32_t)(type - signature->nodes);
    FC_TRY(fc_type_print_text(signature, node, sink, err));
  }
  if (type->raw_index < 0) return put(sink, "\n", err);
  char raw[32];
  snprintf(raw, sizeof raw, "  raw %d\n", type->raw_index);
  return put(sink, raw, err);
}

// Writes "key: " in a dict, "[2] " in a tuple.
static fc_status_t put_place(const fc_signature_t *signature,
                             const fc_walk_t *walk, fc_sink_t *sink,
                             fc_error_t *err) {
  if (!walk->parent) return FC_OK;
  for (uint32_t i = 0; i <= walk->depth; i++) FC_TRY(put(sink, "  ", err));
  if (walk->parent->kind == FC_TYPE_DICT) {
    char key[160];
    fc_escape(key, sizeof key, 128,
              fc_signature_text(signature, walk->type->key));
    FC_TRY(put(sink, key, err));
    return put(sink, ": ", err);
  }
  if (walk->parent->kind != FC_TYPE_TUPLE) return FC_OK;
  char place[16];
  snprintf(place, sizeof place, "[%u] ", walk->index);
  return put(sink, place, err);
}

// Writes the tree of an argument or result. Writes nothing if its type has neither parts
// nor a raw index: the one-line signature describes it fully.
static fc_status_t put_tree(const fc_signature_t *signature, const char *what,
                            uint32_t position, const fc_param_t *param,
                            fc_sink_t *sink, fc_error_t *err) {
  const fc_type_t *root = fc_signature_node(signature, param->type);
  if (!fc_type_kind_nests(root->kind) && root->raw_index < 0) return FC_OK;
  char label[200], name[160];
  fc_escape(name, sizeof name, 128, fc_signature_text(signature, param->name));
  snprintf(label, sizeof label, "  %s %u%s%s: ", what, position,
           *name ? " " : "", name);
  FC_TRY(put(sink, label, err));
  fc_walk_t walk;
  fc_walk_init(&walk, signature->nodes, param->type);
  while (fc_walk_next(&walk)) {
    if (walk.leave) continue;
    FC_TRY(put_place(signature, &walk, sink, err));
    FC_TRY(put_node(signature, &walk, sink, err));
  }
  return FC_OK;
}

static fc_status_t put_trees(const fc_signature_t *signature, fc_sink_t *sink,
                             fc_error_t *err) {
  fc_argument_t at = {0};
  while (fc_argument_next(signature, &at)) {
    FC_TRY(put_tree(signature, "argument", at.position, &at.param, sink, err));
  }
  uint32_t number = 0;
  const fc_param_t *result = NULL;
  while ((result = fc_result_next(signature, result))) {
    FC_TRY(put_tree(signature, "result", number++, result, sink, err));
  }
  return FC_OK;
}

fc_status_t fc_tree_print(fc_str_t json, fc_sink_t *sink, fc_error_t *err) {
  fc_signature_t *signature = NULL;
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  if (!builder) return fc_fail_memory(err);
  fc_status_t status = fc_signature_parse_json(json, builder, err);
  if (status == FC_OK) status = fc_signature_build(builder, &signature, err);
  if (status == FC_OK) status = put_trees(signature, sink, err);
  fc_builder_destroy(builder);
  fc_signature_destroy(signature);
  return status;
}
