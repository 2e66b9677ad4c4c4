// SPDX-License-Identifier: Apache-2.0
//
// Values that stay when a call ends. They lie in a file without a name, the slab. A desk,
// which travels with a call, is the table of these values; each value has a row. The
// owner of the values (a session of the server, or fc_state_t) fills in the desk before a
// call, and reads it afterwards. The worker that runs the call maps the values that the
// call names, and marks the rows that it changed. A desk has no pointers, and the worker
// may be another process. So the owner checks each row that is marked: by
// fc_store_verify, and whether the value lies in pages that the owner granted.
//
// A place, the pages of one value, is used only once: each call takes new places from its
// grant, at rising addresses. So a mapping that a worker keeps never shows another value,
// and a new place is all zeros. The end of a value, rounded up for alignment, is the end
// of a page, and the next page is not accessible.
#ifndef FARCALL_STATE_STORE_H_
#define FARCALL_STATE_STORE_H_

#include "abi/state.h"
#include "base/stop.h"
#include "farcall/value.h"
#include "state/references.h"

#define FC_STORE_NAME_MAX FC_STATE_NAME_SIZE_MAX  // fc_state_name_is_valid
#define FC_STORE_ROWS 64                          // values of one desk
#define FC_STORE_PAGE ((uint64_t)4096)            // on whatever system
#define FC_STORE_ALIGNMENT ((uint64_t)64)
#define FC_STORE_SIZE_MAX ((uint64_t)1 << 60)  // of the slab

// fc_store_row_t.flags, set by the owner
enum {
  // Another desk has a row for the same place: the worker must copy the value before a
  // function may write to it.
  FC_STORE_SHARED = 1 << 0,
};
// fc_store_row_t.change, set by the worker; 0 when the call begins
enum {
  // The bytes may have changed. The row has not.
  FC_STORE_WRITTEN = 1 << 0,
  // The row is another now, or was added: it has a new place, of the call's grant.
  FC_STORE_NEW = 1 << 1,
};

// Why a call may keep no opaque references, or no more of them.
typedef enum fc_store_refusal_t {
  FC_STORE_REFUSES_NONE,
  FC_STORE_REFUSES_CHECKPOINT,  // the session is checkpointed
  FC_STORE_REFUSES_FRESH,       // the worker makes one call and ends
  FC_STORE_REFUSES_PRIVATE,     // each worker thread has its own instance
  FC_STORE_REFUSES_REPLACED,  // the session has gone over to another generation
  FC_STORE_REFUSES_MORE,      // the worker keeps FC_REFERENCES_MAX
  FC_STORE_REFUSES_SHARE,     // and FC_REFERENCES_SHARE for the client
  FC_STORE_REFUSES_MEMORY,    // there is no memory to count them
  FC_STORE_REFUSALS
} fc_store_refusal_t;

#define FC_STORE_TYPE_MAX 127  // bytes of the type of an OPAQUE

// A value. Zero behind what it has.
typedef struct fc_store_row_t {
  char name[FC_STORE_NAME_MAX + 1];
  uint8_t name_size;
  // fc_value_kind_t: SCALAR, TENSOR, BYTES, LIST or OPAQUE. server/state asks only for
  // OPAQUE, which has no bytes.
  uint8_t kind;
  uint8_t dtype;  // of a SCALAR or TENSOR; NONE for others
  uint8_t rank;   // of a TENSOR
  uint8_t flags;
  uint8_t change;
  uint8_t reserved[2];
  union {
    int64_t dims[FC_RANK_MAX];
    char type[FC_STORE_TYPE_MAX + 1];  // of an OPAQUE, which has no bytes
  };
  union {
    uint64_t offset;     // of its first byte in the slab; 0 if it has none
    uint64_t reference;  // number of an OPAQUE (references.h); 0: it is null
  };
  uint64_t size;  // in bytes; of a LIST, of its parts
} fc_store_row_t;

typedef struct fc_store_desk_t {
  uint32_t count;  // rows; the worker may add some
  uint32_t code;   // fc_code_t of the error when `budget` does not suffice
  // The grant: the pages in which new places may lie. The worker raises `next`.
  uint64_t next, end;
  uint64_t budget;  // bytes that new places may take, in whole pages
  // Beside these: as much as a shared row has, for what comes in its place, in all of them
  // `copies` bytes.
  uint64_t copies;
  uint64_t step;  // of the session, for messages
  // So many references may be kept, with the numbers from `reference` on, which the worker
  // moves up.
  uint64_t reference;
  uint32_t references;
  uint32_t refusal;  // fc_store_refusal_t, if these do not suffice
  fc_store_row_t rows[FC_STORE_ROWS];
} fc_store_desk_t;

// ---------------------------------------------------------------------------
// For the owner and the worker. Pure functions, any thread.

// Returns the size of the pages that a value of `size` bytes needs.
static inline uint64_t fc_store_pages(uint64_t size) {
  return (size + FC_STORE_PAGE - 1) & ~(FC_STORE_PAGE - 1);
}
// fc_store_page_of returns the first page of the place in which `offset` lies.
// fc_store_offset returns the offset of a value in the place that begins at `page`.
static inline uint64_t fc_store_page_of(uint64_t offset) {
  return offset & ~(FC_STORE_PAGE - 1);
}
uint64_t fc_store_offset(uint64_t page, uint64_t size);

