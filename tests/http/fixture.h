// SPDX-License-Identifier: Apache-2.0
//
// A server in a thread of the test, and a blocking client that sends and reads
// bytes. The server has modules of a kind made for tests, in the host that
// FARCALL_ISOLATION names. With FARCALL_FIXTURE_TLS=1 both speak TLS. Tests wait for
// events: a response, a closed connection, a call that says it has begun.
#ifndef FARCALL_TESTS_HTTP_FIXTURE_H_
#define FARCALL_TESTS_HTTP_FIXTURE_H_

#include <pthread.h>

#include "server.h"

// The backend of modules for these tests. Module "t" has the functions that fixture.c
// lists, module "broken" cannot be loaded.
extern const fc_backend_t fixture_backend;

// Calls of t.block wait until a test lets them go.
void fixture_wait_blocked(unsigned count);  // until `count` are inside
void fixture_release(unsigned count);       // lets `count` go on
unsigned fixture_calls(void);               // of any function, so far
unsigned fixture_cancelled(void);           // calls that saw their cancel word
pthread_t fixture_last_thread(void);        // the thread of this process that
                                            // ran the last call
// While held, modules do not finish loading.
void fixture_hold_loading(bool hold);

// From now on an allocation of exactly so many bytes fails in each server; 0:
// none fails.
void fixture_refuse_memory(size_t size);

// Must be the first call in a test's main, because the server starts the test's
// own program as its worker processes.
void fixture_worker(int argc, char **argv);

// Sets the routes of servers and of their worker processes. Must be called
// before fixture_worker; without it they are fc_routes.
void fixture_use_routes(const fc_routes_t *routes);

typedef struct fixture_server_t {
  fc_server_options_t options;
  char directory[64];
  const char *paths[8];
  fc_loop_t *loop;
  pthread_t thread;
  uv_async_t reload;
  int log[2];  // pipe; the server writes to [1]
  int exit_code;
  char *log_text;
  size_t log_size;
} fixture_server_t;

// Writes a configuration file for --config, whose name goes to `path`.
#define FIXTURE_CONFIG 32  // bytes of such a name
void fixture_write_config(char path[FIXTURE_CONFIG], const char *format, ...)
    FC_PRINTF(2, 3);

// `flags` are separated by spaces. Waits until the server is ready, unless
// loading is held.
void fixture_start(fixture_server_t *server, const char *flags);
// Drains, joins, and frees. What was logged is in log_text until
// fixture_forget.
void fixture_stop(fixture_server_t *server);
void fixture_join(fixture_server_t *server);  // without asking it to stop
void fixture_forget(fixture_server_t *server);

// Begins to load "t" once more: a newer generation of it.
void fixture_reload(fixture_server_t *server);

int fixture_connect(const fixture_server_t *server);
// The same as fixture_connect, in two steps.
int fixture_socket(void);
// Binds the socket to 127.0.0.N, the address that it then connects from.
void fixture_bind(int socket, unsigned n);
void fixture_connect_socket(const fixture_server_t *server, int socket);
// False when the server has closed.
bool fixture_send(int socket, const void *data, size_t size);
bool fixture_send_text(int socket, const char *text);

typedef struct fixture_response_t {
  int status;
  char head[4096];  // NUL-terminated, with the blank line
  char *body;       // NUL-terminated
  size_t size;
} fixture_response_t;

// Reads one response; 100 Continue is one, too. False at the end of the stream. `no_body`:
// the response is to HEAD, so no body follows.
bool fixture_receive(int socket, bool no_body, fixture_response_t *out);
void fixture_response_free(fixture_response_t *response);
// True when the server closes without sending another byte.
bool fixture_closed(int socket);
// The value of a header, copied; NULL when it is not there.
const char *fixture_header(const fixture_response_t *response, const char *name,
                           char *out, size_t capacity);

// One request on a connection of its own.
fixture_response_t fixture_request(const fixture_server_t *server,
                                   const char *method, const char *path,
                                   const char *body);
// "POST path" with a body, without waiting for the answer.
void fixture_post(int socket, const char *path, const char *body);

// The same as fixture_post, but waits until the server has handled the request;
// only for a test whose other connections are quiet.
void fixture_post_handled(const fixture_server_t *server, int socket,
                          const char *path, const char *body);

// Waits until the server has handled `count` bytes in all.
void fixture_wait_bytes(const fixture_server_t *server, uint64_t count);
uint64_t fixture_bytes(const fixture_server_t *server);

#endif  // FARCALL_TESTS_HTTP_FIXTURE_H_
