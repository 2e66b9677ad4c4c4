// SPDX-License-Identifier: Apache-2.0
//
// The list of findings, as text and as JSON. One row of the text is one finding:
//
//   unfit  Attention: IREE's importer does not have this operator
//          at node 'attend' (3 of its graph)
//          way out: export with opset 22, which writes it by MatMul and Softmax
#include "doctor/checkup.h"

#include <stdarg.h>

#include "cli.h"
#include "json/writer.h"
#include "style.h"

#define NAME_MAX_SHOWN 64
#define FINDINGS_MAX 1000

static const char *const kLevels[FC_LEVEL_COUNT] = {"unfit", "warn", "note"};
static const char *const kSubjects[FC_SUBJECT_COUNT] = {
#define FC_SUBJECT(id, name) name,
#include "doctor/subject.def"
#undef FC_SUBJECT
};

void fc_checkup_init(fc_checkup_t *checkup, fc_arena_t *arena, const char *path,
                     const char *input) {
  *checkup = (fc_checkup_t){.arena = arena,
                            .path = path,
                            .input = input,
                            .format = "",
                            .asked = "",
                            .footprint = {-1, -1, -1, 0, 0}};
}

const char *fc_checkup_print(fc_checkup_t *checkup, const char *format, ...) {
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  const int size = vsnprintf(NULL, 0, format, list);
  va_end(list);
  char *text =
      size < 0 ? NULL : fc_arena_alloc(checkup->arena, (size_t)size + 1, 1);
  if (text) vsnprintf(text, (size_t)size + 1, format, again);
  else checkup->out_of_memory = true;
  va_end(again);
  return text ? text : "";
}

const char *fc_checkup_name(fc_checkup_t *checkup, fc_str_t name) {
  char shown[NAME_MAX_SHOWN * 6 + 8];
  fc_escape(shown, sizeof shown, NAME_MAX_SHOWN, name);
  return fc_checkup_print(checkup, "'%s'", shown);
}

static bool is_same(const fc_finding_t *a, const fc_finding_t *b) {
  return a->level == b->level && a->subject == b->subject &&
         fc_str_equal(a->thing, b->thing) && !strcmp(a->message, b->message);
}

// Doubles the list. False: no memory.
static bool grow(fc_checkup_t *checkup) {
  const size_t capacity = checkup->capacity ? 2 * checkup->capacity : 16;
  fc_finding_t *findings =
      fc_arena_alloc_array(checkup->arena, capacity, sizeof *findings);
  if (!findings) return false;
  if (checkup->count) {
    memcpy(findings, checkup->findings, checkup->count * sizeof *findings);
  }
  checkup->findings = findings;
  checkup->capacity = capacity;
  return true;
}

static void append(fc_checkup_t *checkup, const fc_finding_t *finding) {
  checkup->levels[finding->level]++;
  if (checkup->count == checkup->capacity && !grow(checkup)) {
    checkup->out_of_memory = true;
    return;
  }
  checkup->findings[checkup->count++] = *finding;
}

static void append_limit(fc_checkup_t *checkup) {
  const char *message = fc_checkup_print(
      checkup,
      "it has findings in more than %d places: the rest was not "
      "looked at",
      FC_CHECKUP_PLACES_MAX);
  const fc_finding_t finding = {FC_LEVEL_UNFIT,
                                FC_SUBJECT_FILE,
                                FC_STR("file"),
                                "",
                                message,
                                "mend what is listed, and ask again",
                                1};
  append(checkup, &finding);
}

static void add(fc_checkup_t *checkup, const fc_finding_t *added) {
  for (size_t i = 0; i < checkup->count; i++) {
    if (!is_same(&checkup->findings[i], added)) continue;
    checkup->findings[i].count++;
    return;
  }
  if (checkup->count < FINDINGS_MAX) append(checkup, added);
  else checkup->levels[added->level]++;
}

void fc_checkup_add(fc_checkup_t *checkup, fc_severity_t level,
                    fc_subject_t subject, fc_str_t thing, const char *place,
                    const char *message, const char *way_out) {
  const fc_finding_t added = {level,   subject, thing, place,
                              message, way_out, 1};
  if (fc_checkup_is_full(checkup)) return;
  add(checkup, &added);
  checkup->place_count++;
  if (fc_checkup_is_full(checkup)) append_limit(checkup);
}

// ---------------------------------------------------------------------------
// As text

static fc_style_t style_of(fc_severity_t level) {
  return level == FC_LEVEL_UNFIT  ? FC_STYLE_BAD
         : level == FC_LEVEL_WARN ? FC_STYLE_BOLD
                                  : FC_STYLE_DIM;
}

static void show_finding(const fc_finding_t *finding, FILE *stream) {
  char thing[NAME_MAX_SHOWN * 6 + 8];
  fc_escape(thing, sizeof thing, NAME_MAX_SHOWN, finding->thing);
  fprintf(stream, "%s%-5s%s  ", fc_style(stream, style_of(finding->level)),
          kLevels[finding->level], fc_style(stream, FC_STYLE_PLAIN));
  if (*thing) fprintf(stream, "%s: ", thing);
  fc_show(stream, fc_str(finding->message));
  fputc('\n', stream);
  if (*finding->place) {
    fputs("       at ", stream);
    fc_show(stream, fc_str(finding->place));
    if (finding->count > 1)
      fprintf(stream, " and %zu more", finding->count - 1);
    fputc('\n', stream);
  }
  if (*finding->way_out) {
    fputs("       way out: ", stream);
    fc_show(stream, fc_str(finding->way_out));
    fputc('\n', stream);
  }
}

