// SPDX-License-Identifier: Apache-2.0
//
// farcall session: makes, lists, shows, forks, resets and ends sessions of a server's
// module, and moves their values to and from files. farcall call --session makes calls.
#include "session.h"

#include <inttypes.h>
#include <stdlib.h>

#include "conditions.h"
#include "file.h"
#include "remote.h"

#define ID_MAX 64
#define SAFETENSORS "application/x-safetensors"

static uint64_t number_of(yyjson_val *object, const char *key) {
  return yyjson_get_uint(yyjson_obj_get(object, key));
}

// ---------------------------------------------------------------------------
// Ids

int fc_session_read_id(const fc_args_t *args, const char *text,
                       const char **out_id) {
  static const char kMarks[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  fc_error_t err;
  fc_str_t id = fc_str(text);
  fc_error_reset(&err);
  if (text[0] == '@') {
    if (fc_file_read(args->arena, text + 1, &id, &err)) {
      return fc_complain(FC_EXIT_DATA, "%s", err.message);
    }
    id = fc_str_take(&id, '\n');
    if (id.size && id.data[id.size - 1] == '\r') id.size--;
  }
  char *copy =
      id.size <= ID_MAX ? fc_print(args->arena, "%.*s", FC_STR_ARG(id)) : NULL;
  if (!copy || !*copy || strspn(copy, kMarks) != id.size) {
    return fc_complain(text[0] == '@' ? FC_EXIT_DATA : FC_EXIT_USAGE,
                       "'%.70s' %s of a session: farcall session new MODULE "
                       "prints one",
                       text, text[0] == '@' ? "has no id" : "is no id");
  }
  *out_id = copy;
  return FC_EXIT_OK;
}

// ---------------------------------------------------------------------------
// Printing answers

static void show_id(yyjson_val *root) {
  fc_show_text(fc_text_of(root, "session"));
  putchar('\n');
}

static void show_nothing(yyjson_val *root) { (void)root; }

// Prints a type in the form of --input: 64x12288xf16, f32, bytes.
static void show_type(yyjson_val *type) {
  const char *dtype = fc_text_of(type, "dtype");
  yyjson_val *dim;
  size_t index, count;
  yyjson_arr_foreach(yyjson_obj_get(type, "shape"), index, count, dim) {
    printf("%" PRIu64 "x", yyjson_get_uint(dim));
  }
  fc_show_text(*dtype ? dtype : fc_text_of(type, "kind"));
}

static void show_session(yyjson_val *root) {
  printf("step %" PRIu64 ", idle %" PRIu64 " of %" PRIu64 " ms, %" PRIu64
         " of %" PRIu64 " bytes\n",
         number_of(root, "step"), number_of(root, "idle_ms"),
         number_of(root, "ttl_ms"), number_of(root, "bytes"),
         number_of(root, "max_bytes"));
  yyjson_val *name, *value;
  size_t index, count;
  yyjson_obj_foreach(yyjson_obj_get(root, "values"), index, count, name,
                     value) {
    fc_show_text(yyjson_get_str(name));
    fputs("  ", stdout);
    show_type(yyjson_obj_get(value, "type"));
    printf("  %" PRIu64 " bytes\n", number_of(value, "bytes"));
  }
}

static void show_list(yyjson_val *root) {
  yyjson_val *each;
  size_t index, count;
  yyjson_arr_foreach(yyjson_obj_get(root, "sessions"), index, count, each) {
    const char *id = fc_text_of(each, "session");
    // Without a token the server does not show ids.
    fc_show_text(*id ? id : fc_text_of(each, "digest"));
    printf("  step %" PRIu64 ", idle %" PRIu64 " ms, %" PRIu64
           " values of %" PRIu64 " bytes\n",
           number_of(each, "step"), number_of(each, "idle_ms"),
           number_of(each, "values"), number_of(each, "bytes"));
  }
  const uint64_t all = number_of(root, "count");
  if (all > index) printf("and %" PRIu64 " more\n", all - index);
}

// ---------------------------------------------------------------------------
// The acts, and their requests

static const struct act_t {
  const char *name;
  const char *method;
  const char *rest;  // the path after the id; NULL: no id is given
  bool
      has_file;  // the last word is a file: for the answer, or without an id for the body
  int status;
  const char *key;  // a member that the answer must have
  void (*show)(yyjson_val *root);
} kActs[] = {
    {"new", "POST", NULL, false, 201, "session", show_id},
    {"ls", "GET", NULL, false, 200, "sessions", show_list},
    {"show", "GET", "", false, 200, "session", show_session},
    {"fork", "POST", "/fork", false, 201, "session", show_id},
    {"reset", "POST", "/reset", false, 200, "session", show_nothing},
    {"rm", "DELETE", "", false, 200, "ended", show_nothing},
    {"export", "GET", "/export", true, 200, NULL, NULL},
    {"import", "POST", NULL, true, 201, "session", show_id},
};

// Returns ,"KEY":VALUE for an option with a whole number, times `unit`. Returns ""
// without the option, and NULL if the value is not a whole number.
static const char *member(const fc_args_t *args, fc_cli_option_t option,
                          const char *key, uint64_t unit) {
  const char *value = fc_args_get(args, option, NULL);
  if (!value) return "";
  const size_t size = strlen(value);
  if (!size || size > 15 || value[strspn(value, "0123456789")]) return NULL;
  return fc_print(args->arena, ",\"%s\":%" PRIu64, key,
                  (uint64_t)strtoull(value, NULL, 10) * unit);
}

static int make_body(const fc_args_t *args, const struct act_t *act,
                     fc_str_t *out_body) {
  static const fc_cli_option_t kOptions[] = {FC_OPTION_TTL, FC_OPTION_MAX_BYTES,
                                             FC_OPTION_CHECKPOINT};
  const bool makes = !strcmp(act->name, "new");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOptions) && !makes; i++) {
    if (!fc_args_has(args, kOptions[i])) continue;
    return fc_complain(FC_EXIT_USAGE, "--%s is of farcall session new",
                       fc_cli_options[kOptions[i]].name);
  }
  const char *ttl = member(args, FC_OPTION_TTL, "ttl_ms", 1000);
  const char *max_bytes = member(args, FC_OPTION_MAX_BYTES, "max_bytes", 1);
  const bool checkpoints = fc_args_has(args, FC_OPTION_CHECKPOINT);
  const char *body =
      ttl && max_bytes
          ? fc_print(args->arena, "{\"checkpoint\":%s%s%s}",
                     checkpoints ? "true" : "false", ttl, max_bytes)
          : NULL;
  if (!body) {
    return fc_complain(FC_EXIT_USAGE,
                       "--ttl and --max-bytes are whole numbers: of seconds, "
                       "and of bytes");
  }
  *out_body = strcmp(act->method, "POST") ? (fc_str_t){0} : fc_str(body);
  if (act->rest || !act->has_file) return FC_EXIT_OK;
  fc_error_t err;
  fc_error_reset(&err);
  if (fc_file_read(args->arena, args->words[2], out_body, &err)) {
    return fc_complain(FC_EXIT_DATA, "%s", err.message);
  }
  return FC_EXIT_OK;
}

