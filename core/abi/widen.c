// SPDX-License-Identifier: Apache-2.0
//
// Reads the types of a group's functions side by side, node by node. They may differ
// only in dims and strides. A place is the position of one dim or stride. If dims among
// the arguments differ in the same way, they have the same size in every call, so these
// places get one name.
#include "abi/widen.h"

#include <inttypes.h>
#include <stdio.h>

#include "abi/print.h"
#include "abi/walk.h"

#define NAMES_MAX 16  // of dims that differ, in one group

typedef enum kind_t {
  SENT,      // a dim of a tensor that callers send
  STORED,    // of an OUT argument
  RETURNED,  // of a result
  FIXED,     // of anything else: it may not differ
  STRIDE,    // a stride or the offset of a tensor
} kind_t;

typedef struct place_t {
  uint32_t node;
  int32_t dim;  // strides and offset follow the dims
  kind_t kind;
  bool result;
  bool inside;     // it belongs to a part of a value of the flat call
  uint32_t param;  // number of the argument or result
} place_t;

typedef struct maker_t {
  const fc_group_t *group;
  fc_names_t *names;
  fc_builder_t *builder;
  const fc_doc_t *doc;
  const fc_signature_t *first;
  place_t *places;
  uint32_t place_count;
  int64_t *values;  // all places of the first function, then the second, …
  int64_t *rows;    // FC_DIM_NAMES_MAX for each function
  uint32_t next_name;
} maker_t;

// ---------------------------------------------------------------------------
// Faults

static fc_shown_t show_member(const maker_t *maker, uint32_t member) {
  const fc_signature_t *signature = maker->group->members[member].signature;
  return fc_doc_show(fc_signature_text(signature, signature->name));
}

static const char *noun_of(bool result) {
  return result ? "result" : "argument";
}

// Fails because a dim of `member` is `value` but should be `wanted`.
static fc_status_t fault_dim(const maker_t *maker, const place_t *place,
                             uint32_t member, int64_t value, int64_t wanted,
                             const char *why) {
  char texts[2][24] = {"?", "?"};
  if (value >= 0) snprintf(texts[0], sizeof texts[0], "%" PRId64, value);
  if (wanted >= 0) snprintf(texts[1], sizeof texts[1], "%" PRId64, wanted);
  return fc_doc_fault(maker->doc, "functions",
                      "dim %" PRId32 " of %s %" PRIu32 " is %s in '%s', %s%s",
                      place->dim, noun_of(place->result), place->param,
                      texts[0], show_member(maker, member).text, why, texts[1]);
}

static fc_status_t fault_type(const maker_t *maker, uint32_t member,
                              bool result, uint32_t param, uint32_t node,
                              uint32_t wanted) {
  const fc_signature_t *signature = maker->group->members[member].signature;
  fc_text_t texts[2];
  for (int i = 0; i < 2; i++) fc_text_init(&texts[i], signature->allocator, 64);
  // The result is ignored: a text that is too long is cut.
  (void)fc_type_print_text(signature, node, &texts[0].sink, NULL);
  (void)fc_type_print_text(maker->first, wanted, &texts[1].sink, NULL);
  const fc_str_t is = fc_text_str(&texts[0]), first = fc_text_str(&texts[1]);
  const fc_status_t status = fc_doc_fault(
      maker->doc, "functions",
      "%s %" PRIu32 " is %.*s in '%s', %.*s in the first: only dims may differ",
      noun_of(result), param, FC_STR_ARG(is), show_member(maker, member).text,
      FC_STR_ARG(first));
  for (int i = 0; i < 2; i++) fc_text_deinit(&texts[i]);
  return status;
}

// ---------------------------------------------------------------------------
// Side by side

static bool same_text(const fc_signature_t *a, fc_text_ref_t x,
                      const fc_signature_t *b, fc_text_ref_t y) {
  return fc_str_equal(fc_signature_text(a, x), fc_signature_text(b, y));
}

// True when two nodes differ only in dims and strides.
static bool is_alike(const fc_signature_t *a, const fc_type_t *x,
                     const fc_signature_t *b, const fc_type_t *y) {
  return x->kind == y->kind && x->dtype == y->dtype && x->flavor == y->flavor &&
         x->flags == y->flags && x->rank == y->rank &&
         x->child_count == y->child_count && x->raw_index == y->raw_index &&
         same_text(a, x->key, b, y->key) &&
         (x->kind != FC_TYPE_OPAQUE || same_text(a, x->text, b, y->text));
}

