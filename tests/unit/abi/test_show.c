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
      {"the least and the highest rate",
       "[{\"at\":\"/0\",\"audio\":3000},{\"at\":\"/1\",\"audio\":384000}]",
       "[{\"at\":\"/0\",\"audio\":3000},{\"at\":\"/1\",\"audio\":384000}]"},
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
      {"no list", "{\"at\":\"/0\"}", "/functions/0/show", "must be an array"},
      {"a text in it", "[\"cat\"]", "/functions/0/show/0",
       "string, must be an object"},
      {"no place", "[{\"audio\":8000}]", "/functions/0/show/0/at",
       "not there, must be a JSON pointer"},
      {"a place that is none", "[{\"at\":\"y\",\"audio\":8000}]",
       "/functions/0/show/0/at", "'y' is no JSON pointer"},
      {"an empty place", "[{\"at\":\"\",\"audio\":8000}]",
       "/functions/0/show/0/at", "'' is no JSON pointer"},
      {"a number as place", "[{\"at\":0,\"audio\":8000}]",
       "/functions/0/show/0/at", "uint, must be a JSON pointer"},
      {"neither", "[{\"at\":\"/0\",\"audio\":8000},{\"at\":\"/1\"}]",
       "/functions/0/show/1", "must have 'labels' or 'audio'"},
      {"what is not known", "[{\"at\":\"/0\",\"audio\":8000,\"unit\":\"V\"}]",
       "/functions/0/show/0", "'unit' is none of: at, labels, audio"},
      {"no labels", "[{\"at\":\"/0\",\"labels\":[]}]",
       "/functions/0/show/0/labels", "0 labels, it must be 1 to 65536"},
      {"one text", "[{\"at\":\"/0\",\"labels\":\"cat\"}]",
       "/functions/0/show/0/labels", "string, must be an array"},
      {"a number among labels", "[{\"at\":\"/0\",\"labels\":[\"a\",2]}]",
       "/functions/0/show/0/labels/1", "uint, must be a string"},
      {"no rate", "[{\"at\":\"/0\",\"audio\":0}]", "/functions/0/show/0/audio",
       "0 samples a second, must be a whole number, 3000 to 384000"},
      {"a rate below 0", "[{\"at\":\"/0\",\"audio\":-8000}]",
       "/functions/0/show/0/audio", "-8000 samples"},
      {"half a rate", "[{\"at\":\"/0\",\"audio\":8000.5}]",
       "/functions/0/show/0/audio", "8000.5 samples"},
      {"too low a rate", "[{\"at\":\"/0\",\"audio\":2999}]",
       "/functions/0/show/0/audio", "2999 samples"},
      {"too high a rate", "[{\"at\":\"/0\",\"audio\":384001}]",
       "/functions/0/show/0/audio", "384001 samples"},
      {"a text as rate", "[{\"at\":\"/0\",\"audio\":\"x\"}]",
       "/functions/0/show/0/audio", "string, must be a number"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t err;
    assert_null(parse(row->show, &err));
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_string_equal(err.pointer, row->pointer);
    if (!strstr(err.message, row->says)) fail_msg("%s", err.message);
  }
}

// The member "show" with one entry, whose labels have `size` bytes in all.
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
