// SPDX-License-Identifier: Apache-2.0
//
// Filters of system calls. A call that a filter of call.def refuses raises SIGSYS in the
// calling thread; the handler (stop.c) notes the call and makes it return EPERM. The
// filter of --sandbox=basic makes the call fail without a signal, and nothing is noted.
#ifndef FARCALL_SERVER_JAIL_FILTER_H_
#define FARCALL_SERVER_JAIL_FILTER_H_

#include <linux/filter.h>

#include "farcall/base.h"

typedef enum fc_phase_t {
  FC_PHASE_LOADING,
  FC_PHASE_CALLING,
  FC_PHASE_ALONE,  // as CALLING, but starting a thread fails with EAGAIN
} fc_phase_t;

typedef enum fc_jail_rule_t {
  FC_RULE_ANY,
  FC_RULE_NO,
  FC_RULE_ABSENT,  // fails with ENOSYS, without a signal, and is not noted
#define FC_JAIL_RULE(name, argument, test, ...) FC_RULE_##name,
#include "jail/rule.def"
#undef FC_JAIL_RULE
} fc_jail_rule_t;

typedef struct fc_jail_call_t {
  const char *name;
  uint32_t number;
  fc_jail_rule_t rules[2];  // by fc_phase_t; ALONE has those of CALLING
} fc_jail_call_t;

extern const fc_jail_call_t fc_jail_calls[];
extern const size_t fc_jail_call_count;

#define FC_FILTER_MAX 640
typedef struct fc_filter_t {
  struct sock_filter code[FC_FILTER_MAX];
  uint16_t size;
} fc_filter_t;

// Makes a filter that allows what call.def allows in this phase.
void fc_filter_make(fc_phase_t phase, fc_filter_t *out_filter);
// Makes a filter for programs built with a sanitizer, whose library makes system calls at
// any time. It refuses only the calls that call.def refuses in both phases, and tests no
// argument.
void fc_filter_make_loose(fc_filter_t *out_filter);
// Makes the filter of --sandbox=basic (basic.def) for this process.
void fc_filter_make_basic(fc_filter_t *out_filter);
// Puts the filter on all threads of the process. FC_CODE_MODULE_UNAVAILABLE: the kernel
// refuses it, for example because a thread has a filter that the others lack.
fc_status_t fc_filter_install(const fc_filter_t *filter,
                              fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_JAIL_FILTER_H_
