// SPDX-License-Identifier: Apache-2.0
//
// The server of a test that adds, changes and removes files of modules.
#ifndef FARCALL_TESTS_HTTP_FILES_H_
#define FARCALL_TESTS_HTTP_FILES_H_

#include <stdio.h>
#include <unistd.h>

#include "expect.h"

#define MODULES "/api/v1/modules/"
#define ADD "/api/v1/functions/t/add"

static fixture_server_t server;

static inline void path_of(const char *file, char out[128]) {
  snprintf(out, 128, "%s/%s", server.directory, file);
}

// Replaces a file as a careful operator does: writes it under another name, then
// renames it.
static inline void put(const char *file, const char *text) {
  char path[128], other[128];
  path_of(file, path);
  path_of("other", other);
  FILE *stream = fopen(other, "w");
  assert_non_null(stream);
  assert_true(fputs(text, stream) > 0);
  fclose(stream);
  assert_int_equal(rename(other, path), 0);
}

static inline void drop(const char *file) {
  char path[128];
  path_of(file, path);
  assert_int_equal(unlink(path), 0);
}

static inline unsigned count_of(const char *text, const char *part) {
  unsigned count = 0;
  for (; (text = strstr(text, part)); text++) count++;
  return count;
}

static inline void expect_request(const char *method, const char *path,
                                  int status, const char *text) {
  fixture_response_t response =
      fixture_request(&server, method, path, strcmp(method, "GET") ? "{}" : "");
  if (response.status != status || (text && !strstr(response.body, text))) {
    fail_msg("%s %s: wanted %d %s, got %d %s", method, path, status,
             text ? text : "", response.status, response.body);
  }
  fixture_response_free(&response);
}

static inline void expect_sum(int status) {
  fixture_response_t response = fixture_request(&server, "POST", ADD, "[1,2]");
  assert_int_equal(response.status, status);
  fixture_response_free(&response);
}

// Starts a server without the fixture's broken module, so that a reload fails only if
// the test makes it fail.
static inline void enter(const char *flags) {
  char words[128];
  snprintf(words, sizeof words, "--admin=loopback %s", flags);
  fixture_start(&server, words);
  drop("broken.fixture");
  expect_request("POST", "/api/v1/reload", 200, NULL);
}

static inline void leave(void) {
  put("broken.fixture", "fixture");  // the fixture removes it
  end(&server);
}

static inline fixture_response_t list(void) {
  return fixture_request(&server, "GET", "/api/v1/modules", "");
}

static inline bool is_listed(const char *text) {
  fixture_response_t response = list();
  const bool found = strstr(response.body, text);
  fixture_response_free(&response);
  return found;
}

static inline void wait_until_listed(const char *text) {
  while (!is_listed(text)) continue;
}

static inline void wait_until_gone(const char *text) {
  while (is_listed(text)) continue;
}

#endif  // FARCALL_TESTS_HTTP_FILES_H_
