// SPDX-License-Identifier: Apache-2.0
//
// Reads the file as a whole and its top object.
#include "config/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "config/file_parser.h"

#define FILE_MAX (1u << 20)
#define DEPTH_MAX 10  // of lists and objects; "dims" are nested deepest

// ---------------------------------------------------------------------------
// Reading the file

static fc_status_t fail_file(const char *name, const char *why,
                             fc_error_t *err) {
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "cannot read %.200s: %s", name,
                 why);
}

static fc_status_t read_all(fc_config_file_t *file, int fd, fc_error_t *err) {
  const fc_allocator_t allocator = fc_allocator_system();
  file->text = fc_alloc(allocator, FILE_MAX + 1);
  if (!file->text) return fc_fail_memory(err);
  while (file->size <= FILE_MAX) {
    const ssize_t got =
        read(fd, file->text + file->size, FILE_MAX + 1 - file->size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_file(file->name, strerror(errno), err);
    if (got == 0) return FC_OK;
    file->size += (size_t)got;
  }
  return fail_file(file->name, "it is larger than 1 MiB", err);
}

static fc_status_t open_and_read(fc_config_file_t *file, fc_error_t *err) {
  const int fd = open(file->name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_file(file->name, strerror(errno), err);
  const fc_status_t status = read_all(file, fd, err);
  close(fd);
  return status;
}

// Returns the end of the piece of text that begins at `at`: a string, a comment (sets
// *out_comment), or one other character.
static size_t skip_piece(const fc_config_file_t *file, size_t at,
                         bool *out_comment) {
  const char *text = file->text;
  const size_t size = file->size;
  const char second = at + 1 < size ? text[at + 1] : '\0';
  *out_comment = text[at] == '/' && (second == '/' || second == '*');
  if (*out_comment && second == '/') {
    while (at < size && text[at] != '\n') at++;
    return at;
  }
  if (*out_comment) {
    for (at += 2; at + 1 < size; at++) {
      if (text[at] == '*' && text[at + 1] == '/') return at + 2;
    }
    // The comment has no end: the parser then refuses its '/'.
    *out_comment = false;
    return size;
  }
  if (text[at++] != '"') return at;
  while (at < size && text[at] != '"' && text[at] != '\n') {
    at += text[at] == '\\' && at + 1 < size ? 2 : 1;
  }
  return at < size ? at + 1 : at;
}

// Overwrites comments with blanks, so that lines and columns stay the same.
static void blank_comments(fc_config_file_t *file) {
  for (size_t at = 0; at < file->size;) {
    bool comment;
    const size_t end = skip_piece(file, at, &comment);
    for (; at < end; at++) {
      if (comment && file->text[at] != '\n') file->text[at] = ' ';
    }
  }
}

// ---------------------------------------------------------------------------
// The top object

static fc_status_t take_option(fc_file_parser_t *p, const fc_option_t *option) {
  const size_t index = (size_t)(option - fc_options);
  if (index == FC_OPTION_config) {
    return fc_file_fail(p, fc_fail(p->err, FC_CODE_UNKNOWN_FIELD,
                                   "a file does not name another one"));
  }
  return fc_file_take_member(p, option, p->options,
                             &p->options->origins[index]);
}

static fc_status_t add_path(fc_config_file_t *file, const char *path,
                            fc_error_t *err) {
  void *grown =
      fc_file_grow((void *)file->paths, file->path_count, sizeof path);
  if (!grown) return fc_fail_memory(err);
  file->paths = grown;
  file->paths[file->path_count++] = path;
  return FC_OK;
}

static fc_status_t fail_paths(fc_file_parser_t *p, fc_json_token_t token) {
  return fc_file_fail(p, fc_fail(p->err, FC_CODE_TYPE_MISMATCH,
                                 "\"paths\" takes a list of files and "
                                 "directories, not %s",
                                 fc_json_token_name(token)));
}

static fc_status_t take_paths(fc_file_parser_t *p) {
  fc_json_token_t token;
  if (p->file->path_count) {
    return fc_file_fail(p, fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                                   "\"paths\" is given twice"));
  }
  FC_TRY(fc_file_next(p, &token));
  if (token != FC_JSON_ARRAY_BEGIN) return fail_paths(p, token);
  for (;;) {
    char *path;
    size_t size;
    FC_TRY(fc_file_next(p, &token));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    if (token != FC_JSON_STRING) return fail_paths(p, token);
    FC_TRY(fc_file_take_string(p, &path, &size));
    if (size == 0) return fail_paths(p, token);
    FC_TRY(add_path(p->file, path, p->err));
  }
}

static fc_status_t fail_top_key(fc_file_parser_t *p) {
  const char *names[FC_OPTIONS + 3] = {"paths", "modules", "listeners"};
  for (size_t i = 0; i < FC_OPTIONS; i++) names[i + 3] = fc_options[i].flag;
  return fc_file_fail_key(p, names, FC_ARRAY_COUNT(names),
                          "keys are the options of farcalld --help, \"paths\", "
                          "\"modules\" and \"listeners\"");
}

// Refuses a file with both "listen" and "listeners": addresses must be given in one place
// only.
static fc_status_t check_listen(fc_file_parser_t *p) {
  const fc_origin_t listen = p->options->origins[FC_OPTION_listen];
  if (!p->file->listener_count || listen.from != FC_ORIGIN_FILE) return FC_OK;
  const fc_status_t status =
      fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
              "\"listen\" and \"listeners\" are both given: the latter has all "
              "addresses");
  fc_file_put_place(p->file, listen, p->err);
  return status;
}

