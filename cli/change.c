// SPDX-License-Identifier: Apache-2.0
//
// The verbs that change what a server serves: load, unload, reload.
#include <inttypes.h>

#include "file.h"
#include "remote.h"

static int count_of(yyjson_val *root, const char *key) {
  return (int)yyjson_get_uint(yyjson_obj_get(root, key));
}

static void print_module(yyjson_val *root) {
  const char *name = yyjson_get_str(yyjson_obj_get(root, "name"));
  const char *state = yyjson_get_str(yyjson_obj_get(root, "state"));
  yyjson_val *generation = yyjson_obj_get(root, "generation");
  fc_show_text(name ? name : "");
  fputs("  ", stdout);
  fc_show_text(state ? state : "");
  if (generation) {
    printf("  generation %" PRIu64, yyjson_get_uint(generation));
  }
  putchar('\n');
}

// Answers are a module's document, or how many of all were changed.
static int print(const fc_answer_t *answer) {
  yyjson_doc *doc = answer->is_json
                        ? yyjson_read(answer->body.data, answer->body.size, 0)
                        : NULL;
  yyjson_val *root = yyjson_doc_get_root(doc);
  int exit_code = FC_EXIT_OK;
  if (yyjson_obj_get(root, "state")) {
    print_module(root);
  } else if (yyjson_obj_get(root, "unchanged")) {
    printf("loaded %d, unchanged %d, unloaded %d", count_of(root, "loaded"),
           count_of(root, "unchanged"), count_of(root, "unloaded"));
    if (yyjson_obj_get(root, "described")) {
      printf(", described %d", count_of(root, "described"));
    }
    putchar('\n');
  } else {
    exit_code = fc_remote_strange(answer);
  }
  yyjson_doc_free(doc);
  return exit_code;
}

static int change(const fc_args_t *args, const char *target) {
  fc_error_t err;
  fc_server_t server;
  fc_answer_t answer;
  fc_error_reset(&err);
  if (!target) return fc_complain(FC_EXIT_FAILED, "out of memory");
  if (fc_remote_server(args, &server, &err) ||
      fc_server_ask(args->arena, &server, target, FC_STR("{}"), &answer,
                    &err)) {
    return fc_remote_complain(&err);
  }
  if (answer.status != 200) return fc_remote_refused(args, &answer);
  return print(&answer);
}

static int change_module(const fc_args_t *args) {
  const char *verb = fc_verb_name(args->verb);
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "%s takes one MODULE, got %zu", verb,
                       args->word_count);
  }
  const char *name = fc_url_segment(args->arena, fc_str(args->words[0]));
  return change(
      args, name ? fc_print(args->arena, FC_REMOTE_MODULES "/%s/%s", name, verb)
                 : NULL);
}

int fc_verb_load(const fc_args_t *args) { return change_module(args); }

int fc_verb_unload(const fc_args_t *args) { return change_module(args); }

int fc_verb_reload(const fc_args_t *args) {
  return args->word_count ? change_module(args)
                          : change(args, "/api/v1/reload");
}
