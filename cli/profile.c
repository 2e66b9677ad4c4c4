// SPDX-License-Identifier: Apache-2.0
//
// farcall profile: makes one call, in this process or on a server, and shows where its
// time went. For a call that fails in this process, shows the time until the failure.
#include "base/profile.h"

#include "cli.h"
#include "flame.h"
#include "input.h"
#include "local.h"
#include "marshal/profiled.h"

#define ANSWER_LIMIT ((size_t)1 << 30)
#define PROFILE_LIMIT ((size_t)1 << 20)

static int report(const fc_args_t *args, const fc_profile_t *profile) {
  fc_error_t err;
  fc_text_t json;
  fc_error_reset(&err);
  fc_text_init(&json, fc_allocator_system(), PROFILE_LIMIT);
  const int exit_code = fc_profile_write(profile, &json.sink, &err)
                            ? fc_complain(FC_EXIT_FAILED, "%s", err.message)
                            : fc_flame_report(args, fc_text_str(&json), stdout);
  fc_text_deinit(&json);
  return exit_code;
}

static int profile_one(const fc_args_t *args, const fc_function_t *function,
                       fc_str_t document, fc_profile_t *profile) {
  fc_error_t err;
  fc_text_t answer;
  uint64_t took_ns;
  fc_error_reset(&err);
  fc_text_init(&answer, fc_allocator_system(), ANSWER_LIMIT);
  const fc_status_t status =
      fc_local_answer(function, document, profile, &answer, &took_ns, &err);
  fc_text_deinit(&answer);
  const int exit_code = profile->row_count ? report(args, profile) : FC_EXIT_OK;
  return status ? fc_local_complain(args, &err) : exit_code;
}

static int profile_file(const fc_args_t *args) {
  fc_str_t document;
  fc_module_t *module;
  const fc_function_t *function;
  const char *name = args->word_count > 1 ? args->words[1] : NULL;
  int exit_code = fc_local_open(args, name, &module, &function);
  if (exit_code) return exit_code;
  fc_profile_t *profile = NULL;
  exit_code = fc_local_document(args, function, &document);
  if (!exit_code) {
    profile = fc_profile_create(fc_allocator_system());
    exit_code = profile ? profile_one(args, function, document, profile)
                        : fc_complain(FC_EXIT_FAILED, "out of memory");
  }
  fc_profile_destroy(profile);
  fc_module_release(module);
  return exit_code;
}

// True if a server makes the call: MODULE[/FUNCTION] is looked up on the same server that
// other verbs use.
static bool is_of_server(const fc_args_t *args) {
  if (fc_args_has(args, FC_OPTION_SERVER)) return true;
  return args->word_count == 1 && !fc_args_has(args, FC_OPTION_FUNCTION) &&
         !fc_local_is_file(args->words[0]);
}

int fc_verb_profile(const fc_args_t *args) {
  if (is_of_server(args)) return fc_verb_call(args);
  if (args->word_count != 1 && args->word_count != 2) {
    return fc_complain(
        FC_EXIT_USAGE,
        "profile takes one module FILE and perhaps one FUNCTION, "
        "got %zu words%s",
        args->word_count, fc_input_words_hint(args));
  }
  return profile_file(args);
}
