// SPDX-License-Identifier: Apache-2.0
//
// The handler runs on its own stack, because the module may have used up the thread's
// stack. It calls only functions that are allowed in handlers. The module's code does not
// continue.
#include "crash.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loaded.h"
#include "tool.h"

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

// Static, because a signal handler gets no argument of ours. The lines are prepared,
// because a handler must not format text.
static struct {
  char lines[SIGNAL_COUNT][320];
  unsigned objects;  // loaded libraries before the module was loaded
  fc_loaded_t module;
  const char *tool;  // addr2line; NULL: none, or no module
  const char *path;  // of the module
  _Alignas(16) uint8_t stack[HANDLER_STACK];
} watch;

static void say(const char *text, size_t size) {
  const ssize_t ignored = write(2, text, size);
  (void)ignored;
}

// Writes a number such as "0x1a2b" without functions that are forbidden in handlers.
static void print_offset(uintptr_t offset, char out[20]) {
  static const char kDigits[] = "0123456789abcdef";
  int size = 0;
  for (uintptr_t rest = offset; size == 0 || rest; rest >>= 4) size++;
  out[0] = '0';
  out[1] = 'x';
  out[2 + size] = '\0';
  for (; size; offset >>= 4) out[1 + size--] = kDigits[offset & 15];
}

// Asks the tool for the place of `offset`, which it prints as "function at file:line"; ""
// if there is no tool. Returns the size without the end of the line.
static size_t ask_tool(const char *offset, char *out, size_t capacity) {
  const char *const argv[] = {watch.tool, "-f",   "-p", "-e",
                              watch.path, offset, NULL};
  int ends[2];
  size_t size = 0;
  if (pipe(ends)) return 0;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    close(2);
    execv(watch.tool, (char *const *)(uintptr_t)argv);
    _exit(1);
  }
  close(ends[1]);
  for (ssize_t got; size < capacity; size += (size_t)got) {
    got = read(ends[0], out + size, capacity - size);
    if (got <= 0) break;
  }
  close(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  const char *end = size ? memchr(out, '\n', size) : NULL;
  return end ? (size_t)(end - out) : 0;
}

// Prints the function at `pc`. Prints nothing if the tool knows no function there. Omits
// file and line if the tool does not know them: it then prints " at ??" or " at :?".
static void tell_place(uintptr_t pc) {
  static const char kNote[] = "farcall: note: in ";
  static const char *const kNoLine[] = {" at ??", " at :?"};
  char offset[20], text[1024];
  if (!watch.tool || pc < watch.module.begin || pc >= watch.module.end) return;
  print_offset(pc - watch.module.base, offset);
  size_t size = ask_tool(offset, text, sizeof text - 1);
  if (!size || text[0] == '?') return;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNoLine); i++) {
    const char *cut = memmem(text, size, kNoLine[i], strlen(kNoLine[i]));
    if (cut) size = (size_t)(cut - text);
  }
  text[size++] = '\n';
  say(kNote, sizeof kNote - 1);
  say(text, size);
}

static void on_crash(int number, siginfo_t *info, void *context) {
  (void)info;
  tell_place(fc_loaded_counter(context));
  for (size_t i = 0; i < SIGNAL_COUNT; i++) {
    if (kSignals[i].number != number) continue;
    say(watch.lines[i], strlen(watch.lines[i]));
  }
  raise(number);  // SA_RESETHAND: this time the signal ends the process
}

void fc_crash_watch(const char *what) {
  char name[200];
  fc_escape(name, sizeof name, 128, fc_str(what));
  stack_t stack = {.ss_sp = watch.stack, .ss_size = sizeof watch.stack};
  (void)sigaltstack(&stack, NULL);
  struct sigaction action = {
      .sa_sigaction = on_crash,
      .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND)};
  for (size_t i = 0; i < SIGNAL_COUNT; i++) {
    snprintf(watch.lines[i], sizeof watch.lines[i],
             "farcall: %s was stopped by signal %d (%s); a server answers "
             "502 and goes on\n",
             name, kSignals[i].number, kSignals[i].text);
    (void)sigaction(kSignals[i].number, &action, NULL);
  }
}

void fc_crash_before_load(void) { watch.objects = fc_loaded_count(); }

void fc_crash_after_load(fc_arena_t *arena, const char *path) {
  watch.module = fc_loaded_at(watch.objects);
  watch.path = path;
  watch.tool = NULL;
  if (!watch.module.end || !fc_str_ends(fc_str(path), FC_STR(".so"))) return;
  watch.tool = fc_crash_tool(arena, NULL);
}

const char *fc_crash_tool(fc_arena_t *arena, const char *directory) {
  const char *tool = fc_tool_find(arena, "addr2line", directory);
  return tool ? tool : fc_tool_find(arena, "llvm-addr2line", directory);
}
