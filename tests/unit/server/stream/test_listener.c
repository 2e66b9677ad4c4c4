// SPDX-License-Identifier: Apache-2.0
//
// Accepting connections: every one is reported, even after the process has run out of
// descriptors.
#include "stream/listener.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "helpers/shortage.h"
#include "helpers/test.h"

#define CLIENTS 3

typedef struct server_t {
  uv_loop_t loop;
  fc_listener_t listener;
  unsigned accepted;
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

static void on_wait(void *context, int error) {
  server_t *server = context;
  server->error = error;
}

static const fc_socket_file_t kKeep = {FC_SOCKET_FILE_KEEP, FC_SOCKET_FILE_KEEP,
                                       FC_SOCKET_FILE_KEEP};

static void start(server_t *server) {
  *server = (server_t){0};
  const fc_listener_events_t events = {on_socket, on_wait, server};
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert_int_equal(uv_loop_init(&server->loop), 0);
  assert_int_equal(
      fc_listener_open(&server->listener, &server->loop,
                       (struct sockaddr *)&address, &kKeep, &events),
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

static unsigned count_descriptors(void) {
  unsigned count = 0;
  DIR *folder = opendir("/proc/self/fd");
  assert_non_null(folder);
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

// True if the socket has keep-alive: silent clients are asked whether they are still
// there.
static bool is_looked_after(int socket) {
  int on = 0;
  socklen_t size = sizeof on;
  assert_int_equal(getsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, &size), 0);
  return on;
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
    assert_true(is_looked_after(server.sockets[i]));
    close(clients[i]);
  }
  stop(&server);
  assert_int_equal(count_descriptors(), descriptors);
}

static void without_descriptors_connections_wait(void **state) {
  (void)state;
  server_t server;
  fc_test_shortage_t shortage;
  start(&server);
  int client = make_client();
  fc_test_shortage_begin(&shortage, 256);
  connect_client(&server, client);
  while (!server.error) uv_run(&server.loop, UV_RUN_ONCE);
  assert_int_equal(server.error, EMFILE);
  // The listener tries again in vain, but it pauses between the tries.
  server.error = 0;
  while (!server.error) uv_run(&server.loop, UV_RUN_ONCE);
  assert_int_equal(server.accepted, 0);
  fc_test_shortage_end(&shortage);
  while (!server.accepted) uv_run(&server.loop, UV_RUN_ONCE);
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
                       &kKeep, &server.listener.events),
      UV_EADDRINUSE);
  fc_listener_close(&other);
  assert_int_equal(count_descriptors(), descriptors);
  stop(&server);
}

// ---------------------------------------------------------------------------
// Unix sockets

static void on_unix_socket(void *context, int socket,
                           const struct sockaddr *address) {
  server_t *server = context;
  assert_int_equal(address->sa_family, AF_UNIX);
  assert_true(server->accepted < CLIENTS);
  server->sockets[server->accepted++] = socket;
}

static char unix_folder[] = "/tmp/farcall-listener-XXXXXX";

static int make_folder(void **state) {
  (void)state;
  memcpy(unix_folder + sizeof unix_folder - 7, "XXXXXX", 6);
  return mkdtemp(unix_folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(unix_folder);  // so nothing may be left in it
}
#define IN_FOLDER(function) \
  { #function, function, make_folder, remove_folder, NULL }

static struct sockaddr_un unix_address(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/s", unix_folder);
  return address;
}

static void begin_unix(server_t *server) {
  *server = (server_t){0};
  assert_int_equal(uv_loop_init(&server->loop), 0);
}

static int listen_unix_as(server_t *server, const fc_socket_file_t *file) {
  const struct sockaddr_un address = unix_address();
  const fc_listener_events_t events = {on_unix_socket, on_wait, server};
  return fc_listener_open(&server->listener, &server->loop,
                          (const struct sockaddr *)&address, file, &events);
}

static int listen_unix(server_t *server) {
  return listen_unix_as(server, &kKeep);
}

static bool file_is_there(void) {
  return access(unix_address().sun_path, F_OK) == 0;
}

// Leaves a socket file behind, as a server does that is killed.
static void leave_socket(void) {
  const struct sockaddr_un address = unix_address();
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address),
                   0);
  close(fd);
}

