// SPDX-License-Identifier: Apache-2.0
#include "conditions.h"

#include "cli.h"

const char *fc_text_of(yyjson_val *object, const char *key) {
  const char *text = yyjson_get_str(yyjson_obj_get(object, key));
  return text ? text : "";
}

static void show(FILE *stream, const char *lead, const char *text) {
  if (!*text) return;
  char escaped[1024];
  fc_escape(escaped, sizeof escaped, sizeof escaped - 8, fc_str(text));
  fputs(lead, stream);
  fputs(escaped, stream);
}

void fc_conditions_show(FILE *stream, yyjson_val *conditions) {
  yyjson_val *condition;
  size_t index, count;
  yyjson_arr_foreach(conditions, index, count, condition) {
    show(stream, "", fc_text_of(condition, "severity"));
    show(stream, "  ", fc_text_of(condition, "code"));
    show(stream, ": ", fc_text_of(condition, "text"));
    show(stream, ": ", fc_text_of(condition, "detail"));
    const uint64_t modules =
        yyjson_get_uint(yyjson_obj_get(condition, "count"));
    if (modules > 1) fprintf(stream, " (%zu modules)", (size_t)modules);
    fputc('\n', stream);
  }
}
