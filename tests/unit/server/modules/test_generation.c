// SPDX-License-Identifier: Apache-2.0
//
// The table of generations alone: which generation has a name, which is held, which may
// end.
#include "modules/generation.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helpers/folder.h"
#include "helpers/generation.h"
#include "helpers/pages.h"
#include "module/mirror.h"

typedef struct table_t {
  fc_generations_t generations;
  fc_generation_t *idle;  // the last generation that nobody holds and may go
  uint32_t idle_count;
} table_t;

static void note_idle(void *context, fc_generation_t *generation,
                      fc_step_action_t action, const fc_error_t *error) {
  table_t *table = context;
  if (!fc_test_act(&table->generations, generation, action, error)) return;
  table->idle = generation;
  table->idle_count++;
}

static void begin(table_t *table, fc_allocator_t allocator) {
  *table = (table_t){.generations = {.allocator = allocator,
                                     .act = note_idle,
                                     .context = table}};
}

static fc_generation_t *enter(table_t *table, const char *path) {
  fc_generation_t *generation = NULL;
  assert_int_equal(fc_generations_enter(&table->generations, fc_str(path), "vm",
                                        &generation, NULL),
                   FC_OK);
  return generation;
}

static fc_generation_t *publish(table_t *table, const char *path) {
  fc_generation_t *generation = enter(table, path);
  assert_int_equal(fc_test_publish(&table->generations, generation, NULL),
                   FC_OK);
  return generation;
}

static fc_generation_t *find(const table_t *table, const char *name) {
  return fc_generations_find(&table->generations, fc_str(name));
}

// ---------------------------------------------------------------------------

static void a_name_has_one_generation_at_a_time(void **state) {
  (void)state;
  table_t table;
  begin(&table, fc_allocator_system());
  fc_generation_t *first = enter(&table, "/a/m.so");
  assert_int_equal(fc_generation_state(first), FC_GENERATION_LOADING);
  assert_ptr_equal(find(&table, "m"), first);
  fc_generation_t *second = enter(&table, "/b/m.vmfb");
  assert_false(second->claim.current);
  assert_ptr_equal(find(&table, "m"), first);
  assert_int_equal(fc_test_publish(&table.generations, first, NULL), FC_OK);
  fc_generation_hold(first);
  assert_int_equal(fc_test_publish(&table.generations, second, NULL), FC_OK);
  assert_ptr_equal(find(&table, "m"), second);
  assert_int_equal(fc_generation_state(first), FC_GENERATION_DRAINING);
  assert_int_equal(table.idle_count, 0);
  fc_generations_release(&table.generations, first);
  assert_int_equal(table.idle_count, 1);
  assert_ptr_equal(table.idle, first);
  fc_generations_remove(&table.generations, first);
  assert_ptr_equal(find(&table, "m"), second);
  assert_int_equal(table.generations.used, 1);
  fc_generations_deinit(&table.generations);
}

static void a_name_leads_to_its_highest_version(void **state) {
  (void)state;
  table_t table;
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_MODULE_LOAD, "it is bad");
  begin(&table, fc_allocator_system());
  fc_generation_t *third = publish(&table, "/a/m/3/model.so");
  fc_generation_t *twelfth = publish(&table, "/a/m/12/model.so");
  fc_generation_t *first = publish(&table, "/a/m.so");
  assert_ptr_equal(find(&table, "m"), twelfth);
  assert_ptr_equal(find(&table, "m@1"), first);
  assert_ptr_equal(find(&table, "m@3"), third);
  assert_null(find(&table, "m@2"));
  // A new version takes over the name once it can be called.
  fc_generation_t *next = enter(&table, "/a/m/20/model.so");
  assert_ptr_equal(find(&table, "m"), twelfth);
  assert_ptr_equal(find(&table, "m@20"), next);
  fc_generations_raise(&table.generations, next, FC_ON_FAILED, &error);
  assert_ptr_equal(find(&table, "m"), twelfth);
  third->claim.preferred = true;
  fc_generations_settle_name(&table.generations, third);
  assert_ptr_equal(find(&table, "m"), third);
  fc_generations_remove(&table.generations, third);
  assert_ptr_equal(find(&table, "m"), twelfth);
  fc_generations_drain(&table.generations, first);
  assert_ptr_equal(find(&table, "m"), twelfth);
  // A newer generation of version 12 replaces the older one.
  fc_generation_t *again = publish(&table, "/a/m/12/model.so");
  assert_ptr_equal(find(&table, "m"), again);
  fc_generations_drain(&table.generations, again);
  assert_ptr_equal(find(&table, "m"), next);
  fc_generations_drain(&table.generations, next);
  assert_null(find(&table, "m"));
  fc_generations_deinit(&table.generations);
}

