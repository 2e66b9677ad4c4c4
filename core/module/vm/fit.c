// SPDX-License-Identifier: Apache-2.0
//
// If only the width differs, the module's width is right (f64 is often demoted to f32). If
// the types are of another class, the text is not about this function.
#include "module/vm/fit.h"

#include <stdio.h>

#include "abi/walk.h"

// Returns the type of the scalar that the module really passes, if the source declares
// `dtype` and the convention has `letter`; NONE when the two cannot be the same value.
static fc_dtype_t fit_scalar(fc_dtype_t dtype, char letter) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  bool whole = fc_dtype_is_whole(info);
  bool wide_float = dtype == FC_DTYPE_F32 || dtype == FC_DTYPE_F64;
  bool narrow_float = info->class_ == FC_DTYPE_CLASS_FLOAT && !wide_float;
  bool is_unsigned = info->class_ == FC_DTYPE_CLASS_UINT;
  switch (letter) {
    case 'i':
      if (narrow_float) return dtype;  // its bits are passed
      if (!whole) return FC_DTYPE_NONE;
      if (info->bits <= 32) return dtype;
      return is_unsigned ? FC_DTYPE_UI32 : FC_DTYPE_I32;
    case 'I':
      if (!whole) return FC_DTYPE_NONE;
      if (info->bits == 64) return dtype;
      return is_unsigned ? FC_DTYPE_UI64 : FC_DTYPE_I64;
    case 'f':
      return wide_float ? FC_DTYPE_F32 : FC_DTYPE_NONE;
    case 'F':
      return wide_float ? FC_DTYPE_F64 : FC_DTYPE_NONE;
    default:
      return FC_DTYPE_NONE;
  }
}

static void warn(fc_vm_fit_t *fit, fc_str_t said, fc_dtype_t real) {
  if (fit->warning[0]) return;
  char shown[48];
  fc_escape(shown, sizeof shown, 32, said);
  snprintf(fit->warning, FC_VM_WARNING_MAX,
           "described with %s where the module takes %s", shown,
           fc_dtype_info(real)->text);
}

// True if only the sign differs: integers in a declaration have no sign, because
// StableHLO has signs as attributes, but integers in the module's views have one.
static bool adds_sign(fc_dtype_t from, fc_dtype_t to) {
  const fc_dtype_info_t *said = fc_dtype_info(from), *real = fc_dtype_info(to);
  return said->class_ == FC_DTYPE_CLASS_INT && said->bits == real->bits &&
         real->class_ == FC_DTYPE_CLASS_UINT;
}

static bool change_dtype(fc_vm_fit_t *fit, const fc_type_t *type,
                         fc_dtype_t to) {
  if (type->dtype == to) return true;
  uint32_t node = (uint32_t)(type - fit->signature->nodes);
  fc_type_t *ours = fc_builder_at(fit->builder, node);
  if (!ours || ours->kind != type->kind) return false;
  if (!adds_sign((fc_dtype_t)type->dtype, to)) {
    warn(fit, fc_str(fc_dtype_info((fc_dtype_t)type->dtype)->text), to);
  }
  ours->dtype = (uint8_t)to;
  return true;
}

// False when a text states another rank or size than the code asserts. Then the text is
// about another function: every call by it would fail.
static bool same_shape(const fc_vm_fit_t *fit, const fc_type_t *type,
                       const fc_vm_shape_t *shape) {
  if (type->rank < 0) return true;
  const int64_t *dims = fc_signature_dims(fit->signature, type);
  if (shape->rank >= 0 && shape->rank != type->rank) return false;
  for (int32_t i = 0; i < shape->rank; i++) {
    if (dims[i] >= 0 && shape->dims[i] >= 0 && dims[i] != shape->dims[i]) {
      return false;
    }
  }
  return true;
}

// Gives the module's type to a leaf for which the source has no type that farcall knows.
static bool give_type(fc_vm_fit_t *fit, const fc_type_t *type,
                      fc_type_kind_t kind, fc_dtype_t dtype) {
  fc_type_t *ours =
      fc_builder_at(fit->builder, (uint32_t)(type - fit->signature->nodes));
  if (!ours || ours->kind != type->kind) return false;
  if (type->flags & FC_TYPE_ODD) {
    warn(fit, fc_signature_text(fit->signature, type->text), dtype);
  }
  ours->kind = (uint8_t)kind;
  ours->dtype = (uint8_t)dtype;
  ours->flags &= (uint8_t) ~(FC_TYPE_ODD | FC_TYPE_UNTYPED);
  ours->text = (fc_text_ref_t){0};
  return true;
}

// True if a number type that farcall does not have can be the module's type: only the
// class must be the same.
static bool same_class(const fc_vm_fit_t *fit, const fc_type_t *type,
                       fc_dtype_t dtype) {
  if (!(type->flags & FC_TYPE_ODD)) return true;
  const fc_str_t text = fc_signature_text(fit->signature, type->text);
  return (text.data[0] == 'i') == fc_dtype_is_whole(fc_dtype_info(dtype));
}

static bool type_tensor(fc_vm_fit_t *fit, const fc_type_t *type,
                        const fc_vm_shape_t *shape) {
  return same_class(fit, type, shape->dtype) && same_shape(fit, type, shape) &&
         give_type(fit, type, FC_TYPE_TENSOR, shape->dtype);
}

