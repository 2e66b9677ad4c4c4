// SPDX-License-Identifier: Apache-2.0
//
// Finding a Python and running our scripts in it.
#include "compile/script.h"

#include <fcntl.h>
#include <unistd.h>

#include "compile/step.h"
#include "file.h"
#include "tool.h"

#define ARGUMENTS_MAX 40
#define SHEBANG_MAX 512

typedef struct script_t {
  const char *name;
  const unsigned char *bytes;
  size_t size;
} script_t;

#define FC_COMPILE_SCRIPT(name, ...)           \
  {name, (const unsigned char[]){__VA_ARGS__}, \
   sizeof((const unsigned char[]){__VA_ARGS__})},

static const script_t kScripts[] = {
#include "compile_scripts.inc"
};

// The Python that the first line of a script names; NULL: it names none that is there, or
// the file is no script.
static const char *interpreter(fc_compile_t *compile, const char *path) {
  char head[SHEBANG_MAX];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? -1 : read(file, head, sizeof head - 1);
  if (file >= 0) close(file);
  if (size < 3 || head[0] != '#' || head[1] != '!') return NULL;
  head[size] = '\0';
  const size_t length = strcspn(head + 2, " \t\r\n");
  const char *found = fc_print(compile->arena, "%.*s", (int)length, head + 2);
  const bool python = found && strstr(fc_file_base(found), "python");
  return python && !access(found, X_OK) ? found : NULL;
}

const char *fc_script_python(fc_compile_t *compile, const char *tool) {
  const char *found = tool ? interpreter(compile, tool) : NULL;
  if (!found && tool) {
    const char *beside = fc_print(compile->arena, "%.*spython3",
                                  (int)(fc_file_base(tool) - tool), tool);
    if (beside && !access(beside, X_OK)) found = beside;
  }
  return found ? found : fc_tool_find(compile->arena, "python3", NULL);
}

fc_str_t fc_script_text(const char *name) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kScripts); i++) {
    if (strcmp(kScripts[i].name, name)) continue;
    return (fc_str_t){(const char *)kScripts[i].bytes, kScripts[i].size};
  }
  return (fc_str_t){0};
}

fc_status_t fc_script_run(fc_compile_t *compile, const char *python,
                          const char *name, const char *const *arguments) {
  const char *argv[ARGUMENTS_MAX] = {python, name};
  size_t count = 2;
  while (*arguments) argv[count++] = *arguments++;
  FC_ASSERT(count < ARGUMENTS_MAX);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kScripts); i++) {
    const fc_str_t text = {(const char *)kScripts[i].bytes, kScripts[i].size};
    FC_TRY(fc_step_write(compile, kScripts[i].name, text));
  }
  return fc_step_run(compile, FC_STEP_SCRIPT, name, argv);
}
