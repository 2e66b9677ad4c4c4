// SPDX-License-Identifier: Apache-2.0
//
// Reads the values in the configuration file, and finds the places of mistakes in it.
#include <stdio.h>

#include "config/file_parser.h"

#define NUMBER_MAX 32  // characters

// ---------------------------------------------------------------------------
// Places

void fc_file_put_place(const fc_config_file_t *file, fc_origin_t place,
                       fc_error_t *err) {
  char prefix[200];
  snprintf(prefix, sizeof prefix, "%.160s:%u:%u: ", file->name, place.line,
           place.column);
  const size_t size = strlen(prefix), room = sizeof err->message - size;
  memmove(err->message + size, err->message, room);
  memcpy(err->message, prefix, size);
  err->message[sizeof err->message - 1] = '\0';
}

fc_status_t fc_file_fail_at(fc_file_parser_t *p, uint64_t offset,
                            fc_status_t status) {
  fc_file_put_place(p->file, fc_lines_find(&p->lines, offset), p->err);
  return status;
}

fc_status_t fc_file_fail(fc_file_parser_t *p, fc_status_t status) {
  return fc_file_fail_at(p, p->reader.token_offset, status);
}

fc_status_t fc_file_next(fc_file_parser_t *p, fc_json_token_t *out_token) {
  const fc_status_t status = fc_json_next(&p->reader, out_token, p->err);
  return status == FC_OK ? FC_OK
                         : fc_file_fail_at(p, p->err->byte_offset, status);
}

void fc_config_locate(const fc_server_options_t *options, unsigned option,
                      fc_error_t *err) {
  fc_config_locate_at(options, options->origins[option], err);
}

void fc_config_locate_at(const fc_server_options_t *options, fc_origin_t origin,
                         fc_error_t *err) {
  if (origin.from == FC_ORIGIN_FILE)
    fc_file_put_place(&options->file, origin, err);
}

fc_status_t fc_file_fail_key(fc_file_parser_t *p, const char *const *names,
                             size_t count, const char *which) {
  const fc_str_t key = p->reader.text;
  const char *nearest = fc_option_nearest(key, names, count);
  char shown[80], hint[120] = "";
  fc_escape(shown, sizeof shown, 64, key);
  if (nearest) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
  return fc_file_fail(
      p, fc_fail(p->err, FC_CODE_UNKNOWN_FIELD, "unknown key '%s': %s", shown,
                 nearest ? hint : which));
}

// ---------------------------------------------------------------------------
// Values

fc_status_t fc_file_expect_object(fc_file_parser_t *p, const char *what) {
  fc_json_token_t token;
  FC_TRY(fc_file_next(p, &token));
  if (token == FC_JSON_OBJECT_BEGIN) return FC_OK;
  return fc_file_fail(p, fc_fail(p->err, FC_CODE_TYPE_MISMATCH,
                                 "%sexpected an object, found %s", what,
                                 fc_json_token_name(token)));
}

fc_status_t fc_file_take_string(fc_file_parser_t *p, char **out,
                                size_t *out_size) {
  char *text = p->file->text + (p->reader.text.data - p->file->text);
  const size_t size = fc_json_unescape(p->reader.text, text);
  if (memchr(text, '\0', size)) {
    return fc_file_fail(p, fc_fail(p->err, FC_CODE_NOT_ACCEPTABLE,
                                   "a text with a zero byte in it"));
  }
  text[size] = '\0';
  *out = text;
  *out_size = size;
  return FC_OK;
}

static fc_status_t fail_kind(fc_file_parser_t *p, const fc_option_t *option,
                             fc_json_token_t token) {
  const bool flag = option->kind == FC_OPTION_KIND_FLAG;
  return fc_file_fail(
      p, fc_fail(p->err, FC_CODE_TYPE_MISMATCH, "\"%s\" takes %s, not %s",
                 option->flag, flag ? "true or false" : option->argument,
                 fc_json_token_name(token)));
}

// Reads ["a", "b"] as "a,b". The list is built over the first string's bytes: it never
// gets longer than the text that was read.
static fc_status_t take_list(fc_file_parser_t *p, const fc_option_t *option,
                             const char **out) {
  char *list = NULL;
  size_t used = 0;
  for (;;) {
    fc_json_token_t token;
    char *text;
    size_t size;
    FC_TRY(fc_file_next(p, &token));
    if (token == FC_JSON_ARRAY_END) break;
    if (token != FC_JSON_STRING) return fail_kind(p, option, token);
    FC_TRY(fc_file_take_string(p, &text, &size));
    if (!list) list = text;
    else list[used++] = ',';
    memmove(list + used, text, size);
    used += size;
    list[used] = '\0';
  }
  *out = list ? list : "";
  return FC_OK;
}

static bool is_text(fc_option_kind_t kind) {
  return kind == FC_OPTION_KIND_TEXT || kind == FC_OPTION_KIND_LIST;
}

static bool is_number(fc_option_kind_t kind) {
  return kind == FC_OPTION_KIND_COUNT || kind == FC_OPTION_KIND_SIZE ||
         kind == FC_OPTION_KIND_TIME;
}

// Gives the value as a flag would spell it. A number's text is written to `number`.
static fc_status_t take_value(fc_file_parser_t *p, const fc_option_t *option,
                              char number[NUMBER_MAX], const char **out) {
  fc_json_token_t token;
  FC_TRY(fc_file_next(p, &token));
  p->value_offset = p->reader.token_offset;
  const fc_str_t text = p->reader.text;
  switch (token) {
    case FC_JSON_STRING: {
      char *string;
      size_t size;
      FC_TRY(fc_file_take_string(p, &string, &size));
      *out = string;
      return FC_OK;
    }
    case FC_JSON_NUMBER:
      if (!is_number(option->kind) || text.size >= NUMBER_MAX) break;
      snprintf(number, NUMBER_MAX, "%.*s", (int)text.size, text.data);
      *out = number;
      return FC_OK;
    case FC_JSON_TRUE:
    case FC_JSON_FALSE:
      if (is_number(option->kind) || is_text(option->kind)) break;
      *out = token == FC_JSON_TRUE ? "on" : "off";
      return FC_OK;
    case FC_JSON_ARRAY_BEGIN:
      if (!is_text(option->kind)) break;
      return take_list(p, option, out);
    default:
      break;
  }
  return fail_kind(p, option, token);
}

fc_status_t fc_file_take_member(fc_file_parser_t *p, const fc_option_t *option,
                                void *values, fc_origin_t *origin) {
  char number[NUMBER_MAX], named[64];
  const char *value = "";
  if (origin->from == FC_ORIGIN_FILE) {
    return fc_file_fail(p, fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                                   "\"%s\" is given twice, first in line %u",
                                   option->flag, origin->line));
  }
  FC_TRY(take_value(p, option, number, &value));
  snprintf(named, sizeof named, "\"%s\"", option->flag);
  const fc_status_t status =
      fc_option_set(values, option, value, named, p->err);
  *origin = fc_lines_find(&p->lines, p->value_offset);
  return status == FC_OK ? FC_OK : fc_file_fail_at(p, p->value_offset, status);
}

void *fc_file_grow(void *items, size_t count, size_t size) {
  if (count & (count - 1)) return items;
  const size_t capacity = count ? 2 * count : 1;
  return fc_realloc(fc_allocator_system(), items, count * size,
                    capacity * size);
}
