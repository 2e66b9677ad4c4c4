// SPDX-License-Identifier: Apache-2.0
//
// Builds signatures from a line of text, so that a table row can show its types next to
// its values. For tests only: the text is trusted.
//
//   signature  params "->" params         params  empty or param, param, …
//   param      [out|inout|scratch] [name:] type   a name can be used as a keyword
//   type       f32                        scalar of any dtype
//              tensor<2x?xNxf32> tensor<*xf32> tensor<?x_>   N a named dim,
//                                         * unranked, _ no element type
//              vector<4xf32> str bytes chars null any opaque
//              [T] (T, T) {a: T, b: T}    list, tuple, dict
//              ref<2x?xT>                 array of references
//   @3         after a type: its raw_index; a parameter that has one below has
//              no raw index of its own
//   root       before the arguments: they are one tree (SIP)
//   inferred   before all: its source is the bytecode
//   v1 TEXT    instead of all that: iree.abi metadata
//   sip TEXT [RAW]   SIP metadata and its raw companion
#ifndef FARCALL_TESTS_HELPERS_TYPES_H_
#define FARCALL_TESTS_HELPERS_TYPES_H_

#include "farcall/type.h"

// Fails the running test when the text is wrong. Free with
// fc_signature_destroy.
fc_signature_t *fc_test_signature(fc_allocator_t allocator, const char *text);
// The same with the caller's builder, which can still be used afterwards.
fc_signature_t *fc_test_build(fc_builder_t *builder, const char *text);
// The signature, printed as a line. Valid until the next call.
const char *fc_test_signature_text(const fc_signature_t *signature);

#endif  // FARCALL_TESTS_HELPERS_TYPES_H_
