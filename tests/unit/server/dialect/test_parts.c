// SPDX-License-Identifier: Apache-2.0
//
// Documents in parts, without a server: modules may come and go between two parts, and
// parts have a limited size. e2e/openapi reads whole documents.
#include "dialect/parts.h"

#include <stdio.h>

#include "config/limits.h"
#include "dialect/oip.h"
#include "dialect/openapi.h"
#include "helpers/generation.h"
#include "helpers/test.h"

#define CORPUS FARCALL_SOURCE_DIR "/tests/corpus/vm/"
#define ONE_FUNCTION FARCALL_SOURCE_DIR "/tests/corpus/iree/state/agreed.vmfb"

typedef struct house_t {
  fc_server_options_t options;
  fc_modules_t modules;
  fc_blocks_t *blocks;
  fc_server_t server;
} house_t;

static void act(void *context, fc_generation_t *generation,
                fc_step_action_t action, const fc_error_t *error) {
  house_t *house = context;
  fc_generations_t *all = &house->modules.generations;
  if (fc_test_act(all, generation, action, error)) {
    fc_generations_remove(all, generation);
  }
}

static void begin(house_t *house) {
  *house = (house_t){
      .server = {.modules = &house->modules, .options = &house->options}};
  fc_server_options_init(&house->options);
  house->modules.generations = (fc_generations_t){
      .allocator = fc_allocator_system(), .act = act, .context = house};
  assert_int_equal(fc_blocks_create(fc_allocator_system(), 64u << 20, 0,
                                    &house->blocks, NULL),
                   FC_OK);
  house->server.blocks = house->blocks;
}

static void end(house_t *house) {
  fc_generations_deinit(&house->modules.generations);
  assert_int_equal(fc_blocks_usage(house->blocks).taken, 0);
  fc_blocks_destroy(house->blocks);
}

static fc_generation_t *publish(house_t *house, const char *name) {
  char path[64];
  fc_generation_t *generation;
  snprintf(path, sizeof path, "/%s.vmfb", name);
  assert_int_equal(fc_generations_enter(&house->modules.generations,
                                        fc_str(path), "vm", &generation, NULL),
                   FC_OK);
  assert_int_equal(
      fc_test_publish(&house->modules.generations, generation, NULL), FC_OK);
  return generation;
}

// ---------------------------------------------------------------------------
// A form of document: the serial numbers of modules

static uint32_t filling;  // bytes that each entry is longer

static fc_status_t put_begin(const fc_server_t *server, fc_sink_t *sink,
                             fc_error_t *err) {
  (void)server;
  return fc_sink_put(sink, FC_STR("<"), err);
}

static fc_status_t put_module(fc_parts_t *parts,
                              const fc_generation_t *generation,
                              fc_sink_t *sink, fc_error_t *err) {
  char serial[24];
  const int size = snprintf(serial, sizeof serial, "%llu",
                            (unsigned long long)generation->serial);
  FC_TRY(fc_parts_comma(parts, sink, err));
  FC_TRY(fc_sink_put(sink, fc_str_make(serial, (size_t)size), err));
  for (uint32_t i = 0; i < filling; i++) {
    FC_TRY(fc_sink_put(sink, FC_STR("."), err));
  }
  return FC_OK;
}

static const fc_parts_form_t kForm = {
    .begin = put_begin, .module = put_module, .end = ">"};

static fc_status_t put_pass(fc_parts_t *parts, bool *out_more, fc_sink_t *sink,
                            fc_error_t *err) {
  const char text[] = {'/', (char)('0' + parts->pass)};
  parts->any = false;
  *out_more = parts->pass < 2;
  return fc_sink_put(sink, fc_str_make(text, sizeof text), err);
}

static const fc_parts_form_t kTwice = {
    .begin = put_begin, .pass = put_pass, .module = put_module, .end = ">"};
static const fc_parts_form_t kAll = {.with_draining = true,
                                     .begin = put_begin,
                                     .module = put_module,
                                     .end = ">"};