static int make_target(const fc_args_t *args, const struct act_t *act,
                       const char **out_target) {
  const char *id = "";
  if (act->rest) {
    const int exit_code = fc_session_read_id(args, args->words[2], &id);
    if (exit_code) return exit_code;
  }
  const char *module = fc_url_segment(args->arena, fc_str(args->words[1]));
  *out_target =
      module ? fc_print(args->arena, FC_REMOTE_MODULES "/%s/sessions%s%s%s",
                        module, act->rest ? "/" : "", id,
                        act->rest ? act->rest : "")
             : NULL;
  return *out_target ? FC_EXIT_OK
                     : fc_complain(FC_EXIT_FAILED, "out of memory");
}

static int print(const fc_args_t *args, const struct act_t *act,
                 const fc_reply_t *answer) {
  yyjson_doc *doc = answer->is_json
                        ? yyjson_read(answer->body.data, answer->body.size, 0)
                        : NULL;
  yyjson_val *root = yyjson_doc_get_root(doc);
  int exit_code = FC_EXIT_OK;
  if (!yyjson_obj_get(root, act->key)) {
    exit_code = fc_remote_strange(answer);
  } else if (fc_args_has(args, FC_OPTION_SESSION_JSON)) {
    fc_show(stdout, answer->body);
    putchar('\n');
  } else {
    act->show(root);
  }
  yyjson_doc_free(doc);
  return exit_code;
}

static int write_file(const fc_args_t *args, const fc_reply_t *answer) {
  fc_error_t err;
  fc_error_reset(&err);
  if (answer->is_json || answer->cut) return fc_remote_strange(answer);
  if (fc_file_write(args->arena, args->words[3], answer->body, &err)) {
    return fc_complain(FC_EXIT_DATA, "%s", err.message);
  }
  return FC_EXIT_OK;
}

static int ask(const fc_args_t *args, const struct act_t *act) {
  fc_error_t err;
  fc_remote_t server;
  fc_reply_t answer;
  const char *target;
  fc_str_t body;
  fc_error_reset(&err);
  int exit_code = make_body(args, act, &body);
  if (!exit_code) exit_code = make_target(args, act, &target);
  if (exit_code) return exit_code;
  if (fc_remote_server(args, &server, &err)) return fc_remote_complain(&err);
  server.method = act->method;
  if (act->has_file) server.type = SAFETENSORS;
  if (fc_server_ask(args->arena, &server, target, body, &answer, &err)) {
    return fc_remote_complain(&err);
  }
  if (answer.status != act->status) return fc_remote_refused(args, &answer);
  return act->show ? print(args, act, &answer) : write_file(args, &answer);
}

int fc_verb_session(const fc_args_t *args) {
  const char *verb = args->word_count ? args->words[0] : "";
  for (size_t i = 0; i < FC_ARRAY_COUNT(kActs); i++) {
    const size_t words = 2u + (kActs[i].rest ? 1u : 0) + kActs[i].has_file;
    if (!strcmp(verb, kActs[i].name) && args->word_count == words) {
      return ask(args, &kActs[i]);
    }
  }
  return fc_complain(FC_EXIT_USAGE,
                     "farcall session new or ls MODULE, show, fork, reset or "
                     "rm MODULE ID, export MODULE ID FILE, import MODULE FILE");
}
