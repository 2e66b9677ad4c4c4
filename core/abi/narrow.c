// SPDX-License-Identifier: Apache-2.0
#include "abi/narrow.h"

#include "abi/print.h"
#include "abi/walk.h"

// One side of a comparison: a type tree and its signature.
typedef struct tree_t {
  const fc_signature_t *signature;
  uint32_t root;
} tree_t;

static bool same_text(const fc_signature_t *a, fc_text_ref_t x,
                      const fc_signature_t *b, fc_text_ref_t y) {
  return fc_str_equal(fc_signature_text(a, x), fc_signature_text(b, y));
}

// For each name of a sized dim of the outer signature: the dim of the inner signature at
// the first place where the sized dim stands. NOWHERE: no such place was found.
#define NOWHERE INT64_MIN
typedef struct counterparts_t {
  int64_t dims[FC_DIM_NAMES_MAX];
} counterparts_t;

static bool dims_are_within(const fc_signature_t *inner, const fc_type_t *a,
                            const fc_signature_t *outer, const fc_type_t *b,
                            counterparts_t *found) {
  if (b->rank == FC_RANK_DYNAMIC) return true;
  if (a->rank != b->rank) return false;
  const int64_t *has = fc_signature_dims(inner, a);
  const int64_t *takes = fc_signature_dims(outer, b);
  for (int32_t i = 0; i < b->rank; i++) {
    if (takes[i] >= 0 && has[i] != takes[i]) return false;
    if (!found || !fc_dim_is_sized(outer, takes[i])) continue;
    int64_t *other = &found->dims[fc_dim_name(takes[i])];
    if (*other == NOWHERE) *other = has[i];
  }
  return true;
}

// True when each value of node `a` is also a value of node `b`, without their children.
static bool node_is_within(const fc_signature_t *inner, const fc_type_t *a,
                           const fc_signature_t *outer, const fc_type_t *b,
                           counterparts_t *found) {
  if (b->kind == FC_TYPE_UNKNOWN) return true;
  if (a->kind != b->kind || a->dtype != b->dtype || a->flavor != b->flavor ||
      a->child_count != b->child_count) {
    return false;
  }
  switch ((fc_type_kind_t)b->kind) {
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
    case FC_TYPE_REFARRAY:
      return dims_are_within(inner, a, outer, b, found);
    case FC_TYPE_OPAQUE:
      return same_text(inner, a->text, outer, b->text);
    default:
      return true;
  }
}

// Finds the child of `parent` that must be compared with `child`. In a dict it is the
// child with the same key. Otherwise it is the child at the same place: the one after
// `last`, or the first if `last` is NULL.
static const fc_type_t *find_child(const fc_signature_t *inner,
                                   const fc_type_t *child,
                                   const fc_signature_t *outer,
                                   const fc_type_t *parent,
                                   const fc_type_t *last) {
  const fc_type_t *nodes = outer->nodes;
  const uint32_t next = last ? last->next : parent->child;
  const fc_type_t *guess = next == FC_NODE_NONE ? NULL : &nodes[next];
  if (parent->kind != FC_TYPE_DICT) return guess;
  if (guess && same_text(inner, child->key, outer, guess->key)) return guess;
  for (uint32_t i = parent->child; i != FC_NODE_NONE; i = nodes[i].next) {
    if (same_text(inner, child->key, outer, nodes[i].key)) return &nodes[i];
  }
  return NULL;
}

// True when each value of the type `inner` is also a value of the type `outer`. It does
// not compare which sizes dims may have together. It notes in `found` (may be NULL) which
// dims of `inner` stand where `outer` has sized dims.
static bool is_within(tree_t inner, tree_t outer, counterparts_t *found) {
  const fc_type_t *places[FC_TYPE_DEPTH_MAX + 1] = {0};
  fc_walk_t walk;
  fc_walk_init(&walk, inner.signature->nodes, inner.root);
  while (fc_walk_next(&walk)) {
    if (walk.leave) continue;
    const uint32_t depth = walk.depth;
    if (depth == 0) {
      places[0] = fc_signature_node(outer.signature, outer.root);
    } else {
      // Nothing is compared below a value that carries its own type.
      if (places[depth - 1]->kind == FC_TYPE_UNKNOWN) {
        places[depth] = places[depth - 1];
        continue;
      }
      const fc_type_t *last = walk.index ? places[depth] : NULL;
      places[depth] = find_child(inner.signature, walk.type, outer.signature,
                                 places[depth - 1], last);
      if (!places[depth]) return false;
    }
    if (!node_is_within(inner.signature, walk.type, outer.signature,
                        places[depth], found)) {
      return false;
    }
  }
  return true;
}

