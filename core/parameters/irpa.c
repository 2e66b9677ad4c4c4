// SPDX-License-Identifier: Apache-2.0
//
// IREE's parameter archive, version 0 (schemas/parameter_archive.h): one or more
// headers, each with a table of packed entries and two segments. Every offset in
// the file is checked against the file's size. Called by parameters.c.
#include "parameters/parameters.h"

#include "base/load.h"

#define MAGIC 0x41505249u  // "IRPA"
#define HEADERS_MAX 4096

// The packed structs: byte offsets of their fields (also SPLAT_PATTERN_SIZE), sizes of
// the structs (HEADER_SIZE, SPLAT_SIZE, DATA_SIZE), the
// alignment of entries, and the values of an entry's type.
enum {
  HEADER_VERSION_MAJOR = 4,
  HEADER_NEXT = 16,
  HEADER_ENTRY_COUNT = 32,
  HEADER_ENTRIES = 40,
  HEADER_METADATA = 56,
  HEADER_STORAGE = 72,
  HEADER_SIZE = 88,

  ENTRY_TYPE = 8,
  ENTRY_NAME = 20,
  ENTRY_BODY = 60,
  SPLAT_PATTERN = 68,
  SPLAT_PATTERN_SIZE = 84,
  SPLAT_SIZE = 85,
  DATA_SIZE = 76,
  ENTRY_ALIGNMENT = 16,

  TYPE_SKIP = 0,
  TYPE_SPLAT = 1,
  TYPE_DATA = 2,
  TYPE_EXTERNAL = 3,
};

typedef struct range_t {
  uint64_t offset;
  uint64_t size;
} range_t;

// Reads {offset, size} at `at`, where the offset counts from the beginning of `outer`.
// The offset of *out counts from the beginning of the file. False when the range does not
// lie inside `outer`.
static bool read_range(const uint8_t *at, range_t outer, range_t *out) {
  const uint64_t offset = fc_load_u64(at), size = fc_load_u64(at + 8);
  if (offset > outer.size || size > outer.size - offset) return false;
  *out = (range_t){outer.offset + offset, size};
  return true;
}

typedef struct segments_t {
  range_t entries;
  range_t metadata;
  range_t storage;
} segments_t;

static fc_status_t entry_error(uint64_t index, const char *what,
                               fc_error_t *err) {
  return fc_fail(err, FC_CODE_MODULE_LOAD, "archive entry %llu: %s",
                 (unsigned long long)index, what);
}

static fc_status_t read_splat(const uint8_t *entry, uint64_t index,
                              fc_parameter_t *item, fc_error_t *err) {
  const uint8_t size = entry[SPLAT_PATTERN_SIZE];
  item->size = fc_load_u64(entry + ENTRY_BODY);
  if (size == 0 || size > FC_PARAMETER_PATTERN_MAX || (size & (size - 1)) ||
      item->size % size) {
    return entry_error(index, "its pattern does not fill it", err);
  }
  item->pattern_size = size;
  memcpy(item->pattern, entry + SPLAT_PATTERN, size);
  return FC_OK;
}

static fc_status_t read_entry(fc_parameters_t *archive, uint64_t index,
                              const uint8_t *entry, uint64_t size,
                              const segments_t *segments, fc_error_t *err) {
  const uint32_t type = fc_load_u32(entry + ENTRY_TYPE);
  range_t name, storage;
  fc_parameter_t item = {.size = 0};
  if (type == TYPE_SKIP) return FC_OK;
  if (!read_range(entry + ENTRY_NAME, segments->metadata, &name)) {
    return entry_error(index, "its name lies outside the metadata", err);
  }
  item.key =
      fc_str_make((const char *)archive->data + name.offset, (size_t)name.size);
  if (type == TYPE_SPLAT && size >= SPLAT_SIZE) {
    FC_TRY(read_splat(entry, index, &item, err));
  } else if (type == TYPE_DATA && size >= DATA_SIZE) {
    if (!read_range(entry + ENTRY_BODY, segments->storage, &storage)) {
      return entry_error(index, "its data lies outside the storage", err);
    }
    item.data = archive->data + storage.offset;
    item.size = storage.size;
  } else if (type == TYPE_EXTERNAL) {
    return entry_error(index, "data in other files is not supported", err);
  } else {
    return entry_error(index, "unknown type or too short", err);
  }
  // Tables may overlap, so a small file could name the same entries many times. A valid
  // file does not have more entries than fit into it.
  if (archive->count >= archive->size / ENTRY_BODY) {
    return entry_error(index, "more entries than the file has room for", err);
  }
  return fc_parameters_append(archive, &item, err);
}

static fc_status_t read_entries(fc_parameters_t *archive, uint64_t count,
                                const segments_t *segments, fc_error_t *err) {
  const uint8_t *table = archive->data + segments->entries.offset;
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t left = segments->entries.size - at;
    if (left < ENTRY_BODY) {
      return entry_error(i, "the table ends before it", err);
    }
    const uint64_t size = fc_load_u64(table + at);
    if (size < ENTRY_BODY || size > left) {
      return entry_error(i, "its size is wrong", err);
    }
    FC_TRY(read_entry(archive, i, table + at, size, segments, err));
    const uint64_t padded =
        (size + ENTRY_ALIGNMENT - 1) & ~(uint64_t)(ENTRY_ALIGNMENT - 1);
    at += padded < left ? padded : left;
  }
  return FC_OK;
}

// Reads the header at `base`. *out_next is the offset of the next header; 0 if there is
// none.
static fc_status_t read_header(fc_parameters_t *archive, uint64_t base,
                               uint64_t *out_next, fc_error_t *err) {
  const range_t file = {base, archive->size - base};
  const uint8_t *header = archive->data + base;
  if (file.size < HEADER_SIZE || fc_load_u32(header) != MAGIC) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "no archive header at %llu",
                   (unsigned long long)base);
  }
  uint16_t major;
  memcpy(&major, header + HEADER_VERSION_MAJOR, sizeof major);
  if (major != 0) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "archive version %u, this reads version 0", major);
  }
  segments_t segments;
  if (!read_range(header + HEADER_ENTRIES, file, &segments.entries) ||
      !read_range(header + HEADER_METADATA, file, &segments.metadata) ||
      !read_range(header + HEADER_STORAGE, file, &segments.storage)) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "a segment of the archive lies outside the file");
  }
  const uint64_t next = fc_load_u64(header + HEADER_NEXT);
  if (next > file.size || (next && next < HEADER_SIZE)) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "the next archive header lies outside the file");
  }
  *out_next = next ? base + next : 0;
  return read_entries(archive, fc_load_u64(header + HEADER_ENTRY_COUNT),
                      &segments, err);
}

bool fc_irpa_is(const fc_parameters_t *archive) {
  return archive->size >= sizeof(uint32_t) &&
         fc_load_u32(archive->data) == MAGIC;
}

fc_status_t fc_irpa_read(fc_parameters_t *archive, fc_error_t *err) {
  uint64_t base = 0;
  for (int i = 0; i < HEADERS_MAX; i++) {
    FC_TRY(read_header(archive, base, &base, err));
    if (!base) return FC_OK;
  }
  return fc_fail(err, FC_CODE_MODULE_LOAD, "more than %d archive headers",
                 HEADERS_MAX);
}
