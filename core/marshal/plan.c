// SPDX-License-Identifier: Apache-2.0
//
// Compiles a signature into a plan: one pass that counts, one allocation, one
// pass that fills it. Runs when a module is loaded.
#include "abi/print.h"
#include "marshal/batch.h"
#include "marshal/model.h"
#include "marshal/written.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "base/width.h"

// The state of one walk over a signature. The walk is made twice: first it counts, with
// the pools NULL, then it fills them.
typedef struct compiler_t {
  const fc_signature_t *signature;
  fc_op_t *ops;
  fc_plan_key_t *keys;
  fc_plan_param_t *inputs;
  fc_plan_param_t *outputs;
  fc_plan_param_t *stores;
  fc_plan_state_t *states;
  uint32_t op_count;
  uint32_t key_count;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t store_count;
  uint32_t state_count;
  uint32_t raw_count;  // values of the flat call's side being compiled
} compiler_t;

// ---------------------------------------------------------------------------
// Trees

typedef struct open_node_t {
  uint32_t op;
  uint32_t next;     // the child to compile next
  uint32_t ordinal;  // of that child
  uint32_t keys;
  bool is_dict;
  bool in_flat_call;  // this node or its parent is in the flat call
} open_node_t;

static bool is_sized(const fc_type_t *type) {
  return type->kind == FC_TYPE_TENSOR || type->kind == FC_TYPE_VECTOR ||
         type->kind == FC_TYPE_REFARRAY;
}

static fc_status_t check_node(const compiler_t *compiler, const fc_type_t *type,
                              int32_t raw, bool in_flat_call, fc_error_t *err) {
  if (raw >= 0 && (uint32_t)raw >= compiler->raw_count) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "raw value %d, the flat call has %u", raw,
                   compiler->raw_count);
  }
  bool splits = type->kind == FC_TYPE_TUPLE || type->kind == FC_TYPE_DICT;
  if (raw < 0 && !in_flat_call && !splits && type->kind != FC_TYPE_NULL) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "a value has no place in the flat call");
  }
  if (is_sized(type) && type->rank > FC_RANK_MAX) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "rank %d exceeds %d",
                   type->rank, FC_RANK_MAX);
  }
  bool repeats = type->kind == FC_TYPE_LIST || type->kind == FC_TYPE_REFARRAY;
  if (repeats && type->child_count != 1) {
    return fc_fail(err, FC_CODE_ABI_METADATA, "a list has %u element types",
                   type->child_count);
  }
  if (type->kind == FC_TYPE_REFARRAY && type->rank < 1) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "an array of references needs dims");
  }
  return FC_OK;
}

static fc_status_t add_op(compiler_t *compiler, uint32_t node, int32_t raw,
                          bool in_flat_call, fc_error_t *err) {
  const fc_signature_t *signature = compiler->signature;
  const fc_type_t *type = fc_signature_node(signature, node);
  FC_TRY(check_node(compiler, type, raw, in_flat_call, err));
  uint32_t at = compiler->op_count++;
  if (!compiler->ops) return FC_OK;
  bool untyped = (type->flags & FC_TYPE_UNTYPED) != 0;
  compiler->ops[at] = (fc_op_t){
      .kind = type->kind,
      .dtype = untyped ? FC_DTYPE_NONE : type->dtype,
      .flavor = type->flavor,
      .rank = is_sized(type) ? type->rank : 0,
      .raw = raw,
      .span = 1,
      .child_count = type->child_count,
      .keys = compiler->key_count,
      .dims = is_sized(type) && type->rank > 0
                  ? fc_signature_dims(signature, type)
                  : NULL,
      .key = fc_signature_text(signature, type->key),
  };
  if (type->kind == FC_TYPE_OPAQUE) {
    compiler->ops[at].text = fc_signature_text(signature, type->text);
  }
  return FC_OK;
}

static fc_status_t set_key(compiler_t *compiler, uint32_t at, fc_str_t name,
                           uint32_t op, uint32_t ordinal, fc_error_t *err) {
  if (!fc_utf8_is_valid(name)) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "a name is not UTF-8, so JSON cannot say it");
  }
  if (compiler->keys) {
    compiler->keys[at] = (fc_plan_key_t){name, &compiler->ops[op], ordinal};
  }
  return FC_OK;
}

static int compare_keys(const void *a, const void *b) {
  return fc_str_compare(((const fc_plan_key_t *)a)->name,
                        ((const fc_plan_key_t *)b)->name);
}

static void sort_keys(fc_plan_key_t *keys, uint32_t count) {
  if (count > 1) qsort(keys, count, sizeof *keys, compare_keys);
}