// Fails because the types of an argument or result differ. The message names the
// argument or result and both types; "expected" is the type of the old function.
static fc_status_t differ(const char *what, uint32_t position, tree_t before,
                          tree_t after, fc_error_t *err) {
  fc_text_t texts[2];
  const tree_t trees[2] = {before, after};
  for (int i = 0; i < 2; i++) {
    fc_text_init(&texts[i], trees[i].signature->allocator, 1024);
    (void)fc_type_print_text(trees[i].signature, trees[i].root, &texts[i].sink,
                             NULL);
  }
  const fc_str_t was = fc_text_str(&texts[0]), is = fc_text_str(&texts[1]);
  const fc_str_t name =
      before.signature->name.size
          ? fc_signature_text(before.signature, before.signature->name)
          : FC_STR("");
  const fc_status_t status =
      fc_fail(err, FC_CODE_SIGNATURE_NARROWED,
              "function '%.*s', %s %u: was %.*s, is %.*s", FC_STR_ARG(name),
              what, position, FC_STR_ARG(was), FC_STR_ARG(is));
  fc_error_expected(err, "%.*s", FC_STR_ARG(was));
  fc_error_got(err, is);
  fc_text_deinit(&texts[0]);
  fc_text_deinit(&texts[1]);
  return status;
}

static fc_status_t fail(const fc_signature_t *before, const char *what,
                        fc_error_t *err) {
  return fc_fail(err, FC_CODE_SIGNATURE_NARROWED, "function '%.*s': %s",
                 FC_STR_ARG(fc_signature_text(before, before->name)), what);
}

// True when callers who rely on the argument's role, and on its name if it may be given
// by name, can still do so.
static bool same_use(const fc_signature_t *before, const fc_param_t *a,
                     const fc_signature_t *after, const fc_param_t *b) {
  const bool named = a->name.size && a->keyword;
  return a->role == b->role &&
         (!named || (b->keyword && same_text(before, a->name, after, b->name)));
}

// True when `after` accepts a call of the sizes in row `row` of `before` (of the fixed
// sizes, if `before` has no rows), because it has a row of these sizes, or may batch.
static bool has_row(const fc_signature_t *before, uint32_t row,
                    const fc_signature_t *after, const counterparts_t *found) {
  const int64_t *sizes = before->sizes;
  if (before->size_count) sizes += row * (size_t)before->dim_name_count;
  const bool batches =
      fc_signature_batches(after) ||
      (fc_signature_batches(before) && fc_signature_may_batch(after));
  for (uint32_t i = 0; i < after->size_count; i++) {
    const int64_t *takes = after->sizes + i * (size_t)after->dim_name_count;
    bool fits = true;
    for (uint32_t k = 0; fits && k < after->dim_name_count; k++) {
      int64_t dim = found->dims[k];
      if (takes[k] < 0 || dim == NOWHERE) continue;
      if (fc_dim_is_sized(before, dim)) dim = sizes[fc_dim_name(dim)];
      fits = (batches && dim > 0) || dim == takes[k];
    }
    if (fits) return true;
  }
  return false;
}

// True when `after` accepts all sizes that `before` accepts.
static bool keeps_sizes(const fc_signature_t *before,
                        const fc_signature_t *after,
                        const counterparts_t *found) {
  if (!after->size_count) return true;
  if (fc_signature_batches(before) && !fc_signature_may_batch(after)) {
    return false;
  }
  const uint32_t count = before->size_count ? before->size_count : 1;
  for (uint32_t i = 0; i < count; i++) {
    if (!has_row(before, i, after, found)) return false;
  }
  return true;
}

fc_status_t fc_signature_check_replaces(const fc_signature_t *before,
                                        const fc_signature_t *after,
                                        fc_error_t *err) {
  if (!before->callable) return FC_OK;
  if (!after->callable) return fail(before, "can no longer be called", err);
  if (before->argument_count != after->argument_count) {
    return fail(before, "has another number of arguments", err);
  }
  if (before->result_count != after->result_count) {
    return fail(before, "has another number of results", err);
  }
  counterparts_t found;
  for (size_t i = 0; i < FC_DIM_NAMES_MAX; i++) found.dims[i] = NOWHERE;
  for (uint32_t i = 0; i < before->argument_count; i++) {
    const fc_param_t *a = &before->arguments[i], *b = &after->arguments[i];
    const tree_t had = {before, a->type}, has = {after, b->type};
    if (!same_use(before, a, after, b)) {
      return fail(before, "an argument has another name or role", err);
    }
    // Callers do not send state.
    if (a->role == FC_ROLE_STATE && b->role == a->role) continue;
    if (!is_within(had, has, &found)) {
      return differ("argument", i, had, has, err);
    }
  }
  for (uint32_t i = 0; i < before->result_count; i++) {
    const tree_t had = {before, before->results[i].type};
    const tree_t has = {after, after->results[i].type};
    if (before->results[i].role == FC_ROLE_STATE &&
        after->results[i].role == FC_ROLE_STATE) {
      continue;
    }
    if (!is_within(has, had, NULL)) return differ("result", i, had, has, err);
  }
  if (!keeps_sizes(before, after, &found)) {
    return fail(before, "takes fewer sizes", err);
  }
  return FC_OK;
}
