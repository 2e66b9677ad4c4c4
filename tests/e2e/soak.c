// SPDX-License-Identifier: Apache-2.0
//
// soak DIRECTORY DOCUMENTS COUNT THREADS
//
// Loads every .so module of DIRECTORY and makes COUNT calls in all, by THREADS threads. They
// repeat the calls of the file DOCUMENTS, which has one in each line:
//   MODULE/FUNCTION <tab> same|any <tab> call document
// `same`: the answer, even if it is an error, must equal the first one. Prints what the
// modules allocated. Fails if a block is left or an answer differs.
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "farcall/farcall.h"
#include "module/native/native.h"

#define LINES_MAX 4096
#define MODULES_MAX 256
#define ANSWER_LIMIT (1u << 24)

typedef struct fc_line_t {
  const fc_function_t *function;
  fc_str_t name;
  fc_str_t document;
  bool same;
} fc_line_t;

static fc_module_t *modules[MODULES_MAX];
static size_t module_count;
static fc_line_t lines[LINES_MAX];
static size_t line_count;

typedef struct fc_soaker_t {
  pthread_t thread;
  size_t first;  // the line that it begins with
  size_t count;
  size_t refused;
  bool failed;
} fc_soaker_t;

_Noreturn static void die(const char *what, const char *why) {
  fprintf(stderr, "soak: %s: %s\n", what, why);
  exit(1);
}

static fc_str_t read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) die(path, "cannot be read");
  char *data = fc_alloc(fc_allocator_system(), 1u << 24);
  if (!data) die(path, "out of memory");
  size_t size = fread(data, 1, (1u << 24) - 1, file);
  fclose(file);
  return fc_str_make(data, size);
}

static fc_str_t cut(fc_str_t *rest, char at) {
  const char *end = rest->size ? memchr(rest->data, at, rest->size) : NULL;
  size_t size = end ? (size_t)(end - rest->data) : rest->size;
  fc_str_t piece = fc_str_make(rest->data, size);
  size += end != NULL;
  *rest = fc_str_make(rest->data + size, rest->size - size);
  return piece;
}

static const fc_module_t *find_module(fc_str_t name) {
  for (size_t i = 0; i < module_count; i++) {
    if (fc_str_equal(fc_module_get_name(modules[i]), name)) return modules[i];
  }
  die("module", "is not there");
}

static void read_lines(fc_str_t text) {
  while (text.size && line_count < LINES_MAX) {
    fc_str_t row = cut(&text, '\n');
    fc_line_t *line = &lines[line_count++];
    line->name = cut(&row, '\t');
    line->same = fc_str_equal(cut(&row, '\t'), FC_STR("same"));
    line->document = row;
    fc_str_t function = line->name, module = cut(&function, '/');
    line->function = fc_module_find(find_module(module), function);
    if (!line->function || !line->function->plan)
      die("function", "is not there");
  }
}

static fc_status_t answer(fc_frame_t *frame, void *instance,
                          const fc_line_t *line, fc_text_t *text,
                          fc_error_t *err) {
  const fc_function_t *function = line->function;
  fc_frame_begin(frame, function->plan, NULL);
  FC_TRY(fc_frame_decode(frame, line->document, err));
  FC_TRY(fc_frame_invoke(frame, fc_module_get_backend(function->module),
                         instance, function->index, NULL, 0, err));
  return fc_frame_encode(frame, &text->sink, err);
}

// Writes the answer, or the error's code, to `text`, replacing what is there.
static bool call(fc_frame_t *frame, void *instance, const fc_line_t *line,
                 fc_text_t *text) {
  fc_error_t err;
  fc_error_reset(&err);
  fc_text_reset(text);
  fc_status_t status = answer(frame, instance, line, text, &err);
  fc_frame_end(frame);
  if (status == FC_OK) return true;
  fc_text_reset(text);
  if (fc_sink_put(&text->sink, fc_str(fc_code_info(err.code)->text), &err)) {
    die("answer", "out of memory");
  }
  return false;
}

