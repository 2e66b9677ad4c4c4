// SPDX-License-Identifier: Apache-2.0
//
// Whole files in and out, and a private directory for work in progress.
#ifndef FARCALL_CLI_FILE_H_
#define FARCALL_CLI_FILE_H_

#include "farcall/base.h"

// Prints by `format` into the arena, with a NUL at the end; NULL when out of
// memory.
char *fc_print(fc_arena_t *arena, const char *format, ...) FC_PRINTF(2, 3);
// Prints at most 511 bytes by `format` into the sink.
fc_status_t fc_print_to(fc_sink_t *sink, fc_error_t *err, const char *format,
                        ...) FC_PRINTF(3, 4);

// At most so many bytes are read of a file, and of a pipe, whose end is
// unknown.
#define FC_FILE_MAX ((size_t)1 << 30)
#define FC_STREAM_MAX ((size_t)256 << 20)

// Writes `mark` and two hexadecimal digits, as URLs (%) and LLVM IR (a backslash)
// spell a byte. Returns 3.
size_t fc_hex_escape(char out[3], char mark, unsigned char byte);

// Reads the whole file into the arena, with a NUL behind it that does not
// count. A pipe is read to its end, a terminal until the user ends it. Refused are other
// devices, files above FC_FILE_MAX, pipes above FC_STREAM_MAX, and named pipes that
// nothing comes out of: FC_CODE_MODULE_PATH names the file and why.
fc_status_t fc_file_read(fc_arena_t *arena, const char *path,
                         fc_str_t *out_data, fc_error_t *err);
// Replaces `path` in one step: readers see the old file or the new one, and a
// process that has the old one mapped keeps it.
fc_status_t fc_file_write(fc_arena_t *arena, const char *path, fc_str_t data,
                          fc_error_t *err);

// The part behind the last '/'.
const char *fc_file_base(const char *path);

// A new directory only we can read, under TMPDIR if that is an absolute path, else
// under /tmp. Its path is absolute.
fc_status_t fc_workdir_create(fc_arena_t *arena, const char **out_path,
                              fc_error_t *err);
// Removes the directory with all that is in it; links in it are not followed. Complains
// if it is still there. NULL is allowed.
void fc_workdir_remove(const char *path);

#endif  // FARCALL_CLI_FILE_H_
