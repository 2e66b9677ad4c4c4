// SPDX-License-Identifier: Apache-2.0
//
// Finds servers and targets, and reports errors of servers.
#include "remote.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "file.h"
#include "input.h"

#define TIMEOUT_DEFAULT "300"
#define TIMEOUT_MOST_MS ((uint64_t)1 << 40)
#define TOKEN_MAX 256
#define SOCKET_MS 5000  // time for a socket to name its server
// The socket of the systemd service (config/systemd/farcalld.socket).
#define SYSTEM_SOCKET "/run/farcalld/admin.sock"

static const char kVariable[] = "FARCALL_SERVER";
static const char kToken[] = "FARCALL_TOKEN";

static bool read_time(const char *text, uint64_t *out_ms) {
  static const fc_unit_t kUnits[] = {
      {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {NULL, 0}};
  return fc_units_parse(fc_str(text), kUnits, TIMEOUT_MOST_MS, out_ms);
}

// Suggests FARCALL_SERVER if there is a variable with a similar name. In that case the
// default server is used, and its answer does not always show that the user meant another
// one.
static void note_misspelt(void) {
  static const char kPrefix[] = "FARCALL_";
  static bool said;
  if (said) return;
  said = true;
  const size_t prefix = sizeof kPrefix - 1;
  for (char **each = environ; *each; each++) {
    const size_t size = strcspn(*each, "=");
    if (strncmp(*each, kPrefix, prefix) != 0) continue;
    fc_nearest_t search =
        fc_nearest_begin(fc_str_make(*each + prefix, size - prefix));
    if (!fc_nearest_offer(&search, fc_str(kVariable + prefix))) continue;
    fc_complain(0, "note: no variable '%.*s': did you mean '%s'?", (int)size,
                *each, kVariable);
  }
}

// Makes the Authorization field. The token is in the file of --token, or in the variable
// FARCALL_TOKEN. No error shows the token.
static fc_status_t read_token(const fc_args_t *args, const char **out_line,
                              fc_error_t *err) {
  const char *option = fc_args_get(args, FC_OPTION_TOKEN, NULL);
  const char *variable = getenv(kToken);
  fc_str_t token = fc_str(variable ? variable : "");
  if (option && option[0] != '@') {
    return fc_fail(err, FC_CODE_JSON_SCHEMA,
                   "--token takes @FILE: others see what is in a command line");
  }
  if (option) FC_TRY(fc_file_read(args->arena, option + 1, &token, err));
  if (option) token = fc_str_take(&token, '\n');
  if (token.size && token.data[token.size - 1] == '\r') token.size--;
  if (!token.size && !option) return FC_OK;
  bool good = token.size && token.size <= TOKEN_MAX;
  for (size_t i = 0; i < token.size && good; i++) {
    good = token.data[i] > ' ' && token.data[i] < 0x7F;
  }
  if (!good) {
    return fc_fail(err, FC_CODE_JSON_SCHEMA,
                   "%s has no token: one word of at most 256 characters",
                   option ? option + 1 : kToken);
  }
  *out_line = fc_print(args->arena, "Authorization: Bearer %.*s\r\n",
                       FC_STR_ARG(token));
  return *out_line ? FC_OK : fc_fail_memory(err);
}

bool fc_remote_is_here(const char *host) {
  struct in_addr address;
  if (inet_pton(AF_INET, host, &address) == 1) {
    return ntohl(address.s_addr) >> 24 == 127;
  }
  return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0;
}

// Without TLS, anybody on the way to the server can read the token.
static void note_plain(const fc_remote_t *server) {
  if (!server->authorization || server->is_https || server->socket) return;
  if (fc_remote_is_here(server->host)) return;
  fc_complain(0, "note: %s is not https: others on the way can read the token",
              server->url);
}

// ---------------------------------------------------------------------------
// Unix sockets of servers whose TCP address was given

static bool needs_socket(fc_verb_t verb) {
  static const fc_verb_t kVerbs[] = {FC_VERB_LOAD,    FC_VERB_UNLOAD,
                                     FC_VERB_PROMOTE, FC_VERB_ROLLBACK,
                                     FC_VERB_RELOAD,  FC_VERB_PROFILE};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kVerbs); i++) {
    if (kVerbs[i] == verb) return true;
  }
  return false;
}

