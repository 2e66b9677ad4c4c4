// SPDX-License-Identifier: Apache-2.0
//
// A document about every module, or about all functions of one, written in parts, each in
// a turn of the loop, so that ten thousand of them keep nobody waiting. The modules are
// listed with the first part. A module that is replaced later is written as it is when
// its turn comes, and one that is gone by then is left out. All of an entry comes from
// one generation and one module, also if it takes several parts. Loop thread.
//
// To add one: a fc_parts_form_t, and a row of route.def whose document is made by
// fc_parts_create. It goes through modules and functions alone; exchange/draft.c sends it.
#ifndef FARCALL_SERVER_DIALECT_PARTS_H_
#define FARCALL_SERVER_DIALECT_PARTS_H_

#include "dialect/dialect.h"

// What a document consists of: `begin`, entries of modules and of functions, `end`. The
// modules may be gone through more than once: /metrics has lines of modules under each of
// many names, and OpenAPI says in one place what types there are, in another who has them.
typedef struct fc_parts_form_t {
  bool with_draining;  // generations that drain have entries, too
  // NULL: the document begins with nothing.
  fc_status_t (*begin)(const fc_server_t *server, fc_sink_t *sink,
                       fc_error_t *err);
  // Called before each pass through the modules and after the last one; parts->pass
  // counts those that have ended. Sets *out_more if another pass follows. NULL: there
  // is one pass.
  fc_status_t (*pass)(fc_parts_t *parts, bool *out_more, fc_sink_t *sink,
                      fc_error_t *err);
  // Writes the entry of a module. If it calls fc_parts_hold, the entries of the
  // module's functions and `module_end` follow. NULL: only functions have entries,
  // those of every module whose signatures are known. Forms whose entries are
  // elements of JSON begin each with fc_parts_comma.
  fc_status_t (*module)(fc_parts_t *parts, const fc_generation_t *generation,
                        fc_sink_t *sink, fc_error_t *err);
  // Writes the entry of function `index` of parts->module.
  fc_status_t (*function)(fc_parts_t *parts, const fc_generation_t *generation,
                          size_t index, fc_sink_t *sink, fc_error_t *err);
  // Ends the entry of a module that was held. NULL: entries of functions stand beside
  // those of modules, not within.
  const char *module_end;
  // Writes what follows the functions of a document about one module. NULL: nothing.
  fc_status_t (*last)(const fc_server_t *server,
                      const fc_generation_t *generation, fc_sink_t *sink,
                      fc_error_t *err);
  const char *end;
} fc_parts_form_t;

typedef struct fc_parts_key_t {
  uint32_t index;  // of the generation
  uint32_t size;   // of its key
  uint64_t serial;
  size_t text;  // where its key begins
  bool current;
  // The form's own, at first 0: what an earlier pass has written of.
  uint64_t mark;
  const fc_module_t *module;
} fc_parts_key_t;

struct fc_parts_t {
  const fc_server_t *server;
  const fc_parts_form_t *form;
  uint32_t flags;    // what the request asks for; the form's own
  fc_owner_t owner;  // whose memory the document takes
  bool any;    // an entry was written; of a held module: one of a function
  bool alone;  // of one module, which is held to the end
  uint8_t step;
  uint32_t at;  // the key whose entry is next; the one before is being written
  uint32_t pass;   // passes through the modules that have ended
  uint32_t shown;  // the form's own: modules that have lines in this pass
  // The form's own: the sum of the numbers of modules without lines; of conditions there
  // is one for each severity.
  uint64_t rest[2];
  uint32_t count;
  fc_generation_t *held;  // its functions are being written; NULL: none
  fc_module_t *module;    // retained: `held` may get another one, or lose it
  size_t function;
  // A block of the owner's: `count` keys, and behind them their texts. FC_BLOCK_NONE:
  // nothing was listed yet.
  uint32_t list;
  fc_parts_key_t *keys;
  const char *texts;
};

// `form` is borrowed. The caller sets `owner` before the first part is written.
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_parts_create(const fc_server_t *server,
                            const fc_parts_form_t *form, uint32_t flags,
                            fc_parts_t **out_parts,
                            fc_error_t *err) FC_MUST_CHECK;
// Makes the rest of a document about one module: the entries of the module's functions,
// then what the form's `last` and `end` say. The caller has written what stands before
// the functions, holds the generation, and goes on holding it; the generation has a
// module, which is retained until the parts are destroyed.
fc_status_t fc_parts_create_of(const fc_server_t *server,
                               const fc_parts_form_t *form, uint32_t flags,
                               const fc_generation_t *generation,
                               fc_parts_t **out_parts,
                               fc_error_t *err) FC_MUST_CHECK;
void fc_parts_destroy(fc_parts_t *parts);

// Writes a part. A part ends with the entry that brings it to FC_LIMIT_PART bytes,
// after FC_LIMIT_PART_LOOKS looks at modules and functions, or with the document. The
// first part is empty if more modules than that are listed.
// *out_more: the document has further parts.
fc_status_t fc_parts_write(fc_parts_t *parts, fc_block_sink_t *out,
                           bool *out_more, fc_error_t *err) FC_MUST_CHECK;

// For forms: writes a comma, unless this is the first entry.
fc_status_t fc_parts_comma(fc_parts_t *parts, fc_sink_t *sink, fc_error_t *err);
// For a form's `module`: the entries of the module's functions are to follow. The
// generation must have a module and be current, because one that drains may be about
// to be removed.
void fc_parts_hold(fc_parts_t *parts, const fc_generation_t *generation);

#endif  // FARCALL_SERVER_DIALECT_PARTS_H_
