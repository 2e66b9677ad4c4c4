// SPDX-License-Identifier: Apache-2.0
//
// Reads names that are added to what a module says about itself. A `model.farcall.json`
// whose "abi" is "module" names arguments, and dims that must be equal in every call. The
// document is read when a module is opened, then applied to each signature as it is
// built, wherever the signature's types came from. Its list "sizes" names the functions
// that sizes.h makes. Any thread; the format is in docs/abi.md.
#ifndef FARCALL_CORE_ABI_NAMES_H_
#define FARCALL_CORE_ABI_NAMES_H_

#include "farcall/type.h"

#define FC_SIDECAR_SIZE_MAX (16U << 20)  // bytes of JSON
#define FC_SIDECAR_FUNCTIONS_MAX 4096
#define FC_SIDECAR_PARAMS_MAX 1024  // arguments, and results, of one function

// The lists that a document may have.
typedef enum fc_names_list_t {
  FC_NAMES_FUNCTIONS,
  FC_NAMES_SIZES,
} fc_names_list_t;

typedef struct fc_name_entry_t {
  fc_str_t function;
  void *value;    // its value in the document
  size_t number;  // its place in its list
  fc_names_list_t list;
  bool used;
} fc_name_entry_t;

typedef struct fc_names_t {
  fc_allocator_t allocator;
  fc_str_t so_sha256;        // 64 hex digits, or empty
  fc_name_entry_t *entries;  // sorted by function, number
  size_t count;
  void *document;  // owns the texts
} fc_names_t;

// Reads a document of this form. For a document of the other form (types for a native
// module) it returns FC_NOT_FOUND, and `err` stays as it was. So it does for a document
// that does not say its form, unless `unsaid`: then the document is read as this form.
// FC_CODE_ABI_METADATA names the place of a fault as a JSON pointer. Nothing points into
// `json` afterwards.
fc_status_t fc_names_parse(fc_str_t json, bool unsaid, fc_allocator_t allocator,
                           fc_names_t **out_names,
                           fc_error_t *err) FC_MUST_CHECK;
// Reads only one list, from a document of either form. FC_NOT_FOUND when there is no
// such list; `err` stays as it was.
fc_status_t fc_names_parse_list(fc_str_t json, fc_names_list_t which,
                                fc_allocator_t allocator,
                                fc_names_t **out_names,
                                fc_error_t *err) FC_MUST_CHECK;
void fc_names_destroy(fc_names_t *names);  // NULL is allowed

// Gives the builder the types and the "doc" of `function` from the document's list of
// functions. FC_NOT_FOUND when the list has no types for it; `err` stays as it was.
// Texts are copied.
fc_status_t fc_names_describe(const fc_names_t *names, fc_str_t function,
                              fc_builder_t *builder,
                              fc_error_t *err) FC_MUST_CHECK;

// Applies what the document says about `function` to the builder, which still has the
// nodes, arguments and results of `signature` and will build it again. *out_named tells
// whether the document says anything; it is set on failure, too. FC_CODE_ABI_METADATA
// when the document does not fit the signature.
fc_status_t fc_names_apply(fc_names_t *names, fc_str_t function,
                           const fc_signature_t *signature,
                           fc_builder_t *builder, bool *out_named,
                           fc_error_t *err) FC_MUST_CHECK;
// Checks that fc_names_apply was called for every function that the document names.
// FC_CODE_ABI_METADATA if not.
fc_status_t fc_names_finish(const fc_names_t *names,
                            fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_ABI_NAMES_H_