// Returns the instance id of the server that listens there; "" if it does not tell. It
// may not be the wanted server, so no token is sent. A server that requires a token does
// not tell its instance; clients with a token change that server over TCP.
static const char *instance_of(const fc_args_t *args, fc_remote_t asked) {
  fc_reply_t answer;
  fc_error_t err;
  fc_str_t none = {0};
  fc_error_reset(&err);
  asked.authorization = NULL;
  if (fc_server_ask(args->arena, &asked, "/api/v1", none, &answer, &err) ||
      answer.status != 200 || !answer.is_json) {
    return "";
  }
  yyjson_doc *doc = yyjson_read(answer.body.data, answer.body.size, 0);
  const char *text =
      yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "instance"));
  const char *copy = text ? fc_print(args->arena, "%s", text) : NULL;
  yyjson_doc_free(doc);
  return copy ? copy : "";  // out of memory
}

typedef struct search_t {
  const fc_args_t *args;
  fc_remote_t *server;
  const char *wanted;  // its instance id; NULL: not asked yet
} search_t;

// Uses the socket if the wanted server listens there.
static bool try_socket(search_t *search, const char *path) {
  fc_remote_t local;
  fc_error_t err;
  const char *url =
      path ? fc_print(search->args->arena, "unix:%s", path) : NULL;
  if (!url || fc_server_parse(search->args->arena, url, &local, &err)) {
    return false;
  }
  fc_remote_t *server = search->server;
  if (!search->wanted) search->wanted = instance_of(search->args, *server);
  if (!*search->wanted) return false;
  local.timeout_ms = SOCKET_MS;
  if (strcmp(instance_of(search->args, local), search->wanted) != 0) {
    return false;
  }
  local.timeout_ms = server->timeout_ms;
  local.authorization = server->authorization;
  *server = local;
  return true;
}

// A socket of another user could learn the token.
static bool is_ours(const char *path) {
  struct stat info;
  return path && !lstat(path, &info) && S_ISSOCK(info.st_mode) &&
         info.st_uid == geteuid();
}

// Tries all sockets of this user's servers (own_socket.h). A socket is named after one
// address, and a server may listen on many.
static bool find_own(search_t *search) {
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  fc_arena_t *arena = search->args->arena;
  const char *folder = runtime ? fc_print(arena, "%s/farcall", runtime) : NULL;
  DIR *all = folder ? opendir(folder) : NULL;
  bool found = false;
  for (struct dirent *each; all && !found && (each = readdir(all));) {
    const char *path = fc_print(arena, "%s/%s", folder, each->d_name);
    found = is_ours(path) && try_socket(search, path);
  }
  if (all) closedir(all);
  return found;
}

static void prefer_socket(const fc_args_t *args, fc_remote_t *server) {
  search_t search = {.args = args, .server = server};
  if (!needs_socket(args->verb) || server->socket || *server->prefix ||
      !fc_remote_is_here(server->host) || find_own(&search)) {
    return;
  }
  if (!access(SYSTEM_SOCKET, W_OK)) (void)try_socket(&search, SYSTEM_SOCKET);
}

// ---------------------------------------------------------------------------
// The server of a command line, its answers and its errors

fc_status_t fc_remote_server(const fc_args_t *args, fc_remote_t *out_server,
                             fc_error_t *err) {
  const char *url = getenv(kVariable);
  if (!url && !fc_args_has(args, FC_OPTION_SERVER)) note_misspelt();
  if (!url || !*url) url = FC_SERVER_DEFAULT;
  url = fc_args_get(args, FC_OPTION_SERVER, url);
  FC_TRY(fc_server_parse(args->arena, url, out_server, err));
  FC_TRY(read_token(args, &out_server->authorization, err));
  fc_wire_rules_t *rules = &out_server->rules;
  const char *ca = getenv("FARCALL_CA");
  rules->ca = fc_args_get(args, FC_OPTION_CA, ca && *ca ? ca : NULL);
  rules->certificate = fc_args_get(args, FC_OPTION_CERT, NULL);
  rules->key = fc_args_get(args, FC_OPTION_KEY, NULL);
  if (rules->key && !rules->certificate) {
    return fc_fail(err, FC_CODE_JSON_SCHEMA, "--key=%s: --cert is missing",
                   rules->key);
  }
  const char *timeout = fc_args_get(args, FC_OPTION_TIMEOUT, TIMEOUT_DEFAULT);
  if (!read_time(timeout, &out_server->timeout_ms)) {
    return fc_fail(err, FC_CODE_JSON_SCHEMA,
                   "--timeout=%s is no time: 10 and 10s are seconds, 500ms, 2m",
                   timeout);
  }
  prefer_socket(args, out_server);
  note_plain(out_server);
  return FC_OK;
}

