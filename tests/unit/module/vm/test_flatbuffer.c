// SPDX-License-Identifier: Apache-2.0
//
// Fields of a table, written by hand from flatbuffers' document "Internals": where a
// field is, and that no field may extend past the end of its table.
#include "module/vm/flatbuffer.h"

#include "helpers/test.h"

// The root's offset (4 bytes); "IREE"; a vtable with one slot (6) and padding (2); the
// table, 8 bytes: the distance back to the vtable, and a field; then four bytes that do
// not belong to the table.
#define TABLE 16
#define FIELD (TABLE + 4)

static fc_fb_t make(uint8_t bytes[static 28], uint16_t table_size,
                    uint16_t field) {
  static const uint8_t model[28] = {
      TABLE, 0, 0, 0, 'I', 'R', 'E', 'E', 6, 0, 8, 0, 4, 0,
      0,     0, 8, 0, 0,   0,   1,   2,   3, 4, 5, 6, 7, 8,
  };
  memcpy(bytes, model, sizeof model);
  bytes[10] = (uint8_t)table_size;
  bytes[12] = (uint8_t)field;
  return (fc_fb_t){bytes, sizeof model, NULL};
}

static const struct {
  const char *name;
  uint16_t table_size, field;
  int64_t u8, u32, u64;  // -1: it is outside
} fields[] = {
    {"absent", 8, 0, 9, 9, 9},
    {"the last bytes", 8, 4, 1, 0x04030201, -1},
    {"half outside", 8, 6, 3, -1, -1},
    {"all but one outside", 8, 7, 4, -1, -1},
    {"behind", 8, 8, -1, -1, -1},
    {"far behind", 8, 200, -1, -1, -1},
    {"over the distance to the vtable", 8, 3, -1, -1, -1},
    {"in a table cut short", 6, 4, 1, -1, -1},
    {"in a longer one", 12, 4, 1, 0x04030201, 0x0807060504030201},
};

static void fields_lie_in_their_table(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(fields[0]), row, fields) {
    uint8_t bytes[28];
    fc_fb_t buffer = make(bytes, row->table_size, row->field);
    fc_fb_table_t table;
    fc_error_t err;
    assert_int_equal(fc_fb_root(buffer, &table, &err), FC_OK);
    uint8_t u8 = 0;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    assert_int_equal(fc_fb_u8(&table, 0, "f", 9, &u8, &err) == FC_OK,
                     row->u8 >= 0);
    if (row->u8 >= 0) assert_int_equal(u8, row->u8);
    assert_int_equal(fc_fb_u32(&table, 0, "f", 9, &u32, &err) == FC_OK,
                     row->u32 >= 0);
    if (row->u32 >= 0) assert_int_equal(u32, row->u32);
    fc_status_t status = fc_fb_u64(&table, 0, "f", 9, &u64, &err);
    assert_int_equal(status == FC_OK, row->u64 >= 0);
    if (row->u64 >= 0) assert_int_equal(u64, row->u64);
    else assert_int_equal(err.code, FC_CODE_VMFB_INVALID);
    // A slot past the vtable's end means that the field is absent.
    assert_int_equal(fc_fb_u32(&table, 1, "g", 7, &u32, &err), FC_OK);
    assert_int_equal(u32, 7);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(fields_lie_in_their_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
