// SPDX-License-Identifier: Apache-2.0
//
// Accepting: every connection is told of, and goes on being told of after the
// descriptors of the process have run out.
#include "stream/listener.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include "helpers/shortage.h"
#include "helpers/test.h"

#define CLIENTS 3

typedef struct server_t {
  uv_loop_t loop;
  fc_listener_t listener;
  unsigned accepted;
  unsigned refused;
  int error;  // of the last on_wait
  int sockets[CLIENTS];
} server_t;

static void on_socket(void *context, int socket,
                      const struct sockaddr *address) {
  server_t *server = context;
  struct sockaddr_in from;
  memcpy(&from, address, sizeof from);
  assert_int_equal(from.sin_family, AF_INET);
  assert_int_equal(from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  assert_true(server->accepted < CLIENTS);
  server->sockets[server->accepted++] = socket;
}

static void on_last_socket(void *context, int socket) {
  server_t *server = context;
  server->refused++;
  close(socket);
}

static void on_wait(void *context, int error) {
  server_t *server = context;
  server->error = error;
}

static void start(server_t *server) {
  *server = (server_t){0};
  const fc_listener_events_t events = {on_socket, on_last_socket, on_wait,
                                       server};
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert_int_equal(uv_loop_init(&server->loop), 0);
  assert_int_equal(fc_listener_open(&server->listener, &server->loop,
                                    (struct sockaddr *)&address, &events),
                   0);
}

static void stop(server_t *server) {
  for (unsigned i = 0; i < server->accepted; i++) close(server->sockets[i]);
  fc_listener_close(&server->listener);
  fc_listener_close(&server->listener);
  uv_run(&server->loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&server->loop), 0);
}

static int make_client(void) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  return fd;
}

static void connect_client(const server_t *server, int fd) {
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  assert_int_equal(
      getsockname(server->listener.socket, (struct sockaddr *)&address, &size),
      0);
  assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
}

static bool is_closed(int fd) {
  char byte;
  return recv(fd, &byte, 1, 0) == 0;
}

static unsigned count_descriptors(void) {
  unsigned count = 0;
  DIR *folder = opendir("/proc/self/fd");
  assert_non_null(folder);
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

static void every_connection_is_told_of(void **state) {
  (void)state;
  server_t server;
  start(&server);  // libuv keeps two descriptors of its first loop
  stop(&server);
  unsigned descriptors = count_descriptors();
  start(&server);
  int clients[CLIENTS];
  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = make_client();
    connect_client(&server, clients[i]);
  }
  while (server.accepted < CLIENTS) uv_run(&server.loop, UV_RUN_ONCE);
  for (int i = 0; i < CLIENTS; i++) {
    assert_true(fcntl(server.sockets[i], F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(server.sockets[i], F_GETFD) & FD_CLOEXEC);
    close(clients[i]);
  }
  stop(&server);
  assert_int_equal(count_descriptors(), descriptors);
}

static void the_last_descriptor_says_why(void **state) {
  (void)state;
  server_t server;
  fc_test_shortage_t shortage;
  start(&server);
  int clients[CLIENTS], served = make_client(), last = make_client();
  for (int i = 0; i < CLIENTS; i++) clients[i] = make_client();
  fc_test_shortage_begin(&shortage, 256);
  for (int i = 0; i < CLIENTS; i++) connect_client(&server, clients[i]);
  while (server.refused < CLIENTS) uv_run(&server.loop, UV_RUN_ONCE);
  for (int i = 0; i < CLIENTS; i++) assert_true(is_closed(clients[i]));
  assert_int_equal(server.accepted, 0);
  // One can be had again, and the spare is there for the next.
  fc_test_shortage_ease(&shortage);
  connect_client(&server, served);
  while (!server.accepted) uv_run(&server.loop, UV_RUN_ONCE);
  connect_client(&server, last);
  while (server.refused < CLIENTS + 1) uv_run(&server.loop, UV_RUN_ONCE);
  assert_int_equal(server.error, 0);
  fc_test_shortage_end(&shortage);
  for (int i = 0; i < CLIENTS; i++) close(clients[i]);
  close(served);
  close(last);
  stop(&server);
}

// The number of the spare itself is beyond the limit now, as if another thread
// had taken its place.
static void without_a_spare_connections_wait(void **state) {
  (void)state;
  server_t server;
  fc_test_shortage_t shortage;
  start(&server);
  int client = make_client();
  fc_test_shortage_begin(&shortage, (rlim_t)server.listener.spare);
  connect_client(&server, client);
  while (!server.error) uv_run(&server.loop, UV_RUN_ONCE);
  assert_int_equal(server.error, EMFILE);
  assert_int_equal(server.refused, 0);
  // Looked at again, in vain; not in a loop.
  server.error = 0;
  while (!server.error) uv_run(&server.loop, UV_RUN_ONCE);
  fc_test_shortage_end(&shortage);
  while (!server.accepted) uv_run(&server.loop, UV_RUN_ONCE);
  assert_int_equal(server.refused, 0);
  assert_true(server.listener.spare >= 0);
  close(client);
  stop(&server);
}

static void an_address_in_use_is_an_error(void **state) {
  (void)state;
  server_t server;
  start(&server);
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  getsockname(server.listener.socket, (struct sockaddr *)&address, &size);
  unsigned descriptors = count_descriptors();
  fc_listener_t other;
  assert_int_equal(
      fc_listener_open(&other, &server.loop, (struct sockaddr *)&address,
                       &server.listener.events),
      UV_EADDRINUSE);
  fc_listener_close(&other);
  assert_int_equal(count_descriptors(), descriptors);
  stop(&server);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_connection_is_told_of),
      FC_TEST(the_last_descriptor_says_why),
      FC_TEST(without_a_spare_connections_wait),
      FC_TEST(an_address_in_use_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