int fc_remote_complain(const fc_error_t *err) {
  bool usage = err->status == FC_INVALID_ARGUMENT;
  return fc_complain(usage ? FC_EXIT_USAGE : FC_EXIT_UNAVAILABLE, "%s",
                     err->message);
}

int fc_remote_strange(const fc_reply_t *answer) {
  char text[256] = "", what[16] = "a line";
  fc_escape(text, sizeof text, 64, answer->body);
  if (answer->status) snprintf(what, sizeof what, "%d", answer->status);
  return fc_complain(
      FC_EXIT_UNAVAILABLE, "%s answered %s, not as farcalld does: %s%s%s",
      answer->url, what, *text ? "'" : "nothing", text, *text ? "'" : "");
}

// Returns a hint if the user wrote MODULE.FUNCTION instead of MODULE/FUNCTION; otherwise,
// or without memory, "".
static const char *hint_of_name(const fc_args_t *args) {
  static const uint32_t kVerbs =
      1u << FC_VERB_CALL | 1u << FC_VERB_BENCH | 1u << FC_VERB_PROFILE;
  const bool names = kVerbs >> args->verb & 1 && args->word_count;
  const char *name = names ? args->words[0] : "";
  const char *dot = strrchr(name, '.'), *hint = NULL;
  if (dot && dot != name && dot[1] && !strpbrk(name, "/@")) {
    hint = fc_print(args->arena, ": did you mean '%.*s/%s'?", (int)(dot - name),
                    name, dot + 1);
  }
  return hint ? hint : "";
}

const char *fc_remote_token_hint(const char *code) {
  return strcmp(code, fc_code_info(FC_CODE_UNAUTHORIZED)->text) != 0
             ? ""
             : ": --token=@FILE, or FARCALL_TOKEN, sends one";
}

// Returns a hint for the command line about an error answer; "" if there is none.
static const char *hint_of(const fc_args_t *args, const char *code,
                           const char *pointer) {
  if (!strcmp(code, fc_code_info(FC_CODE_MODULE_NOT_FOUND)->text)) {
    return hint_of_name(args);
  }
  const char *hint = fc_remote_token_hint(code);
  return *hint ? hint : fc_input_hint(args, code, pointer);
}

int fc_remote_refused(const fc_args_t *args, const fc_reply_t *answer) {
  yyjson_doc *doc = answer->is_json
                        ? yyjson_read(answer->body.data, answer->body.size,
                                      YYJSON_READ_NOFLAG)
                        : NULL;
  yyjson_val *root = yyjson_doc_get_root(doc);
  const char *code = yyjson_get_str(yyjson_obj_get(root, "code"));
  const char *detail = yyjson_get_str(yyjson_obj_get(root, "detail"));
  const char *pointer = yyjson_get_str(yyjson_obj_get(root, "pointer"));
  yyjson_val *byte = yyjson_obj_get(root, "byte_offset");
  if (!pointer) pointer = "";
  int exit_code =
      code && detail
          ? fc_complain_call(answer->status, code, detail,
                             hint_of(args, code, pointer), pointer,
                             byte ? yyjson_get_uint(byte) : FC_NO_OFFSET)
          : fc_remote_strange(answer);
  yyjson_doc_free(doc);
  return exit_code;
}

int fc_remote_get(const fc_args_t *args, const char *target,
                  fc_reply_t *out_answer) {
  fc_error_t err;
  fc_remote_t server;
  fc_str_t none = {0};
  fc_error_reset(&err);
  if (fc_remote_server(args, &server, &err) ||
      fc_server_ask(args->arena, &server, target, none, out_answer, &err)) {
    return fc_remote_complain(&err);
  }
  return out_answer->status == 200 ? FC_EXIT_OK
                                   : fc_remote_refused(args, out_answer);
}

