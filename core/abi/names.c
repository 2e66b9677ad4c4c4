// SPDX-License-Identifier: Apache-2.0
//
// Names are checked in two steps. The form of the document is checked when it is read.
// Whether the names fit a function's signature is checked when the signature is there.
#include "abi/names.h"

#include <inttypes.h>
#include <stdlib.h>

#include "abi/document.h"
#include "abi/print.h"

// The keys of a names document, by fc_names_list_t.
static const char *const kLists[] = {"functions", "sizes"};

#define ARGUMENT_NAME_SIZE_MAX 256  // bytes

// ---------------------------------------------------------------------------
// The document

static int compare(const void *a, const void *b) {
  const fc_name_entry_t *x = a, *y = b;
  const int order = fc_str_compare(x->function, y->function);
  if (order) return order;
  return (x->number > y->number) - (x->number < y->number);
}

static void stand_at(fc_doc_t *doc, fc_names_list_t which, size_t number) {
  doc->whose = "its sidecar";
  doc->functions = kLists[which];
  doc->function = (int64_t)number;
}

static fc_status_t check_twins(fc_doc_t *doc, const fc_names_t *names) {
  for (size_t i = 1; i < names->count; i++) {
    const fc_name_entry_t *it = &names->entries[i];
    if (!fc_str_equal(it[-1].function, it->function)) continue;
    stand_at(doc, it->list, it->number);
    return fc_doc_fault(doc, "name", "function %zu has the same name",
                        it[-1].number);
  }
  return FC_OK;
}

static fc_status_t read_list(fc_doc_t *doc, yyjson_val *list,
                             fc_names_list_t which, fc_names_t *names) {
  const size_t count = yyjson_arr_size(list);
  yyjson_val *value = yyjson_arr_get_first(list);
  for (size_t i = 0; i < count; i++) {
    fc_str_t name = {0};
    stand_at(doc, which, i);
    if (!yyjson_is_obj(value))
      return fc_doc_fault(doc, "", "must be an object");
    FC_TRY(fc_doc_text(doc, value, "name", &name));
    if (!name.size) return fc_doc_fault(doc, "name", "is missing");
    names->entries[names->count++] = (fc_name_entry_t){
        .function = name, .value = value, .number = i, .list = which};
    value = unsafe_yyjson_get_next(value);
  }
  return FC_OK;
}

// Reads one of the lists. FC_NOT_FOUND when the document does not have it.
static fc_status_t read_named(fc_doc_t *doc, fc_names_list_t which,
                              fc_names_t *names) {
  yyjson_val *list;
  FC_TRY(fc_doc_array(doc, yyjson_doc_get_root(doc->json), kLists[which],
                      FC_SIDECAR_FUNCTIONS_MAX, &list));
  if (!list) return FC_NOT_FOUND;
  names->entries = fc_alloc_array(names->allocator, yyjson_arr_size(list) + 1,
                                  sizeof *names->entries);
  if (!names->entries) return fc_fail_memory(doc->err);
  FC_TRY(read_list(doc, list, which, names));
  qsort(names->entries, names->count, sizeof *names->entries, compare);
  return check_twins(doc, names);
}

static fc_status_t read_functions(fc_doc_t *doc, fc_names_t *names) {
  const fc_status_t status = read_named(doc, FC_NAMES_FUNCTIONS, names);
  return status == FC_NOT_FOUND ? fc_doc_fault(doc, "functions", "is missing")
                                : status;
}

static fc_status_t open_names(fc_str_t json, fc_allocator_t allocator,
                              fc_doc_t *doc, fc_names_t **out_names,
                              fc_error_t *err) {
  fc_names_t *names = fc_alloc(allocator, sizeof *names);
  if (!names) return fc_fail_memory(err);
  names->allocator = allocator;
  *doc = (fc_doc_t){.whose = "its sidecar"};
  const fc_status_t status = fc_doc_open(doc, json, &names->allocator, err);
  names->document = doc->json;
  names->so_sha256 = doc->so_sha256;
  if (status == FC_OK) *out_names = names;
  else fc_names_destroy(names);
  return status;
}

