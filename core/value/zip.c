// SPDX-License-Identifier: Apache-2.0
//
// Format: PKWARE's APPNOTE 6.3. Only the directory at the end of the file is believed.
// Each entry also has a head of its own before its bytes. Only the name in that head is
// compared, because writers that cannot seek back leave size and checksum out of it.
#include "value/zip.h"

#include "base/load.h"

enum {
  END_SIZE = 22,
  ENTRY_SIZE = 46,
  LOCAL_SIZE = 30,
  COMMENT_MAX = 65535,
  STORED = 0,
  DEFLATED = 8,
  ENCRYPTED = 1,
  PATCHED = 1 << 5,  // the bytes are changes to another file
  STRONGLY_ENCRYPTED = 1 << 6,
  UTF8 = 1 << 11,  // of the name
};

#define END_MARK 0x06054B50u
#define ENTRY_MARK 0x02014B50u
#define LOCAL_MARK 0x04034B50u

static fc_status_t malformed(fc_error_t *err, const char *what) {
  return fc_fail(err, FC_CODE_BINARY_FRAMING, "not a zip file: %s", what);
}

static uint32_t u16(fc_str_t file, size_t at) {
  return fc_load_u16((const uint8_t *)file.data + at);
}
static uint32_t u32(fc_str_t file, size_t at) {
  return fc_load_u32((const uint8_t *)file.data + at);
}

// True when the file has `size` bytes from `at` on.
static bool has(fc_str_t file, uint64_t at, uint64_t size) {
  return at <= file.size && size <= file.size - at;
}

// Finds the end record: the last one whose comment reaches to the end of the file. Other
// bytes may be equal to the record's mark by chance, but then their comment is not likely
// to end there.
static bool find_end(fc_str_t file, size_t *out_at) {
  if (file.size < END_SIZE) return false;
  const size_t last = file.size - END_SIZE;
  const size_t first = last > COMMENT_MAX ? last - COMMENT_MAX : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (u32(file, at) != END_MARK) continue;
    if (u16(file, at + 20) != file.size - at - END_SIZE) continue;
    *out_at = at;
    return true;
  }
  return false;
}

fc_status_t fc_zip_open(fc_str_t file, fc_zip_t *out_zip, fc_error_t *err) {
  size_t end = 0;
  if (!find_end(file, &end)) {
    return malformed(err, "it has no directory at its end");
  }
  const uint32_t count = u16(file, end + 10), size = u32(file, end + 12),
                 begin = u32(file, end + 16);
  if (u16(file, end + 4) || u16(file, end + 6) || u16(file, end + 8) != count) {
    return malformed(err, "it has several parts");
  }
  if (begin > end || size != end - begin) {
    return malformed(err, "its directory is not where its end says");
  }
  *out_zip = (fc_zip_t){.file = file, .at = begin, .end = end, .count = count};
  return FC_OK;
}

// True when the entry's own head, which is at `offset`, has the same name. Names with
// characters beyond ASCII depend on a flag in each head, so the flags must agree.
static bool same_name(fc_str_t file, size_t offset, uint32_t flags,
                      fc_str_t name) {
  const fc_str_t own =
      fc_str_make(file.data + offset + LOCAL_SIZE, u16(file, offset + 26));
  bool ascii = true;
  for (size_t i = 0; i < name.size; i++)
    ascii = ascii && !(name.data[i] & 0x80);
  return fc_str_equal(own, name) &&
         (ascii || !((u16(file, offset + 6) ^ flags) & UTF8));
}

// Finds the bytes of the entry whose head is at `offset`. Only the mark and the size of
// the head itself are read. Entries must come in the order of the file, as writers
// write them. So no two entries share bytes, and a small file cannot have the same
// bytes decompressed many times.
static fc_status_t find_bytes(fc_zip_t *zip, size_t offset, size_t size,
                              fc_str_t *out_bytes, fc_error_t *err) {
  const fc_str_t file = zip->file;
  if (offset < zip->used) {
    return malformed(err, "two entries share bytes, or have another order");
  }
  if (!has(file, offset, LOCAL_SIZE) || u32(file, offset) != LOCAL_MARK) {
    return malformed(err, "its directory leads to no entry");
  }
  const size_t begin =
      offset + LOCAL_SIZE + u16(file, offset + 26) + u16(file, offset + 28);
  if (!has(file, begin, size)) return malformed(err, "an entry is cut off");
  *out_bytes = fc_str_make(file.data + begin, size);
  zip->used = begin + size;
  return FC_OK;
}

fc_status_t fc_zip_next(fc_zip_t *zip, fc_zip_entry_t *out_entry,
                        bool *out_more, fc_error_t *err) {
  const fc_str_t file = fc_str_make(zip->file.data, zip->end);
  const size_t at = zip->at;
  *out_more = zip->count > 0;
  if (!zip->count) {
    return at == zip->end ? FC_OK
                          : malformed(err, "its directory has another size");
  }
  if (!has(file, at, ENTRY_SIZE) || u32(file, at) != ENTRY_MARK) {
    return malformed(err, "its directory is cut off");
  }
  const uint32_t flags = u16(file, at + 8), method = u16(file, at + 10);
  const uint32_t packed = u32(file, at + 20), size = u32(file, at + 24);
  const size_t name = u16(file, at + 28);
  const size_t rest = name + u16(file, at + 30) + u16(file, at + 32);
  if (!has(file, at + ENTRY_SIZE, rest)) {
    return malformed(err, "its directory is cut off");
  }
  if (flags & (ENCRYPTED | STRONGLY_ENCRYPTED)) {
    return malformed(err, "an entry is encrypted");
  }
  if (flags & PATCHED) return malformed(err, "an entry is a patch");
  if (method != STORED && method != DEFLATED) {
    return malformed(err, "an entry is neither stored nor deflated");
  }
  if (method == STORED && packed != size) {
    return malformed(err, "an entry that is stored has two sizes");
  }
  fc_zip_entry_t entry = {
      .name = fc_str_make(file.data + at + ENTRY_SIZE, name),
      .size = size,
      .crc = u32(file, at + 16),
      .deflated = method == DEFLATED};
  FC_TRY(find_bytes(zip, u32(file, at + 42), packed, &entry.packed, err));
  if (!same_name(file, u32(file, at + 42), flags, entry.name)) {
    return malformed(err, "an entry has two names");
  }
  zip->at = at + ENTRY_SIZE + rest;
  zip->count--;
  *out_entry = entry;
  return FC_OK;
}

