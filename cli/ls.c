// SPDX-License-Identifier: Apache-2.0
//
// farcall ls and farcall health: show the state of a server.
#include <inttypes.h>
#include <stdio.h>

#include "conditions.h"
#include "grpc/verbs.h"
#include "remote.h"

// Returns the module's name, with its version if the file has one, because two versions
// of a module have the same name.
static const char *label_of(yyjson_val *module) {
  const char *label = fc_text_of(module, "label");
  return *label ? label : fc_text_of(module, "name");
}

// Prints the conditions on one line: each code with its known details. False: there are
// none.
static bool show_conditions(yyjson_val *conditions) {
  yyjson_val *condition;
  size_t index, count;
  yyjson_arr_foreach(conditions, index, count, condition) {
    const char *detail = fc_text_of(condition, "detail");
    const char *until = fc_text_of(condition, "until");
    if (index) fputs("; ", stdout);
    fc_show_text(fc_text_of(condition, "code"));
    if (*detail) fputs(": ", stdout);
    fc_show_text(detail);
    if (*until) fputs(", until ", stdout);
    fc_show_text(until);
  }
  return yyjson_arr_size(conditions) != 0;
}

static void print_module(yyjson_val *module, int width) {
  const char *name = label_of(module), *kind = fc_text_of(module, "kind");
  fc_show_text(name);
  printf("%*s  ", width - (int)strlen(name), "");
  fc_show_text(kind);
  printf("%*s  ", strlen(kind) < 6 ? 6 - (int)strlen(kind) : 0, "");
  if (strcmp(fc_text_of(module, "state"), "ready") != 0) {
    fc_show_text(fc_text_of(module, "state"));
    fputs(": ", stdout);
    fc_show_text(fc_text_of(module, "reason"));
    putchar('\n');
    return;
  }
  yyjson_val *functions = yyjson_obj_get(module, "functions"), *function;
  size_t index, count;
  yyjson_arr_foreach(functions, index, count, function) {
    if (index) putchar(' ');
    fc_show_text(fc_text_of(function, "name"));
    if (!yyjson_get_bool(yyjson_obj_get(function, "callable"))) {
      fputs(" (not callable)", stdout);
    }
  }
  putchar('\n');
}

// Returns the size of the longest text in the first column; with `all`, also of the names
// that lead to modules.
static int width_of(yyjson_val *modules, bool all) {
  yyjson_val *module, *name;
  size_t index, count, at, names, width = 0;
  yyjson_arr_foreach(modules, index, count, module) {
    const size_t size = strlen(label_of(module));
    if (size > width) width = size;
    yyjson_arr_foreach(yyjson_obj_get(module, "names"), at, names, name) {
      if (all && yyjson_get_len(name) > width) width = yyjson_get_len(name);
    }
  }
  return (int)width;
}

static uint64_t number_of(yyjson_val *module, const char *key) {
  return yyjson_get_uint(yyjson_obj_get(module, key));
}

// Prints a size, or "-" for 0: a module that is not loaded takes no significant memory.
static void print_size(uint64_t bytes) {
  static const char kUnits[] = "kMGT";
  double size = (double)bytes / 1024;
  size_t unit = 0;
  for (; size >= 1024 && unit < sizeof kUnits - 2; unit++) size /= 1024;
  if (bytes) printf("%6.1f%c", size, kUnits[unit]);
  else printf("%7s", "-");
}

static void print_long(yyjson_val *module, int width) {
  const char *name = label_of(module), *state = fc_text_of(module, "state");
  const char *version = fc_text_of(module, "version");
  if (!*version) version = "-";
  fc_show_text(name);
  printf("%*s  ", width - (int)strlen(name), "");
  fc_show_text(state);
  printf("%*s ", strlen(state) < 8 ? 8 - (int)strlen(state) : 0, "");
  printf("%*s", strlen(version) < 7 ? 7 - (int)strlen(version) : 0, "");
  fc_show_text(version);
  printf(" %10" PRIu64 " ", number_of(module, "generation"));
  print_size(number_of(module, "memory"));
  printf(" %10" PRIu64 "  ", number_of(module, "calls"));
  if (!show_conditions(yyjson_obj_get(module, "conditions"))) putchar('-');
  putchar('\n');
}

