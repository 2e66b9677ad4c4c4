// SPDX-License-Identifier: Apache-2.0
//
// Reads the list, finds the functions it names, and puts each group in the place of its
// first function.
#include "abi/sizes.h"

#include "abi/widen.h"
#include "base/name_table.h"

// The functions that are one to callers.
typedef struct group_t {
  const fc_name_entry_t *entry;
  fc_entry_t *members;
  uint32_t count;
  bool listed;
  fc_signature_t *signature;
} group_t;

typedef struct reader_t {
  fc_doc_t doc;
  fc_sizes_t *sizes;
  fc_signature_t *const *signatures;
  size_t count;
  fc_names_t *names;
  fc_name_table_t functions;  // to their index
  uint32_t *group_of;         // by function: 0, or one more than its group
  group_t *groups;            // by entry of `names`
  fc_builder_t *builder;
  size_t used;  // of sizes->entries
} reader_t;

static fc_status_t take_function(reader_t *reader, yyjson_val *value,
                                 group_t *group) {
  const uint32_t number = (uint32_t)(group - reader->groups) + 1;
  if (!yyjson_is_str(value)) {
    return fc_doc_fault(&reader->doc, "functions", "must be a list of names");
  }
  const fc_str_t name = fc_doc_text_of(value);
  const fc_shown_t shown = fc_doc_show(name);
  const uint32_t index = fc_name_table_find(&reader->functions, name);
  if (index == FC_NAME_NONE) {
    return fc_doc_fault(&reader->doc, "functions",
                        "the module has no function '%s'", shown.text);
  }
  const fc_signature_t *signature = reader->signatures[index];
  if (!signature->callable) {
    return fc_doc_fault(
        &reader->doc, "functions", "function '%s' is not callable: %.*s",
        shown.text,
        FC_STR_ARG(fc_signature_text(signature, signature->reason)));
  }
  if (reader->group_of[index]) {
    return fc_doc_fault(&reader->doc, "functions", "function '%s' comes twice",
                        shown.text);
  }
  reader->group_of[index] = number;
  group->members[group->count++] = (fc_entry_t){index, signature};
  return FC_OK;
}

static fc_status_t read_group(reader_t *reader, const fc_name_entry_t *entry,
                              group_t *group) {
  yyjson_val *list, *value;
  size_t index, count;
  reader->doc.function = (int64_t)entry->number;
  FC_TRY(fc_doc_array(&reader->doc, entry->value, "functions", FC_SIZES_MAX,
                      &list));
  if (!list) return fc_doc_fault(&reader->doc, "functions", "is missing");
  if (yyjson_arr_size(list) < 2) {
    return fc_doc_fault(&reader->doc, "functions",
                        "%zu functions, at least 2 are needed",
                        yyjson_arr_size(list));
  }
  fc_str_t pad = {0};
  FC_TRY(fc_doc_text(&reader->doc, entry->value, "pad", &pad));
  if (pad.size && !fc_str_equal(pad, FC_STR("zero")) &&
      !fc_str_equal(pad, FC_STR("repeat"))) {
    return fc_doc_fault(&reader->doc, "pad",
                        "'%s' is neither 'zero' nor 'repeat'",
                        fc_doc_show(pad).text);
  }
  group->entry = entry;
  group->members = &reader->sizes->entries[reader->used];
  yyjson_arr_foreach(list, index, count, value) {
    FC_TRY(take_function(reader, value, group));
  }
  reader->used += group->count;
  const fc_group_t made = {entry->function, group->members, group->count, pad};
  return fc_group_widen(&made, reader->names, reader->builder,
                        reader->sizes->allocator, &reader->doc,
                        &group->signature);
}

// The name of a group may be that of a function in a group, which is not listed under its
// own name any more, but of no other function.
static fc_status_t check_name(reader_t *reader, const group_t *group) {
  const fc_str_t name = group->entry->function;
  const uint32_t index = fc_name_table_find(&reader->functions, name);
  if (index == FC_NAME_NONE || reader->group_of[index]) return FC_OK;
  reader->doc.function = (int64_t)group->entry->number;
  return fc_doc_fault(&reader->doc, "name",
                      "the module has another function '%s'",
                      fc_doc_show(name).text);
}

static void list_all(reader_t *reader) {
  fc_sizes_t *sizes = reader->sizes;
  for (size_t i = 0; i < reader->count; i++) {
    const uint32_t number = reader->group_of[i];
    fc_sized_t *listed = &sizes->listed[sizes->count];
    if (!number) {
      fc_entry_t *entry = &sizes->entries[reader->used++];
      *entry = (fc_entry_t){i, reader->signatures[i]};
      *listed = (fc_sized_t){entry->signature, entry};
      sizes->count++;
      continue;
    }
    group_t *group = &reader->groups[number - 1];
    if (group->listed) continue;
    group->listed = true;
    *listed = (fc_sized_t){group->signature, group->members};
    sizes->count++;
  }
}

