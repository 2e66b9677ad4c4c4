// SPDX-License-Identifier: Apache-2.0
//
// Makes the JSON of a sidecar from the functions of a module. docs/abi.md has the schema.
#include "compile/sidecar.h"

#include <yyjson.h>

#include "compile/mlir/text.h"
#include "file.h"

#define IR_LIMIT ((size_t)1 << 30)

#if defined(__x86_64__)
#define TARGET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TARGET "aarch64-linux-gnu"
#else
#define TARGET "unknown"
#endif

static bool is_memref(fc_str_t type) {
  return fc_str_starts(type, FC_STR("memref<"));
}

// True if no dim is dynamic. Reads only up to the layout: a dynamic stride there does not
// make the shape dynamic.
static bool has_static_shape(fc_str_t type) {
  for (size_t i = 0; i < type.size && type.data[i] != ','; i++) {
    if (type.data[i] == '?' || type.data[i] == '*') return false;
  }
  return true;
}

static bool is_role(fc_str_t role) {
  return fc_str_equal(role, FC_STR("in")) ||
         fc_str_equal(role, FC_STR("out")) ||
         fc_str_equal(role, FC_STR("inout")) ||
         fc_str_equal(role, FC_STR("scratch"));
}

// Decides the role of an argument. `given`: the source has a memref, so a function that
// writes into it makes it inout. A tensor of the source is a value, even if its buffer is
// written.
static fc_status_t resolve_role(const fc_mlir_function_t *function,
                                size_t index, bool given, fc_error_t *err) {
  fc_mlir_value_t *value = &function->arguments[index];
  value->noticed = !value->role.size && !value->result_buffer &&
                   !value->writable && value->stored && given;
  if (value->noticed) value->role = FC_STR("inout");
  if (!value->role.size) {
    bool written = value->result_buffer || value->writable;
    if (!written || !is_memref(value->type)) return FC_OK;
    // The client need not send the contents of a buffer that is only written, if its size
    // is known.
    bool out = value->result_buffer && !value->writable &&
               has_static_shape(value->type);
    value->role = out ? FC_STR("out") : FC_STR("inout");
    return FC_OK;
  }
  if (!is_role(value->role)) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "argument %zu of '%.*s' has farcall.role \"%.*s\": it is "
                   "\"in\", \"out\", \"inout\" or \"scratch\"",
                   index, FC_STR_ARG(function->name), FC_STR_ARG(value->role));
  }
  bool in = fc_str_equal(value->role, FC_STR("in"));
  if (in && (value->writable || value->result_buffer)) {
    return fc_fail(
        err, FC_CODE_ABI_METADATA,
        "argument %zu of '%.*s' has farcall.role \"in\" beside %s, "
        "by which the function writes into it: use \"inout\"",
        index, FC_STR_ARG(function->name),
        value->writable ? "bufferization.writable = true" : "bufferize.result");
  }
  if (!in && !is_memref(value->type)) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "argument %zu of '%.*s' has farcall.role \"%.*s\", but a "
                   "%.*s cannot be written to",
                   index, FC_STR_ARG(function->name), FC_STR_ARG(value->role),
                   FC_STR_ARG(value->type));
  }
  bool out = fc_str_equal(value->role, FC_STR("out"));
  if (out && !has_static_shape(value->type)) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "argument %zu of '%.*s' has farcall.role \"out\", but its "
                   "type %.*s does not say how big it is: use \"inout\"",
                   index, FC_STR_ARG(function->name), FC_STR_ARG(value->type));
  }
  return FC_OK;
}

static fc_status_t refuse_twins(const fc_mlir_function_t *function,
                                fc_error_t *err) {
  for (size_t i = 0; i < function->argument_count; i++) {
    fc_str_t name = function->arguments[i].name;
    for (size_t j = 0; name.size && j < i; j++) {
      if (!fc_str_equal(name, function->arguments[j].name)) continue;
      return fc_fail(err, FC_CODE_ABI_METADATA,
                     "arguments %zu and %zu of '%.*s' are both named '%.*s'", j,
                     i, FC_STR_ARG(function->name), FC_STR_ARG(name));
    }
  }
  return FC_OK;
}