static void show_size(FILE *stream, const char *what, int64_t size) {
  if (size < 0) return;
  if (size >= 1000000) {
    fprintf(stream, "%s %.1f MB", what, (double)size / 1e6);
  } else {
    fprintf(stream, "%s %.1f KB", what, (double)size / 1e3);
  }
}

static void show_footprint(const fc_footprint_t *footprint, FILE *stream) {
  if (footprint->weights < 0 && footprint->arguments < 0) return;
  fputs("memory", stream);
  show_size(stream, " weights", footprint->weights);
  show_size(stream, ", a call's arguments and results", footprint->arguments);
  show_size(stream, ", at least, with the two largest values between operators",
            footprint->largest);
  if (footprint->value_count > footprint->sized_count) {
    fprintf(stream, " (%zu of %zu values have no size in the file)",
            footprint->value_count - footprint->sized_count,
            footprint->value_count);
  }
  fputc('\n', stream);
}

void fc_checkup_show(const fc_checkup_t *checkup, FILE *stream) {
  fc_show(stream, fc_str(checkup->input));
  if (*checkup->format) fprintf(stream, ": %s", checkup->format);
  fputc('\n', stream);
  for (int level = 0; level < FC_LEVEL_COUNT; level++) {
    for (size_t i = 0; i < checkup->count; i++) {
      const fc_finding_t *finding = &checkup->findings[i];
      if ((int)finding->level == level) show_finding(finding, stream);
    }
  }
  show_footprint(&checkup->footprint, stream);
  const bool fit = fc_checkup_is_fit(checkup);
  fprintf(stream,
          "%s%s%s: ", fc_style(stream, fit ? FC_STYLE_GOOD : FC_STYLE_BAD),
          fit ? "fit" : "unfit", fc_style(stream, FC_STYLE_PLAIN));
  // A fit file may still fail: nobody knows that before the module is made. So the report
  // does not say that nothing will fail.
  if (!fit) {
    fprintf(stream, "%zu that will fail, ", checkup->levels[FC_LEVEL_UNFIT]);
  }
  fprintf(stream, "%zu that may fail, %zu to know%s%s\n",
          checkup->levels[FC_LEVEL_WARN], checkup->levels[FC_LEVEL_NOTE],
          *checkup->asked ? "; " : "", checkup->asked);
}

// ---------------------------------------------------------------------------
// As JSON

// Writes ,"key":"value".
static fc_status_t put_member(fc_sink_t *sink, const char *key, fc_str_t value,
                              fc_error_t *err) {
  return fc_json_print(sink, err, ",'%s':'%.*s'", key, FC_STR_ARG(value));
}

static fc_status_t put_number(fc_sink_t *sink, const char *key, int64_t value,
                              fc_error_t *err) {
  return value < 0 ? fc_json_print(sink, err, ",'%s':null", key)
                   : fc_json_print(sink, err, ",'%s':%ld", key, value);
}

static fc_status_t put_finding(const fc_finding_t *finding, fc_sink_t *sink,
                               fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "{'level':'%s'", kLevels[finding->level]));
  FC_TRY(put_member(sink, "subject", fc_str(kSubjects[finding->subject]), err));
  FC_TRY(put_member(sink, "thing", finding->thing, err));
  FC_TRY(put_member(sink, "place", fc_str(finding->place), err));
  FC_TRY(put_member(sink, "message", fc_str(finding->message), err));
  FC_TRY(put_member(sink, "way_out", fc_str(finding->way_out), err));
  FC_TRY(put_number(sink, "count", (int64_t)finding->count, err));
  return fc_json_print(sink, err, "}");
}

fc_status_t fc_checkup_write_json(const fc_checkup_t *checkup, fc_sink_t *sink,
                                  fc_error_t *err) {
  const fc_footprint_t *footprint = &checkup->footprint;
  FC_TRY(fc_json_print(sink, err, "{'fit':%s",
                       fc_checkup_is_fit(checkup) ? "true" : "false"));
  FC_TRY(put_member(sink, "file", fc_str(checkup->input), err));
  FC_TRY(put_member(sink, "format", fc_str(checkup->format), err));
  FC_TRY(put_member(sink, "asked", fc_str(checkup->asked), err));
  FC_TRY(fc_json_print(sink, err, ",'findings':["));
  for (size_t i = 0; i < checkup->count; i++) {
    if (i) FC_TRY(fc_json_print(sink, err, ","));
    FC_TRY(put_finding(&checkup->findings[i], sink, err));
  }
  FC_TRY(fc_json_print(sink, err, "],'memory':{'unit':'bytes'"));
  FC_TRY(put_number(sink, "weights", footprint->weights, err));
  FC_TRY(put_number(sink, "arguments", footprint->arguments, err));
  FC_TRY(put_number(sink, "largest", footprint->largest, err));
  return fc_json_print(sink, err, "}}\n");
}
