// SPDX-License-Identifier: Apache-2.0
//
// The configuration file: one JSON object with comments (// and /* */). It can have a
// member for each option but --config, by the name of its flag; "paths", what is served;
// "modules", what holds for single modules; "listeners", where the server listens and
// what holds there. The error about a mistake in it begins with FILE:LINE:COLUMN, and
// suggests the nearest known name for an unknown one. One thread.
#ifndef FARCALL_SERVER_CONFIG_FILE_H_
#define FARCALL_SERVER_CONFIG_FILE_H_

#include "config/options.h"

// Reads the file `name` and sets the options it names, with their origins.
// Paths and texts lie in options->file until fc_server_options_deinit.
// FC_CODE_NOT_ACCEPTABLE: the file can't be read, or a value is wrong;
// FC_CODE_OUT_OF_MEMORY; any other code says what is wrong in the file. After a
// failure some options may be set: callers use none of them.
fc_status_t fc_config_file_read(fc_server_options_t *options, const char *name,
                                fc_error_t *err) FC_MUST_CHECK;
// Does the same with a text that is in options->file already, and changes that text.
fc_status_t fc_config_file_parse(fc_server_options_t *options,
                                 fc_error_t *err) FC_MUST_CHECK;
void fc_config_file_deinit(fc_config_file_t *file);

// Writes the options in force, but for --config, as such a file: each below a comment
// that says where its value comes from.
fc_status_t fc_config_file_print(const fc_server_options_t *options,
                                 fc_sink_t *sink, fc_error_t *err);

// If the file gave the option, puts the place of its value there in front of the
// message of an error about the value.
void fc_config_locate(const fc_server_options_t *options, unsigned option,
                      fc_error_t *err);
// The same for another origin.
void fc_config_locate_at(const fc_server_options_t *options, fc_origin_t origin,
                         fc_error_t *err);

#endif  // FARCALL_SERVER_CONFIG_FILE_H_
