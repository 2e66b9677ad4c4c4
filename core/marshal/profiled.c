// SPDX-License-Identifier: Apache-2.0
//
// The text of a profile. The name of a row is UTF-8: base/profile.c cuts a name where it
// stops being that.
#include "marshal/profiled.h"

#include "json/writer.h"

static fc_status_t put_number(fc_sink_t *sink, const char *lead, uint64_t value,
                              fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, fc_str(lead), err));
  return fc_json_write_u64(sink, value, err);
}

// The grid is the workgroups in x, y and z.
static fc_status_t put_dispatch(const fc_profile_row_t *row, fc_sink_t *sink,
                                fc_error_t *err) {
  FC_TRY(put_number(sink, ",\"grid\":[", row->grid[0], err));
  FC_TRY(put_number(sink, ",", row->grid[1], err));
  FC_TRY(put_number(sink, ",", row->grid[2], err));
  return put_number(sink, "],\"bytes\":", row->bytes, err);
}

static fc_status_t put_row(const fc_profile_row_t *row, uint64_t total_ns,
                           fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, FC_STR("{\"kind\":\""), err));
  FC_TRY(fc_sink_put(sink, fc_str(fc_profile_kind_name(row->kind)), err));
  FC_TRY(fc_sink_put(sink, FC_STR("\",\"name\":"), err));
  FC_TRY(
      fc_json_write_string(sink, fc_str_make(row->name, row->name_size), err));
  if (row->kind != FC_PROFILE_CALL) {
    FC_TRY(put_number(sink, ",\"parent\":", row->parent, err));
  }
  FC_TRY(put_number(sink, ",\"count\":", row->count, err));
  FC_TRY(put_number(sink, ",\"ns\":", total_ns, err));
  FC_TRY(put_number(sink, ",\"self_ns\":", row->self_ns, err));
  if (row->kind == FC_PROFILE_DISPATCH) FC_TRY(put_dispatch(row, sink, err));
  return fc_sink_put(sink, FC_STR("}"), err);
}

fc_status_t fc_profile_write(const fc_profile_t *profile, fc_sink_t *sink,
                             fc_error_t *err) {
  uint64_t totals[FC_PROFILE_ROWS];
  fc_profile_totals(profile, totals);
  FC_TRY(put_number(sink, "{\"ns\":", totals[0], err));
  FC_TRY(put_number(sink, ",\"dropped\":", profile->dropped, err));
  FC_TRY(fc_sink_put(sink, FC_STR(",\"rows\":["), err));
  for (uint32_t i = 0; i < profile->row_count; i++) {
    if (i) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
    FC_TRY(put_row(&profile->rows[i], totals[i], sink, err));
  }
  return fc_sink_put(sink, FC_STR("]}"), err);
}