// Checks a row: its name, its type, that its size is that of its type,
// and that its place lies in the slab. FC_CODE_INTERNAL says what is wrong.
fc_status_t fc_store_verify(const fc_store_row_t *row, fc_error_t *err);
// True when the row's size is that of its type.
bool fc_store_has_size(const fc_store_row_t *row);
// Finds a row by its name; NULL when no row has the name.
fc_store_row_t *fc_store_find(fc_store_desk_t *desk, fc_str_t name);
static inline fc_str_t fc_store_name(const fc_store_row_t *row) {
  return fc_str_make(row->name, row->name_size);
}
// Sets name and type of a row from a tensor, scalar or byte string, and its size; it has no
// place yet. A list is described as the bytes of its parts are, and its row's kind is set
// afterwards. An OPAQUE is described by its type alone. FC_CODE_UNSUPPORTED_TYPE when the
// value is none of these, or when the type of an OPAQUE is empty, longer than
// FC_STORE_TYPE_MAX or not printable.
fc_status_t fc_store_describe(fc_str_t name, const fc_value_t *value,
                              fc_store_row_t *out_row, fc_error_t *err);
// The type as the signature's JSON has it: {"kind":"tensor","dtype":"f32","shape":[2]}.
fc_status_t fc_store_print_type(const fc_store_row_t *row, fc_sink_t *sink,
                                fc_error_t *err);

// Writes {"ref":NAME,"type":…}.
fc_status_t fc_store_print(const fc_store_row_t *row, fc_sink_t *sink,
                           fc_error_t *err);

// Makes a sealed slab, which can neither grow nor shrink. FC_CODE_OUT_OF_MEMORY says what
// the system has no room for; FC_CODE_INTERNAL when its pages are larger than
// FC_STORE_PAGE.
fc_status_t fc_store_make_slab(int *out_file, fc_error_t *err);
// Gives the memory of `size` bytes, whole pages that begin at `page`, back to the system.
// From then on they read as zeros.
void fc_store_punch(int file, uint64_t page, uint64_t size);

// ---------------------------------------------------------------------------
// For the worker. One thread.

#define FC_STORE_VIEWS 192  // most places that a worker keeps mapped

typedef struct fc_store_view_t {
  uint64_t page;   // its offset in the slab
  uint64_t size;   // of the pages in bytes; 0: the view is unused
  uint8_t *pages;  // where they are mapped; an inaccessible page follows
  uint64_t used;   // number of the last call that used the view
} fc_store_view_t;

typedef struct fc_store_t {
  int file;                     // the slab, borrowed; -1: none
  fc_store_desk_t *desk;        // of the call that runs; NULL: none
  uint64_t call;                // counts them
  fc_references_t *references;  // of the call that runs; NULL: it can keep none
  uint64_t copied;              // bytes of values that were copied, for tests
  fc_store_view_t views[FC_STORE_VIEWS];
} fc_store_t;

void fc_store_init(fc_store_t *store);
void fc_store_deinit(fc_store_t *store);  // a zeroed store is allowed
// Makes the store use this slab from now on; the store borrows it.
void fc_store_open(fc_store_t *store, int file);
// Begin and end a call. The desk is borrowed until the call ends; the store writes to it.
void fc_store_begin(fc_store_t *store, fc_store_desk_t *desk);
void fc_store_end(fc_store_t *store);

// Maps the value of a row, FC_STORE_ALIGNMENT-aligned; *out_data is NULL if it has no
// bytes. The value stays mapped until the call ends. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_store_map(fc_store_t *store, const fc_store_row_t *row,
                         void **out_data, fc_error_t *err);
// Gives a row a new place for `row->size` bytes, all zeros, from the desk's grant, and
// maps it. Fails with desk->code when the budget is too small.
fc_status_t fc_store_place(fc_store_t *store, fc_store_row_t *row,
                           void **out_data, fc_error_t *err);
// Makes the value of a row of the desk writable: copies it to a new place if it is
// shared, and marks the row. `stop` may be NULL: then nothing ends the copying.
fc_status_t fc_store_own(fc_store_t *store, fc_store_row_t *row,
                         const fc_stop_t *stop, void **out_data,
                         fc_error_t *err);
// Puts a row that was placed onto the desk, in place of the one of that name or behind
// the others, and marks it. FC_CODE_TOO_MANY_REQUESTS when the desk has FC_STORE_ROWS.
fc_status_t fc_store_put(fc_store_t *store, const fc_store_row_t *row,
                         fc_error_t *err);
// Keeps an object under the next number of the desk's grant, for a row of kind OPAQUE; NULL
// for a null reference. The owner drops the number if the row does not come to stay.
// FC_CODE_UNSUPPORTED_TYPE, _TYPE_MISMATCH, _TOO_MANY_REQUESTS: it may not, and why.
fc_status_t fc_store_refer(fc_store_t *store, fc_store_row_t *row,
                           const fc_opaque_t *opaque, fc_error_t *err);
// Gives the object of an OPAQUE, which is not null. FC_CODE_INTERNAL: there is none.
fc_status_t fc_store_dereference(fc_store_t *store, const fc_store_row_t *row,
                                 fc_opaque_t *out, fc_error_t *err);
// True for bytes of a mapped value behind which no more of it lie.
bool fc_store_ends(const fc_store_t *store, const void *memory, size_t size);
// True for memory in a value that is mapped.
bool fc_store_holds(const fc_store_t *store, const void *memory);

#endif  // FARCALL_STATE_STORE_H_
