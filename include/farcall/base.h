// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary that every layer shares: status, error, string, allocator, arena,
// sink, checked arithmetic, small floats, time. This header needs no other layer.
// An object is used by one thread at a time, unless a comment says otherwise.
#ifndef FARCALL_BASE_H_
#define FARCALL_BASE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__cplusplus)
extern "C" {
#endif

#if defined(__GNUC__)
#define FC_PRINTF(format_index, first_arg) \
  __attribute__((format(printf, format_index, first_arg)))
#define FC_MUST_CHECK __attribute__((warn_unused_result))
#define FC_LIKELY(x) __builtin_expect(!!(x), 1)
#define FC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define FC_PRINTF(format_index, first_arg)
#define FC_MUST_CHECK
#define FC_LIKELY(x) (x)
#define FC_UNLIKELY(x) (x)
#endif

// Names for what C and C++ spell differently. FC_MAKE(type){…} is a value of that type.
#if defined(__cplusplus)
#define FC_MAKE(type) type
#define FC_NORETURN [[noreturn]]
#else
#define FC_MAKE(type) (type)
#define FC_NORETURN _Noreturn
#endif

// The shared library exports what is declared between these two.
#if defined(__GNUC__)
#define FC_PUBLIC_BEGIN _Pragma("GCC visibility push(default)")
#define FC_PUBLIC_END _Pragma("GCC visibility pop")
#else
#define FC_PUBLIC_BEGIN
#define FC_PUBLIC_END
#endif

FC_PUBLIC_BEGIN

#define FC_ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

// The kind of an outcome: it tells what a caller can do about it. The numbers
// are those of gRPC and, from 17 on, of IREE. So the status of a VM `fail`
// instruction passes through unchanged if it is one of these and not FC_OK.
typedef enum fc_status_t {
  FC_OK = 0,
  FC_CANCELLED = 1,
  FC_UNKNOWN = 2,
  FC_INVALID_ARGUMENT = 3,
  FC_DEADLINE_EXCEEDED = 4,
  FC_NOT_FOUND = 5,
  FC_ALREADY_EXISTS = 6,
  FC_PERMISSION_DENIED = 7,
  FC_RESOURCE_EXHAUSTED = 8,
  FC_FAILED_PRECONDITION = 9,
  FC_ABORTED = 10,
  FC_OUT_OF_RANGE = 11,
  FC_UNIMPLEMENTED = 12,
  FC_INTERNAL = 13,
  FC_UNAVAILABLE = 14,
  FC_DATA_LOSS = 15,
  FC_UNAUTHENTICATED = 16,
  FC_DEFERRED = 17,
  FC_INCOMPATIBLE = 18,
} fc_status_t;

// Returns the name of the constant without its FC_: "INVALID_ARGUMENT". "UNKNOWN" for a
// number outside the enumeration.
const char *fc_status_name(fc_status_t status);

// A word that one thread sets and another reads, without a lock. In C++ it is
// declared as a plain number: read and write it only by the library's
// functions, such as fc_cancel_request, which are atomic.
#if defined(__cplusplus)
typedef uint32_t fc_atomic_word_t;
#else
typedef _Atomic(uint32_t) fc_atomic_word_t;
#endif

// ---------------------------------------------------------------------------
// Strings: pointer and size, no terminator promised.

typedef struct fc_str_t {
  const char *data;
  size_t size;
} fc_str_t;

#define FC_STR(literal) (FC_MAKE(fc_str_t){"" literal, sizeof(literal) - 1})
// The two arguments of printf's "%.*s".
#define FC_STR_ARG(s) ((int)(s).size), ((s).data ? (s).data : "")

static inline fc_str_t fc_str(const char *text) {
  return FC_MAKE(fc_str_t){text, text ? strlen(text) : 0};
}

static inline fc_str_t fc_str_make(const char *data, size_t size) {
  return FC_MAKE(fc_str_t){data, size};
}

static inline bool fc_str_equal(fc_str_t a, fc_str_t b) {
  return a.size == b.size && (a.size == 0 || !memcmp(a.data, b.data, a.size));
}

static inline bool fc_str_starts(fc_str_t text, fc_str_t prefix) {
  return text.size >= prefix.size &&
         (prefix.size == 0 || !memcmp(text.data, prefix.data, prefix.size));
}

static inline bool fc_str_ends(fc_str_t text, fc_str_t suffix) {
  return text.size >= suffix.size &&
         (suffix.size == 0 || !memcmp(text.data + text.size - suffix.size,
                                      suffix.data, suffix.size));
}

// Cuts `text` at the first `mark`: returns the part before it, and leaves the part after
// it in `text`. If there is no mark, returns the whole text and leaves an empty one.
static inline fc_str_t fc_str_take(fc_str_t *text, char mark) {
  const char *at =
      text->size ? (const char *)memchr(text->data, mark, text->size) : NULL;
  const fc_str_t part =
      fc_str_make(text->data, at ? (size_t)(at - text->data) : text->size);
  const size_t skip = at ? part.size + 1 : part.size;
  if (skip) *text = fc_str_make(text->data + skip, text->size - skip);
  return part;
}

// Compares bytewise; a proper prefix comes first. The result is below 0 when `a` comes
// before `b`, 0 when they are equal, and above 0 when `a` comes after `b`.
int fc_str_compare(fc_str_t a, fc_str_t b);

typedef struct fc_span_t {
  uint8_t *data;
  size_t size;
} fc_span_t;

// ---------------------------------------------------------------------------
// Errors: a function returns the status, and describes the error in an fc_error_t.

// The stable error codes that clients see (docs/errors.md).
typedef enum fc_code_t {
#define FC_CODE(name, text, status, title) FC_CODE_##name,
#include "farcall/error.def"
#undef FC_CODE
  FC_CODE_COUNT
} fc_code_t;

typedef struct fc_code_info_t {
  const char *text;    // "shape_mismatch"
  const char *title;   // "Shape mismatch"
  fc_status_t status;  // what fc_fail returns for this code
} fc_code_info_t;

// Static storage. An out-of-range code reads as FC_CODE_INTERNAL.
const fc_code_info_t *fc_code_info(fc_code_t code);

// True when an error of this code is about one argument of a call, so the call
// document was well-formed up to there.
static inline bool fc_code_is_argument(fc_code_t code) {
  return code >= FC_CODE_MISSING_ARGUMENT && code <= FC_CODE_REFERENCE_UNKNOWN;
}

#define FC_NO_OFFSET UINT64_MAX

// A description of one error. Fixed size, no heap, no pointers, so that it can be
// copied between processes. Every text is NUL-terminated and cut to the size of its
// array; all texts except `pointer` are cut on a UTF-8 boundary.
typedef struct fc_error_t {
  fc_status_t status;
  fc_code_t code;
  uint64_t byte_offset;  // into the document or file, FC_NO_OFFSET if none
  bool has_pointer;      // an empty pointer names the whole document
  char message[360];     // names the thing, the value and the limit
  char pointer[256];     // RFC 6901, into the document as received
  char expected[160];
  char got[80];  // what came instead: at most 64 characters, escaped
} fc_error_t;

// Clears `err` to FC_OK. NULL is allowed.
void fc_error_reset(fc_error_t *err);

// Writes the code, its status and the message; clears everything else. Returns the code's
// status, which is never FC_OK, since `code` must not be FC_CODE_NONE. `err` may be NULL.
fc_status_t fc_fail(fc_error_t *err, fc_code_t code, const char *format, ...)
    FC_PRINTF(3, 4);

// Does the same as fc_fail, for codes such as FC_CODE_CALL_FAILED whose status
// differs from call to call. FC_OK as `status` becomes FC_INTERNAL.
fc_status_t fc_fail_as(fc_error_t *err, fc_code_t code, fc_status_t status,
                       const char *format, ...) FC_PRINTF(4, 5);

// Fails with FC_CODE_OUT_OF_MEMORY because an allocation failed.
fc_status_t fc_fail_memory(fc_error_t *err);

// These functions add details to an error that fc_fail just wrote. `err` may be NULL.
void fc_error_expected(fc_error_t *err, const char *format, ...)
    FC_PRINTF(2, 3);
// Escapes and cuts `client_text`, so a client's text may be passed as it came.
void fc_error_got(fc_error_t *err, fc_str_t client_text);

// Writes `text` into `out`, NUL-terminated, at most `capacity` bytes with the
// terminator. Control characters, double quotes, backslashes and bytes outside UTF-8
// are escaped. Characters that are invisible but change how the text looks are written
// as \uXXXX. At most `limit` characters of the text are taken; an escaped byte counts
// as one. If the text is cut, an ellipsis marks the cut, provided that `capacity` is 4
// or more. Room for the ellipsis is always kept, so at most `capacity` - 4 bytes come
// from the text. Returns the length of what was written.
size_t fc_escape(char *out, size_t capacity, size_t limit, fc_str_t text);

#define FC_TRY(expression)                      \
  do {                                          \
    fc_status_t fc_try_status_ = (expression);  \
    if (FC_UNLIKELY(fc_try_status_ != FC_OK)) { \
      return fc_try_status_;                    \
    }                                           \
  } while (0)

// Aborts if `condition` is false. Use it for what must be true of our own code,
// never for input.
#define FC_ASSERT(condition)      \
  (FC_LIKELY(condition) ? (void)0 \
                        : fc_assert_fail(#condition, __FILE__, __LINE__))
FC_NORETURN void fc_assert_fail(const char *text, const char *file, int line);

// ---------------------------------------------------------------------------
// Memory

// A source of memory, chosen by the code that creates an object. `allocate` returns NULL
// only when out of memory: for size 0 it returns a block. The memory is not zeroed;
// `alignment` is a power of two. `release` accepts NULL. Any thread may call both.
typedef struct fc_allocator_t {
  void *context;
  void *(*allocate)(void *context, size_t size, size_t alignment);
  void (*release)(void *context, void *memory);
} fc_allocator_t;

// malloc (aligned_alloc where the alignment is above 16) and free.
fc_allocator_t fc_allocator_system(void);

// Allocates zeroed memory, 16-byte aligned. NULL when out of memory. Size 0 also gives a
// block.
void *fc_alloc(fc_allocator_t allocator, size_t size) FC_MUST_CHECK;
// Allocates a zeroed array. NULL also when count * size overflows.
void *fc_alloc_array(fc_allocator_t allocator, size_t count,
                     size_t size) FC_MUST_CHECK;
// Allocates memory that is not zeroed; NULL when out of memory. `alignment` is a power of
// two.
void *fc_alloc_aligned(fc_allocator_t allocator, size_t size,
                       size_t alignment) FC_MUST_CHECK;
// Moves `memory` to a new block, 16-byte aligned, and releases the old block. The new
// block begins with the old bytes, as many as the smaller of the two sizes; its other
// bytes are not zeroed. NULL as `memory`: there is no old block. Returns NULL when out
// of memory, and then the old block is unchanged.
void *fc_realloc(fc_allocator_t allocator, void *memory, size_t old_size,
                 size_t new_size) FC_MUST_CHECK;
void fc_free(fc_allocator_t allocator, void *memory);

// An arena: bump allocation from a chain of blocks, with a cap. Allocations are freed
// all together; fc_arena_trim can shorten the newest. A zeroed arena is empty and may
// be deinitialised.
typedef struct fc_arena_block_t fc_arena_block_t;
typedef struct fc_arena_t {
  fc_allocator_t allocator;
  fc_arena_block_t *first;    // fc_arena_reset keeps it, if it is not too large
  fc_arena_block_t *current;  // where the next allocation is tried
  size_t block_size;
  size_t used;   // bytes handed out since the last reset and not trimmed
  size_t limit;  // cap on `used`
} fc_arena_t;

// `block_size` is the least size of a block in bytes. `limit` is the most bytes
// that the arena hands out between two resets.
void fc_arena_init(fc_arena_t *arena, fc_allocator_t allocator,
                   size_t block_size, size_t limit);
void fc_arena_deinit(fc_arena_t *arena);
// Everything handed out becomes invalid. The first block is kept, so that a
// warm arena serves small requests without an allocation. But it is released if
// it is larger than block_size, since it was made for one big request.
void fc_arena_reset(fc_arena_t *arena);
// Allocates memory that is not zeroed. `alignment` is a power of two up to 64. NULL when
// the limit or memory runs out.
void *fc_arena_alloc(fc_arena_t *arena, size_t size,
                     size_t alignment) FC_MUST_CHECK;
// Allocates a zeroed array, 16-byte aligned. NULL also when count * size overflows.
void *fc_arena_alloc_array(fc_arena_t *arena, size_t count,
                           size_t size) FC_MUST_CHECK;
// Gives back the tail of the newest allocation: `memory` keeps `size` bytes.
// Does nothing when something else was allocated after it.
void fc_arena_trim(fc_arena_t *arena, void *memory, size_t old_size,
                   size_t size);
// Makes the newest allocation `size` bytes long, without moving it. False if there is
// no room after it, if something else was allocated after it, or if the arena's limit
// does not allow the new size.
bool fc_arena_extend(fc_arena_t *arena, void *memory, size_t old_size,
                     size_t size) FC_MUST_CHECK;
// Makes a NUL-terminated copy. Its data is NULL when the limit or memory runs out.
fc_str_t fc_arena_copy(fc_arena_t *arena, fc_str_t text);

// ---------------------------------------------------------------------------
// Sinks: the places to which writers write bytes. A writer asks for room and
// moves `cursor`.

typedef struct fc_sink_t fc_sink_t;
struct fc_sink_t {
  char *cursor;
  char *end;
  // Moves `cursor` and `end` so that at least `need` bytes may be written at
  // `cursor`. What was written before stays written. Fails when the sink's
  // limit or memory runs out, as a rule with FC_CODE_RESULT_TOO_LARGE or
  // FC_CODE_OUT_OF_MEMORY.
  fc_status_t (*grow)(fc_sink_t *sink, size_t need, fc_error_t *err);
};

static inline fc_status_t fc_sink_reserve(fc_sink_t *sink, size_t need,
                                          fc_error_t *err) {
  if (FC_LIKELY((size_t)(sink->end - sink->cursor) >= need)) return FC_OK;
  return sink->grow(sink, need, err);
}

fc_status_t fc_sink_put(fc_sink_t *sink, fc_str_t text, fc_error_t *err);

// A sink that keeps everything in one growing block. A zeroed text is empty and
// may be deinitialised.
typedef struct fc_text_t {
  fc_sink_t sink;  // first, so that &text->sink is the sink
  fc_allocator_t allocator;
  char *data;
  size_t limit;  // most bytes it may hold
} fc_text_t;

void fc_text_init(fc_text_t *text, fc_allocator_t allocator, size_t limit);
void fc_text_deinit(fc_text_t *text);
// Forgets what was written, but keeps the block.
void fc_text_reset(fc_text_t *text);
static inline fc_str_t fc_text_str(const fc_text_t *text) {
  return FC_MAKE(fc_str_t){
      text->data, text->data ? (size_t)(text->sink.cursor - text->data) : 0};
}

// ---------------------------------------------------------------------------
// Checked arithmetic for sizes from outside. Each function returns false on
// overflow, and then *out must not be used.

static inline bool fc_size_add(size_t a, size_t b, size_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool fc_size_mul(size_t a, size_t b, size_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool fc_i64_add(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool fc_i64_mul(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
// Rounds up to a multiple of a power of two.
static inline bool fc_size_align(size_t size, size_t alignment, size_t *out) {
  size_t sum;
  if (__builtin_add_overflow(size, alignment - 1, &sum)) return false;
  *out = sum & ~(alignment - 1);
  return true;
}

// ---------------------------------------------------------------------------
// Small floats. Rounding is to nearest, ties to even.

float fc_half_to_float(uint16_t bits);
uint16_t fc_half_from_float(float value);
float fc_bfloat_to_float(uint16_t bits);
uint16_t fc_bfloat_from_float(float value);
// From f64 in one rounding. Going through f32 could round a value twice.
uint16_t fc_half_from_double(double value);
uint16_t fc_bfloat_from_double(double value);

// ---------------------------------------------------------------------------
// Time and names

// CLOCK_MONOTONIC, nanoseconds.
uint64_t fc_clock_ns(void);

// Edit distance in bytes, counted up to `limit`; limit + 1 means "more". Swapping two
// neighbouring bytes counts as one edit. When one of the texts has more than 128 bytes,
// the result is limit + 1: the function serves hints for names, which are short.
unsigned fc_str_distance(fc_str_t a, fc_str_t b, unsigned limit);

// Finds the name that somebody may have meant. Names are offered one by one. The cost
// is bounded, however many names there are. A name is skipped if its length differs too
// much, or if neither of its first two bytes is among the first two bytes of `wanted`.
// After FC_NEAREST_MAX names were compared, every further name is skipped.
#define FC_NEAREST_MAX 64
typedef struct fc_nearest_t {
  fc_str_t wanted;
  unsigned limit;  // edits that the next near name may have
  bool any;
  uint8_t compared;  // names whose distance was counted
} fc_nearest_t;
// Begins a search. At most a third of the bytes of `wanted` may be wrong,
// rounded up, and at most three.
static inline fc_nearest_t fc_nearest_begin(fc_str_t wanted) {
  const size_t third = (wanted.size + 2) / 3;
  return FC_MAKE(fc_nearest_t){wanted, third > 3 ? 3 : (unsigned)third, false,
                               0};
}
// True when `name` is the best so far; the answer of the search is the last name for
// which the result was true. A name can be the best in two ways. First: it is near, has
// at least one byte right, and is nearer than every near name before it, or is equal to
// `wanted`. Second: it begins with `wanted`, and no name before it was the best.
bool fc_nearest_offer(fc_nearest_t *search, fc_str_t name);

FC_PUBLIC_END
#if defined(__cplusplus)
}
#endif
#endif  // FARCALL_BASE_H_
