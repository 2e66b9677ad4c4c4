// SPDX-License-Identifier: Apache-2.0
//
// Rows, and the places of their values in the slab. A row is not trusted beyond what
// fc_store_verify checked.
#include "state/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "json/writer.h"
#include "value/gather.h"

// ---------------------------------------------------------------------------
// Rows

uint64_t fc_store_offset(uint64_t page, uint64_t size) {
  const uint64_t mask = FC_STORE_ALIGNMENT - 1;
  return size ? page + fc_store_pages(size) - ((size + mask) & ~mask) : 0;
}

// Has the row of an OPAQUE a type that can be shown?
static bool is_type(const fc_store_row_t *row) {
  const char *end = memchr(row->type, '\0', sizeof row->type);
  if (!end || end == row->type) return false;
  for (const char *at = row->type; at < end; at++) {
    if (*at < 0x20 || *at > 0x7E) return false;
  }
  return true;
}

// The bytes that a value of this type has; false when there is no such type.
static bool measure(const fc_store_row_t *row, uint64_t *out_size) {
  size_t count, size;
  *out_size = row->size;
  if (row->kind == FC_VALUE_OPAQUE) {
    *out_size = 0;
    return !row->dtype && !row->rank && is_type(row);
  }
  if (row->kind == FC_VALUE_BYTES || row->kind == FC_VALUE_LIST) {
    return !row->dtype && !row->rank;
  }
  if (row->kind != FC_VALUE_TENSOR && row->kind != FC_VALUE_SCALAR) {
    return false;
  }
  if (row->dtype >= FC_DTYPE_COUNT || !fc_dtype_size(row->dtype) ||
      row->rank > (row->kind == FC_VALUE_TENSOR ? FC_RANK_MAX : 0) ||
      !fc_shape_count(row->dims, row->rank, row->dtype, &count, &size)) {
    return false;
  }
  *out_size = size;
  return true;
}

bool fc_store_has_size(const fc_store_row_t *row) {
  uint64_t size;
  return measure(row, &size) && size == row->size;
}

fc_status_t fc_store_verify(const fc_store_row_t *row, fc_error_t *err) {
  const size_t name_size = row->name_size;
  if (name_size > FC_STORE_NAME_MAX || row->name[name_size] ||
      !fc_state_name_is_valid(fc_store_name(row))) {
    return fc_fail(err, FC_CODE_INTERNAL, "a value has no valid name");
  }
  uint64_t size;
  if (!measure(row, &size)) {
    return fc_fail(err, FC_CODE_INTERNAL, "value '%s' has no valid type",
                   row->name);
  }
  if (row->size != size || size > FC_STORE_SIZE_MAX) {
    return fc_fail(err, FC_CODE_INTERNAL,
                   "value '%s' has %llu bytes, its type %llu", row->name,
                   (unsigned long long)row->size, (unsigned long long)size);
  }
  if (row->kind == FC_VALUE_OPAQUE) return FC_OK;
  const uint64_t page = fc_store_page_of(row->offset);
  if (page > FC_STORE_SIZE_MAX - fc_store_pages(size) ||
      row->offset != fc_store_offset(page, size)) {
    return fc_fail(err, FC_CODE_INTERNAL,
                   "value '%s' lies at %llu, which is no place", row->name,
                   (unsigned long long)row->offset);
  }
  return FC_OK;
}

fc_store_row_t *fc_store_find(fc_store_desk_t *desk, fc_str_t name) {
  for (uint32_t i = 0; i < desk->count && i < FC_STORE_ROWS; i++) {
    if (fc_str_equal(fc_store_name(&desk->rows[i]), name)) {
      return &desk->rows[i];
    }
  }
  return NULL;
}

fc_status_t fc_store_describe(fc_str_t name, const fc_value_t *value,
                              fc_store_row_t *out_row, fc_error_t *err) {
  FC_ASSERT(fc_state_name_is_valid(name));
  fc_store_row_t row = {.kind = (uint8_t)value->kind,
                        .name_size = (uint8_t)name.size};
  memcpy(row.name, name.data, name.size);
  if (value->kind == FC_VALUE_TENSOR) {
    row.dtype = (uint8_t)value->tensor.dtype;
    row.rank = (uint8_t)value->tensor.rank;
    for (uint8_t i = 0; i < row.rank && i < FC_RANK_MAX; i++) {
      row.dims[i] = value->tensor.shape[i];
    }
  } else if (value->kind == FC_VALUE_SCALAR) {
    row.dtype = (uint8_t)value->dtype;
  } else if (value->kind == FC_VALUE_OPAQUE) {
    const fc_str_t type = value->opaque.type;
    if (type.size && type.size <= FC_STORE_TYPE_MAX) {
      memcpy(row.type, type.data, type.size);
    }
  } else {
    row.size = value->kind == FC_VALUE_BYTES ? value->bytes.size : 0;
  }
  if (row.kind == FC_VALUE_LIST || !measure(&row, &row.size)) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "'%s' is to keep a value that is neither a tensor, a "
                   "scalar, a list, bytes nor a reference of a type that can "
                   "be named",
                   row.name);
  }
  *out_row = row;
  return FC_OK;
}

