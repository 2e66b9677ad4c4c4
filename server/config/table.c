// SPDX-License-Identifier: Apache-2.0
#include "config/table.h"

#include <stdio.h>

#include "farcall/backend.h"
#include "json/writer.h"

const fc_option_t fc_options[FC_OPTIONS] = {
#define FC_OPTION(field, flag, letter, kind, value, argument, when, help) \
  FC_OPTION_ROW(fc_server_options_t, field, flag, letter, kind, value,    \
                argument, NONE, when, help),
#include "config/options.def"
#undef FC_OPTION
};

// ---------------------------------------------------------------------------
// Names

const fc_option_t *fc_option_find(fc_str_t flag) {
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    if (fc_str_equal(flag, fc_str(fc_options[i].flag))) return &fc_options[i];
  }
  return NULL;
}

const fc_option_t *fc_option_find_letter(char letter) {
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    if (letter && fc_options[i].letter == letter) return &fc_options[i];
  }
  return NULL;
}

fc_str_t fc_choice_word(const char *words, unsigned place) {
  for (; place; place--) {
    words = strchr(words, '|');
    if (!words) return (fc_str_t){0};
    words++;
  }
  return fc_str_make(words, strcspn(words, "|"));
}

const char *fc_option_nearest(fc_str_t wanted, const char *const *names,
                              size_t count) {
  const char *nearest = NULL;
  unsigned best = 4;
  for (size_t i = 0; i < count; i++) {
    unsigned distance = fc_str_distance(wanted, fc_str(names[i]), best - 1);
    if (distance >= best) continue;
    best = distance;
    nearest = names[i];
  }
  return nearest;
}

// ---------------------------------------------------------------------------
// Values

static bool parse_number(const fc_option_t *option, fc_str_t value,
                         const fc_unit_t *units, void *field) {
  uint64_t *number = field;
  return fc_units_parse(value, units, option->most, number) &&
         *number >= option->least;
}

static bool parse_value(const fc_option_t *option, const char *text,
                        void *field) {
  static const fc_unit_t kCounts[] = {{"", 1}, {NULL, 0}};
  static const fc_unit_t kTimes[] = {
      {"ms", 1}, {"s", 1000}, {"", 1000}, {"m", 60000}, {NULL, 0}};
  fc_str_t value = fc_str(text);
  switch (option->kind) {
    case FC_OPTION_KIND_TEXT:
      *(const char **)field = text;
      return value.size > 0 || !option->value[0];
    case FC_OPTION_KIND_LIST:
      *(fc_texts_t *)field = (fc_texts_t){.texts = {text}, .count = 1};
      return value.size > 0;
    case FC_OPTION_KIND_COUNT:
      return parse_number(option, value, kCounts, field);
    case FC_OPTION_KIND_SIZE:
      return parse_number(option, value, fc_units_bytes, field);
    case FC_OPTION_KIND_TIME:
      return parse_number(option, value, kTimes, field);
    case FC_OPTION_KIND_FLAG: {
      bool on = fc_str_equal(value, FC_STR("on")) ||
                fc_str_equal(value, FC_STR("1")) ||
                fc_str_equal(value, FC_STR("true"));
      *(bool *)field = on;
      return on || fc_str_equal(value, FC_STR("off")) ||
             fc_str_equal(value, FC_STR("0")) ||
             fc_str_equal(value, FC_STR("false"));
    }
    case FC_OPTION_KIND_CHOICE:
      break;
  }
  for (unsigned i = 0;; i++) {
    const fc_str_t word = fc_choice_word(option->argument, i);
    if (!word.data) return false;
    if (!fc_str_equal(value, word)) continue;
    *(unsigned *)field = i;
    return true;
  }
}

// Describes the allowed values of the option, for an error. `text` is the buffer for a
// description with numbers.
static const char *describe_values(const fc_option_t *option, char text[64]) {
  const unsigned long long least = option->least, most = option->most;
  switch (option->kind) {
    case FC_OPTION_KIND_FLAG:
      return "on or off";
    case FC_OPTION_KIND_COUNT:
      if (!option->least)
        snprintf(text, 64, "a whole number, at most %llu", most);
      else snprintf(text, 64, "a whole number from %llu to %llu", least, most);
      return text;
    case FC_OPTION_KIND_SIZE:
      return option->least ? "bytes, not 0, as 65536, 64k, 2M or 1G"
                           : "bytes, as 65536, 64k, 2M or 1G";
    case FC_OPTION_KIND_TIME:
      snprintf(text, 64, "a time, as 250ms, 10s or 5m, at most %llus",
               most / 1000);
      return text;
    default:
      return option->argument;
  }
}

fc_status_t fc_option_set(void *values, const fc_option_t *option,
                          const char *value, const char *named,
                          fc_error_t *err) {
  char *field = (char *)values + option->offset;
  if (parse_value(option, value, field)) return FC_OK;
  char shown[80], text[64];
  fc_escape(shown, sizeof shown, 64, fc_str(value));
  return fc_fail(err, FC_CODE_TYPE_MISMATCH, "'%s' is no value for %s: %s",
                 shown, named, describe_values(option, text));
}

const fc_option_t *fc_option_inherited(const fc_option_t *key) {
  return key->inherited == FC_OPTION_NONE ? NULL : &fc_options[key->inherited];
}

void fc_option_set_defaults(void *values, const fc_option_t *table,
                            size_t count) {
  for (size_t i = 0; i < count; i++) {
    const fc_status_t status =
        fc_option_set(values, &table[i], table[i].value, "default", NULL);
    FC_ASSERT(status == FC_OK);
  }
}

