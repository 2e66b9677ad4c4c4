// SPDX-License-Identifier: Apache-2.0
//
// The table of owners, compared with a plain array through many charges and releases in
// random order.
#include "pool/owner.h"

#include "helpers/test.h"

#define OWNERS 300u
#define HOLDINGS 2000u

static fc_owner_t name(uint32_t number) {
  fc_owner_t owner = {0};
  memcpy(owner.bytes + (number % 13), &number, sizeof number);
  return owner;
}

typedef struct holding_t {
  uint32_t owner;
  uint32_t index;
  uint64_t bytes;
} holding_t;

static void each_holds_what_it_was_charged(void **state) {
  (void)state;
  fc_owners_t owners = {.allocator = fc_allocator_system()};
  static uint64_t held[OWNERS];
  static holding_t holdings[HOLDINGS];
  uint32_t count = 0, random = 1;
  for (uint32_t step = 0; step < 100000; step++) {
    random = random * 1664525 + 1013904223;
    uint32_t pick = random >> 8;
    // Alternates: mostly charges until the array of holdings is full, then mostly
    // releases.
    bool more = step / HOLDINGS % 2 == 0 ? pick % 8 != 0 : pick % 8 == 0;
    if (count == 0 || (more && count < HOLDINGS)) {
      holding_t *holding = &holdings[count++];
      *holding = (holding_t){.owner = pick % OWNERS, .bytes = pick % 1000 + 1};
      fc_owner_t owner = name(holding->owner);
      holding->index = fc_owners_charge(&owners, &owner, holding->bytes);
      assert_int_not_equal(holding->index, FC_OWNER_NONE);
      held[holding->owner] += holding->bytes;
    } else {
      holding_t *holding = &holdings[pick % count];
      held[holding->owner] -= holding->bytes;
      fc_owners_release(&owners, holding->index, holding->bytes);
      *holding = holdings[--count];
    }
    fc_owner_t owner = name(pick % OWNERS);
    assert_int_equal(fc_owners_held(&owners, &owner), held[pick % OWNERS]);
  }
  while (count--) {
    fc_owners_release(&owners, holdings[count].index, holdings[count].bytes);
  }
  assert_int_equal(owners.count, 0);
  // An owner is in the table only while it holds something. So the table's size depends
  // on how many owners held something at the same time.
  assert_true(owners.capacity <= 512);
  fc_owners_release(&owners, FC_OWNER_NONE, 1);
  fc_owners_deinit(&owners);
}

static void every_byte_of_a_name_counts(void **state) {
  (void)state;
  fc_owners_t owners = {.allocator = fc_allocator_system()};
  fc_owner_t zero = {0};
  (void)fc_owners_charge(&owners, &zero, 7);
  for (size_t i = 0; i < sizeof zero.bytes; i++) {
    fc_owner_t other = {0};
    other.bytes[i] = 1;
    assert_int_equal(fc_owners_held(&owners, &other), 0);
  }
  assert_int_equal(fc_owners_held(&owners, &zero), 7);
  fc_owners_deinit(&owners);
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  (void)context;
  fc_owners_t owners = {.allocator = allocator};
  fc_status_t status = FC_OK;
  for (uint32_t i = 0; i < 40 && status == FC_OK; i++) {
    fc_owner_t owner = name(i);
    if (fc_owners_charge(&owners, &owner, 1) == FC_OWNER_NONE) {
      status = fc_fail_memory(err);
      // The owners before this one are unchanged.
      for (uint32_t k = 0; k < i; k++) {
        owner = name(k);
        assert_int_equal(fc_owners_held(&owners, &owner), 1);
      }
    }
  }
  fc_owners_deinit(&owners);
  return status;
}

static void a_count_can_be_handed_on(void **state) {
  (void)state;
  fc_owners_t owners = {.allocator = fc_allocator_system()};
  const fc_owner_t owner = name(1);
  fc_owner_count_t first, second;
  assert_true(fc_owners_count(&owners, &owner, &first));
  assert_true(fc_owners_count(&owners, &owner, &second));
  assert_int_equal(fc_owners_held(&owners, &owner), 2);
  fc_owner_count_t taken = fc_owner_count_take(&first);
  fc_owners_uncount(&owners, &first);  // it counts nothing any more
  assert_int_equal(fc_owners_held(&owners, &owner), 2);
  fc_owners_uncount(&owners, &taken);
  assert_int_equal(fc_owners_held(&owners, &owner), 1);
  fc_owners_uncount(&owners, &second);
  assert_int_equal(owners.count, 0);
  fc_owners_deinit(&owners);
}

static void running_out_of_memory_changes_nothing(void **state) {
  (void)state;
  // The allocations: two arrays each for 16, 32 and 64 owners.
  assert_int_equal(fc_test_allocation_sweep(attempt, NULL), 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(each_holds_what_it_was_charged),
      FC_TEST(every_byte_of_a_name_counts),
      FC_TEST(a_count_can_be_handed_on),
      FC_TEST(running_out_of_memory_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
