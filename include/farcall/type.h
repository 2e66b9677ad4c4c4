// SPDX-License-Identifier: Apache-2.0
//
// The type model: element types, the type tree of a function's arguments and
// results, and the builder with which every ABI reader makes such a tree. A
// signature is immutable after fc_signature_build and may be read from any
// thread.
#ifndef FARCALL_TYPE_H_
#define FARCALL_TYPE_H_

#include "farcall/base.h"

#if defined(__cplusplus)
extern "C" {
#endif
FC_PUBLIC_BEGIN

// ---------------------------------------------------------------------------
// Element types

typedef enum fc_dtype_t {
  FC_DTYPE_NONE = 0,
#define FC_DTYPE(name, text, class_, bits, bytes, hal, oip, npy, aliases, \
                 part, format)                                            \
  FC_DTYPE_##name,
#include "farcall/dtype.def"
#undef FC_DTYPE
  FC_DTYPE_COUNT
} fc_dtype_t;

typedef enum fc_dtype_class_t {
  FC_DTYPE_CLASS_NONE = 0,
  FC_DTYPE_CLASS_BOOL,
  FC_DTYPE_CLASS_INT,  // signless, printed as signed; integers from here on
  FC_DTYPE_CLASS_SINT,
  FC_DTYPE_CLASS_UINT,
  FC_DTYPE_CLASS_INDEX,  // 64-bit signed; integers up to here
  FC_DTYPE_CLASS_FLOAT,
  FC_DTYPE_CLASS_COMPLEX,
} fc_dtype_class_t;

typedef struct fc_dtype_info_t {
  const char *text;  // MLIR spelling, the one clients see
  fc_dtype_class_t class_;
  uint8_t bits;
  uint8_t size;  // bytes of one element in memory
  uint32_t hal_word;
  const char *oip;
  const char *npy;
  const char *aliases;  // further names that are read, a space between two
  fc_dtype_t part;      // of a complex type; else the type itself
} fc_dtype_info_t;

// Returns the facts about a type, in static storage. Any value is accepted; an unknown
// one reads as NONE.
const fc_dtype_info_t *fc_dtype_info(fc_dtype_t dtype);
static inline size_t fc_dtype_size(fc_dtype_t dtype) {
  return fc_dtype_info(dtype)->size;
}
// True for an integer, signed or not, or an index; false for a boolean.
static inline bool fc_dtype_is_integer(const fc_dtype_info_t *info) {
  return info->class_ >= FC_DTYPE_CLASS_INT &&
         info->class_ <= FC_DTYPE_CLASS_INDEX;
}
// True for an integer or a boolean.
static inline bool fc_dtype_is_whole(const fc_dtype_info_t *info) {
  return info->class_ == FC_DTYPE_CLASS_BOOL || fc_dtype_is_integer(info);
}
// True for an integer whose highest bit is its sign.
static inline bool fc_dtype_is_signed(const fc_dtype_info_t *info) {
  return fc_dtype_is_integer(info) && info->class_ != FC_DTYPE_CLASS_UINT;
}
// Finds a type by its text only. FC_DTYPE_NONE when there is no such type.
fc_dtype_t fc_dtype_find(fc_str_t text);
// Finds a type by text, alias or OIP name. If several types have the name, the result
// is `dtype` if it is one of them, else the type of the first row with the name.
// FC_DTYPE_NONE when no type has the name.
fc_dtype_t fc_dtype_find_named(fc_str_t name, fc_dtype_t dtype);
// "i1, i2, …": the texts of all types, for messages. One phrase stands for the integers
// of odd widths.
const char *fc_dtype_texts(void);
fc_dtype_t fc_dtype_from_hal(uint32_t hal_word);
fc_dtype_t fc_dtype_from_npy(fc_str_t descr);

// ---------------------------------------------------------------------------
// The type tree

#define FC_RANK_MAX 32        // dims of one tensor
#define FC_RANK_DYNAMIC (-1)  // unranked
// A dim below FC_DIM_DYNAMIC is dynamic as well, and has a name: in every call
// all dims of the function with the same code are equal. So `dim < 0` means
// that the dim is dynamic, and fc_dim_is_named means that it must be equal to
// others. Its name is dim_names[fc_dim_name(dim)].
#define FC_DIM_DYNAMIC (-1)
#define FC_DIM_NAME_SIZE_MAX 64  // bytes
#define FC_DIM_NAMES_MAX 256     // of one signature
#define FC_SIZES_MAX 256         // rows of sizes, of one signature
#define FC_STRIDE_DYNAMIC INT64_MIN
#define FC_TYPE_DEPTH_MAX 32  // nesting of lists, tuples and dicts
#define FC_NODE_MAX 16384     // of one signature
#define FC_NODE_NONE UINT32_MAX
#define FC_RAW_NONE (-1)

