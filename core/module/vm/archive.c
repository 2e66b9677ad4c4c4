// SPDX-License-Identifier: Apache-2.0
//
// Finds the parts of a .vmfb (IREE runtime/src/iree/vm/bytecode/archive.c). Of
// the ZIP format only the local header is read: the compiler writes one stored
// entry, and its central directory is not needed here. Any thread.
#include "module/vm/archive.h"

#include "base/load.h"

#define ZIP_MAGIC 0x04034B50u
#define ZIP_HEADER 30
#define ZIP_NAME_SIZE 26
#define ZIP_EXTRA_SIZE 28
#define SIZE_PREFIX 4
#define IDENTIFIER 4         // offset in the flatbuffer
#define RODATA_ALIGNMENT 64  // counted from the start of the file

static fc_status_t refuse(fc_error_t *err, size_t offset, const char *text,
                          size_t size) {
  fc_fail(err, FC_CODE_VMFB_INVALID, "%s at byte %zu passes the end of %zu",
          text, offset, size);
  if (err) err->byte_offset = offset;
  return FC_INVALID_ARGUMENT;
}

// Returns the number of bytes before the size prefix of the flatbuffer: those of the ZIP
// header with its name and its extra field, which may be more than `size`. 0 if there is
// no ZIP header, or not all of its 30 fixed bytes.
static size_t prefix_of(const uint8_t *data, size_t size) {
  if (size < ZIP_HEADER || fc_load_u32(data) != ZIP_MAGIC) return 0;
  return (size_t)ZIP_HEADER + fc_load_u16(data + ZIP_NAME_SIZE) +
         fc_load_u16(data + ZIP_EXTRA_SIZE);
}

static bool is_identified(const uint8_t *flatbuffer, size_t size) {
  return size >= IDENTIFIER + 4 && !memcmp(flatbuffer + IDENTIFIER, "IREE", 4);
}

bool fc_vm_archive_sniff(const uint8_t *data, size_t size) {
  const size_t begin = prefix_of(data, size) + SIZE_PREFIX;
  if (begin > SIZE_PREFIX && begin + IDENTIFIER + 4 > size) return true;
  return begin <= size && is_identified(data + begin, size - begin);
}

fc_status_t fc_vm_archive_parse(const uint8_t *data, size_t size,
                                fc_vm_archive_t *out_archive, fc_error_t *err) {
  if (size >= 4 && size < ZIP_HEADER && fc_load_u32(data) == ZIP_MAGIC) {
    return refuse(err, 0, "the ZIP header", size);
  }
  const size_t prefix = prefix_of(data, size);
  if (prefix > size || size - prefix < SIZE_PREFIX) {
    return refuse(err, prefix, "the flatbuffer's size", size);
  }
  size_t begin = prefix + SIZE_PREFIX;
  if (!is_identified(data + begin, size - begin)) {
    fc_fail(err, FC_CODE_VMFB_INVALID,
            "no flatbuffer with the identifier IREE at byte %zu", begin);
    if (err) err->byte_offset = begin;
    return FC_INVALID_ARGUMENT;
  }
  size_t length = fc_load_u32(data + prefix);
  if (length > size - begin || length < IDENTIFIER + 4) {
    return refuse(err, begin, "the flatbuffer", size);
  }
  size_t rodata;
  if (!fc_size_align(begin + length, RODATA_ALIGNMENT, &rodata) ||
      rodata > size) {
    rodata = size;  // no constant can refer to external bytes
  }
  *out_archive = (fc_vm_archive_t){.data = data,
                                   .size = size,
                                   .flatbuffer = begin,
                                   .flatbuffer_size = length,
                                   .rodata = rodata};
  return FC_OK;
}
