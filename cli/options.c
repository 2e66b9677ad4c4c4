// SPDX-License-Identifier: Apache-2.0
//
// The command line: parses it by the table, prints help and hints. It does not know the
// meaning of any verb.
#include "cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "others.h"
#include "serve/flags.h"
#include "style.h"

const fc_verb_info_t fc_verbs[FC_VERB_COUNT] = {
#define FC_VERB(id, name, call, words, summary) {name, words, summary},
#include "options.def"
};

const fc_option_info_t fc_cli_options[FC_OPTION_COUNT] = {
#define FC_OPTION(id, verbs, letter, name, value, help) \
  {verbs, letter, name, value, help},
#include "options.def"
};

// Returns the size of the control character at `at`, 0 if there is none. C1 controls are
// two bytes of UTF-8.
static size_t control_size(fc_str_t text, size_t at, bool one_line) {
  const unsigned char c = (unsigned char)text.data[at];
  if (!one_line && (c == '\n' || c == '\t')) return 0;
  if (c < 0x20 || c == 0x7F) return 1;
  if (c != 0xC2 || at + 1 == text.size) return 0;
  const unsigned char next = (unsigned char)text.data[at + 1];
  return next >= 0x80 && next < 0xA0 ? 2 : 0;
}

static void show(FILE *stream, fc_str_t text, bool one_line) {
  size_t shown = 0, i = 0;
  while (i < text.size) {
    const size_t size = control_size(text, i, one_line);
    if (!size) {
      i++;
      continue;
    }
    if (i > shown) fwrite(text.data + shown, 1, i - shown, stream);
    // For a C1 control, the second byte is the character's number.
    fprintf(stream, "\\u%04x", (unsigned char)text.data[i + size - 1]);
    shown = i += size;
  }
  if (i > shown) fwrite(text.data + shown, 1, i - shown, stream);
}

void fc_show(FILE *stream, fc_str_t text) { show(stream, text, false); }

void fc_show_text(const char *text) { show(stdout, fc_str(text), true); }

int fc_complain(int exit_code, const char *format, ...) {
  char text[8192];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fflush(stdout);
  const bool note = !strncmp(text, "note: ", 6);
  fprintf(stderr, "%sfarcall:%s ",
          fc_style(stderr, note ? FC_STYLE_DIM : FC_STYLE_BAD),
          fc_style(stderr, FC_STYLE_PLAIN));
  fc_show(stderr, fc_str(text));
  fputc('\n', stderr);
  return exit_code;
}

// Is this a code that farcall explain knows? A server may be of a later release, or send
// any text.
static bool is_code(const char *text) {
  for (size_t i = FC_CODE_NONE + 1; i < FC_CODE_COUNT; i++) {
    if (!strcmp(text, fc_code_info((fc_code_t)i)->text)) return true;
  }
  return false;
}

int fc_complain_call(int http_status, const char *code, const char *detail,
                     const char *hint, const char *pointer,
                     uint64_t byte_offset) {
  char status[16] = "", where[32] = "";
  if (http_status) snprintf(status, sizeof status, "%d ", http_status);
  // A JSON syntax error is at a place in the text; any other error is about a value.
  bool syntax = !strncmp(code, "json_", 5) && byte_offset != FC_NO_OFFSET;
  if (*pointer) {
    snprintf(where, sizeof where, ", at ");
  } else if (syntax) {
    snprintf(where, sizeof where, ", at byte %" PRIu64, byte_offset);
  }
  const int exit_code = fc_complain(FC_EXIT_FAILED, "%s%s: %s%s%s%s", status,
                                    code, detail, hint, where, pointer);
  // Shown only on a terminal with colours. A program that reads the last line must find
  // the error itself there.
  const char *dim = fc_style(stderr, FC_STYLE_DIM);
  if (*dim && is_code(code)) {
    fprintf(stderr, "%sfarcall explain %s says more%s\n", dim, code,
            fc_style(stderr, FC_STYLE_PLAIN));
  }
  return exit_code;
}

