// SPDX-License-Identifier: Apache-2.0
//
// Which calls get guarded memory. test_hosts.c tests what workers do with slots.
#include "pool/region.h"

#include "helpers/test.h"

static void calls_that_trust_dims_are_guarded(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_guard_policy_t guard;
    bool in_process, memory_safe, dynamic;
    bool wanted;
  } rows[] = {
      {"dims of the caller", FC_GUARD_AUTO, true, false, true, true},
      {"static shapes", FC_GUARD_AUTO, true, false, false, false},
      {"checked", FC_GUARD_AUTO, true, true, true, false},
      {"in a thread", FC_GUARD_AUTO, false, false, true, false},
      {"on", FC_GUARD_ON, false, true, false, true},
      {"off", FC_GUARD_OFF, true, false, true, false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    fc_signature_t *signature = NULL;
    assert_non_null(builder);
    fc_builder_memory_safe(builder, row->memory_safe, row->dynamic);
    assert_int_equal(fc_signature_build(builder, &signature, NULL), FC_OK);
    fc_builder_destroy(builder);
    const fc_region_t region = {.guard = row->guard,
                                .is_process = row->in_process};
    const fc_function_t function = {.signature = signature};
    assert_int_equal(fc_region_wants_guard(&region, &function), row->wanted);
    fc_signature_destroy(signature);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(calls_that_trust_dims_are_guarded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
