// SPDX-License-Identifier: Apache-2.0
//
// Clients that are unknown, or lack permission, cause no look-up of names and learn
// nothing of them.
#include <stdio.h>

#include "base/sha256.h"
#include "exchange/exchange.h"
#include "helpers/test.h"
#include "http1/parser.h"

typedef struct house_t {
  fc_modules_t modules;
  fc_server_t server;
  fc_tokens_t tokens;
  fc_policy_t policy;
  fc_exchange_t exchange;
} house_t;

// A loopback listener with two tokens: "reader" may read, "caller" may call.
static void begin(house_t *house) {
  char text[256], read[65], call[65];
  *house =
      (house_t){.server = {.routes = &fc_routes, .modules = &house->modules}};
  house->modules.started = true;
  house->modules.generations.allocator = fc_allocator_system();
  fc_sha256_hex("reader", 6, read);
  fc_sha256_hex("caller", 6, call);
  const int size =
      snprintf(text, sizeof text, "r read %s\nc call %s\n", read, call);
  assert_int_equal(fc_tokens_parse(&house->tokens, "f",
                                   fc_str_make(text, (size_t)size), NULL),
                   FC_OK);
  assert_int_equal(fc_policy_init(&house->policy, FC_STR(""), FC_STR(""), NULL),
                   FC_OK);
  house->policy.loopback = true;
  house->policy.tokens = &house->tokens;
  const fc_peer_t nobody = {0};
  fc_exchange_init(&house->exchange, &house->server, NULL, &house->policy,
                   &nobody);
}

static void end(house_t *house) {
  fc_exchange_deinit(&house->exchange);
  fc_guesses_destroy(house->server.guesses);
  fc_tokens_close(&house->tokens);
}

// Runs ROUTE and ADMIT for a request. Returns the error code.
static fc_code_t ask(house_t *house, const char *line, const char *fields,
                     fc_error_t *error) {
  char text[1024];
  fc_parser_t parser;
  fc_head_t head;
  llhttp_t llhttp;
  const int size =
      snprintf(text, sizeof text, "%s HTTP/1.1\r\n%s\r\n", line, fields);
  fc_parser_init(&parser);
  fc_error_reset(error);
  assert_int_equal(
      fc_parser_read_head(&parser, &llhttp, fc_str_make(text, (size_t)size),
                          &head, error),
      FC_OK);
  fc_exchange_reset(&house->exchange);
  fc_exchange_start(&house->exchange);
  fc_exchange_take(&house->exchange, &head.request);
  return fc_exchange_admit(&house->exchange, &head.request, error) == FC_OK
             ? FC_CODE_NONE
             : error->code;
}

#define HERE "Host: localhost\r\n"
#define BEARER "Authorization: Bearer "

static const struct {
  const char *dialect, *line;
  bool reads;  // else it calls or changes
} kRequests[] = {
    {"native", "GET /api/v1/modules/tensr", true},
    {"native", "GET /api/v1/functions/tensr/f", true},
    {"native", "POST /api/v1/functions/tensr/f", false},
    {"native, encoded", "POST /api/v1/functions/t%65nsr/f", false},
    {"/v2", "GET /v2/models/tensr.f", true},
    {"/v2", "POST /v2/models/tensr.f/infer", false},
    {"/v2, a version", "POST /v2/models/tensr.f/versions/3/infer", false},
    {"/v2, its repository", "POST /v2/repository/models/tensr.f/load", false},
    {"/v1", "GET /v1/models/tensr.f/metadata", true},
    {"/v1", "POST /v1/models/tensr.f:predict", false},
    {"admin", "POST /api/v1/modules/tensr/load", false},
    {"admin", "POST /api/v1/modules/tensr/promote", false},
};

static const struct {
  const char *name, *fields;
  fc_code_t code;
} kClients[] = {
    {"without a token", HERE, FC_CODE_UNAUTHORIZED},
    {"with an unknown one", HERE BEARER "nobody\r\n", FC_CODE_UNAUTHORIZED},
    {"with another scheme", HERE "Authorization: Basic reader\r\n",
     FC_CODE_UNAUTHORIZED},
    {"by another name", "Host: a.example\r\n" BEARER "reader\r\n",
     FC_CODE_HOST_NOT_ALLOWED},
    {"from another page", HERE BEARER "reader\r\nOrigin: http://a.example\r\n",
     FC_CODE_ORIGIN_NOT_ALLOWED},
};

