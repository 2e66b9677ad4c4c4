// SPDX-License-Identifier: Apache-2.0
//
// A document about all modules, or about all functions of one, is written in parts, each
// in one turn of the loop, so that other clients do not wait for ten thousand entries.
// The modules are listed with the first part. A module that is replaced later is written
// as it is when its entry is reached; a removed module is left out. All of one entry
// comes from one generation and one module, even if the entry takes several parts. Loop
// thread.
//
// A new document needs an fc_parts_form_t, and a row of route.def whose document calls
// fc_parts_create. This file iterates over modules and functions; exchange/draft.c sends
// the parts.
#ifndef FARCALL_SERVER_DIALECT_PARTS_H_
#define FARCALL_SERVER_DIALECT_PARTS_H_

#include "dialect/dialect.h"

// The contents of a document: `begin`, entries of modules and of functions, `end`. There
// may be several passes over the modules: /metrics has lines of every module under each
// of many names, and OpenAPI has the types in one place and the functions in another.
typedef struct fc_parts_form_t {
  bool with_draining;  // generations that drain have entries, too
  // NULL: nothing is written at the beginning.
  fc_status_t (*begin)(const fc_server_t *server, fc_sink_t *sink,
                       fc_error_t *err);
  // Called before each pass over the modules and after the last one; parts->pass counts
  // the finished passes. Sets *out_more if another pass follows. NULL: there is one pass.
  fc_status_t (*pass)(fc_parts_t *parts, bool *out_more, fc_sink_t *sink,
                      fc_error_t *err);
  // Writes the entry of a module. If it calls fc_parts_hold, the entries of the module's
  // functions and `module_end` follow. NULL: only functions have entries, namely those of
  // every module with known signatures. Forms whose entries are JSON elements begin each
  // entry with fc_parts_comma.
  fc_status_t (*module)(fc_parts_t *parts, const fc_generation_t *generation,
                        fc_sink_t *sink, fc_error_t *err);
  // Writes the entry of function `index` of parts->module.
  fc_status_t (*function)(fc_parts_t *parts, const fc_generation_t *generation,
                          size_t index, fc_sink_t *sink, fc_error_t *err);
  // Ends the entry of a module that was held. NULL: entries of functions are not inside
  // entries of modules.
  const char *module_end;
  // Writes the text after the functions of a document about one module. NULL: nothing.
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
  // For the form's use, at first 0: marks keys that an earlier pass has written.
  uint64_t mark;
  const fc_module_t *module;
} fc_parts_key_t;

struct fc_parts_t {
  const fc_server_t *server;
  const fc_parts_form_t *form;
  uint32_t flags;    // what the request asks for; the form's own
  fc_owner_t owner;  // whose memory the document takes
  // An entry was written; inside a held module: an entry of a function.
  bool any;
  bool alone;  // the document is about one module, which is held to the end
  uint8_t step;
  // The key whose entry is next; the entry before it is being written.
  uint32_t at;
  uint32_t pass;   // passes through the modules that have ended
  uint32_t shown;  // the form's own: modules that have lines in this pass
  // For the form's use: the sums of the numbers of modules without lines. For conditions,
  // one sum for each severity.
  uint64_t rest[2];
  uint32_t count;
  fc_generation_t *held;  // its functions are being written; NULL: none
  fc_module_t *module;    // retained: `held` may get another one, or lose it
  size_t function;
  // A block of the owner: `count` keys, followed by their texts. FC_BLOCK_NONE: nothing
  // was listed yet.
  uint32_t list;
  fc_parts_key_t *keys;
  const char *texts;
};

// Borrows `form`. The caller sets `owner` before the first part is written.
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_parts_create(const fc_server_t *server,
                            const fc_parts_form_t *form, uint32_t flags,
                            fc_parts_t **out_parts,
                            fc_error_t *err) FC_MUST_CHECK;
// Makes the rest of a document about one module: the entries of its functions, then the
// form's `last` and `end`. The caller has written the text before the functions. The
// caller must hold the generation until the parts are destroyed. The generation must have
// a module, which is retained until then.
fc_status_t fc_parts_create_of(const fc_server_t *server,
                               const fc_parts_form_t *form, uint32_t flags,
                               const fc_generation_t *generation,
                               fc_parts_t **out_parts,
                               fc_error_t *err) FC_MUST_CHECK;
void fc_parts_destroy(fc_parts_t *parts);

// Writes a part. A part ends with the entry that brings it to FC_LIMIT_PART bytes, after
// FC_LIMIT_PART_LOOKS looks at modules and functions, or at the document's end. If more
// than FC_LIMIT_PART_LOOKS modules are listed, the first part is empty. *out_more: the
// document has further parts.
fc_status_t fc_parts_write(fc_parts_t *parts, fc_block_sink_t *out,
                           bool *out_more, fc_error_t *err) FC_MUST_CHECK;

// For forms: writes a comma, except before the first entry.
fc_status_t fc_parts_comma(fc_parts_t *parts, fc_sink_t *sink, fc_error_t *err);
// For a form's `module`: makes the entries of the module's functions follow. The
// generation must have a module and be current, because a draining one may be removed
// soon.
void fc_parts_hold(fc_parts_t *parts, const fc_generation_t *generation);

#endif  // FARCALL_SERVER_DIALECT_PARTS_H_
