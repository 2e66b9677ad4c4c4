// SPDX-License-Identifier: Apache-2.0
//
// What an instruction (ops.def) or a function written in C (natives.h) changes
// so that another call of the module may see it. Each row of those tables
// states its effect, and analysis.c combines the effects of a module.
#ifndef FARCALL_CORE_MODULE_VM_EFFECT_H_
#define FARCALL_CORE_MODULE_VM_EFFECT_H_

// Each effect, including NONE, is a bit; combinations have several bits. So a row that
// states NONE differs from a row that states no effect at all, which is 0.
typedef enum fc_vm_effect_t {
  FC_VM_EFFECT_NONE = 1 << 0,
  FC_VM_EFFECT_GLOBAL = 1 << 1,  // stores a global
  // Gives the object in a global; with MOVE it takes the object out.
  FC_VM_EFFECT_LOAD_REF = 1 << 2,
  FC_VM_EFFECT_TAKE_ITEM = 1 << 3,  // with MOVE takes an object out of a list
  // Changes an object of this kind: an operand, or an object that is reached
  // from an operand.
  FC_VM_EFFECT_BUFFER = 1 << 4,    // the bytes of a !vm.buffer
  FC_VM_EFFECT_LIST = 1 << 5,      // a list
  FC_VM_EFFECT_DEVICE = 1 << 6,    // the bytes of a !hal.buffer
  FC_VM_EFFECT_COMMANDS = 1 << 7,  // the command buffer that is operand 0
  FC_VM_EFFECT_FENCE = 1 << 8,     // a fence, which it signals
  // Makes an object.
  FC_VM_EFFECT_MAKE_COMMANDS = 1 << 9,   // result 0: a command buffer
  FC_VM_EFFECT_MAKE_VARIABLE = 1 << 10,  // a buffer that may be written later
  // A !hal.buffer; an operand says whether it may be written later.
  FC_VM_EFFECT_MAKE_DEVICE = 1 << 11,
  // Works for a time that fc_vm_work does not count, or waits.
  FC_VM_EFFECT_LONG = 1 << 12,
  // Makes a !hal.buffer over the bytes of an operand, which may be a constant.
  FC_VM_EFFECT_MAKE_ALIAS = 1 << 13,
  // Combinations.
  FC_VM_EFFECT_MAKE_VARIABLE_ALIAS =
      FC_VM_EFFECT_MAKE_VARIABLE | FC_VM_EFFECT_MAKE_ALIAS,
  FC_VM_EFFECT_FENCE_DEVICE = FC_VM_EFFECT_FENCE | FC_VM_EFFECT_DEVICE,
  FC_VM_EFFECT_ANY = 0xFFFE,  // the effect is unknown
} fc_vm_effect_t;

// What a call can change through an object, by the object's type (types.def).
// A !hal.buffer may lie over a !vm.buffer, and the other way around. A command buffer has
// references to the buffers that it writes into. A list may hold any object.
typedef enum fc_vm_reach_t {
  FC_VM_REACH_NOTHING = 0,
  FC_VM_REACH_BYTES = FC_VM_EFFECT_BUFFER | FC_VM_EFFECT_DEVICE,
  FC_VM_REACH_COMMANDS = FC_VM_EFFECT_COMMANDS | FC_VM_EFFECT_DEVICE,
  FC_VM_REACH_FENCE = FC_VM_EFFECT_FENCE,
  FC_VM_REACH_ANY = FC_VM_EFFECT_BUFFER | FC_VM_EFFECT_LIST |
                    FC_VM_EFFECT_DEVICE | FC_VM_EFFECT_COMMANDS |
                    FC_VM_EFFECT_FENCE,
} fc_vm_reach_t;

// MAKE_DEVICE and MAKE_ALIAS have a number in the bits from this bit on: the number of
// the operand that is the buffer's usage.
#define FC_VM_EFFECT_USAGE_SHIFT 16
#define FC_VM_EFFECT_MAKE_DEVICE_AS(operand) \
  (FC_VM_EFFECT_MAKE_DEVICE | (operand) << FC_VM_EFFECT_USAGE_SHIFT)
#define FC_VM_EFFECT_MAKE_ALIAS_AS(operand) \
  (FC_VM_EFFECT_MAKE_ALIAS | FC_VM_EFFECT_MAKE_DEVICE_AS(operand))
#define FC_VM_EFFECT_FENCE_MAKE_DEVICE_AS(operand) \
  (FC_VM_EFFECT_FENCE | FC_VM_EFFECT_MAKE_DEVICE_AS(operand))

#endif  // FARCALL_CORE_MODULE_VM_EFFECT_H_