static void a_failed_one_keeps_its_place_and_reason(void **state) {
  (void)state;
  table_t table;
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_MODULE_LOAD, "it is bad");
  begin(&table, fc_allocator_system());
  fc_generation_t *failed = enter(&table, "m.so");
  fc_generations_raise(&table.generations, failed, FC_ON_FAILED, &error);
  assert_ptr_equal(find(&table, "m"), failed);
  assert_string_equal(failed->error.message, "it is bad");
  // Nobody holds the failed generation, so it is idle at once.
  publish(&table, "m.so");
  assert_ptr_equal(table.idle, failed);
  fc_generations_remove(&table.generations, failed);
  fc_generations_deinit(&table.generations);
}

// A call that was routed to a generation keeps its index. The index must not be reused
// while the generation is being replaced.
static void an_index_is_used_again_only_after_its_generation(void **state) {
  (void)state;
  table_t table;
  begin(&table, fc_allocator_system());
  publish(&table, "a.so");
  fc_generation_t *held = publish(&table, "b.so");
  publish(&table, "c.so");
  fc_generation_hold(held);
  fc_generations_drain(&table.generations, held);
  assert_null(find(&table, "b"));
  assert_int_equal(publish(&table, "d.so")->index, 3);
  assert_ptr_equal(fc_generations_at(&table.generations, 1), held);
  fc_generations_release(&table.generations, held);
  fc_generations_remove(&table.generations, held);
  assert_null(fc_generations_at(&table.generations, 1));
  assert_int_equal(publish(&table, "b.so")->index, 1);
  assert_int_equal(publish(&table, "e.so")->index, 4);
  assert_null(fc_generations_at(&table.generations, 1000));
  fc_generations_deinit(&table.generations);
}

static void what_gives_no_name_is_found_by_its_path(void **state) {
  (void)state;
  table_t table;
  begin(&table, fc_allocator_system());
  fc_generation_t *nameless = enter(&table, "a b.so");
  assert_ptr_equal(find(&table, "a b.so"), nameless);
  assert_null(find(&table, "a b"));
  fc_generations_deinit(&table.generations);
}

static const fc_generation_t *nearest_of(const table_t *table,
                                         const char *wanted,
                                         unsigned *out_compared) {
  fc_nearest_t search = fc_nearest_begin(fc_str(wanted));
  const fc_generation_t *nearest =
      fc_generations_nearest(&table->generations, &search);
  if (out_compared) *out_compared = search.compared;
  return nearest;
}

