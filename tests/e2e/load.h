// SPDX-License-Identifier: Apache-2.0
//
// Shared by chaos.c, sessions.c and batches.c: random numbers, connections, answers,
// and killing a server's child processes.
#ifndef FARCALL_TESTS_E2E_LOAD_H_
#define FARCALL_TESTS_E2E_LOAD_H_

#include "farcall/base.h"

#define LOAD_SILENCE_MS 20000  // no answer for so long is an end

_Noreturn void load_die(const char *what);
uint64_t load_number(uint64_t *seed);  // splitmix64

// Connects to a port of this machine. `poll` reports answers together with `data`.
int load_connect(int poll, int port, void *data);
void load_send(int fd, const char *data, size_t size);
// Reads more bytes into `got`, which already has `*got_size` of them and room for
// `capacity`, and adds a zero byte. Once the answer is complete, returns its body, and
// writes the body's size and the status. Until then returns NULL.
const char *load_receive(int fd, char *got, size_t *got_size, size_t capacity,
                         size_t *out_size, int *out_status);
// Counts the structs of an array in which a bool member is true. `first` is that member
// of the first struct.
size_t load_count(const bool *first, size_t count, size_t struct_size);

// Every `ms` milliseconds, ends a random child of a process with one of the usual
// signals.
void load_kill(int pid, int ms);
// Stops that. Returns how many processes were ended.
uint64_t load_stop_killing(void);

#endif  // FARCALL_TESTS_E2E_LOAD_H_
