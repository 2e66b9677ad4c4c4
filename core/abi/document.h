// SPDX-License-Identifier: Apache-2.0
//
// Reads JSON documents that people write about a module. There are two forms of them,
// which sidecar.c and names.c read; this file has what both share. Each type of member
// has its function. Every fault is FC_CODE_ABI_METADATA and names its place as
// a JSON pointer. One thread, at load.
#ifndef FARCALL_CORE_ABI_DOCUMENT_H_
#define FARCALL_CORE_ABI_DOCUMENT_H_

#include <yyjson.h>

#include "abi/names.h"

// The form of the document, as its member "abi" names it.
typedef enum fc_doc_abi_t {
  FC_DOC_ABI_UNSAID,
  FC_DOC_ABI_MEMREF,  // the types of a native module
  FC_DOC_ABI_MODULE,  // names for what the module says about itself
} fc_doc_abi_t;

typedef struct fc_doc_t {
  yyjson_doc *json;  // fc_doc_open made it, yyjson_doc_free frees it
  fc_doc_abi_t abi;
  fc_str_t so_sha256;  // 64 hex digits, or empty
  fc_error_t *err;
  // The place that the reader has reached, for messages.
  const char *whose;      // written before the place; NULL: nothing
  int64_t function;       // its place in "functions", -1: in none
  const char *functions;  // the name of the list in use; NULL: "functions"
  const char *list;       // "args" or "results", NULL: in neither
  size_t item;
} fc_doc_t;

// Returns the functions by which yyjson allocates memory. A document that yyjson makes
// keeps the pointer `allocator`.
yyjson_alc fc_doc_alc(fc_allocator_t *allocator);
// Parses the text and reads its head into `doc`. The caller sets only `whose` before.
// `allocator` must live as long as doc->json; nothing points into `text` afterwards. On
// failure there is nothing to free.
fc_status_t fc_doc_open(fc_doc_t *doc, fc_str_t text, fc_allocator_t *allocator,
                        fc_error_t *err) FC_MUST_CHECK;

// Fails because of member `key` of the object being read; with "" as `key`,
// because of the whole object.
FC_PRINTF(3, 4)
fc_status_t fc_doc_fault(const fc_doc_t *doc, const char *key,
                         const char *format, ...);

// A name of a document as error messages show it: escaped, at most 64 bytes.
typedef struct fc_shown_t {
  char text[80];
} fc_shown_t;
fc_shown_t fc_doc_show(fc_str_t name);

static inline fc_str_t fc_doc_text_of(yyjson_val *value) {
  return fc_str_make(yyjson_get_str(value), yyjson_get_len(value));
}
// fc_doc_text, fc_doc_bool, fc_doc_size and fc_doc_choice each read one member. If the
// member is absent, *out stays as it is.
fc_status_t fc_doc_text(const fc_doc_t *doc, yyjson_val *object,
                        const char *key, fc_str_t *out) FC_MUST_CHECK;
fc_status_t fc_doc_bool(const fc_doc_t *doc, yyjson_val *object,
                        const char *key, bool *out) FC_MUST_CHECK;
fc_status_t fc_doc_size(const fc_doc_t *doc, yyjson_val *object,
                        const char *key, uint64_t *out) FC_MUST_CHECK;
// Reads one of `names`; its place in the table goes to *out.
fc_status_t fc_doc_choice(const fc_doc_t *doc, yyjson_val *object,
                          const char *key, const char *const *names,
                          unsigned count, unsigned *out) FC_MUST_CHECK;
// Finds the array `key`, NULL when absent. Fails when it has more than `limit`
// elements.
fc_status_t fc_doc_array(const fc_doc_t *doc, yyjson_val *object,
                         const char *key, size_t limit,
                         yyjson_val **out) FC_MUST_CHECK;
// Reads one entry of "dims" (a size, a name or null) for dim `index`. `have` is the dim
// that the type has without the entry. *out becomes the new dim; null leaves it
// unchanged. Fails when the dim has a size already and the entry is a name or another
// size.
fc_status_t fc_doc_dim(const fc_doc_t *doc, yyjson_val *entry, int index,
                       int64_t have, fc_builder_t *builder,
                       int64_t *out) FC_MUST_CHECK;

// Reads the types of a function from the members "arguments" and "results" of `object`,
// which have the same form as in a signature. Each leaf is one value of the flat call:
// the value that its "raw_index" says, else the next one.
fc_status_t fc_doc_signature(const fc_doc_t *doc, yyjson_val *object,
                             fc_builder_t *builder) FC_MUST_CHECK;

// Reads member "show", which says how results are shown to people, into an attribute of
// the signature. doc->json must be set.
fc_status_t fc_doc_showing(const fc_doc_t *doc, yyjson_val *object,
                           fc_builder_t *builder) FC_MUST_CHECK;

// Reads member "state", which names the arguments that stay from call to call. If an
// entry does not fit its argument, fc_signature_build fails.
fc_status_t fc_doc_state(const fc_doc_t *doc, yyjson_val *object,
                         fc_builder_t *builder) FC_MUST_CHECK;

// Compares `wanted`, the SHA-256 that a document names for its module, with `actual`,
// which is in lower case. An empty `wanted` matches any. The error has no pointer.
fc_status_t fc_doc_check_hash(fc_str_t wanted, const char *actual,
                              fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_ABI_DOCUMENT_H_