static void close_node(compiler_t *compiler, const open_node_t *done) {
  if (!compiler->ops) return;
  fc_op_t *op = &compiler->ops[done->op];
  op->span = compiler->op_count - done->op;
  if (done->is_dict) sort_keys(&compiler->keys[op->keys], op->child_count);
}

// Adds the subtree of `node` in preorder. `raw` is the raw index of the node. With
// FC_RAW_NONE, the nodes get their raw indices from the signature.
static fc_status_t add_tree(compiler_t *compiler, uint32_t node, int32_t raw,
                            fc_error_t *err) {
  const fc_signature_t *signature = compiler->signature;
  open_node_t open[FC_TYPE_DEPTH_MAX + 1];
  uint32_t depth = 0;
  bool in_flat_call = false;
  for (;;) {
    const fc_type_t *type = fc_signature_node(signature, node);
    if (depth > FC_TYPE_DEPTH_MAX) {
      return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                     "the type is nested deeper than %d", FC_TYPE_DEPTH_MAX);
    }
    if (raw < 0 && !in_flat_call) raw = type->raw_index;
    uint32_t op = compiler->op_count;
    FC_TRY(add_op(compiler, node, raw, in_flat_call, err));
    bool is_dict = type->kind == FC_TYPE_DICT;
    open[depth++] = (open_node_t){.op = op,
                                  .next = type->child,
                                  .keys = compiler->key_count,
                                  .is_dict = is_dict,
                                  .in_flat_call = in_flat_call || raw >= 0};
    if (is_dict) compiler->key_count += type->child_count;

    while (depth && open[depth - 1].next == FC_NODE_NONE) {
      close_node(compiler, &open[--depth]);
    }
    if (!depth) return FC_OK;
    open_node_t *parent = &open[depth - 1];
    node = parent->next;
    in_flat_call = parent->in_flat_call;
    raw = FC_RAW_NONE;
    const fc_type_t *child = fc_signature_node(signature, node);
    if (parent->is_dict) {
      FC_TRY(set_key(compiler, parent->keys + parent->ordinal,
                     fc_signature_text(signature, child->key),
                     compiler->op_count, parent->ordinal, err));
    }
    parent->next = child->next;
    parent->ordinal++;
  }
}

// ---------------------------------------------------------------------------
// Arguments and results

static void add_param(compiler_t *compiler, fc_plan_param_t *list,
                      uint32_t *count, fc_str_t name, uint32_t op,
                      uint32_t number) {
  uint32_t at = (*count)++;
  if (!compiler->ops) return;
  list[at] = (fc_plan_param_t){name, &compiler->ops[op], number};
}

// Adds the arguments of a function with a root_tree signature. They are the children of
// the root, or the root itself if it is not a tuple or dict.
static fc_status_t add_root(compiler_t *compiler, fc_error_t *err) {
  const fc_signature_t *signature = compiler->signature;
  const fc_param_t *root = &signature->arguments[0];
  const fc_type_t *type = fc_signature_node(signature, root->type);
  uint32_t first = compiler->op_count;
  FC_TRY(add_tree(compiler, root->type, root->raw_index, err));
  if (type->kind != FC_TYPE_TUPLE && type->kind != FC_TYPE_DICT) {
    add_param(compiler, compiler->inputs, &compiler->input_count, (fc_str_t){0},
              first, 0);
    return FC_OK;
  }
  uint32_t op = first + 1;
  uint32_t number = 0;
  for (uint32_t node = type->child; node != FC_NODE_NONE;) {
    const fc_type_t *child = fc_signature_node(signature, node);
    add_param(compiler, compiler->inputs, &compiler->input_count,
              fc_signature_text(signature, child->key), op, number++);
    if (compiler->ops) op += compiler->ops[op].span;
    node = child->next;
  }
  return FC_OK;
}

static const fc_state_decl_t *state_of(const fc_signature_t *signature,
                                       uint32_t argument) {
  for (uint32_t i = 0; i < signature->state_count; i++) {
    if (signature->states[i].argument == argument) return &signature->states[i];
  }
  return NULL;
}

