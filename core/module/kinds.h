// SPDX-License-Identifier: Apache-2.0
//
// The kinds of files that people give to farcalld and farcall: modules, models that can
// be compiled, and others. Used by backends.c, which refuses files that are not
// modules, and by the subcommands of farcall. The kind only says what to try: the probe
// of a backend, or the compiler, decides whether that works. Any thread.
#ifndef FARCALL_MODULE_KINDS_H_
#define FARCALL_MODULE_KINDS_H_

#include "farcall/base.h"

typedef enum fc_file_use_t {
  FC_FILE_MODULE,   // it is served as it is
  FC_FILE_SOURCE,   // it is compiled first
  FC_FILE_DATA,     // it is for calls, or is part of a module
  FC_FILE_FOREIGN,  // it must first be exported or converted
} fc_file_use_t;

typedef struct fc_file_kind_t {
  fc_file_use_t use;
  const char *title;     // with its article, such as "an ONNX model"
  const char *suffixes;  // with their dots, separated by spaces
  fc_str_t bytes;
  size_t place;     // where the bytes are in the file
  const char *way;  // what to do with a file of DATA or FOREIGN
} fc_file_kind_t;

// How many bytes at the beginning of a file are examined. More would not help.
#define FC_FILE_HEAD 4096

// Finds the kind by the file's first bytes. Its name only chooses between kinds that
// begin with the same bytes. NULL: unknown.
const fc_file_kind_t *fc_file_kind(fc_str_t head, fc_str_t path);
// Finds the kind only by the suffix. NULL: no kind has this suffix.
const fc_file_kind_t *fc_file_kind_named(fc_str_t path);

#define FC_FILE_TEXT 320
// Writes what the file is, and which command works: "an ONNX model: `farcall serve
// m.onnx` compiles and serves it, …". Texts too long for `out` are cut off.
void fc_file_kind_tell(const fc_file_kind_t *kind, fc_str_t path,
                       char out[FC_FILE_TEXT]);

#endif  // FARCALL_MODULE_KINDS_H_
