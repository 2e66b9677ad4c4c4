// SPDX-License-Identifier: Apache-2.0
//
// A dialect of this file, in addition to the server's: with its own route and two
// parameters for calls, through the real server in either host. This is all that
// another dialect needs: fc_dialect_t, rows of routes, and an entry for both in a
// table.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dialect/reflect.h"
#include "expect.h"

// ---------------------------------------------------------------------------
// The dialect: POST /text/MODULE/FUNCTION?separator=C&times=N. The arguments are
// separated by C. The answer is the results as text, N times.

enum { ROUTE_TEXT = FC_ROUTE_COUNT, ROUTE_MODEL, ROUTE_OF_VERSION };

typedef struct parameters_t {
  char separator;
  uint8_t times;
  uint8_t raw;  // size of the answer's first part, behind which bytes are raw
} parameters_t;
_Static_assert(sizeof(parameters_t) <= FC_CALL_PARAMETERS, "they fit a call");

static parameters_t parameters_of(const uint8_t *bytes) {
  parameters_t parameters;
  memcpy(&parameters, bytes, sizeof parameters);
  return parameters;
}

static fc_status_t text_admit(const fc_server_t *server,
                              const fc_request_t *request,
                              const fc_place_t *place,
                              fc_admission_t *out_admission, fc_error_t *err) {
  (void)place;
  const fc_str_t separator =
      fc_request_query(request->query, FC_STR("separator"));
  const fc_str_t times = fc_request_query(request->query, FC_STR("times"));
  (void)server;
  if (times.size > 1) {
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD, "times has one digit");
  }
  const parameters_t parameters = {
      .separator = separator.size ? separator.data[0] : ' ',
      .times = times.size ? (uint8_t)(times.data[0] - '0') : 1,
      .raw = times.size ? 3 : 0};
  memcpy(out_admission->parameters, &parameters, sizeof parameters);
  return FC_OK;
}

static fc_status_t text_decode(fc_frame_t *frame, fc_str_t body,
                               const uint8_t *parameters, fc_error_t *err) {
  char json[64];
  size_t size = 0;
  if (body.size > sizeof json - 2) {
    return fc_fail(err, FC_CODE_JSON_SYNTAX, "too many arguments");
  }
  json[size++] = '[';
  for (size_t i = 0; i < body.size; i++) {
    const bool cut = body.data[i] == parameters_of(parameters).separator;
    json[size++] = cut ? ',' : body.data[i];
  }
  json[size++] = ']';
  return fc_frame_decode(frame, fc_str_make(json, size), err);
}

static fc_status_t text_encode(fc_frame_t *frame, const fc_function_t *function,
                               const uint8_t *parameters, fc_sink_t *sink,
                               uint64_t *out_document, fc_error_t *err) {
  (void)function;
  *out_document = parameters_of(parameters).raw;
  for (int i = 0; i < parameters_of(parameters).times; i++) {
    FC_TRY(fc_frame_encode(frame, sink, err));
  }
  return FC_OK;
}

static fc_str_t text_type(const uint8_t *parameters, uint64_t document) {
  const bool many = document && parameters_of(parameters).times > 1;
  return many ? FC_STR("text/many") : FC_STR("text/plain");
}

static fc_status_t text_document(const fc_server_t *server,
                                 const fc_request_t *request,
                                 const fc_place_t *place,
                                 fc_document_t *out_document, fc_sink_t *sink,
                                 fc_error_t *err) {
  *out_document = (fc_document_t){.content_type = FC_STR("text/plain")};
  if ((int)place->route == ROUTE_MODEL) {
    const fc_generation_t *generation =
        fc_generations_at(&server->modules->generations, place->module);
    FC_TRY(fc_sink_put(
        sink, fc_module_function(generation->module, place->function)->name,
        err));
    return fc_sink_put(sink, request->body, err);
  }
  FC_TRY(fc_sink_put(sink, FC_STR("post to "), err));
  return fc_sink_put(sink, request->path, err);
}