const char *fc_nearest(const char *text, const char *const *names,
                       size_t count) {
  const char *nearest = NULL;
  fc_nearest_t search = fc_nearest_begin(fc_str(text));
  for (size_t i = 0; i < count; i++) {
    if (fc_nearest_offer(&search, fc_str(names[i]))) nearest = names[i];
  }
  return nearest;
}

fc_verb_t fc_verb_find(const char *name) {
  const char *names[FC_VERB_COUNT];
  for (size_t i = 0; i < FC_VERB_COUNT; i++) {
    if (!strcmp(name, fc_verbs[i].name)) return (fc_verb_t)i;
    names[i] = fc_verbs[i].name;
  }
  const char *near = fc_nearest(name, names, FC_VERB_COUNT);
  if (near) {
    fc_complain(0, "no verb '%s': did you mean '%s'?", name, near);
  } else {
    fc_complain(0, "no verb '%s'; farcall --help lists them", name);
  }
  return FC_VERB_COUNT;
}

const char *fc_verb_name(fc_verb_t verb) { return fc_verbs[verb].name; }

bool fc_option_may_lack_value(const fc_option_info_t *info) {
  return info->value && !strncmp(info->value, "[=", 2);
}

bool fc_option_belongs(fc_cli_option_t option, fc_verb_t verb) {
  return fc_cli_options[option].verbs & 1u << verb;
}

// Returns the option of `verb` that is named by the part of a word before `=`;
// FC_OPTION_COUNT if there is none.
static size_t find_long(fc_verb_t verb, fc_str_t text) {
  for (size_t i = 0; i < FC_OPTION_COUNT; i++) {
    if (fc_option_belongs((fc_cli_option_t)i, verb) &&
        fc_str_equal(text, fc_str(fc_cli_options[i].name))) {
      return i;
    }
  }
  return FC_OPTION_COUNT;
}

static size_t find_letter(fc_verb_t verb, char letter) {
  for (size_t i = 0; i < FC_OPTION_COUNT; i++) {
    if (fc_option_belongs((fc_cli_option_t)i, verb) && letter &&
        fc_cli_options[i].letter == letter)
      return i;
  }
  return FC_OPTION_COUNT;
}

// More than the options of any verb, with those that the verb passes on.
#define NAMES_MAX 256

static bool refuse_option(fc_arena_t *arena, fc_verb_t verb, fc_str_t text) {
  const char *names[NAMES_MAX];
  size_t count = 0;
  for (size_t i = 0; i < FC_OPTION_COUNT; i++) {
    if (fc_option_belongs((fc_cli_option_t)i, verb))
      names[count++] = fc_cli_options[i].name;
  }
  if (verb == FC_VERB_SERVE) {
    count += fc_serve_flag_names(names + count, NAMES_MAX - count);
  }
  fc_str_t copy = fc_arena_copy(arena, text);
  const char *near = copy.data ? fc_nearest(copy.data, names, count) : NULL;
  // The user may have meant the end of a name: for farcalld's --call-timeout this finds
  // --timeout.
  for (size_t i = 0; i < count && !near; i++) {
    const size_t size = strlen(names[i]);
    if (text.size > size && text.data[text.size - size - 1] == '-' &&
        fc_str_ends(text, fc_str(names[i]))) {
      near = names[i];
    }
  }
  const char *foreign =
      verb == FC_VERB_SERVE ? fc_serve_flag_foreign(text) : NULL;
  if (foreign) {
    fc_complain(0, "serve has no option '--%.*s': %s", FC_STR_ARG(text),
                foreign);
  } else if (near) {
    fc_complain(0, "%s has no option '--%.*s': did you mean '--%s'?",
                fc_verbs[verb].name, FC_STR_ARG(text), near);
  } else {
    fc_complain(0, "%s has no option '--%.*s'; farcall %s --help lists them",
                fc_verbs[verb].name, FC_STR_ARG(text), fc_verbs[verb].name);
  }
  return false;
}

