// SPDX-License-Identifier: Apache-2.0
//
// hal.devices.*, hal.device.query.*: one device, and no channels. On workers.
#include "module/vm/hal/calls.h"
#include "module/vm/hal/executable.h"

static const fc_hal_state_t *state_of(const fc_vm_native_call_t *call) {
  return call->state;
}

FC_HAL_CALL(devices_count) {
  (void)err;
  call->results[0].i32 = 1;
  return FC_OK;
}

FC_HAL_CALL(devices_get) {
  (void)err;
  if (call->arguments[0].i32 == 0)
    fc_hal_give(call, fc_vm_retain(state_of(call)->device));
  return FC_OK;
}

FC_HAL_CALL(device_allocator) {
  (void)err;
  fc_hal_give(call, fc_vm_retain(state_of(call)->allocator));
  return FC_OK;
}

// Matches a pattern: '*' stands for any text, '?' for any character. Once a later star
// was reached, no other text is tried for an earlier one, so the time is limited by the
// product of both sizes.
static bool glob(fc_str_t pattern, fc_str_t text) {
  size_t p = 0, t = 0, star = SIZE_MAX, mark = 0;
  while (t < text.size) {
    if (p < pattern.size && pattern.data[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size &&
               (pattern.data[p] == '?' || pattern.data[p] == text.data[t])) {
      p++;
      t++;
    } else if (star != SIZE_MAX) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size && pattern.data[p] == '*') p++;
  return p == pattern.size;
}

// Operands: (device, category, key) -> (known, value); an unknown key is not an error.
FC_HAL_CALL(device_query) {
  fc_str_t category, key;
  FC_TRY(fc_hal_text(call, 1, &category, err));
  FC_TRY(fc_hal_text(call, 2, &key, err));
  const fc_hal_state_t *state = state_of(call);
  bool known = true;
  int64_t value = 0;
  if (fc_str_equal(category, FC_STR("hal.device.id"))) {
    value = glob(key, FC_STR("local-sync"));
  } else if (fc_str_equal(category, FC_STR("hal.executable.format"))) {
    value = fc_hal_format_is_supported(key);
  } else if (fc_str_equal(category, FC_STR("hal.cpu"))) {
    const fc_cpu_answer_t answer = fc_cpu_has(&state->cpu, key);
    known = answer != FC_CPU_UNKNOWN;
    value = answer == FC_CPU_YES;
  } else {
    known = fc_str_equal(key, FC_STR("concurrency"));
    value = known;
  }
  call->results[0].i32 = known;
  call->results[1].i64 = value;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Collectives

static fc_status_t no_channels(const char *name, fc_error_t *err) {
  return fc_hal_fail(err, FC_UNIMPLEMENTED, "hal.%s is not supported", name);
}

FC_HAL_CALL(channel_create) {
  (void)call;
  return no_channels("channel.create", err);
}

FC_HAL_CALL(channel_rank_and_count) {
  (void)call;
  return no_channels("channel.rank_and_count", err);
}

FC_HAL_CALL(channel_split) {
  (void)call;
  return no_channels("channel.split", err);
}
