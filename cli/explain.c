// SPDX-License-Identifier: Apache-2.0
//
// farcall explain: says what a code of an error or condition means, and what to try next.
// Needs no server.
#include <stdio.h>

#include "cli.h"
#include "style.h"

typedef struct fc_explanation_t {
  fc_code_t code;
  const char *meaning;
  const char *next;
} fc_explanation_t;

static const fc_explanation_t kExplanations[] = {
#define FC_EXPLAIN(name, meaning, next) {FC_CODE_##name, meaning, next},
#define FC_EXPLAIN_CONDITION(name, next)
#include "explain.def"
#undef FC_EXPLAIN
#undef FC_EXPLAIN_CONDITION
};

_Static_assert(FC_ARRAY_COUNT(kExplanations) == FC_CODE_COUNT - 1,
               "cli/explain.def has as many rows as farcall/error.def");

typedef struct condition_t {
  const char *code;
  const char *text;
} condition_t;

static const condition_t kConditions[] = {
#define FC_CONDITION(id, of, code, severity, seen_by, text) {code, text},
#include "dialect/condition.def"
};

enum {
#define FC_CONDITION(id, ...) CONDITION_##id,
#include "dialect/condition.def"
};

static const char *const kNext[] = {
#define FC_EXPLAIN(name, meaning, next)
#define FC_EXPLAIN_CONDITION(name, next) [CONDITION_##name] = next,
#include "explain.def"
};

#define CODES FC_ARRAY_COUNT(kExplanations)
#define CONDITIONS FC_ARRAY_COUNT(kConditions)
_Static_assert(FC_ARRAY_COUNT(kNext) == CONDITIONS, "one for each condition");

static void print_list(void) {
  for (size_t i = 0; i < CODES; i++) {
    const fc_code_info_t *info = fc_code_info(kExplanations[i].code);
    printf("%-24s %s\n", info->text, info->title);
  }
  puts("\nWhat farcall ls --long, top and health may show:");
  for (size_t i = 0; i < CONDITIONS; i++) {
    printf("%-24s %s\n", kConditions[i].code, kConditions[i].text);
  }
}

static void print_one(const char *code, const char *title, const char *meaning,
                      const char *next) {
  printf("%s%s%s: %s\n\n%s\n\n%stry:%s %s\n", fc_style(stdout, FC_STYLE_BOLD),
         code, fc_style(stdout, FC_STYLE_PLAIN), title, meaning,
         fc_style(stdout, FC_STYLE_GOOD), fc_style(stdout, FC_STYLE_PLAIN),
         next);
}

static int refuse(const char *word) {
  const char *names[CODES + CONDITIONS];
  for (size_t i = 0; i < CODES; i++) {
    names[i] = fc_code_info(kExplanations[i].code)->text;
  }
  for (size_t i = 0; i < CONDITIONS; i++)
    names[CODES + i] = kConditions[i].code;
  const char *near = fc_nearest(word, names, FC_ARRAY_COUNT(names));
  if (near) {
    return fc_complain(FC_EXIT_USAGE, "no code '%s': did you mean '%s'?", word,
                       near);
  }
  return fc_complain(FC_EXIT_USAGE, "no code '%s'; farcall explain lists them",
                     word);
}

// Explains a code. Some codes stand for an error and for a condition: explains both.
static bool explain(const char *word) {
  bool found = false;
  for (size_t i = 0; i < CODES; i++) {
    const fc_code_info_t *info = fc_code_info(kExplanations[i].code);
    if (strcmp(word, info->text) != 0) continue;
    print_one(info->text, info->title, kExplanations[i].meaning,
              kExplanations[i].next);
    found = true;
  }
  for (size_t i = 0; i < CONDITIONS; i++) {
    if (strcmp(word, kConditions[i].code) != 0) continue;
    if (found) putchar('\n');
    print_one(word, "Condition of a server or module", kConditions[i].text,
              kNext[i]);
    found = true;
  }
  return found;
}

int fc_verb_explain(const fc_args_t *args) {
  static const char kType[] = "urn:farcall:error:";
  if (!args->word_count) {
    print_list();
    return FC_EXIT_OK;
  }
  if (args->word_count > 1) {
    return fc_complain(FC_EXIT_USAGE, "explain takes one CODE, got %zu",
                       args->word_count);
  }
  const char *word = args->words[0];
  if (!strncmp(word, kType, sizeof kType - 1)) word += sizeof kType - 1;
  return explain(word) ? FC_EXIT_OK : refuse(word);
}
