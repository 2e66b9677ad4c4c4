// SPDX-License-Identifier: Apache-2.0
#include "config/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "config/lines.h"
#include "config/listener.h"
#include "config/module.h"
#include "json/reader.h"
#include "module/files.h"

#define FILE_MAX (1u << 20)
#define DEPTH_MAX 10   // "dims" are the deepest
#define NUMBER_MAX 32  // characters

typedef struct parser_t {
  fc_server_options_t *options;
  fc_config_file_t *file;
  fc_json_reader_t reader;
  uint64_t value_offset;  // where the value of the last key begins in the text
  bool had_modules;
  fc_origin_t listeners;    // where "listeners" is, if there is one
  fc_name_table_t modules;  // to their positions in file->modules
  fc_lines_t lines;         // of the text, before it was changed
  fc_error_t *err;
} parser_t;

// ---------------------------------------------------------------------------
// Places

// Puts the place in front of the message, whose end may be cut off for it.
static void put_place(const fc_config_file_t *file, fc_origin_t place,
                      fc_error_t *err) {
  char prefix[200];
  snprintf(prefix, sizeof prefix, "%.160s:%u:%u: ", file->name, place.line,
           place.column);
  const size_t size = strlen(prefix), room = sizeof err->message - size;
  memmove(err->message + size, err->message, room);
  memcpy(err->message, prefix, size);
  err->message[sizeof err->message - 1] = '\0';
}

static fc_status_t fail_at(parser_t *p, uint64_t offset, fc_status_t status) {
  put_place(p->file, fc_lines_find(&p->lines, offset), p->err);
  return status;
}

static fc_status_t fail_here(parser_t *p, fc_status_t status) {
  return fail_at(p, p->reader.token_offset, status);
}

static fc_status_t next(parser_t *p, fc_json_token_t *out_token) {
  const fc_status_t status = fc_json_next(&p->reader, out_token, p->err);
  return status == FC_OK ? FC_OK : fail_at(p, p->err->byte_offset, status);
}

void fc_config_locate(const fc_server_options_t *options, unsigned option,
                      fc_error_t *err) {
  fc_config_locate_at(options, options->origins[option], err);
}

void fc_config_locate_at(const fc_server_options_t *options, fc_origin_t origin,
                         fc_error_t *err) {
  if (origin.from == FC_ORIGIN_FILE) put_place(&options->file, origin, err);
}

// ---------------------------------------------------------------------------
// Reading

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

// Returns where the piece of text that begins at `at` ends: a string, a
// comment, or one other character.
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
    *out_comment = false;  // not ended: the parser refuses it where it begins
    return size;
  }
  if (text[at++] != '"') return at;
  while (at < size && text[at] != '"' && text[at] != '\n') {
    at += text[at] == '\\' && at + 1 < size ? 2 : 1;
  }
  return at < size ? at + 1 : at;
}

// Comments become blanks; lines and columns stay.
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
// Values

// Gives the string that was just read. It is unescaped in place and ended by a
// zero, at the latest where its closing quote was.
static fc_status_t take_string(parser_t *p, char **out, size_t *out_size) {
  char *text = p->file->text + (p->reader.text.data - p->file->text);
  const size_t size = fc_json_unescape(p->reader.text, text);
  if (memchr(text, '\0', size)) {
    return fail_here(p, fc_fail(p->err, FC_CODE_NOT_ACCEPTABLE,
                                "a text with a zero byte in it"));
  }
  text[size] = '\0';
  *out = text;
  *out_size = size;
  return FC_OK;
}

static fc_status_t fail_kind(parser_t *p, const fc_option_t *option,
                             fc_json_token_t token) {
  const bool flag = option->kind == FC_OPTION_KIND_FLAG;
  return fail_here(
      p, fc_fail(p->err, FC_CODE_TYPE_MISMATCH, "\"%s\" takes %s, not %s",
                 option->flag, flag ? "true or false" : option->argument,
                 fc_json_token_name(token)));
}