static fc_parts_t *create(house_t *house, const fc_parts_form_t *form) {
  fc_parts_t *parts;
  filling = 0;
  assert_int_equal(fc_parts_create(&house->server, form, 0, &parts, NULL),
                   FC_OK);
  return parts;
}

static void open_sink(house_t *house, fc_block_sink_t *out) {
  uint32_t block;
  assert_int_equal(fc_block_take(house->blocks, 64, &block, NULL), FC_OK);
  fc_block_sink_init(out, house->blocks, block, 0, UINT32_MAX);
}

// Compares what was written, without the filling.
static void compare(const house_t *house, const fc_block_sink_t *out,
                    const char *wanted) {
  char found[256];
  size_t size = 0;
  for (uint32_t i = 0; i < out->count; i++) {
    const uint8_t *data = fc_block_data(house->blocks, out->pieces[i].block);
    for (uint64_t k = 0; k < out->pieces[i].size; k++) {
      if (data[k] != '.' && size < sizeof found - 1) {
        found[size++] = (char)data[k];
      }
    }
  }
  found[size] = '\0';
  assert_string_equal(found, wanted);
}

// Writes the remaining parts and compares the whole. Returns how many parts these were.
static unsigned finish(house_t *house, fc_parts_t *parts, fc_block_sink_t *out,
                       const char *wanted) {
  unsigned count = 0;
  for (bool more = true; more; count++) {
    assert_int_equal(fc_parts_write(parts, out, &more, NULL), FC_OK);
  }
  (void)fc_block_sink_finish(out);
  if (wanted) compare(house, out, wanted);
  fc_block_sink_drop(out);
  fc_parts_destroy(parts);
  return count;
}

static unsigned expect(house_t *house, fc_parts_t *parts, const char *wanted) {
  fc_block_sink_t out;
  open_sink(house, &out);
  return finish(house, parts, &out, wanted);
}

// Writes the first part, which has only the first entry.
static void write_first(house_t *house, fc_parts_t *parts,
                        fc_block_sink_t *out) {
  bool more;
  open_sink(house, out);
  filling = FC_LIMIT_PART;
  assert_int_equal(fc_parts_write(parts, out, &more, NULL), FC_OK);
  assert_true(more);
  filling = 0;
}

// ---------------------------------------------------------------------------

static void what_is_there_is_written_once(void **state) {
  (void)state;
  house_t house;
  begin(&house);
  assert_int_equal(expect(&house, create(&house, &kForm), "<>"), 1);
  (void)publish(&house, "a");
  (void)publish(&house, "b");
  assert_int_equal(expect(&house, create(&house, &kForm), "<1,2>"), 1);
  end(&house);
}

static void modules_may_be_gone_through_again(void **state) {
  (void)state;
  house_t house;
  begin(&house);
  assert_int_equal(expect(&house, create(&house, &kTwice), "</0/1/2>"), 1);
  (void)publish(&house, "a");
  (void)publish(&house, "b");
  assert_int_equal(expect(&house, create(&house, &kTwice), "</01,2/11,2/2>"),
                   1);
  end(&house);
}

static void what_comes_and_goes_meanwhile(void **state) {
  (void)state;
  house_t house;
  begin(&house);
  fc_block_sink_t some, all;
  (void)publish(&house, "z");
  fc_generation_t *held = publish(&house, "a");
  fc_generation_t *gone = publish(&house, "b");
  (void)publish(&house, "c");
  fc_generation_hold(held);
  fc_parts_t *current = create(&house, &kForm);
  fc_parts_t *draining = create(&house, &kAll);
  write_first(&house, current, &some);
  write_first(&house, draining, &all);
  (void)publish(&house, "a");  // 5: the held one drains
  fc_generations_drain(&house.modules.generations, gone);
  (void)publish(&house, "d");  // 6, where b was
  (void)finish(&house, current, &some, "<1,5,4>");
  (void)finish(&house, draining, &all, "<1,5,4>");
  fc_generations_release(&house.modules.generations, held);
  end(&house);
}

// ---------------------------------------------------------------------------
// Documents with an entry for each function