static inline bool fc_dim_is_named(int64_t dim) { return dim < FC_DIM_DYNAMIC; }
static inline uint32_t fc_dim_name(int64_t dim) { return (uint32_t)(-2 - dim); }

// What a node is. The comments say which fields of fc_type_t describe it.
typedef enum fc_type_kind_t {
  FC_TYPE_SCALAR,    // dtype
  FC_TYPE_TENSOR,    // dtype, rank, dims, maybe strides
  FC_TYPE_BYTES,     // flavor utf8 | raw | i8
  FC_TYPE_LIST,      // any number of the one child
  FC_TYPE_TUPLE,     // children in order; flavor list | tuple | struct
  FC_TYPE_DICT,      // children in the order of the source, each with a key;
                     // flavor kwargs: they may be given by name themselves
  FC_TYPE_VECTOR,    // dtype, rank, dims
  FC_TYPE_REFARRAY,  // an array of values of the one child's type; rank, dims
  FC_TYPE_OPAQUE,    // text names the type
  FC_TYPE_NULL,
  FC_TYPE_UNKNOWN,  // the value carries its own type
} fc_type_kind_t;

typedef enum fc_flavor_t {
  FC_FLAVOR_NONE,
  FC_FLAVOR_UTF8,
  FC_FLAVOR_RAW,
  FC_FLAVOR_LIST,
  FC_FLAVOR_TUPLE,
  FC_FLAVOR_STRUCT,
  FC_FLAVOR_I8,      // bytes that IREE passes as a list of i8
  FC_FLAVOR_KWARGS,  // a dict that takes the keywords of a call
} fc_flavor_t;

// A piece of the signature's own text; fc_signature_text() reads it.
typedef struct fc_text_ref_t {
  uint32_t offset;
  uint32_t size;
} fc_text_ref_t;

enum {
  FC_TYPE_STRIDED = 1 << 0,   // `rank` strides and one offset follow the dims
  FC_TYPE_VARIADIC = 1 << 1,  // LIST made from a span C…D of a cconv
  // The dtype of a TENSOR was null or unmappable in its source.
  FC_TYPE_UNTYPED = 1 << 2,
  // The text of an OPAQUE or an untyped TENSOR is a number type that farcall does
  // not have, such as i24. A function with such a leaf is not callable.
  FC_TYPE_ODD = 1 << 3,
};

// One node; children and dims are found by index, so the tree has no pointers.
typedef struct fc_type_t {
  uint8_t kind;   // fc_type_kind_t
  uint8_t dtype;  // fc_dtype_t
  uint8_t
      flavor;  // fc_flavor_t; of a TENSOR, how many last dims are a vector's
  uint8_t flags;
  int32_t rank;    // TENSOR, VECTOR, REFARRAY
  uint32_t dims;   // first entry in fc_signature_t.dims
  uint32_t child;  // first child, FC_NODE_NONE if none
  uint32_t next;   // next sibling
  uint32_t child_count;
  int32_t raw_index;   // place in the flat call of a leaf that names one (SIP,
                       // cconv); FC_RAW_NONE otherwise
  fc_text_ref_t key;   // in a DICT
  fc_text_ref_t text;  // OPAQUE: its name. Also the source spelling, if kept
} fc_type_t;

typedef enum fc_role_t {
  FC_ROLE_IN,
  // The client sends nothing; farcall or fc_call_set supplies the memory. Each dim must
  // be static, or a named one that an IN or INOUT argument has too; otherwise the
  // function is not callable.
  FC_ROLE_OUT,
  FC_ROLE_INOUT,      // the client sends it; its final contents are a result
  FC_ROLE_TRANSIENT,  // scratch memory, which farcall supplies
  FC_ROLE_WAIT_FENCE,
  FC_ROLE_SIGNAL_FENCE,
  FC_ROLE_STORAGE,  // memory that a result will be in, which farcall supplies
  FC_ROLE_SCRATCH,  // the client sends it; what is written there is lost
  FC_ROLE_STATE,  // kept from call to call (fc_state_decl_t); of a result, too
} fc_role_t;