// ["a", "b"] is another spelling of "a,b". The text is put together where the
// first string lies: it never gets longer than what was read.
static fc_status_t take_list(parser_t *p, const fc_option_t *option,
                             const char **out) {
  char *list = NULL;
  size_t used = 0;
  for (;;) {
    fc_json_token_t token;
    char *text;
    size_t size;
    FC_TRY(next(p, &token));
    if (token == FC_JSON_ARRAY_END) break;
    if (token != FC_JSON_STRING) return fail_kind(p, option, token);
    FC_TRY(take_string(p, &text, &size));
    if (!list) list = text;
    else list[used++] = ',';
    memmove(list + used, text, size);
    used += size;
    list[used] = '\0';
  }
  *out = list ? list : "";
  return FC_OK;
}

static bool is_text(fc_option_kind_t kind) {
  return kind == FC_OPTION_KIND_TEXT || kind == FC_OPTION_KIND_LIST;
}

static bool is_number(fc_option_kind_t kind) {
  return kind == FC_OPTION_KIND_COUNT || kind == FC_OPTION_KIND_SIZE ||
         kind == FC_OPTION_KIND_TIME;
}

// Gives a list as it was written; its beginning was just read. The text is moved to
// where the byte before it was, which was read, so that there is room for a zero.
static fc_status_t take_json(parser_t *p, const char **out) {
  const uint64_t begin = p->reader.token_offset;
  fc_json_token_t token;
  for (unsigned open = 1; open;) {
    FC_TRY(next(p, &token));
    open += token == FC_JSON_ARRAY_BEGIN || token == FC_JSON_OBJECT_BEGIN;
    open -= token == FC_JSON_ARRAY_END || token == FC_JSON_OBJECT_END;
  }
  const size_t size = (size_t)(p->reader.token_offset + 1 - begin);
  char *text = p->file->text + begin - 1;
  memmove(text, text + 1, size);
  text[size] = '\0';
  *out = text;
  return FC_OK;
}

// Gives the value as a flag would spell it. The text of a number is written to
// `number`.
static fc_status_t take_value(parser_t *p, const fc_option_t *option,
                              char number[NUMBER_MAX], const char **out) {
  fc_json_token_t token;
  FC_TRY(next(p, &token));
  p->value_offset = p->reader.token_offset;
  const fc_str_t text = p->reader.text;
  switch (token) {
    case FC_JSON_STRING: {
      char *string;
      size_t size;
      if (option->kind == FC_OPTION_KIND_JSON) break;
      FC_TRY(take_string(p, &string, &size));
      *out = string;
      return FC_OK;
    }
    case FC_JSON_NUMBER:
      if (!is_number(option->kind) || text.size >= NUMBER_MAX) break;
      snprintf(number, NUMBER_MAX, "%.*s", (int)text.size, text.data);
      *out = number;
      return FC_OK;
    case FC_JSON_TRUE:
    case FC_JSON_FALSE:
      if (is_number(option->kind) || is_text(option->kind) ||
          option->kind == FC_OPTION_KIND_JSON) {
        break;
      }
      *out = token == FC_JSON_TRUE ? "on" : "off";
      return FC_OK;
    case FC_JSON_ARRAY_BEGIN:
      if (option->kind == FC_OPTION_KIND_JSON) return take_json(p, out);
      if (!is_text(option->kind)) break;
      return take_list(p, option, out);
    default:
      break;
  }
  return fail_kind(p, option, token);
}

// Reads the value of the option, a row of some table, into `values`.
static fc_status_t take_member(parser_t *p, const fc_option_t *option,
                               void *values, fc_origin_t *origin) {
  char number[NUMBER_MAX], named[64];
  const char *value = "";
  if (origin->from == FC_ORIGIN_FILE) {
    return fail_here(p, fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                                "\"%s\" is given twice, first in line %u",
                                option->flag, origin->line));
  }
  FC_TRY(take_value(p, option, number, &value));
  snprintf(named, sizeof named, "\"%s\"", option->flag);
  const fc_status_t status =
      fc_option_set(values, option, value, named, p->err);
  *origin = fc_lines_find(&p->lines, p->value_offset);
  return status == FC_OK ? FC_OK : fail_at(p, p->value_offset, status);
}

