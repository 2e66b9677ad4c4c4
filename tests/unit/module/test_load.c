// SPDX-License-Identifier: Apache-2.0
//
// Modules of the real backends: described without being loaded, loaded from the files
// of a described module, and which changes of a file its snapshot is safe from.
#include "helpers/folder.h"
#include "helpers/types.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "farcall/module.h"
#include "module/snapshot.h"

#define NATIVE FARCALL_BUILD_DIR "/tests/modules/native/"
#define VM FARCALL_SOURCE_DIR "/tests/corpus/iree/"
#define LLVM_CPU FC_TEST_NATIVE "/async/async-llvm-cpu.vmfb"
#define VMVX VM "async/async-vmvx.vmfb"

static const fc_backend_t *const backends[] = {&fc_backend_native,
                                               &fc_backend_vm, NULL};

static fc_module_t *load(const char *path, bool describe) {
  const fc_module_options_t options = {.describe_native = describe};
  fc_error_t err = {0};
  fc_module_t *module = NULL;
  if (fc_module_load(backends, fc_str(path), &options, fc_allocator_system(),
                     &module, &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  return module;
}

static fc_status_t load_files(const fc_module_t *described,
                              fc_module_t **out_module, fc_error_t *err) {
  const fc_module_files_t files = fc_module_get_files(described);
  *out_module = NULL;
  return fc_module_load_files(backends, fc_module_get_path(described), &files,
                              NULL, fc_allocator_system(), out_module, err);
}

static fc_status_t instantiate(const fc_module_t *module, fc_error_t *err) {
  const fc_backend_t *backend = fc_module_get_backend(module);
  void *instance = NULL;
  FC_TRY(backend->instance_create(fc_module_get_handle(module),
                                  fc_allocator_system(), &instance, err));
  backend->instance_destroy(instance);
  return FC_OK;
}

static bool is_mapped_executable(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  char line[1024];
  bool found = false;
  while (fgets(line, sizeof line, maps)) {
    found = found || (strstr(line, "farcall-module") && strstr(line, "r-xp"));
  }
  fclose(maps);
  return found;
}

// ---------------------------------------------------------------------------

static void describing_runs_nothing_of_a_module(void **state) {
  (void)state;
  fc_module_t *module = load(NATIVE "constructor.so", true);
  const fc_module_info_t *info = fc_module_get_info(module);
  assert_true(info->described);
  assert_true(info->runs_native);
  assert_true(info->endless);
  assert_int_equal(info->count, 1);
  assert_non_null(fc_module_find(module, FC_STR("answer"))->plan);
  fc_error_t err = {0};
  assert_int_not_equal(instantiate(module, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_MODULE_UNAVAILABLE);
  assert_false(is_mapped_executable());
  fc_module_release(module);
  assert_null(getenv("FARCALL_TEST_CONSTRUCTOR"));
  assert_null(getenv("FARCALL_TEST_DESTRUCTOR"));

  // Loading, unlike describing, runs the module's constructor and maps its code.
  module = load(NATIVE "constructor.so", false);
  assert_false(fc_module_get_info(module)->described);
  assert_true(is_mapped_executable());
  assert_non_null(getenv("FARCALL_TEST_CONSTRUCTOR"));
  fc_module_release(module);
  assert_non_null(getenv("FARCALL_TEST_DESTRUCTOR"));
}

typedef struct kind_row_t {
  const char *name;  // the path
  bool described;
} kind_row_t;

static const kind_row_t kinds[] = {
    {NATIVE "owner.so", true},
    {NATIVE "state.so", true},
    {NATIVE "shim.so", true},
    {NATIVE "conventions.so", true},
    {NATIVE "embedded.so", true},  // has no sidecar
    {NATIVE "origin.so", true},    // is loaded by its path
    {LLVM_CPU, true},
    {VMVX, false},
    {VM "inline/inline-vmvx.vmfb", false},
};

static void the_described_and_the_loaded_are_one_module(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const kind_row_t, row, kinds) {
    fc_module_t *described = load(row->name, true), *loaded;
    fc_error_t err = {0};
    assert_int_equal(fc_module_get_info(described)->described, row->described);
    assert_int_equal(instantiate(described, NULL) != FC_OK, row->described);
    if (load_files(described, &loaded, &err)) fail_msg("%s", err.message);
    assert_false(fc_module_get_info(loaded)->described);
    assert_int_equal(fc_module_get_info(loaded)->serial,
                     fc_module_get_info(described)->serial);
    assert_true(fc_str_equal(fc_module_get_digest(described),
                             fc_module_get_digest(loaded)));
    assert_true(fc_str_equal(fc_module_get_name(described),
                             fc_module_get_name(loaded)));
    // Both use the same memory, not a copy.
    struct stat first, second;
    assert_int_equal(fstat(fc_module_get_files(described).module, &first), 0);
    assert_int_equal(fstat(fc_module_get_files(loaded).module, &second), 0);
    assert_int_equal(first.st_ino, second.st_ino);
    fc_module_release(described);
    if (instantiate(loaded, &err)) fail_msg("%s", err.message);
    fc_module_release(loaded);
  }
}

static int count_descriptors(void) {
  int count = 0;
  for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

// Both the module's file and its sidecar hold descriptors.
static void a_module_that_is_released_leaves_no_descriptor(void **state) {
  (void)state;
  for (int describe = 0; describe < 2; describe++) {
    const int before = count_descriptors();
    fc_module_release(load(NATIVE "owner.so", describe));
    assert_int_equal(count_descriptors(), before);
  }
}

// ---------------------------------------------------------------------------
// Files that change

// Makes a file end earlier than its size says, as if it had been cut since. (The
// program is linked with --wrap.)
static bool file_ends;

ssize_t __real_sendfile(int to, int from, off_t *offset, size_t count);
ssize_t __wrap_sendfile(int to, int from, off_t *offset, size_t count);
ssize_t __wrap_sendfile(int to, int from, off_t *offset, size_t count) {
  return file_ends ? 0 : __real_sendfile(to, from, offset, count);
}

static void what_shrinks_while_it_is_copied_is_refused(void **state) {
  (void)state;
  fc_snapshot_t snapshot = FC_SNAPSHOT_NONE;
  fc_error_t err = {0};
  file_ends = true;
  const fc_status_t status =
      fc_snapshot_open(NATIVE "owner.so", &snapshot, &err);
  file_ends = false;
  assert_int_not_equal(status, FC_OK);
  assert_string_equal(err.message,
                      "cannot take it into memory: No data available");
}

// How many more attempts to seal memory fail.
static unsigned busy;

int __real_fcntl(int file, int command, ...);
int __wrap_fcntl(int file, int command, ...);
int __wrap_fcntl(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long value = va_arg(arguments, long);
  va_end(arguments);
  if (command != F_ADD_SEALS || !busy) {
    return __real_fcntl(file, command, value);
  }
  busy--;
  errno = EBUSY;
  return -1;
}

static void what_is_busy_is_sealed_later(void **state) {
  (void)state;
  fc_snapshot_t snapshot = FC_SNAPSHOT_NONE;
  fc_error_t err = {0};
  busy = 5;
  assert_int_equal(fc_snapshot_open(NATIVE "owner.so", &snapshot, &err), FC_OK);
  assert_int_equal(busy, 0);
  fc_snapshot_close(&snapshot);
  busy = UINT_MAX;
  const fc_status_t status =
      fc_snapshot_open(NATIVE "owner.so", &snapshot, &err);
  busy = 0;
  assert_int_not_equal(status, FC_OK);
  assert_non_null(strstr(err.message, "Device or resource busy"));
}

static void a_module_outlives_its_files(void **state) {
  (void)state;
  fc_test_copy(NATIVE "owner.so", "owner.so");
  fc_test_copy(NATIVE "owner.farcall.json", "owner.farcall.json");
  fc_test_copy(LLVM_CPU, "a.vmfb");
  static const char *const names[] = {"owner.so", "a.vmfb"};
  fc_module_t *described[FC_ARRAY_COUNT(names)];
  for (size_t i = 0; i < FC_ARRAY_COUNT(names); i++) {
    described[i] = load(fc_test_in_folder(names[i]), true);
  }
  // Both files are overwritten in place, and the sidecar is removed.
  fc_test_put("owner.so", "another");
  fc_test_put("a.vmfb", "another");
  assert_int_equal(unlink(fc_test_in_folder("owner.farcall.json")), 0);
  for (size_t i = 0; i < FC_ARRAY_COUNT(names); i++) {
    fc_module_t *loaded;
    fc_error_t err = {0};
    if (load_files(described[i], &loaded, &err)) fail_msg("%s", err.message);
    assert_true(fc_str_equal(fc_module_get_digest(described[i]),
                             fc_module_get_digest(loaded)));
    if (instantiate(loaded, &err)) fail_msg("%s", err.message);
    fc_module_release(loaded);
    fc_module_release(described[i]);
  }
}

static void what_uses_origin_must_stay_as_it_was(void **state) {
  (void)state;
  fc_test_copy(NATIVE "origin.so", "origin.so");
  fc_test_copy(NATIVE "origin.farcall.json", "origin.farcall.json");
  fc_module_t *described = load(fc_test_in_folder("origin.so"), true), *loaded;
  fc_test_put("origin.so", "another");
  fc_error_t err = {0};
  assert_int_not_equal(load_files(described, &loaded, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_MODULE_LOAD);
  assert_string_equal(err.message,
                      "origin.so: the file is gone or another by now; as it "
                      "finds its libraries by $ORIGIN, it must stay where it "
                      "is");
  fc_module_release(described);
}

static void sidecars_that_are_none_are_refused(void **state) {
  (void)state;
  fc_test_copy(NATIVE "owner.so", "a.so");
  fc_test_copy(NATIVE "owner.so", "b.so");
  fc_test_copy(NATIVE "owner.so", "c.so");
  fc_test_copy(NATIVE "owner.so", "d.so");
  assert_int_equal(mkdir(fc_test_in_folder("a.farcall.json"), 0700), 0);
  fc_test_put("b.farcall.json", "");
  fc_test_put("c.farcall.json", "");
  assert_int_equal(
      truncate(fc_test_in_folder("c.farcall.json"), (16 << 20) + 1), 0);
  assert_int_equal(mkfifo(fc_test_in_folder("d.farcall.json"), 0600), 0);
  static const struct {
    const char *name;
    const char *message;
  } rows[] = {
      {"a.so", "a.so: cannot read its sidecar: not a regular file"},
      {"b.so", "b.so: cannot read its sidecar: an empty file"},
      {"c.so",
       "c.so: cannot read its sidecar: 16777217 bytes, at most 16777216"},
      {"d.so", "d.so: cannot read its sidecar: not a regular file"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_module_t *module;
    fc_error_t err = {0};
    assert_int_not_equal(
        fc_module_load(backends, fc_str(fc_test_in_folder(row->name)), NULL,
                       fc_allocator_system(), &module, &err),
        FC_OK);
    assert_string_equal(err.message, row->message);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
  }
}

// A folder's suffix does not count: the file without a suffix must not use its folder's
// sidecar.
static void a_suffix_is_of_the_file_alone(void **state) {
  (void)state;
  fc_module_t *module;
  fc_error_t err = {0};
  assert_int_equal(mkdir(fc_test_in_folder("my.models"), 0700), 0);
  fc_test_copy(NATIVE "embedded.so", "my.models/add");
  fc_test_put("my.farcall.json", "");
  const char *path = fc_test_in_folder("my.models/add");
  assert_int_equal(fc_module_load(backends, fc_str(path), NULL,
                                  fc_allocator_system(), &module, &err),
                   FC_OK);
  fc_module_release(module);
  fc_test_put("my.models/add.farcall.json", "");
  path = fc_test_in_folder("my.models/add");
  assert_int_not_equal(fc_module_load(backends, fc_str(path), NULL,
                                      fc_allocator_system(), &module, &err),
                       FC_OK);
  assert_string_equal(err.message,
                      "add: cannot read its sidecar: an empty file");
}

// ---------------------------------------------------------------------------
// Names that a sidecar adds to what modules say themselves

#define DIMS_VMFB VM "dims/dims-vmvx.vmfb"

typedef struct names_row_t {
  const char *name;
  const char *from;
  const char *file;
  const char *sidecar;
  const char *function;
  const char *text;  // of the function, or the error's message
} names_row_t;

#define NAMES(functions) \
  "{\"farcall\":1,\"abi\":\"module\",\"functions\":[" functions "]}"
#define MATMUL_NAMES                                                        \
  "{\"name\":\"matmul\",\"args\":[{\"name\":\"a\",\"dims\":[\"m\",\"k\"]}," \
  "{\"name\":\"b\",\"dims\":[\"k\",null]}],\"results\":[{\"dims\":[\"m\",null]}]}"

static const names_row_t named[] = {
    {"none", DIMS_VMFB, "a.vmfb", NULL, "matmul",
     "matmul(input0: tensor<?x?xf32>, input1: tensor<?x?xf32>) -> "
     "tensor<?x?xf32>"},
    {"vm", DIMS_VMFB, "a.vmfb", NAMES(MATMUL_NAMES), "matmul",
     "matmul(a: tensor<[m]x[k]xf32>, b: tensor<[k]x?xf32>) -> "
     "tensor<[m]x?xf32>"},
    {"vm, unsaid", DIMS_VMFB, "a.vmfb",
     "{\"farcall\":1,\"functions\":[" MATMUL_NAMES "]}", "matmul",
     "matmul(a: tensor<[m]x[k]xf32>, b: tensor<[k]x?xf32>) -> "
     "tensor<[m]x?xf32>"},
    {"others are as they were", DIMS_VMFB, "a.vmfb", NAMES(MATMUL_NAMES), "add",
     "add(input0: tensor<?x3xf32>, input1: tensor<?x3xf32>) -> "
     "tensor<?x3xf32>"},
    // The bytecode compares dims. The name that is made for such a dim must differ from
    // the names in the sidecar.
    {"beside what is found", DIMS_VMFB, "a.vmfb",
     NAMES("{\"name\":\"inner\",\"args\":[{\"dims\":[\"d0\",null]},{}]}"),
     "inner",
     "inner(input0: tensor<[d0]x[d1]xf32>, input1: tensor<[d1]x?xf32>) -> "
     "tensor<?x?xf32>"},
    {"for what is found", DIMS_VMFB, "a.vmfb",
     NAMES("{\"name\":\"inner\",\"args\":[{},{\"dims\":[\"k\",\"n\"]}]}"),
     "inner",
     "inner(input0: tensor<?x[k]xf32>, input1: tensor<[k]x[n]xf32>) -> "
     "tensor<?x?xf32>"},
    {"two for what is found", DIMS_VMFB, "a.vmfb",
     NAMES("{\"name\":\"inner\",\"args\":[{\"dims\":[\"a\",\"b\"]},"
           "{\"dims\":[\"c\",\"a\"]}]}"),
     "inner",
     "inner(input0: tensor<[a]x[b]xf32>, input1: tensor<[b]x[a]xf32>) -> "
     "tensor<?x?xf32>"},
    {"machine code", LLVM_CPU, "a.vmfb",
     NAMES("{\"name\":\"mul4\",\"args\":[{\"name\":\"left\"},{}]}"), "mul4",
     "mul4(left: tensor<4xf32>, input1: tensor<4xf32>) -> tensor<4xf32>"},
    {"native", NATIVE "embedded.so", "a.so",
     NAMES("{\"name\":\"twice\",\"args\":[{\"name\":\"x\"}],"
           "\"results\":[{\"name\":\"y\"}]}"),
     "twice", "twice(x: i32) -> i32"},
    // A sidecar with types is for a native module of the same name; it is not used
    // here.
    {"types", DIMS_VMFB, "a.vmfb",
     "{\"farcall\":1,\"abi\":\"mlir-memref\",\"functions\":[1]}", "add",
     "add(input0: tensor<?x3xf32>, input1: tensor<?x3xf32>) -> "
     "tensor<?x3xf32>"},
};

static const names_row_t misnamed[] = {
    {"no such function", DIMS_VMFB, "a.vmfb", NAMES("{\"name\":\"matmull\"}"),
     NULL,
     "a.vmfb: its sidecar, /functions/0/name: the module has no function "
     "'matmull'"},
    {"rank", DIMS_VMFB, "a.vmfb",
     NAMES("{\"name\":\"matmul\",\"args\":[{\"dims\":[\"m\"]},{}]}"), NULL,
     "a.vmfb: its sidecar, /functions/0/args/0/dims: 1 dims for a type of 2"},
    {"twins", DIMS_VMFB, "a.vmfb",
     NAMES("{\"name\":\"add\",\"args\":[{\"name\":\"input1\"},{}]}"), NULL,
     "a.vmfb: arguments 0 and 1 are both named 'input1'"},
    {"another build", DIMS_VMFB, "a.vmfb",
     "{\"farcall\":1,\"functions\":[],\"so_sha256\":\"0123456789abcdef"
     "0123456789abcdef0123456789abcdef0123456789abcdef\"}",
     NULL,
     "a.vmfb: its sidecar describes another build: so_sha256 is 0123456789ab"},
    {"not json", DIMS_VMFB, "a.vmfb", "{", NULL,
     "a.vmfb: its sidecar, the document: not JSON"},
    {"native, no such function", NATIVE "embedded.so", "a.so",
     NAMES("{\"name\":\"thrice\"}"), NULL,
     "a.so: its sidecar, /functions/0/name: the module has no function "
     "'thrice'"},
    {"native, dims of a number", NATIVE "embedded.so", "a.so",
     NAMES("{\"name\":\"twice\",\"args\":[{\"dims\":[]}]}"), NULL,
     "a.so: its sidecar, /functions/0/args/0/dims: this is no tensor"},
    {"native that says nothing", NATIVE "owner.so", "a.so", NAMES(""), NULL,
     "a.so: its sidecar gives names to what the module says itself, and "
     "there is no __farcall_abi inside"},
    {"native, another build", NATIVE "embedded.so", "a.so",
     "{\"farcall\":1,\"abi\":\"module\",\"functions\":[],\"so_sha256\":\""
     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}",
     NULL,
     "a.so: its sidecar describes another build: so_sha256 is 0123456789ab"},
};

static void put_module(const names_row_t *row) {
  fc_test_copy(row->from, row->file);
  if (row->sidecar) fc_test_put("a.farcall.json", row->sidecar);
  else unlink(fc_test_in_folder("a.farcall.json"));
}

static void names_go_with_what_modules_say(void **state) {
  (void)state;
  char plain[FC_DIGEST_SIZE] = "";
  FC_TEST_EACH_ROW(const names_row_t, row, named) {
    put_module(row);
    fc_module_t *module = load(fc_test_in_folder(row->file), true), *loaded;
    const fc_function_t *function =
        fc_module_find(module, fc_str(row->function));
    assert_non_null(function);
    fc_error_t err = {0};
    assert_string_equal(fc_test_signature_text(function->signature), row->text);
    // A worker process gets the same digest from the same files. A sidecar changes the
    // digest of a function, so a client notices that its ETag is outdated.
    if (load_files(module, &loaded, &err)) fail_msg("%s", err.message);
    assert_true(fc_str_equal(fc_module_get_digest(module),
                             fc_module_get_digest(loaded)));
    fc_module_release(loaded);
    if (!row->sidecar)
      memcpy(plain, fc_function_get_digest(function).data, sizeof plain);
    if (!strcmp(row->function, "matmul")) {
      assert_int_equal(memcmp(plain, fc_function_get_digest(function).data,
                              sizeof plain) == 0,
                       row->sidecar == NULL);
    }
    const fc_str_t warning = fc_module_get_info(module)->warning;
    const bool foreign = memmem(warning.data, warning.size, "native", 6);
    assert_int_equal(foreign, !strcmp(row->name, "types"));
    fc_module_release(module);
  }
}

static void names_that_do_not_fit_fail_the_load(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const names_row_t, row, misnamed) {
    put_module(row);
    fc_module_t *module;
    fc_error_t err = {0};
    assert_int_not_equal(
        fc_module_load(backends, fc_str(fc_test_in_folder(row->file)), NULL,
                       fc_allocator_system(), &module, &err),
        FC_OK);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    if (!strstr(err.message, row->text)) fail_msg("%s", err.message);
  }
}

// ---------------------------------------------------------------------------
// Files too large to be copied

#define LARGE ((size_t)17 << 20)

// Copies `from` and appends zeros that nothing in the file refers to.
static void enlarge(const char *from, const char *name) {
  fc_test_copy(from, name);
  struct stat info;
  assert_int_equal(stat(fc_test_in_folder(name), &info), 0);
  assert_int_equal(
      truncate(fc_test_in_folder(name), info.st_size + (off_t)LARGE), 0);
}

static void a_large_file_is_mapped(void **state) {
  (void)state;
  enlarge(VMVX, "a.vmfb");
  enlarge(NATIVE "embedded.so", "a.so");
  static const struct {
    const char *name;
    bool sealed;
  } rows[] = {{"a.vmfb", false}, {"a.so", true}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_module_t *described = load(fc_test_in_folder(row->name), true), *loaded;
    fc_error_t err = {0};
    // The server only describes both files: machine code must not run in it, and
    // reading a mapped file that was cut short would end it by SIGBUS.
    assert_true(fc_module_get_info(described)->described);
    const int fd = fc_module_get_files(described).module;
    assert_int_equal(fcntl(fd, F_GET_SEALS) >= 0, row->sealed);
    if (load_files(described, &loaded, &err)) fail_msg("%s", err.message);
    assert_true(fc_str_equal(fc_module_get_digest(described),
                             fc_module_get_digest(loaded)));
    if (instantiate(loaded, &err)) fail_msg("%s", err.message);
    fc_module_release(loaded);
    fc_module_release(described);
  }
}

static void a_large_file_may_be_replaced_by_another(void **state) {
  (void)state;
  enlarge(VMVX, "a.vmfb");
  enlarge(VM "inline/inline-vmvx.vmfb", "b.vmfb");
  fc_module_t *described = load(fc_test_in_folder("a.vmfb"), true), *loaded;
  assert_int_equal(
      rename(fc_test_in_folder("b.vmfb"), fc_test_in_folder("a.vmfb")), 0);
  fc_error_t err = {0};
  if (load_files(described, &loaded, &err)) fail_msg("%s", err.message);
  assert_true(fc_str_equal(fc_module_get_digest(described),
                           fc_module_get_digest(loaded)));
  if (instantiate(loaded, &err)) fail_msg("%s", err.message);
  fc_module_release(loaded);
  fc_module_release(described);
}

// The file is refused, or it is loaded and has another digest.
static void a_large_file_cut_short_is_another(void **state) {
  (void)state;
  enlarge(VMVX, "a.vmfb");
  fc_module_t *described = load(fc_test_in_folder("a.vmfb"), true), *loaded;
  static const off_t sizes[] = {100000, 1000, 10, 0};
  for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
    assert_int_equal(truncate(fc_test_in_folder("a.vmfb"), sizes[i]), 0);
    if (load_files(described, &loaded, NULL)) continue;
    assert_false(fc_str_equal(fc_module_get_digest(described),
                              fc_module_get_digest(loaded)));
    fc_module_release(loaded);
  }
  fc_module_release(described);
}

static uint32_t next_random(uint32_t *state) {
  return *state = *state * 1664525u + 1013904223u;
}

// Changes bytes in all parts of the file, as another program could.
static void scribble(const char *path, uint32_t seed) {
  struct stat info;
  int fd = open(path, O_WRONLY);
  assert_true(fd >= 0);
  assert_int_equal(fstat(fd, &info), 0);
  for (int i = 0; i < 400; i++) {
    const uint32_t at = next_random(&seed) % (uint32_t)info.st_size;
    const uint8_t byte = (uint8_t)(next_random(&seed) >> 24);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
  }
  close(fd);
}

// Writes to a mapped file after it was verified. Its executables are in the part that
// is only mapped: making them fails or succeeds, and the sanitizers see no wrong
// access. What was read when the file was loaded does not change.
static void a_mapped_file_may_be_written_to(void **state) {
  (void)state;
  size_t refused = 0;
  for (uint32_t i = 0; i < 64; i++) {
    fc_test_copy(VMVX, "a.vmfb");
    int fd;
    fc_module_source_t source = {.sidecar = FC_SNAPSHOT_NONE,
                                 .path = FC_STR("a.vmfb"),
                                 .name = FC_STR("a")};
    assert_int_equal(
        fc_snapshot_open_file(fc_test_in_folder("a.vmfb"), &fd, NULL), 0);
    assert_int_equal(fc_snapshot_make(fd, SIZE_MAX, 1, &source.file, NULL), 0);
    assert_false(source.file.sealed);
    close(fd);
    void *module, *instance;
    assert_int_equal(
        fc_backend_vm.open(&source, fc_allocator_system(), &module, NULL), 0);
    scribble(fc_test_in_folder("a.vmfb"), i);
    if (fc_backend_vm.instance_create(module, fc_allocator_system(), &instance,
                                      NULL)) {
      refused++;
    } else {
      fc_backend_vm.instance_destroy(instance);
    }
    const fc_signature_t *first = fc_backend_vm.describe(module)->signatures[0];
    assert_true(
        fc_str_equal(fc_signature_text(first, first->name), FC_STR("mul4")));
    fc_backend_vm.close(module);
    fc_snapshot_close(&source.file);
  }
  assert_true(refused > 0);
}

// ---------------------------------------------------------------------------

static void a_snapshot_cannot_be_changed(void **state) {
  (void)state;
  fc_test_put("x", "abc");
  fc_snapshot_t snapshot, second;
  assert_int_equal(fc_snapshot_open(fc_test_in_folder("x"), &snapshot, NULL),
                   FC_OK);
  assert_true(fc_str_equal(snapshot.bytes, FC_STR("abc")));
  fc_test_put("x", "xyz");
  assert_true(fc_str_equal(snapshot.bytes, FC_STR("abc")));
  assert_int_equal(pwrite(snapshot.fd, "z", 1, 0), -1);
  assert_int_equal(ftruncate(snapshot.fd, 1), -1);
  assert_int_equal(fcntl(snapshot.fd, F_GETFD), FD_CLOEXEC);
  assert_int_equal(fc_snapshot_make(snapshot.fd, 3, 0, &second, NULL), FC_OK);
  fc_snapshot_close(&snapshot);
  fc_snapshot_close(&snapshot);
  assert_true(fc_str_equal(second.bytes, FC_STR("abc")));
  fc_snapshot_close(&second);
}

static void other_files_are_no_modules(void **state) {
  (void)state;
  fc_test_put("a.so", "");
  assert_int_equal(mkfifo(fc_test_in_folder("b.so"), 0600), 0);
  static const struct {
    const char *name;
    const char *message;
  } rows[] = {
      {"a.so", "a.so: an empty file"},
      {"b.so", "b.so: not a regular file"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_module_t *module;
    fc_error_t err = {0};
    assert_int_not_equal(
        fc_module_load(backends, fc_str(fc_test_in_folder(row->name)), NULL,
                       fc_allocator_system(), &module, &err),
        FC_OK);
    assert_string_equal(err.message, row->message);
    assert_int_equal(err.code, FC_CODE_MODULE_PATH);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(describing_runs_nothing_of_a_module),
      FC_TEST(the_described_and_the_loaded_are_one_module),
      FC_TEST(a_module_that_is_released_leaves_no_descriptor),
      FC_TEST(what_shrinks_while_it_is_copied_is_refused),
      FC_TEST(what_is_busy_is_sealed_later),
      FC_TEST_IN_FOLDER(a_module_outlives_its_files),
      FC_TEST_IN_FOLDER(what_uses_origin_must_stay_as_it_was),
      FC_TEST_IN_FOLDER(sidecars_that_are_none_are_refused),
      FC_TEST_IN_FOLDER(a_suffix_is_of_the_file_alone),
      FC_TEST_IN_FOLDER(names_go_with_what_modules_say),
      FC_TEST_IN_FOLDER(names_that_do_not_fit_fail_the_load),
      FC_TEST_IN_FOLDER(a_large_file_is_mapped),
      FC_TEST_IN_FOLDER(a_large_file_may_be_replaced_by_another),
      FC_TEST_IN_FOLDER(a_large_file_cut_short_is_another),
      FC_TEST_IN_FOLDER(a_mapped_file_may_be_written_to),
      FC_TEST_IN_FOLDER(a_snapshot_cannot_be_changed),
      FC_TEST_IN_FOLDER(other_files_are_no_modules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
