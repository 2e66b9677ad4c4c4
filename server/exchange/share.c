// SPDX-License-Identifier: Apache-2.0
//
// ADMIT: how many calls one client may have, from their heads until they have ended
// (--client-calls).
#include "exchange/exchange.h"

fc_status_t fc_exchange_count_call(fc_exchange_t *x, fc_error_t *err) {
  fc_owners_t *calls = &x->server->client_calls;
  const uint32_t most = x->policy->client_calls;
  if (!most) return FC_OK;
  if (fc_owners_held(calls, &x->job.caller) >= most) {
    return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                   "%u calls of this client wait or run, the limit", most);
  }
  if (!fc_owners_count(calls, &x->job.caller, &x->job.count)) {
    return fc_fail_memory(err);
  }
  return FC_OK;
}

void fc_exchange_uncount_call(fc_exchange_t *x) {
  fc_owners_uncount(&x->server->client_calls, &x->job.count);
}
