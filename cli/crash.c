// SPDX-License-Identifier: Apache-2.0
//
// The handler runs on a stack of its own, since the module may have used up the
// thread's, and calls only what a handler may call. The module's code does not go on.
#include "crash.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "farcall/base.h"

#define HANDLER_STACK (16u << 10)

static const struct {
  int number;
  const char *text;
} kSignals[] = {
#define SIGNAL(name) \
  { name, #name }
    SIGNAL(SIGSEGV), SIGNAL(SIGBUS),  SIGNAL(SIGFPE), SIGNAL(SIGILL),
    SIGNAL(SIGABRT), SIGNAL(SIGTRAP), SIGNAL(SIGSYS),
#undef SIGNAL
};
#define SIGNAL_COUNT FC_ARRAY_COUNT(kSignals)

// A signal handler gets no argument of ours, so the lines it prints are made
// beforehand.
static struct {
  char lines[SIGNAL_COUNT][320];
  _Alignas(16) uint8_t stack[HANDLER_STACK];
} watch;

static void on_crash(int number) {
  for (size_t i = 0; i < SIGNAL_COUNT; i++) {
    if (kSignals[i].number != number) continue;
    ssize_t ignored = write(2, watch.lines[i], strlen(watch.lines[i]));
    (void)ignored;
  }
  raise(number);  // SA_RESETHAND: this time the signal ends the process
}

void fc_crash_watch(const char *what) {
  char name[200];
  fc_escape(name, sizeof name, 128, fc_str(what));
  stack_t stack = {.ss_sp = watch.stack, .ss_size = sizeof watch.stack};
  (void)sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_crash,
                             .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND)};
  for (size_t i = 0; i < SIGNAL_COUNT; i++) {
    snprintf(watch.lines[i], sizeof watch.lines[i],
             "farcall: %s was stopped by signal %d (%s); a server answers "
             "502 and goes on\n",
             name, kSignals[i].number, kSignals[i].text);
    (void)sigaction(kSignals[i].number, &action, NULL);
  }
}
