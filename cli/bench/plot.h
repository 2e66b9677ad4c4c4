// SPDX-License-Identifier: Apache-2.0
//
// Plots as inline SVG: axes with marks, lines and dots. The page's style sheet has the
// colours, as classes.
#ifndef FARCALL_CLI_BENCH_PLOT_H_
#define FARCALL_CLI_BENCH_PLOT_H_

#include "farcall/base.h"

typedef struct fc_plot_point_t {
  double x;
  double y;
} fc_plot_point_t;

typedef struct fc_plot_t {
  const char *title;
  const char *what_x;
  fc_plot_point_t least;
  fc_plot_point_t most;
  bool log_y;    // `least.y` is above 0
  bool is_time;  // y is ns
  fc_sink_t *sink;
} fc_plot_t;

// Widens the range of the plot so that the points are in it.
void fc_plot_include(fc_plot_t *plot, const fc_plot_point_t *points,
                     size_t count);

// Begins the SVG: frame, title and the marks of the y axis. Rounds the range of y.
fc_status_t fc_plot_begin(fc_plot_t *plot, fc_error_t *err);
// Adds a mark to the x axis.
fc_status_t fc_plot_mark(const fc_plot_t *plot, double x, const char *label,
                         fc_error_t *err);
// Adds marks at round numbers to the x axis.
fc_status_t fc_plot_marks(const fc_plot_t *plot, fc_error_t *err);
// Draws the line of series `index`. The index selects the colour.
fc_status_t fc_plot_line(const fc_plot_t *plot, size_t index,
                         const fc_plot_point_t *points, size_t count,
                         fc_error_t *err);
fc_status_t fc_plot_dot(const fc_plot_t *plot, bool filled,
                        fc_plot_point_t point, fc_error_t *err);
fc_status_t fc_plot_end(const fc_plot_t *plot, fc_error_t *err);

#endif  // FARCALL_CLI_BENCH_PLOT_H_