static fc_status_t take_option(parser_t *p, const fc_option_t *option) {
  const size_t index = (size_t)(option - fc_options);
  if (index == FC_OPTION_config) {
    return fail_here(p, fc_fail(p->err, FC_CODE_UNKNOWN_FIELD,
                                "a file does not name another one"));
  }
  return take_member(p, option, p->options, &p->options->origins[index]);
}

// Room for one more of `count` items, whose number is doubled each time. NULL:
// there is no memory, and nothing has changed.
static void *grow(void *items, size_t count, size_t size) {
  if (count & (count - 1)) return items;
  const size_t capacity = count ? 2 * count : 1;
  return fc_realloc(fc_allocator_system(), items, count * size,
                    capacity * size);
}

static fc_status_t add_path(fc_config_file_t *file, const char *path,
                            fc_error_t *err) {
  void *grown = grow((void *)file->paths, file->path_count, sizeof path);
  if (!grown) return fc_fail_memory(err);
  file->paths = grown;
  file->paths[file->path_count++] = path;
  return FC_OK;
}

static fc_status_t fail_paths(parser_t *p, fc_json_token_t token) {
  return fail_here(p, fc_fail(p->err, FC_CODE_TYPE_MISMATCH,
                              "\"paths\" takes a list of files and "
                              "directories, not %s",
                              fc_json_token_name(token)));
}

static fc_status_t take_paths(parser_t *p) {
  fc_json_token_t token;
  if (p->file->path_count) {
    return fail_here(p, fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                                "\"paths\" is given twice"));
  }
  FC_TRY(next(p, &token));
  if (token != FC_JSON_ARRAY_BEGIN) return fail_paths(p, token);
  for (;;) {
    char *path;
    size_t size;
    FC_TRY(next(p, &token));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    if (token != FC_JSON_STRING) return fail_paths(p, token);
    FC_TRY(take_string(p, &path, &size));
    if (size == 0) return fail_paths(p, token);
    FC_TRY(add_path(p->file, path, p->err));
  }
}

// ---------------------------------------------------------------------------
// The object

static fc_status_t fail_key(parser_t *p, const char *const *names, size_t count,
                            const char *which) {
  const fc_str_t key = p->reader.text;
  const char *nearest = fc_option_nearest(key, names, count);
  char shown[80], hint[120] = "";
  fc_escape(shown, sizeof shown, 64, key);
  if (nearest) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
  return fail_here(
      p, fc_fail(p->err, FC_CODE_UNKNOWN_FIELD, "unknown key '%s': %s", shown,
                 nearest ? hint : which));
}

static fc_status_t fail_top_key(parser_t *p) {
  const char *names[FC_OPTIONS + 3] = {"paths", "modules", "listeners"};
  for (size_t i = 0; i < FC_OPTIONS; i++) names[i + 3] = fc_options[i].flag;
  return fail_key(p, names, FC_ARRAY_COUNT(names),
                  "keys are the options of farcalld --help, \"paths\", "
                  "\"modules\" and \"listeners\"");
}

static fc_status_t expect_object(parser_t *p, const char *what) {
  fc_json_token_t token;
  FC_TRY(next(p, &token));
  if (token == FC_JSON_OBJECT_BEGIN) return FC_OK;
  return fail_here(p, fc_fail(p->err, FC_CODE_TYPE_MISMATCH,
                              "%sexpected an object, found %s", what,
                              fc_json_token_name(token)));
}

// The keys of an object that is one of several, whose table has `count`.
typedef struct keys_t {
  const fc_option_t *table;
  size_t count;
  const char *which;  // where they are listed
} keys_t;

#define KEYS_MAX 32