fc_status_t fc_store_print_type(const fc_store_row_t *row, fc_sink_t *sink,
                                fc_error_t *err) {
  if (row->kind == FC_VALUE_BYTES) {
    return fc_sink_put(sink, FC_STR("{\"kind\":\"bytes\"}"), err);
  }
  if (row->kind == FC_VALUE_LIST) {
    return fc_sink_put(
        sink, FC_STR("{\"kind\":\"list\",\"items\":{\"kind\":\"unknown\"}}"),
        err);
  }
  if (row->kind == FC_VALUE_OPAQUE) {
    FC_TRY(fc_sink_put(sink, FC_STR("{\"kind\":\"opaque\",\"type\":"), err));
    FC_TRY(fc_json_write_string(sink, fc_str(row->type), err));
    return fc_sink_put(sink, FC_STR("}"), err);
  }
  const bool tensor = row->kind == FC_VALUE_TENSOR;
  FC_TRY(fc_sink_put(sink,
                     tensor ? FC_STR("{\"kind\":\"tensor\",\"dtype\":\"")
                            : FC_STR("{\"kind\":\"scalar\",\"dtype\":\""),
                     err));
  FC_TRY(fc_sink_put(sink, fc_str(fc_dtype_info(row->dtype)->text), err));
  FC_TRY(
      fc_sink_put(sink, tensor ? FC_STR("\",\"shape\":[") : FC_STR("\""), err));
  for (uint8_t i = 0; i < row->rank; i++) {
    if (i) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
    FC_TRY(fc_json_write_i64(sink, row->dims[i], err));
  }
  return fc_sink_put(sink, tensor ? FC_STR("]}") : FC_STR("}"), err);
}

fc_status_t fc_store_print(const fc_store_row_t *row, fc_sink_t *sink,
                           fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, FC_STR("{\"ref\":\""), err));
  FC_TRY(fc_sink_put(sink, fc_store_name(row), err));
  FC_TRY(fc_sink_put(sink, FC_STR("\",\"type\":"), err));
  FC_TRY(fc_store_print_type(row, sink, err));
  return fc_sink_put(sink, FC_STR("}"), err);
}

// ---------------------------------------------------------------------------
// The slab

static fc_status_t no_slab(int file, const char *what, fc_error_t *err) {
  const int error = errno;
  if (file >= 0) close(file);
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "%s memory for values: %s", what,
                 strerror(error));
}

fc_status_t fc_store_make_slab(int *out_file, fc_error_t *err) {
  if ((uint64_t)sysconf(_SC_PAGESIZE) > FC_STORE_PAGE) {
    return fc_fail(err, FC_CODE_INTERNAL,
                   "values that stay need pages of %llu bytes, those of this "
                   "system have %ld",
                   (unsigned long long)FC_STORE_PAGE, sysconf(_SC_PAGESIZE));
  }
  const int file =
      memfd_create("farcall-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return no_slab(file, "making", err);
  if (ftruncate(file, (off_t)FC_STORE_SIZE_MAX) < 0) {
    return no_slab(file, "sizing", err);
  }
  if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
    return no_slab(file, "sealing", err);
  }
  *out_file = file;
  return FC_OK;
}

void fc_store_punch(int file, uint64_t page, uint64_t size) {
  if (!size) return;
  (void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)page,
                  (off_t)size);
}

// ---------------------------------------------------------------------------
// Views

void fc_store_init(fc_store_t *store) { *store = (fc_store_t){.file = -1}; }

static void close_view(fc_store_view_t *view) {
  if (view->size) munmap(view->pages, view->size + FC_STORE_PAGE);
  *view = (fc_store_view_t){0};
}

void fc_store_deinit(fc_store_t *store) {
  for (size_t i = 0; i < FC_STORE_VIEWS; i++) close_view(&store->views[i]);
  fc_store_init(store);
}

void fc_store_open(fc_store_t *store, int file) {
  if (store->file == file) return;
  fc_store_deinit(store);
  store->file = file;
}

void fc_store_begin(fc_store_t *store, fc_store_desk_t *desk) {
  store->desk = desk;
  store->call++;
}

void fc_store_end(fc_store_t *store) {
  store->desk = NULL;
  store->references = NULL;
}

// Closes every view that no value of this call lies in: there may be as many again.
static void close_others(fc_store_t *store) {
  for (size_t i = 0; i < FC_STORE_VIEWS; i++) {
    if (store->views[i].used != store->call) close_view(&store->views[i]);
  }
}