// Of 10,000 names of the same length, only the neighbours of the wanted name are
// compared.
static void few_of_many_names_are_compared(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *wanted, *nearest;
    unsigned most;
  } rows[] = {
      {"one letter more", "model-05000x", "model-05000", FC_NEAREST_MAX},
      {"one letter less", "model-0500", "model-05000", FC_NEAREST_MAX},
      {"at the end", "model-05001x", "model-05001", FC_NEAREST_MAX},
      // This name sorts after all others, far from the one that was meant.
      {"early", "modle-05000", NULL, FC_NEAREST_MAX},
      {"before the first", "model-0000", "model-00000", FC_NEAREST_MAX},
      {"behind the last", "model-99999", "model-09999", FC_NEAREST_MAX},
      {"the one beside them", "tnsor", "tensor", 1},
      {"of none", "matrix", NULL, 0},
      {"of no length", "", NULL, 0},
  };
  table_t table;
  begin(&table, fc_allocator_system());
  // 7,919 and 10,000 have no common factor, so each name is published once.
  for (uint32_t i = 0; i < 10000; i++) {
    char path[32];
    snprintf(path, sizeof path, "model-%05u.so", i * 7919 % 10000);
    publish(&table, path);
  }
  publish(&table, "tensor.so");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    unsigned compared;
    const fc_generation_t *near = nearest_of(&table, row->wanted, &compared);
    assert_int_equal(near != NULL, row->nearest != NULL);
    if (near) {
      assert_true(fc_str_equal(near->claim.name, fc_str(row->nearest)));
    }
    assert_in_range(compared, 0, row->most);
  }
  // The sorted names change when a generation ends, or when a name leads to another
  // version.
  fc_generation_t *second = publish(&table, "model-05000/2/model.so");
  assert_ptr_equal(nearest_of(&table, "model-05000x", NULL), second);
  fc_generations_drain(&table.generations, second);
  assert_ptr_equal(nearest_of(&table, "model-05000x", NULL),
                   find(&table, "model-05000"));
  fc_generations_drain(&table.generations, find(&table, "model-05000"));
  assert_null(find(&table, "model-05000"));
  assert_non_null(nearest_of(&table, "model-05000x", NULL));
  fc_generations_deinit(&table.generations);
}

static void the_nearest_name_is_a_current_one(void **state) {
  (void)state;
  table_t table;
  begin(&table, fc_allocator_system());
  fc_generation_t *old = publish(&table, "tensor.so");
  fc_generation_hold(old);
  publish(&table, "tensor.so");
  publish(&table, "scalar.so");
  const fc_generation_t *near = nearest_of(&table, "tensr", NULL);
  assert_ptr_equal(near, find(&table, "tensor"));
  assert_ptr_not_equal(near, old);
  assert_null(nearest_of(&table, "matrix", NULL));
  fc_generations_release(&table.generations, old);
  fc_generations_deinit(&table.generations);
}

// ---------------------------------------------------------------------------
// Counts are kept by function index, so a module with other functions must not get
// them.

static fc_module_t *load(const char *functions) {
  static const fc_backend_t *const kKinds[] = {&mirror_backend, NULL};
  fc_module_t *module;
  fc_error_t err;
  fc_test_put("m.mirror", functions);
  if (fc_module_load(kKinds, fc_str(fc_test_in_folder("m.mirror")), NULL,
                     fc_allocator_system(), &module, &err)) {
    fail_msg("%s", err.message);
  }
  return module;
}

#define FUNCTION(name) \
  "{\"name\":\"" name  \
  "\",\"source\":\"inferred\",\"arguments\":[],\"results\":[]}\n"

static void counts_go_on_in_the_same_functions_alone(void **state) {
  (void)state;
  static const struct {
    const char *name, *functions;
    uint64_t counted;
  } rows[] = {
      {"the same", "mirror\n" FUNCTION("a") FUNCTION("bc"), 7},
      {"fewer", "mirror\n" FUNCTION("a"), 0},
      {"more", "mirror\n" FUNCTION("a") FUNCTION("bc") FUNCTION("d"), 0},
      {"others", "mirror\n" FUNCTION("ab") FUNCTION("c"), 0},
      {"in another order", "mirror\n" FUNCTION("bc") FUNCTION("a"), 0},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    table_t table;
    begin(&table, fc_allocator_system());
    fc_generations_t *all = &table.generations;
    all->series.most = 9;
    fc_generation_t *first = enter(&table, "/a/m.mirror");
    fc_generations_set_module(all, first, load(rows[0].functions));
    assert_null(fc_generation_counts(first, 1));
    fc_generations_count(all, first, 1)->succeeded = 7;
    fc_generation_t *second = enter(&table, "/b/m.mirror");
    fc_generations_pass_counts(all, first, second);
    assert_int_equal(all->series.count, 0);
    assert_null(fc_generation_counts(first, 1));
    fc_generations_set_module(all, second, load(row->functions));
    const fc_function_counts_t *counts = fc_generation_counts(second, 1);
    assert_int_equal(counts ? counts->succeeded : 0, row->counted);
    // A function that is new has room for its counts.
    const size_t last = fc_module_function_count(second->module) - 1;
    fc_generations_count(all, second, (uint32_t)last)->failed++;
    fc_generations_deinit(all);
  }
}

