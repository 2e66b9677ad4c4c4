// SPDX-License-Identifier: Apache-2.0
//
// Reads a file that grants rights, such as the files of --token-file and --trust.
// Whoever can write such a file could grant themselves rights. So the file is refused
// if its mode lets anybody except its owner write it. It is read whole, at the start
// and at SIGHUP.
#ifndef FARCALL_SERVER_CONFIG_GUARDED_FILE_H_
#define FARCALL_SERVER_CONFIG_GUARDED_FILE_H_

#include "farcall/base.h"

#define FC_GUARDED_FILE_MAX (1u << 20)  // bytes

typedef struct fc_guarded_file_t {
  fc_str_t text;
  bool others_read;  // anybody except its owner may read it
} fc_guarded_file_t;

// Reads the file. FC_CODE_NOT_ACCEPTABLE: the file is refused, and the error says why.
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_guarded_file_open(fc_guarded_file_t *out_file, const char *path,
                                 fc_error_t *err) FC_MUST_CHECK;
// Accepts a zeroed file.
void fc_guarded_file_close(fc_guarded_file_t *file);

#endif  // FARCALL_SERVER_CONFIG_GUARDED_FILE_H_
