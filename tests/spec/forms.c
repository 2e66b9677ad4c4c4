// SPDX-License-Identifier: Apache-2.0
//
// Reads signatures for sip.py and v1.py, one in each line: the form, a tab, the text in
// hex. For each it writes a line: "no", or "yes", the text that it writes for the
// signature and the canonical JSON, both in hex. One process reads them all.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "farcall/abi.h"
#include "farcall/farcall.h"

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static void put_hex(fc_str_t text) {
  for (size_t i = 0; i < text.size; i++) {
    printf("%02x", (unsigned)(uint8_t)text.data[i]);
  }
}

static fc_status_t parse(bool sip, fc_str_t text, fc_builder_t *builder,
                         fc_signature_t **out) {
  const fc_raw_counts_t unknown = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};
  fc_error_t err;
  fc_builder_reset(builder);
  FC_TRY(sip ? fc_sip_parse(text, FC_STR(""), unknown, builder, &err)
             : fc_v1_parse(text, unknown, builder, &err));
  return fc_signature_build(builder, out, &err);
}

static bool answer(bool sip, fc_str_t text, fc_builder_t *builder) {
  fc_signature_t *signature = NULL;
  if (parse(sip, text, builder, &signature) != FC_OK) {
    puts("no");
    return true;
  }
  fc_text_t own, json;
  fc_text_init(&own, fc_allocator_system(), (size_t)1 << 24);
  fc_text_init(&json, fc_allocator_system(), (size_t)1 << 24);
  fc_error_t err;
  const fc_status_t status = sip ? fc_sip_mangle(signature, &own.sink, &err)
                                 : fc_v1_mangle(signature, &own.sink, &err);
  const bool done = status == FC_OK &&
                    fc_signature_print_json(signature, FC_STR(""), FC_STR(""),
                                            &json.sink, &err) == FC_OK;
  if (done) {
    printf("yes ");
    put_hex(fc_text_str(&own));
    printf(" ");
    put_hex(fc_text_str(&json));
    puts("");
  } else {
    fprintf(stderr, "forms: %s\n", err.message);
  }
  fc_text_deinit(&own);
  fc_text_deinit(&json);
  fc_signature_destroy(signature);
  return done;
}

int main(void) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  char *line = NULL;
  size_t capacity = 0;
  ssize_t size;
  bool good = builder != NULL;
  while (good && (size = getline(&line, &capacity, stdin)) > 0) {
    char *hex = strchr(line, '\t');
    if (!hex) break;
    const bool sip = line[0] == 's';
    size_t count = 0;
    for (hex++; hex[2 * count] != '\n'; count++) {
      line[count] =
          (char)(digit(hex[2 * count]) << 4 | digit(hex[2 * count + 1]));
    }
    good = answer(sip, fc_str_make(line, count), builder);
  }
  free(line);
  fc_builder_destroy(builder);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
