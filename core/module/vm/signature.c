// SPDX-License-Identifier: Apache-2.0
//
// Tries the sources of a signature in order of trust. Checks each against the
// calling convention and, if the bytecode asserts it, the element type. Then reads the
// attributes that give no types (finish). Called when a module is opened.
#include "module/vm/signature.h"

#include <inttypes.h>
#include <stdio.h>

#include "abi/declaration.h"
#include "abi/iree_v1.h"
#include "abi/print.h"
#include "abi/walk.h"
#include "farcall/abi.h"
#include "module/vm/exports.h"
#include "module/vm/fit.h"
#include "module/vm/recover.h"

typedef struct subject_t {
  const fc_vm_function_t *function;
  fc_str_t name;
  fc_cconv_t whole;  // with the fences of an async function
  fc_cconv_t cconv;  // without the fences: what callers pass
  bool async;
  bool machine_code;
  bool static_shapes;  // the source says that no shape is dynamic
  fc_names_t *names;
  fc_vm_transients_t transients;
  bool awaits;  // the module asserts its results' memory (hal.buffer.assert)
  fc_vm_recovered_t recovered;
  fc_builder_t *builder;
  char warning[FC_VM_WARNING_MAX];
} subject_t;

static fc_str_t attr(const subject_t *s, const char *key) {
  return fc_vm_function_attr(s->function, fc_str(key));
}

static fc_raw_counts_t counts(const subject_t *s) {
  return (fc_raw_counts_t){(int32_t)s->cconv.argument_count,
                           (int32_t)s->cconv.result_count};
}

// ---------------------------------------------------------------------------
// The sources. Each fills the builder, or returns FC_NOT_FOUND when it is missing.

static fc_status_t read_sidecar(subject_t *s, fc_error_t *err) {
  if (!s->names) return FC_NOT_FOUND;
  fc_builder_async(s->builder, s->async);
  return fc_names_describe(s->names, s->name, s->builder, err);
}

static fc_status_t read_v1(subject_t *s, fc_error_t *err) {
  // The specification names the attribute `d`; all compilers name it iree.abi.
  fc_str_t text = attr(s, "iree.abi");
  if (!text.size) text = attr(s, "d");
  if (!text.size) return FC_NOT_FOUND;
  fc_builder_async(s->builder, s->async);
  const bool one_list = fc_str_equal(s->function->cconv.results, FC_STR("r")) &&
                        !s->recovered.results[0].known;
  return fc_v1_read(text, counts(s), one_list, s->builder, err);
}

static fc_status_t read_sip(subject_t *s, fc_error_t *err) {
  fc_str_t text = attr(s, "sip");
  fc_str_t version = attr(s, "abiv");
  if (!text.size || !fc_str_equal(attr(s, "abi"), FC_STR("sip"))) {
    return FC_NOT_FOUND;
  }
  if (!version.size) version = attr(s, "sipv");
  if (version.size && !fc_str_equal(version, FC_STR("1"))) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "only version 1 of the sip signature is known");
  }
  fc_builder_async(s->builder, s->async);
  return fc_sip_parse(text, attr(s, "f"), counts(s), s->builder, err);
}

static fc_status_t read_raw(subject_t *s, fc_error_t *err) {
  fc_str_t text = attr(s, "f");
  if (!text.size) return FC_NOT_FOUND;
  if (!fc_str_equal(attr(s, "fv"), FC_STR("1"))) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "only version 1 of the raw signature is known");
  }
  fc_builder_async(s->builder, s->async);
  return fc_raw_parse(text, s->builder, err);
}

static fc_status_t read_declaration(subject_t *s, fc_error_t *err) {
  fc_str_t text = attr(s, "iree.abi.declaration");
  if (!text.size) return FC_NOT_FOUND;
  return fc_declaration_build(s->builder, text, &s->whole, err);
}

static uint32_t inferred_node(subject_t *s, char letter,
                              const fc_vm_shape_t *shape) {
  fc_dtype_t dtype = fc_cconv_dtype(letter);
  if (dtype != FC_DTYPE_NONE) return fc_builder_scalar(s->builder, dtype);
  if (!shape->known) return fc_builder_node(s->builder, FC_TYPE_UNKNOWN);
  return fc_builder_tensor(s->builder, shape->dtype, shape->rank, shape->dims);
}