// When two functions have one name, the first is meant.
static fc_status_t note_functions(reader_t *reader) {
  for (size_t i = 0; i < reader->count; i++) {
    const fc_signature_t *signature = reader->signatures[i];
    const fc_str_t name = fc_signature_text(signature, signature->name);
    if (!name.size ||
        fc_name_table_find(&reader->functions, name) != FC_NAME_NONE) {
      continue;
    }
    FC_TRY(fc_name_table_put(&reader->functions, name, (uint32_t)i,
                             reader->doc.err));
  }
  return FC_OK;
}

static fc_status_t read_all(reader_t *reader) {
  const size_t count = reader->names->count;
  FC_TRY(note_functions(reader));
  for (size_t i = 0; i < count; i++) {
    FC_TRY(read_group(reader, &reader->names->entries[i], &reader->groups[i]));
  }
  for (size_t i = 0; i < count; i++) {
    FC_TRY(check_name(reader, &reader->groups[i]));
  }
  list_all(reader);
  return FC_OK;
}

static fc_status_t make_room(reader_t *reader) {
  fc_sizes_t *sizes = reader->sizes;
  const fc_allocator_t allocator = sizes->allocator;
  const size_t count = reader->count + 1;
  sizes->listed = fc_alloc_array(allocator, count, sizeof *sizes->listed);
  sizes->entries = fc_alloc_array(allocator, count, sizeof *sizes->entries);
  reader->group_of = fc_alloc_array(allocator, count, sizeof *reader->group_of);
  reader->groups = fc_alloc_array(allocator, reader->names->count + 1,
                                  sizeof *reader->groups);
  reader->builder = fc_builder_create(allocator);
  return sizes->listed && sizes->entries && reader->group_of &&
                 reader->groups && reader->builder
             ? FC_OK
             : fc_fail_memory(reader->doc.err);
}

static fc_status_t read_sizes(reader_t *reader, fc_sizes_t **out_sizes) {
  const fc_allocator_t allocator = reader->functions.allocator;
  reader->sizes = fc_alloc(allocator, sizeof *reader->sizes);
  if (!reader->sizes) return fc_fail_memory(reader->doc.err);
  reader->sizes->allocator = allocator;
  fc_status_t status = make_room(reader);
  if (status == FC_OK) status = read_all(reader);
  for (size_t i = 0;
       status != FC_OK && reader->groups && i < reader->names->count; i++) {
    fc_signature_destroy(reader->groups[i].signature);
  }
  fc_free(allocator, reader->group_of);
  fc_free(allocator, reader->groups);
  fc_builder_destroy(reader->builder);
  fc_name_table_deinit(&reader->functions);
  if (status == FC_OK) *out_sizes = reader->sizes;
  else fc_sizes_destroy(reader->sizes);
  return status;
}

fc_status_t fc_sizes_create(fc_str_t json, fc_signature_t *const *signatures,
                            size_t count, fc_allocator_t allocator,
                            fc_sizes_t **out_sizes, fc_error_t *err) {
  static const char kWord[] = "sizes";
  reader_t reader = {.doc = {.err = err,
                             .whose = "its sidecar",
                             .functions = "sizes",
                             .function = -1},
                     .functions = {.allocator = allocator},
                     .signatures = signatures,
                     .count = count};
  *out_sizes = NULL;
  // Most sidecars do not have the word: they are not parsed once more to find that out.
  if (!json.size || !memmem(json.data, json.size, kWord, sizeof kWord - 1)) {
    return FC_OK;
  }
  fc_status_t status =
      fc_names_parse_list(json, FC_NAMES_SIZES, allocator, &reader.names, err);
  if (status == FC_NOT_FOUND) return FC_OK;
  FC_TRY(status);
  if (reader.names->count) status = read_sizes(&reader, out_sizes);
  fc_names_destroy(reader.names);
  return status;
}

void fc_sizes_destroy(fc_sizes_t *sizes) {
  if (!sizes) return;
  for (size_t i = 0; i < sizes->count; i++) {
    const fc_signature_t *signature = sizes->listed[i].signature;
    if (!signature->size_count) continue;  // the module's own
    fc_signature_destroy((fc_signature_t *)(uintptr_t)signature);
  }
  fc_free(sizes->allocator, sizes->listed);
  fc_free(sizes->allocator, sizes->entries);
  fc_free(sizes->allocator, sizes);
}
