// SPDX-License-Identifier: Apache-2.0
//
// The container of a .vmfb: an optional ZIP local header, a size-prefixed flatbuffer,
// then external read-only data. Finds these parts. Of their contents it reads only the
// flatbuffer's identifier.
#ifndef FARCALL_CORE_MODULE_VM_ARCHIVE_H_
#define FARCALL_CORE_MODULE_VM_ARCHIVE_H_

#include "farcall/base.h"

typedef struct fc_vm_archive_t {
  const uint8_t *data;  // the whole file, borrowed
  size_t size;
  size_t flatbuffer;  // offset of the flatbuffer, after its size prefix
  size_t flatbuffer_size;
  size_t rodata;  // the offset from which external segments count; <= size
} fc_vm_archive_t;

// The most bytes of a file that are needed to find out where its flatbuffer begins and
// how long it is.
#define FC_VM_ARCHIVE_START ((size_t)(30 + 65535 + 65535 + 4 + 8))

// True when a file that begins with these bytes may be a .vmfb. Either they contain
// a flatbuffer with IREE's identifier, alone or after a ZIP local header; or they
// contain a ZIP local header so long that the identifier lies after `size`.
bool fc_vm_archive_sniff(const uint8_t *data, size_t size);

// Finds the parts of a file. FC_CODE_VMFB_INVALID, with the byte offset, when the file
// is not a .vmfb or a part passes its end. Of the `size` bytes only the first
// FC_VM_ARCHIVE_START are read.
fc_status_t fc_vm_archive_parse(const uint8_t *data, size_t size,
                                fc_vm_archive_t *out_archive,
                                fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_ARCHIVE_H_
