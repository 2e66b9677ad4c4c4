// SPDX-License-Identifier: Apache-2.0
//
// A child process makes the calls, because a module may end its process or never return.
// The child reports its findings through a pipe, call by call. Without an example of the
// module, all numbers are zero, and a function that copies zeros over zeros seems to
// write nothing. So the floats of each argument get a different value. Integers may be
// indices, for which 0 is the safest value: they get different values only in a second
// call of each function, after all first calls.
#include "doctor/roles.h"

#include <unistd.h>
#include <yyjson.h>

#include "tryout.h"
#include "file.h"
#include "local.h"
#include "marshal/plan.h"
#include "module/examples.h"

#define SECONDS 20                   // for all calls
#define EXAMPLE_SIZE_MAX (1u << 20)  // bytes of a call
#define FILL 0x38  // of the first argument; as floats, small positive numbers

// A message of the child: the function has written the argument; or, with DONE as the
// argument, the call was made.
typedef struct told_t {
  uint32_t function;
  uint32_t argument;
} told_t;
#define DONE UINT32_MAX

// ---------------------------------------------------------------------------
// The child

static size_t tensor_size(const fc_value_t *value) {
  size_t count, size;
  const fc_tensor_t *tensor = &value->tensor;
  const bool known =
      value->kind == FC_VALUE_TENSOR &&
      fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count, &size);
  return known ? size : 0;
}

static void fill(const fc_value_t *value, uint32_t number, size_t size,
                 bool integers) {
  if (!size) return;
  const fc_dtype_info_t *info = fc_dtype_info(value->tensor.dtype);
  uint8_t *data = value->tensor.data;
  if (info->class_ == FC_DTYPE_CLASS_FLOAT ||
      info->class_ == FC_DTYPE_CLASS_COMPLEX) {
    memset(data, FILL + (int)(number % 8), size);
  } else if (integers && info->bits >= 8) {
    for (size_t at = 0; at < size; at += info->size) {
      data[at] = (uint8_t)(number % 3);
    }
  }
}

static bool is_asked(const fc_function_t *function, uint32_t argument) {
  const fc_signature_t *signature = function->signature;
  const fc_param_t *param = &signature->arguments[argument];
  return !signature->root_tree && param->role == FC_ROLE_IN &&
         !param->certain && param->raw_index >= 0;
}

static bool tell(int pipe, size_t function, uint32_t argument) {
  const told_t told = {(uint32_t)function, argument};
  return write(pipe, &told, sizeof told) == (ssize_t)sizeof told;
}

// Makes the call that the frame holds, and reports the arguments that have changed. An
// argument is reported only once.
static bool make_call(const fc_local_bound_t *bound, bool integers, bool *told,
                      int pipe) {
  const fc_function_t *function = bound->function;
  const fc_signature_t *signature = function->signature;
  const uint32_t count = signature->argument_count;
  fc_arena_t *arena = fc_frame_arena(bound->frame);
  size_t raw_count;
  const fc_value_t *values = fc_frame_arguments(bound->frame, &raw_count);
  uint8_t **before = fc_arena_alloc_array(arena, count, sizeof *before);
  if (!before) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (!is_asked(function, i)) continue;
    const fc_value_t *value = &values[signature->arguments[i].raw_index];
    const size_t size = tensor_size(value);
    if (!fc_example_next(function, NULL)) fill(value, i, size, integers);
    before[i] = size ? fc_arena_alloc(arena, size, 16) : NULL;
    if (before[i]) memcpy(before[i], value->tensor.data, size);
  }
  fc_error_t err;
  const fc_status_t status =
      fc_frame_invoke(bound->frame, fc_module_get_backend(function->module),
                      bound->instance, function->index, NULL, 0, &err);
  if (status == FC_OK) return tell(pipe, function->index, DONE);
  if (err.code != FC_CODE_ARGUMENT_WRITTEN) return true;
  for (uint32_t i = 0; i < count; i++) {
    if (!before[i]) continue;
    const fc_value_t *value = &values[signature->arguments[i].raw_index];
    if (told[i] || !memcmp(before[i], value->tensor.data, tensor_size(value))) {
      continue;
    }
    told[i] = true;
    if (!tell(pipe, function->index, i)) return false;
  }
  return tell(pipe, function->index, DONE);
}

