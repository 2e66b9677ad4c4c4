// SPDX-License-Identifier: Apache-2.0
//
// Writes a profile for speedscope (its file-format-schema.json). Each row is a sample:
// the stack of its callers and itself, weighted with the row's own time.
#include "file.h"
#include "flame.h"
#include "json/writer.h"

// Returns what follows the row's name: its grid or its kind.
static const char *place_of(const fc_flame_row_t *row) {
  return *row->grid ? row->grid : row->kind;
}

// Rows with the same name and the same place_of share a frame of speedscope: that of the
// first row.
static size_t frame_of(const fc_flame_t *flame, size_t index) {
  const fc_flame_row_t *row = &flame->rows[index];
  size_t frame = 0;
  while (strcmp(flame->rows[frame].name, row->name) ||
         strcmp(place_of(&flame->rows[frame]), place_of(row))) {
    frame++;
  }
  return frame;
}

static fc_status_t put_frames(const fc_flame_t *flame, fc_sink_t *sink,
                              fc_error_t *err) {
  for (size_t i = 0; i < flame->count; i++) {
    const fc_flame_row_t *row = &flame->rows[i];
    FC_TRY(fc_print_to(sink, err, "%s{\"name\":", i ? "," : ""));
    FC_TRY(fc_json_write_string(sink, fc_str(row->name), err));
    FC_TRY(fc_sink_put(sink, FC_STR(",\"file\":"), err));
    FC_TRY(fc_json_write_string(sink, fc_str(place_of(row)), err));
    FC_TRY(fc_sink_put(sink, FC_STR("}"), err));
  }
  return FC_OK;
}

// Writes the stack, callers first.
static fc_status_t put_stack(const fc_flame_t *flame, size_t index,
                             fc_sink_t *sink, fc_error_t *err) {
  size_t path[FC_FLAME_ROWS_MAX], depth = flame->rows[index].depth;
  for (size_t at = depth + 1; at-- > 0; index = flame->rows[index].parent) {
    path[at] = frame_of(flame, index);
  }
  for (size_t at = 0; at <= depth; at++) {
    FC_TRY(fc_print_to(sink, err, "%s%zu", at ? "," : "[", path[at]));
  }
  return fc_sink_put(sink, FC_STR("]"), err);
}

fc_status_t fc_flame_print_speedscope(const fc_flame_t *flame, fc_sink_t *sink,
                                      fc_error_t *err) {
  double sum = 0;
  FC_TRY(fc_print_to(
      sink, err,
      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
      "\"exporter\":\"farcall\",\"shared\":{\"frames\":["));
  FC_TRY(put_frames(flame, sink, err));
  FC_TRY(fc_print_to(sink, err,
                     "]},\"profiles\":[{\"type\":\"sampled\",\"unit\":"
                     "\"nanoseconds\",\"startValue\":0,\"name\":"));
  FC_TRY(fc_json_write_string(sink, fc_str(flame->rows[0].name), err));
  for (size_t i = 0; i < flame->count; i++) {
    FC_TRY(fc_sink_put(sink, i ? FC_STR(",") : FC_STR(",\"samples\":["), err));
    FC_TRY(put_stack(flame, flame->order[i], sink, err));
  }
  for (size_t i = 0; i < flame->count; i++) {
    const double ns = flame->rows[flame->order[i]].self_ns;
    sum += ns;
    FC_TRY(fc_print_to(sink, err, "%s%.0f", i ? "," : "],\"weights\":[", ns));
  }
  return fc_print_to(sink, err, "],\"endValue\":%.0f}]}\n", sum);
}