// Refuses attributes farcall.… that do not exist. MLIR accepts any name with a dot, so a
// misspelt name would be ignored without a message. The message begins with `owner`.
static fc_status_t refuse_unknown(const char *owner, fc_str_t attrs,
                                  fc_error_t *err) {
  static const char *const known[] = {"name", "role", "dims"};
  const fc_str_t prefix = FC_STR("farcall.");
  fc_str_t key, value;
  while (fc_mlir_next_attr(&attrs, &key, &value)) {
    if (!fc_str_starts(key, prefix)) continue;
    const fc_str_t name =
        fc_str_make(key.data + prefix.size, key.size - prefix.size);
    fc_nearest_t search = fc_nearest_begin(name);
    const char *nearest = "name, farcall.role or farcall.dims";
    bool is_known = false;
    for (size_t i = 0; i < FC_ARRAY_COUNT(known); i++) {
      is_known = is_known || fc_str_equal(name, fc_str(known[i]));
      if (fc_nearest_offer(&search, fc_str(known[i]))) nearest = known[i];
    }
    if (is_known) continue;
    char shown[80];
    fc_escape(shown, sizeof shown, 64, key);
    return fc_fail(
        err, FC_CODE_ABI_METADATA,
        "%s has an attribute %s, which farcall does not know: did you mean "
        "farcall.%s?",
        owner, shown, nearest);
  }
  return FC_OK;
}

static fc_status_t refuse_unknown_of(const fc_mlir_function_t *function,
                                     const char *what,
                                     const fc_mlir_value_t *values,
                                     size_t count, fc_error_t *err) {
  char owner[160];
  for (size_t i = 0; i < count; i++) {
    snprintf(owner, sizeof owner, "%s %zu of '%.*s'", what, i,
             FC_STR_ARG(function->name));
    FC_TRY(refuse_unknown(owner, values[i].attrs, err));
  }
  return FC_OK;
}

static const fc_mlir_function_t *find(const fc_mlir_module_t *module,
                                      fc_str_t name) {
  for (size_t i = 0; i < module->function_count; i++) {
    if (fc_str_equal(module->functions[i].name, name)) {
      return &module->functions[i];
    }
  }
  return NULL;
}

// Copies what bufferization loses. It keeps the number of arguments and results, but not
// all attributes, so these come from the module before bufferization.
static void inherit(fc_mlir_value_t *to, const fc_mlir_value_t *from,
                    size_t to_count, size_t from_count) {
  for (size_t i = 0; to_count == from_count && i < to_count; i++) {
    to[i].name = from[i].name;
    to[i].role = from[i].role;
    to[i].dims = from[i].dims;
    to[i].dim_count = from[i].dim_count;
    to[i].writable = from[i].writable;
    to[i].result_buffer = from[i].result_buffer || to[i].result_buffer;
  }
}

static fc_status_t resolve_function(fc_arena_t *arena, fc_str_t source_text,
                                    const fc_mlir_module_t *source,
                                    fc_mlir_function_t *function,
                                    fc_error_t *err) {
  const fc_mlir_function_t *before = find(source, function->name);
  if (before) {
    inherit(function->arguments, before->arguments, function->argument_count,
            before->argument_count);
    inherit(function->results, before->results, function->result_count,
            before->result_count);
  }
  fc_mlir_argument_t *said =
      fc_arena_alloc_array(arena, function->argument_count + 1, sizeof *said);
  if (!said) return fc_fail_memory(err);
  FC_TRY(fc_mlir_arguments(arena, source_text, function->name,
                           function->argument_count, said, err));
  for (size_t i = 0; i < function->argument_count; i++) {
    fc_str_t *name = &function->arguments[i].name;
    if (!name->size) *name = said[i].name;
    bool given = before && i < before->argument_count &&
                 is_memref(before->arguments[i].type);
    FC_TRY(resolve_role(function, i, given, err));
  }
  return refuse_twins(function, err);
}