// Adds an argument that is state. If the function writes into it, its memory must be the
// store's, so types that are passed in packed form are refused. The result is added
// later.
static fc_status_t add_state(compiler_t *compiler, uint32_t argument,
                             fc_error_t *err) {
  const fc_signature_t *signature = compiler->signature;
  const fc_param_t *param = &signature->arguments[argument];
  const fc_type_t *type = fc_signature_node(signature, param->type);
  const fc_state_decl_t *state = state_of(signature, argument);
  size_t count, size;
  if (!state || param->raw_index < 0) {
    return fc_fail(err, FC_CODE_ABI_METADATA,
                   "nothing says how argument %u is state", argument);
  }
  const int64_t *shape = signature->dims + state->dims;
  const bool scalar = type->kind != FC_TYPE_TENSOR;
  if (fc_width_is_odd(fc_dtype_info(type->dtype)) ||
      (!scalar &&
       !fc_shape_count(shape, type->rank, type->dtype, &count, &size))) {
    return fc_fail(
        err, FC_CODE_UNSUPPORTED_TYPE,
        "state '%.*s' has elements narrower than a byte, or too many",
        FC_STR_ARG(fc_signature_text(signature, state->name)));
  }
  const uint32_t op = compiler->op_count, at = compiler->state_count++;
  FC_TRY(add_tree(compiler, param->type, param->raw_index, err));
  if (!compiler->ops) return FC_OK;
  compiler->states[at] =
      (fc_plan_state_t){.name = fc_signature_text(signature, state->name),
                        .param = {fc_signature_text(signature, param->name),
                                  &compiler->ops[op], argument},
                        .shape = shape};
  return FC_OK;
}

static fc_status_t add_state_result(compiler_t *compiler, uint32_t result,
                                    fc_error_t *err) {
  const fc_signature_t *signature = compiler->signature;
  const fc_param_t *param = &signature->results[result];
  const uint32_t op = compiler->op_count;
  FC_TRY(add_tree(compiler, param->type, param->raw_index, err));
  for (uint32_t i = 0; compiler->ops && i < compiler->state_count; i++) {
    fc_plan_state_t *state = &compiler->states[i];
    const fc_state_decl_t *decl = state_of(signature, state->param.number);
    if (decl->result == result) state->result = &compiler->ops[op];
  }
  return FC_OK;
}

static fc_status_t add_arguments(compiler_t *compiler, fc_error_t *err) {
  const fc_signature_t *signature = compiler->signature;
  compiler->raw_count = signature->raw_argument_count;
  if (signature->root_tree) {
    return signature->argument_count ? add_root(compiler, err) : FC_OK;
  }
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (param->role == FC_ROLE_STATE) {
      FC_TRY(add_state(compiler, i, err));
      continue;
    }
    bool sent = fc_role_is_sent(param->role);
    if (!sent && param->role != FC_ROLE_OUT) continue;
    uint32_t op = compiler->op_count;
    FC_TRY(add_tree(compiler, param->type, param->raw_index, err));
    fc_str_t name = fc_signature_text(signature, param->name);
    if (sent) {
      add_param(compiler, compiler->inputs, &compiler->input_count, name, op,
                i);
    } else {
      add_param(compiler, compiler->stores, &compiler->store_count, name, op,
                i);
    }
  }
  return FC_OK;
}

static fc_status_t add_results(compiler_t *compiler, uint32_t *out_finals,
                               fc_error_t *err) {
  const fc_signature_t *signature = compiler->signature;
  compiler->raw_count = signature->raw_result_count;
  for (uint32_t i = 0; i < signature->result_count; i++) {
    const fc_param_t *param = &signature->results[i];
    if (param->role == FC_ROLE_STATE) {
      FC_TRY(add_state_result(compiler, i, err));
      continue;
    }
    uint32_t op = compiler->op_count;
    FC_TRY(add_tree(compiler, param->type, param->raw_index, err));
    add_param(compiler, compiler->outputs, &compiler->output_count,
              fc_signature_text(signature, param->name), op,
              compiler->output_count);
  }
  uint32_t finals = 0;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (!fc_role_is_answered(param->role)) continue;
    uint32_t op = compiler->op_count;
    compiler->raw_count = signature->raw_result_count + ++finals;
    FC_TRY(add_tree(compiler, param->type, (int32_t)(compiler->raw_count - 1),
                    err));
    add_param(compiler, compiler->outputs, &compiler->output_count,
              fc_signature_text(signature, param->name), op,
              compiler->output_count);
  }
  *out_finals = finals;
  return FC_OK;
}

static bool is_keyword(const fc_signature_t *signature,
                       const fc_plan_param_t *input) {
  if (signature->root_tree) {
    const fc_param_t *root = &signature->arguments[0];
    return fc_signature_node(signature, root->type)->kind == FC_TYPE_DICT;
  }
  return signature->arguments[input->number].keyword && input->name.size;
}

