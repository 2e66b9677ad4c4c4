// SPDX-License-Identifier: Apache-2.0
//
// Reads the list "sizes", finds the functions that it names, and puts each group in the
// place of its first function.
#include "abi/sizes.h"

#include <stdlib.h>

#include "abi/print.h"
#include "abi/widen.h"
#include "base/name_table.h"

// Functions that are one function to callers.
typedef struct group_t {
  const fc_name_entry_t *entry;  // in "sizes"; NULL: found by function names
  fc_str_t name;
  fc_entry_t *members;
  int64_t *rows;  // of each member, as the sidecar or the member's name says
  uint32_t count;
  bool keeps;  // the members stay listed, too
  bool says;   // `rows` is set
  bool listed;
  uint8_t batch;  // fc_batch_wish_t
  uint64_t delay_us;
  fc_sized_t wish;
  fc_signature_t *signature;
} group_t;

typedef struct reader_t {
  fc_doc_t doc;
  fc_sizes_t *sizes;
  fc_signature_t *const *signatures;
  size_t count;
  fc_names_t *names;          // "sizes" of the sidecar; NULL: it has none
  fc_name_table_t functions;  // maps a function's name to its index
  fc_name_table_t buckets;    // from NAME to the first function NAME_bs{N}
  uint32_t *next_bucket;      // by function: the next with its NAME, or 0
  uint32_t *group_of;         // by function: 0, or its group's index plus 1
  group_t *groups;            // first those of `names`, then those found
  size_t group_count;
  int64_t *rows;
  fc_builder_t *builder;
  size_t used;  // of sizes->entries
} reader_t;

// ---------------------------------------------------------------------------
// Names of the form NAME_bs{N}

// Splits NAME_bs{N}; false when the name has another form.
static bool split_name(fc_str_t name, fc_str_t *out_name, int64_t *out_rows) {
  size_t at = name.size;
  int64_t rows = 0, unit = 1;
  for (; at && name.data[at - 1] >= '0' && name.data[at - 1] <= '9'; at--) {
    rows += (name.data[at - 1] - '0') * unit;
    unit *= 10;
    if (name.size - at >= 9) return false;
  }
  if (at == name.size || name.data[at] == '0' || at < 4 ||
      memcmp(name.data + at - 3, "_bs", 3)) {
    return false;
  }
  *out_name = fc_str_make(name.data, at - 3);
  *out_rows = rows;
  return true;
}

static fc_str_t name_of(const reader_t *reader, size_t index) {
  const fc_signature_t *signature = reader->signatures[index];
  return fc_signature_text(signature, signature->name);
}

