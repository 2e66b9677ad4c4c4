// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a configuration file. An error says where it is. An accepted file with
// valid values is printed as a file that is accepted, too.
#include <stdlib.h>

#include "check.h"
#include "config/file.h"

#define CHECK(condition) \
  if (!(condition)) abort()

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fc_status_t parse(fc_server_options_t *options, const void *text,
                         size_t size, fc_error_t *err) {
  fc_server_options_init(options);
  fc_error_reset(err);
  options->file.name = "f";
  options->file.size = size;
  options->file.text = fc_alloc(fc_allocator_system(), size + 1);
  CHECK(options->file.text);
  if (size) memcpy(options->file.text, text, size);
  return fc_config_file_parse(options, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fc_server_options_t options, again;
  fc_error_t err;
  if (parse(&options, data, size, &err) != FC_OK) {
    CHECK(err.code == FC_CODE_OUT_OF_MEMORY ||
          fc_str_starts(fc_str(err.message), FC_STR("f:")));
    fc_server_options_deinit(&options);
    return 0;
  }
  // farcalld does not print options that it would refuse.
  if (fc_options_check(&options, &err) != FC_OK) {
    fc_server_options_deinit(&options);
    return 0;
  }
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  CHECK(fc_config_file_print(&options, &text.sink, &err) == FC_OK);
  const fc_str_t printed = fc_text_str(&text);
  CHECK(parse(&again, printed.data, printed.size, &err) == FC_OK);
  CHECK(again.path_count == options.path_count);
  fc_text_deinit(&text);
  fc_server_options_deinit(&again);
  fc_server_options_deinit(&options);
  return 0;
}