static fc_status_t add_keywords(compiler_t *compiler, fc_plan_t *plan,
                                fc_error_t *err) {
  uint32_t first = compiler->key_count;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_plan_param_t *input = &plan->inputs[i];
    if (!is_keyword(plan->signature, input)) continue;
    FC_TRY(set_key(compiler, compiler->key_count++, input->name,
                   (uint32_t)(input->op - plan->ops), i, err));
  }
  plan->keywords = &compiler->keys[first];
  plan->keyword_count = compiler->key_count - first;
  sort_keys(&compiler->keys[first], plan->keyword_count);
  return FC_OK;
}

static fc_status_t compile(compiler_t *compiler, uint32_t *out_finals,
                           fc_error_t *err) {
  FC_TRY(add_arguments(compiler, err));
  return add_results(compiler, out_finals, err);
}

// Allocates plan, ops, keys and params as one block: all are aligned as a pointer is.
static fc_plan_t *allocate(fc_allocator_t allocator, const compiler_t *need,
                           compiler_t *out) {
  uint32_t params = need->input_count + need->output_count + need->store_count;
  size_t key_count = (size_t)need->key_count + need->input_count;
  size_t size =
      sizeof(fc_plan_t) + need->op_count * sizeof(fc_op_t) +
      key_count * sizeof(fc_plan_key_t) + params * sizeof(fc_plan_param_t) +
      need->state_count * sizeof(fc_plan_state_t) + sizeof(fc_plan_live_t);
  fc_plan_t *plan = fc_alloc(allocator, size);
  if (!plan) return NULL;
  plan->allocator = allocator;
  plan->signature = need->signature;
  *out = (compiler_t){.signature = need->signature};
  out->ops = (fc_op_t *)(plan + 1);
  out->keys = (fc_plan_key_t *)(out->ops + need->op_count);
  out->inputs = (fc_plan_param_t *)(out->keys + key_count);
  out->outputs = out->inputs + need->input_count;
  out->stores = out->outputs + need->output_count;
  out->states = (fc_plan_state_t *)(out->stores + need->store_count);
  plan->live = (fc_plan_live_t *)(out->states + need->state_count);
  return plan;
}

static fc_status_t refuse(const fc_signature_t *signature, fc_error_t *err) {
  fc_str_t name = fc_signature_text(signature, signature->name);
  fc_str_t reason = fc_signature_text(signature, signature->reason);
  return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                 "function '%.*s' is not callable: %.*s", FC_STR_ARG(name),
                 FC_STR_ARG(reason));
}

// Marks the names of dims that occur in values that the client sends.
static void mark_sent_names(const fc_plan_t *plan, bool *sent) {
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_op_t *op = plan->inputs[i].op;
    for (const fc_op_t *end = op + op->span; op < end; op++) {
      for (int32_t k = 0; k < op->rank; k++) {
        if (!fc_dim_is_named(op->dims[k])) continue;
        sent[fc_dim_name(op->dims[k])] = true;
      }
    }
  }
}

// Checks that each OUT argument is a tensor of a known type, and that the size of its
// storage is known from the values that are sent.
static fc_status_t check_stores(const fc_plan_t *plan, fc_error_t *err) {
  bool sent[FC_DIM_NAMES_MAX] = {false};
  mark_sent_names(plan, sent);
  for (uint32_t i = 0; i < plan->store_count; i++) {
    const fc_op_t *op = plan->stores[i].op;
    bool sized = op->kind == FC_TYPE_TENSOR && op->rank >= 0 && op->dtype;
    for (int32_t k = 0; sized && k < op->rank; k++) {
      sized = op->dims[k] >= 0 ||
              (fc_dim_is_named(op->dims[k]) && sent[fc_dim_name(op->dims[k])]);
    }
    if (sized) continue;
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "the size of out argument %u is not known",
                   plan->stores[i].number);
  }
  return FC_OK;
}

bool fc_plan_doubts(const fc_plan_t *plan, const fc_plan_param_t *input) {
  const fc_signature_t *signature = plan->signature;
  if (signature->root_tree) return false;
  const fc_param_t *param = &signature->arguments[input->number];
  return param->role == FC_ROLE_IN && !param->certain;
}

static bool lends(const fc_plan_t *plan) {
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_plan_param_t *input = &plan->inputs[i];
    if (!fc_plan_doubts(plan, input)) continue;
    for (const fc_op_t *op = input->op; op < fc_op_next(input->op); op++) {
      if (fc_op_is_lent(op)) return true;
    }
  }
  return false;
}