// True when the client sends an argument of this role.
static inline bool fc_role_is_sent(uint8_t role) {
  return role == FC_ROLE_IN || role == FC_ROLE_INOUT || role == FC_ROLE_SCRATCH;
}
// True when the final contents of an argument of this role are a result.
static inline bool fc_role_is_answered(uint8_t role) {
  return role == FC_ROLE_OUT || role == FC_ROLE_INOUT;
}

typedef struct fc_param_t {
  fc_text_ref_t name;  // size 0: by position only
  uint32_t type;       // node
  uint8_t role;        // fc_role_t; of a result IN, or STATE if it is not sent
  bool keyword;        // may be given by name
  bool certain;        // the role was declared, or the compiler made it
  int32_t raw_index;   // place in the flat call; FC_RAW_NONE when the leaves
                       // below have raw indices themselves
} fc_param_t;

typedef struct fc_attr_t {
  fc_text_ref_t key;
  fc_text_ref_t value;
} fc_attr_t;

// A value that stays from call to call and that callers neither send nor get.
// `argument` holds it in this call, `result` holds it for the next call.
typedef struct fc_state_decl_t {
  fc_text_ref_t name;
  uint32_t argument;  // a TENSOR, or a SCALAR if there is a result
  uint32_t result;  // FC_STATE_IN_PLACE: the function writes into the argument
  uint32_t dims;    // in fc_signature_t.dims: the shape of the initial zeros
  bool survives;    // another version of the module may take the value over
} fc_state_decl_t;

#define FC_STATE_IN_PLACE UINT32_MAX
#define FC_STATES_MAX 32           // of one signature
#define FC_STATE_NAME_SIZE_MAX 63  // bytes

// Where the types come from, most trusted first.
typedef enum fc_source_t {
#define FC_SOURCE(name, text) FC_SOURCE_##name,
#include "farcall/source.def"
#undef FC_SOURCE
  FC_SOURCE_COUNT
} fc_source_t;

const char *fc_source_name(fc_source_t source);

// One function as callers see it. One allocation; freed as a whole.
typedef struct fc_signature_t {
  fc_allocator_t allocator;
  fc_text_ref_t name;
  fc_source_t source;
  // The flat call ends in a wait fence and a signal fence. The backend adds them, so the
  // raw counts do not include them.
  bool async;
  // SIP (abi.h): argument 0 is the root of a tree. Callers send the children of a TUPLE by
  // position, and those of a DICT by name or all as one object.
  bool root_tree;
  bool callable;
  bool memory_safe;   // bytecode, or machine code compiled with checks
  bool memory_known;  // somebody stated whether it is memory_safe
  bool trusts_dims;   // not memory_safe, and the caller chooses dims
  // The alignment of tensors on which the function's code relies, beyond what
  // their elements need: a power of two, 64 unless the description says less.
  uint8_t alignment;
  fc_text_ref_t reason;   // why not callable
  fc_text_ref_t cconv;    // "" when the backend has none
  fc_text_ref_t warning;  // why a better source was not used; "" if none
  const fc_type_t *nodes;
  const int64_t *dims;
  const fc_text_ref_t *dim_names;  // of the named dims
  const fc_param_t *arguments;
  const fc_param_t *results;
  const fc_attr_t *attrs;
  const char *chars;
  uint32_t node_count;
  uint32_t dim_count;
  uint32_t dim_name_count;
  uint32_t argument_count;
  uint32_t result_count;
  uint32_t attr_count;
  uint32_t char_count;
  uint32_t raw_argument_count;  // values of the flat call
  uint32_t raw_result_count;
  // The sizes that the named dims of a call may have together: `size_count` rows, each
  // with a size for every name, or -1 where the caller chooses. Without rows the caller
  // chooses all sizes.
  uint32_t size_count;
  const int64_t *sizes;
  uint32_t state_count;
  const fc_state_decl_t *states;
} fc_signature_t;

static inline fc_str_t fc_signature_text(const fc_signature_t *signature,
                                         fc_text_ref_t ref) {
  return FC_MAKE(fc_str_t){signature->chars + ref.offset, ref.size};
}
static inline const fc_type_t *fc_signature_node(
    const fc_signature_t *signature, uint32_t node) {
  return &signature->nodes[node];
}
// Returns the `rank` dims of a tensor; its strides and then its offset follow if
// FC_TYPE_STRIDED is set.
static inline const int64_t *fc_signature_dims(const fc_signature_t *signature,
                                               const fc_type_t *type) {
  return &signature->dims[type->dims];
}
fc_str_t fc_signature_attr(const fc_signature_t *signature, fc_str_t key);
void fc_signature_destroy(fc_signature_t *signature);