static bool same_dim(const fc_signature_t *a, int64_t x,
                     const fc_signature_t *b, int64_t y) {
  if (!fc_dim_is_named(x) || !fc_dim_is_named(y)) return x == y;
  return same_text(a, a->dim_names[fc_dim_name(x)], b,
                   b->dim_names[fc_dim_name(y)]);
}

// True for a part of a value of the flat call, such as an element of a list.
static bool is_inside(const fc_param_t *param, const fc_walk_t *at) {
  return param->raw_index < 0 ? at->type->raw_index < 0 : at->depth > 0;
}

// Returns the kind of the dims of a node. Dims of an argument inside a value of the flat
// call, such as a list, must not differ: they can occur several times in a call, or
// never.
static kind_t kind_of(const fc_param_t *param, const fc_walk_t *at,
                      bool result) {
  if (at->type->kind != FC_TYPE_TENSOR) return FIXED;
  if (result) return RETURNED;
  if (is_inside(param, at)) return FIXED;
  switch (param->role) {
    case FC_ROLE_IN:
    case FC_ROLE_INOUT:
    case FC_ROLE_SCRATCH:
      return SENT;
    case FC_ROLE_OUT:
      return STORED;
    default:
      return FIXED;
  }
}

static bool has_dims(const fc_type_t *type) {
  return type->rank > 0 &&
         (type->kind == FC_TYPE_TENSOR || type->kind == FC_TYPE_VECTOR ||
          type->kind == FC_TYPE_REFARRAY);
}

// Notes a member's dims and strides of one node. The node's places begin at *count;
// *count is moved to the place after them.
static fc_status_t take_dims(maker_t *maker, uint32_t member, place_t place,
                             const fc_type_t *type, const fc_type_t *mine,
                             uint32_t *count) {
  const fc_signature_t *other = maker->group->members[member].signature;
  const int64_t *wanted = fc_signature_dims(maker->first, type);
  const int64_t *has = fc_signature_dims(other, mine);
  const bool strided = type->flags & FC_TYPE_STRIDED;
  const int32_t end = strided ? 2 * type->rank + 1 : type->rank;
  const kind_t kind = place.kind;
  for (int32_t i = 0; i < end; i++) {
    place.dim = i;
    place.kind = i < type->rank ? kind : STRIDE;
    const bool dynamic = wanted[i] < 0 || has[i] < 0;
    const bool same = same_dim(maker->first, wanted[i], other, has[i]);
    if (place.kind != STRIDE && !same && (dynamic || kind == FIXED)) {
      return fault_dim(maker, &place, member, has[i], wanted[i],
                       kind == FIXED && !dynamic
                           ? "and it may not differ there: the first has "
                           : "the first has ");
    }
    FC_ASSERT(*count < maker->first->dim_count);
    maker->places[*count] = place;
    maker->values[member * (size_t)maker->first->dim_count + *count] =
        place.kind != STRIDE && dynamic ? wanted[i] : has[i];
    ++*count;
  }
  return FC_OK;
}

static fc_status_t take_param(maker_t *maker, uint32_t member, bool result,
                              uint32_t number, uint32_t *count) {
  const fc_signature_t *first = maker->first;
  const fc_signature_t *other = maker->group->members[member].signature;
  const fc_param_t *a = (result ? first->results : first->arguments) + number;
  const fc_param_t *b = (result ? other->results : other->arguments) + number;
  fc_walk_t mine, theirs;
  fc_walk_init(&theirs, first->nodes, a->type);
  fc_walk_init(&mine, other->nodes, b->type);
  if (a->role != b->role || a->raw_index != b->raw_index) {
    return fc_doc_fault(
        maker->doc, "functions",
        "%s %" PRIu32 " has another role in '%s' than in '%s'", noun_of(result),
        number, show_member(maker, member).text, show_member(maker, 0).text);
  }
  while (fc_walk_next(&theirs)) {
    // Both walks visited equal nodes so far, so neither ends before the other.
    if (!fc_walk_next(&mine) ||
        !is_alike(first, theirs.type, other, mine.type)) {
      return fault_type(maker, member, result, number, b->type, a->type);
    }
    if (theirs.leave || !has_dims(theirs.type)) continue;
    const place_t place = {.node = (uint32_t)(theirs.type - first->nodes),
                           .kind = kind_of(a, &theirs, result),
                           .result = result,
                           .inside = is_inside(a, &theirs),
                           .param = number};
    FC_TRY(take_dims(maker, member, place, theirs.type, mine.type, count));
  }
  return FC_OK;
}