fc_status_t fc_sidecar_draft_resolve(fc_arena_t *arena, fc_str_t source_text,
                                     const fc_mlir_module_t *source,
                                     fc_mlir_module_t *lowered,
                                     fc_error_t *err) {
  for (size_t i = 0; i < source->function_count; i++) {
    const fc_mlir_function_t *function = &source->functions[i];
    FC_TRY(refuse_unknown_of(function, "argument", function->arguments,
                             function->argument_count, err));
    FC_TRY(refuse_unknown_of(function, "result", function->results,
                             function->result_count, err));
  }
  for (size_t i = 0; i < lowered->function_count; i++) {
    fc_mlir_function_t *function = &lowered->functions[i];
    if (!function->is_public || !function->has_body) continue;
    FC_TRY(resolve_function(arena, source_text, source, function, err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// JSON. A failed allocation returns NULL, and all later calls accept NULL and return
// NULL.

static void put_text(yyjson_mut_doc *doc, yyjson_mut_val *object,
                     const char *key, fc_str_t text) {
  if (text.size) {
    yyjson_mut_obj_add_strn(doc, object, key, text.data, text.size);
  }
}

// Writes the names of the dims, with null for a dim without a name ("?" in `value`).
static void put_dims(yyjson_mut_doc *doc, yyjson_mut_val *object,
                     const fc_mlir_value_t *value) {
  if (!value->dims) return;
  yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, object, "dims");
  for (size_t i = 0; i < value->dim_count; i++) {
    const fc_str_t name = value->dims[i];
    if (fc_str_equal(name, FC_STR("?"))) yyjson_mut_arr_add_null(doc, array);
    else yyjson_mut_arr_add_strn(doc, array, name.data, name.size);
  }
}

static void put_values(yyjson_mut_doc *doc, yyjson_mut_val *object,
                       const char *key, const fc_mlir_value_t *values,
                       size_t count) {
  yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, object, key);
  for (size_t i = 0; i < count; i++) {
    yyjson_mut_val *value = yyjson_mut_arr_add_obj(doc, array);
    put_text(doc, value, "name", values[i].name);
    put_text(doc, value, "type", values[i].type);
    put_dims(doc, value, &values[i]);
    if (!fc_str_equal(values[i].role, FC_STR("in"))) {
      put_text(doc, value, "role", values[i].role);
    }
  }
}

static void put_function(yyjson_mut_doc *doc, yyjson_mut_val *functions,
                         const fc_mlir_function_t *function, bool serial) {
  static const char kPrefix[] = "_mlir_ciface_";
  yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, functions);
  put_text(doc, object, "name", function->name);
  char symbol[512];
  int size = snprintf(symbol, sizeof symbol, "%s%.*s", kPrefix,
                      FC_STR_ARG(function->symbol));
  size_t used = size < 0 ? 0 : (size_t)size;
  if (used >= sizeof symbol) used = sizeof symbol - 1;
  yyjson_mut_obj_add_strncpy(doc, object, "symbol", symbol, used);
  yyjson_mut_obj_add_str(doc, object, "cc", "ciface");
  yyjson_mut_obj_add_str(doc, object, "threads",
                         serial ? "serial" : "reentrant");
  put_values(doc, object, "args", function->arguments,
             function->argument_count);
  put_values(doc, object, "results", function->results, function->result_count);
}

static void put_variants(yyjson_mut_doc *doc, yyjson_mut_val *root,
                         const fc_sidecar_draft_t *draft) {
  yyjson_mut_val *variants = yyjson_mut_obj_add_arr(doc, root, "variants");
  for (size_t i = 0; i < draft->variant_count; i++) {
    yyjson_mut_val *variant = yyjson_mut_arr_add_obj(doc, variants);
    yyjson_mut_obj_add_str(doc, variant, "file", draft->variants[i].file);
    yyjson_mut_val *cpu = yyjson_mut_obj_add_arr(doc, variant, "cpu");
    yyjson_mut_arr_add_str(doc, cpu, draft->variants[i].cpu);
  }
}

static yyjson_mut_val *build(yyjson_mut_doc *doc,
                             const fc_sidecar_draft_t *draft) {
  const fc_mlir_module_t *module = draft->module;
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_int(doc, root, "farcall", 1);
  yyjson_mut_obj_add_str(doc, root, "abi", "mlir-memref");
  yyjson_mut_obj_add_str(doc, root, "target", TARGET);
  yyjson_mut_obj_add_int(doc, root, "index_bits", 64);
  yyjson_mut_obj_add_str(doc, root, "compiler", draft->compiler);
  yyjson_mut_obj_add_bool(doc, root, "pure", draft->pure);
  yyjson_mut_obj_add_bool(doc, root, "checked", draft->checked);
  yyjson_mut_obj_add_uint(doc, root, "max_frame", draft->max_frame);
  if (draft->plainly_aligned) {
    yyjson_mut_obj_add_int(doc, root, "alignment", 1);
  }
  if (draft->sha256) {
    yyjson_mut_obj_add_str(doc, root, "so_sha256", draft->sha256);
    if (draft->variant_count) put_variants(doc, root, draft);
  }
  yyjson_mut_val *functions = yyjson_mut_obj_add_arr(doc, root, "functions");
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    if (!function->is_public || !function->has_body) continue;
    put_function(doc, functions, function, module->has_state);
  }
  return root;
}

