// SPDX-License-Identifier: Apache-2.0
//
// Loading and naming modules, with a backend of this test.
#include "helpers/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "farcall/module.h"

// ---------------------------------------------------------------------------
// A backend whose modules have the functions add and sub. A file that contains "bad"
// cannot be opened.

typedef struct fake_t {
  fc_allocator_t allocator;
  fc_signature_t *signatures[2];
  fc_module_info_t info;
} fake_t;

static int open_count;

static fc_status_t make_signature(const char *name, fc_allocator_t allocator,
                                  fc_signature_t **out, fc_error_t *err) {
  fc_builder_t *builder = fc_builder_create(allocator);
  if (!builder) return fc_fail_memory(err);
  fc_builder_name(builder, fc_str(name));
  fc_builder_argument(builder, FC_STR("x"),
                      fc_builder_scalar(builder, FC_DTYPE_I32), FC_ROLE_IN,
                      true, FC_RAW_NEXT);
  if (!strcmp(name, "sub")) fc_builder_refuse(builder, FC_STR("not today"));
  fc_status_t status = fc_signature_build(builder, out, err);
  fc_builder_destroy(builder);
  return status;
}

static void fake_close(void *module) {
  fake_t *fake = module;
  for (size_t i = 0; i < 2; i++) fc_signature_destroy(fake->signatures[i]);
  fc_free(fake->allocator, fake);
  open_count--;
}

// Accepts any file that does not contain just "no".
static fc_status_t fake_probe(fc_str_t head, fc_error_t *err) {
  if (!fc_str_equal(head, FC_STR("no"))) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_LOAD, "it says no");
}

static fc_status_t fake_open(const fc_module_source_t *source,
                             fc_allocator_t allocator, void **out_module,
                             fc_error_t *err) {
  char text[4] = "";
  int fd = open(source->path.data, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_true(read(fd, text, 3) >= 0);
  close(fd);
  if (!strcmp(text, "bad")) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "it is bad");
  }
  fake_t *fake = fc_alloc(allocator, sizeof *fake);
  if (!fake) return fc_fail_memory(err);
  open_count++;
  fake->allocator = allocator;
  fc_status_t status =
      make_signature("add", allocator, &fake->signatures[0], err);
  if (!status) {
    status = make_signature("sub", allocator, &fake->signatures[1], err);
  }
  if (status) {
    fake_close(fake);
    return status;
  }
  fake->info = (fc_module_info_t){.signatures = fake->signatures, .count = 2};
  *out_module = fake;
  return FC_OK;
}

static const fc_module_info_t *fake_describe(const void *module) {
  return &((const fake_t *)module)->info;
}

static const fc_backend_t fake_backend = {.kind = "fake",
                                          .title = "fake",
                                          .suffix = ".so",
                                          .probe = fake_probe,
                                          .open = fake_open,
                                          .describe = fake_describe,
                                          .close = fake_close};
static const fc_backend_t *const backends[] = {&fake_backend, NULL};

// ---------------------------------------------------------------------------
// A folder of files

static char folder[] = "/tmp/farcall-module-XXXXXX";
static char paths[32][80];
static size_t path_count;

static const char *put(const char *name, const char *text) {
  char *path = paths[path_count++];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
  return path;
}

static int make_folder(void **state) {
  (void)state;
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  while (path_count) {
    if (unlink(paths[--path_count])) rmdir(paths[path_count]);
  }
  rmdir(folder);
  assert_int_equal(open_count, 0);
  return fc_test_report_row(state);
}
#define IN_FOLDER(function) \
  { #function, function, make_folder, remove_folder, NULL }

// ---------------------------------------------------------------------------

typedef struct name_row_t {
  const char *name;      // the path
  const char *expected;  // NULL: refused
} name_row_t;

static const name_row_t names[] = {
    {"tensor.so", "tensor"},
    {"/a/b/tensor.so", "tensor"},
    {"a.b-1.so", "a.b-1"},
    {"_x.vmfb", "_x"},
    {"9.so", "9"},
    {"noextension", "noextension"},
    {".so", NULL},
    {".hidden.so", NULL},
    {"-x.so", NULL},
    {"a b.so", NULL},
    {"dir/", NULL},
    {"", NULL},
    {"caf\xc3\xa9.so", NULL},
};

static void names_come_from_the_file_name(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const name_row_t, row, names) {
    fc_str_t name;
    fc_error_t err;
    fc_status_t status = fc_module_name(fc_str(row->name), &name, &err);
    if (row->expected) {
      assert_int_equal(status, FC_OK);
      assert_true(fc_str_equal(name, fc_str(row->expected)));
    } else {
      assert_int_not_equal(status, FC_OK);
      assert_int_equal(err.code, FC_CODE_MODULE_PATH);
    }
  }
  char longest[FC_MODULE_NAME_MAX + 5];
  memset(longest, 'a', sizeof longest);
  memcpy(longest + FC_MODULE_NAME_MAX, ".so", 4);
  fc_str_t name;
  assert_int_equal(fc_module_name(fc_str(longest), &name, NULL), FC_OK);
  memcpy(longest + FC_MODULE_NAME_MAX, "a.so", 5);
  assert_int_not_equal(fc_module_name(fc_str(longest), &name, NULL), FC_OK);
}