// Maps pages of the slab. The page after them is inaccessible from the beginning.
static uint8_t *map_pages(const fc_store_t *store, uint64_t page,
                          uint64_t size) {
  uint8_t *pages = mmap(NULL, size + FC_STORE_PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  if (mmap(pages, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
           store->file, (off_t)page) != MAP_FAILED) {
    return pages;
  }
  munmap(pages, size + FC_STORE_PAGE);
  return NULL;
}

// Returns the view of these pages, if there is one. Otherwise returns a view to be used
// for them: a free one, or the one that was not used for longest. NULL: this call uses
// all views.
static fc_store_view_t *choose_view(fc_store_t *store, uint64_t page,
                                    uint64_t size) {
  fc_store_view_t *oldest = NULL;
  for (size_t i = 0; i < FC_STORE_VIEWS; i++) {
    fc_store_view_t *view = &store->views[i];
    if (view->size == size && view->page == page) return view;
    if (view->size && view->used == store->call) continue;
    if (!oldest || !view->size || (oldest->size && view->used < oldest->used)) {
      oldest = view;
    }
  }
  return oldest;
}

static fc_status_t map(fc_store_t *store, uint64_t page, uint64_t size,
                       fc_store_view_t **out_view, fc_error_t *err) {
  fc_store_view_t *view = choose_view(store, page, size);
  if (view && view->size && view->page == page) {
    view->used = store->call;
    *out_view = view;
    return FC_OK;
  }
  if (!view) {
    return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                   "the call uses more than %d values that stay",
                   FC_STORE_VIEWS);
  }
  close_view(view);
  uint8_t *pages = map_pages(store, page, size);
  if (!pages) {
    close_others(store);
    pages = map_pages(store, page, size);
  }
  if (!pages) return no_slab(-1, "mapping", err);
  *view = (fc_store_view_t){page, size, pages, store->call};
  *out_view = view;
  return FC_OK;
}

fc_status_t fc_store_map(fc_store_t *store, const fc_store_row_t *row,
                         void **out_data, fc_error_t *err) {
  fc_store_view_t *view = NULL;
  *out_data = NULL;
  if (!row->size) return FC_OK;
  const uint64_t page = fc_store_page_of(row->offset);
  FC_TRY(map(store, page, fc_store_pages(row->size), &view, err));
  *out_data = view->pages + (row->offset - page);
  return FC_OK;
}

bool fc_store_ends(const fc_store_t *store, const void *memory, size_t size) {
  const uintptr_t mask = FC_STORE_ALIGNMENT - 1;
  const uintptr_t end = ((uintptr_t)memory + size + mask) & ~mask;
  for (size_t i = 0; i < FC_STORE_VIEWS; i++) {
    const fc_store_view_t *view = &store->views[i];
    if (view->size && end == (uintptr_t)view->pages + view->size) return true;
  }
  return false;
}

bool fc_store_holds(const fc_store_t *store, const void *memory) {
  for (size_t i = 0; i < FC_STORE_VIEWS; i++) {
    const fc_store_view_t *view = &store->views[i];
    if ((uintptr_t)memory - (uintptr_t)view->pages < view->size) return true;
  }
  return false;
}

// ---------------------------------------------------------------------------
// Changes

// Returns how many of a new value's `size` bytes count against desk->copies: it replaces
// a shared row, whose size is the most.
static uint64_t in_place_of(fc_store_desk_t *desk, const fc_store_row_t *row,
                            uint64_t size) {
  const fc_store_row_t *old = fc_store_find(desk, fc_store_name(row));
  if (!old || !(old->flags & FC_STORE_SHARED)) return 0;
  const uint64_t had = fc_store_pages(old->size);
  const uint64_t most = had < desk->copies ? had : desk->copies;
  return size < most ? size : most;
}

fc_status_t fc_store_place(fc_store_t *store, fc_store_row_t *row,
                           void **out_data, fc_error_t *err) {
  fc_store_desk_t *desk = store->desk;
  const uint64_t size = fc_store_pages(row->size);
  const uint64_t left = desk->end - desk->next;
  row->offset = 0;
  *out_data = NULL;
  if (!row->size) return FC_OK;
  const fc_code_t code =
      desk->code ? (fc_code_t)desk->code : FC_CODE_TOO_MANY_REQUESTS;
  const uint64_t copied = in_place_of(desk, row, size);
  if (size - copied > desk->budget) {
    return fc_fail(err, code,
                   "value '%s' takes %llu bytes, %llu are left for values that "
                   "stay",
                   row->name, (unsigned long long)size,
                   (unsigned long long)(desk->budget + copied));
  }
  if (left < FC_STORE_PAGE || size > left - FC_STORE_PAGE) {
    return fc_fail(err, code,
                   "value '%s' takes %llu bytes, and no addresses are left for "
                   "values that stay",
                   row->name, (unsigned long long)size);
  }
  row->offset = fc_store_offset(desk->next, row->size);
  FC_TRY(fc_store_map(store, row, out_data, err));
  desk->next += size + FC_STORE_PAGE;
  desk->budget -= size - copied;
  desk->copies -= copied;
  return FC_OK;
}

