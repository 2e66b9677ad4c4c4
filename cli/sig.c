// SPDX-License-Identifier: Apache-2.0
//
// farcall sig: prints signatures from a server or a module file. Several signatures are
// printed on one line each. A single one is printed as its line, followed by a tree with
// the details that the line omits, and by its origin. Lines and trees are made from the
// canonical JSON.
#include <stdio.h>

#include "file.h"
#include "local.h"
#include "module/examples.h"
#include "remote.h"
#include "tree.h"

#define TEXT_LIMIT ((size_t)64 << 20)

static const char *text_of(yyjson_val *object, const char *key) {
  const char *text = yyjson_get_str(yyjson_obj_get(object, key));
  return text ? text : "";
}

static void print_line(yyjson_val *signature) {
  fc_show_text(text_of(signature, "module"));
  putchar('/');
  fc_show_text(text_of(signature, "text"));
  if (!yyjson_get_bool(yyjson_obj_get(signature, "callable"))) {
    fputs("  # not callable: ", stdout);
    fc_show_text(text_of(signature, "reason"));
  }
  putchar('\n');
}

// A module that has failed to load has no functions, but a reason.
static bool is_without(yyjson_val *module) {
  return !yyjson_arr_size(yyjson_obj_get(module, "functions")) &&
         *text_of(module, "reason");
}

static void print_lines(yyjson_val *module) {
  yyjson_val *functions = yyjson_obj_get(module, "functions"), *function;
  size_t index, count;
  yyjson_arr_foreach(functions, index, count, function) print_line(function);
}

// Prints the lines of one of all modules. Other modules may be fine.
static void print_module(yyjson_val *module) {
  print_lines(module);
  if (!is_without(module)) return;
  fc_show_text(text_of(module, "name"));
  fputs("  # ", stdout);
  fc_show_text(text_of(module, "state"));
  fputs(": ", stdout);
  fc_show_text(text_of(module, "reason"));
  putchar('\n');
}

// ---------------------------------------------------------------------------
// One function in full

static fc_status_t print_trees(fc_str_t json, fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status = fc_tree_print(json, &text.sink, err);
  fc_str_t trees = fc_text_str(&text);
  if (status == FC_OK) fc_show(stdout, trees);
  fc_text_deinit(&text);
  return status;
}

enum { LABELS_SHOWN = 20 };

// Prints the names of classes, by number, from the attribute "show" (core/abi/show.c).
static void print_labels(const char *show) {
  yyjson_doc *doc = yyjson_read(show, strlen(show), 0);
  yyjson_val *entry, *label;
  size_t index, count, number, labels;
  yyjson_arr_foreach(yyjson_doc_get_root(doc), index, count, entry) {
    yyjson_val *list = yyjson_obj_get(entry, "labels");
    if (!list) continue;
    fputs("  labels of ", stdout);
    fc_show_text(text_of(entry, "at"));
    yyjson_arr_foreach(list, number, labels, label) {
      if (number == LABELS_SHOWN) break;
      printf("%s %zu ", number ? "," : ":", number);
      fc_show_text(yyjson_get_str(label));
    }
    puts(yyjson_arr_size(list) > LABELS_SHOWN ? ", …" : "");
  }
  yyjson_doc_free(doc);
}

// `root` is `json`, parsed.
static int print_full(fc_str_t json, yyjson_val *root) {
  fc_error_t err;
  fc_error_reset(&err);
  print_line(root);
  if (print_trees(json, &err)) {
    return fc_complain(FC_EXIT_FAILED, "that is no signature: %s", err.message);
  }
  yyjson_val *attrs = yyjson_obj_get(yyjson_obj_get(root, "raw"), "attrs");
  const char *doc = text_of(attrs, "doc");
  if (*doc) {
    fputs("  doc: ", stdout);
    fc_show_text(doc);
    putchar('\n');
  }
  print_labels(text_of(attrs, "show"));
  fputs("  source: ", stdout);
  fc_show_text(text_of(root, "source"));
  putchar('\n');
  if (yyjson_is_false(yyjson_obj_get(root, "memory_safe"))) {
    puts("  memory: not safe, it is machine code without checks");
  }
  const char *warning = text_of(root, "warning");
  if (*warning) {
    fputs("  warning: ", stdout);
    fc_show_text(warning);
    putchar('\n');
  }
  return FC_EXIT_OK;
}

// ---------------------------------------------------------------------------
// Signatures of a file

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t put_function(const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err) {
  return fc_function_print_json(function, sink, err);
}

static fc_status_t put_module(const fc_module_t *module, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(put(sink, "{\"functions\":[", err));
  for (size_t i = 0; i < fc_module_function_count(module); i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(put_function(fc_module_function(module, i), sink, err));
  }
  return put(sink, "]}", err);
}

// Prints the document of one function, of one module, or of all. Takes ownership of
// `doc`, which is `json` parsed.
static int print_document(const fc_args_t *args, fc_str_t json,
                          yyjson_doc *doc) {
  yyjson_val *root = yyjson_doc_get_root(doc), *module;
  yyjson_val *modules = yyjson_obj_get(root, "modules");
  size_t index, count;
  int exit_code = FC_EXIT_OK;
  if (!root) {
    exit_code = fc_complain(FC_EXIT_FAILED, "that is no signature");
  } else if (fc_args_has(args, FC_OPTION_SIG_JSON)) {
    fc_show(stdout, json);
    putchar('\n');
  } else if (yyjson_obj_get(root, "text")) {
    exit_code = print_full(json, root);
  } else if (modules) {
    yyjson_arr_foreach(modules, index, count, module) print_module(module);
  } else if (is_without(root)) {
    exit_code =
        fc_complain(FC_EXIT_FAILED, "%s is %s: %s", text_of(root, "name"),
                    text_of(root, "state"), text_of(root, "reason"));
  } else {
    print_lines(root);
  }
  yyjson_doc_free(doc);
  return exit_code;
}

