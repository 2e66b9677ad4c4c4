// SPDX-License-Identifier: Apache-2.0
//
// The flame graph: a bar for each row below the bar of its caller, as wide as the time
// is long. Whatever is right of the bars below is the caller's own time.
#include "file.h"
#include "flame.h"
#include "page.h"

#define WIDTH 1000.0
#define BAR 20.0
#define LETTER 6.5    // about the width of one
#define LEAST_TEXT 4  // letters; a shorter bar has no text

static const char kStyle[] =
    "<style>body{max-width:76rem}rect{stroke:Canvas;stroke-width:.5}\n"
    "svg text{font-size:11px;fill:#111}\n"
    ".call rect{fill:#b8b8b8}.function rect{fill:#f3b562}"
    ".import rect{fill:#8fbfe0}.dispatch rect{fill:#ef7d6b}\n"
    "td:last-child{text-align:left;white-space:pre;font-family:monospace}"
    "th:last-child{text-align:left}</style>\n";

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

// The kind is a class of the page, so it must be one of ours.
static const char *class_of(const fc_flame_row_t *row) {
  static const char *const kKinds[] = {"call", "function", "import",
                                       "dispatch"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kKinds); i++) {
    if (!strcmp(row->kind, kKinds[i])) return kKinds[i];
  }
  return "call";
}

static fc_status_t put_name(const fc_flame_row_t *row, fc_sink_t *sink,
                            fc_error_t *err) {
  FC_TRY(fc_page_text(sink, fc_str(row->name), err));
  if (*row->grid) FC_TRY(put(sink, " ", err));
  return put(sink, row->grid, err);
}

// What shows when the pointer is on a bar.
static fc_status_t put_title(const fc_flame_row_t *row, double share,
                             fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_print_to(sink, err, "<title>%s ", class_of(row)));
  FC_TRY(put_name(row, sink, err));
  FC_TRY(fc_print_to(sink, err, ": %s, %.1f %%, itself %s, %.0f times",
                     fc_page_time(row->ns).text, 100 * share,
                     fc_page_time(row->self_ns).text, row->count));
  if (*row->grid) FC_TRY(fc_print_to(sink, err, ", %.0f bytes", row->bytes));
  return put(sink, "</title>", err);
}

static fc_status_t put_bar(const fc_flame_row_t *row, double x, double share,
                           fc_sink_t *sink, fc_error_t *err) {
  const double width = WIDTH * share, y = BAR * (double)row->depth;
  FC_TRY(fc_print_to(sink, err, "<g class=%s>", class_of(row)));
  FC_TRY(put_title(row, share, sink, err));
  FC_TRY(fc_print_to(
      sink, err,
      "<rect x='%.2f' y='%.1f' width='%.2f' height='%.1f' rx=2></rect>", x, y,
      width, BAR - 1));
  const double letters = width / LETTER - 1;
  if (letters >= LEAST_TEXT) {
    char name[512];
    fc_escape(name, sizeof name, letters < 100 ? (size_t)letters : 100,
              fc_str(row->name));
    FC_TRY(fc_print_to(sink, err, "<text x='%.2f' y='%.1f'>", x + 3, y + 14));
    FC_TRY(fc_page_text(sink, fc_str(name), err));
    FC_TRY(put(sink, "</text>", err));
  }
  return put(sink, "</g>\n", err);
}

// Bars of one caller stand side by side. Rows whose times do not add up, as no farcalld
// writes them, overlap.
static fc_status_t put_bars(const fc_flame_t *flame, fc_sink_t *sink,
                            fc_error_t *err) {
  double left[FC_FLAME_ROWS_MAX];  // by row: where the next bar below it begins
  const double all = flame->rows[0].ns > 0 ? flame->rows[0].ns : 1;
  for (size_t i = 0; i < flame->count; i++) {
    const size_t index = flame->order[i];
    const fc_flame_row_t *row = &flame->rows[index];
    const double share = row->ns < all ? row->ns / all : 1;
    const double x = index ? left[row->parent] : 0;
    if (index) left[row->parent] = x + WIDTH * share;
    left[index] = x;
    FC_TRY(put_bar(row, x, share, sink, err));
  }
  return FC_OK;
}

static fc_status_t put_table(const fc_flame_t *flame, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(put(sink,
             "<table><tr><th>time<th>self<th>count<th>bytes<th>what</tr>\n",
             err));
  for (size_t i = 0; i < flame->count; i++) {
    const fc_flame_row_t *row = &flame->rows[flame->order[i]];
    FC_TRY(fc_print_to(sink, err, "<tr><td>%s<td>%s<td>%.0f<td>",
                       fc_page_time(row->ns).text,
                       fc_page_time(row->self_ns).text, row->count));
    if (*row->grid) FC_TRY(fc_print_to(sink, err, "%.0f", row->bytes));
    FC_TRY(fc_print_to(sink, err, "<td>%*s%s ", (int)(2 * row->depth % 200), "",
                       class_of(row)));
    FC_TRY(put_name(row, sink, err));
    FC_TRY(put(sink, "</tr>\n", err));
  }
  return put(sink, "</table>\n", err);
}

fc_status_t fc_flame_print_html(const fc_flame_t *flame, fc_sink_t *sink,
                                fc_error_t *err) {
  size_t deepest = 0;
  for (size_t i = 0; i < flame->count; i++) {
    if (flame->rows[i].depth > deepest) deepest = flame->rows[i].depth;
  }
  FC_TRY(fc_page_begin(sink, "farcall profile", err));
  FC_TRY(put(sink, kStyle, err));
  FC_TRY(put(sink, "<h1>", err));
  FC_TRY(fc_page_text(sink, fc_str(flame->rows[0].name), err));
  FC_TRY(fc_print_to(sink, err, "</h1>\n<p>One call: %s",
                     fc_page_time(flame->rows[0].ns).text));
  if (flame->dropped > 0) {
    FC_TRY(fc_print_to(sink, err,
                       "; %.0f calls in it found no row, their time is their "
                       "callers'",
                       flame->dropped));
  }
  FC_TRY(fc_print_to(sink, err,
                     "</p>\n<svg viewBox='0 0 %.0f %.0f' role=img "
                     "aria-label='flame graph; the table below says the same'>"
                     "\n",
                     WIDTH, BAR * (double)(deepest + 1)));
  FC_TRY(put_bars(flame, sink, err));
  FC_TRY(put(sink, "</svg>\n", err));
  FC_TRY(put_table(flame, sink, err));
  return put(sink, "</html>\n", err);
}
