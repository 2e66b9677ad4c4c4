// SPDX-License-Identifier: Apache-2.0
//
// Values that stay when a call ends. They lie in places of a file without a name, the
// slab; a desk, which travels with a call, says which there are. Whoever owns the values
// (a session of the server, fc_state_t) fills in the desk before a call, and reads it
// afterwards. The worker that runs the call maps what the call names, and marks on the
// desk what it changed. A desk has no pointer, and the worker may be another process, so
// the owner checks each row that is marked: fc_store_verify, then whether the place is one
// that it granted.
//
// A place is used once: places are taken from the grant of a call upwards. So a mapping
// that a worker keeps never shows other values than it did, and pages of a new place are
// zeros. A value ends where a page does, but for its alignment, and is mapped so that no
// page follows.
#ifndef FARCALL_STATE_STORE_H_
#define FARCALL_STATE_STORE_H_

#include "abi/state.h"
#include "base/stop.h"
#include "farcall/value.h"

#define FC_STORE_NAME_MAX FC_STATE_NAME_SIZE_MAX  // fc_state_name_is_valid
#define FC_STORE_ROWS 64                          // values of one desk
#define FC_STORE_PAGE ((uint64_t)4096)            // on whatever system
#define FC_STORE_ALIGNMENT ((uint64_t)64)
#define FC_STORE_SIZE_MAX ((uint64_t)1 << 60)  // of the slab

// fc_store_row_t.flags, by the owner
enum {
  // Another desk has the place, too: the worker copies the value before a function may
  // write to it.
  FC_STORE_SHARED = 1 << 0,
};
// fc_store_row_t.change, by the worker; 0 when the call begins
enum {
  // The bytes may be others now. The row is as it was.
  FC_STORE_WRITTEN = 1 << 0,
  // The row is another now, or was added: it has a new place, of the call's grant.
  FC_STORE_NEW = 1 << 1,
};

// A value. Zero behind what it has.
typedef struct fc_store_row_t {
  char name[FC_STORE_NAME_MAX + 1];
  uint8_t name_size;
  uint8_t kind;   // fc_value_kind_t: SCALAR, TENSOR, BYTES or LIST
  uint8_t dtype;  // NONE for BYTES and LIST, whose bytes are its parts
  uint8_t rank;   // of a TENSOR
  uint8_t flags;
  uint8_t change;
  uint8_t reserved[2];
  int64_t dims[FC_RANK_MAX];
  uint64_t offset;  // of its first byte in the slab; 0 if it has none
  uint64_t size;    // in bytes
} fc_store_row_t;

typedef struct fc_store_desk_t {
  uint32_t count;  // rows; the worker may add some
  uint32_t code;   // fc_code_t of the error when `budget` does not suffice
  // Where new places may lie: whole pages. The worker moves `next` up.
  uint64_t next, end;
  uint64_t budget;  // bytes that new places may take, in whole pages
  // Beside these: as much as a shared row has, for what comes in its place, in all of them
  // `copies` bytes.
  uint64_t copies;
  uint64_t step;  // of the session, for messages
  fc_store_row_t rows[FC_STORE_ROWS];
} fc_store_desk_t;

// ---------------------------------------------------------------------------
// Both sides. Pure functions, any thread.

// Bytes of the pages that a value of `size` bytes takes.
static inline uint64_t fc_store_pages(uint64_t size) {
  return (size + FC_STORE_PAGE - 1) & ~(FC_STORE_PAGE - 1);
}
// The first page of a place, and where its value lies that begins on page `page`.
static inline uint64_t fc_store_page_of(uint64_t offset) {
  return offset & ~(FC_STORE_PAGE - 1);
}
uint64_t fc_store_offset(uint64_t page, uint64_t size);

