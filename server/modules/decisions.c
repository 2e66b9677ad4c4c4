// SPDX-License-Identifier: Apache-2.0
//
// See decisions.h.
#include "modules/decisions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module/files.h"

#define FIRST_LINE "farcall 1"
#define SIZE_MOST (16u << 20)

void fc_decisions_free(fc_decision_t *list, fc_allocator_t allocator) {
  while (list) {
    fc_decision_t *gone = list;
    list = gone->next;
    fc_free(allocator, gone);
  }
}

bool fc_is_alias(fc_str_t text) {
  bool good = text.size > 0 && text.size <= FC_ALIAS_MAX;
  for (size_t i = 0; good && i < text.size; i++) {
    const char c = text.data[i], low = (char)(c | 0x20);
    good = (low >= 'a' && low <= 'z') ||
           (i && ((c >= '0' && c <= '9') || c == '_' || c == '-'));
  }
  return good;
}

const fc_decision_t *fc_decisions_find(const fc_decision_t *list, fc_str_t name,
                                       fc_str_t alias) {
  for (; list; list = list->next) {
    if (!list->mark && fc_str_equal(list->name, name) &&
        fc_str_equal(list->alias, alias)) {
      return list;
    }
  }
  return NULL;
}

bool fc_decisions_refuse(const fc_decision_t *list, fc_str_t name,
                         fc_str_t version, uint64_t mark) {
  for (; list; list = list->next) {
    if (list->mark == mark && mark && fc_str_equal(list->name, name) &&
        fc_str_equal(list->version, version)) {
      return true;
    }
  }
  return false;
}

// ---------------------------------------------------------------------------
// Changing a list

static fc_str_t copy_text(char **at, fc_str_t text) {
  if (text.size) memcpy(*at, text.data, text.size);
  const fc_str_t copy = fc_str_make(*at, text.size);
  *at += text.size;
  return copy;
}

static fc_status_t append(fc_decision_t ***end, fc_allocator_t allocator,
                          const fc_decision_t *what, fc_error_t *err) {
  fc_decision_t *made =
      fc_alloc(allocator, sizeof *made + what->name.size + what->alias.size +
                              what->version.size + what->before.size);
  if (!made) return fc_fail_memory(err);
  char *at = made->text;
  made->name = copy_text(&at, what->name);
  made->alias = copy_text(&at, what->alias);
  made->version = copy_text(&at, what->version);
  made->before = copy_text(&at, what->before);
  made->mark = what->mark;
  **end = made;
  *end = &made->next;
  return FC_OK;
}

// Does `changed` replace `old`? It does if both say where the same name or alias leads,
// or if `old` refuses the version that `changed` refuses or leads to.
static bool is_about(const fc_decision_t *old, const fc_decision_t *changed) {
  if (!fc_str_equal(old->name, changed->name)) return false;
  if (old->mark) return fc_str_equal(old->version, changed->version);
  return !changed->mark && fc_str_equal(old->alias, changed->alias);
}

fc_status_t fc_decisions_change(const fc_decision_t *list,
                                fc_allocator_t allocator,
                                const fc_decision_t *changed,
                                fc_decision_t **out_list, fc_error_t *err) {
  fc_decision_t *made = NULL, **end = &made;
  fc_status_t status = FC_OK;
  for (; list && status == FC_OK; list = list->next) {
    if (!is_about(list, changed)) status = append(&end, allocator, list, err);
  }
  if (status == FC_OK && changed->version.size && !changed->lifted) {
    status = append(&end, allocator, changed, err);
  }
  if (status == FC_OK) *out_list = made;
  else fc_decisions_free(made, allocator);
  return status;
}

// ---------------------------------------------------------------------------
// Decisions as text

static fc_str_t or_dash(fc_str_t text) {
  return text.size ? text : FC_STR("-");
}

fc_status_t fc_decisions_print(const fc_decision_t *list, fc_sink_t *sink,
                               fc_error_t *err) {
  char line[512];
  FC_TRY(fc_sink_put(sink, FC_STR(FIRST_LINE "\n"), err));
  for (; list; list = list->next) {
    const int size =
        list->mark
            ? snprintf(line, sizeof line, "refuse %.*s %.*s %016llx\n",
                       FC_STR_ARG(list->name), FC_STR_ARG(list->version),
                       (unsigned long long)list->mark)
            : snprintf(line, sizeof line, "lead %.*s %.*s %.*s %.*s\n",
                       FC_STR_ARG(list->name), FC_STR_ARG(or_dash(list->alias)),
                       FC_STR_ARG(list->version),
                       FC_STR_ARG(or_dash(list->before)));
    FC_TRY(fc_sink_put(sink, fc_str_make(line, (size_t)size), err));
  }
  return fc_sink_put(sink, FC_STR("end\n"), err);
}

// Reverses or_dash. False: or_dash never writes such a text.
static bool un_dash(fc_str_t *text) {
  if (!text->size) return false;
  if (fc_str_equal(*text, FC_STR("-"))) *text = FC_STR("");
  return true;
}

static bool read_mark(fc_str_t text, uint64_t *out_mark) {
  uint64_t mark = 0;
  if (text.size != 16) return false;
  for (size_t i = 0; i < text.size; i++) {
    const char c = text.data[i];
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return false;
    mark = mark << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
  }
  *out_mark = mark;
  return mark != 0;
}

static bool is_name(fc_str_t text) {
  char path[FC_MODULE_NAME_MAX + 8];
  fc_str_t name;
  if (text.size > FC_MODULE_NAME_MAX) return false;
  const int size = snprintf(path, sizeof path, "%.*s.x", FC_STR_ARG(text));
  return fc_module_name(fc_str_make(path, (size_t)size), &name, NULL) ==
             FC_OK &&
         fc_str_equal(name, text);
}

