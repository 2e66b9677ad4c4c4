// SPDX-License-Identifier: Apache-2.0
//
// Archives of named parameters (weights) that modules load by name: IREE's
// .irpa, and .safetensors. The files are mapped. The index is read once, at
// load, and is immutable afterwards: any thread may read it.
#ifndef FARCALL_CORE_PARAMETERS_PARAMETERS_H_
#define FARCALL_CORE_PARAMETERS_PARAMETERS_H_

#include "farcall/base.h"

#define FC_PARAMETER_PATTERN_MAX 16

typedef struct fc_parameter_t {
  fc_str_t key;
  uint64_t size;
  uint8_t *data;  // in the archive; NULL: all bytes repeat the pattern
  uint8_t pattern[FC_PARAMETER_PATTERN_MAX];
  uint8_t pattern_size;
} fc_parameter_t;

typedef struct fc_parameters_t {
  fc_allocator_t allocator;
  fc_arena_t arena;  // memory of decoded keys and of a safetensors header
  fc_parameter_t *items;
  size_t count;
  size_t capacity;
  uint8_t *data;  // the bytes of the file
  size_t size;
  bool mapped;  // true: fc_parameters_open mapped it, so close unmaps it
} fc_parameters_t;

// Maps the file and reads its index. The mapping is private: a kernel that
// writes into a parameter changes only this process's copy. The file must not
// become shorter while it is in use; to replace it, rename another file to its
// name. FC_CODE_MODULE_LOAD says what is wrong.
fc_status_t fc_parameters_open(fc_parameters_t *archive, const char *path,
                               fc_allocator_t allocator,
                               fc_error_t *err) FC_MUST_CHECK;
void fc_parameters_close(fc_parameters_t *archive);  // a zeroed archive is
                                                     // allowed

// Does the same as fc_parameters_open for an archive in memory, which is borrowed.
fc_status_t fc_parameters_parse(fc_parameters_t *archive, uint8_t *data,
                                size_t size, fc_allocator_t allocator,
                                fc_error_t *err) FC_MUST_CHECK;

// Finds the first parameter of that name; NULL when the archive has none.
const fc_parameter_t *fc_parameters_find(const fc_parameters_t *archive,
                                         fc_str_t key);

// Used by irpa.c and safetensors.c, which read the index of an archive. A file that
// does not begin as an .irpa does is read as safetensors.
fc_status_t fc_parameters_append(fc_parameters_t *archive,
                                 const fc_parameter_t *item,
                                 fc_error_t *err) FC_MUST_CHECK;
bool fc_irpa_is(const fc_parameters_t *archive);
fc_status_t fc_irpa_read(fc_parameters_t *archive,
                         fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_safetensors_index(fc_parameters_t *archive,
                                 fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_PARAMETERS_PARAMETERS_H_
