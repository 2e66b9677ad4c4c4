// SPDX-License-Identifier: Apache-2.0
//
// farcall: finds the verb and runs it. Frees the verb's arena.
#include <stdio.h>

#include "cli.h"
#include "farcall/version.h"

#define ARENA_BLOCK (256u << 10)
#define ARENA_LIMIT ((size_t)4 << 30)

typedef int (*fc_verb_call_t)(const fc_args_t *args);

static const fc_verb_call_t kVerbs[] = {
#define FC_VERB(id, name, call, words, summary) call,
#include "options.def"
};

static bool is_one_of(const char *word, const char *long_name,
                      const char *letter, const char *name) {
  return !strcmp(word, long_name) || !strcmp(word, letter) ||
         !strcmp(word, name);
}

static int start(fc_arena_t *arena, int argc, char **argv) {
  if (argc < 2) {
    fc_print_help(FC_VERB_COUNT);
    return fc_complain(FC_EXIT_USAGE, "no verb given");
  }
  if (is_one_of(argv[1], "--help", "-h", "help")) {
    fc_verb_t about = argc > 2 ? fc_verb_find(argv[2]) : FC_VERB_COUNT;
    if (argc > 2 && about == FC_VERB_COUNT) return FC_EXIT_USAGE;
    fc_print_help(about);
    return FC_EXIT_OK;
  }
  if (is_one_of(argv[1], "--version", "-V", "version")) {
    printf("farcall %s\n", fc_version());
    return FC_EXIT_OK;
  }
  fc_verb_t verb = fc_verb_find(argv[1]);
  if (verb == FC_VERB_COUNT) return FC_EXIT_USAGE;
  fc_args_t args;
  if (!fc_args_parse(arena, verb, argc - 2, argv + 2, &args)) {
    return FC_EXIT_USAGE;
  }
  if (fc_args_has(&args, FC_OPTION_HELP)) {
    fc_print_help(verb);
    return FC_EXIT_OK;
  }
  return kVerbs[verb](&args);
}

int main(int argc, char **argv) {
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), ARENA_BLOCK, ARENA_LIMIT);
  int exit_code = start(&arena, argc, argv);
  fc_arena_deinit(&arena);
  if (fflush(stdout) == 0 && !ferror(stdout)) return exit_code;
  (void)fc_complain(FC_EXIT_FAILED, "cannot write to standard output");
  return exit_code == FC_EXIT_OK ? FC_EXIT_FAILED : exit_code;
}