fc_status_t fc_store_own(fc_store_t *store, fc_store_row_t *row,
                         const fc_stop_t *stop, void **out_data,
                         fc_error_t *err) {
  void *from;
  FC_TRY(fc_store_map(store, row, &from, err));
  if (!(row->flags & FC_STORE_SHARED)) {
    row->change |= FC_STORE_WRITTEN;
    *out_data = from;
    return FC_OK;
  }
  fc_store_row_t own = *row;
  FC_TRY(fc_store_place(store, &own, out_data, err));
  FC_TRY(fc_copy(*out_data, from, row->size, stop, err));
  store->copied += row->size;
  own.flags &= (uint8_t)~FC_STORE_SHARED;
  own.change = FC_STORE_NEW;
  *row = own;
  return FC_OK;
}

fc_status_t fc_store_put(fc_store_t *store, const fc_store_row_t *row,
                         fc_error_t *err) {
  fc_store_desk_t *desk = store->desk;
  fc_store_row_t *to = fc_store_find(desk, fc_store_name(row));
  if (!to && desk->count >= FC_STORE_ROWS) {
    return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                   "value '%s' would be one of more than %d", row->name,
                   FC_STORE_ROWS);
  }
  if (!to) to = &desk->rows[desk->count++];
  *to = *row;
  to->flags = 0;
  to->change = FC_STORE_NEW;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// References

static const struct {
  fc_code_t code;
  uint32_t limit;  // 0: none
  const char *why;
} kRefusals[FC_STORE_REFUSALS] = {
    [FC_STORE_REFUSES_NONE] = {FC_CODE_UNSUPPORTED_TYPE, 0,
                               "only sessions of a server keep such values"},
    [FC_STORE_REFUSES_CHECKPOINT] =
        {FC_CODE_TYPE_MISMATCH, 0,
         "a session with \"checkpoint\" keeps what can be copied"},
    [FC_STORE_REFUSES_FRESH] = {FC_CODE_UNSUPPORTED_TYPE, 0,
                                "each process makes one call (--fresh)"},
    [FC_STORE_REFUSES_PRIVATE] =
        {FC_CODE_UNSUPPORTED_TYPE, 0,
         "each thread has a state of its own (--vm-state=private), unlike "
         "processes"},
    [FC_STORE_REFUSES_REPLACED] =
        {FC_CODE_UNSUPPORTED_TYPE, 0,
         "the module was replaced while the call waited"},
    [FC_STORE_REFUSES_MORE] = {FC_CODE_TOO_MANY_REQUESTS, FC_REFERENCES_MAX,
                               "the worker keeps as many as it may"},
    [FC_STORE_REFUSES_SHARE] =
        {FC_CODE_TOO_MANY_REQUESTS, FC_REFERENCES_SHARE,
         "the worker keeps as many for the client as it may"},
    [FC_STORE_REFUSES_MEMORY] = {FC_CODE_OUT_OF_MEMORY, 0,
                                 "there is no memory to count it"},
};

static fc_status_t refuse(const fc_store_t *store, const fc_store_row_t *row,
                          fc_error_t *err) {
  uint32_t why = store->references ? store->desk->refusal : 0;
  char limit[32] = "";
  if (why >= FC_STORE_REFUSALS) why = FC_STORE_REFUSES_NONE;
  if (kRefusals[why].limit) {
    snprintf(limit, sizeof limit, ", %u", kRefusals[why].limit);
  }
  return fc_fail(err, kRefusals[why].code,
                 "value '%s' would be an opaque reference (%s): %s%s",
                 row->name, row->type, kRefusals[why].why, limit);
}

fc_status_t fc_store_refer(fc_store_t *store, fc_store_row_t *row,
                           const fc_opaque_t *opaque, fc_error_t *err) {
  fc_store_desk_t *desk = store->desk;
  row->reference = 0;
  if (!opaque) return FC_OK;
  if (!store->references || !desk->references || !opaque->object) {
    return refuse(store, row, err);
  }
  FC_TRY(fc_references_add(store->references, desk->reference, opaque, err));
  row->reference = desk->reference++;
  desk->references--;
  return FC_OK;
}

fc_status_t fc_store_dereference(fc_store_t *store, const fc_store_row_t *row,
                                 fc_opaque_t *out, fc_error_t *err) {
  out->type = fc_str(row->type);
  if (store->references &&
      fc_references_find(store->references, row->reference, out)) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_INTERNAL,
                 "the worker does not have reference '%s'", row->name);
}