static void *soak(void *context) {
  fc_soaker_t *soaker = context;
  fc_allocator_t allocator = fc_allocator_system();
  fc_limits_t limits = fc_limits_default();
  static _Thread_local void *instances[LINES_MAX];
  static _Thread_local fc_text_t first[LINES_MAX];
  fc_error_t err;
  fc_frame_t *frame;
  fc_text_t text;
  fc_text_init(&text, allocator, ANSWER_LIMIT);
  if (fc_frame_create(allocator, &limits, &frame, &err)) die("frame", "none");
  for (size_t i = 0; i < line_count; i++) {
    const fc_module_t *module = lines[i].function->module;
    const fc_backend_t *backend = fc_module_get_backend(module);
    fc_text_init(&first[i], allocator, ANSWER_LIMIT);
    if (backend->instance_create(fc_module_get_handle(module), allocator,
                                 &instances[i], &err)) {
      die("instance", err.message);
    }
    call(frame, instances[i], &lines[i], &first[i]);
  }
  for (size_t n = 0; n < soaker->count; n++) {
    size_t i = (soaker->first + n * 7919) % line_count;
    if (!call(frame, instances[i], &lines[i], &text)) soaker->refused++;
    if (!lines[i].same) continue;
    if (fc_str_equal(fc_text_str(&text), fc_text_str(&first[i]))) continue;
    fprintf(stderr, "soak: %.*s answered %.*s first, then %.*s\n",
            FC_STR_ARG(lines[i].name), FC_STR_ARG(fc_text_str(&first[i])),
            FC_STR_ARG(fc_text_str(&text)));
    soaker->failed = true;
    break;
  }
  for (size_t i = 0; i < line_count; i++) {
    fc_module_get_backend(lines[i].function->module)
        ->instance_destroy(instances[i]);
    fc_text_deinit(&first[i]);
  }
  fc_frame_destroy(frame);
  fc_text_deinit(&text);
  return NULL;
}

static bool print_counts(void) {
  bool clean = true;
  for (size_t i = 0; i < module_count; i++) {
    fc_native_counts_t counts =
        fc_native_get_counts(fc_module_get_handle(modules[i]));
    uint64_t live = counts.allocated - counts.freed;
    // "Left behind" are blocks of calls that failed half-way; they were freed
    // afterwards.
    printf("%.*s: %llu allocated, %llu live, %llu left behind\n",
           FC_STR_ARG(fc_module_get_name(modules[i])),
           (unsigned long long)counts.allocated, (unsigned long long)live,
           (unsigned long long)counts.leaked);
    if (live) clean = false;
  }
  return clean;
}

static void load_modules(const char *folder) {
  static const fc_backend_t *const backends[] = {&fc_backend_native, NULL};
  char pattern[4096];
  glob_t found;
  fc_error_t err;
  snprintf(pattern, sizeof pattern, "%s/*.so", folder);
  if (glob(pattern, 0, NULL, &found) || found.gl_pathc > MODULES_MAX) {
    die(folder, "has no modules, or too many");
  }
  for (size_t i = 0; i < found.gl_pathc; i++) {
    if (fc_module_load(backends, fc_str(found.gl_pathv[i]), NULL,
                       fc_allocator_system(), &modules[i], &err)) {
      die(found.gl_pathv[i], err.message);
    }
  }
  module_count = found.gl_pathc;
  globfree(&found);
}

int main(int argc, char **argv) {
  if (argc != 5) die("usage", "soak DIRECTORY DOCUMENTS COUNT THREADS");
  size_t total = (size_t)strtoull(argv[3], NULL, 10);
  size_t threads = (size_t)strtoull(argv[4], NULL, 10);
  load_modules(argv[1]);
  fc_str_t documents = read_file(argv[2]);
  read_lines(documents);
  if (!line_count || !threads || threads > 64) die("usage", "nothing to do");
  fc_soaker_t soakers[64] = {0};
  for (size_t i = 0; i < threads; i++) {
    soakers[i].first = i * line_count / threads;
    soakers[i].count = total / threads;
    if (pthread_create(&soakers[i].thread, NULL, soak, &soakers[i])) {
      die("thread", "cannot be started");
    }
  }
  bool fine = true;
  size_t refused = 0;
  for (size_t i = 0; i < threads; i++) {
    pthread_join(soakers[i].thread, NULL);
    fine = fine && !soakers[i].failed;
    refused += soakers[i].refused;
  }
  fine = print_counts() && fine;
  printf("%zu calls of %zu documents, %zu refused\n", total, line_count,
         refused);
  for (size_t i = 0; i < module_count; i++) fc_module_release(modules[i]);
  fc_free(fc_allocator_system(), (char *)(uintptr_t)documents.data);
  return fine ? 0 : 1;
}
