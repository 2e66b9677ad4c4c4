// SPDX-License-Identifier: Apache-2.0
//
// Shared by the verbs of `farcall`: exit codes, the function that reports errors, the
// parsed command line, and an arena that lives as long as the process. One thread.
#ifndef FARCALL_CLI_CLI_H_
#define FARCALL_CLI_CLI_H_

#include <stdio.h>

#include "farcall/base.h"

// The exit codes of every verb except diff, whose codes are those of diff(1)
// (docs/cli.md). FC_EXIT_FAILED is also used for a failed test, for a lack of memory, and
// if standard output cannot be written.
enum {
  FC_EXIT_OK = 0,
  FC_EXIT_FAILED = 1,        // the module or the server answered an error
  FC_EXIT_USAGE = 64,        // the command line is wrong
  FC_EXIT_DATA = 65,         // a local file or an input is wrong
  FC_EXIT_UNAVAILABLE = 69,  // the server or a tool cannot be reached
};

// Prints text from a server or a module file. Control characters, which could command the
// terminal, are printed as \u001b etc., except newline and tab. JSON reads these escapes
// as the same characters.
void fc_show(FILE *stream, fc_str_t text);
// Prints `text` on stdout. Newlines and tabs are escaped too, so that a name is one line.
void fc_show_text(const char *text);

// Writes the line `farcall: MESSAGE` to stderr, escaped as fc_show does, and
// returns `exit_code`.
int fc_complain(int exit_code, const char *format, ...) FC_PRINTF(2, 3);
// Reports a failed call: the HTTP status (0: there was no server), the code, the detail
// followed by `hint`, and the place in the document. The place is `pointer`. If that is
// empty, it is `byte_offset`, but only for a code that begins with json_ and if it is not
// FC_NO_OFFSET. If stderr has colours, a second line names `farcall explain` for a code
// that it knows. Returns FC_EXIT_FAILED.
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
  const char *words;  // the words after the verb, as --help shows them
  const char *summary;
} fc_verb_info_t;

typedef struct fc_option_info_t {
  uint32_t verbs;  // a bit for each verb that has the option
  char letter;     // 0: none
  const char *name;
  const char *value;  // the value's name in --help; NULL: no value
  const char *help;
} fc_option_info_t;

// The rows of options.def.
extern const fc_verb_info_t fc_verbs[FC_VERB_COUNT];
extern const fc_option_info_t fc_cli_options[FC_OPTION_COUNT];
bool fc_option_belongs(fc_cli_option_t option, fc_verb_t verb);
bool fc_option_may_lack_value(const fc_option_info_t *info);

typedef struct fc_flag_t {
  fc_cli_option_t option;
  const char *value;  // NULL if the option has no value
} fc_flag_t;

// One parsed command line. All pointers lead into argv or the arena.
typedef struct fc_args_t {
  fc_arena_t *arena;
  fc_verb_t verb;
  const fc_flag_t *flags;  // in order
  size_t flag_count;
  const char *const *words;  // the words that are not options
  size_t word_count;
  const char *const *passed;  // serve: flags for farcalld, with values
  size_t passed_count;
} fc_args_t;

// Parses the words after the verb. Returns false after a complaint: the exit code is then
// FC_EXIT_USAGE.
bool fc_args_parse(fc_arena_t *arena, fc_verb_t verb, int argc, char **argv,
                   fc_args_t *out_args);
bool fc_args_has(const fc_args_t *args, fc_cli_option_t option);
// Returns the value of the last such option; `otherwise` if there is none.
const char *fc_args_get(const fc_args_t *args, fc_cli_option_t option,
                        const char *otherwise);
// Returns the verb with this name. If there is none, complains with a hint and returns
// FC_VERB_COUNT.
fc_verb_t fc_verb_find(const char *name);
const char *fc_verb_name(fc_verb_t verb);

// Print `farcall --help` (verb FC_VERB_COUNT) or `farcall VERB --help` on stdout.
void fc_print_help(fc_verb_t verb);

// Returns the name that is most like `text`; NULL if `text` is not like any of them.
const char *fc_nearest(const char *text, const char *const *names,
                       size_t count);

// The verbs. Each returns an exit code.
#define FC_VERB(id, name, call, words, summary) int call(const fc_args_t *args);
#include "options.def"
#undef FC_VERB

#endif  // FARCALL_CLI_CLI_H_