static void print_long_head(int width) {
  printf("%-*s  %-8s %7s %10s %7s %10s  %s\n", width, "MODULE", "STATE",
         "VERSION", "GENERATION", "MEMORY", "CALLS", "CONDITIONS");
}

// Prints the names that the first column does not show, and the module of each.
static void print_names(yyjson_val *modules, int width) {
  yyjson_val *module, *name;
  size_t index, count, at, names;
  bool said = false;
  yyjson_arr_foreach(modules, index, count, module) {
    const char *label = label_of(module);
    yyjson_arr_foreach(yyjson_obj_get(module, "names"), at, names, name) {
      const char *text = yyjson_get_str(name);
      if (!text || !strcmp(text, label)) continue;
      if (!said) printf("\n%-*s  LEADS TO\n", width, "NAME");
      said = true;
      fc_show_text(text);
      printf("%*s  ", width - (int)strlen(text), "");
      fc_show_text(label);
      putchar('\n');
    }
  }
}

static void list(yyjson_val *root, bool is_long) {
  yyjson_val *modules = yyjson_obj_get(root, "modules"), *module;
  size_t index, count;
  int width = width_of(modules, is_long);
  if (is_long && width < 6) width = 6;
  if (is_long) print_long_head(width);
  yyjson_arr_foreach(modules, index, count, module) {
    if (is_long) print_long(module, width);
    else print_module(module, width);
  }
  if (is_long) print_names(modules, width);
  if (is_long) fc_conditions_show(stdout, yyjson_obj_get(root, "conditions"));
}

int fc_verb_ls(const fc_args_t *args) {
  if (args->word_count) {
    return fc_complain(FC_EXIT_USAGE, "ls takes no words; farcall sig %s?",
                       args->words[0]);
  }
  fc_error_t err;
  fc_remote_t server;
  fc_error_reset(&err);
  if (fc_remote_server(args, &server, &err)) return fc_remote_complain(&err);
  if (server.is_grpc) return fc_rpc_ls(args, &server);
  fc_str_t text;
  yyjson_doc *doc;
  const bool is_long = fc_args_has(args, FC_OPTION_LONG);
  const bool is_json = fc_args_has(args, FC_OPTION_LS_JSON);
  int exit_code = fc_remote_get_json(args,
                                     is_long || is_json ? FC_REMOTE_HEALTH
                                                        : FC_REMOTE_MODULES
                                         "?signatures=1&conditions=1",
                                     "modules", &text, &doc);
  if (exit_code) return exit_code;
  if (is_json) {
    fc_show(stdout, text);
    putchar('\n');
    yyjson_doc_free(doc);
    return FC_EXIT_OK;
  }
  list(yyjson_doc_get_root(doc), is_long);
  yyjson_doc_free(doc);
  return FC_EXIT_OK;
}

// ---------------------------------------------------------------------------
// health

// Shows the conditions that everybody may see, and the number of others. If the answer
// has none, shows nothing.
static void show_health(const fc_args_t *args, FILE *stream) {
  fc_error_t err;
  fc_remote_t server;
  fc_reply_t answer;
  fc_str_t none = {0};
  fc_error_reset(&err);
  if (fc_remote_server(args, &server, &err) ||
      fc_server_ask(args->arena, &server, "/readyz?verbose", none, &answer,
                    &err) ||
      !answer.is_json) {
    return;
  }
  yyjson_doc *doc = yyjson_read(answer.body.data, answer.body.size, 0);
  yyjson_val *root = yyjson_doc_get_root(doc);
  const uint64_t more = yyjson_get_uint(yyjson_obj_get(root, "more"));
  fc_conditions_show(stream, yyjson_obj_get(root, "conditions"));
  if (more) {
    fprintf(stream, "%" PRIu64 " more: farcall ls --long\n", more);
  }
  yyjson_doc_free(doc);
}

int fc_verb_health(const fc_args_t *args) {
  fc_str_t text;
  yyjson_doc *doc;
  int exit_code = fc_remote_get_json(args, "/readyz", "status", &text, &doc);
  if (exit_code == FC_EXIT_FAILED) show_health(args, stderr);
  if (exit_code) return exit_code;
  yyjson_doc_free(doc);
  puts("ready");
  show_health(args, stdout);
  return FC_EXIT_OK;
}
