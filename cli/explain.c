// SPDX-License-Identifier: Apache-2.0
//
// farcall explain: what a code of an error means, and what to try next. It asks no
// server.
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
#include "explain.def"
};

// Every code but FC_CODE_NONE, none of them twice: the table has their order.
_Static_assert(FC_ARRAY_COUNT(kExplanations) == FC_CODE_COUNT - 1,
               "cli/explain.def has as many rows as farcall/error.def");

static void print_list(void) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kExplanations); i++) {
    const fc_code_info_t *info = fc_code_info(kExplanations[i].code);
    printf("%-24s %s\n", info->text, info->title);
  }
}

static void print_one(const fc_explanation_t *explanation) {
  const fc_code_info_t *info = fc_code_info(explanation->code);
  printf("%s%s%s: %s\n\n%s\n\n%stry:%s %s\n", fc_style(stdout, FC_STYLE_BOLD),
         info->text, fc_style(stdout, FC_STYLE_PLAIN), info->title,
         explanation->meaning, fc_style(stdout, FC_STYLE_GOOD),
         fc_style(stdout, FC_STYLE_PLAIN), explanation->next);
}

static int refuse(const char *word) {
  const char *names[FC_ARRAY_COUNT(kExplanations)];
  for (size_t i = 0; i < FC_ARRAY_COUNT(names); i++) {
    names[i] = fc_code_info(kExplanations[i].code)->text;
  }
  const char *near = fc_nearest(word, names, FC_ARRAY_COUNT(names));
  if (near) {
    return fc_complain(FC_EXIT_USAGE, "no code '%s': did you mean '%s'?", word,
                       near);
  }
  return fc_complain(FC_EXIT_USAGE, "no code '%s'; farcall explain lists them",
                     word);
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
  for (size_t i = 0; i < FC_ARRAY_COUNT(kExplanations); i++) {
    if (strcmp(word, fc_code_info(kExplanations[i].code)->text) != 0) continue;
    print_one(&kExplanations[i]);
    return FC_EXIT_OK;
  }
  return refuse(word);
}
