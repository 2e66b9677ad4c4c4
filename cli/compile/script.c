// SPDX-License-Identifier: Apache-2.0
//
// Finds a Python and runs our scripts in it.
#include "compile/script.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/inflate.h"
#include "compile/step.h"
#include "file.h"
#include "tool.h"

#define ARGUMENTS_MAX 40
#define SHEBANG_MAX 512

typedef struct script_t {
  const char *name;
  size_t size;                 // when unpacked
  const unsigned char *bytes;  // gzip
  size_t packed;
} script_t;

#define FC_COMPILE_SCRIPT(name, size, ...)           \
  {name, size, (const unsigned char[]){__VA_ARGS__}, \
   sizeof((const unsigned char[]){__VA_ARGS__})},

static const script_t kScripts[] = {
#include "compile_scripts.inc"
};

// Returns the Python that the first line of a script names. NULL: that Python does not
// exist, or the file is not a script.
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

static fc_status_t unpack(const script_t *script, fc_text_t *text,
                          fc_error_t *err) {
  const fc_str_t packed =
      fc_str_make((const char *)script->bytes, script->packed);
  return fc_inflate(FC_CODING_GZIP, packed, script->size, text, NULL, err);
}

fc_status_t fc_script_text(const char *name, fc_text_t *text, fc_error_t *err) {
  size_t i = 0;
  while (strcmp(kScripts[i].name, name) != 0) i++;
  return unpack(&kScripts[i], text, err);
}

static fc_status_t write_script(fc_compile_t *compile, const script_t *script) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), FC_SCRIPT_LIMIT);
  fc_status_t status = unpack(script, &text, compile->err);
  if (status == FC_OK)
    status = fc_step_write(compile, script->name, fc_text_str(&text));
  fc_text_deinit(&text);
  return status;
}

fc_status_t fc_script_run(fc_compile_t *compile, const char *python,
                          const char *name, const char *const *arguments) {
  const char *argv[ARGUMENTS_MAX] = {python, name};
  size_t count = 2;
  while (*arguments) argv[count++] = *arguments++;
  FC_ASSERT(count < ARGUMENTS_MAX);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kScripts); i++) {
    FC_TRY(write_script(compile, &kScripts[i]));
  }
  return fc_step_run(compile, FC_STEP_SCRIPT, name, argv);
}