// True for the memory of transients. In a function without a declaration this is the
// last argument, if that is a reference.
static bool is_transients(const subject_t *s, uint32_t argument) {
  return s->transients.any && argument + 1 == s->cconv.argument_count &&
         s->function->cconv.arguments.data[argument] == 'r';
}

static fc_status_t read_bytecode(subject_t *s, fc_error_t *err) {
  (void)err;
  if (!s->recovered.any && !s->transients.any) return FC_NOT_FOUND;
  fc_builder_source(s->builder, FC_SOURCE_INFERRED);
  fc_builder_async(s->builder, s->async);
  fc_str_t letters = s->function->cconv.arguments;
  for (uint32_t i = 0; i < s->cconv.argument_count; i++) {
    const bool scratch = is_transients(s, i);
    uint32_t node =
        scratch ? fc_builder_opaque(s->builder, FC_STR("!hal.buffer"))
                : inferred_node(s, letters.data[i], &s->recovered.arguments[i]);
    fc_builder_argument(s->builder, FC_STR(""), node,
                        scratch ? FC_ROLE_TRANSIENT : FC_ROLE_IN, false,
                        FC_RAW_NEXT);
  }
  letters = s->function->cconv.results;
  for (uint32_t i = 0; i < letters.size; i++) {
    uint32_t node = inferred_node(s, letters.data[i], &s->recovered.results[i]);
    fc_builder_result(s->builder, FC_STR(""), node, FC_RAW_NEXT);
  }
  fc_builder_raw_counts(s->builder, s->cconv.argument_count,
                        s->cconv.result_count);
  return FC_OK;
}

static fc_status_t read_convention(subject_t *s, fc_error_t *err) {
  (void)err;
  fc_cconv_build(s->builder, &s->cconv);
  fc_builder_async(s->builder, s->async);
  return FC_OK;
}

static const struct {
  const char *name;
  fc_status_t (*read)(subject_t *subject, fc_error_t *err);
} sources[] = {
    {"its sidecar", read_sidecar},
    {"iree.abi", read_v1},
    {"sip", read_sip},
    {"f", read_raw},
    {"iree.abi.declaration", read_declaration},
    {"bytecode", read_bytecode},
    {"the calling convention", read_convention},
};

// ---------------------------------------------------------------------------
// Names, roles and the finished signature

// False when a dim or the rank of a tensor, or a type, is known only at the call.
static bool has_static_shapes(const fc_signature_t *signature) {
  for (uint32_t i = 0; i < signature->node_count; i++) {
    const fc_type_t *type = &signature->nodes[i];
    if (type->kind == FC_TYPE_UNKNOWN || type->kind == FC_TYPE_OPAQUE) {
      return false;
    }
    if (type->kind != FC_TYPE_TENSOR) continue;
    if (type->rank < 0) return false;
    const int64_t *dims = fc_signature_dims(signature, type);
    for (int32_t d = 0; d < type->rank; d++) {
      if (dims[d] < 0) return false;
    }
  }
  return true;
}

// Finds the node of the tensor that is raw argument `raw`; FC_NODE_NONE if the argument
// is not a tensor.
static uint32_t find_tensor(const fc_signature_t *signature, uint32_t raw) {
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (param->raw_index >= 0 && (uint32_t)param->raw_index != raw) continue;
    fc_walk_t walk;
    fc_walk_init(&walk, signature->nodes, param->type);
    while (fc_walk_next(&walk)) {
      if (walk.leave || walk.type->kind != FC_TYPE_TENSOR) continue;
      if (param->raw_index >= 0 || walk.type->raw_index == (int32_t)raw) {
        return (uint32_t)(walk.type - signature->nodes);
      }
    }
  }
  return FC_NODE_NONE;
}

// Finds the dim `at` in the builder that made `signature`; NULL unless the dim is known
// to be dynamic.
static int64_t *dynamic_dim(subject_t *s, const fc_signature_t *signature,
                            fc_vm_dim_t at) {
  const uint32_t node = find_tensor(signature, at.argument);
  if (node == FC_NODE_NONE) return NULL;
  if ((int64_t)at.dim >= signature->nodes[node].rank) return NULL;
  int64_t *dims = fc_builder_get_dims(s->builder, node);
  return dims && dims[at.dim] < 0 ? &dims[at.dim] : NULL;
}