fc_status_t fc_sidecar_draft_print(fc_arena_t *arena,
                                   const fc_sidecar_draft_t *draft, bool pretty,
                                   fc_str_t *out_json, fc_error_t *err) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  if (!doc) return fc_fail_memory(err);
  yyjson_mut_doc_set_root(doc, build(doc, draft));
  yyjson_write_err failure;
  size_t size = 0;
  char *text = yyjson_mut_write_opts(
      doc, pretty ? YYJSON_WRITE_PRETTY_TWO_SPACES : YYJSON_WRITE_NOFLAG, NULL,
      &size, &failure);
  fc_status_t status = FC_OK;
  if (!text) {
    status = fc_fail(err, FC_CODE_ABI_METADATA,
                     "cannot write the ABI description: %s", failure.msg);
  } else {
    char *copy = fc_print(arena, "%.*s%s", (int)size, text, pretty ? "\n" : "");
    if (!copy) status = fc_fail_memory(err);
    else *out_json = fc_str(copy);
  }
  fc_free(fc_allocator_system(), text);
  yyjson_mut_doc_free(doc);
  return status;
}

fc_status_t fc_sidecar_draft_embed(fc_arena_t *arena, fc_str_t json,
                                   fc_str_t *out_ir, fc_error_t *err) {
  // Without source_filename, llc would write the name of the file into the module.
  const char *head = fc_print(arena,
                              "source_filename = \"farcall\"\n"
                              "@__farcall_abi = constant [%zu x i8] c\"",
                              json.size + 1);
  size_t room;
  if (!head || !fc_size_mul(json.size, 3, &room) || room > IR_LIMIT) {
    return fc_fail_memory(err);
  }
  room += strlen(head) + 8;
  char *ir = fc_arena_alloc(arena, room, 1);
  if (!ir) return fc_fail_memory(err);
  size_t at = strlen(head);
  memcpy(ir, head, at);
  for (size_t i = 0; i < json.size; i++) {
    unsigned char c = (unsigned char)json.data[i];
    bool plain = c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
    if (plain) ir[at++] = (char)c;
    else at += fc_hex_escape(ir + at, '\\', c);
  }
  memcpy(ir + at, "\\00\"\n", 5);
  *out_ir = (fc_str_t){ir, at + 5};
  return FC_OK;
}
