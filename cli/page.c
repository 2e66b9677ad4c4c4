// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include "file.h"

static const char kHead[] =
    "<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
    "<meta name=viewport content='width=device-width'>\n";

static const char kStyle[] =
    "<style>\n"
    ":root{color-scheme:light dark;background:Canvas;--a:#0b62c4;--b:#c2410c;--line:#8884}\n"
    "@media(prefers-color-scheme:dark){:root{--a:#6cb2ff;--b:#ff9f5a}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;"
    "padding:0 1rem}\n"
    "table{border-collapse:collapse}th,td{padding:.2rem .8rem .2rem 0;"
    "text-align:right}th:first-child{text-align:left}\n"
    "svg{width:100%;margin:1rem 0}svg text{font-size:12px;fill:currentColor}\n"
    "svg .title{font-weight:600;font-size:14px}.grid{stroke:var(--line)}\n"
    "polyline{fill:none;stroke-width:2}.s0{stroke:var(--a)}.s1{stroke:var(--b);"
    "stroke-dasharray:6 3}\n"
    ".k0{color:var(--a)}.k1{color:var(--b)}.met{fill:var(--a)}"
    ".missed{fill:none;stroke:var(--b);stroke-width:2}\n</style>\n"
    "<main>\n";

fc_status_t fc_page_begin(fc_sink_t *sink, const char *title, fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, fc_str(kHead), err));
  FC_TRY(fc_print_to(sink, err, "<title>%s</title>\n", title));
  return fc_sink_put(sink, fc_str(kStyle), err);
}

fc_status_t fc_page_text(fc_sink_t *sink, fc_str_t text, fc_error_t *err) {
  for (size_t i = 0; i < text.size; i++) {
    const char c = text.data[i];
    const fc_str_t safe = c == '<'   ? FC_STR("&lt;")
                          : c == '>' ? FC_STR("&gt;")
                          : c == '&' ? FC_STR("&amp;")
                                     : fc_str_make(&text.data[i], 1);
    FC_TRY(fc_sink_put(sink, safe, err));
  }
  return FC_OK;
}

fc_page_time_t fc_page_time(double ns) {
  fc_page_time_t time;
  const double us = ns / 1e3, ms = ns / 1e6, s = ns / 1e9;
  // From 999.5 on, %.3g rounds to "1e+03".
  if (us < 999.5) snprintf(time.text, sizeof time.text, "%.3g us", us);
  else if (ms < 999.5) snprintf(time.text, sizeof time.text, "%.3g ms", ms);
  else if (s < 999.5) snprintf(time.text, sizeof time.text, "%.3g s", s);
  else snprintf(time.text, sizeof time.text, "%.0f s", s);
  return time;
}
