// SPDX-License-Identifier: Apache-2.0
//
// The values of --otlp and --trace-sample. --otlp names the collector to which spans are
// exported. --trace-sample is the share of requests without a traceparent that are
// sampled.
#ifndef FARCALL_SERVER_CONFIG_COLLECTOR_H_
#define FARCALL_SERVER_CONFIG_COLLECTOR_H_

#include "farcall/base.h"

typedef struct fc_collector_t {
  char host[256];  // name or address; "": there is no collector
  char port[8];
  char path[256];  // ends with /v1/traces
  bool literal;    // the host is an IPv6 address
} fc_collector_t;

// Reads http://HOST[:PORT][/PREFIX]; "" means no collector. FC_CODE_NOT_ACCEPTABLE: the
// text has another form.
fc_status_t fc_collector_parse(fc_str_t url, fc_collector_t *out_collector,
                               fc_error_t *err) FC_MUST_CHECK;

#define FC_RATIO_ALL 1000000000u

// Reads a decimal number from 0 to 1, in units of 1 / FC_RATIO_ALL.
// FC_CODE_NOT_ACCEPTABLE: the text is no such number, or has more than nine decimals.
fc_status_t fc_ratio_parse(fc_str_t text, uint32_t *out_ratio,
                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_CONFIG_COLLECTOR_H_
