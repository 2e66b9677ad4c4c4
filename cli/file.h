// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files, and makes private work directories.
#ifndef FARCALL_CLI_FILE_H_
#define FARCALL_CLI_FILE_H_

#include "farcall/base.h"

// Formats into the arena, with a NUL at the end; NULL: no memory.
char *fc_print(fc_arena_t *arena, const char *format, ...) FC_PRINTF(2, 3);
// Formats at most 511 bytes into the sink.
fc_status_t fc_print_to(fc_sink_t *sink, fc_error_t *err, const char *format,
                        ...) FC_PRINTF(3, 4);

// The most bytes that are read from a file, and from a pipe, whose size is not known.
#define FC_FILE_MAX ((size_t)1 << 30)
#define FC_STREAM_MAX ((size_t)256 << 20)

// Writes `mark` and the byte as two hexadecimal digits. URLs use the mark %, LLVM IR a
// backslash. Returns 3.
size_t fc_hex_escape(char out[3], char mark, unsigned char byte);

// Reads the whole file into the arena, followed by a NUL that does not count. Reads a
// pipe to its end, and a terminal until the user ends the input. FC_CODE_MODULE_PATH,
// with the file and the reason: any other device, a file above FC_FILE_MAX, a pipe above
// FC_STREAM_MAX, or a named pipe without a writer.
fc_status_t fc_file_read(fc_arena_t *arena, const char *path,
                         fc_str_t *out_data, fc_error_t *err);
// Replaces `path` atomically: readers see the old or the new file, and a process that has
// mapped the old one keeps it.
fc_status_t fc_file_write(fc_arena_t *arena, const char *path, fc_str_t data,
                          fc_error_t *err);

// Returns the part after the last '/'.
const char *fc_file_base(const char *path);

// Makes a new directory that only this user can read, under TMPDIR if that is an absolute
// path, else under /tmp. Its path is absolute.
fc_status_t fc_workdir_create(fc_arena_t *arena, const char **out_path,
                              fc_error_t *err);
// Removes the directory with its content; links in it are not followed. Complains if it
// still exists. NULL is allowed.
void fc_workdir_remove(const char *path);

#endif  // FARCALL_CLI_FILE_H_
