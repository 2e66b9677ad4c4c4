// SPDX-License-Identifier: Apache-2.0
//
// What was decided by request about the versions of modules, and is remembered in
// --state-dir: where a name or an alias leads, and which files are refused because
// they were rolled back. A list is changed by making a changed copy, which counts once
// it was written.
#ifndef FARCALL_SERVER_MODULES_STATE_H_
#define FARCALL_SERVER_MODULES_STATE_H_

#include "farcall/base.h"

#define FC_ALIAS_MAX 32

typedef struct fc_decision_t {
  struct fc_decision_t *next;
  fc_str_t name;     // of a module
  fc_str_t alias;    // of it; "": the name alone
  fc_str_t version;  // to which it leads, or which is refused
  fc_str_t before;   // to which it led before; "": not known
  uint64_t mark;  // of a file that is refused; 0: this says where a name leads
  char text[];
} fc_decision_t;

void fc_state_free(fc_decision_t *list, fc_allocator_t allocator);
// What is decided about a name or an alias of it; NULL: nothing.
const fc_decision_t *fc_state_find(const fc_decision_t *list, fc_str_t name,
                                   fc_str_t alias);
bool fc_state_refuses(const fc_decision_t *list, fc_str_t name,
                      fc_str_t version, uint64_t mark);
// A copy without what `changed` is about (its name and alias, or the version that is
// refused), and with `changed` itself unless its version is "".
fc_status_t fc_state_change(const fc_decision_t *list, fc_allocator_t allocator,
                            const fc_decision_t *changed,
                            fc_decision_t **out_list,
                            fc_error_t *err) FC_MUST_CHECK;
// A letter, then letters, digits, '_' and '-'.
bool fc_is_alias(fc_str_t text);

// Lines of words, the last one "end". Parsing says which line is wrong.
fc_status_t fc_state_print(const fc_decision_t *list, fc_sink_t *sink,
                           fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_state_parse(fc_str_t text, fc_allocator_t allocator,
                           fc_decision_t **out_list,
                           fc_error_t *err) FC_MUST_CHECK;

// The file in a directory. There may be none: then the list is empty.
fc_status_t fc_state_read(fc_str_t directory, fc_allocator_t allocator,
                          fc_decision_t **out_list,
                          fc_error_t *err) FC_MUST_CHECK;
// Replaces the file as a whole, and waits until the disk has it.
fc_status_t fc_state_write(fc_str_t directory, fc_str_t text,
                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_MODULES_STATE_H_
