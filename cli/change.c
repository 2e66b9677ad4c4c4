// SPDX-License-Identifier: Apache-2.0
//
// The verbs that change the modules of a server: load, unload, reload, promote, rollback.
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

static void print_decision(yyjson_val *root) {
  const char *name = yyjson_get_str(yyjson_obj_get(root, "name"));
  const char *alias = yyjson_get_str(yyjson_obj_get(root, "alias"));
  const char *version = yyjson_get_str(yyjson_obj_get(root, "version"));
  const char *before = yyjson_get_str(yyjson_obj_get(root, "before"));
  fc_show_text(name ? name : "");
  if (alias) putchar('@');
  fc_show_text(alias ? alias : "");
  fputs(version ? "  leads to version " : "  leads to its highest version",
        stdout);
  fc_show_text(version ? version : "");
  fputs(before ? ", before to " : "", stdout);
  fc_show_text(before ? before : "");
  const char *unloaded = yyjson_get_str(yyjson_obj_get(root, "unloaded"));
  fputs(unloaded ? ", which is unloaded" : "", stdout);
  puts(yyjson_get_bool(yyjson_obj_get(root, "persistent"))
           ? ""
           : "; the server forgets this at its end (--state-dir)");
}

// Prints the answer. It is a decision (promote, rollback), a module's document (load,
// unload, reload of one), or counts (reload of all).
static int print(const fc_reply_t *answer) {
  yyjson_doc *doc = answer->is_json
                        ? yyjson_read(answer->body.data, answer->body.size, 0)
                        : NULL;
  yyjson_val *root = yyjson_doc_get_root(doc);
  int exit_code = FC_EXIT_OK;
  if (yyjson_obj_get(root, "persistent")) {
    print_decision(root);
  } else if (yyjson_obj_get(root, "state")) {
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

static int change(const fc_args_t *args, const char *target, fc_str_t body) {
  fc_error_t err;
  fc_remote_t server;
  fc_reply_t answer;
  fc_error_reset(&err);
  if (!target) return fc_complain(FC_EXIT_FAILED, "out of memory");
  if (fc_remote_server(args, &server, &err) ||
      fc_server_ask(args->arena, &server, target, body, &answer, &err)) {
    return fc_remote_complain(&err);
  }
  if (answer.status != 200) return fc_remote_refused(args, &answer);
  return print(&answer);
}

static const char *force(const fc_args_t *args) {
  return fc_args_has(args, FC_OPTION_FORCE) ? "?force=1" : "";
}

static int change_named(const fc_args_t *args, fc_str_t body) {
  const char *verb = fc_verb_name(args->verb);
  const char *name = fc_url_segment(args->arena, fc_str(args->words[0]));
  return change(args,
                name ? fc_print(args->arena, FC_REMOTE_MODULES "/%s/%s%s", name,
                                verb, force(args))
                     : NULL,
                body);
}

static int change_module(const fc_args_t *args) {
  const char *verb = fc_verb_name(args->verb);
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE, "%s takes one MODULE, got %zu", verb,
                       args->word_count);
  }
  return change_named(args, FC_STR("{}"));
}

// The alias is put into the JSON unescaped. An alias that needs escapes is not valid
// anyway: the server refuses it and says what an alias is.
static int change_alias(const fc_args_t *args) {
  if (args->word_count != 1 && args->word_count != 2) {
    return fc_complain(FC_EXIT_USAGE, "%s takes a MODULE and perhaps an ALIAS",
                       fc_verb_name(args->verb));
  }
  if (args->word_count == 1) return change_named(args, FC_STR("{}"));
  const char *body =
      fc_print(args->arena, "{\"alias\":\"%s\"}", args->words[1]);
  return body ? change_named(args, fc_str(body))
              : fc_complain(FC_EXIT_FAILED, "out of memory");
}

int fc_verb_promote(const fc_args_t *args) { return change_alias(args); }

int fc_verb_rollback(const fc_args_t *args) { return change_alias(args); }

int fc_verb_load(const fc_args_t *args) { return change_module(args); }

int fc_verb_unload(const fc_args_t *args) { return change_module(args); }

int fc_verb_reload(const fc_args_t *args) {
  return args->word_count
             ? change_module(args)
             : change(args,
                      fc_print(args->arena, "/api/v1/reload%s", force(args)),
                      FC_STR("{}"));
}