// Reads the option argv[*at], which starts with '-', and moves *at past its words.
static bool take_option(fc_arena_t *arena, fc_verb_t verb, int argc,
                        char **argv, int *at, fc_flag_t *out_flag) {
  const char *text = argv[*at];
  const char *value = NULL;
  size_t option;
  if (text[1] == '-') {
    const char *equals = strchr(text, '=');
    size_t size = equals ? (size_t)(equals - text) : strlen(text);
    fc_str_t name = {text + 2, size - 2};
    option = find_long(verb, name);
    if (option == FC_OPTION_COUNT) return refuse_option(arena, verb, name);
    if (equals) value = equals + 1;
  } else {
    option = find_letter(verb, text[1]);
    if (option == FC_OPTION_COUNT) {
      fc_complain(0, "%s has no option '-%c'; farcall %s --help lists them",
                  fc_verbs[verb].name, text[1], fc_verbs[verb].name);
      return false;
    }
    if (text[2]) value = text + 2;
  }
  const fc_option_info_t *info = &fc_cli_options[option];
  if (!value && fc_option_may_lack_value(info)) value = "";
  if (value && !info->value) {
    fc_complain(0, "--%s takes no value", info->name);
    return false;
  }
  if (info->value && !value) {
    if (*at + 1 == argc) {
      fc_complain(0, "--%s needs a value: --%s=%s", info->name, info->name,
                  info->value);
      return false;
    }
    value = argv[++*at];
  }
  ++*at;
  *out_flag = (fc_flag_t){(fc_cli_option_t)option, value};
  return true;
}

// Returns the value of the flag argv[*at] of another program, and moves *at past its
// words. NULL, after a complaint: there is no value.
static const char *take_value(const fc_other_t *other, int argc, char **argv,
                              int *at) {
  const char *equals = strchr(argv[*at], '=');
  if (!equals && *at + 1 == argc) {
    fc_complain(0, "--%s needs a value: --%s=VALUE", other->flag, other->flag);
    return NULL;
  }
  const char *value = equals ? equals + 1 : argv[*at + 1];
  *at += equals ? 1 : 2;
  return value;
}

// Handles the flag argv[*at] of another program. If it means a flag or a word of farcall,
// adds that to `args`, whose arrays are `flags` and `words`.
static bool take_other(const fc_other_t *other, int argc, char **argv, int *at,
                       fc_flag_t *flags, const char **words, fc_args_t *args) {
  const char *value = NULL;
  if (other->kind == FC_OTHER_REFUSED) {
    fc_complain(0, "%.*s is a flag of %s: %s", (int)strcspn(argv[*at], "="),
                argv[*at], other->program, other->text);
    return false;
  }
  if (!(value = take_value(other, argc, argv, at))) return false;
  if (other->kind == FC_OTHER_DEVICE) return fc_other_check_device(value);
  if (other->kind == FC_OTHER_WORD) words[args->word_count++] = value;
  if (other->kind == FC_OTHER_OPTION) {
    flags[args->flag_count++] = (fc_flag_t){other->option, value};
  }
  return true;
}

// Returns how many words the flag `text` takes if `verb` passes it on; 0: it is the
// verb's own.
static size_t count_passed(fc_verb_t verb, const char *text) {
  const fc_str_t name = {text + 2, strcspn(text, "=") - 2};
  if (verb != FC_VERB_SERVE) return 0;
  if (text[1] == '-' ? find_long(verb, name) != FC_OPTION_COUNT
                     : find_letter(verb, text[1]) != FC_OPTION_COUNT) {
    return 0;
  }
  return fc_serve_flag_words(text);
}