static void a_module_tells_what_it_is(void **state) {
  (void)state;
  fc_module_t *module;
  fc_error_t err;
  const char *path = put("m.so", "abc");
  assert_int_equal(fc_module_load(backends, fc_str(path), NULL,
                                  fc_allocator_system(), &module, &err),
                   FC_OK);
  assert_true(fc_str_equal(fc_module_get_name(module), FC_STR("m")));
  assert_true(fc_str_equal(fc_module_get_version(module), FC_STR("1")));
  assert_true(fc_str_equal(fc_module_get_path(module), fc_str(path)));
  assert_string_equal(fc_module_get_kind(module), "fake");
  assert_string_equal(  // FIPS 180-4's example
      fc_module_get_sha256(module),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_int_equal(fc_module_function_count(module), 2);
  const fc_function_t *add = fc_module_find(module, FC_STR("add"));
  assert_non_null(add);
  assert_non_null(add->plan);
  assert_int_equal(add->index, 0);
  assert_null(fc_module_find(module, FC_STR("sub"))->plan);
  assert_null(fc_module_find(module, FC_STR("ad")));
  assert_ptr_equal(fc_module_nearest(module, FC_STR("ad")), add);
  assert_ptr_equal(fc_module_nearest(module, FC_STR("adddd")), add);
  assert_null(fc_module_nearest(module, FC_STR("multiply")));
  const fc_function_t *sub = fc_module_find(module, FC_STR("sub"));
  assert_false(
      fc_str_equal(fc_function_get_digest(add), fc_function_get_digest(sub)));
  fc_module_retain(module);
  fc_module_release(module);
  assert_int_equal(open_count, 1);
  fc_module_release(module);
  assert_int_equal(open_count, 0);
}

static void what_is_not_a_module_says_so(void **state) {
  (void)state;
  put("bad.so", "bad");
  put("x.mlir", "no");
  put("x.onnx", "no");
  put("x.txt", "no");
  put("no.so", "no");
  put("empty.so", "");
  put("a b.so", "abc");
  snprintf(paths[path_count++], sizeof paths[0], "%s/dir.so", folder);
  assert_int_equal(mkdir(paths[path_count - 1], 0700), 0);
  static const struct {
    const char *name;
    const char *message;
  } rows[] = {
      {"absent.so", "absent.so: No such file or directory"},
      {"bad.so", "bad.so: it is bad"},
      {"x.mlir",
       "x.mlir: this is MLIR: `farcall serve x.mlir` compiles and serves it, "
       "`farcall compile x.mlir` makes a module of it"},
      {"x.onnx",
       "x.onnx: this is an ONNX model: `farcall serve x.onnx` compiles and "
       "serves it, `farcall compile x.onnx` makes a module of it"},
      {"x.txt", "x.txt: not a module: no fake (*.so)"},
      {"no.so", "no.so: it says no"},
      {"empty.so", "empty.so: an empty file"},
      {"a b.so",
       "a b.so: 'a b.so' gives no module name: letters, digits, '_', '.' and "
       "'-', at most 128, the first neither '.' nor '-'"},
      {"dir.so", "dir.so: not a regular file"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char path[128];
    fc_module_t *module;
    fc_error_t err;
    snprintf(path, sizeof path, "%s/%s", folder, row->name);
    assert_int_not_equal(fc_module_load(backends, fc_str(path), NULL,
                                        fc_allocator_system(), &module, &err),
                         FC_OK);
    assert_string_equal(err.message, row->message);
  }
}

static fc_status_t load_one(fc_allocator_t allocator, void *context,
                            fc_error_t *err) {
  fc_module_t *module;
  FC_TRY(
      fc_module_load(backends, fc_str(context), NULL, allocator, &module, err));
  fc_module_release(module);
  return FC_OK;
}

static void loading_survives_any_failed_allocation(void **state) {
  (void)state;
  const char *path = put("a.so", "abc");
  assert_true(fc_test_allocation_sweep(load_one, (void *)(uintptr_t)path) > 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(names_come_from_the_file_name),
      IN_FOLDER(a_module_tells_what_it_is),
      IN_FOLDER(what_is_not_a_module_says_so),
      IN_FOLDER(loading_survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