static fc_status_t take_key(parser_t *p, const keys_t *keys, void *values,
                            fc_origin_t *origins) {
  const char *names[KEYS_MAX];
  FC_ASSERT(keys->count <= KEYS_MAX);
  for (size_t i = 0; i < keys->count; i++) {
    const fc_option_t *key = &keys->table[i];
    if (fc_json_text_is(&p->reader, fc_str(key->flag))) {
      return take_member(p, key, values, &origins[i]);
    }
    names[i] = key->flag;
  }
  return fail_key(p, names, keys->count, keys->which);
}

// Reads the members of an object, whose beginning was read.
static fc_status_t take_keys(parser_t *p, const keys_t *keys, void *values,
                             fc_origin_t *origins) {
  fc_json_token_t token;
  for (;;) {
    FC_TRY(next(p, &token));
    if (token == FC_JSON_OBJECT_END) return FC_OK;
    FC_TRY(take_key(p, keys, values, origins));
  }
}

static fc_status_t check_module_name(parser_t *p, fc_str_t name) {
  const fc_config_file_t *file = p->file;
  fc_str_t rest = name;
  const fc_str_t module = fc_str_take(&rest, '@');
  const bool alone = module.size == name.size;
  if (!fc_is_module_name(module) || !(alone || fc_is_version(rest))) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, name);
    return fail_here(p, fc_fail(p->err, FC_CODE_NOT_ACCEPTABLE,
                                "'%s' is no name of a module, and no "
                                "MODULE@VERSION",
                                shown));
  }
  const uint32_t other = fc_name_table_find(&p->modules, name);
  if (other == FC_NAME_NONE) return FC_OK;
  return fail_here(p,
                   fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                           "module '%.*s' is given twice, first in line %u",
                           FC_STR_ARG(name), file->modules[other].origin.line));
}

// Which versions are served, and what leads to them, is not said of one of them.
static fc_status_t check_version_keys(parser_t *p,
                                      const fc_module_policy_t *policy) {
  static const unsigned kKeys[] = {FC_MODULE_KEY_versions,
                                   FC_MODULE_KEY_aliases};
  fc_str_t module;
  if (!fc_module_policy_is_version(fc_str(policy->name), &module)) return FC_OK;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kKeys); i++) {
    const fc_origin_t origin = policy->origins[kKeys[i]];
    if (origin.from == FC_ORIGIN_DEFAULT) continue;
    const fc_status_t status =
        fc_fail(p->err, FC_CODE_NOT_ACCEPTABLE,
                "\"%s\" is not of one version: say it of module '%.*s'",
                fc_module_keys[kKeys[i]].flag, FC_STR_ARG(module));
    put_place(p->file, origin, p->err);
    return status;
  }
  return FC_OK;
}

// The reader has just read the name.
static fc_status_t take_module(parser_t *p) {
  static const keys_t kKeys = {fc_module_keys, FC_MODULE_KEYS,
                               "docs/config.md has those of modules"};
  fc_config_file_t *file = p->file;
  char *name;
  size_t size;
  FC_TRY(take_string(p, &name, &size));
  FC_TRY(check_module_name(p, fc_str_make(name, size)));
  void *grown = grow(file->modules, file->module_count, sizeof *file->modules);
  if (!grown) return fc_fail_memory(p->err);
  file->modules = grown;
  FC_TRY(fc_name_table_put(&p->modules, fc_str_make(name, size),
                           (uint32_t)file->module_count, p->err));
  fc_module_policy_t *policy = &file->modules[file->module_count++];
  fc_module_policy_init(policy, name);
  policy->origin = fc_lines_find(&p->lines, p->reader.token_offset);
  FC_TRY(expect_object(p, "a module's policy: "));
  FC_TRY(take_keys(p, &kKeys, policy, policy->origins));
  return check_version_keys(p, policy);
}

static fc_status_t take_modules(parser_t *p) {
  fc_json_token_t token;
  if (p->had_modules) {
    return fail_here(p, fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                                "\"modules\" is given twice"));
  }
  p->had_modules = true;
  FC_TRY(expect_object(p, "\"modules\": "));
  for (;;) {
    FC_TRY(next(p, &token));
    if (token == FC_JSON_OBJECT_END) return FC_OK;
    FC_TRY(take_module(p));
  }
}