bool fc_args_parse(fc_arena_t *arena, fc_verb_t verb, int argc, char **argv,
                   fc_args_t *out_args) {
  size_t room = (size_t)argc + 1;
  fc_flag_t *flags = fc_arena_alloc_array(arena, room, sizeof *flags);
  const char **words = fc_arena_alloc_array(arena, room, sizeof *words);
  const char **passed = fc_arena_alloc_array(arena, room, sizeof *passed);
  if (!flags || !words || !passed) {
    fc_complain(0, "out of memory");
    return false;
  }
  fc_args_t args = {.arena = arena, .verb = verb, .flags = flags};
  args.words = words;
  args.passed = passed;
  bool options = true;
  for (int at = 0; at < argc;) {
    const char *text = argv[at];
    const fc_other_t *other = NULL;
    size_t own = 0;
    if (!options || text[0] != '-' || !text[1]) {
      words[args.word_count++] = text;
      at++;
    } else if (!strcmp(text, "--")) {
      options = false;
      at++;
    } else if ((own = count_passed(verb, text)) > (size_t)(argc - at)) {
      fc_complain(0, "%s needs a value", text);
      return false;
    } else if (own > 0) {
      for (; own > 0; own--) passed[args.passed_count++] = argv[at++];
    } else if ((other = fc_other_find(verb, text))) {
      if (!take_other(other, argc, argv, &at, flags, words, &args)) {
        return false;
      }
    } else if (!take_option(arena, verb, argc, argv, &at,
                            &flags[args.flag_count++])) {
      return false;
    }
  }
  *out_args = args;
  return true;
}

bool fc_args_has(const fc_args_t *args, fc_cli_option_t option) {
  for (size_t i = 0; i < args->flag_count; i++) {
    if (args->flags[i].option == option) return true;
  }
  return false;
}

const char *fc_args_get(const fc_args_t *args, fc_cli_option_t option,
                        const char *otherwise) {
  for (size_t i = args->flag_count; i-- > 0;) {
    if (args->flags[i].option == option) return args->flags[i].value;
  }
  return otherwise;
}

// Prints the text in a column of that many characters, and begins a new line behind it
// if it is too long.
static void print_column(const char *text, int width, int indent) {
  int size = 0;
  for (const char *at = text; *at; at++) size += (*at & 0xC0) != 0x80;
  if (size > width) printf("%s\n%*s", text, indent + width, "");
  else printf("%s%*s", text, width - size, "");
}

static void print_option(const fc_option_info_t *info) {
  char left[64];
  const char *equals =
      info->value && !fc_option_may_lack_value(info) ? "=" : "";
  snprintf(left, sizeof left, "--%s%s%s", info->name, equals,
           info->value ? info->value : "");
  const char *bold = fc_style(stdout, FC_STYLE_BOLD);
  const char *plain = fc_style(stdout, FC_STYLE_PLAIN);
  char letter[8] = "   ";
  if (info->letter) snprintf(letter, sizeof letter, "-%c,", info->letter);
  printf("  %s%s ", bold, letter);
  print_column(left, 22, 6);
  printf("%s %s\n", plain, info->help);
}

static bool is_act(fc_verb_t verb) {
  return verb >= FC_VERB_LOAD && verb <= FC_VERB_RELOAD;
}

// --help prints this for the verbs that a server may refuse.
static const char kActs[] =
    "load, unload, promote, rollback and reload need a Unix socket of the "
    "server, which they\nfind where XDG_RUNTIME_DIR is set, farcalld "
    "--admin=loopback, or a token with the scope\nadmin.\n";

void fc_print_help(fc_verb_t verb) {
  if (verb != FC_VERB_COUNT) {
    const fc_verb_info_t *info = &fc_verbs[verb];
    printf("usage: farcall %s [options]%s%s\n\n%s\n\noptions:\n", info->name,
           *info->words ? " " : "", info->words, info->summary);
    for (size_t i = 0; i < FC_OPTION_COUNT; i++) {
      if (fc_option_belongs((fc_cli_option_t)i, verb))
        print_option(&fc_cli_options[i]);
    }
    if (is_act(verb)) printf("\n%s", kActs);
    return;
  }
  printf(
      "usage: farcall VERB [options] ...\n\n"
      "Compiled MLIR and IREE functions, from the command line.\n\nverbs:\n");
  for (size_t i = 0; i < FC_VERB_COUNT; i++) {
    printf("  %s%-10s%s ", fc_style(stdout, FC_STYLE_BOLD), fc_verbs[i].name,
           fc_style(stdout, FC_STYLE_PLAIN));
    print_column(fc_verbs[i].words, 30, 13);
    printf(" %s\n", fc_verbs[i].summary);
  }
  printf("\n%sfarcall VERB --help says more; farcall --version prints the "
         "version.\n",
         kActs);
}