static bool is_used(subject_t *s, const fc_signature_t *signature,
                    int64_t name) {
  for (uint32_t i = 0; i < signature->node_count; i++) {
    const int64_t *dims = fc_builder_get_dims(s->builder, i);
    for (int32_t k = 0; dims && k < signature->nodes[i].rank; k++) {
      if (dims[k] == name) return true;
    }
  }
  return false;
}

// Returns the first of the names d0, d1, … that no dim of the signature has.
static int64_t fresh_name(subject_t *s, const fc_signature_t *signature) {
  for (uint32_t i = 0;; i++) {
    char text[16];
    snprintf(text, sizeof text, "d%" PRIu32, i);
    const int64_t name = fc_builder_dim_name(s->builder, fc_str(text));
    // The loop ends: the builder runs out of names, and fails, before the
    // numbers run out.
    if (!fc_dim_is_named(name) || !is_used(s, signature, name)) return name;
  }
}

// Gives one name to dims that the bytecode requires to be equal and that are dynamic in
// the signature. So a call in which they differ is refused before it runs.
static void name_dims(subject_t *s, const fc_signature_t *signature) {
  for (uint32_t i = 0; i < s->recovered.equal_count; i++) {
    const fc_vm_equal_t *equal = &s->recovered.equal[i];
    int64_t *left = dynamic_dim(s, signature, equal->left);
    int64_t *right = dynamic_dim(s, signature, equal->right);
    if (!left || !right) continue;
    if (fc_dim_is_named(*left) && fc_dim_is_named(*right)) {
      fc_builder_replace_dim(s->builder, *right, *left);
    } else if (fc_dim_is_named(*left)) {
      *right = *left;
    } else if (fc_dim_is_named(*right)) {
      *left = *right;
    } else {
      *left = *right = fresh_name(s, signature);
    }
  }
}

static bool has_name(const fc_signature_t *signature, fc_str_t name) {
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    if (fc_str_equal(fc_signature_text(signature, signature->arguments[i].name),
                     name)) {
      return true;
    }
  }
  return false;
}

// Gives the declaration's name to an argument without a name, unless the compiler made
// up the declaration's name.
static void take_name(subject_t *s, const fc_signature_t *signature, uint32_t i,
                      fc_str_t name) {
  const fc_param_t *param = &signature->arguments[i];
  char made_up[16];
  snprintf(made_up, sizeof made_up, "input%" PRIu32, i);
  if (param->name.size || fc_str_equal(name, fc_str(made_up)) ||
      has_name(signature, name) ||
      fc_signature_node(signature, param->type)->flavor == FC_FLAVOR_KWARGS) {
    return;
  }
  fc_builder_name_argument(s->builder, i, name);
}

// Gives arguments the names in a declaration, if the types came from another source. A
// declaration that does not fit is ignored. Fails only when out of memory.
static fc_status_t name_arguments(subject_t *s, const fc_signature_t *signature,
                                  fc_error_t *err) {
  const fc_str_t text = attr(s, "iree.abi.declaration");
  const fc_source_t source = signature->source;
  if (!text.size || signature->root_tree || source == FC_SOURCE_SIDECAR ||
      source == FC_SOURCE_DECLARATION) {
    return FC_OK;
  }
  fc_builder_t *builder = fc_builder_create(signature->allocator);
  if (!builder) return fc_fail_memory(err);
  fc_signature_t *declared = NULL;
  fc_error_t why = {0};
  fc_status_t status = fc_declaration_build(builder, text, &s->whole, &why);
  if (status == FC_OK) status = fc_signature_build(builder, &declared, &why);
  if (status == FC_OK &&
      declared->argument_count == signature->argument_count) {
    for (uint32_t i = 0; i < declared->argument_count; i++) {
      take_name(s, signature, i,
                fc_signature_text(declared, declared->arguments[i].name));
    }
  }
  fc_signature_destroy(declared);
  fc_builder_destroy(builder);
  if (status == FC_OK || why.code != FC_CODE_OUT_OF_MEMORY) return FC_OK;
  return fc_fail_memory(err);
}

