// SPDX-License-Identifier: Apache-2.0
#include "module/states.h"

#include "base/name_table.h"

// A state, and the function that declares it.
typedef struct declared_t {
  const fc_function_t *function;
  const fc_state_decl_t *state;
} declared_t;

// All states of a module, each only once: the first declaration of its name.
typedef struct states_t {
  fc_functions_t functions;
  fc_name_table_t first;  // from names to function * FC_STATES_MAX + state
  bool survive;           // every function declares that all states do
} states_t;

// True when two states have the same type and shape.
static bool agree(const declared_t *one, const declared_t *other) {
  const fc_signature_t *a = one->function->signature;
  const fc_signature_t *b = other->function->signature;
  const fc_state_decl_t *s = one->state, *t = other->state;
  const fc_type_t *x = fc_signature_node(a, a->arguments[s->argument].type);
  const fc_type_t *y = fc_signature_node(b, b->arguments[t->argument].type);
  if (x->kind != y->kind || x->dtype != y->dtype) return false;
  if (x->kind == FC_TYPE_OPAQUE) {
    return fc_str_equal(fc_signature_text(a, x->text),
                        fc_signature_text(b, y->text));
  }
  return x->kind != FC_TYPE_TENSOR ||
         (x->rank == y->rank && !memcmp(a->dims + s->dims, b->dims + t->dims,
                                        (size_t)x->rank * sizeof *a->dims));
}

static bool find(const states_t *states, fc_str_t name, declared_t *out) {
  const uint32_t at = fc_name_table_find(&states->first, name);
  if (at == FC_NAME_NONE) return false;
  out->function = &states->functions.first[at / FC_STATES_MAX];
  out->state = &out->function->signature->states[at % FC_STATES_MAX];
  return true;
}

static fc_status_t differ(fc_str_t state, const fc_function_t *first,
                          const fc_function_t *function, fc_error_t *err) {
  char names[2][80];
  fc_escape(names[0], sizeof names[0], 64, first->name);
  fc_escape(names[1], sizeof names[1], 64, function->name);
  return fc_fail(err, FC_CODE_ABI_METADATA,
                 "state '%.*s' is one value, and has one type and shape in "
                 "function '%s' and another in '%s'",
                 FC_STR_ARG(state), names[0], names[1]);
}

// Adds the states of a function. They must agree with earlier states of the same name.
static fc_status_t add(states_t *states, size_t index, fc_error_t *err) {
  const fc_function_t *function = &states->functions.first[index];
  const fc_signature_t *signature = function->signature;
  for (uint32_t i = 0; i < signature->state_count; i++) {
    const declared_t now = {function, &signature->states[i]};
    const fc_str_t name = fc_signature_text(signature, now.state->name);
    declared_t first;
    states->survive = states->survive && now.state->survives;
    if (!find(states, name, &first)) {
      const uint32_t at = (uint32_t)index * FC_STATES_MAX + i;
      FC_TRY(fc_name_table_put(&states->first, name, at, err));
    } else if (!agree(&first, &now)) {
      return differ(name, first.function, function, err);
    }
  }
  return FC_OK;
}

// The caller must call fc_name_table_deinit(&out->first), even after a failure.
static fc_status_t gather(fc_functions_t functions, fc_allocator_t allocator,
                          states_t *out, fc_error_t *err) {
  *out = (states_t){.functions = functions,
                    .first = {.allocator = allocator},
                    .survive = true};
  for (size_t i = 0; i < functions.count; i++) FC_TRY(add(out, i, err));
  return FC_OK;
}

fc_status_t fc_states_check(fc_functions_t functions, fc_allocator_t allocator,
                            fc_error_t *err) {
  states_t states;
  const fc_status_t status = gather(functions, allocator, &states, err);
  fc_name_table_deinit(&states.first);
  return status;
}

static bool match(const states_t *from, const states_t *to) {
  if (!from->survive || !to->survive || !from->first.count ||
      from->first.count != to->first.count) {
    return false;
  }
  for (size_t i = 0; i < from->first.capacity; i++) {
    const fc_name_cell_t *cell = &from->first.cells[i];
    declared_t was, is;
    if (!cell->name.data) continue;
    if (!find(from, cell->name, &was) || !find(to, cell->name, &is) ||
        !agree(&was, &is)) {
      return false;
    }
  }
  return true;
}

bool fc_states_go_over(fc_functions_t from, fc_functions_t to,
                       fc_allocator_t allocator) {
  states_t old, new;
  fc_error_t ignored;
  bool good = gather(from, allocator, &old, &ignored) == FC_OK;
  good &= gather(to, allocator, &new, &ignored) == FC_OK;
  good = good && match(&old, &new);
  fc_name_table_deinit(&old.first);
  fc_name_table_deinit(&new.first);
  return good;
}