// Checks a row by itself: its name, its type, that its bytes are as many as its dims say,
// and that it lies within the slab as a place does. FC_CODE_INTERNAL says what is wrong.
fc_status_t fc_store_verify(const fc_store_row_t *row, fc_error_t *err);
// True for a type that has as many bytes as the row says.
bool fc_store_has_size(const fc_store_row_t *row);
// NULL when no row has the name.
fc_store_row_t *fc_store_find(fc_store_desk_t *desk, fc_str_t name);
static inline fc_str_t fc_store_name(const fc_store_row_t *row) {
  return fc_str_make(row->name, row->name_size);
}
// Sets name and type of a row from a tensor, scalar or byte string, and its size; it has no
// place yet. A list is described as the bytes of its parts are, and its row's kind is set
// afterwards. FC_CODE_UNSUPPORTED_TYPE when the value is none of these.
fc_status_t fc_store_describe(fc_str_t name, const fc_value_t *value,
                              fc_store_row_t *out_row, fc_error_t *err);
// The type as the signature's JSON has it: {"kind":"tensor","dtype":"f32","shape":[2]}.
fc_status_t fc_store_print_type(const fc_store_row_t *row, fc_sink_t *sink,
                                fc_error_t *err);

// {"ref":NAME,"type":…}
fc_status_t fc_store_print(const fc_store_row_t *row, fc_sink_t *sink,
                           fc_error_t *err);

// Makes a slab, sealed: it can neither grow nor shrink. FC_CODE_OUT_OF_MEMORY says what the
// system lacks; FC_CODE_INTERNAL where its pages are larger.
fc_status_t fc_store_make_slab(int *out_file, fc_error_t *err);
// Gives `size` bytes of whole pages from `page` on back to the system. They read as zeros
// from then on.
void fc_store_punch(int file, uint64_t page, uint64_t size);

// ---------------------------------------------------------------------------
// The worker. One thread.

#define FC_STORE_VIEWS 192  // places that a worker keeps mapped

typedef struct fc_store_view_t {
  uint64_t page;   // in the slab
  uint64_t size;   // of the pages; 0: unused
  uint8_t *pages;  // an unmapped page follows
  uint64_t used;   // the call that used it last
} fc_store_view_t;

typedef struct fc_store_t {
  int file;               // the slab, borrowed; -1: none
  fc_store_desk_t *desk;  // of the call that runs; NULL: none
  uint64_t call;          // counts them
  uint64_t copied;        // bytes of values that were copied, for tests
  fc_store_view_t views[FC_STORE_VIEWS];
} fc_store_t;

void fc_store_init(fc_store_t *store);
void fc_store_deinit(fc_store_t *store);  // a zeroed store is allowed
// Uses this slab from now on; the store borrows it.
void fc_store_open(fc_store_t *store, int file);
// A call begins, and ends. The desk stays the owner's; it is written until the end.
void fc_store_begin(fc_store_t *store, fc_store_desk_t *desk);
void fc_store_end(fc_store_t *store);

// Maps the value of a row: FC_STORE_ALIGNMENT-aligned, NULL if it has no bytes. Stays
// mapped until the call ends. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_store_map(fc_store_t *store, const fc_store_row_t *row,
                         void **out_data, fc_error_t *err);
// Gives a row of `row->size` bytes a new place of the desk's grant, all zeros, and maps it.
// desk->code when the budget does not suffice.
fc_status_t fc_store_place(fc_store_t *store, fc_store_row_t *row,
                           void **out_data, fc_error_t *err);
// A row of the desk may be written from now on: copies its value to a new place if it is
// shared, and marks it. `stop` NULL: nothing ends the copying.
fc_status_t fc_store_own(fc_store_t *store, fc_store_row_t *row,
                         const fc_stop_t *stop, void **out_data,
                         fc_error_t *err);
// Puts a row that was placed onto the desk, in place of the one of that name or behind
// the others, and marks it. FC_CODE_TOO_MANY_REQUESTS when the desk has FC_STORE_ROWS.
fc_status_t fc_store_put(fc_store_t *store, const fc_store_row_t *row,
                         fc_error_t *err);
// True for bytes of a mapped value behind which no more of it lie.
bool fc_store_ends(const fc_store_t *store, const void *memory, size_t size);
// True for memory in a value that is mapped.
bool fc_store_holds(const fc_store_t *store, const void *memory);

#endif  // FARCALL_STATE_STORE_H_