static bool type_reference(fc_vm_fit_t *fit, const fc_type_t *type,
                           const fc_vm_shape_t *shape) {
  if (!shape->known) return true;
  if (!give_type(fit, type, FC_TYPE_TENSOR, shape->dtype)) return false;
  fc_builder_dims(fit->builder, (uint32_t)(type - fit->signature->nodes),
                  shape->rank, shape->dims);
  return true;
}

// Gives a type to a leaf for which the source has no type that farcall knows. In a
// register it is a number of the register's kind.
static bool type_number(fc_vm_fit_t *fit, const fc_type_t *type, char letter) {
  const fc_dtype_t dtype = fc_cconv_dtype(letter);
  return dtype != FC_DTYPE_NONE && same_class(fit, type, dtype) &&
         give_type(fit, type, FC_TYPE_SCALAR, dtype);
}

// Marks a leaf of a type of which IREE has no values: unless the module has another type
// for it, the function cannot be called.
static bool mark_foreign(fc_vm_fit_t *fit, const fc_type_t *type) {
  fc_builder_t *builder = fit->builder;
  const fc_text_ref_t text = fc_builder_text(
      builder, fc_str(fc_dtype_info((fc_dtype_t)type->dtype)->text));
  fc_type_t *ours =
      fc_builder_at(builder, (uint32_t)(type - fit->signature->nodes));
  if (!ours) return false;
  ours->flags |= FC_TYPE_ODD;
  ours->text = text;
  return true;
}

static bool fit_number(fc_vm_fit_t *fit, const fc_type_t *type, char letter) {
  const fc_dtype_t said = (fc_dtype_t)type->dtype;
  const fc_dtype_info_t *info = fc_dtype_info(said);
  fc_dtype_t dtype = fit_scalar(said, letter);
  if (!fc_cconv_has(said) && fc_dtype_is_whole(info)) {
    dtype = fc_cconv_dtype(letter);
    if (!fc_dtype_is_whole(fc_dtype_info(dtype))) return false;
    warn(fit, fc_str(info->text), dtype);
  }
  return dtype != FC_DTYPE_NONE && change_dtype(fit, type, dtype);
}

static bool fit_tensor(fc_vm_fit_t *fit, const fc_type_t *type,
                       const fc_vm_shape_t *shape) {
  const bool foreign = type->dtype && !fc_cconv_has((fc_dtype_t)type->dtype);
  if (!shape->known) return !foreign || mark_foreign(fit, type);
  if (type->dtype == FC_DTYPE_NONE) return type_tensor(fit, type, shape);
  const fc_dtype_info_t *said = fc_dtype_info((fc_dtype_t)type->dtype);
  const fc_dtype_info_t *real = fc_dtype_info(shape->dtype);
  if (fc_dtype_is_whole(said) != fc_dtype_is_whole(real)) return false;
  const fc_dtype_t from = (fc_dtype_t)type->dtype;
  if (!same_shape(fit, type, shape)) return false;
  if (fc_dtype_is_whole(said) && said->size == real->size && !foreign &&
      !adds_sign(from, shape->dtype)) {
    return true;
  }
  if (foreign) warn(fit, fc_str(said->text), shape->dtype);
  if (!fc_dtype_is_whole(said) && said->class_ != real->class_) return false;
  return change_dtype(fit, type, shape->dtype);
}

static bool fit_leaf(fc_vm_fit_t *fit, const fc_type_t *type, char letter,
                     const fc_vm_shape_t *shape) {
  switch ((fc_type_kind_t)type->kind) {
    case FC_TYPE_SCALAR:
      return fit_number(fit, type, letter);
    case FC_TYPE_UNKNOWN:
      return letter == 'r' ? type_reference(fit, type, shape)
                           : type_number(fit, type, letter);
    case FC_TYPE_OPAQUE:
      return letter == 'r' ? !(type->flags & FC_TYPE_ODD)
                           : type_number(fit, type, letter);
    case FC_TYPE_TENSOR:
      return letter == 'r' && fit_tensor(fit, type, shape);
    default:
      return letter == 'r';
  }
}

static bool fit_param(fc_vm_fit_t *fit, const fc_param_t *param,
                      fc_str_t letters, const fc_vm_shape_t *shapes) {
  const fc_signature_t *signature = fit->signature;
  if (param->raw_index >= 0) {
    size_t raw = (size_t)param->raw_index;
    return raw < letters.size &&
           fit_leaf(fit, fc_signature_node(signature, param->type),
                    letters.data[raw], &shapes[raw]);
  }
  fc_walk_t walk;
  fc_walk_init(&walk, signature->nodes, param->type);
  while (fc_walk_next(&walk)) {
    if (walk.leave || walk.type->raw_index < 0) continue;
    size_t raw = (size_t)walk.type->raw_index;
    if (raw >= letters.size ||
        !fit_leaf(fit, walk.type, letters.data[raw], &shapes[raw])) {
      return false;
    }
  }
  return true;
}

bool fc_vm_fits(fc_vm_fit_t *fit) {
  const fc_signature_t *signature = fit->signature;
  const fc_cconv_t *cconv = fit->cconv;
  if (signature->raw_argument_count != cconv->argument_count ||
      signature->raw_result_count != cconv->result_count) {
    return false;
  }
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    if (!fit_param(fit, &signature->arguments[i],
                   fit->function->cconv.arguments, fit->recovered->arguments)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < signature->result_count; i++) {
    if (!fit_param(fit, &signature->results[i], fit->function->cconv.results,
                   fit->recovered->results)) {
      return false;
    }
  }
  return true;
}
