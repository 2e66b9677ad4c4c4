// SPDX-License-Identifier: Apache-2.0
//
// Plots of 720 by 260 units. A value that is not a number, or is out of range, is drawn
// at the edge of the range. So the picture is valid whatever a file contains.
#include "bench/plot.h"

#include <math.h>

#include "bench/report.h"
#include "file.h"

#define WIDTH 720.0
#define HEIGHT 260.0
#define LEFT 80.0
#define RIGHT 12.0
#define TOP 28.0
#define BOTTOM 40.0
#define MARKS_MAX 16

static double place(double value, double least, double most) {
  const double share = most > least ? (value - least) / (most - least) : 0;
  return share > 0 ? share < 1 ? share : 1 : 0;
}

static double place_x(const fc_plot_t *plot, double x) {
  return LEFT + place(x, plot->least.x, plot->most.x) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const fc_plot_t *plot, double y) {
  const double share =
      plot->log_y && y > 0
          ? place(log10(y), log10(plot->least.y), log10(plot->most.y))
          : place(y, plot->least.y, plot->most.y);
  return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

void fc_plot_include(fc_plot_t *plot, const fc_plot_point_t *points,
                     size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (points[i].x < plot->least.x) plot->least.x = points[i].x;
    if (points[i].x > plot->most.x) plot->most.x = points[i].x;
    if (points[i].y > plot->most.y) plot->most.y = points[i].y;
    if (points[i].y > 0 && points[i].y < plot->least.y) {
      plot->least.y = points[i].y;
    }
  }
}

// Returns the distance of marks: 1, 2 or 5 times a power of ten, for at most six marks.
static double round_step(double span) {
  const double unit = pow(10, floor(log10(span / 5)));
  if (unit * 5 >= span) return unit;
  return unit * 2 * 5 >= span   ? unit * 2
         : unit * 5 * 5 >= span ? unit * 5
                                : unit * 10;
}

static fc_status_t put_mark_y(const fc_plot_t *plot, double y,
                              fc_error_t *err) {
  char label[32];
  const double at = place_y(plot, y);
  if (plot->is_time) {
    snprintf(label, sizeof label, "%s", fc_page_time(y).text);
  } else {
    snprintf(label, sizeof label, "%.6g", y);
  }
  return fc_print_to(plot->sink, err,
                     "<path class=grid d='M%.1f %.1fH%.1f'/>"
                     "<text x=%.1f y=%.1f text-anchor=end>%s</text>\n",
                     LEFT, at, WIDTH - RIGHT, LEFT - 6, at + 4, label);
}

static fc_status_t put_marks_log(const fc_plot_t *plot, fc_error_t *err) {
  const double decades = log10(plot->most.y) - log10(plot->least.y);
  const double first = floor(log10(plot->least.y) + 1e-9);
  for (int i = 0; i <= MARKS_MAX; i++) {
    static const double kParts[] = {1, 2, 5};
    for (size_t part = 0; part < (decades > 2 ? 1u : 3u); part++) {
      const double y = pow(10, first + i) * kParts[part];
      if (y < plot->least.y * 0.999 || y > plot->most.y * 1.001) continue;
      FC_TRY(put_mark_y(plot, y, err));
    }
  }
  return FC_OK;
}

fc_status_t fc_plot_begin(fc_plot_t *plot, fc_error_t *err) {
  if (!(plot->most.x > plot->least.x)) plot->most.x = plot->least.x + 1;
  if (!(plot->most.y > plot->least.y)) plot->most.y = plot->least.y + 1;
  const double step = round_step(plot->most.y - plot->least.y);
  if (!plot->log_y) plot->most.y = ceil(plot->most.y / step) * step;
  FC_TRY(fc_print_to(plot->sink, err,
                     "<svg viewBox='0 0 %.0f %.0f' role=img aria-label='%s'>\n"
                     "<text class=title x=%.0f y=16>%s</text>"
                     "<text x=%.1f y=%.1f text-anchor=end>%s</text>\n",
                     WIDTH, HEIGHT, plot->title, LEFT, plot->title,
                     WIDTH - RIGHT, HEIGHT - 6, plot->what_x));
  if (plot->log_y) return put_marks_log(plot, err);
  for (int i = 0; i <= MARKS_MAX; i++) {
    const double y = plot->least.y + step * i;
    if (y > plot->most.y * 1.001) break;
    FC_TRY(put_mark_y(plot, y, err));
  }
  return FC_OK;
}

fc_status_t fc_plot_mark(const fc_plot_t *plot, double x, const char *label,
                         fc_error_t *err) {
  if (x < plot->least.x || x > plot->most.x) return FC_OK;
  const double at = place_x(plot, x);
  return fc_print_to(plot->sink, err,
                     "<path class=grid d='M%.1f %.1fV%.1f'/>"
                     "<text x=%.1f y=%.1f text-anchor=middle>%s</text>\n",
                     at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 16, label);
}

fc_status_t fc_plot_marks(const fc_plot_t *plot, fc_error_t *err) {
  const double step = round_step(plot->most.x - plot->least.x);
  const double first = ceil(plot->least.x / step) * step;
  for (int i = 0; i <= MARKS_MAX; i++) {
    char label[32];
    snprintf(label, sizeof label, "%.6g", first + step * i);
    FC_TRY(fc_plot_mark(plot, first + step * i, label, err));
  }
  return FC_OK;
}

fc_status_t fc_plot_line(const fc_plot_t *plot, size_t index,
                         const fc_plot_point_t *points, size_t count,
                         fc_error_t *err) {
  FC_TRY(fc_print_to(plot->sink, err, "<polyline class=s%zu points='", index));
  for (size_t i = 0; i < count; i++) {
    FC_TRY(fc_print_to(plot->sink, err, "%.1f,%.1f ",
                       place_x(plot, points[i].x), place_y(plot, points[i].y)));
  }
  return fc_print_to(plot->sink, err, "'/>\n");
}

fc_status_t fc_plot_dot(const fc_plot_t *plot, bool filled,
                        fc_plot_point_t point, fc_error_t *err) {
  return fc_print_to(plot->sink, err,
                     "<circle class=%s cx=%.1f cy=%.1f r=5 />\n",
                     filled ? "met" : "missed", place_x(plot, point.x),
                     place_y(plot, point.y));
}

fc_status_t fc_plot_end(const fc_plot_t *plot, fc_error_t *err) {
  return fc_print_to(plot->sink, err, "</svg>\n");
}
