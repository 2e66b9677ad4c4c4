// SPDX-License-Identifier: Apache-2.0
//
// A document about every module, written in parts, a turn of the loop for each, so
// that ten thousand modules keep nobody waiting. What it is about is listed when it
// begins. A module that is replaced meanwhile is written as it is by then, one that
// is unloaded is left out, and each is written whole, by one generation, of its module
// as it was when its entry began. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_PARTS_H_
#define FARCALL_SERVER_DIALECT_PARTS_H_

#include "dialect/dialect.h"

// What a document consists of: its begin, an entry for each module or function, or for
// each module and within it one for each function, what was put aside, its end. The
// modules may be gone through more than once: /metrics has a line of each under every
// name.
typedef struct fc_parts_form_t {
  // Entries of generations that drain, too.
  bool with_draining;
  fc_status_t (*begin)(const fc_server_t *server, fc_sink_t *sink,
                       fc_error_t *err);
  // Called before the modules are gone through, and after; parts->pass says how often
  // they were. *out_more: they are gone through, once more. NULL: they are, once.
  fc_status_t (*pass)(fc_parts_t *parts, bool *out_more, fc_sink_t *sink,
                      fc_error_t *err);
  // Writes the entry of a module. If it calls fc_parts_hold, entries of its functions
  // and `module_end` follow. NULL: there are entries of functions alone, of every
  // module. Each begins with fc_parts_comma.
  fc_status_t (*module)(fc_parts_t *parts, const fc_generation_t *generation,
                        fc_sink_t *sink, fc_error_t *err);
  // Of a function of parts->module.
  fc_status_t (*function)(fc_parts_t *parts, const fc_generation_t *generation,
                          size_t index, fc_sink_t *sink, fc_error_t *err);
  // NULL: nothing, and functions have entries beside those of modules, not within.
  const char *module_end;
  // Stands between the entries and what they put aside; NULL: nothing is.
  fc_status_t (*middle)(const fc_server_t *server, fc_sink_t *sink,
                        fc_error_t *err);
  const char *end;
} fc_parts_form_t;

typedef struct fc_parts_key_t {
  uint32_t index;  // of the generation
  uint32_t size;   // of its key
  uint64_t serial;
  size_t text;  // where its key begins
  bool current;
} fc_parts_key_t;

struct fc_parts_t {
  const fc_server_t *server;
  const fc_parts_form_t *form;
  uint32_t flags;    // what the request asks for; the form's own
  fc_owner_t owner;  // whose memory the document takes
  bool any;          // there is an entry
  uint8_t step;
  uint32_t at;     // the key whose entry is next
  uint32_t pass;   // how often the modules were gone through
  uint32_t shown;  // the form's own: modules that were shown in this pass
  uint64_t rest;   // and the sum of those that were not
  uint32_t count;
  fc_generation_t *held;  // its functions are being written; NULL: none
  fc_module_t *module;    // retained: `held` may get another one, or lose it
  size_t function;
  fc_block_sink_t
      aside;           // what entries put aside; its count is 0 if they do not
  uint64_t put_aside;  // bytes of it, when it is complete
  uint32_t piece;      // of it, that is copied next
  uint64_t copied;     // of that piece
  fc_parts_key_t
      *keys;  // `count`, and behind them their texts; NULL: not listed yet
  const char *texts;
};

// `form` is borrowed. What the document is about is listed when its first part is
// written, and `owner` set by then. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_parts_create(const fc_server_t *server,
                            const fc_parts_form_t *form, uint32_t flags,
                            fc_parts_t **out_parts,
                            fc_error_t *err) FC_MUST_CHECK;
void fc_parts_destroy(fc_parts_t *parts);

// Writes at least FC_LIMIT_PART bytes, unless it ends, and one entry more at most.
// *out_more: call it again.
fc_status_t fc_parts_write(fc_parts_t *parts, fc_block_sink_t *out,
                           bool *out_more, fc_error_t *err) FC_MUST_CHECK;

// For forms: writes a comma, unless this is the first entry.
fc_status_t fc_parts_comma(fc_parts_t *parts, fc_sink_t *sink, fc_error_t *err);
// For `module` of forms: its functions have entries of their own. The generation has a
// module and is current: one that drains cannot be held any more.
void fc_parts_hold(fc_parts_t *parts, const fc_generation_t *generation);

#endif  // FARCALL_SERVER_DIALECT_PARTS_H_
