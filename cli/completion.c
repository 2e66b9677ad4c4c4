// SPDX-License-Identifier: Apache-2.0
//
// farcall completion: writes what a shell offers after a part of a command line, from the
// tables of verbs and options. The names of functions and modules come from the server,
// which has a second to answer. No shell evaluates a name from the server.
#include <stdio.h>

#include "cli.h"

// Names with control characters are left out: farcall shows ESC as \u001b.
#define TYPED " | grep -v '[\\]u00'"
#define FUNCTIONS "farcall sig --timeout=1 2>/dev/null | cut -d'(' -f1" TYPED
#define MODULES "farcall ls --timeout=1 2>/dev/null | cut -d' ' -f1" TYPED
#define CODES "farcall explain | cut -d' ' -f1"

// The kinds of words after a verb. Shells offer FILES themselves.
typedef enum fc_kind_t {
  KIND_FILES,
  KIND_FUNCTIONS,
  KIND_MODULES,
  KIND_CODES,
  KIND_SHELLS,
} fc_kind_t;

static fc_kind_t kind_of(fc_verb_t verb) {
  static const struct {
    const char *word;
    fc_kind_t kind;
  } kRows[] = {{"/FUNCTION", KIND_FUNCTIONS},
               {"MODULE", KIND_MODULES},
               {"CODE", KIND_CODES},
               {"bash", KIND_SHELLS}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    if (strstr(fc_verbs[verb].words, kRows[i].word)) return kRows[i].kind;
  }
  return KIND_FILES;
}

// Prints `text`, part of a word in single quotes, with a backslash before each character
// of `marks`. `quote` is how the shell writes a single quote there.
static void print_quoted(FILE *stream, const char *text, const char *marks,
                         const char *quote) {
  for (; *text; text++) {
    if (*text == '\'') fputs(quote, stream);
    else if (strchr(marks, *text)) fprintf(stream, "\\%c", *text);
    else fputc(*text, stream);
  }
}

// ---------------------------------------------------------------------------
// bash

static void print_bash_verb(FILE *stream, fc_verb_t verb) {
  static const char *const kWords[] = {
      [KIND_FILES] = NULL,
      [KIND_FUNCTIONS] = "mapfile -t words < <(" FUNCTIONS ")",
      [KIND_MODULES] = "mapfile -t words < <(" MODULES ")",
      [KIND_CODES] = "mapfile -t words < <(" CODES ")",
      [KIND_SHELLS] = "words=(bash zsh fish)",
  };
  fprintf(stream, "    %s)\n      options=(", fc_verbs[verb].name);
  for (size_t i = 0, seen = 0; i < FC_OPTION_COUNT; i++) {
    const fc_option_info_t *option = &fc_cli_options[i];
    if (!fc_option_belongs((fc_cli_option_t)i, verb)) continue;
    fprintf(stream, "%s--%s%s", seen++ ? " " : "", option->name,
            option->value ? "=" : "");
  }
  fputs(")\n", stream);
  if (kWords[kind_of(verb)]) {
    fprintf(stream, "      [[ $cur == -* ]] || %s\n", kWords[kind_of(verb)]);
  }
  fputs("      ;;\n", stream);
}

static void print_bash(FILE *stream) {
  fputs(
      "# SPDX-License-Identifier: Apache-2.0\n"
      "#\n"
      "# What bash offers for farcall: farcall completion bash\n"
      "_farcall() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local options=() words=() word\n"
      "  COMPREPLY=()\n"
      "  # '=' is a word of its own; a file may follow.\n"
      "  if [[ $cur == = || $prev == = ]]; then\n"
      "    [[ $cur != = ]] || cur=\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
      "    return\n"
      "  fi\n"
      "  local verb=${COMP_WORDS[1]}\n"
      "  [[ $COMP_CWORD -gt 1 ]] || verb=\n"
      "  case $verb in\n"
      "    '')\n"
      "      words=(",
      stream);
  for (size_t i = 0; i < FC_VERB_COUNT; i++) {
    fprintf(stream, "%s ", fc_verbs[i].name);
  }
  fputs("help version)\n      options=(--help --version)\n      ;;\n", stream);
  for (size_t i = 0; i < FC_VERB_COUNT; i++) {
    print_bash_verb(stream, (fc_verb_t)i);
  }
  fputs(
      "  esac\n"
      "  [[ $cur != -* ]] || words=(\"${options[@]}\")\n"
      "  # Bash inserts an offer as it is, so names are quoted; compgen -W would\n"
      "  # run the commands in them.\n"
      "  for word in \"${words[@]}\"; do\n"
      "    printf -v word %q \"$word\"\n"
      "    [[ $word != \"$cur\"* ]] || COMPREPLY+=(\"$word\")\n"
      "  done\n"
      "  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || "
      "compopt -o nospace\n"
      "}\n"
      "complete -o default -F _farcall farcall\n",
      stream);
}

// ---------------------------------------------------------------------------
// zsh

static void print_zsh_option(FILE *stream, const fc_option_info_t *option,
                             bool is_letter) {
  fputs("        '*", stream);
  if (is_letter)
    fprintf(stream, "-%c%s", option->letter, option->value ? "+" : "");
  else fprintf(stream, "--%s%s", option->name, option->value ? "=" : "");
  fputc('[', stream);
  print_quoted(stream, option->help, "[]\\:", "'\\''");
  fputc(']', stream);
  if (option->value) {
    fputs(fc_option_may_lack_value(option) ? "::" : ":", stream);
    print_quoted(stream, option->value, "[]\\:", "'\\''");
    fputs(":_files", stream);
  }
  fputs("' \\\n", stream);
}