// `listener` is the last one.
static fc_status_t check_listener(parser_t *p,
                                  const fc_listener_policy_t *listener) {
  const fc_listener_policy_t *first = p->file->listeners;
  const fc_str_t address = fc_str(listener->address);
  fc_status_t status = FC_OK;
  fc_str_t name;
  // Of port 0 each has another one.
  const bool is_new = !fc_listener_is_passed(address, &name) &&
                      fc_str_ends(address, FC_STR(":0"));
  while (strcmp(first->address, listener->address) != 0) first++;
  if (!*listener->address) {
    status = fc_fail(p->err, FC_CODE_MISSING_ARGUMENT,
                     "a listener without an \"address\"");
  } else if (first != listener && !is_new) {
    status = fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                     "listener '%.100s' is given twice, first in line %u",
                     listener->address, first->origin.line);
  }
  if (status != FC_OK) put_place(p->file, listener->origin, p->err);
  return status;
}

// The reader has just read the object's beginning.
static fc_status_t take_listener(parser_t *p) {
  static const keys_t kKeys = {fc_listener_keys, FC_LISTENER_KEYS,
                               "docs/config.md has those of listeners"};
  fc_config_file_t *file = p->file;
  void *grown =
      grow(file->listeners, file->listener_count, sizeof *file->listeners);
  if (!grown) return fc_fail_memory(p->err);
  file->listeners = grown;
  fc_listener_policy_t *policy = &file->listeners[file->listener_count++];
  fc_listener_policy_init(policy);
  policy->origin = fc_lines_find(&p->lines, p->reader.token_offset);
  FC_TRY(take_keys(p, &kKeys, policy, policy->origins));
  return check_listener(p, policy);
}

static fc_status_t take_listeners(parser_t *p) {
  fc_json_token_t token;
  if (p->listeners.line) {
    return fail_here(p,
                     fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                             "\"listeners\" is given twice, first in line %u",
                             p->listeners.line));
  }
  p->listeners = fc_lines_find(&p->lines, p->reader.token_offset);
  FC_TRY(next(p, &token));
  bool good = token == FC_JSON_ARRAY_BEGIN;
  while (good) {
    FC_TRY(next(p, &token));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    good = token == FC_JSON_OBJECT_BEGIN;
    if (good) FC_TRY(take_listener(p));
  }
  return fail_here(p, fc_fail(p->err, FC_CODE_TYPE_MISMATCH,
                              "\"listeners\" takes a list of objects, not %s",
                              fc_json_token_name(token)));
}

// Each address is in one place, so that nobody need ask what holds for it.
static fc_status_t check_listen(parser_t *p) {
  const fc_origin_t listen = p->options->origins[FC_OPTION_listen];
  if (!p->file->listener_count || listen.from != FC_ORIGIN_FILE) return FC_OK;
  const fc_status_t status =
      fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
              "\"listen\" and \"listeners\" are both given: the latter has all "
              "addresses");
  put_place(p->file, listen, p->err);
  return status;
}

static fc_status_t parse(parser_t *p) {
  fc_json_token_t token;
  FC_TRY(expect_object(p, ""));
  for (;;) {
    FC_TRY(next(p, &token));
    if (token == FC_JSON_OBJECT_END) break;
    const fc_option_t *option = fc_option_find(p->reader.text);
    if (option) FC_TRY(take_option(p, option));
    else if (fc_json_text_is(&p->reader, FC_STR("paths")))
      FC_TRY(take_paths(p));
    else if (fc_json_text_is(&p->reader, FC_STR("modules")))
      FC_TRY(take_modules(p));
    else if (fc_json_text_is(&p->reader, FC_STR("listeners")))
      FC_TRY(take_listeners(p));
    else return fail_top_key(p);
  }
  FC_TRY(next(p, &token));  // nothing may follow
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
  parser_t p = {.options = options,
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
