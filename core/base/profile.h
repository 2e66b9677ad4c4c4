// SPDX-License-Identifier: Apache-2.0
//
// Records where the time of one call goes: a tree of rows, one for each function,
// import and dispatch, below the row of its caller. Filled in on the thread of the
// call, between fc_profile_begin and fc_profile_end. The tree never grows beyond its
// rows: a place that finds no row is counted, and its time is added to its caller's.
#ifndef FARCALL_CORE_BASE_PROFILE_H_
#define FARCALL_CORE_BASE_PROFILE_H_

#include "farcall/base.h"

#define FC_PROFILE_ROWS 256
#define FC_PROFILE_NAME 96     // bytes of a name that are kept
#define FC_PROFILE_DEPTH 8448  // of nested open places; bytecode has 8192
#define FC_PROFILE_SPANS 64    // dispatches whose times are kept one by one

typedef enum fc_profile_kind_t {
  FC_PROFILE_CALL,  // the whole call: only row 0
  FC_PROFILE_FUNCTION,
  FC_PROFILE_IMPORT,
  FC_PROFILE_DISPATCH,
  FC_PROFILE_KIND_COUNT
} fc_profile_kind_t;

// A place that can be entered. Two places are the same if kind, key, index and grid are.
typedef struct fc_profile_place_t {
  fc_profile_kind_t kind;
  const void *key;
  uint32_t index;
  uint32_t grid[3];  // of a DISPATCH
  fc_str_t name;     // copied; "": the row is called :INDEX
  uint64_t bytes;    // the bytes of the buffers that a DISPATCH uses
} fc_profile_place_t;

// Rows are in the order in which they were first entered, so a parent comes before its
// children.
typedef struct fc_profile_row_t {
  fc_profile_kind_t kind;
  uint32_t index;
  const void *key;
  uint32_t grid[3];
  uint32_t parent;  // of row 0: 0
  uint32_t child;   // the newest child; 0: there is none
  uint32_t sibling;
  uint32_t name_size;
  uint64_t count;
  uint64_t self_ns;  // without the time of the rows below it
  uint64_t bytes;
  char name[FC_PROFILE_NAME];
} fc_profile_row_t;

// One dispatch. Its time is not in any other span.
typedef struct fc_profile_span_t {
  uint32_t row;
  uint64_t began_ns;  // since the call began
  uint64_t took_ns;
} fc_profile_span_t;

typedef struct fc_profile_t {
  fc_allocator_t allocator;
  uint64_t began_ns;
  uint64_t noted_ns;  // all time before this moment has been added to a row
  uint64_t dropped;   // places that were entered but found no row
  uint32_t current;   // the row to which time is added now
  uint32_t row_count;
  uint32_t span_count;
  fc_profile_span_t *open;  // of the dispatch that runs; NULL: there is none
  uint32_t depth;
  uint32_t beyond;  // places open beyond FC_PROFILE_DEPTH
  fc_profile_row_t rows[FC_PROFILE_ROWS];
  fc_profile_span_t spans[FC_PROFILE_SPANS];
  uint16_t stack[FC_PROFILE_DEPTH];  // the rows of the open places
} fc_profile_t;

// Allocates about 60 KiB. NULL when out of memory.
fc_profile_t *fc_profile_create(fc_allocator_t allocator);
void fc_profile_destroy(fc_profile_t *profile);  // NULL is allowed

// Forgets the previous call. `name` is the name of the new call.
void fc_profile_begin(fc_profile_t *profile, fc_str_t name);
// Enters a place. If the place is already open, directly or through other places, its
// row is used again: the places below it become the same row's children.
void fc_profile_enter(fc_profile_t *profile, const fc_profile_place_t *place);
// Leaves the place that was entered last.
void fc_profile_leave(fc_profile_t *profile);
// Leaves all open places. Afterwards the times of the rows add up to the call's time.
void fc_profile_end(fc_profile_t *profile);

// The time of each row, including the rows below it. Row 0 has the time of the call.
void fc_profile_totals(const fc_profile_t *profile,
                       uint64_t out_ns[FC_PROFILE_ROWS]);
const char *fc_profile_kind_name(fc_profile_kind_t kind);

#endif  // FARCALL_CORE_BASE_PROFILE_H_
