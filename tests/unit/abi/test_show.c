// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/sidecar.h"
#include "helpers/test.h"

static fc_sidecar_t *parse(const char *show, fc_error_t *err) {
  char json[1024];
  fc_sidecar_t *sidecar = NULL;
  snprintf(json, sizeof json,
           "{\"farcall\":1,\"functions\":[{\"name\":\"f\",\"cc\":\"ciface\","
           "\"symbol\":\"s\",\"args\":[],\"results\":[{\"type\":\"i32\"}],"
           "\"show\":%s}]}",
           show);
  fc_error_reset(err);
  const fc_status_t status =
      fc_sidecar_parse(fc_str(json), FC_SOURCE_SIDECAR, NULL,
                       fc_allocator_system(), &sidecar, err);
  assert_int_equal(status == FC_OK, sidecar != NULL);
  return sidecar;
}

static void what_is_right_becomes_an_attribute(void **state) {
  (void)state;
  static const struct {
    const char *name, *show, *attribute;
  } rows[] = {
      {"labels", "[ {\"at\": \"/0\", \"labels\": [\"cat\", \"d\\u00f6g\"]} ]",
       "[{\"at\":\"/0\",\"labels\":[\"cat\",\"d\xc3\xb6g\"]}]"},
      {"audio", "[{\"at\":\"/0/left\",\"audio\":16000}]",
       "[{\"at\":\"/0/left\",\"audio\":16000}]"},
      {"what is not known stays",
       "[{\"at\":\"/0\",\"audio\":384000,\"unit\":\"V\"}]",
       "[{\"at\":\"/0\",\"audio\":384000,\"unit\":\"V\"}]"},
      {"nothing", "[]", "[]"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t err;
    fc_sidecar_t *sidecar = parse(row->show, &err);
    if (!sidecar) fail_msg("%s", err.message);
    const fc_str_t got =
        fc_signature_attr(sidecar->functions[0].signature, FC_STR("show"));
    assert_int_equal(got.size, strlen(row->attribute));
    assert_memory_equal(got.data, row->attribute, got.size);
    fc_sidecar_destroy(sidecar);
  }
}

static void what_is_wrong_is_named(void **state) {
  (void)state;
  static const struct {
    const char *name, *show, *pointer, *says;
  } rows[] = {
      {"no list", "{\"at\":\"/0\"}", "/functions/0/show", "array"},
      {"a text in it", "[\"cat\"]", "/functions/0/show/0", "an object"},
      {"no place", "[{\"audio\":1}]", "/functions/0/show/0/at", "pointer"},
      {"a place that is none", "[{\"at\":\"y\",\"audio\":1}]",
       "/functions/0/show/0/at", "pointer"},
      {"a number as place", "[{\"at\":0,\"audio\":1}]",
       "/functions/0/show/0/at", "pointer"},
      {"neither", "[{\"at\":\"/0\",\"audio\":1},{\"at\":\"/1\"}]",
       "/functions/0/show/1", "'labels' or 'audio'"},
      {"no labels", "[{\"at\":\"/0\",\"labels\":[]}]",
       "/functions/0/show/0/labels", "1 to 65536"},
      {"one text", "[{\"at\":\"/0\",\"labels\":\"cat\"}]",
       "/functions/0/show/0/labels", "1 to 65536"},
      {"a number among labels", "[{\"at\":\"/0\",\"labels\":[\"a\",2]}]",
       "/functions/0/show/0/labels", "texts alone"},
      {"no rate", "[{\"at\":\"/0\",\"audio\":0}]", "/functions/0/show/0/audio",
       "384000"},
      {"half a rate", "[{\"at\":\"/0\",\"audio\":1.5}]",
       "/functions/0/show/0/audio", "384000"},
      {"too high a rate", "[{\"at\":\"/0\",\"audio\":384001}]",
       "/functions/0/show/0/audio", "384000"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t err;
    assert_null(parse(row->show, &err));
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_string_equal(err.pointer, row->pointer);
    if (!strstr(err.message, row->says)) fail_msg("%s", err.message);
  }
}

// "show" of one entry whose labels have this size together.
static char *large(size_t size) {
  static const char head[] =
      "{\"farcall\":1,\"functions\":[{\"name\":\"f\",\"cc\":\"ciface\","
      "\"symbol\":\"s\",\"args\":[],\"results\":[{\"type\":\"i32\"}],\"show\":["
      "{\"at\":\"/0\",\"labels\":[\"";
  char *json = malloc(sizeof head + size + 16);
  assert_non_null(json);
  memcpy(json, head, sizeof head - 1);
  memset(json + sizeof head - 1, 'x', size);
  memcpy(json + sizeof head - 1 + size, "\"]}]}]}", 8);
  return json;
}

static void its_size_has_a_limit(void **state) {
  (void)state;
  const size_t frame = sizeof "[{\"at\":\"/0\",\"labels\":[\"\"]}]" - 1;
  const size_t limit = 1 << 20;
  for (size_t over = 0; over < 2; over++) {
    char *json = large(limit - frame + over);
    fc_sidecar_t *sidecar = NULL;
    fc_error_t err = {0};
    const fc_status_t status =
        fc_sidecar_parse(fc_str(json), FC_SOURCE_SIDECAR, NULL,
                         fc_allocator_system(), &sidecar, &err);
    assert_int_equal(status == FC_OK, !over);
    if (over) assert_non_null(strstr(err.message, "1048577 bytes"));
    fc_sidecar_destroy(sidecar);
    free(json);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(what_is_right_becomes_an_attribute),
      FC_TEST(what_is_wrong_is_named),
      FC_TEST(its_size_has_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
