// SPDX-License-Identifier: Apache-2.0
//
// What is logged when a worker sets bits for system calls that were stopped. The test
// plays the worker, and sets any bits.
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/limits.h"
#include "helpers/test.h"
#include "jail/filter.h"
#include "pool/process_hosts.h"

#define SECCOMP_PART (1u << FC_JAIL_SECCOMP)

typedef struct house_t {
  fc_log_t log;
  int file;  // of the log
  fc_process_options_t options;
  fc_child_t child;
  fc_process_host_t *host;
} house_t;

static void enter(house_t *house, uint8_t sandbox, uint32_t parts) {
  fc_error_t error;
  const fc_ring_setup_t setup = {.body_size = 4096,
                                 .result_size = 4096,
                                 .sandbox = sandbox,
                                 .jail_parts = parts};
  *house =
      (house_t){.options = {.log = &house->log},
                .host = fc_alloc(fc_allocator_system(), sizeof *house->host),
                .child = {.process = {.pid = 7}, .serving = true}};
  assert_non_null(house->host);
  house->host->name = FC_STR("m");
  house->host->options = &house->options;
  house->child.host = house->host;
  house->file = memfd_create("log", MFD_CLOEXEC);
  assert_int_equal(fc_log_init(&house->log, fc_allocator_system(), house->file,
                               true, &error),
                   FC_OK);
  assert_int_equal(fc_ring_create(&setup, &house->child.ring, &error), FC_OK);
}

static void leave(house_t *house) {
  fc_ring_close(&house->child.ring);
  fc_free(fc_allocator_system(), house->host);
  fc_log_deinit(&house->log);
  close(house->file);
}

static void set(house_t *house, uint32_t number) {
  fc_jail_stops_t *stops = &house->child.ring.head->stops;
  atomic_fetch_or(&stops->calls[number / 64], UINT64_C(1) << number % 64);
}

static void set_all(house_t *house) {
  for (uint32_t i = 0; i < FC_JAIL_CALL_NUMBERS; i++) set(house, i);
}

// Reads the bits; returns how many lines were logged. *out_text gets all lines of the
// log.
static unsigned look(house_t *house, char out_text[8192]) {
  const off_t before = lseek(house->file, 0, SEEK_END);
  fc_child_read_stops(&house->child);
  fc_log_flush(&house->log);
  const ssize_t size = pread(house->file, out_text, 8191, 0);
  assert_true(size >= before);
  out_text[size] = '\0';
  unsigned lines = 0;
  for (ssize_t i = before; i < size; i++) lines += out_text[i] == '\n';
  return lines;
}

static void what_a_worker_sets_is_bounded(void **state) {
  (void)state;
  static house_t house;
  static char text[8192];
  enter(&house, FC_SANDBOX_STRICT, SECCOMP_PART);
  set_all(&house);
  assert_int_equal(look(&house, text), FC_LIMIT_STOPS + 1);
  assert_non_null(strstr(text, "\"more\":"));
  assert_int_equal(look(&house, text), 0);
  // A second process of the module sets the same bits.
  fc_ring_head_t *head = house.child.ring.head;
  head->stops = (fc_jail_stops_t){0};
  assert_int_equal(look(&house, text), 0);
  set_all(&house);
  assert_int_equal(look(&house, text), 0);
  leave(&house);
}

static void each_is_said_once_as_the_workers_word(void **state) {
  (void)state;
  static house_t house;
  static char text[8192];
  enter(&house, FC_SANDBOX_AUTO, SECCOMP_PART);
  for (int i = 0; i < 3; i++) {
    set(&house, SYS_socket);
    assert_int_equal(look(&house, text), i == 0);
  }
  assert_non_null(strstr(text, "a worker says that the jail stopped a system "
                               "call of its module"));
  assert_non_null(
      strstr(text, "\"module\":\"m\",\"pid\":7,\"call\":\"socket\""));
  assert_null(strstr(text, "\"more\":"));
  leave(&house);
}

// A bit for a call that no filter in force refuses is a lie.
static void what_the_filter_allows_is_not_logged(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint8_t sandbox;
    uint32_t parts;
    bool serving;
    uint32_t number;
    bool logged;
  } rows[] = {
      {"socket", FC_SANDBOX_STRICT, SECCOMP_PART, true, SYS_socket, true},
      {"socket while it loads", FC_SANDBOX_STRICT, SECCOMP_PART, false,
       SYS_socket, true},
      {"openat", FC_SANDBOX_STRICT, SECCOMP_PART, true, SYS_openat, true},
      {"newfstatat", FC_SANDBOX_STRICT, SECCOMP_PART, true, SYS_newfstatat,
       true},
      {"newfstatat while it loads", FC_SANDBOX_STRICT, SECCOMP_PART, false,
       SYS_newfstatat, false},
      {"kill of others", FC_SANDBOX_STRICT, SECCOMP_PART, true, SYS_kill, true},
      {"write", FC_SANDBOX_STRICT, SECCOMP_PART, true, SYS_write, false},
      {"clone3, which is absent", FC_SANDBOX_STRICT, SECCOMP_PART, true,
       SYS_clone3, false},
      {"a number without a name", FC_SANDBOX_STRICT, SECCOMP_PART, true, 510,
       true},
      {"a kernel without filters", FC_SANDBOX_AUTO, 0, true, SYS_socket, false},
      {"basic", FC_SANDBOX_BASIC, SECCOMP_PART, true, SYS_socket, false},
      {"off", FC_SANDBOX_OFF, SECCOMP_PART, true, SYS_socket, false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static house_t house;
    static char text[8192];
    enter(&house, row->sandbox, row->parts);
    house.child.serving = row->serving;
    set(&house, row->number);
    assert_int_equal(look(&house, text), row->logged);
    leave(&house);
  }
}

// The bit is seen before the loop has learnt that the module is loaded.
static void a_call_of_a_thread_is_said_when_the_process_serves(void **state) {
  (void)state;
  static house_t house;
  static char text[8192];
  enter(&house, FC_SANDBOX_STRICT, SECCOMP_PART);
  house.child.serving = false;
  set(&house, SYS_newfstatat);
  assert_int_equal(look(&house, text), 0);
  house.child.serving = true;
  assert_int_equal(look(&house, text), 1);
  leave(&house);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(what_a_worker_sets_is_bounded),
      FC_TEST(each_is_said_once_as_the_workers_word),
      FC_TEST(what_the_filter_allows_is_not_logged),
      FC_TEST(a_call_of_a_thread_is_said_when_the_process_serves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