static int text_status(const fc_error_t *error) {
  return error->code == FC_CODE_FUNCTION_NOT_FOUND ? 404 : 400;
}

static fc_status_t text_error(const fc_problem_t *problem, fc_sink_t *sink,
                              fc_error_t *err) {
  if (problem->stage) {
    FC_TRY(fc_sink_put(sink, fc_str(problem->stage), err));
    FC_TRY(fc_sink_put(sink, FC_STR(": "), err));
  }
  return fc_sink_put(sink, fc_str(problem->error->message), err);
}

static const fc_dialect_worker_t kWorker = {.decode = text_decode,
                                            .encode = text_encode};
static const fc_dialect_t kText = {.name = "text",
                                   .admit = text_admit,
                                   .worker = &kWorker,
                                   .result_type = text_type,
                                   .document = text_document,
                                   .status_of = text_status,
                                   .encode_error = text_error,
                                   .error_type = "text/plain",
                                   .names_code = true};

static const fc_dialect_t *const kDialects[] = {&fc_dialect_native,
                                                &fc_dialect_pages, &kText};
static const fc_route_row_t kRows[] = {
    [FC_ROUTE_NONE] = {FC_STR(""), 0, 0, FC_SCOPE_OPEN},
#define FC_ROUTE(name, path, methods, scope, dialect) \
  [FC_ROUTE_##                                        \
      name] = {FC_STR(path), methods, FC_DIALECT_##dialect, FC_SCOPE_##scope},
#include "dialect/route.def"
    [ROUTE_TEXT] = {FC_STR("/text/{module}/{function}"),
                    FC_ROUTE_GET | FC_ROUTE_CALL, 2, FC_SCOPE_OPEN},
    [ROUTE_MODEL] = {FC_STR("/model/{model}:ask"), FC_ROUTE_POST, 2,
                     FC_SCOPE_OPEN},
    [ROUTE_OF_VERSION] = {FC_STR("/model/{model}/of/{version}:text"),
                          FC_ROUTE_GET | FC_ROUTE_CALL, 2, FC_SCOPE_OPEN},
};
static const fc_routes_t kRoutes = {kRows, FC_ARRAY_COUNT(kRows),
                                    FC_ARRAY_COUNT(kDialects), kDialects};

// ---------------------------------------------------------------------------

static void ask(const fixture_server_t *server, const char *method,
                const char *path, const char *body, int status,
                const char *type, const char *says) {
  char got[64];
  fixture_response_t response = fixture_request(server, method, path, body);
  if (says) assert_string_equal(response.body, says);
  assert_int_equal(response.status, status);
  assert_string_equal(
      fixture_header(&response, "Content-Type", got, sizeof got), type);
  fixture_response_free(&response);
}

static void it_answers_beside_the_others(void **state) {
  (void)state;
  static const char *const kFlags[] = {"", "--lane=always"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFlags); i++) {
    fixture_server_t server;
    fixture_start(&server, kFlags[i]);
    ask(&server, "POST", "/text/t/add", "3 4", 200, "text/plain",
        "{\"results\":[7]}");
    ask(&server, "POST", "/text/t/add?separator=_&times=2", "3_4", 200,
        "text/many", "{\"results\":[7]}{\"results\":[7]}");
    ask(&server, "POST", "/api/v1/functions/t/add", "[3,4]", 200,
        "application/json", "{\"results\":[7]}");
    ask(&server, "GET", "/text/t/add", "", 200, "text/plain",
        "post to /text/t/add");
    end(&server);
  }
}