// True when the source describes values. Memory of a value may be overwritten after its
// last use without any loss.
static bool has_values(const fc_signature_t *signature, const fc_type_t *type) {
  switch (signature->source) {
    case FC_SOURCE_IREE_V1:
    case FC_SOURCE_SIP:
    case FC_SOURCE_RAW:
    case FC_SOURCE_DECLARATION:
      return type->kind == FC_TYPE_TENSOR || fc_type_kind_nests(type->kind);
    default:
      return false;
  }
}

// Sets which roles are certain. Arguments that the bytecode overwrites also become
// results, unless their role was declared.
static void set_roles(subject_t *s, const fc_signature_t *signature) {
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    const fc_type_t *type = fc_signature_node(signature, param->type);
    if (param->certain || param->role != FC_ROLE_IN) continue;
    const bool written = !signature->root_tree && param->raw_index >= 0 &&
                         fc_type_may_be_written(type) &&
                         s->recovered.written[param->raw_index];
    if (written) {
      fc_builder_role(s->builder, i, FC_ROLE_INOUT, true);
    } else if (has_values(signature, type)) {
      fc_builder_role(s->builder, i, FC_ROLE_IN, true);
    }
  }
}

static void pass_over(subject_t *s, const char *name, const char *why) {
  if (!s->warning[0]) {
    snprintf(s->warning, sizeof s->warning, "%s is not used: %.160s", name,
             why);
  }
  fc_builder_reset(s->builder);
}

// Says why memory that callers do not send, but the function needs as an argument, cannot
// be made. NULL if it can be made, or if none is needed.
static const char *lacks(const subject_t *s, const fc_signature_t *signature) {
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const uint8_t role = signature->arguments[i].role;
    if (role == FC_ROLE_TRANSIENT && !s->transients.any) {
      return "the module does not say how much transient memory it needs";
    }
    if (role == FC_ROLE_STORAGE && !s->awaits) {
      return "memory for results is not supported with inline execution";
    }
    const uint32_t type = signature->arguments[i].type;
    const bool view =
        fc_signature_node(signature, type)->kind != FC_TYPE_OPAQUE;
    // The function returns this view itself, so the view would need the result's shape.
    if (role == FC_ROLE_STORAGE && s->async && view) {
      return "a view for a result of an asynchronous function needs its shape";
    }
  }
  return NULL;
}

// Completes the builder. `signature` has what the sidecar says: if it has an attribute,
// such as "doc", the function's own attribute of that name is not used.
static void finish(subject_t *s, const fc_signature_t *signature, fc_str_t name,
                   fc_str_t reason) {
  fc_builder_name(s->builder, name);
  fc_builder_cconv(s->builder, s->function->cconv_text);
  fc_builder_memory_safe(s->builder, !s->machine_code, !s->static_shapes);
  for (uint32_t i = 0; i < s->function->attr_count; i++) {
    const fc_vm_attr_t *own = &s->function->attrs[i];
    if (fc_signature_attr(signature, own->key).size) continue;
    fc_builder_attr(s->builder, own->key, own->value);
  }
  if (reason.size) fc_builder_refuse(s->builder, reason);
  if (s->warning[0]) fc_builder_warning(s->builder, fc_str(s->warning));
}

// Reads one source, and compares it with the module. *out_signature may be set even if
// this fails. FC_NOT_FOUND: there is no such source.
static fc_status_t read_source(subject_t *s, size_t index,
                               fc_signature_t **out_signature,
                               fc_error_t *err) {
  fc_builder_reset(s->builder);
  FC_TRY(sources[index].read(s, err));
  FC_TRY(fc_signature_build(s->builder, out_signature, err));
  fc_vm_fit_t fit = {.signature = *out_signature,
                     .builder = s->builder,
                     .function = s->function,
                     .cconv = &s->cconv,
                     .recovered = &s->recovered,
                     .warning = s->warning};
  if (fc_vm_fits(&fit)) return FC_OK;
  return fc_fail(err, FC_CODE_ABI_METADATA,
                 "%s does not fit the calling convention '%.*s', or what "
                 "the code says of shapes",
                 index ? "it" : "its sidecar's description",
                 FC_STR_ARG(s->function->cconv_text));
}

