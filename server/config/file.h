// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration file: one JSON object with comments (// and /* */). The object
// can have a member for each option except --config, named like the option's flag. Its
// other members are "paths" (what is served), "modules" (settings of single modules) and
// "listeners" (where the server listens, with settings of each). An error begins with
// FILE:LINE:COLUMN and suggests the nearest known name for an unknown one. One thread.
#ifndef FARCALL_SERVER_CONFIG_FILE_H_
#define FARCALL_SERVER_CONFIG_FILE_H_

#include "config/options.h"

// Reads the file `name` and sets the options in it, with their origins. Paths and texts
// stay in options->file until fc_server_options_deinit. FC_CODE_NOT_ACCEPTABLE: the file
// can't be read, or a value is wrong. FC_CODE_OUT_OF_MEMORY. Any other code: the file has
// a mistake, which the error names. After a failure some options may be set; the caller
// must use none of them.
fc_status_t fc_config_file_read(fc_server_options_t *options, const char *name,
                                fc_error_t *err) FC_MUST_CHECK;
// Does the same with the text that is in options->file already; changes that text.
fc_status_t fc_config_file_parse(fc_server_options_t *options,
                                 fc_error_t *err) FC_MUST_CHECK;
void fc_config_file_deinit(fc_config_file_t *file);

// Writes the options in force, except --config, as a configuration file. A comment above
// each option says where its value comes from.
fc_status_t fc_config_file_print(const fc_server_options_t *options,
                                 fc_sink_t *sink, fc_error_t *err);

// If the file gave the option's value, puts the place of that value in front of the
// message of `err`, which is an error about the value.
void fc_config_locate(const fc_server_options_t *options, unsigned option,
                      fc_error_t *err);
// Does the same for the place `origin`.
void fc_config_locate_at(const fc_server_options_t *options, fc_origin_t origin,
                         fc_error_t *err);

#endif  // FARCALL_SERVER_CONFIG_FILE_H_
