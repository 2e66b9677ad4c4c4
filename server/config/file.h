// SPDX-License-Identifier: Apache-2.0
//
// The configuration file: one JSON object with comments (// and /* */), a member
// for each option by the name of its flag, and "paths", what is served. Every
// mistake is refused with FILE:LINE:COLUMN, the value and, for a name, the nearest
// one; nothing of a refused file counts. One thread.
#ifndef FARCALL_SERVER_CONFIG_FILE_H_
#define FARCALL_SERVER_CONFIG_FILE_H_

#include "config/options.h"

// Reads the file `name` and sets the options it names, with their origins. Paths
// and texts lie in options->file until fc_server_options_deinit.
// FC_CODE_NOT_ACCEPTABLE: it can't be read; else what is wrong in it.
fc_status_t fc_config_file_read(fc_server_options_t *options, const char *name,
                                fc_error_t *err) FC_MUST_CHECK;
// The same of what is in options->file: the text and its size, both changed while
// they are read, with room for a zero behind.
fc_status_t fc_config_file_parse(fc_server_options_t *options,
                                 fc_error_t *err) FC_MUST_CHECK;
void fc_config_file_deinit(fc_config_file_t *file);

// Writes the options in force as such a file, each below a comment that says
// where its value comes from.
fc_status_t fc_config_file_print(const fc_server_options_t *options,
                                 fc_sink_t *sink, fc_error_t *err);

// Puts where the option was given in front of an error about its value.
void fc_config_locate(const fc_server_options_t *options, unsigned option,
                      fc_error_t *err);

#endif  // FARCALL_SERVER_CONFIG_FILE_H_