// Two lists of names can have the same hash: an array of two functions must not be used
// for three.
static void counts_of_another_size_are_dropped(void **state) {
  (void)state;
  table_t table;
  begin(&table, fc_allocator_system());
  fc_generations_t *all = &table.generations;
  all->series.most = 9;
  fc_generation_t *generation = enter(&table, "/a/m.mirror");
  fc_generations_set_module(all, generation,
                            load("mirror\n" FUNCTION("a") FUNCTION("b")));
  assert_non_null(fc_generations_count(all, generation, 1));
  fc_module_t *more =
      load("mirror\n" FUNCTION("a") FUNCTION("b") FUNCTION("c"));
  generation->count_names = fc_counts_names(more);
  fc_generations_set_module(all, generation, more);
  assert_null(generation->counts);
  assert_non_null(fc_generations_count(all, generation, 2));
  fc_generations_deinit(all);
}

// ---------------------------------------------------------------------------
// Names are hashed: the test fails if any other name is even read.

#define MANY 100

static void one_is_found_without_looking_at_others(void **state) {
  (void)state;
  table_t table;
  fc_generation_t *all[MANY];
  char name[16];
  begin(&table, fc_test_pages());
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "m%02d.so", i);
    all[i] = publish(&table, name);
  }
  for (int wanted = 0; wanted < MANY; wanted += 33) {
    for (int i = 0; i < MANY; i++) {
      fc_test_protect(all[i], i == wanted ? PROT_READ : PROT_NONE);
    }
    snprintf(name, sizeof name, "m%02d", wanted);
    assert_ptr_equal(find(&table, name), all[wanted]);
    assert_null(find(&table, "m"));
    for (int i = 0; i < MANY; i++)
      fc_test_protect(all[i], PROT_READ | PROT_WRITE);
  }
  fc_generations_deinit(&table.generations);
}

static fc_status_t replace_some(fc_allocator_t allocator, void *context,
                                fc_error_t *err) {
  (void)context;
  table_t table;
  char path[16];
  fc_status_t status = FC_OK;
  begin(&table, allocator);
  for (int i = 0; i < 40 && status == FC_OK; i++) {
    fc_generation_t *generation;
    snprintf(path, sizeof path, "m%d.so", i % 20);
    status = fc_generations_enter(&table.generations, fc_str(path), "",
                                  &generation, err);
    if (status != FC_OK) break;
    status = fc_test_publish(&table.generations, generation, err);
  }
  fc_generations_deinit(&table.generations);
  return status;
}

static void a_table_survives_any_failed_allocation(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(replace_some, NULL) > 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_name_has_one_generation_at_a_time),
      FC_TEST(a_name_leads_to_its_highest_version),
      FC_TEST(a_failed_one_keeps_its_place_and_reason),
      FC_TEST(an_index_is_used_again_only_after_its_generation),
      FC_TEST(what_gives_no_name_is_found_by_its_path),
      FC_TEST(few_of_many_names_are_compared),
      FC_TEST(the_nearest_name_is_a_current_one),
      FC_TEST_IN_FOLDER(counts_go_on_in_the_same_functions_alone),
      FC_TEST_IN_FOLDER(counts_of_another_size_are_dropped),
      FC_TEST(one_is_found_without_looking_at_others),
      FC_TEST(a_table_survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
