// SPDX-License-Identifier: Apache-2.0
//
// Assertions that use the fixture's client and server.
#ifndef FARCALL_TESTS_HTTP_EXPECT_H_
#define FARCALL_TESTS_HTTP_EXPECT_H_

#include "fixture.h"
#include "helpers/test.h"

// The next answer must have this status and, if `text` is given, contain it.
static inline void expect(int fd, int status, const char *text) {
  fixture_response_t response;
  assert_true(fixture_receive(fd, false, &response));
  if (response.status != status || (text && !strstr(response.body, text))) {
    fail_msg("wanted %d %s, got %d %s", status, text ? text : "",
             response.status, response.body);
  }
  fixture_response_free(&response);
}

static inline void call(int fd, const char *path, const char *body, int status,
                        const char *text) {
  fixture_post(fd, path, body);
  expect(fd, status, text);
}

// Drains the server, which must end with status 0.
static inline void end(fixture_server_t *server) {
  fixture_stop(server);
  assert_int_equal(server->exit_code, 0);
  fixture_forget(server);
}

#endif  // FARCALL_TESTS_HTTP_EXPECT_H_