// Adds roles and names. *out_named: the sidecar gave some, and *signature, which may be
// NULL after a failure, was built with them.
static fc_status_t add_names(subject_t *s, fc_str_t name,
                             fc_signature_t **signature, bool *out_named,
                             fc_error_t *err) {
  s->static_shapes = has_static_shapes(*signature);
  set_roles(s, *signature);
  if (s->names) {
    FC_TRY(
        fc_names_apply(s->names, name, *signature, s->builder, out_named, err));
  }
  if (*out_named) {
    fc_signature_destroy(*signature);
    *signature = NULL;
    FC_TRY(fc_signature_build(s->builder, signature, err));
  }
  name_dims(s, *signature);
  return name_arguments(s, *signature, err);
}

// Tries one source. FC_NOT_FOUND: there is no such source, or it was skipped.
static fc_status_t try_source(subject_t *s, size_t index, fc_str_t name,
                              fc_str_t reason, fc_signature_t **out,
                              fc_error_t *err) {
  fc_error_t why = {0};
  fc_signature_t *signature = NULL;
  bool named = false;
  fc_status_t status = read_source(s, index, &signature, &why);
  if (status == FC_NOT_FOUND) return status;
  if (status == FC_OK) status = add_names(s, name, &signature, &named, &why);
  if (status == FC_OK) {
    const char *lack = lacks(s, signature);
    if (lack && !reason.size) reason = fc_str(lack);
    finish(s, signature, name, reason);
    status = fc_signature_build(s->builder, out, &why);
  }
  fc_signature_destroy(signature);
  if (status == FC_OK) return FC_OK;
  // If names or types of the sidecar do not fit, the sidecar is wrong, and no
  // other source is tried.
  bool last = named || index == 0 || index + 1 == FC_ARRAY_COUNT(sources);
  if (last || why.code == FC_CODE_OUT_OF_MEMORY) {
    if (err) *err = why;
    return status;
  }
  pass_over(s, sources[index].name, why.message);
  return FC_NOT_FOUND;
}

// Sets the convention as callers see it: for an async function, without the two fences
// at the end of the arguments.
static void cut_fences(subject_t *s, fc_str_t name) {
  s->cconv = s->whole;
  fc_str_t letters = s->function->cconv.arguments;
  fc_str_t model = attr(s, "iree.abi.model");
  s->async = (fc_str_equal(model, FC_STR("coarse-fences")) ||
              fc_str_ends(name, FC_STR("$async"))) &&
             fc_str_ends(letters, FC_STR("rr"));
  if (!s->async) return;
  s->cconv.arguments = fc_str_make(letters.data, letters.size - 2);
  s->cconv.argument_count -= 2;
}

static bool asserts_buffers(const fc_vm_module_t *module) {
  for (uint32_t i = 0; i < module->import_count; i++) {
    if (fc_str_equal(module->imports[i].full_name,
                     FC_STR("hal.buffer.assert"))) {
      return true;
    }
  }
  return false;
}

fc_status_t fc_vm_signature_create(
    const fc_vm_module_t *module, const fc_vm_export_t *export, fc_str_t reason,
    bool machine_code, fc_names_t *names, fc_builder_t *builder, size_t *budget,
    fc_arena_t *scratch, fc_signature_t **out_signature, fc_error_t *err) {
  subject_t s = {.function = &module->functions[export->function],
                 .name = export->name,
                 .machine_code = machine_code,
                 .names = names,
                 .transients = fc_vm_transients_find(module, export),
                 .awaits = asserts_buffers(module),
                 .builder = builder};
  FC_TRY(fc_cconv_parse(s.function->cconv_text, &s.whole, err));
  cut_fences(&s, export->name);
  FC_TRY(fc_vm_recover(module, export->function, budget, scratch, &s.recovered,
                       err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(sources); i++) {
    fc_status_t status =
        try_source(&s, i, export->name, reason, out_signature, err);
    if (status != FC_NOT_FOUND) return status;
  }
  return fc_fail(err, FC_CODE_INTERNAL, "no source for a signature");
}
