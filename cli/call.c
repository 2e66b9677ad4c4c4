// SPDX-License-Identifier: Apache-2.0
//
// farcall call, and farcall profile with --server: call one function of a server. The
// document is the same as for `run`.
#include <stdio.h>

#include "file.h"
#include "flame.h"
#include "grpc/verbs.h"
#include "input.h"
#include "remote.h"
#include "session.h"
#include "steps.h"

static bool iterates(const fc_args_t *args) {
  return fc_args_has(args, FC_OPTION_ITERATE);
}

// Prints `text` as one word of a POSIX shell.
static void print_word(const char *text) {
  putchar('\'');
  for (; *text; text++) {
    if (*text == '\'') fputs("'\\''", stdout);
    else putchar(*text);
  }
  putchar('\'');
}

static void print_file(const char *option, const char *name) {
  if (!name) return;
  printf("%s ", option);
  print_word(name);
  putchar(' ');
}

// Everybody on the machine can read the arguments of a program, but not those of a shell
// builtin. So printf passes the token to curl.
static void print_token(const fc_args_t *args) {
  const char *option = fc_args_get(args, FC_OPTION_TOKEN, "");
  fputs("printf 'Authorization: Bearer %s\\n' \"$", stdout);
  if (*option) fputs("(head -n 1 ", stdout);
  if (*option) print_word(option + 1);
  fputs(*option ? ")\" | " : "FARCALL_TOKEN\" | ", stdout);
}

static int print_curl(const fc_args_t *args, const fc_remote_t *server,
                      const char *target, fc_str_t document) {
  const char *url =
      fc_print(args->arena, "%s://%s%s%s", server->is_https ? "https" : "http",
               server->authority, server->prefix, target);
  if (!url) return fc_complain(FC_EXIT_FAILED, "out of memory");
  const char *json = fc_args_get(args, FC_OPTION_JSON, "");
  if (server->authorization) print_token(args);
  fputs(iterates(args) ? "curl -sSN " : "curl -sS ", stdout);
  fputs(server->authorization ? "-H @- " : "", stdout);
  fputs("-H 'Content-Type: application/json' ", stdout);
  if (server->session) {
    printf("-H '%.*s' ", (int)strcspn(server->session, "\r"), server->session);
  }
  print_file("--unix-socket", server->socket);
  print_file("--cacert", server->rules.ca);
  print_file("--cert", server->rules.certificate);
  print_file("--key", server->rules.key);
  print_word(url);
  fputs(" --data-binary ", stdout);
  // Text that begins with '@' names a file, for curl as for farcall; no document begins
  // with '@'. Not with a token and /dev/stdin: then the token comes on standard input.
  const bool is_file =
      json[0] == '@' && !iterates(args) &&
      (!server->authorization || strcmp(json, "@/dev/stdin") != 0);
  print_word(is_file ? json : document.data);
  putchar('\n');
  return FC_EXIT_OK;
}

static bool is_profiled(const fc_args_t *args) {
  return args->verb == FC_VERB_PROFILE || fc_args_has(args, FC_OPTION_PROFILE);
}

static int read_document(const fc_args_t *args, const char *target,
                         fc_str_t *out_document) {
  if (!fc_args_has(args, FC_OPTION_EXAMPLE)) {
    return fc_input_document(args, NULL, out_document);
  }
  const int exit_code = fc_input_check(args);
  if (exit_code) return exit_code;
  return fc_remote_example(args, target, out_document);
}

static int make_document(const fc_args_t *args, const char *target,
                         fc_str_t *out_document) {
  int exit_code = read_document(args, target, out_document);
  if (!exit_code && iterates(args)) {
    exit_code = fc_steps_put(args, out_document);
  }
  return exit_code;
}

// The verb profile shows only the profile; call also prints the results.
static int print_profiled(const fc_args_t *args, fc_str_t answer) {
  fc_str_t profile;
  if (!fc_output_take_profile(args->arena, &answer, &profile)) {
    return fc_complain(FC_EXIT_UNAVAILABLE, "the answer has no profile");
  }
  if (args->verb == FC_VERB_PROFILE) {
    return fc_flame_report(args, profile, stdout);
  }
  const int exit_code = fc_output_print(args, answer);
  return exit_code ? exit_code : fc_flame_report(args, profile, stderr);
}

// Makes the Farcall-Session field.
static int read_session(const fc_args_t *args, const char **out_line) {
  const char *text = fc_args_get(args, FC_OPTION_SESSION, NULL), *id;
  *out_line = NULL;
  if (!text) return FC_EXIT_OK;
  const int exit_code = fc_session_read_id(args, text, &id);
  if (exit_code) return exit_code;
  *out_line = fc_print(args->arena, "Farcall-Session: %s\r\n", id);
  return *out_line ? FC_EXIT_OK : fc_complain(FC_EXIT_FAILED, "out of memory");
}

int fc_verb_call(const fc_args_t *args) {
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "%s takes one MODULE/FUNCTION, got %zu%s",
                       fc_verb_name(args->verb), args->word_count,
                       fc_input_words_hint(args));
  }
  if (fc_args_has(args, FC_OPTION_SPEEDSCOPE) && !is_profiled(args)) {
    return fc_complain(FC_EXIT_USAGE, "--speedscope is of --profile");
  }
  const char *target;
  fc_error_t err;
  fc_remote_t server;
  fc_reply_t answer;
  fc_str_t document;
  fc_error_reset(&err);
  int exit_code = fc_steps_check(args);
  if (exit_code) return exit_code;
  if (fc_remote_server(args, &server, &err)) return fc_remote_complain(&err);
  if (server.is_grpc) return fc_rpc_call(args, &server);
  exit_code = fc_remote_target(args, args->words[0], &target);
  if (exit_code) return exit_code;
  exit_code = make_document(args, target, &document);
  if (!exit_code) exit_code = read_session(args, &server.session);
  if (exit_code) return exit_code;
  if (is_profiled(args) || iterates(args)) {
    target = fc_print(args->arena, "%s?%s", target,
                      iterates(args) ? "iterate" : "profile=1");
    if (!target) return fc_complain(FC_EXIT_FAILED, "out of memory");
  }
  if (fc_args_has(args, FC_OPTION_CURL)) {
    return print_curl(args, &server, target, document);
  }
  if (iterates(args)) return fc_steps_ask(args, &server, target, document);
  if (fc_server_ask(args->arena, &server, target, document, &answer, &err)) {
    return fc_remote_complain(&err);
  }
  if (answer.status != 200) return fc_remote_refused(args, &answer);
  if (!answer.is_json || !fc_output_is_answer(answer.body)) {
    return fc_remote_strange(&answer);
  }
  return is_profiled(args) ? print_profiled(args, answer.body)
                           : fc_output_print(args, answer.body);
}