static fc_status_t parse(fc_file_parser_t *p) {
  fc_json_token_t token;
  FC_TRY(fc_file_expect_object(p, ""));
  for (;;) {
    FC_TRY(fc_file_next(p, &token));
    if (token == FC_JSON_OBJECT_END) break;
    const fc_option_t *option = fc_option_find(p->reader.text);
    if (option) FC_TRY(take_option(p, option));
    else if (fc_json_text_is(&p->reader, FC_STR("paths")))
      FC_TRY(take_paths(p));
    else if (fc_json_text_is(&p->reader, FC_STR("modules")))
      FC_TRY(fc_file_take_modules(p));
    else if (fc_json_text_is(&p->reader, FC_STR("listeners")))
      FC_TRY(fc_file_take_listeners(p));
    else return fail_top_key(p);
  }
  FC_TRY(fc_file_next(p, &token));  // nothing may follow
  return check_listen(p);
}

fc_status_t fc_config_file_read(fc_server_options_t *options, const char *name,
                                fc_error_t *err) {
  options->file.name = name;
  FC_TRY(open_and_read(&options->file, err));
  return fc_config_file_parse(options, err);
}

fc_status_t fc_config_file_parse(fc_server_options_t *options,
                                 fc_error_t *err) {
  fc_config_file_t *file = &options->file;
  blank_comments(file);
  fc_file_parser_t p = {.options = options,
                        .file = file,
                        .modules = {.allocator = fc_allocator_system()},
                        .err = err};
  fc_json_reader_init(&p.reader, DEPTH_MAX, UINT32_MAX);
  fc_json_reader_feed(&p.reader, file->text, file->size, true);
  fc_status_t status =
      fc_lines_init(&p.lines, fc_str_make(file->text, file->size), err);
  if (status == FC_OK) status = parse(&p);
  fc_lines_deinit(&p.lines);
  fc_name_table_deinit(&p.modules);
  if (status != FC_OK) return status;
  options->paths = file->paths;
  options->path_count = file->path_count;
  return FC_OK;
}

void fc_config_file_deinit(fc_config_file_t *file) {
  fc_free(fc_allocator_system(), file->text);
  fc_free(fc_allocator_system(), (void *)file->paths);
  fc_free(fc_allocator_system(), file->modules);
  fc_free(fc_allocator_system(), file->listeners);
  *file = (fc_config_file_t){0};
}