// ---------------------------------------------------------------------------
// Building

// Builds one signature, part by part. The first failure sticks: later calls add
// nothing and return FC_NODE_NONE, FC_DIM_DYNAMIC, NULL or an empty ref, and
// fc_signature_build returns that failure. So a parser need not test every step.
// fc_builder_reset and fc_builder_copy forget the failure.
typedef struct fc_builder_t fc_builder_t;

// Makes an empty builder. NULL when out of memory.
fc_builder_t *fc_builder_create(fc_allocator_t allocator);
void fc_builder_destroy(fc_builder_t *builder);

fc_text_ref_t fc_builder_text(fc_builder_t *builder, fc_str_t text);
void fc_builder_name(fc_builder_t *builder, fc_str_t name);
void fc_builder_source(fc_builder_t *builder, fc_source_t source);
void fc_builder_async(fc_builder_t *builder, bool async);
void fc_builder_root_tree(fc_builder_t *builder, bool root_tree);
void fc_builder_cconv(fc_builder_t *builder, fc_str_t cconv);
void fc_builder_warning(fc_builder_t *builder, fc_str_t warning);
// Sets memory_safe, and memory_known to true. trusts_dims becomes true if the
// code is not memory_safe and has dynamic dims, else false.
void fc_builder_memory_safe(fc_builder_t *builder, bool memory_safe,
                            bool dynamic_dims);
// Sets the alignment: a power of two up to 64. Without this call it is 64.
void fc_builder_alignment(fc_builder_t *builder, uint8_t alignment);
// The function is listed, but not callable; the first reason stays.
void fc_builder_refuse(fc_builder_t *builder, fc_str_t reason);
// If a key is added twice, the first value stays.
void fc_builder_attr(fc_builder_t *builder, fc_str_t key, fc_str_t value);
// Sets the raw counts. Without this call each count is one more than the
// highest raw index in use.
void fc_builder_raw_counts(fc_builder_t *builder, uint32_t arguments,
                           uint32_t results);
// Returns the code that stands for a named dim in lists of dims; the same name
// gives the same code. A name has 1 to FC_DIM_NAME_SIZE_MAX bytes.
int64_t fc_builder_dim_name(fc_builder_t *builder, fc_str_t name);

// Changes every dim that is `from`, the code of a name, to `to`. Dims that are added
// later are not changed.
void fc_builder_replace_dim(fc_builder_t *builder, int64_t from, int64_t to);
// Adds a row of sizes (fc_signature_t.sizes), with an entry for each name of a dim. No
// name may be added after the first row.
void fc_builder_sizes(fc_builder_t *builder, const int64_t *row);

// Nodes. A node belongs to at most one parent.
uint32_t fc_builder_scalar(fc_builder_t *builder, fc_dtype_t dtype);
// Adds a tensor. `dims` has `rank` entries, NULL when unranked.
uint32_t fc_builder_tensor(fc_builder_t *builder, fc_dtype_t dtype,
                           int32_t rank, const int64_t *dims);
uint32_t fc_builder_strided(fc_builder_t *builder, fc_dtype_t dtype,
                            int32_t rank, const int64_t *dims,
                            const int64_t *strides, int64_t offset);
uint32_t fc_builder_vector(fc_builder_t *builder, fc_dtype_t dtype,
                           int32_t rank, const int64_t *dims);
uint32_t fc_builder_bytes(fc_builder_t *builder, fc_flavor_t flavor);
uint32_t fc_builder_opaque(fc_builder_t *builder, fc_str_t text);
// Adds a node of kind NULL, UNKNOWN, LIST, TUPLE (of flavor TUPLE), DICT or REFARRAY.
// The last four get children by fc_builder_append, a DICT by fc_builder_append_key.
// A REFARRAY has rank 0 until fc_builder_dims.
uint32_t fc_builder_node(fc_builder_t *builder, fc_type_kind_t kind);
void fc_builder_append(fc_builder_t *builder, uint32_t parent, uint32_t child);
// Sets the child's key, then appends it. Two children with one key make
// fc_signature_build fail with FC_CODE_ABI_METADATA.
void fc_builder_append_key(fc_builder_t *builder, uint32_t parent, fc_str_t key,
                           uint32_t child);