// A path may name a model, like t.add, instead of a module and a function.
static void a_path_may_name_a_model(void **state) {
  (void)state;
  static const struct {
    const char *method, *path, *body;
    int status;
    const char *type, *says;
  } rows[] = {
      {"POST", "/model/t.add:ask", "?", 200, "text/plain", "add?"},
      {"POST", "/model/t.add:ask", "", 200, "text/plain", "add"},
      {"POST", "/model/t%2Eadd:ask", "?", 200, "text/plain", "add?"},
      {"POST", "/model/t.add/of/1:text", "3 4", 200, "text/plain",
       "{\"results\":[7]}"},
      {"POST", "/model/t.add/of/2:text", "3 4", 400, "text/plain",
       "route: module 't' has no version '2', only '1'"},
      {"POST", "/model/t:ask", "", 404, "text/plain",
       "route: Request for unknown model: 't' has 15 functions, each a model of "
       "its own, as 't.add'"},
      {"POST", "/model/t.ad:ask", "", 400, "text/plain",
       "route: Request for unknown model: 't.ad' is not found; did you mean "
       "'t.add'?"},
      {"POST", "/model/t%2Fadd:ask", "", 400, "text/plain",
       "route: Request for unknown model: 't/add' is not found; did you mean "
       "'t.add'?"},
      {"POST", "/model/.:ask", "", 400, "text/plain",
       "route: Request for unknown model: '.' is not found"},
      {"POST", "/model/broken:ask", "", 400, "text/plain",
       "route: module 'broken' could not be loaded: broken.fixture: it was made "
       "that way"},
      {"POST", "/model/broken.x:ask", "", 400, "text/plain",
       "route: module 'broken' could not be loaded: broken.fixture: it was made "
       "that way"},
      {"GET", "/model/t.add:ask", "", 400, "text/plain",
       "route: GET is not allowed here: POST"},
      {"POST", "/model/t.add", "", 404, "application/problem+json", NULL},
  };
  fixture_server_t server;
  fixture_start(&server, "");
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    ask(&server, rows[i].method, rows[i].path, rows[i].body, rows[i].status,
        rows[i].type, rows[i].says);
  }
  // The body of a POST that is no call may have 64 KiB (FC_LIMIT_ASKING).
  char *long_body = calloc(1, (64 << 10) + 2);
  memset(long_body, 'x', (64 << 10) + 1);
  ask(&server, "POST", "/model/t.add:ask", long_body, 400, "text/plain",
      "admit: the body of 65537 bytes exceeds 65536, which is enough here");
  free(long_body);
  end(&server);
}

static void heads_say_more(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  char got[64];
  fixture_response_t response =
      fixture_request(&server, "POST", "/text/t/add?times=2", "3 4");
  assert_string_equal(
      fixture_header(&response, "Inference-Header-Content-Length", got,
                     sizeof got),
      "3");
  assert_null(fixture_header(&response, "Farcall-Error-Code", got, sizeof got));
  fixture_response_free(&response);
  response = fixture_request(&server, "POST", "/text/t/add", "3");
  assert_string_equal(
      fixture_header(&response, "Farcall-Error-Code", got, sizeof got),
      "missing_argument");
  fixture_response_free(&response);
  response = fixture_request(&server, "POST", "/api/v1/functions/t/add", "[3]");
  assert_null(fixture_header(&response, "Farcall-Error-Code", got, sizeof got));
  fixture_response_free(&response);
  end(&server);
}

static void its_errors_are_its_own(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  ask(&server, "POST", "/text/t/ad", "", 404, "text/plain",
      "route: no function 'ad': did you mean 'add'?");
  ask(&server, "POST", "/text/t/add?times=10", "3 4", 400, "text/plain",
      "admit: times has one digit");
  ask(&server, "POST", "/text/t/add", "3", 400, "text/plain",
      "decode: argument 1 ('b'): missing");
  end(&server);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      FC_TEST(it_answers_beside_the_others),
      FC_TEST(its_errors_are_its_own),
      FC_TEST(a_path_may_name_a_model),
      FC_TEST(heads_say_more),
  };
  fixture_use_routes(&kRoutes);
  fixture_worker(argc, argv);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