static void a_unix_socket_is_made_and_removed(void **state) {
  server_t server;
  const bool stale = *state;
  begin_unix(&server);
  if (stale) leave_socket();
  assert_int_equal(listen_unix(&server), 0);
  assert_ptr_equal(server.listener.streams, &fc_stream_unix);
  const struct sockaddr_un address = unix_address();
  int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(
      connect(client, (const struct sockaddr *)&address, sizeof address), 0);
  while (!server.accepted) uv_run(&server.loop, UV_RUN_ONCE);
  close(client);
  assert_true(file_is_there());
  stop(&server);
  assert_false(file_is_there());
}

static void a_stale_socket_is_replaced(void **state) {
  (void)state;
  bool stale = true;
  void *context = &stale;
  a_unix_socket_is_made_and_removed(&context);
}

static void another_one_is_left_alone(void **state) {
  (void)state;
  server_t server, other;
  begin_unix(&server);
  begin_unix(&other);
  assert_int_equal(listen_unix(&server), 0);
  assert_int_equal(listen_unix(&other), UV_EADDRINUSE);
  // Another server has replaced the file by its own socket: that must stay.
  unlink(unix_address().sun_path);
  assert_int_equal(listen_unix(&other), 0);
  stop(&server);
  assert_true(file_is_there());
  stop(&other);
  assert_false(file_is_there());
}

static void what_is_no_socket_is_not_replaced(void **state) {
  (void)state;
  server_t server;
  begin_unix(&server);
  close(open(unix_address().sun_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const unsigned descriptors = count_descriptors();
  assert_int_equal(listen_unix(&server), UV_EEXIST);
  assert_int_equal(count_descriptors(), descriptors);
  assert_true(file_is_there());
  unlink(unix_address().sun_path);
  stop(&server);
}

static void the_file_gets_its_mode_and_owner(void **state) {
  (void)state;
  server_t server;
  struct stat file;
  const fc_socket_file_t wanted = {0640, FC_SOCKET_FILE_KEEP, getgid()};
  begin_unix(&server);
  assert_int_equal(listen_unix_as(&server, &wanted), 0);
  assert_int_equal(stat(unix_address().sun_path, &file), 0);
  assert_int_equal(file.st_mode & 07777, 0640);
  assert_int_equal(file.st_gid, getgid());
  stop(&server);
}

static void a_file_that_cannot_be_given_is_removed(void **state) {
  (void)state;
  fc_test_skip_emulated("the emulator runs as the only user");
  server_t server;
  const uid_t user = geteuid();
  const fc_socket_file_t wanted = {FC_SOCKET_FILE_KEEP, 0, FC_SOCKET_FILE_KEEP};
  begin_unix(&server);
  const unsigned descriptors = count_descriptors();
  if (user == 0) {  // root may chown to anybody
    assert_int_equal(chown(unix_folder, 65534, (gid_t)-1), 0);
    assert_int_equal(seteuid(65534), 0);
  }
  assert_int_equal(listen_unix_as(&server, &wanted), UV_EPERM);
  assert_int_equal(count_descriptors(), descriptors);
  assert_false(file_is_there());
  assert_int_equal(seteuid(user), 0);
  stop(&server);
}

static void the_file_of_a_passed_socket_stays(void **state) {
  (void)state;
  server_t server;
  const struct sockaddr_un address = unix_address();
  const struct sockaddr *any = (const struct sockaddr *)&address;
  const fc_listener_events_t events = {on_unix_socket, on_wait, &server};
  begin_unix(&server);
  const int passed =
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  assert_int_equal(bind(passed, any, sizeof address), 0);
  assert_int_equal(listen(passed, 1), 0);
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(connect(client, any, sizeof address), 0);
  assert_int_equal(
      fc_listener_adopt(&server.listener, &server.loop, passed, any, &events),
      0);
  assert_false(uv_run(&server.loop, UV_RUN_NOWAIT));
  assert_int_equal(server.accepted, 0);
  fc_listener_start(&server.listener);
  while (!server.accepted) uv_run(&server.loop, UV_RUN_ONCE);
  close(client);
  stop(&server);
  assert_true(file_is_there());
  unlink(address.sun_path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_connection_is_told_of),
      FC_TEST(without_descriptors_connections_wait),
      FC_TEST(an_address_in_use_is_an_error),
      IN_FOLDER(a_unix_socket_is_made_and_removed),
      IN_FOLDER(a_stale_socket_is_replaced),
      IN_FOLDER(another_one_is_left_alone),
      IN_FOLDER(what_is_no_socket_is_not_replaced),
      IN_FOLDER(the_file_gets_its_mode_and_owner),
      IN_FOLDER(a_file_that_cannot_be_given_is_removed),
      IN_FOLDER(the_file_of_a_passed_socket_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
