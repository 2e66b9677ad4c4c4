// SPDX-License-Identifier: Apache-2.0
//
// What the loads of chaos.c, sessions.c and batches.c share: numbers, connections, answers, and what
// ends a server's child processes.
#ifndef FARCALL_TESTS_E2E_LOAD_H_
#define FARCALL_TESTS_E2E_LOAD_H_

#include "farcall/base.h"

#define LOAD_SILENCE_MS 20000  // no answer for so long is an end

_Noreturn void load_die(const char *what);
uint64_t load_number(uint64_t *seed);  // splitmix64

// A connection to a port of this machine, whose answers `poll` tells with `data`.
int load_connect(int poll, int port, void *data);
void load_send(int fd, const char *data, size_t size);
// Reads what comes behind the `*got_size` bytes of `got`, which has room for `capacity`,
// and ends it with a zero byte. The body of the answer in it, its size and the status, once
// the whole is there; else NULL.
const char *load_receive(int fd, char *got, size_t *got_size, size_t capacity,
                         size_t *out_size, int *out_status);
// How many of `count` structs have true in the member that the first has at `first`.
size_t load_count(const bool *first, size_t count, size_t struct_size);

// Ends one of the children of a process, any, each `ms` by one of the usual signals.
void load_kill(int pid, int ms);
// How many it has ended. From now on it ends none.
uint64_t load_stop_killing(void);

#endif  // FARCALL_TESTS_E2E_LOAD_H_
