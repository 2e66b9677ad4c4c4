// SPDX-License-Identifier: Apache-2.0
//
// Errors that say why an instruction failed, and where. On workers.
#include "module/vm/failures.h"

#include <inttypes.h>
#include <stdio.h>

#include "module/vm/ops.h"

fc_status_t fc_vm_null_error(const char *what, const fc_vm_object_t *object,
                             fc_error_t *err) {
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_INVALID_ARGUMENT,
                    object ? "a %s is needed, not a %s" : "the %s is null",
                    what, fc_vm_object_type_name(object));
}

fc_status_t fc_vm_type_error(fc_vm_type_t wanted, const fc_vm_object_t *object,
                             fc_error_t *err) {
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_INVALID_ARGUMENT,
                    "a %s is needed, not a %s", fc_vm_type_info(wanted)->text,
                    fc_vm_object_type_name(object));
}

fc_status_t fc_vm_division_error(bool by_zero, fc_error_t *err) {
  return fc_fail_as(
      err, FC_CODE_CALL_FAILED, FC_OUT_OF_RANGE,
      by_zero ? "integer division by zero" : "integer division overflows");
}

fc_status_t fc_vm_global_error(uint32_t offset, uint32_t count,
                               const char *what, fc_error_t *err) {
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_OUT_OF_RANGE,
                    "global %s %" PRIu32 " is outside %" PRIu32, what, offset,
                    count);
}

// Writes the error of a `fail` instruction. The text comes from the module, so it may
// contain any bytes.
fc_status_t fc_vm_module_error(int32_t code, const uint8_t *text, size_t size,
                               fc_error_t *err) {
  uint32_t number = (uint32_t)code & 31;
  fc_status_t status = number == 0 || number > FC_INCOMPATIBLE
                           ? FC_UNKNOWN
                           : (fc_status_t)number;
  char shown[240];
  size_t length = 0;
  bool plain = true;
  for (size_t i = 0; i < size && length < sizeof shown - 1; i++) {
    plain = plain && text[i] >= 0x20 && text[i] < 0x7F;
    shown[length++] = (char)text[i];
  }
  shown[length] = 0;
  if (!plain) {
    fc_escape(shown, sizeof shown, sizeof shown,
              fc_str_make((const char *)text, size));
  }
  return fc_fail_as(err, FC_CODE_CALL_FAILED, status, "%s",
                    shown[0] ? shown : "the module failed");
}

// Adds the place of the failed instruction to the message of a call, if there is room.
void fc_vm_add_place(const fc_vm_frame_t *frame, const uint8_t *ip,
                     fc_error_t *err) {
  if (!err || err->code != FC_CODE_CALL_FAILED) return;
  const fc_vm_function_t *function = frame->function;
  uint32_t at = (uint32_t)(ip - function->code), pc = 0;
  fc_vm_instruction_t in;
  while (pc < function->size &&
         fc_vm_decode(function->code, function->size, pc, &in, NULL) == FC_OK &&
         in.next < at) {
    pc = in.next;
  }
  char name[72];
  fc_escape(name, sizeof name, 48, function->name);
  size_t length = strlen(err->message);
  size_t room = sizeof err->message - length;
  char place[112];
  int size = snprintf(place, sizeof place, " (at 0x%" PRIX32 "%s%s)", pc,
                      name[0] ? " of " : "", name);
  if (size > 0 && (size_t)size < room) {
    memcpy(err->message + length, place, (size_t)size + 1);
  }
}