// The tables of names claim to have entries, but have none, so a look-up would crash.
static void nothing_is_looked_up_for_the_unknown(void **state) {
  (void)state;
  house_t house;
  fc_error_t error;
  begin(&house);
  fc_generations_t *all = &house.modules.generations;
  all->count = all->name_count = 10000;
  all->names.count = 10000;
  all->names.capacity = 32768;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRequests); i++) {
    for (size_t k = 0; k < FC_ARRAY_COUNT(kClients); k++) {
      char row[128];
      snprintf(row, sizeof row, "%s %s", kRequests[i].line, kClients[k].name);
      fc_test_row(row);
      fc_guesses_destroy(house.server.guesses);  // none is slowed here
      house.server.guesses = NULL;
      assert_int_equal(
          ask(&house, kRequests[i].line, kClients[k].fields, &error),
          kClients[k].code);
    }
    // A known client without the necessary scope.
    const char *other = kRequests[i].reads ? HERE BEARER "caller\r\n"
                                           : HERE BEARER "reader\r\n";
    assert_int_equal(ask(&house, kRequests[i].line, other, &error),
                     FC_CODE_FORBIDDEN);
  }
  fc_test_row(NULL);
  end(&house);
}

static void the_known_are_told_what_they_may_have_meant(void **state) {
  (void)state;
  house_t house;
  fc_error_t error;
  fc_generation_t *generation;
  begin(&house);
  fc_generations_t *all = &house.modules.generations;
  assert_int_equal(fc_generations_enter(all, FC_STR("tensor.so"), "native",
                                        &generation, NULL),
                   FC_OK);
  assert_int_equal(ask(&house, "GET /api/v1/modules/tensr",
                       HERE BEARER "reader\r\n", &error),
                   FC_CODE_MODULE_NOT_FOUND);
  assert_non_null(strstr(error.message, "did you mean 'tensor'?"));
  fc_generations_remove(all, generation);
  fc_generations_deinit(all);
  end(&house);
}

// Too many wrong tokens came from one address. The answer to the next wrong token
// waits, and so does the first answer to a right one that is new. Answers to its other
// requests do not wait.
static void wrong_tokens_wait_alone(void **state) {
  (void)state;
  static const struct {
    const char *name, *fields;
    fc_code_t code;
    bool waits;
  } rows[] = {
      {"a wrong one", HERE BEARER "nobody\r\n", FC_CODE_NONE, true},
      {"no token's scheme", HERE "Authorization: Basic x\r\n", FC_CODE_NONE,
       true},
      {"one that came before", HERE BEARER "reader\r\n", FC_CODE_NONE, false},
      {"a right one, as a guess", HERE BEARER "caller\r\n", FC_CODE_NONE, true},
      {"the same, who has left", HERE BEARER "caller\r\n", FC_CODE_NONE, true},
      {"none", HERE, FC_CODE_UNAUTHORIZED, false},
      {"another wrong one", HERE BEARER "no\r\n", FC_CODE_NONE, true},
      {"the right one, still", HERE BEARER "reader\r\n", FC_CODE_NONE, false},
  };
  static const char kLine[] = "GET /api/v1/modules";
  house_t house;
  fc_error_t error;
  begin(&house);
  for (int i = 0; i < FC_LIMIT_GUESSES; i++) {
    assert_int_equal(ask(&house, kLine, rows[0].fields, &error),
                     FC_CODE_UNAUTHORIZED);
    assert_int_equal(ask(&house, kLine, HERE BEARER "reader\r\n", &error),
                     FC_CODE_NONE);
  }
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(ask(&house, kLine, row->fields, &error), row->code);
    assert_int_equal(house.exchange.wait.on, row->waits);
    assert_int_equal(house.exchange.wait.slowed, row->waits);
  }
  // A request from another address does not wait: it is another client.
  house.exchange.asker.address.bytes[0] = 1;
  assert_int_equal(ask(&house, kLine, rows[0].fields, &error),
                   FC_CODE_UNAUTHORIZED);
  end(&house);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(nothing_is_looked_up_for_the_unknown),
      FC_TEST(the_known_are_told_what_they_may_have_meant),
      FC_TEST(wrong_tokens_wait_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