static fc_status_t put_index(fc_parts_t *parts,
                             const fc_generation_t *generation, size_t index,
                             fc_sink_t *sink, fc_error_t *err) {
  const fc_str_t name = fc_module_function(parts->module, index)->name;
  (void)generation;
  FC_TRY(fc_parts_comma(parts, sink, err));
  for (uint32_t i = 0; i < filling; i++) {
    FC_TRY(fc_sink_put(sink, FC_STR("."), err));
  }
  return fc_sink_put(sink, name, err);
}

static const fc_parts_form_t kFunctions = {
    .begin = put_begin, .function = put_index, .end = ">"};

// Writes the name of a generation that has no module, and the functions of others.
static fc_status_t put_either(fc_parts_t *parts,
                              const fc_generation_t *generation,
                              fc_sink_t *sink, fc_error_t *err) {
  if (!generation->module) return put_module(parts, generation, sink, err);
  fc_parts_hold(parts, generation);
  return FC_OK;
}

static const fc_parts_form_t kEither = {.begin = put_begin,
                                        .module = put_either,
                                        .function = put_index,
                                        .end = ">"};

static const fc_parts_form_t kNested = {.begin = put_begin,
                                        .module = put_either,
                                        .function = put_index,
                                        .module_end = ";",
                                        .end = ">"};

static fc_module_t *load(const char *file) {
  fc_module_t *module;
  assert_int_equal(fc_module_load(fc_backends, fc_str(file), NULL,
                                  fc_allocator_system(), &module, NULL),
                   FC_OK);
  return module;
}

static void functions_stand_beside_modules_or_within(void **state) {
  (void)state;
  static const struct {
    const fc_parts_form_t *form;
    const char *wanted;
  } rows[] = {{&kEither, "<1,next,3>"}, {&kNested, "<1next;,3>"}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    house_t house;
    begin(&house);
    (void)publish(&house, "a");
    publish(&house, "b")->module = load(ONE_FUNCTION);
    (void)publish(&house, "c");
    (void)expect(&house, create(&house, rows[i].form), rows[i].wanted);
    end(&house);
  }
}

// A module that is only described may be described again, or dropped, between two
// parts. Its entries are still completed as they were begun.
static void a_module_that_changes_is_written_as_it_began(void **state) {
  (void)state;
  static const char *const kNewer[] = {CORPUS "ops.vmfb", NULL};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNewer); i++) {
    house_t house;
    fc_block_sink_t out;
    begin(&house);
    fc_generation_t *generation = publish(&house, "a");
    generation->module = load(CORPUS "endless.vmfb");
    fc_parts_t *parts = create(&house, &kFunctions);
    write_first(&house, parts, &out);
    fc_module_release(generation->module);
    generation->module = kNewer[i] ? load(kNewer[i]) : NULL;
    (void)finish(&house, parts, &out,
                 "<branch,branches,calls,nested,native,nativevariadic,"
                 "nativeyieldable,listelements,listnew,listreserve,listresize,"
                 "listnested,bufferelements,buffernew,bufferbytes>");
    end(&house);
  }
}

static fc_status_t put_last(const fc_server_t *server,
                            const fc_generation_t *generation, fc_sink_t *sink,
                            fc_error_t *err) {
  (void)server;
  FC_TRY(fc_sink_put(sink, FC_STR("|"), err));
  return fc_sink_put(sink, generation->claim.name, err);
}

// A document about one module that is replaced and dropped between two parts.
static void one_module_is_written_as_it_began(void **state) {
  (void)state;
  static const fc_parts_form_t kOf = {
      .function = put_index, .last = put_last, .end = ">"};
  house_t house;
  fc_block_sink_t out;
  fc_parts_t *parts;
  bool more;
  begin(&house);
  (void)publish(&house, "z");
  fc_generation_t *generation = publish(&house, "a");
  generation->module = load(CORPUS "endless.vmfb");
  assert_int_equal(
      fc_parts_create_of(&house.server, &kOf, 0, generation, &parts, NULL),
      FC_OK);
  open_sink(&house, &out);
  filling = FC_LIMIT_PART;
  assert_int_equal(fc_parts_write(parts, &out, &more, NULL), FC_OK);
  assert_true(more);
  filling = 0;
  fc_module_release(generation->module);
  generation->module = NULL;
  (void)publish(&house, "a");  // the first one drains
  assert_true(finish(&house, parts, &out,
                     "branch,branches,calls,nested,native,nativevariadic,"
                     "nativeyieldable,listelements,listnew,listreserve,"
                     "listresize,listnested,bufferelements,buffernew,"
                     "bufferbytes|a>") == 1);
  end(&house);
}