static bool try_function(const fc_function_t *function, bool integers,
                         bool *told, int pipe) {
  fc_text_t example;
  fc_local_bound_t bound = {0};
  fc_text_init(&example, fc_allocator_system(), EXAMPLE_SIZE_MAX);
  bool goes_on = true;
  if (fc_example_print(function, FC_STR(""), EXAMPLE_SIZE_MAX, &example.sink,
                       NULL) == FC_OK &&
      fc_local_bind(function, &bound, NULL) == FC_OK) {
    fc_frame_begin(bound.frame, function->plan, NULL);
    if (fc_frame_decode(bound.frame, fc_text_str(&example), NULL) == FC_OK) {
      goes_on = make_call(&bound, integers, told, pipe);
    }
    fc_local_unbind(&bound);
  }
  fc_text_deinit(&example);
  return goes_on;
}

static bool is_tried(const fc_function_t *function) {
  return function->plan && function->plan->lends;
}

static void try_all(const void *path, int pipe) {
  fc_module_t *module;
  if (fc_module_load(NULL, fc_str(path), NULL, fc_allocator_system(), &module,
                     NULL) != FC_OK) {
    return;
  }
  const fc_allocator_t allocator = fc_allocator_system();
  const size_t count = fc_module_function_count(module);
  bool **told = fc_alloc(allocator, (count + 1) * sizeof *told);
  bool goes_on = told != NULL;
  for (size_t i = 0; goes_on && i < 2 * count; i++) {
    const size_t index = i % count;
    const fc_function_t *function = fc_module_function(module, index);
    if (!is_tried(function)) continue;
    if (i < count) {
      told[index] =
          fc_alloc(allocator, function->signature->argument_count + (size_t)1);
    }
    goes_on =
        told[index] && try_function(function, i >= count, told[index], pipe);
  }
}

// ---------------------------------------------------------------------------
// The sidecar

typedef struct sidecar_t {
  yyjson_mut_doc *doc;
  const char *path;
} sidecar_t;

static const char *sidecar_path(fc_checkup_t *checkup) {
  const char *dot = strrchr(fc_file_base(checkup->path), '.');
  const size_t size =
      dot ? (size_t)(dot - checkup->path) : strlen(checkup->path);
  return fc_checkup_print(checkup, "%.*s.farcall.json", (int)size,
                          checkup->path);
}

// Reads the existing sidecar, or begins one.
static bool open_sidecar(fc_checkup_t *checkup, sidecar_t *out) {
  fc_str_t text;
  out->path = sidecar_path(checkup);
  if (fc_file_read(checkup->arena, out->path, &text, NULL) == FC_OK) {
    yyjson_doc *doc = yyjson_read(text.data, text.size, 0);
    out->doc = doc ? yyjson_doc_mut_copy(doc, NULL) : NULL;
    yyjson_doc_free(doc);
    return out->doc;
  }
  if (access(out->path, F_OK) == 0) return false;
  out->doc = yyjson_mut_doc_new(NULL);
  if (!out->doc) return false;
  yyjson_mut_val *root = yyjson_mut_obj(out->doc);
  yyjson_mut_doc_set_root(out->doc, root);
  yyjson_mut_obj_add_int(out->doc, root, "farcall", 1);
  yyjson_mut_obj_add_str(out->doc, root, "abi", "module");
  return true;
}

static yyjson_mut_val *find_list(yyjson_mut_doc *doc, yyjson_mut_val *object,
                                 const char *key) {
  yyjson_mut_val *list = yyjson_mut_obj_get(object, key);
  return list ? list : yyjson_mut_obj_add_arr(doc, object, key);
}

// Returns the entry of a function in the sidecar. If there is none, makes one.
static yyjson_mut_val *find_entry(const sidecar_t *sidecar, fc_str_t name) {
  yyjson_mut_val *list = find_list(
      sidecar->doc, yyjson_mut_doc_get_root(sidecar->doc), "functions");
  yyjson_mut_val *entry;
  size_t index, count;
  yyjson_mut_arr_foreach(list, index, count, entry) {
    if (yyjson_mut_equals_strn(yyjson_mut_obj_get(entry, "name"), name.data,
                               name.size)) {
      return entry;
    }
  }
  entry = yyjson_mut_arr_add_obj(sidecar->doc, list);
  yyjson_mut_obj_add_strncpy(sidecar->doc, entry, "name", name.data, name.size);
  return entry;
}