static fc_status_t take_member(maker_t *maker, uint32_t member) {
  const fc_signature_t *first = maker->first;
  const fc_signature_t *other = maker->group->members[member].signature;
  uint32_t count = 0;
  if (other->argument_count != first->argument_count ||
      other->result_count != first->result_count ||
      other->raw_argument_count != first->raw_argument_count ||
      other->raw_result_count != first->raw_result_count ||
      other->async != first->async || other->root_tree != first->root_tree) {
    return fc_doc_fault(maker->doc, "functions",
                        "'%s' takes or returns another number of values than "
                        "'%s', or is called in another way",
                        show_member(maker, member).text,
                        show_member(maker, 0).text);
  }
  for (uint32_t i = 0; i < first->argument_count; i++) {
    FC_TRY(take_param(maker, member, false, i, &count));
  }
  for (uint32_t i = 0; i < first->result_count; i++) {
    FC_TRY(take_param(maker, member, true, i, &count));
  }
  maker->place_count = count;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The names of dims that differ

static int64_t value_at(const maker_t *maker, uint32_t member, uint32_t place) {
  return maker->values[member * (size_t)maker->first->dim_count + place];
}

// True when each member has the same size at both places.
static bool agree(const maker_t *maker, uint32_t a, uint32_t b) {
  for (uint32_t i = 0; i < maker->group->count; i++) {
    if (value_at(maker, i, a) != value_at(maker, i, b)) return false;
  }
  return true;
}

static bool differs(const maker_t *maker, uint32_t place) {
  for (uint32_t i = 1; i < maker->group->count; i++) {
    if (value_at(maker, i, place) != value_at(maker, 0, place)) return true;
  }
  return false;
}

// Returns the current value of the dim; FC_DIM_DYNAMIC when the builder has failed.
static int64_t get_dim(const maker_t *maker, const place_t *place) {
  const int64_t *dims = fc_builder_get_dims(maker->builder, place->node);
  return dims ? dims[place->dim] : FC_DIM_DYNAMIC;
}

static void set_dim(const maker_t *maker, const place_t *place, int64_t dim) {
  int64_t *dims = fc_builder_get_dims(maker->builder, place->node);
  if (dims) dims[place->dim] = dim;
}

static bool has_name(const fc_signature_t *signature, fc_str_t name) {
  for (uint32_t i = 0; i < signature->dim_name_count; i++) {
    if (fc_str_equal(fc_signature_text(signature, signature->dim_names[i]),
                     name)) {
      return true;
    }
  }
  return false;
}

// Adds a name that no dim has: size, size1, size2, … For a group that was found
// by names it is batch, batch1, …
static int64_t add_name(maker_t *maker) {
  const char *base = maker->group->found ? "batch" : "size";
  char name[24];
  do {
    const uint32_t number = maker->next_name++;
    snprintf(name, sizeof name, number ? "%s%" PRIu32 : "%s", base, number);
  } while (has_name(maker->first, fc_str(name)));
  return fc_builder_dim_name(maker->builder, fc_str(name));
}

// Makes every dim that differs dynamic, and gives names to those that callers choose.
static fc_status_t widen(maker_t *maker) {
  uint32_t named[NAMES_MAX], count = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < maker->place_count; i++) {
      const place_t *place = &maker->places[i];
      if ((place->kind == SENT) != !pass || !differs(maker, i)) continue;
      uint32_t k = 0;
      while (k < count && !agree(maker, named[k], i)) k++;
      if (place->kind == STRIDE) {
        set_dim(maker, place, FC_STRIDE_DYNAMIC);
      } else if (k < count) {
        set_dim(maker, place, get_dim(maker, &maker->places[named[k]]));
      } else if (place->kind == RETURNED) {
        set_dim(maker, place, FC_DIM_DYNAMIC);
      } else if (place->kind == STORED) {
        return fault_dim(maker, place, 0, value_at(maker, 0, i),
                         value_at(maker, 1, i),
                         "and no argument the caller sends differs so: the "
                         "next has ");
      } else if (count == NAMES_MAX) {
        return fc_doc_fault(maker->doc, "functions",
                            "more than %d dims differ, each in its own way",
                            NAMES_MAX);
      } else {
        set_dim(maker, place, add_name(maker));
        named[count++] = i;
      }
    }
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The rows of sizes

// Notes which size the name of a dim has in each member. If another place has already
// set that size, checks that this dim has the same size.
static fc_status_t note_place(maker_t *maker, uint32_t number) {
  const place_t *place = &maker->places[number];
  const int64_t dim = get_dim(maker, place);
  if (dim >= 0) {
    return fault_dim(maker, place, 1, value_at(maker, 1, number), dim,
                     "and the list gives it the size ");
  }
  if (!fc_dim_is_named(dim)) return FC_OK;
  for (uint32_t i = 0; i < maker->group->count; i++) {
    int64_t *size =
        &maker->rows[i * (size_t)FC_DIM_NAMES_MAX + fc_dim_name(dim)];
    const int64_t value = value_at(maker, i, number);
    if (*size < 0 && place->kind == SENT) *size = value;
    if (*size >= 0 && *size != value) {
      return fault_dim(maker, place, i, value, *size,
                       "and another dim of its name ");
    }
  }
  return FC_OK;
}

static fc_status_t fill_rows(maker_t *maker) {
  const size_t width = FC_DIM_NAMES_MAX, count = maker->group->count;
  for (size_t i = 0; i < count * width; i++) maker->rows[i] = FC_DIM_DYNAMIC;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < maker->place_count; i++) {
      const kind_t kind = maker->places[i].kind;
      if (kind == STRIDE || (kind == SENT) != !pass || !differs(maker, i)) {
        continue;
      }
      FC_TRY(note_place(maker, i));
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < i; k++) {
      if (memcmp(&maker->rows[i * width], &maker->rows[k * width],
                 width * sizeof *maker->rows)) {
        continue;
      }
      return fc_doc_fault(
          maker->doc, "functions", "'%s' and '%s' take the same sizes",
          show_member(maker, k).text, show_member(maker, i).text);
    }
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// A group's signature

static bool all_have(const fc_group_t *group, fc_str_t key, fc_str_t value) {
  for (uint32_t i = 1; i < group->count; i++) {
    if (!fc_str_equal(fc_signature_attr(group->members[i].signature, key),
                      value)) {
      return false;
    }
  }
  return true;
}

// Begins the group's signature as a copy of the first function's. Alignment, memory
// safety and attributes are changed to values that hold for every member.
static void begin(const maker_t *maker) {
  const fc_group_t *group = maker->group;
  const fc_signature_t *first = maker->first;
  fc_builder_t *builder = maker->builder;
  bool safe = true, trusts = false;
  uint8_t alignment = 1;
  fc_builder_copy(builder, first);
  fc_builder_name(builder, group->name);
  for (uint32_t i = 0; i < group->count; i++) {
    const fc_signature_t *member = group->members[i].signature;
    safe = safe && member->memory_safe;
    trusts = trusts || member->trusts_dims;
    if (member->alignment > alignment) alignment = member->alignment;
  }
  if (first->memory_known) fc_builder_memory_safe(builder, safe, trusts);
  fc_builder_alignment(builder, alignment);
  for (uint32_t i = 0; i < first->attr_count; i++) {
    const fc_str_t key = fc_signature_text(first, first->attrs[i].key);
    const fc_str_t value = fc_signature_text(first, first->attrs[i].value);
    const bool ours = fc_str_equal(key, FC_STR(FC_BATCH_ATTR)) ||
                      fc_str_equal(key, FC_STR(FC_BATCH_DELAY_ATTR));
    if (!ours && all_have(group, key, value)) {
      fc_builder_attr(builder, key, value);
    }
  }
}

// ---------------------------------------------------------------------------
// Batching rows

// Fails because the rows of argument or result `number` cannot be separated.
static fc_status_t fault_batch(const fc_doc_t *doc, bool result,
                               uint32_t number, const char *why) {
  return fc_doc_fault(doc, "batch",
                      "%s %" PRIu32 " %s: functions are batched that differ in "
                      "the first dim of tensors alone, which each result has",
                      noun_of(result), number, why);
}

// Sets *out_name to the dim in which the functions differ (FC_DIM_DYNAMIC: they do not),
// and *out_results to the number of results that have this dim. Fails unless the dim has
// a name, the functions differ in no other dim, and it is the first dim of tensors that
// are values of the flat call. Arguments among these tensors may not be written to.
static fc_status_t find_rows(const maker_t *maker, const fc_doc_t *doc,
                             int64_t *out_name, uint32_t *out_results) {
  *out_name = FC_DIM_DYNAMIC;
  *out_results = 0;
  for (uint32_t i = 0; i < maker->place_count; i++) {
    const place_t *place = &maker->places[i];
    if (!differs(maker, i)) continue;
    const int64_t dim = get_dim(maker, place);
    const bool sent = place->kind == SENT &&
                      maker->first->arguments[place->param].role == FC_ROLE_IN;
    if (*out_name == FC_DIM_DYNAMIC && sent) *out_name = dim;
    if (place->dim || dim != *out_name || !fc_dim_is_named(dim) ||
        !(sent || (place->kind == RETURNED && !place->inside))) {
      return fault_batch(doc, place->result, place->param, "differs otherwise");
    }
    *out_results += place->result;
  }
  return FC_OK;
}

// Checks that every result of the function has rows, as `with_rows` results do.
static fc_status_t check_results(const maker_t *maker, const fc_doc_t *doc,
                                 uint32_t with_rows) {
  const fc_signature_t *first = maker->first;
  uint32_t count = 0;
  for (uint32_t i = 0; i < first->result_count; i++) {
    fc_walk_t at;
    fc_walk_init(&at, first->nodes, first->results[i].type);
    while (fc_walk_next(&at)) {
      if (!at.leave && !at.type->child_count) count++;
    }
    if (count > with_rows) return fault_batch(doc, true, i, "has no rows");
  }
  return FC_OK;
}

// Refuses an argument without rows if the function may keep something in it, such as a
// cache. That is so for a group found by its functions' names, unless it is known that
// the function does not write to the argument.
static fc_status_t check_argument(const maker_t *maker, const fc_doc_t *doc,
                                  int64_t name, uint32_t number) {
  const fc_signature_t *first = maker->first;
  const fc_param_t *argument = &first->arguments[number];
  const bool doubted = maker->group->found && !argument->certain;
  fc_walk_t at;
  if (argument->role != FC_ROLE_IN) {
    return fault_batch(doc, false, number, "is written to");
  }
  fc_walk_init(&at, first->nodes, argument->type);
  while (fc_walk_next(&at)) {
    if (at.leave) continue;
    const fc_type_t *type = at.type;
    const int64_t *dims =
        fc_builder_get_dims(maker->builder, (uint32_t)(type - first->nodes));
    if (is_inside(argument, &at)) {
      return fault_batch(doc, false, number, "is a list");
    }
    if (doubted && type->kind == FC_TYPE_TENSOR &&
        !(type->rank > 0 && dims && dims[0] == name)) {
      return fault_batch(doc, false, number, "may be written to");
    }
  }
  return FC_OK;
}

static fc_status_t check_sizes(const maker_t *maker, const fc_doc_t *doc,
                               int64_t name) {
  for (uint32_t i = 0; maker->group->rows && i < maker->group->count; i++) {
    const int64_t has =
        maker->rows[i * (size_t)FC_DIM_NAMES_MAX + fc_dim_name(name)];
    if (has == maker->group->rows[i]) continue;
    return fc_doc_fault(
        doc, "batch", "'%s' has %" PRId64 " rows, it is said to have %" PRId64,
        show_member(maker, i).text, has, maker->group->rows[i]);
  }
  return FC_OK;
}

static fc_status_t check_batch(const maker_t *maker, const fc_doc_t *doc) {
  const fc_signature_t *first = maker->first;
  int64_t name;
  uint32_t results;
  FC_TRY(find_rows(maker, doc, &name, &results));
  if (!fc_dim_is_named(name)) {
    return fc_doc_fault(doc, "batch", "no dim of theirs differs");
  }
  FC_TRY(check_results(maker, doc, results));
  for (uint32_t i = 0; i < first->argument_count; i++) {
    FC_TRY(check_argument(maker, doc, name, i));
  }
  if (first->state_count || !results) {
    return fc_doc_fault(doc, "batch", "they have %s",
                        results ? "state" : "no results");
  }
  return check_sizes(maker, doc, name);
}

// Marks the group's rows as batched, if they can be. If they cannot, fails when batching
// is wanted, and otherwise leaves the group unmarked.
static fc_status_t add_batch(const maker_t *maker) {
  fc_doc_t doc = *maker->doc;
  if (maker->group->batch == FC_BATCH_NEVER) return FC_OK;
  if (maker->group->batch == FC_BATCH_IF_IT_FITS) doc.err = NULL;
  const fc_status_t status = check_batch(maker, &doc);
  if (status != FC_OK) return doc.err ? status : FC_OK;
  fc_builder_attr(maker->builder, FC_STR(FC_BATCH_ATTR),
                  FC_STR(FC_BATCH_UNPROVED));
  if (maker->group->delay_us) {
    char delay[24];
    snprintf(delay, sizeof delay, "%" PRIu64, maker->group->delay_us);
    fc_builder_attr(maker->builder, FC_STR(FC_BATCH_DELAY_ATTR), fc_str(delay));
  }
  return FC_OK;
}

static fc_status_t build(maker_t *maker, fc_signature_t **out_signature) {
  fc_builder_t *builder = maker->builder;
  fc_error_t inner;
  for (uint32_t i = 0; i < maker->group->count; i++) {
    fc_builder_sizes(builder, &maker->rows[i * (size_t)FC_DIM_NAMES_MAX]);
  }
  if (fc_signature_build(builder, out_signature, &inner) == FC_OK) return FC_OK;
  if (inner.code == FC_CODE_OUT_OF_MEMORY) {
    return fc_fail_memory(maker->doc->err);
  }
  return fc_doc_fault(maker->doc, "", "%s", inner.message);
}

static fc_status_t make(maker_t *maker, fc_signature_t **out_signature) {
  bool named;
  for (uint32_t i = 0; i < maker->group->count; i++) {
    FC_TRY(take_member(maker, i));
  }
  begin(maker);
  FC_TRY(widen(maker));
  if (maker->names) {
    FC_TRY(fc_names_apply(maker->names, maker->group->name, maker->first,
                          maker->builder, &named, maker->doc->err));
  }
  // If the builder has failed, its dims cannot be read. build() returns the error.
  const bool failed = maker->place_count &&
                      !fc_builder_at(maker->builder, maker->places[0].node);
  if (!failed) FC_TRY(fill_rows(maker));
  if (!failed) FC_TRY(add_batch(maker));
  return build(maker, out_signature);
}

fc_status_t fc_group_widen(const fc_group_t *group, fc_names_t *names,
                           fc_builder_t *builder, fc_allocator_t allocator,
                           const fc_doc_t *doc,
                           fc_signature_t **out_signature) {
  const fc_signature_t *first = group->members[0].signature;
  const size_t dims = (size_t)first->dim_count + 1;
  maker_t maker = {.group = group,
                   .names = names,
                   .builder = builder,
                   .doc = doc,
                   .first = first};
  maker.places = fc_alloc_array(allocator, dims, sizeof *maker.places);
  maker.values =
      fc_alloc_array(allocator, group->count * dims, sizeof *maker.values);
  maker.rows = fc_alloc_array(
      allocator, group->count * (size_t)FC_DIM_NAMES_MAX, sizeof *maker.rows);
  const fc_status_t status = maker.places && maker.values && maker.rows
                                 ? make(&maker, out_signature)
                                 : fc_fail_memory(doc->err);
  fc_free(allocator, maker.places);
  fc_free(allocator, maker.values);
  fc_free(allocator, maker.rows);
  return status;
}
