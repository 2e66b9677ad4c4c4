// SPDX-License-Identifier: Apache-2.0
//
// farcall call: one function of a server. The document is the one `run` takes.
#include <stdio.h>

#include "file.h"
#include "input.h"
#include "remote.h"

// Prints `text` as one word of a POSIX shell.
static void print_word(const char *text) {
  putchar('\'');
  for (; *text; text++) {
    if (*text == '\'') fputs("'\\''", stdout);
    else putchar(*text);
  }
  putchar('\'');
}

static int print_curl(const fc_args_t *args, const fc_server_t *server,
                      const char *target, fc_str_t document) {
  const char *url = fc_print(args->arena, "http://%s%s%s", server->authority,
                             server->prefix, target);
  if (!url) return fc_complain(FC_EXIT_FAILED, "out of memory");
  const char *json = fc_args_get(args, FC_OPTION_JSON, "");
  fputs("curl -sS -H 'Content-Type: application/json' ", stdout);
  if (server->socket) {
    fputs("--unix-socket ", stdout);
    print_word(server->socket);
    putchar(' ');
  }
  print_word(url);
  fputs(" --data-binary ", stdout);
  // A text that begins with '@' names a file, for curl as for farcall. No
  // document begins so.
  print_word(json[0] == '@' ? json : document.data);
  putchar('\n');
  return FC_EXIT_OK;
}

int fc_verb_call(const fc_args_t *args) {
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE,
                       "call takes one MODULE/FUNCTION, got %zu%s",
                       args->word_count, fc_input_words_hint(args));
  }
  const char *target = fc_remote_target(args, args->words[0]);
  if (!target) return FC_EXIT_USAGE;
  fc_error_t err;
  fc_server_t server;
  fc_answer_t answer;
  fc_str_t document;
  fc_error_reset(&err);
  if (fc_remote_server(args, &server, &err)) return fc_remote_complain(&err);
  int exit_code = fc_input_document(args, &document);
  if (exit_code) return exit_code;
  if (fc_args_has(args, FC_OPTION_CURL)) {
    return print_curl(args, &server, target, document);
  }
  if (fc_server_ask(args->arena, &server, target, document, &answer, &err)) {
    return fc_remote_complain(&err);
  }
  if (answer.status != 200) return fc_remote_refused(args, &answer);
  if (!answer.is_json || !fc_output_is_answer(answer.body)) {
    return fc_remote_strange(&answer);
  }
  return fc_output_print(args, answer.body);
}