// Goes from the last function to the first, because each is put at the head of the list
// of its name.
static fc_status_t note_buckets(reader_t *reader) {
  for (size_t i = reader->count; i-- > 0;) {
    fc_str_t name;
    int64_t rows;
    if (!reader->signatures[i]->callable ||
        !split_name(name_of(reader, i), &name, &rows)) {
      continue;
    }
    const uint32_t next = fc_name_table_find(&reader->buckets, name);
    if (next != FC_NAME_NONE) reader->next_bucket[i] = next;
    FC_TRY(fc_name_table_put(&reader->buckets, name, (uint32_t)i,
                             reader->doc.err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Members

// Adds a member with the number of rows that it is said to have. Members are sorted by
// this number.
static void add_member(reader_t *reader, group_t *group, uint32_t index,
                       int64_t rows) {
  uint32_t at = group->count++;
  for (; at && group->rows[at - 1] > rows; at--) {
    group->rows[at] = group->rows[at - 1];
    group->members[at] = group->members[at - 1];
  }
  group->rows[at] = rows;
  group->members[at] = (fc_entry_t){index, reader->signatures[index]};
  reader->group_of[index] = (uint32_t)(group - reader->groups) + 1;
}

static fc_status_t take_function(reader_t *reader, const char *key,
                                 fc_str_t name, int64_t rows, group_t *group) {
  const fc_shown_t shown = fc_doc_show(name);
  const uint32_t index = fc_name_table_find(&reader->functions, name);
  if (index == FC_NAME_NONE) {
    return fc_doc_fault(&reader->doc, key, "the module has no function '%s'",
                        shown.text);
  }
  const fc_signature_t *signature = reader->signatures[index];
  if (!signature->callable) {
    return fc_doc_fault(
        &reader->doc, key, "function '%s' is not callable: %.*s", shown.text,
        FC_STR_ARG(fc_signature_text(signature, signature->reason)));
  }
  if (reader->group_of[index]) {
    return fc_doc_fault(&reader->doc, key, "function '%s' comes twice",
                        shown.text);
  }
  add_member(reader, group, index, rows);
  return FC_OK;
}

// Reads the members of a group from an object such as {"1":"f_one","4":"f_four"}.
static fc_status_t take_object(reader_t *reader, yyjson_val *object,
                               group_t *group) {
  yyjson_val *key, *value;
  size_t index, count;
  if (yyjson_obj_size(object) > FC_SIZES_MAX) {
    return fc_doc_fault(&reader->doc, "batch", "%zu functions, at most %d",
                        yyjson_obj_size(object), FC_SIZES_MAX);
  }
  group->keeps = group->says = true;
  yyjson_obj_foreach(object, index, count, key, value) {
    const char *text = yyjson_get_str(key);
    char *end;
    const int64_t rows = strtoll(text, &end, 10);
    if (*text < '1' || *text > '9' || *end || !yyjson_is_str(value)) {
      return fc_doc_fault(&reader->doc, "batch",
                          "it has functions by their number of rows, as in "
                          "{\"1\":\"f_bs1\",\"4\":\"f_bs4\"}");
    }
    FC_TRY(take_function(reader, "batch", fc_doc_text_of(value), rows, group));
  }
  return FC_OK;
}

static fc_status_t take_list(reader_t *reader, yyjson_val *list,
                             group_t *group) {
  yyjson_val *value;
  size_t index, count;
  yyjson_arr_foreach(list, index, count, value) {
    if (!yyjson_is_str(value)) {
      return fc_doc_fault(&reader->doc, "functions", "must be a list of names");
    }
    FC_TRY(take_function(reader, "functions", fc_doc_text_of(value), 0, group));
  }
  return FC_OK;
}

// Adds the functions that are named NAME_bs{N} and are in no group yet.
static void take_named(reader_t *reader, group_t *group) {
  uint32_t index = fc_name_table_find(&reader->buckets, group->name);
  group->keeps = group->says = true;
  while (index != FC_NAME_NONE && group->count < FC_SIZES_MAX) {
    fc_str_t name;
    int64_t rows = 0;
    (void)split_name(name_of(reader, index), &name, &rows);
    if (!reader->group_of[index]) add_member(reader, group, index, rows);
    index = reader->next_bucket[index];
    if (!index) break;
  }
}

static void group_init(reader_t *reader, group_t *group, fc_str_t name) {
  *group = (group_t){.name = name,
                     .members = &reader->sizes->entries[reader->used],
                     .rows = &reader->rows[reader->used]};
}

static fc_status_t make_group(reader_t *reader, group_t *group,
                              const fc_doc_t *doc) {
  reader->used += group->count;
  const fc_group_t made = {.name = group->name,
                           .members = group->members,
                           .count = group->count,
                           .batch = group->batch,
                           .delay_us = group->delay_us,
                           .found = !group->entry,
                           .rows = group->says ? group->rows : NULL};
  return fc_group_widen(&made, reader->names, reader->builder,
                        reader->sizes->allocator, doc, &group->signature);
}

// ---------------------------------------------------------------------------
// The sidecar

static fc_status_t read_tolerance(const fc_doc_t *doc, yyjson_val *object,
                                  fc_sized_t *wish) {
  yyjson_val *key, *value;
  size_t index, count;
  if (!yyjson_is_obj(object)) return FC_OK;
  yyjson_obj_foreach(object, index, count, key, value) {
    const fc_shown_t shown = fc_doc_show(fc_doc_text_of(key));
    const double number = yyjson_get_num(value);
    double *out = yyjson_equals_str(key, "abs")   ? &wish->absolute
                  : yyjson_equals_str(key, "rel") ? &wish->relative
                                                  : NULL;
    if (!out) {
      return fc_doc_fault(doc, "tolerance", "'%s' is none of: abs, rel",
                          shown.text);
    }
    if (!yyjson_is_num(value)) {
      return fc_doc_fault(doc, "tolerance", "'%s' must be a number",
                          shown.text);
    }
    if (number < 0) {
      return fc_doc_fault(doc, "tolerance", "'%s' is %g, it must be at least 0",
                          shown.text, number);
    }
    *out = number;
  }
  return FC_OK;
}

// Reads "batch" when it is a word: whether rows are batched and, if so, how much their
// answers may differ.
static fc_status_t read_wish(const fc_doc_t *doc, yyjson_val *object,
                             group_t *group) {
  static const char *const kWords[] = {"exact", "approximate", "off"};
  unsigned word = 0;
  yyjson_val *tolerance = yyjson_obj_get(object, "tolerance");
  if (!yyjson_is_str(yyjson_obj_get(object, "batch"))) {
    return fc_doc_fault(doc, "batch",
                        "must be exact, approximate, off, or functions by "
                        "their number of rows");
  }
  FC_TRY(fc_doc_choice(doc, object, "batch", kWords, 3, &word));
  group->batch = word == 2 ? FC_BATCH_NEVER : FC_BATCH_WANTED;
  group->wish.approximate = word == 1;
  if (word == 1 && !yyjson_is_obj(tolerance)) {
    return fc_doc_fault(doc, "tolerance",
                        "is missing: how far rows may differ, as in "
                        "{\"abs\":1e-6,\"rel\":1e-5}");
  }
  return read_tolerance(doc, tolerance, &group->wish);
}

// Reads how long calls wait for others. All other members of Triton's dynamic_batching
// are refused, because they would have no effect.
static fc_status_t read_delay(const fc_doc_t *doc, yyjson_val *object,
                              group_t *group) {
  static const char *const kNames[] = {
      "preferred_batch_size", "preserve_ordering",
      "priority_levels",      "default_priority_level",
      "default_queue_policy", "priority_queue_policy"};
  yyjson_val *delay = yyjson_obj_get(object, FC_BATCH_DELAY_ATTR);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
    if (!yyjson_obj_get(object, kNames[i])) continue;
    return fc_doc_fault(doc, kNames[i],
                        "there is none here: sizes are chosen by what they "
                        "cost, and calls as they came");
  }
  group->delay_us = yyjson_get_uint(delay);
  if (!delay ||
      (yyjson_is_uint(delay) && group->delay_us <= FC_BATCH_DELAY_MAX)) {
    return FC_OK;
  }
  return fc_doc_fault(doc, FC_BATCH_DELAY_ATTR, "must be 0 to %d",
                      FC_BATCH_DELAY_MAX);
}

static fc_status_t read_members(reader_t *reader, yyjson_val *object,
                                group_t *group) {
  yyjson_val *list, *batch = yyjson_obj_get(object, "batch");
  FC_TRY(read_delay(&reader->doc, object, group));
  FC_TRY(fc_doc_array(&reader->doc, object, "functions", FC_SIZES_MAX, &list));
  if (batch && !yyjson_is_obj(batch)) {
    FC_TRY(read_wish(&reader->doc, object, group));
  }
  if (yyjson_is_obj(batch)) {
    group->batch = FC_BATCH_WANTED;
    FC_TRY(take_object(reader, batch, group));
  } else if (list) {
    FC_TRY(take_list(reader, list, group));
  } else {
    take_named(reader, group);
    if (!group->count) {
      return fc_doc_fault(&reader->doc, "functions", "is missing");
    }
  }
  if (group->count >= 2) return FC_OK;
  return fc_doc_fault(&reader->doc, "functions",
                      "%u functions, at least 2 are needed", group->count);
}

static fc_status_t read_group(reader_t *reader, const fc_name_entry_t *entry) {
  group_t *group = &reader->groups[reader->group_count++];
  reader->doc.function = (int64_t)entry->number;
  group_init(reader, group, entry->function);
  group->entry = entry;
  FC_TRY(read_members(reader, entry->value, group));
  return make_group(reader, group, &reader->doc);
}

// ---------------------------------------------------------------------------
// Groups that are found by names

// Makes a group of the functions named NAME_bs{N}. If they differ in more than sizes,
// there is no group, and they stay as they are.
static fc_status_t find_group(reader_t *reader, fc_str_t name) {
  group_t *group = &reader->groups[reader->group_count];
  fc_status_t status = FC_NOT_FOUND;
  fc_error_t why;
  fc_error_reset(&why);
  group_init(reader, group, name);
  group->batch = FC_BATCH_WANTED;
  take_named(reader, group);
  if (group->count >= 2) {
    fc_doc_t doc = reader->doc;
    doc.err = &why;
    status = make_group(reader, group, &doc);
    if (status != FC_OK) reader->used -= group->count;
  }
  if (status == FC_OK) {
    reader->group_count++;
    return FC_OK;
  }
  for (uint32_t i = 0; i < group->count; i++) {
    reader->group_of[group->members[i].index] = 0;
  }
  if (why.code != FC_CODE_OUT_OF_MEMORY) return FC_OK;
  return fc_fail_memory(reader->doc.err);
}

static fc_status_t find_groups(reader_t *reader) {
  const size_t declared = reader->group_count;
  for (size_t i = 0; i < reader->count; i++) {
    fc_str_t name;
    int64_t rows;
    bool taken = reader->group_of[i];
    if (taken || !split_name(name_of(reader, i), &name, &rows) ||
        fc_name_table_find(&reader->buckets, name) != i ||
        fc_name_table_find(&reader->functions, name) != FC_NAME_NONE) {
      continue;
    }
    for (size_t k = 0; k < declared && !taken; k++) {
      taken = fc_str_equal(reader->groups[k].name, name);
    }
    if (!taken) FC_TRY(find_group(reader, name));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The list of groups

// Checks the name of a group. It may be the name of a function that is in a group,
// since that function is no longer listed, but not the name of any other function.
static fc_status_t check_name(reader_t *reader, const group_t *group) {
  const fc_str_t name = group->name;
  const uint32_t index = fc_name_table_find(&reader->functions, name);
  const uint32_t number = index == FC_NAME_NONE ? 0 : reader->group_of[index];
  if (index == FC_NAME_NONE || (number && !reader->groups[number - 1].keeps)) {
    return FC_OK;
  }
  reader->doc.function = (int64_t)group->entry->number;
  return fc_doc_fault(&reader->doc, "name",
                      "the module has another function '%s'",
                      fc_doc_show(name).text);
}

static void list_all(reader_t *reader) {
  fc_sizes_t *sizes = reader->sizes;
  for (size_t i = 0; i < reader->count; i++) {
    const uint32_t number = reader->group_of[i];
    group_t *group = number ? &reader->groups[number - 1] : NULL;
    if (group && !group->listed) {
      group->listed = true;
      group->wish.signature = group->signature;
      group->wish.entries = group->members;
      sizes->listed[sizes->count++] = group->wish;
    }
    if (group && !group->keeps) continue;
    fc_entry_t *entry = &sizes->entries[reader->used++];
    *entry = (fc_entry_t){i, reader->signatures[i]};
    sizes->listed[sizes->count++] =
        (fc_sized_t){.signature = entry->signature, .entries = entry};
  }
}

// Notes the functions by name. If two functions have the same name, the first one counts.
static fc_status_t note_functions(reader_t *reader) {
  for (size_t i = 0; i < reader->count; i++) {
    const fc_str_t name = name_of(reader, i);
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
  const size_t count = reader->names ? reader->names->count : 0;
  FC_TRY(note_functions(reader));
  FC_TRY(note_buckets(reader));
  for (size_t i = 0; i < count; i++) {
    FC_TRY(read_group(reader, &reader->names->entries[i]));
  }
  for (size_t i = 0; i < count; i++) {
    FC_TRY(check_name(reader, &reader->groups[i]));
  }
  FC_TRY(find_groups(reader));
  if (reader->group_count) list_all(reader);
  return FC_OK;
}

static fc_status_t make_room(reader_t *reader) {
  fc_sizes_t *sizes = reader->sizes;
  const fc_allocator_t allocator = sizes->allocator;
  const size_t count = reader->count + 1;
  const size_t groups = (reader->names ? reader->names->count : 0) + count;
  sizes->listed = fc_alloc_array(allocator, 2 * count, sizeof *sizes->listed);
  sizes->entries = fc_alloc_array(allocator, 2 * count, sizeof *sizes->entries);
  reader->rows = fc_alloc_array(allocator, 2 * count, sizeof *reader->rows);
  reader->group_of = fc_alloc_array(allocator, count, sizeof *reader->group_of);
  reader->next_bucket =
      fc_alloc_array(allocator, count, sizeof *reader->next_bucket);
  reader->groups = fc_alloc_array(allocator, groups, sizeof *reader->groups);
  reader->builder = fc_builder_create(allocator);
  return sizes->listed && sizes->entries && reader->rows && reader->group_of &&
                 reader->next_bucket && reader->groups && reader->builder
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
  for (size_t i = 0; status != FC_OK && i < reader->group_count; i++) {
    fc_signature_destroy(reader->groups[i].signature);
  }
  const bool any = status == FC_OK && reader->group_count;
  fc_free(allocator, reader->rows);
  fc_free(allocator, reader->group_of);
  fc_free(allocator, reader->next_bucket);
  fc_free(allocator, reader->groups);
  fc_builder_destroy(reader->builder);
  fc_name_table_deinit(&reader->functions);
  fc_name_table_deinit(&reader->buckets);
  if (any) *out_sizes = reader->sizes;
  else fc_sizes_destroy(reader->sizes);
  return status;
}

// True if any function is named NAME_bs{N}. In most modules none is.
static bool has_buckets(const reader_t *reader) {
  for (size_t i = 0; i < reader->count; i++) {
    fc_str_t name;
    int64_t rows;
    if (split_name(name_of(reader, i), &name, &rows)) return true;
  }
  return false;
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
                     .buckets = {.allocator = allocator},
                     .signatures = signatures,
                     .count = count};
  fc_status_t status = FC_OK;
  *out_sizes = NULL;
  // Most sidecars do not have the word "sizes". Searching it saves parsing them again.
  if (json.size && memmem(json.data, json.size, kWord, sizeof kWord - 1)) {
    status = fc_names_parse_list(json, FC_NAMES_SIZES, allocator, &reader.names,
                                 err);
    if (status != FC_NOT_FOUND) FC_TRY(status);
    status = FC_OK;
  }
  if ((reader.names && reader.names->count) || has_buckets(&reader)) {
    status = read_sizes(&reader, out_sizes);
  }
  fc_names_destroy(reader.names);
  return status;
}

void fc_sizes_destroy(fc_sizes_t *sizes) {
  if (!sizes) return;
  for (size_t i = 0; i < sizes->count; i++) {
    const fc_signature_t *signature = sizes->listed[i].signature;
    if (!signature->size_count) continue;  // a function of the module itself
    fc_signature_destroy((fc_signature_t *)(uintptr_t)signature);
  }
  fc_free(sizes->allocator, sizes->listed);
  fc_free(sizes->allocator, sizes->entries);
  fc_free(sizes->allocator, sizes);
}