int fc_remote_example(const fc_args_t *args, const char *target,
                      fc_str_t *out_document) {
  fc_reply_t answer;
  const char *name = fc_args_get(args, FC_OPTION_EXAMPLE, "");
  const char *coded = fc_url_segment(args->arena, fc_str(name));
  const char *path = coded ? fc_print(args->arena, "%s/example%s%s", target,
                                      *name ? "?name=" : "", coded)
                           : NULL;
  if (!path) return fc_complain(FC_EXIT_FAILED, "out of memory");
  const int exit_code = fc_remote_get(args, path, &answer);
  if (exit_code) return exit_code;
  *out_document = fc_arena_copy(args->arena, answer.body);
  return out_document->data ? FC_EXIT_OK
                            : fc_complain(FC_EXIT_FAILED, "out of memory");
}

int fc_remote_get_json(const fc_args_t *args, const char *target,
                       const char *key, fc_str_t *out_text,
                       yyjson_doc **out_doc) {
  fc_reply_t answer;
  int exit_code = fc_remote_get(args, target, &answer);
  if (exit_code) return exit_code;
  yyjson_doc *doc = answer.is_json
                        ? yyjson_read(answer.body.data, answer.body.size, 0)
                        : NULL;
  if (!yyjson_obj_get(yyjson_doc_get_root(doc), key)) {
    yyjson_doc_free(doc);
    return fc_remote_strange(&answer);
  }
  *out_text = answer.body;
  *out_doc = doc;
  return FC_EXIT_OK;
}

// ---------------------------------------------------------------------------
// Targets

static int refuse_many(const char *module, yyjson_val *functions) {
  char names[200] = "";
  size_t at = 0, index, count;
  yyjson_val *each;
  yyjson_arr_foreach(functions, index, count, each) {
    const char *name = yyjson_get_str(yyjson_obj_get(each, "name"));
    const int size = snprintf(names + at, sizeof names - at, "%s%s",
                              at ? ", " : "", name ? name : "");
    if (size < 0 || (size_t)size >= sizeof names - at) break;
    at += (size_t)size;
  }
  return fc_complain(FC_EXIT_USAGE,
                     "'%s' is no MODULE/FUNCTION: it has %zu functions: %s",
                     module, yyjson_arr_size(functions), names);
}

// Finds the only function of a module. *out_name is in the arena.
static int find_only(const fc_args_t *args, const char *module,
                     const char **out_name) {
  fc_str_t text;
  yyjson_doc *doc;
  const char *coded = fc_url_segment(args->arena, fc_str(module));
  const char *path =
      coded ? fc_print(args->arena, "/api/v1/functions/%s", coded) : NULL;
  if (!path) return fc_complain(FC_EXIT_FAILED, "out of memory");
  int exit_code = fc_remote_get_json(args, path, "functions", &text, &doc);
  if (exit_code) return exit_code;
  yyjson_val *functions = yyjson_obj_get(yyjson_doc_get_root(doc), "functions");
  const char *name =
      yyjson_get_str(yyjson_obj_get(yyjson_arr_get_first(functions), "name"));
  if (yyjson_arr_size(functions) != 1 || !name) {
    exit_code = refuse_many(module, functions);
  } else if (!(*out_name = fc_print(args->arena, "%s", name))) {
    exit_code = fc_complain(FC_EXIT_FAILED, "out of memory");
  }
  yyjson_doc_free(doc);
  return exit_code;
}

int fc_remote_target(const fc_args_t *args, const char *name,
                     const char **out_target) {
  const char *slash = strchr(name, '/'), *function = slash ? slash + 1 : NULL;
  if (slash ? slash == name || !*function : !*name) {
    return fc_complain(FC_EXIT_USAGE,
                       "'%s' is no MODULE/FUNCTION; farcall ls lists them",
                       name);
  }
  const int exit_code = slash ? 0 : find_only(args, name, &function);
  if (exit_code) return exit_code;
  const fc_str_t module = {name, slash ? (size_t)(slash - name) : strlen(name)};
  const char *one = fc_url_segment(args->arena, module);
  const char *two = fc_url_segment(args->arena, fc_str(function));
  *out_target = one && two
                    ? fc_print(args->arena, "/api/v1/functions/%s/%s", one, two)
                    : NULL;
  return *out_target ? FC_EXIT_OK
                     : fc_complain(FC_EXIT_FAILED, "out of memory");
}
