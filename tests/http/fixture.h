// SPDX-License-Identifier: Apache-2.0
//
// A server in a thread of the test, and a blocking client that sends and reads bytes.
// The server has modules of a test kind, in the host that FARCALL_ISOLATION names. With
// FARCALL_FIXTURE_TLS=1 both speak TLS. Tests wait for events: a response, a closed
// connection, a call that reports that it has begun.
#ifndef FARCALL_TESTS_HTTP_FIXTURE_H_
#define FARCALL_TESTS_HTTP_FIXTURE_H_

#include <pthread.h>

#include "server.h"

// The backend of test modules. Module "t" has the functions that fixture.c lists;
// module "broken" cannot be loaded.
extern const fc_backend_t fixture_backend;

// Calls of t.block wait until a test releases them.
void fixture_wait_blocked(unsigned count);  // until `count` are inside
void fixture_release(unsigned count);       // lets `count` go on
unsigned fixture_calls(void);               // of any function, so far
unsigned fixture_cancelled(void);           // calls that saw their cancel word
pthread_t fixture_last_thread(void);        // the thread of this process that
                                            // ran the last call
// While this is true, modules do not finish loading.
void fixture_hold_loading(bool hold);

// From now on, an allocation of exactly this size fails in each server. 0: none fails.
void fixture_refuse_memory(size_t size);

// Must be the first call in a test's main: for a worker process, the server starts the
// test's own program.
void fixture_worker(int argc, char **argv);

// Sets the routes of servers and of their worker processes. Call it before
// fixture_worker. The default is fc_routes.
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

// Writes a configuration file for --config. `path` gets its name.
#define FIXTURE_CONFIG 32  // bytes of such a name
void fixture_write_config(char path[FIXTURE_CONFIG], const char *format, ...)
    FC_PRINTF(2, 3);

// `flags` are separated by spaces. Waits until the server is ready, or only until it is
// listening if loading is held.
void fixture_start(fixture_server_t *server, const char *flags);
// Drains the server, joins its thread and frees it. The log stays in log_text until
// fixture_forget.
void fixture_stop(fixture_server_t *server);
void fixture_join(fixture_server_t *server);  // without asking it to stop
void fixture_forget(fixture_server_t *server);

// Begins to load module "t" again, as a newer generation.
void fixture_reload(fixture_server_t *server);

int fixture_connect(const fixture_server_t *server);
// fixture_connect in two steps: first makes the socket.
int fixture_socket(void);
// Binds the socket to 127.0.0.N, so that it connects from this address.
void fixture_bind(int socket, unsigned n);
void fixture_connect_socket(const fixture_server_t *server, int socket);
// False: the server has closed the connection.
bool fixture_send(int socket, const void *data, size_t size);
bool fixture_send_text(int socket, const char *text);

typedef struct fixture_response_t {
  int status;
  char head[4096];  // NUL-terminated, with the blank line
  char *body;       // NUL-terminated
  size_t size;
} fixture_response_t;

// Reads one response, which may be 100 Continue. False: the stream has ended. Set
// `no_body` for the response to a HEAD, which has no body.
bool fixture_receive(int socket, bool no_body, fixture_response_t *out);
void fixture_response_free(fixture_response_t *response);
// True if the server closes the connection without sending another byte.
bool fixture_closed(int socket);
// Copies the value of a header to `out` and returns it. NULL: the header is missing.
const char *fixture_header(const fixture_response_t *response, const char *name,
                           char *out, size_t capacity);

// Makes one request on a new connection.
fixture_response_t fixture_request(const fixture_server_t *server,
                                   const char *method, const char *path,
                                   const char *body);
// Sends "POST path" with a body. Does not wait for the answer.
void fixture_post(int socket, const char *path, const char *body);

// Like fixture_post, but waits until the server has handled the request. Only for tests
// whose other connections are quiet.
void fixture_post_handled(const fixture_server_t *server, int socket,
                          const char *path, const char *body);

// Waits until the server has handled `count` bytes since its start.
void fixture_wait_bytes(const fixture_server_t *server, uint64_t count);
uint64_t fixture_bytes(const fixture_server_t *server);

#endif  // FARCALL_TESTS_HTTP_FIXTURE_H_