// A module may have ten thousand functions, each of which is listed as a model.
static void lists_of_models_come_in_parts(void **state) {
  (void)state;
  static const struct {
    fc_route_t route;
    const char *wanted;  // of no modules
  } rows[] = {{FC_ROUTE_OIP_MODELS, "{\"models\":[]}"},
              {FC_ROUTE_OIP_ALL_STATS, "{\"model_stats\":[]}"},
              {FC_ROUTE_OIP_INDEX, "[]"}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    house_t house;
    fc_block_sink_t out;
    fc_document_t document;
    const fc_request_t request = {.body = FC_STR("")};
    const fc_place_t place = {.route = rows[i].route,
                              .module = FC_ROUTE_NO_INDEX,
                              .function = FC_ROUTE_NO_INDEX};
    begin(&house);
    open_sink(&house, &out);
    assert_int_equal(fc_oip_document(&house.server, &request, &place, &document,
                                     &out.sink, NULL),
                     FC_OK);
    assert_non_null(document.parts);
    (void)finish(&house, document.parts, &out, rows[i].wanted);
    end(&house);
  }
}

// ---------------------------------------------------------------------------
// OpenAPI: components first, then the paths that refer to them

// Writes a part and appends it to `text`. False: it was the last part.
static bool add_part(house_t *house, fc_parts_t *parts, fc_text_t *text) {
  fc_block_sink_t out;
  bool more;
  open_sink(house, &out);
  assert_int_equal(fc_parts_write(parts, &out, &more, NULL), FC_OK);
  (void)fc_block_sink_finish(&out);
  for (uint32_t i = 0; text && i < out.count; i++) {
    const uint8_t *data = fc_block_data(house->blocks, out.pieces[i].block);
    assert_int_equal(
        fc_sink_put(&text->sink,
                    fc_str_make((const char *)data, out.pieces[i].size), NULL),
        FC_OK);
  }
  fc_block_sink_drop(&out);
  return more;
}

// Publishes m0, m1, …, all with the same module.
static void publish_many(house_t *house, unsigned count) {
  fc_module_t *module = load(ONE_FUNCTION);
  for (unsigned i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "m%u", i);
    publish(house, name)->module = fc_module_retain(module);
  }
  fc_module_release(module);
}

static void many_modules_take_no_memory(void **state) {
  (void)state;
  enum { MODULES = 10000, MOST = 2 << 20 };
  house_t house;
  begin(&house);
  publish_many(&house, MODULES);
  fc_parts_t *parts = create(&house, &fc_openapi_form);
  unsigned count = 1;
  uint64_t most = 0;
  while (add_part(&house, parts, NULL)) {
    const uint64_t taken = fc_blocks_usage(house.blocks).taken;
    if (taken > most) most = taken;
    count++;
  }
  assert_true(count > MODULES / 50);
  if (most > MOST) fail_msg("it takes %llu bytes", (unsigned long long)most);
  fc_parts_destroy(parts);
  end(&house);
}

static bool has(const fc_text_t *text, const char *word) {
  const fc_str_t all = fc_text_str(text);
  return memmem(all.data, all.size, word, strlen(word)) != NULL;
}

