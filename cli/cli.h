// SPDX-License-Identifier: Apache-2.0
//
// What the verbs of `farcall` share: exit codes, the one way to complain, the
// parsed command line, an arena that lives as long as the process. One thread.
#ifndef FARCALL_CLI_CLI_H_
#define FARCALL_CLI_CLI_H_

#include <stdio.h>

#include "farcall/base.h"

// The exit codes of every verb but diff, whose codes are those of diff(1) (docs/cli.md).
// FC_EXIT_FAILED is also for a test that fails, and for memory or standard output that
// gives out.
enum {
  FC_EXIT_OK = 0,
  FC_EXIT_FAILED = 1,        // the module or the server answered an error
  FC_EXIT_USAGE = 64,        // the command line is wrong
  FC_EXIT_DATA = 65,         // a local file or an input is wrong
  FC_EXIT_UNAVAILABLE = 69,  // the server or a tool cannot be reached
};

// Prints text that a server or a module file brought. Control characters, which
// could command the terminal, become \u001b and the like, but newline and tab
// stay. JSON reads the escapes as the same characters.
void fc_show(FILE *stream, fc_str_t text);
// Prints `text` on stdout. Newlines and tabs are escaped as well, so that a
// name is one line.
void fc_show_text(const char *text);

// Writes the line `farcall: MESSAGE` to stderr, escaped as fc_show does, and
// returns `exit_code`.
int fc_complain(int exit_code, const char *format, ...) FC_PRINTF(2, 3);
// Complains about a call that was refused: the HTTP status (0: there was no
// server), the code, what is wrong with `hint` added to it, and where in the
// document: the pointer or, if that is empty and the code begins with json_, the byte
// offset unless it is FC_NO_OFFSET. Where stderr has colours, a second line names
// `farcall explain` for a code that is in its list. Returns FC_EXIT_FAILED.
int fc_complain_call(int http_status, const char *code, const char *detail,
                     const char *hint, const char *pointer,
                     uint64_t byte_offset);

typedef enum fc_verb_t {
#define FC_VERB(id, name, call, words, summary) FC_VERB_##id,
#include "options.def"
#undef FC_VERB
  FC_VERB_COUNT
} fc_verb_t;

typedef enum fc_cli_option_t {
#define FC_OPTION(id, verbs, letter, name, value, help) FC_OPTION_##id,
#include "options.def"
#undef FC_OPTION
  FC_OPTION_COUNT
} fc_cli_option_t;

typedef struct fc_verb_info_t {
  const char *name;
  const char *words;  // what follows, as --help shows it
  const char *summary;
} fc_verb_info_t;

typedef struct fc_option_info_t {
  uint32_t verbs;  // a bit for each that has it
  char letter;     // 0: none
  const char *name;
  const char *value;  // what --help calls it, NULL: the option takes none
  const char *help;
} fc_option_info_t;

// The rows of options.def.
extern const fc_verb_info_t fc_verbs[FC_VERB_COUNT];
extern const fc_option_info_t fc_cli_options[FC_OPTION_COUNT];
bool fc_option_belongs(fc_cli_option_t option, fc_verb_t verb);
bool fc_option_may_lack_value(const fc_option_info_t *info);

typedef struct fc_flag_t {
  fc_cli_option_t option;
  const char *value;  // NULL when the option takes none
} fc_flag_t;

// One parsed command line. Everything points into argv or the arena.
typedef struct fc_args_t {
  fc_arena_t *arena;
  fc_verb_t verb;
  const fc_flag_t *flags;  // in order
  size_t flag_count;
  const char *const *words;  // the words that are no options
  size_t word_count;
  const char *const *passed;  // of serve: flags of farcalld with their values
  size_t passed_count;
} fc_args_t;

// Parses what follows the verb. When it returns false it has complained and the
// exit code is FC_EXIT_USAGE.
bool fc_args_parse(fc_arena_t *arena, fc_verb_t verb, int argc, char **argv,
                   fc_args_t *out_args);
bool fc_args_has(const fc_args_t *args, fc_cli_option_t option);
// The last value given, else `otherwise`.
const char *fc_args_get(const fc_args_t *args, fc_cli_option_t option,
                        const char *otherwise);
// The verb of that name. When there is none, complains with a hint and returns
// FC_VERB_COUNT.
fc_verb_t fc_verb_find(const char *name);
const char *fc_verb_name(fc_verb_t verb);

// `farcall --help` (verb FC_VERB_COUNT) and `farcall VERB --help`, to stdout.
void fc_print_help(fc_verb_t verb);

// The name of `names` nearest to `text`, NULL when none is so near that `text`
// may be a slip.
const char *fc_nearest(const char *text, const char *const *names,
                       size_t count);

// The verbs. Each returns an exit code.
#define FC_VERB(id, name, call, words, summary) int call(const fc_args_t *args);
#include "options.def"
#undef FC_VERB

#endif  // FARCALL_CLI_CLI_H_
