// SPDX-License-Identifier: Apache-2.0
//
// Decisions about the versions of modules, made by request or because of crashes: where a
// name or an alias leads, and which files are refused after a rollback. They are kept in
// a list and, with --state-dir, in a file for the next start. A list is never changed: a
// changed copy replaces it.
#ifndef FARCALL_SERVER_MODULES_DECISIONS_H_
#define FARCALL_SERVER_MODULES_DECISIONS_H_

#include "farcall/base.h"

#define FC_ALIAS_MAX 32

typedef struct fc_decision_t {
  struct fc_decision_t *next;
  fc_str_t name;  // of the module
  // An alias of that name; "": the decision is about the name itself.
  fc_str_t alias;
  // The version to which the name or alias leads, or the refused version.
  fc_str_t version;
  fc_str_t before;  // the version to which it led before; "": not known
  // Mark of the refused file; 0: the decision says where a name or alias leads.
  uint64_t mark;
  bool lifted;  // only for fc_decisions_change: the file is no longer refused
  char text[];
} fc_decision_t;

void fc_decisions_free(fc_decision_t *list, fc_allocator_t allocator);
// Returns the decision that says where a name, or an alias of it, leads; NULL: there is
// none.
const fc_decision_t *fc_decisions_find(const fc_decision_t *list, fc_str_t name,
                                       fc_str_t alias);
bool fc_decisions_refuse(const fc_decision_t *list, fc_str_t name,
                         fc_str_t version, uint64_t mark);
// Copies a list without the decisions that `changed` replaces: refusals of its version
// and, if it says where a name or alias leads, the earlier decision about that. Adds
// `changed` unless its version is "" or it is `lifted`.
fc_status_t fc_decisions_change(const fc_decision_t *list,
                                fc_allocator_t allocator,
                                const fc_decision_t *changed,
                                fc_decision_t **out_list,
                                fc_error_t *err) FC_MUST_CHECK;
// Is the text an alias: a letter, then letters, digits, '_' and '-', at most FC_ALIAS_MAX
// characters?
bool fc_is_alias(fc_str_t text);

// Write and read a list as text: a first line with the version of the format, a line for
// each decision, and a last line "end". FC_CODE_NOT_ACCEPTABLE of parsing names the wrong
// line, or says that the last one is missing.
fc_status_t fc_decisions_print(const fc_decision_t *list, fc_sink_t *sink,
                               fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_decisions_parse(fc_str_t text, fc_allocator_t allocator,
                               fc_decision_t **out_list,
                               fc_error_t *err) FC_MUST_CHECK;

// Reads the file in `directory`. If there is no file, the list is empty.
fc_status_t fc_decisions_read(fc_str_t directory, fc_allocator_t allocator,
                              fc_decision_t **out_list,
                              fc_error_t *err) FC_MUST_CHECK;
// Replaces the whole file, and waits until it is on the disk.
fc_status_t fc_decisions_write(fc_str_t directory, fc_str_t text,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_MODULES_DECISIONS_H_