static void declare(const sidecar_t *sidecar, const fc_function_t *function,
                    uint32_t argument) {
  yyjson_mut_val *entry = find_entry(sidecar, function->name);
  yyjson_mut_val *list = yyjson_mut_obj_get(entry, "arguments");
  if (!list) list = find_list(sidecar->doc, entry, "args");
  while (yyjson_mut_arr_size(list) < function->signature->argument_count &&
         yyjson_mut_arr_add_obj(sidecar->doc, list)) {
  }
  yyjson_mut_val *object = yyjson_mut_arr_get(list, argument);
  yyjson_mut_obj_remove_key(object, "role");
  yyjson_mut_obj_add_str(sidecar->doc, object, "role", "inout");
}

static bool write_sidecar(fc_checkup_t *checkup, const sidecar_t *sidecar) {
  size_t size = 0;
  char *text = yyjson_mut_write(
      sidecar->doc,
      YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END, &size);
  const bool written =
      text && fc_file_write(checkup->arena, sidecar->path,
                            fc_str_make(text, size), NULL) == FC_OK;
  fc_free(fc_allocator_system(), text);
  return written;
}

// ---------------------------------------------------------------------------

static void add(fc_checkup_t *checkup, const fc_function_t *function,
                uint32_t argument, const sidecar_t *sidecar) {
  const fc_signature_t *signature = function->signature;
  const fc_str_t name =
      fc_signature_text(signature, signature->arguments[argument].name);
  const fc_str_t kept = fc_arena_copy(checkup->arena, function->name);
  fc_checkup_add(
      checkup, FC_LEVEL_WARN, FC_SUBJECT_ROLE, kept,
      fc_checkup_print(checkup, "argument %u%s%s", argument,
                       name.size ? " " : "",
                       name.size ? fc_checkup_name(checkup, name) : ""),
      "the function writes into it, and its role is 'in': a server refuses its "
      "calls",
      sidecar ? fc_checkup_print(checkup, "it is \"inout\" in %s now",
                                 sidecar->path)
              : "\"role\":\"inout\" in its sidecar, which --write writes, or "
                "\"scratch\"");
}

static void read_told(fc_checkup_t *checkup, const fc_module_t *module,
                      const fc_tryout_t *tryout, bool *tried,
                      const sidecar_t *sidecar) {
  told_t told;
  while (fc_tryout_hear(tryout, &told, sizeof told)) {
    if (told.function >= fc_module_function_count(module)) return;
    const fc_function_t *function = fc_module_function(module, told.function);
    if (told.argument == DONE) tried[told.function] = true;
    if (told.argument >= function->signature->argument_count) continue;
    if (sidecar) declare(sidecar, function, told.argument);
    add(checkup, function, told.argument, sidecar);
  }
}

void fc_doctor_roles(fc_checkup_t *checkup, const fc_module_t *module,
                     bool write) {
  const size_t count = fc_module_function_count(module);
  bool *tried = fc_arena_alloc_array(checkup->arena, count + 1, sizeof *tried);
  const size_t before = checkup->levels[FC_LEVEL_WARN];
  sidecar_t sidecar = {0};
  fc_tryout_t tryout;
  if (!tried || (write && !open_sidecar(checkup, &sidecar))) {
    checkup->out_of_memory = !tried;
    if (!tried) return;
    fc_checkup_add(checkup, FC_LEVEL_WARN, FC_SUBJECT_FILE, FC_STR("sidecar"),
                   sidecar.path, "it cannot be read, or is no JSON",
                   "mend or remove it");
    return;
  }
  if (fc_tryout_start(&tryout, SECONDS, try_all, checkup->path)) {
    read_told(checkup, module, &tryout, tried, write ? &sidecar : NULL);
    fc_tryout_end(&tryout);
  }
  for (size_t i = 0; i < count; i++) {
    const fc_function_t *function = fc_module_function(module, i);
    if (tried[i] || !is_tried(function)) continue;
    fc_checkup_add(checkup, FC_LEVEL_NOTE, FC_SUBJECT_ROLE,
                   fc_arena_copy(checkup->arena, function->name), "",
                   "its example could not be called, so whether it writes into "
                   "its arguments is not known",
                   "");
  }
  const bool found = checkup->levels[FC_LEVEL_WARN] > before;
  if (write && found && !write_sidecar(checkup, &sidecar)) {
    fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("sidecar"),
                   sidecar.path, "it cannot be written",
                   "write it in another directory, with the module beside it");
  }
  yyjson_mut_doc_free(sidecar.doc);
}
