// SPDX-License-Identifier: Apache-2.0
//
// Writes a profile as JSON. The name of a row is UTF-8: base/profile.c cuts a name
// at the first byte that is not.
#include "marshal/profiled.h"

#include "json/writer.h"

static fc_status_t put_row(const fc_profile_row_t *row, uint64_t total_ns,
                           fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "{'kind':'%s','name':'%.*s'",
                       fc_profile_kind_name(row->kind), (int)row->name_size,
                       row->name));
  if (row->kind != FC_PROFILE_CALL) {
    FC_TRY(fc_json_print(sink, err, ",'parent':%u", row->parent));
  }
  FC_TRY(fc_json_print(sink, err, ",'count':%lu,'ns':%lu,'self_ns':%lu",
                       row->count, total_ns, row->self_ns));
  // The grid is the number of workgroups in x, y and z.
  if (row->kind == FC_PROFILE_DISPATCH) {
    FC_TRY(fc_json_print(sink, err, ",'grid':[%u,%u,%u],'bytes':%lu",
                         row->grid[0], row->grid[1], row->grid[2], row->bytes));
  }
  return fc_sink_put(sink, FC_STR("}"), err);
}

fc_status_t fc_profile_write(const fc_profile_t *profile, fc_sink_t *sink,
                             fc_error_t *err) {
  uint64_t totals[FC_PROFILE_ROWS];
  fc_profile_totals(profile, totals);
  FC_TRY(fc_json_print(sink, err, "{'ns':%lu,'dropped':%lu,'rows':[", totals[0],
                       profile->dropped));
  for (uint32_t i = 0; i < profile->row_count; i++) {
    if (i) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
    FC_TRY(put_row(&profile->rows[i], totals[i], sink, err));
  }
  return fc_sink_put(sink, FC_STR("]}"), err);
}