static int sig_of_module(const fc_args_t *args, const fc_module_t *module) {
  const char *name = fc_args_get(args, FC_OPTION_FUNCTION, NULL);
  const fc_function_t *function = name ? fc_local_find(module, name) : NULL;
  if (name && !function) return FC_EXIT_USAGE;
  fc_error_t err;
  fc_text_t text;
  fc_error_reset(&err);
  fc_text_init(&text, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status = function ? put_function(function, &text.sink, &err)
                                : put_module(module, &text.sink, &err);
  fc_str_t json = fc_text_str(&text);
  int exit_code =
      status == FC_OK
          ? print_document(args, json, yyjson_read(json.data, json.size, 0))
          : fc_complain(FC_EXIT_FAILED, "%s", err.message);
  fc_text_deinit(&text);
  return exit_code;
}

static int sig_of_file(const fc_args_t *args) {
  if (fc_args_has(args, FC_OPTION_SIG_FORMAT)) {
    return fc_complain(FC_EXIT_USAGE,
                       "--format asks a server; of a file there is --json");
  }
  fc_module_t *module;
  int exit_code = fc_local_load(args, args->words[0], true, &module);
  if (exit_code) return exit_code;
  exit_code = sig_of_module(args, module);
  fc_module_release(module);
  return exit_code;
}

// ---------------------------------------------------------------------------
// Signatures of a server

// Makes the path of the document of one function, of one module, or of all. The document
// has the member *out_key. Returns an exit code.
static int sig_target(const fc_args_t *args, const char **out_target,
                      const char **out_key) {
  *out_key = "modules";
  *out_target = FC_REMOTE_MODULES "?signatures=1";
  if (!args->word_count) return FC_EXIT_OK;
  const char *name = args->words[0];
  bool function = strchr(name, '/') != NULL;
  *out_key = function ? "text" : "functions";
  if (function) return fc_remote_target(args, name, out_target);
  const char *module = fc_url_segment(args->arena, fc_str(name));
  *out_target = module ? fc_print(args->arena,
                                  FC_REMOTE_MODULES "/%s?signatures=1", module)
                       : NULL;
  return *out_target ? FC_EXIT_OK
                     : fc_complain(FC_EXIT_FAILED, "out of memory");
}

static int print_format(const fc_args_t *args, const char *target) {
  if (!args->word_count || !strchr(args->words[0], '/')) {
    return fc_complain(FC_EXIT_USAGE, "--format is for one MODULE/FUNCTION");
  }
  const char *format = fc_url_segment(
      args->arena, fc_str(fc_args_get(args, FC_OPTION_SIG_FORMAT, "")));
  target =
      format ? fc_print(args->arena, "%s?format=%s", target, format) : NULL;
  if (!target) return fc_complain(FC_EXIT_FAILED, "out of memory");
  fc_reply_t answer;
  int exit_code = fc_remote_get(args, target, &answer);
  if (exit_code) return exit_code;
  bool known = answer.is_json || answer.is_plain;
  if (answer.cut || !known) return fc_remote_strange(&answer);
  fc_show(stdout, answer.body);
  putchar('\n');
  return FC_EXIT_OK;
}

// If the word looks like a file's name, complains and returns the exit code; otherwise 0.
static int complain_of_file(const char *word) {
  const char *slash = strrchr(word, '/');
  fc_str_t before = {word, slash ? (size_t)(slash - word) : 0};
  if (fc_str_ends(before, FC_STR(".so")) ||
      fc_str_ends(before, FC_STR(".vmfb"))) {
    return fc_complain(FC_EXIT_USAGE,
                       "a function of a file: farcall sig %.*s --function=%s",
                       FC_STR_ARG(before), slash + 1);
  }
  return FC_EXIT_OK;
}

int fc_verb_sig(const fc_args_t *args) {
  if (args->word_count > 1) {
    return fc_complain(FC_EXIT_USAGE,
                       "sig takes one MODULE[/FUNCTION] or FILE");
  }
  if (args->word_count && fc_local_is_file(args->words[0]))
    return sig_of_file(args);
  int meant = args->word_count ? complain_of_file(args->words[0]) : FC_EXIT_OK;
  if (meant) return meant;
  if (fc_args_has(args, FC_OPTION_FUNCTION)) {
    return fc_complain(FC_EXIT_USAGE,
                       "--function is of a FILE: say MODULE/FUNCTION");
  }
  const char *key, *target;
  int exit_code = sig_target(args, &target, &key);
  if (exit_code) return exit_code;
  if (fc_args_has(args, FC_OPTION_SIG_FORMAT)) {
    return print_format(args, target);
  }
  fc_str_t text;
  yyjson_doc *doc;
  exit_code = fc_remote_get_json(args, target, key, &text, &doc);
  return exit_code ? exit_code : print_document(args, text, doc);
}
