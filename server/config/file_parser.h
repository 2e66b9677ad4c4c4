// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files that read the configuration file: file.c reads the file and its
// object, file_value.c the values, file_members.c "modules" and "listeners". Each
// function that fails has put the place in front of the error's message, except after
// FC_CODE_OUT_OF_MEMORY.
#ifndef FARCALL_SERVER_CONFIG_FILE_PARSER_H_
#define FARCALL_SERVER_CONFIG_FILE_PARSER_H_

#include "base/name_table.h"
#include "config/file.h"
#include "config/lines.h"
#include "config/table.h"
#include "json/reader.h"

typedef struct fc_file_parser_t {
  fc_server_options_t *options;
  fc_config_file_t *file;
  fc_json_reader_t reader;
  uint64_t value_offset;  // where the value of the last key begins in the text
  bool had_modules;
  fc_origin_t listeners;    // where "listeners" is, if there is one
  fc_name_table_t modules;  // from names to positions in file->modules
  fc_lines_t lines;         // of the text as it was before parsing changed it
  fc_error_t *err;
} fc_file_parser_t;

// file_value.c

// Puts the place in front of the message. If both are too long, the message's end is cut
// off.
void fc_file_put_place(const fc_config_file_t *file, fc_origin_t place,
                       fc_error_t *err);
// Both put the place of a mistake in front of the error's message and return `status`.
// fc_file_fail_at takes the place of the byte at `offset`, fc_file_fail that of the token
// that was just read.
fc_status_t fc_file_fail_at(fc_file_parser_t *p, uint64_t offset,
                            fc_status_t status);
fc_status_t fc_file_fail(fc_file_parser_t *p, fc_status_t status);
// Reads the next token.
fc_status_t fc_file_next(fc_file_parser_t *p, fc_json_token_t *out_token);
// Reads the '{' of an object. If there is none, the error's message begins with `what`.
fc_status_t fc_file_expect_object(fc_file_parser_t *p, const char *what);
// Gives the string that was just read. The string is unescaped in place. It ends with
// NUL, at the closing quote's place or before it.
fc_status_t fc_file_take_string(fc_file_parser_t *p, char **out,
                                size_t *out_size);
// Reads the value of a key into `values`. `option` is the key's row, in whichever table.
fc_status_t fc_file_take_member(fc_file_parser_t *p, const fc_option_t *option,
                                void *values, fc_origin_t *origin);
// Fails because the key that was just read is unknown. The error names the nearest of the
// `count` known keys or, if none is near, says where the keys are listed (`which`).
fc_status_t fc_file_fail_key(fc_file_parser_t *p, const char *const *names,
                             size_t count, const char *which);
// Returns the `count` items with room for one more. The room doubles whenever it is full.
// NULL: there is no memory, and `items` is unchanged.
void *fc_file_grow(void *items, size_t count, size_t size);

// file_members.c: both read the value of the key that was just read.

fc_status_t fc_file_take_modules(fc_file_parser_t *p);
fc_status_t fc_file_take_listeners(fc_file_parser_t *p);

#endif  // FARCALL_SERVER_CONFIG_FILE_PARSER_H_