fc_status_t fc_option_add(fc_server_options_t *options,
                          const fc_option_t *option, const char *value,
                          const char *named, fc_error_t *err) {
  fc_texts_t *list = (void *)((char *)options + option->offset);
  const fc_texts_t before = *list;
  if (before.count == FC_TEXTS_MAX) {
    return fc_fail(err, FC_CODE_DUPLICATE_ARGUMENT,
                   "%s is given more than %d times", named, FC_TEXTS_MAX);
  }
  FC_TRY(fc_option_set(options, option, value, named, err));
  *list = before;
  list->texts[list->count++] = value;
  return FC_OK;
}

static size_t size_of(fc_option_kind_t kind) {
  static const size_t kSizes[] = {
      [FC_OPTION_KIND_TEXT] = sizeof(FC_OPTION_TYPE_TEXT),
      [FC_OPTION_KIND_LIST] = sizeof(FC_OPTION_TYPE_LIST),
      [FC_OPTION_KIND_COUNT] = sizeof(FC_OPTION_TYPE_COUNT),
      [FC_OPTION_KIND_SIZE] = sizeof(FC_OPTION_TYPE_SIZE),
      [FC_OPTION_KIND_TIME] = sizeof(FC_OPTION_TYPE_TIME),
      [FC_OPTION_KIND_FLAG] = sizeof(FC_OPTION_TYPE_FLAG),
      [FC_OPTION_KIND_CHOICE] = sizeof(FC_OPTION_TYPE_CHOICE),
  };
  return kSizes[kind];
}

void fc_option_copy(void *values, const fc_option_t *to,
                    const void *from_values, const fc_option_t *from) {
  FC_ASSERT(to->kind == from->kind);
  memcpy((char *)values + to->offset, (const char *)from_values + from->offset,
         size_of(to->kind));
}

static bool same_texts(const fc_texts_t *a, const fc_texts_t *b) {
  fc_str_t one, other;
  for (uint32_t i = 0;; i++) {
    const bool more = fc_texts_at(a, i, &one);
    if (fc_texts_at(b, i, &other) != more) return false;
    if (!more) return true;
    if (!fc_str_equal(one, other)) return false;
  }
}

bool fc_option_same(const void *a, const void *b, const fc_option_t *option) {
  const void *one = (const char *)a + option->offset;
  const void *other = (const char *)b + option->offset;
  switch (option->kind) {
    case FC_OPTION_KIND_TEXT:
      return !strcmp(*(const char *const *)one, *(const char *const *)other);
    case FC_OPTION_KIND_LIST:
      return same_texts(one, other);
    default:
      return !memcmp(one, other, size_of(option->kind));
  }
}

bool fc_texts_at(const fc_texts_t *texts, uint32_t index, fc_str_t *out_item) {
  for (uint32_t i = 0; i < texts->count; i++) {
    fc_str_t rest = fc_str(texts->texts[i]);
    for (bool more = true; more;) {
      more = memchr(rest.data, ',', rest.size) != NULL;
      *out_item = fc_str_take(&rest, ',');
      if (index-- == 0) return true;
    }
  }
  return false;
}

// ---------------------------------------------------------------------------
// Values as text

// Writes the value in the largest unit that leaves no remainder.
static fc_status_t put_units(fc_sink_t *sink, uint64_t value,
                             const fc_unit_t *units, fc_error_t *err) {
  const fc_unit_t *best = units;
  for (const fc_unit_t *unit = units; unit->text; unit++) {
    if (value && value % unit->factor == 0 && unit->factor > best->factor) {
      best = unit;
    }
  }
  FC_TRY(fc_json_write_u64(sink, value / best->factor, err));
  return fc_sink_put(sink, fc_str(best->text), err);
}

static fc_status_t put_texts(fc_sink_t *sink, const fc_texts_t *texts,
                             fc_error_t *err) {
  for (uint32_t i = 0; i < texts->count; i++) {
    if (i) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
    FC_TRY(fc_sink_put(sink, fc_str(texts->texts[i]), err));
  }
  return FC_OK;
}

fc_status_t fc_option_print(const void *values, const fc_option_t *option,
                            fc_sink_t *sink, fc_error_t *err) {
  static const fc_unit_t kCounts[] = {{"", 1}, {NULL, 0}};
  static const fc_unit_t kTimes[] = {{"ms", 1}, {"s", 1000}, {NULL, 0}};
  const void *field = (const char *)values + option->offset;
  switch (option->kind) {
    case FC_OPTION_KIND_TEXT:
      return fc_sink_put(sink, fc_str(*(const char *const *)field), err);
    case FC_OPTION_KIND_LIST:
      return put_texts(sink, field, err);
    case FC_OPTION_KIND_COUNT:
      return put_units(sink, *(const uint64_t *)field, kCounts, err);
    case FC_OPTION_KIND_SIZE:
      return put_units(sink, *(const uint64_t *)field, fc_units_bytes, err);
    case FC_OPTION_KIND_TIME:
      return put_units(sink, *(const uint64_t *)field, kTimes, err);
    case FC_OPTION_KIND_FLAG:
      return fc_sink_put(
          sink, *(const bool *)field ? FC_STR("on") : FC_STR("off"), err);
    case FC_OPTION_KIND_CHOICE:
      break;
  }
  return fc_sink_put(
      sink, fc_choice_word(option->argument, *(const unsigned *)field), err);
}