static fc_status_t finish(fc_status_t status, fc_names_t *take_names,
                          fc_names_t **out_names) {
  if (status == FC_OK) *out_names = take_names;
  else fc_names_destroy(take_names);
  return status;
}

fc_status_t fc_names_parse(fc_str_t json, bool unsaid, fc_allocator_t allocator,
                           fc_names_t **out_names, fc_error_t *err) {
  fc_names_t *names;
  fc_doc_t doc;
  FC_TRY(open_names(json, allocator, &doc, &names, err));
  const bool other =
      doc.abi != FC_DOC_ABI_MODULE && !(unsaid && doc.abi == FC_DOC_ABI_UNSAID);
  return finish(other ? FC_NOT_FOUND : read_functions(&doc, names), names,
                out_names);
}

fc_status_t fc_names_parse_list(fc_str_t json, fc_names_list_t which,
                                fc_allocator_t allocator,
                                fc_names_t **out_names, fc_error_t *err) {
  fc_names_t *names;
  fc_doc_t doc;
  FC_TRY(open_names(json, allocator, &doc, &names, err));
  return finish(read_named(&doc, which, names), names, out_names);
}

void fc_names_destroy(fc_names_t *names) {
  if (!names) return;
  fc_free(names->allocator, names->entries);
  yyjson_doc_free(names->document);
  fc_free(names->allocator, names);
}

// ---------------------------------------------------------------------------
// One function

typedef struct applying_t {
  fc_doc_t doc;
  const fc_signature_t *signature;
  fc_builder_t *builder;
  // The dim that a name stands for now, by the name's index: the name itself,
  // or the other name or the size that replaced it.
  int64_t became[FC_DIM_NAMES_MAX];
} applying_t;

static int64_t resolve(const applying_t *at, int64_t dim) {
  while (fc_dim_is_named(dim) && at->became[fc_dim_name(dim)] != dim) {
    dim = at->became[fc_dim_name(dim)];
  }
  return dim;
}

static fc_status_t apply_dims(applying_t *at, yyjson_val *object,
                              uint32_t node) {
  const fc_type_t *type = fc_signature_node(at->signature, node);
  yyjson_val *dims;
  FC_TRY(fc_doc_array(&at->doc, object, "dims", FC_RANK_MAX, &dims));
  if (!dims) return FC_OK;
  if (type->kind != FC_TYPE_TENSOR || type->rank < 0) {
    return fc_doc_fault(&at->doc, "dims", "this is no tensor of known rank");
  }
  if ((size_t)type->rank != yyjson_arr_size(dims)) {
    return fc_doc_fault(&at->doc, "dims", "%zu dims for a type of %d",
                        yyjson_arr_size(dims), (int)type->rank);
  }
  yyjson_val *entry = yyjson_arr_get_first(dims);
  for (int i = 0; i < type->rank; i++) {
    const int64_t *have = fc_builder_get_dims(at->builder, node);
    if (!have) return FC_OK;  // fc_signature_build will return the error
    const int64_t before = have[i];
    int64_t dim;
    FC_TRY(fc_doc_dim(&at->doc, entry, i, before, at->builder, &dim));
    dim = resolve(at, dim);
    if (fc_dim_is_named(before) && dim != before) {
      // Dims that shared the old name must still be equal, so all of them get
      // the new one.
      fc_builder_replace_dim(at->builder, before, dim);
      at->became[fc_dim_name(before)] = dim;
    } else if (dim != before) {
      int64_t *all = fc_builder_get_dims(at->builder, node);
      if (all) all[i] = dim;
    }
    entry = unsafe_yyjson_get_next(entry);
  }
  return FC_OK;
}

static fc_status_t read_name(const applying_t *at, yyjson_val *object,
                             fc_str_t *out_name) {
  FC_TRY(fc_doc_text(&at->doc, object, "name", out_name));
  if (out_name->size <= ARGUMENT_NAME_SIZE_MAX) return FC_OK;
  return fc_doc_fault(&at->doc, "name", "%zu bytes, at most %d are allowed",
                      out_name->size, ARGUMENT_NAME_SIZE_MAX);
}