static void print_zsh_verb(FILE *stream, fc_verb_t verb) {
  static const char *const kActions[] = {
      [KIND_FILES] = "_files",
      [KIND_FUNCTIONS] = "_farcall_functions",
      [KIND_MODULES] = "_farcall_modules",
      [KIND_CODES] = "_farcall_codes",
      [KIND_SHELLS] = "(bash zsh fish)",
  };
  fprintf(stream, "    %s)\n      _arguments \\\n", fc_verbs[verb].name);
  for (size_t i = 0; i < FC_OPTION_COUNT; i++) {
    const fc_option_info_t *option = &fc_cli_options[i];
    if (!fc_option_belongs((fc_cli_option_t)i, verb)) continue;
    if (option->letter) print_zsh_option(stream, option, true);
    print_zsh_option(stream, option, false);
  }
  fprintf(stream, "        '*: :%s' ;;\n", kActions[kind_of(verb)]);
}

static void print_zsh(FILE *stream) {
  fputs("#compdef farcall\n"
        "# SPDX-License-Identifier: Apache-2.0\n"
        "#\n"
        "# What zsh offers for farcall: farcall completion zsh\n"
        "_farcall_functions() { compadd -- ${(f)\"$(" FUNCTIONS
        ")\"} || _files }\n"
        "_farcall_modules() { compadd -- ${(f)\"$(" MODULES ")\"} }\n"
        "_farcall_codes() { compadd -- ${(f)\"$(" CODES ")\"} }\n"
        "_farcall() {\n"
        "  if (( CURRENT == 2 )); then\n"
        "    local -a verbs\n"
        "    verbs=(\n",
        stream);
  for (size_t i = 0; i < FC_VERB_COUNT; i++) {
    fprintf(stream, "      '%s:", fc_verbs[i].name);
    print_quoted(stream, fc_verbs[i].summary, "", "'\\''");
    fputs("'\n", stream);
  }
  fputs("    )\n"
        "    _describe verb verbs\n"
        "    return\n"
        "  fi\n"
        "  local verb=$words[2]\n"
        "  shift words\n"
        "  (( CURRENT-- ))\n"
        "  case $verb in\n",
        stream);
  for (size_t i = 0; i < FC_VERB_COUNT; i++) {
    print_zsh_verb(stream, (fc_verb_t)i);
  }
  fputs("  esac\n}\n_farcall \"$@\"\n", stream);
}

// ---------------------------------------------------------------------------
// fish

static void print_fish_verb(FILE *stream, fc_verb_t verb) {
  static const char *const kWords[] = {
      [KIND_FILES] = NULL,
      [KIND_FUNCTIONS] = "(" FUNCTIONS ")",
      [KIND_MODULES] = "(" MODULES ")",
      [KIND_CODES] = "(" CODES ")",
      [KIND_SHELLS] = "bash zsh fish",
  };
  const char *name = fc_verbs[verb].name;
  fprintf(stream, "complete -c farcall -f -n __fish_use_subcommand -a %s -d '",
          name);
  print_quoted(stream, fc_verbs[verb].summary, "\\", "\\'");
  fputs("'\n", stream);
  for (size_t i = 0; i < FC_OPTION_COUNT; i++) {
    const fc_option_info_t *option = &fc_cli_options[i];
    if (!fc_option_belongs((fc_cli_option_t)i, verb)) continue;
    fprintf(stream, "complete -c farcall -n '__fish_seen_subcommand_from %s'",
            name);
    if (option->letter) fprintf(stream, " -s %c", option->letter);
    fprintf(stream, " -l %s%s -d '", option->name,
            option->value && !fc_option_may_lack_value(option) ? " -r -F" : "");
    print_quoted(stream, option->help, "\\", "\\'");
    fputs("'\n", stream);
  }
  if (!kWords[kind_of(verb)]) return;
  const bool files = strstr(fc_verbs[verb].words, "FILE") != NULL;
  fprintf(
      stream,
      "complete -c farcall%s -n '__fish_seen_subcommand_from %s' -a \"%s\"\n",
      files ? "" : " -f", name, kWords[kind_of(verb)]);
}

static void print_fish(FILE *stream) {
  fputs("# SPDX-License-Identifier: Apache-2.0\n"
        "#\n"
        "# What fish offers for farcall: farcall completion fish\n",
        stream);
  for (size_t i = 0; i < FC_VERB_COUNT; i++) {
    print_fish_verb(stream, (fc_verb_t)i);
  }
}

// ---------------------------------------------------------------------------
// The verb

int fc_verb_completion(const fc_args_t *args) {
  static const struct {
    const char *shell;
    void (*print)(FILE *stream);
  } kShells[] = {
      {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kShells); i++) {
    if (args->word_count != 1 || strcmp(args->words[0], kShells[i].shell) != 0)
      continue;
    kShells[i].print(stdout);
    return FC_EXIT_OK;
  }
  return fc_complain(FC_EXIT_USAGE, "completion takes one of bash, zsh, fish");
}