// A path must refer only to components that were written. A module that was replaced,
// described again or loaded between the two gets no path.
static void paths_have_their_components(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool components, path;
  } rows[] = {{"replaced", true, false},
              {"anew", true, false},
              {"loaded", false, false},
              {"same", true, true}};
  house_t house;
  fc_text_t text;
  begin(&house);
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  publish(&house, "replaced")->module = load(ONE_FUNCTION);
  fc_generation_t *anew = publish(&house, "anew");
  anew->module = load(ONE_FUNCTION);
  fc_generation_t *loaded = publish(&house, "loaded");
  publish(&house, "same")->module = load(ONE_FUNCTION);
  publish_many(&house, 100);
  fc_parts_t *parts = create(&house, &fc_openapi_form);
  assert_true(add_part(&house, parts, &text));
  assert_true(parts->at > FC_ARRAY_COUNT(rows) && parts->pass == 0);
  publish(&house, "replaced")->module = load(ONE_FUNCTION);
  fc_module_t *old = anew->module;
  anew->module = load(ONE_FUNCTION);
  fc_module_release(old);
  loaded->module = load(ONE_FUNCTION);
  while (add_part(&house, parts, &text)) continue;
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    char word[64];
    fc_test_row(rows[i].name);
    snprintf(word, sizeof word, "\"%s.next.call\":", rows[i].name);
    assert_int_equal(has(&text, word), rows[i].components);
    snprintf(word, sizeof word, "/functions/%s/next\":", rows[i].name);
    assert_int_equal(has(&text, word), rows[i].path);
  }
  fc_test_row(NULL);
  fc_parts_destroy(parts);
  fc_text_deinit(&text);
  end(&house);
}

// ---------------------------------------------------------------------------

static void a_part_is_bounded(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned modules;
    uint32_t filling;
    unsigned parts;
  } rows[] = {
      {"few long entries", 10, FC_LIMIT_PART / 2, 6},
      {"many modules", FC_LIMIT_PART_LOOKS + 1, 0, 3},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    house_t house;
    begin(&house);
    for (unsigned k = 0; k < rows[i].modules; k++) {
      char name[16];
      snprintf(name, sizeof name, "m%u", k);
      (void)publish(&house, name);
    }
    fc_parts_t *parts = create(&house, &kForm);
    filling = rows[i].filling;
    assert_int_equal(expect(&house, parts, NULL), rows[i].parts);
    end(&house);
  }
  fc_test_row(NULL);
}

static fc_status_t write_one(house_t *house, fc_error_t *err) {
  fc_parts_t *parts = NULL;
  fc_block_sink_t out;
  bool more;
  FC_TRY(fc_parts_create(&house->server, &kForm, 0, &parts, err));
  open_sink(house, &out);
  const fc_status_t wrote = fc_parts_write(parts, &out, &more, err);
  fc_block_sink_drop(&out);
  fc_parts_destroy(parts);
  return wrote;
}

// The list of modules, and entries that are put aside, are in blocks.
static fc_status_t attempt_create(fc_allocator_t allocator, void *context,
                                  fc_error_t *err) {
  house_t *house = context;
  fc_blocks_t *blocks;
  FC_TRY(fc_blocks_create(allocator, 64u << 20, 0, &blocks, err));
  house->server.blocks = blocks;
  house->modules.generations.allocator = allocator;
  const fc_status_t status = write_one(house, err);
  house->modules.generations.allocator = fc_allocator_system();
  house->server.blocks = house->blocks;
  fc_blocks_destroy(blocks);
  return status;
}

static void it_survives_every_failing_allocation(void **state) {
  (void)state;
  house_t house;
  begin(&house);
  (void)publish(&house, "a");
  assert_true(fc_test_allocation_sweep(attempt_create, &house) >= 4);
  end(&house);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(what_is_there_is_written_once),
      FC_TEST(modules_may_be_gone_through_again),
      FC_TEST(what_comes_and_goes_meanwhile),
      FC_TEST(functions_stand_beside_modules_or_within),
      FC_TEST(a_module_that_changes_is_written_as_it_began),
      FC_TEST(one_module_is_written_as_it_began),
      FC_TEST(lists_of_models_come_in_parts),
      FC_TEST(many_modules_take_no_memory),
      FC_TEST(paths_have_their_components),
      FC_TEST(a_part_is_bounded),
      FC_TEST(it_survives_every_failing_allocation),
  };
  return fc_test_exit(cmocka_run_group_tests(tests, NULL, NULL));
}