static fc_status_t apply_role(applying_t *at, yyjson_val *object,
                              const fc_argument_t *argument) {
  static const char *const names[] = {"in", "inout", "out", "scratch"};
  static const fc_role_t roles[] = {FC_ROLE_IN, FC_ROLE_INOUT, FC_ROLE_OUT,
                                    FC_ROLE_SCRATCH};
  unsigned role = FC_ARRAY_COUNT(roles);
  FC_TRY(fc_doc_choice(&at->doc, object, "role", names, FC_ARRAY_COUNT(roles),
                       &role));
  if (role == FC_ARRAY_COUNT(roles)) return FC_OK;
  const fc_type_t *type =
      fc_signature_node(at->signature, argument->param.type);
  const bool rooted = fc_signature_root(at->signature);
  if (roles[role] != FC_ROLE_IN && (rooted || !fc_type_may_be_written(type))) {
    return fc_doc_fault(&at->doc, "role", "only a tensor can be '%s'",
                        names[role]);
  }
  if (!rooted) {
    fc_builder_role(at->builder, argument->position, roles[role], true);
  }
  return FC_OK;
}

static fc_status_t apply_argument(applying_t *at, yyjson_val *object,
                                  const fc_argument_t *argument) {
  if (!yyjson_is_obj(object)) {
    return fc_doc_fault(&at->doc, "", "must be an object");
  }
  fc_str_t name = {0};
  FC_TRY(read_name(at, object, &name));
  const fc_str_t had = fc_signature_text(at->signature, argument->param.name);
  if (name.size && !fc_str_equal(name, had)) {
    if (fc_signature_root(at->signature)) {
      return fc_doc_fault(&at->doc, "name",
                          "the module's own description fixes how this "
                          "argument is sent");
    }
    fc_builder_name_argument(at->builder, argument->position, name);
  }
  FC_TRY(apply_role(at, object, argument));
  return apply_dims(at, object, argument->param.type);
}

static fc_status_t wrong_count(const applying_t *at, yyjson_val *list,
                               const char *key, size_t has) {
  return fc_doc_fault(&at->doc, key, "%zu entries, the function has %zu",
                      yyjson_arr_size(list), has);
}

static fc_status_t apply_arguments(applying_t *at, yyjson_val *function) {
  yyjson_val *list;
  FC_TRY(
      fc_doc_array(&at->doc, function, "args", FC_SIDECAR_PARAMS_MAX, &list));
  if (!list) return FC_OK;
  fc_argument_t argument = {0};
  size_t count = 0;
  while (fc_argument_next(at->signature, &argument)) count++;
  if (yyjson_arr_size(list) != count) {
    return wrong_count(at, list, "args", count);
  }
  argument = (fc_argument_t){0};
  yyjson_val *object = yyjson_arr_get_first(list);
  at->doc.list = "args";
  while (fc_argument_next(at->signature, &argument)) {
    at->doc.item = argument.position;
    FC_TRY(apply_argument(at, object, &argument));
    object = unsafe_yyjson_get_next(object);
  }
  at->doc.list = NULL;
  return FC_OK;
}

static fc_status_t apply_results(applying_t *at, yyjson_val *function) {
  const fc_signature_t *signature = at->signature;
  yyjson_val *list;
  FC_TRY(fc_doc_array(&at->doc, function, "results", FC_SIDECAR_PARAMS_MAX,
                      &list));
  if (!list) return FC_OK;
  if (yyjson_arr_size(list) != signature->result_count) {
    return wrong_count(at, list, "results", signature->result_count);
  }
  yyjson_val *object = yyjson_arr_get_first(list);
  at->doc.list = "results";
  for (uint32_t i = 0; i < signature->result_count; i++) {
    at->doc.item = i;
    if (!yyjson_is_obj(object)) {
      return fc_doc_fault(&at->doc, "", "must be an object");
    }
    fc_str_t name = {0};
    FC_TRY(read_name(at, object, &name));
    if (name.size) fc_builder_name_result(at->builder, i, name);
    FC_TRY(apply_dims(at, object, signature->results[i].type));
    object = unsafe_yyjson_get_next(object);
  }
  at->doc.list = NULL;
  return FC_OK;
}