// Returns the node itself, for changes that no call above makes (raw_index, flavor,
// flags, rank). Valid until the next call on the builder; NULL after a failure.
fc_type_t *fc_builder_at(fc_builder_t *builder, uint32_t node);
// Returns the dims of a node, to be read and changed. Valid until the next call on the
// builder; NULL after a failure, or when no node has any dim.
int64_t *fc_builder_get_dims(fc_builder_t *builder, uint32_t node);
// Sets the dims of a REFARRAY, or replaces those of a TENSOR. A strided TENSOR keeps
// its strides if its rank stays the same; otherwise it is no longer strided.
void fc_builder_dims(fc_builder_t *builder, uint32_t node, int32_t rank,
                     const int64_t *dims);

// A raw index that means "the next one". Arguments and results are counted
// separately, from 0; only those added with FC_RAW_NEXT count. FC_RAW_NONE
// means that the leaves have raw indices themselves.
#define FC_RAW_NEXT (-2)
void fc_builder_argument(fc_builder_t *builder, fc_str_t name, uint32_t node,
                         fc_role_t role, bool keyword, int32_t raw_index);
void fc_builder_result(fc_builder_t *builder, fc_str_t name, uint32_t node,
                       int32_t raw_index);

// Changes the role of an argument. `certain`: a declaration or the code says so.
void fc_builder_role(fc_builder_t *builder, uint32_t index, fc_role_t role,
                     bool certain);
// Replaces the name of the argument, and sets `keyword`: from now on the argument may
// be given by name, unless `name` is empty.
void fc_builder_name_argument(fc_builder_t *builder, uint32_t index,
                              fc_str_t name);
void fc_builder_name_result(fc_builder_t *builder, uint32_t index,
                            fc_str_t name);

// Makes an argument state. `result` is the result that holds its value for the next
// call, or FC_STATE_IN_PLACE. Both get FC_ROLE_STATE. `rank` and `shape` say how large
// the initial zeros are; 0 and NULL: as large as the argument's own dims say, which
// must be static then. If the argument or the result does not fit, fc_signature_build
// fails with FC_CODE_ABI_METADATA.
void fc_builder_state(fc_builder_t *builder, fc_str_t name, uint32_t argument,
                      uint32_t result, int32_t rank, const int64_t *shape,
                      bool survives);

// Forgets everything built but keeps the memory, for a reader that starts over
// with a lesser source.
void fc_builder_reset(fc_builder_t *builder);
// Replaces what was built by a copy of `signature`, except its attributes. Nodes keep
// their numbers, and can get no more children.
void fc_builder_copy(fc_builder_t *builder, const fc_signature_t *signature);
// The finished signature, or the first failure. The builder keeps what it has.
fc_status_t fc_signature_build(fc_builder_t *builder,
                               fc_signature_t **out_signature,
                               fc_error_t *err) FC_MUST_CHECK;

// ---------------------------------------------------------------------------
// Rendering (core/abi/print.c)

// Writes what a list of functions says about each function, enough to choose one:
// "module", "version", "name", "text", "callable", "reason". If `module` is empty, the
// first two are left out.
fc_status_t fc_signature_print_short(const fc_signature_t *signature,
                                     fc_str_t module, fc_str_t version,
                                     fc_sink_t *sink,
                                     fc_error_t *err) FC_MUST_CHECK;
// Writes canonical JSON (docs/abi.md). If `module` is empty, the members
// "module", "version" and "raw" are left out.
fc_status_t fc_signature_print_json(const fc_signature_t *signature,
                                    fc_str_t module, fc_str_t version,
                                    fc_sink_t *sink, fc_error_t *err);
// Writes `matmul(x: tensor<?x3xf32>, …) -> tensor<?xf32>`; a named dim is
// `[name]`.
fc_status_t fc_signature_print_text(const fc_signature_t *signature,
                                    fc_sink_t *sink, fc_error_t *err);
// Writes one type as fc_signature_print_text does.
fc_status_t fc_type_print_text(const fc_signature_t *signature, uint32_t node,
                               fc_sink_t *sink, fc_error_t *err);

FC_PUBLIC_END
#if defined(__cplusplus)
}
#endif
#endif  // FARCALL_TYPE_H_