static bool read_line(fc_str_t line, fc_decision_t *out) {
  const fc_str_t kind = fc_str_take(&line, ' ');
  *out = (fc_decision_t){.name = fc_str_take(&line, ' ')};
  if (!is_name(out->name)) return false;
  if (fc_str_equal(kind, FC_STR("refuse"))) {
    out->version = fc_str_take(&line, ' ');
    return fc_is_version(out->version) && read_mark(line, &out->mark);
  }
  if (!fc_str_equal(kind, FC_STR("lead"))) return false;
  out->alias = fc_str_take(&line, ' ');
  out->version = fc_str_take(&line, ' ');
  out->before = line;
  return un_dash(&out->alias) && un_dash(&out->before) &&
         (!out->alias.size || fc_is_alias(out->alias)) &&
         fc_is_version(out->version) &&
         (!out->before.size || fc_is_version(out->before));
}

fc_status_t fc_decisions_parse(fc_str_t text, fc_allocator_t allocator,
                               fc_decision_t **out_list, fc_error_t *err) {
  fc_decision_t *made = NULL, **end = &made;
  fc_status_t status = FC_OK;
  bool ended = false;
  for (unsigned number = 1; status == FC_OK && text.size; number++) {
    const fc_str_t line = fc_str_take(&text, '\n');
    fc_decision_t decision;
    if (number == 1 && fc_str_equal(line, FC_STR(FIRST_LINE))) continue;
    if (!ended && number > 1 && fc_str_equal(line, FC_STR("end"))) {
      ended = true;
    } else if (!ended && number > 1 && read_line(line, &decision)) {
      status = append(&end, allocator, &decision, err);
    } else {
      status = fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                       "line %u is not what farcalld writes", number);
    }
  }
  if (status == FC_OK && !ended) {
    status = fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "the last line is not 'end'");
  }
  if (status == FC_OK) *out_list = made;
  else fc_decisions_free(made, allocator);
  return status;
}

// ---------------------------------------------------------------------------
// The file of decisions

static fc_status_t fail_file(const char *what, const char *path,
                             fc_error_t *err) {
  return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE, "cannot %s '%s': %s", what,
                 path, strerror(errno));
}

static bool print_path(fc_str_t directory, const char *file,
                       char out[FC_PATH_SIZE_MAX]) {
  const int size =
      snprintf(out, FC_PATH_SIZE_MAX, "%.*s/%s", FC_STR_ARG(directory), file);
  if (size < FC_PATH_SIZE_MAX) return true;
  errno = ENAMETOOLONG;
  return false;
}

static fc_status_t read_file(int file, const char *path, char *text,
                             size_t size, fc_error_t *err) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = read(file, text + done, size - done);
    if (got == 0) errno = EIO;  // the file has become shorter
    if (got <= 0) return fail_file("read", path, err);
    done += (size_t)got;
  }
  return FC_OK;
}

fc_status_t fc_decisions_read(fc_str_t directory, fc_allocator_t allocator,
                              fc_decision_t **out_list, fc_error_t *err) {
  char path[FC_PATH_SIZE_MAX];
  struct stat info;
  *out_list = NULL;
  if (!print_path(directory, "modules", path)) {
    return fail_file("read", "--state-dir", err);
  }
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? FC_OK : fail_file("read", path, err);
  int reason = fstat(file, &info) ? errno : 0;
  if (!reason && info.st_size > SIZE_MOST) reason = EFBIG;
  errno = reason;
  fc_status_t status = reason ? fail_file("read", path, err) : FC_OK;
  const size_t size = status == FC_OK ? (size_t)info.st_size : 0;
  char *text = fc_alloc(allocator, size + 1);
  if (!text) status = fc_fail_memory(err);
  if (status == FC_OK) status = read_file(file, path, text, size, err);
  close(file);
  if (status == FC_OK) {
    status =
        fc_decisions_parse(fc_str_make(text, size), allocator, out_list, err);
    if (status != FC_OK && err && err->code == FC_CODE_NOT_ACCEPTABLE) {
      char why[sizeof err->message];
      memcpy(why, err->message, sizeof why);
      (void)fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "%s: %.100s", path, why);
    }
  }
  fc_free(allocator, text);
  return status;
}

static bool write_all(int file, fc_str_t text) {
  while (text.size) {
    const ssize_t size = write(file, text.data, text.size);
    if (size < 0) return false;
    text = fc_str_make(text.data + size, text.size - (size_t)size);
  }
  return fsync(file) == 0;
}

static bool sync_directory(fc_str_t directory) {
  char path[FC_PATH_SIZE_MAX];
  if (!print_path(directory, ".", path)) return false;
  const int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = file >= 0 && fsync(file) == 0;
  if (file >= 0) close(file);
  return done;
}

fc_status_t fc_decisions_write(fc_str_t directory, fc_str_t text,
                               fc_error_t *err) {
  char path[FC_PATH_SIZE_MAX], draft[FC_PATH_SIZE_MAX];
  if (!print_path(directory, "modules", path) ||
      !print_path(directory, "modules.new", draft)) {
    return fail_file("write", "--state-dir", err);
  }
  const int file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return fail_file("write", draft, err);
  const bool written = write_all(file, text);
  const int reason = errno;
  close(file);
  errno = reason;
  if (written && !rename(draft, path) && sync_directory(directory))
    return FC_OK;
  return fail_file("write", path, err);
}