// True when the entry describes the types of its function, and not only names.
static bool describes(const fc_name_entry_t *entry) {
  return entry->list == FC_NAMES_FUNCTIONS &&
         yyjson_obj_get(entry->value, "arguments");
}

static fc_status_t apply_doc(applying_t *at, yyjson_val *function) {
  fc_str_t text = {0};
  FC_TRY(fc_doc_text(&at->doc, function, "doc", &text));
  const fc_str_t had = fc_signature_attr(at->signature, FC_STR("doc"));
  if (text.size && !had.size) {
    fc_builder_attr(at->builder, FC_STR("doc"), text);
  }
  const fc_str_t shown = fc_signature_attr(at->signature, FC_STR("show"));
  return shown.size ? FC_OK : fc_doc_showing(&at->doc, function, at->builder);
}

static fc_status_t apply_entry(applying_t *at, fc_name_entry_t *entry) {
  stand_at(&at->doc, entry->list, entry->number);
  entry->used = true;
  if (describes(entry)) return FC_OK;  // the signature was made from this entry
  FC_TRY(apply_doc(at, entry->value));
  FC_TRY(apply_arguments(at, entry->value));
  FC_TRY(apply_results(at, entry->value));
  return fc_doc_state(&at->doc, entry->value, at->builder);
}

// Returns the place of the first entry of this function, or the place where it would be.
static size_t find_first(const fc_names_t *names, fc_str_t function) {
  const fc_name_entry_t wanted = {.function = function};
  size_t low = 0, high = names->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (compare(&names->entries[middle], &wanted) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

fc_status_t fc_names_describe(const fc_names_t *names, fc_str_t function,
                              fc_builder_t *builder, fc_error_t *err) {
  const size_t first = find_first(names, function);
  if (first == names->count) return FC_NOT_FOUND;
  const fc_name_entry_t *entry = &names->entries[first];
  if (!fc_str_equal(entry->function, function) || !describes(entry)) {
    return FC_NOT_FOUND;
  }
  fc_doc_t doc = {.err = err, .json = names->document};
  fc_str_t text = {0};
  stand_at(&doc, entry->list, entry->number);
  FC_TRY(fc_doc_text(&doc, entry->value, "doc", &text));
  FC_TRY(fc_doc_signature(&doc, entry->value, builder));
  if (text.size) fc_builder_attr(builder, FC_STR("doc"), text);
  FC_TRY(fc_doc_state(&doc, entry->value, builder));
  return fc_doc_showing(&doc, entry->value, builder);
}

fc_status_t fc_names_apply(fc_names_t *names, fc_str_t function,
                           const fc_signature_t *signature,
                           fc_builder_t *builder, bool *out_named,
                           fc_error_t *err) {
  *out_named = false;
  applying_t at = {.doc = {.err = err, .json = names->document},
                   .signature = signature,
                   .builder = builder};
  for (uint32_t i = 0; i < FC_DIM_NAMES_MAX; i++)
    at.became[i] = -2 - (int64_t)i;
  fc_name_entry_t *found = &names->entries[find_first(names, function)];
  if (found == names->entries + names->count ||
      !fc_str_equal(found->function, function)) {
    return FC_OK;
  }
  *out_named = true;
  return apply_entry(&at, found);
}

fc_status_t fc_names_finish(const fc_names_t *names, fc_error_t *err) {
  for (size_t i = 0; i < names->count; i++) {
    const fc_name_entry_t *entry = &names->entries[i];
    if (entry->used) continue;
    fc_doc_t doc = {.err = err};
    stand_at(&doc, entry->list, entry->number);
    char shown[80];
    fc_escape(shown, sizeof shown, 64, entry->function);
    return fc_doc_fault(&doc, "name", "the module has no function '%s'", shown);
  }
  return FC_OK;
}