// Notes what holds of all inputs together: which stand by position, and which arguments
// are the members of one dict.
static void note_inputs(fc_plan_t *plan) {
  const fc_signature_t *signature = plan->signature;
  plan->positional_count = plan->input_count;
  if (signature->root_tree && signature->argument_count &&
      plan->ops[0].kind == FC_TYPE_DICT) {
    plan->root_dict = &plan->ops[0];
    plan->positional_count = 0;
  }
  if (plan->input_count) {
    const fc_plan_param_t *last = &plan->inputs[plan->input_count - 1];
    if (last->op->flavor == FC_FLAVOR_KWARGS) plan->rest = last;
  }
  plan->lends = lends(plan);
}

fc_status_t fc_plan_create(const fc_signature_t *signature,
                           fc_allocator_t allocator, fc_plan_t **out_plan,
                           fc_error_t *err) {
  if (!signature->callable) return refuse(signature, err);
  compiler_t need = {.signature = signature};
  uint32_t finals = 0;
  FC_TRY(compile(&need, &finals, err));
  compiler_t fill;
  fc_plan_t *plan = allocate(allocator, &need, &fill);
  if (!plan) return fc_fail_memory(err);
  plan->ops = fill.ops;
  plan->keys = fill.keys;
  plan->inputs = fill.inputs;
  plan->outputs = fill.outputs;
  plan->stores = fill.stores;
  plan->states = fill.states;
  fc_status_t status = compile(&fill, &finals, err);
  plan->input_count = fill.input_count;
  plan->output_count = fill.output_count;
  plan->store_count = fill.store_count;
  plan->state_count = fill.state_count;
  plan->final_count = finals;
  if (status == FC_OK) status = add_keywords(&fill, plan, err);
  if (status == FC_OK) status = check_stores(plan, err);
  if (status != FC_OK) {
    fc_plan_destroy(plan);
    return status;
  }
  note_inputs(plan);
  if (fc_signature_may_batch(signature)) {
    plan->batch = fc_batch_create(signature, allocator);
    if (!plan->batch) {
      fc_plan_destroy(plan);
      return fc_fail_memory(err);
    }
  }
  *out_plan = plan;
  return FC_OK;
}

void fc_plan_destroy(fc_plan_t *plan) {
  if (!plan) return;
  fc_model_destroy(atomic_load(&plan->live->model));
  fc_free(plan->allocator, plan->batch);
  fc_free(plan->allocator, plan);
}

// ---------------------------------------------------------------------------
// Names

const fc_plan_key_t *fc_plan_find(const fc_plan_key_t *keys, uint32_t count,
                                  fc_str_t name) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = fc_str_compare(name, keys[middle].name);
    if (order == 0) return &keys[middle];
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return NULL;
}

fc_str_t fc_plan_nearest(const fc_plan_key_t *keys, uint32_t count,
                         fc_str_t name) {
  fc_str_t nearest = {0};
  fc_nearest_t search = fc_nearest_begin(name);
  for (uint32_t i = 0; i < count; i++) {
    if (fc_nearest_offer(&search, keys[i].name)) nearest = keys[i].name;
  }
  return nearest;
}

static bool may_refer(const fc_op_t *op) {
  return op->kind == FC_TYPE_OPAQUE || op->kind == FC_TYPE_UNKNOWN;
}

uint32_t fc_plan_references(const fc_plan_t *plan) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->output_count; i++) {
    count += may_refer(plan->outputs[i].op);
  }
  for (uint32_t i = 0; i < plan->state_count; i++) {
    count += plan->states[i].result && may_refer(plan->states[i].result);
  }
  return count;
}

static void print_param(const char *noun, const fc_plan_param_t *param,
                        char *out, size_t capacity) {
  char name[80];
  fc_escape(name, sizeof name, 64, param->name);
  snprintf(out, capacity, param->name.size ? "%s %u ('%s')" : "%s %u", noun,
           param->number, name);
}

void fc_plan_name_argument(const fc_plan_param_t *input, fc_error_t *err) {
  char who[120];
  fc_error_t named;
  print_param("argument", input, who, sizeof who);
  fc_fail(&named, err->code, "%s: %s", who, err->message);
  memcpy(err->message, named.message, sizeof err->message);
}

static bool owns(const fc_plan_param_t *param, const fc_op_t *op) {
  return op >= param->op && op < fc_op_next(param->op);
}

void fc_plan_print_owner(const fc_plan_t *plan, const fc_op_t *op, char *out,
                         size_t capacity) {
  snprintf(out, capacity, "a value");
  for (uint32_t i = 0; i < plan->output_count; i++) {
    if (owns(&plan->outputs[i], op)) {
      print_param("result", &plan->outputs[i], out, capacity);
    }
  }
  for (uint32_t i = 0; i < plan->input_count; i++) {
    if (owns(&plan->inputs[i], op)) {
      print_param("argument", &plan->inputs[i], out, capacity);
    }
  }
}
