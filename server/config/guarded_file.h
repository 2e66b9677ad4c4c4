// SPDX-License-Identifier: Apache-2.0
//
// A file that gives authority, such as those of --token-file and --trust. Who can
// write the file has the authority, so the file is refused if its mode lets others than
// its owner write it. Read whole, at the start and at SIGHUP.
#ifndef FARCALL_SERVER_CONFIG_GUARDED_FILE_H_
#define FARCALL_SERVER_CONFIG_GUARDED_FILE_H_

#include "farcall/base.h"

#define FC_GUARDED_FILE_MAX (1u << 20)  // bytes

typedef struct fc_guarded_file_t {
  fc_str_t text;
  bool others_read;  // others than its owner may read it
} fc_guarded_file_t;

// Reads the file. FC_CODE_NOT_ACCEPTABLE says why it is refused; FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_guarded_file_open(fc_guarded_file_t *out_file, const char *path,
                                 fc_error_t *err) FC_MUST_CHECK;
// A zeroed one is allowed.
void fc_guarded_file_close(fc_guarded_file_t *file);

#endif  // FARCALL_SERVER_CONFIG_GUARDED_FILE_H_
