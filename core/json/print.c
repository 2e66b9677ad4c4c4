// SPDX-License-Identifier: Apache-2.0
//
// Writes documents from a format (writer.h). A format is a literal of our own, so
// what it must not contain is asserted.
#include "json/writer.h"

// A va_list in a struct, so that its address can be passed: a va_list may be an array,
// and the address of a parameter that is an array has another type.
typedef struct arguments_t {
  va_list list;
} arguments_t;

static bool take(const char **at, const char *word) {
  const size_t size = strlen(word);
  if (strncmp(*at, word, size) != 0) return false;
  *at += size;
  return true;
}

static fc_str_t next_text(arguments_t *args, bool sized) {
  if (!sized) return fc_str(va_arg(args->list, const char *));
  const int size = va_arg(args->list, int);
  return fc_str_make(va_arg(args->list, const char *), (size_t)size);
}

static fc_status_t print_argument(fc_sink_t *sink, const char **at,
                                  arguments_t *args, fc_error_t *err) {
  const bool sized = take(at, "%.*s");
  if (sized || take(at, "%s")) {
    return fc_sink_put(sink, next_text(args, sized), err);
  }
  if (take(at, "%d")) {
    return fc_json_write_i64(sink, va_arg(args->list, int), err);
  }
  if (take(at, "%ld")) {
    return fc_json_write_i64(sink, va_arg(args->list, long), err);
  }
  if (take(at, "%u")) {
    return fc_json_write_u64(sink, va_arg(args->list, unsigned), err);
  }
  const bool known = take(at, "%lu") || take(at, "%zu");
  FC_ASSERT(known);
  return fc_json_write_u64(sink, va_arg(args->list, unsigned long), err);
}

static fc_status_t print_quote(fc_sink_t *sink, const char **at,
                               arguments_t *args, fc_error_t *err) {
  const bool sized = take(at, "'%.*s'");
  if (sized || take(at, "'%s'")) {
    return fc_json_write_string(sink, next_text(args, sized), err);
  }
  *at += 1;
  return fc_sink_put(sink, FC_STR("\""), err);
}

fc_status_t fc_json_vprint(fc_sink_t *sink, fc_error_t *err, const char *format,
                           va_list list) {
  arguments_t args;
  fc_status_t status = FC_OK;
  va_copy(args.list, list);
  for (const char *at = format; *at && status == FC_OK;) {
    const size_t plain = strcspn(at, "'%");
    if (plain) {
      status = fc_sink_put(sink, fc_str_make(at, plain), err);
      at += plain;
    } else {
      status = *at == '%' ? print_argument(sink, &at, &args, err)
                          : print_quote(sink, &at, &args, err);
    }
  }
  va_end(args.list);
  return status;
}

fc_status_t fc_json_print(fc_sink_t *sink, fc_error_t *err, const char *format,
                          ...) {
  va_list args;
  va_start(args, format);
  const fc_status_t status = fc_json_vprint(sink, err, format, args);
  va_end(args);
  return status;
}
