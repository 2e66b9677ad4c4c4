// SPDX-License-Identifier: Apache-2.0
//
// llvm-objdump and GNU objdump have the same options and print the same form: a function
// begins with a line "ADDRESS <NAME>:". Both also report missing source files; these
// reports are not shown, because a module is seldom dumped where it was compiled.
#include "disassemble.h"

#include <sys/wait.h>

#include "file.h"
#include "tool.h"

#define LOG "objdump.txt"

fc_status_t fc_disassembly_begin(const fc_args_t *args,
                                 fc_disassembly_t *out_disassembly,
                                 fc_error_t *err) {
  static const char *const names[] = {"llvm-objdump", "objdump"};
  const char *directory = fc_args_get(args, FC_OPTION_TOOLS, NULL);
  fc_disassembly_t made = {.args = args};
  for (size_t i = 0; !made.tool && i < FC_ARRAY_COUNT(names); i++) {
    made.tool = fc_tool_find(args->arena, names[i], directory);
  }
  if (!made.tool) {
    return fc_fail(err, FC_CODE_NOT_FOUND,
                   "no llvm-objdump and no objdump %s%s: `apt install llvm-22` "
                   "or `apt install binutils` installs one on Debian, "
                   "--tools=DIR says where it is",
                   directory ? "in " : "on PATH", directory ? directory : "");
  }
  FC_TRY(fc_workdir_create(args->arena, &made.work, err));
  *out_disassembly = made;
  return FC_OK;
}

void fc_disassembly_end(fc_disassembly_t *disassembly) {
  fc_workdir_remove(disassembly->work);
}

// Removes the first line, with its line feed, from *rest and returns it.
static fc_str_t cut_line(fc_str_t *rest) {
  const char *end = memchr(rest->data, '\n', rest->size);
  const size_t size = end ? (size_t)(end - rest->data) + 1 : rest->size;
  const fc_str_t line = {rest->data, size};
  *rest = fc_str_make(rest->data + size, rest->size - size);
  return line;
}

static bool contains(fc_str_t text, const char *wanted) {
  return memmem(text.data, text.size, wanted, strlen(wanted)) != NULL;
}

// Returns the function's name if the line begins the code of a function; otherwise "".
static fc_str_t label_of(fc_str_t line) {
  const size_t digits = strspn(line.data, "0123456789abcdef");
  const fc_str_t rest = fc_str_make(line.data + digits, line.size - digits);
  if (!digits || !fc_str_starts(rest, FC_STR(" <")) ||
      !fc_str_ends(rest, FC_STR(">:\n"))) {
    return (fc_str_t){0};
  }
  return fc_str_make(rest.data + 2, rest.size - 5);
}

// A function that has MLIR's C interface has two symbols.
static bool is_of(fc_str_t label, const char *name) {
  static const fc_str_t kInterface = FC_STR("_mlir_ciface_");
  if (fc_str_equal(label, fc_str(name))) return true;
  return fc_str_starts(label, kInterface) &&
         fc_str_equal(fc_str_make(label.data + kInterface.size,
                                  label.size - kInterface.size),
                      fc_str(name));
}

// Prints the wanted code, and returns its size.
static size_t show(fc_str_t text, const char *name) {
  size_t shown = 0;
  bool wanted = !name;
  while (text.size) {
    const fc_str_t line = cut_line(&text), label = label_of(line);
    if (name && label.size) wanted = is_of(label, name);
    if (!wanted || contains(line, ": warning: ")) continue;
    fc_show(stdout, line);
    shown += line.size;
  }
  return shown;
}

// Returns the last line of the tool's output, without a line feed at its end.
static fc_str_t last_line(fc_str_t text) {
  fc_str_t line = {0};
  while (text.size) line = cut_line(&text);
  if (line.size && line.data[line.size - 1] == '\n') line.size--;
  return line;
}

fc_status_t fc_disassemble(const fc_disassembly_t *disassembly,
                           const char *path, const char *name,
                           fc_error_t *err) {
  fc_arena_t *arena = disassembly->args->arena;
  const char *log = fc_print(arena, "%s/" LOG, disassembly->work);
  // Makes sure that a path beginning with a dash is not taken as an option.
  const char *file = fc_print(arena, "%s%s", *path == '-' ? "./" : "", path);
  if (!log || !file) return fc_fail_memory(err);
  const char *const argv[] = {disassembly->tool,
                              "--disassemble",
                              "--line-numbers",
                              "--source",
                              "--no-show-raw-insn",
                              "--section=.text",
                              file,
                              NULL};
  int wait = 0;
  fc_str_t text;
  // Runs in the working directory, because the source may be there.
  FC_TRY(fc_tool_run(argv, ".", log, &wait, err));
  FC_TRY(fc_file_read(arena, log, &text, err));
  if (!WIFEXITED(wait) || WEXITSTATUS(wait)) {
    const fc_str_t line = last_line(text);
    return fc_fail(err, FC_CODE_MODULE_LOAD, "%.*s", FC_STR_ARG(line));
  }
  if (show(text, name) || !name) return FC_OK;
  return fc_fail(err, FC_CODE_FUNCTION_NOT_FOUND,
                 "it has no code of a function '%s'", name);
}