static fc_status_t sum(fc_str_t bytes, const fc_stop_t *stop, uint32_t *out,
                       fc_error_t *err) {
  const size_t step = 4 * FC_STOP_STEP;  // the checksum is quick
  *out = 0;
  for (size_t at = 0; at < bytes.size; at += step) {
    const size_t rest = bytes.size - at;
    if (at) FC_TRY(fc_stop_look(stop, err));
    *out =
        fc_crc32(*out, fc_str_make(bytes.data + at, rest < step ? rest : step));
  }
  return FC_OK;
}

fc_status_t fc_zip_read(const fc_zip_entry_t *entry, size_t limit,
                        fc_text_t *text, const fc_stop_t *stop,
                        fc_str_t *out_bytes, fc_error_t *err) {
  fc_str_t bytes = entry->packed;
  if (entry->deflated) {
    const size_t before = fc_text_str(text).size;
    const size_t most = entry->size < limit ? entry->size : limit;
    FC_TRY(fc_inflate(FC_CODING_RAW, entry->packed, most, text, stop, err));
    const fc_str_t all = fc_text_str(text);
    bytes = fc_str_make(all.data + before, all.size - before);
  }
  uint32_t crc;
  FC_TRY(sum(bytes, stop, &crc, err));
  if (bytes.size != entry->size || crc != entry->crc) {
    return malformed(err, "the bytes of an entry are damaged");
  }
  *out_bytes = bytes;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Writing

static void put_u16(uint8_t *out, uint32_t value) {
  out[0] = (uint8_t)value;
  out[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *out, uint32_t value) {
  put_u16(out, value);
  put_u16(out + 2, value >> 16);
}

// Writes the part that both heads of an entry (its own, and the directory's) have in
// common, from "version needed" on. The date is 1980-01-01, the earliest possible one.
static void put_facts(uint8_t *out, const fc_zip_part_t *part) {
  const uint32_t size = (uint32_t)(part->head.size + part->data.size);
  memset(out, 0, 26);
  put_u16(out, 20);
  put_u16(out + 2, 1 << 11);  // flag: names are UTF-8
  put_u16(out + 8, 1 << 5 | 1);
  put_u32(out + 10, part->crc);
  put_u32(out + 14, size);
  put_u32(out + 18, size);
  put_u16(out + 22, (uint32_t)part->name.size);
}

static fc_str_t as_text(const uint8_t *bytes, size_t size) {
  return fc_str_make((const char *)bytes, size);
}

static fc_status_t print_entry(fc_zip_part_t *part, fc_sink_t *sink,
                               fc_error_t *err) {
  uint8_t head[LOCAL_SIZE];
  part->crc = fc_crc32(fc_crc32(0, part->head), part->data);
  put_u32(head, LOCAL_MARK);
  put_facts(head + 4, part);
  FC_TRY(fc_sink_put(sink, as_text(head, sizeof head), err));
  FC_TRY(fc_sink_put(sink, part->name, err));
  FC_TRY(fc_sink_put(sink, part->head, err));
  return fc_sink_put(sink, part->data, err);
}

static fc_status_t print_directory(const fc_zip_part_t *parts, uint32_t count,
                                   uint32_t begin, fc_sink_t *sink,
                                   fc_error_t *err) {
  uint8_t entry[ENTRY_SIZE], end[END_SIZE] = {0};
  uint32_t size = 0;
  for (uint32_t i = 0; i < count; i++) {
    memset(entry, 0, sizeof entry);
    put_u32(entry, ENTRY_MARK);
    put_u16(entry + 4, 20);
    put_facts(entry + 6, &parts[i]);
    put_u32(entry + 42, parts[i].offset);
    FC_TRY(fc_sink_put(sink, as_text(entry, sizeof entry), err));
    FC_TRY(fc_sink_put(sink, parts[i].name, err));
    size += ENTRY_SIZE + (uint32_t)parts[i].name.size;
  }
  put_u32(end, END_MARK);
  put_u16(end + 8, count);
  put_u16(end + 10, count);
  put_u32(end + 12, size);
  put_u32(end + 16, begin);
  return fc_sink_put(sink, as_text(end, sizeof end), err);
}

fc_status_t fc_zip_print(fc_zip_part_t *parts, uint32_t count, fc_sink_t *sink,
                         fc_error_t *err) {
  uint64_t at = 0, directory = 0;
  for (uint32_t i = 0; i < count; i++) {
    parts[i].offset = (uint32_t)at;
    at += LOCAL_SIZE + (uint64_t)parts[i].name.size + parts[i].head.size +
          parts[i].data.size;
    directory += ENTRY_SIZE + (uint64_t)parts[i].name.size;
    if (at + directory > UINT32_MAX || parts[i].name.size > UINT16_MAX ||
        count >= UINT16_MAX) {  // 65,535 means that zip64 has the number
      return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                     "the results are too large for a zip file");
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    FC_TRY(print_entry(&parts[i], sink, err));
  }
  return print_directory(parts, count, (uint32_t)at, sink, err);
}
