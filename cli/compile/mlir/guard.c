// SPDX-License-Identifier: Apache-2.0
//
// Inserts checks between the lines of the module. Sizes are checked by arith.cmpi and
// cf.assert before lowering. Divisions are checked after lowering, by calls of functions
// that `opt` inlines; if the divisor is a constant, nothing of the check remains.
#include "compile/mlir/operation.h"
#include "file.h"

static fc_status_t put(fc_text_t *out, const char *text, fc_error_t *err) {
  return fc_sink_put(&out->sink, fc_str(text), err);
}

// Writes "Location: loc(…)", the last line of MLIR's own reports, escaped for an MLIR
// string.
static fc_status_t put_place(fc_text_t *out, const fc_operation_t *operation,
                             fc_error_t *err) {
  fc_str_t place = fc_operation_place(operation);
  if (!place.size) place = FC_STR("unknown");
  FC_TRY(put(out, "Location: loc(", err));
  for (size_t i = 0; i < place.size; i++) {
    bool quote = place.data[i] == '"';
    fc_str_t piece = quote ? FC_STR("\\22") : fc_lex_part(place, i, i + 1);
    FC_TRY(fc_sink_put(&out->sink, piece, err));
  }
  return put(out, ")", err);
}

static fc_status_t put_location(fc_text_t *out, const fc_operation_t *operation,
                                fc_error_t *err) {
  const fc_str_t location = operation->location;
  FC_TRY(put(out, " loc(", err));
  FC_TRY(fc_sink_put(&out->sink, location.size ? location : FC_STR("unknown"),
                     err));
  return put(out, ")\n", err);
}

// ---------------------------------------------------------------------------
// Sizes

// Reads all parts of an allocation with operands. False: the operation is not one.
static bool read_allocation(fc_str_t text, fc_operation_t *operation) {
  if (!fc_operation_is(operation, "memref.alloc") &&
      !fc_operation_is(operation, "memref.alloca")) {
    return false;
  }
  fc_operation_complete(text, operation);
  return operation->operands.size > 0;
}

static fc_status_t put_size_check(fc_text_t *out, fc_str_t size,
                                  const fc_operation_t *operation,
                                  size_t number, fc_error_t *err) {
  fc_sink_t *sink = &out->sink;
  FC_TRY(fc_print_to(sink, err, "%%farcall%zu = arith.constant 0 : index",
                     2 * number));
  FC_TRY(put_location(out, operation, err));
  FC_TRY(fc_print_to(sink, err, "%%farcall%zu = arith.cmpi sge, ",
                     2 * number + 1));
  FC_TRY(fc_sink_put(sink, size, err));
  FC_TRY(fc_print_to(sink, err, ", %%farcall%zu : index", 2 * number));
  FC_TRY(put_location(out, operation, err));
  FC_TRY(fc_print_to(sink, err,
                     "cf.assert %%farcall%zu, \"ERROR: Runtime op verification "
                     "failed\\0Amemref.alloc\\0A^ a size is negative\\0A",
                     2 * number + 1));
  FC_TRY(put_place(out, operation, err));
  FC_TRY(put(out, "\"", err));
  return put_location(out, operation, err);
}

fc_status_t fc_mlir_guard_sizes(fc_str_t text, fc_text_t *out,
                                fc_error_t *err) {
  size_t number = 0, done = 0;
  fc_operation_t operation;
  for (size_t at = 0; fc_operation_next(text, &at, &operation);) {
    size_t begin, count;
    if (!read_allocation(text, &operation)) continue;
    fc_str_t sizes = operation.operands, size;
    // The first segment of operands has the sizes, the second the symbols of a layout.
    if (!fc_operation_segment(&operation, 0, &begin, &count)) {
      return fc_fail(err, FC_CODE_ABI_METADATA,
                     "mlir-opt printed an allocation in a form not known here");
    }
    FC_TRY(
        fc_sink_put(&out->sink, fc_lex_part(text, done, operation.begin), err));
    done = operation.begin;
    for (size_t i = 0; i < count && fc_lex_element(&sizes, &size); i++) {
      FC_TRY(put_size_check(out, size, &operation, number++, err));
    }
  }
  return fc_sink_put(&out->sink, fc_lex_part(text, done, text.size), err);
}

// ---------------------------------------------------------------------------
// Divisions

typedef struct fc_division_t {
  fc_str_t type;  // of both operands; empty when it cannot be read
  bool is_signed;
} fc_division_t;

// Reads all parts of a division. False: the operation is not one.
static bool read_division(fc_str_t text, fc_operation_t *operation,
                          fc_division_t *out) {
  static const struct {
    const char *name;
    bool is_signed;
  } kDivisions[] = {{"llvm.sdiv", true},
                    {"llvm.srem", true},
                    {"llvm.udiv", false},
                    {"llvm.urem", false}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kDivisions); i++) {
    if (!fc_operation_is(operation, kDivisions[i].name)) continue;
    fc_operation_complete(text, operation);
    fc_str_t types = operation->operand_types;
    *out = (fc_division_t){.is_signed = kDivisions[i].is_signed};
    if (fc_lex_count(types) == 2) fc_lex_element(&types, &out->type);
    return true;
  }
  return false;
}

// A type, split for its check: for example i32 or vector<4xi32>.
typedef struct fc_lanes_t {
  fc_str_t type;
  fc_str_t lanes;    // "4", empty for a number alone
  fc_str_t element;  // "i32"
} fc_lanes_t;

static bool read_lanes(fc_str_t type, fc_lanes_t *out) {
  *out = (fc_lanes_t){.type = type, .element = type};
  if (fc_str_starts(type, FC_STR("vector<"))) {
    fc_str_t inside = fc_lex_part(type, 7, type.size - (type.size > 7));
    size_t at = inside.size;
    while (at && inside.data[at - 1] != 'x') at--;
    if (at < 2) return false;
    out->lanes = fc_lex_part(inside, 0, at - 1);
    out->element = fc_lex_part(inside, at, inside.size);
  }
  if (out->element.size < 2 || out->element.data[0] != 'i') return false;
  for (size_t i = 1; i < out->element.size; i++) {
    if (!fc_lex_is_digit(out->element.data[i])) return false;
  }
  return true;
}

// Writes a constant of the type: `value`, in a vector for each lane.
static fc_status_t put_constant(fc_text_t *out, const fc_lanes_t *lanes,
                                const char *value, fc_error_t *err) {
  FC_TRY(put(out, "llvm.mlir.constant(", err));
  FC_TRY(put(out, lanes->lanes.size ? "dense<" : "", err));
  FC_TRY(put(out, value, err));
  FC_TRY(put(out, lanes->lanes.size ? "> : " : " : ", err));
  FC_TRY(fc_sink_put(&out->sink, lanes->type, err));
  FC_TRY(put(out, ") : ", err));
  return fc_sink_put(&out->sink, lanes->type, err);
}

// Writes the type of a comparison: i1, or for a vector a type such as vector<4xi1>.
static fc_status_t put_lane_type(fc_text_t *out, const fc_lanes_t *lanes,
                                 fc_error_t *err) {
  if (!lanes->lanes.size) return put(out, "i1", err);
  FC_TRY(put(out, "vector<", err));
  FC_TRY(fc_sink_put(&out->sink, lanes->lanes, err));
  return put(out, "xi1>", err);
}

// Writes what $LETTER in a form stands for:
//   $T         the type
//   $0 and $1  the constants 0 and 1 of the type
//   $L         the type of a comparison
//   $( and $)  around a comparison: does it hold in any lane?
static fc_status_t put_word(fc_text_t *out, char word, const fc_lanes_t *lanes,
                            fc_error_t *err) {
  bool many = lanes->lanes.size > 0;
  switch (word) {
    case 'T':
      return fc_sink_put(&out->sink, lanes->type, err);
    case 'L':
      return put_lane_type(out, lanes, err);
    case '0':
      return put_constant(out, lanes, "0", err);
    case '1':
      return put_constant(out, lanes, "1", err);
    case '(':
      return put(
          out, many ? "\"llvm.intr.vector.reduce.or\"(" : "llvm.bitcast ", err);
    default:  // ')'
      if (!many) return put(out, " : i1 to i1", err);
      FC_TRY(put(out, ") : (", err));
      FC_TRY(put_lane_type(out, lanes, err));
      return put(out, ") -> i1", err);
  }
}

static fc_status_t put_form(fc_text_t *out, const char *form,
                            const fc_lanes_t *lanes, fc_error_t *err) {
  for (const char *at = form; *at; at++) {
    size_t plain = strcspn(at, "$");
    FC_TRY(fc_sink_put(&out->sink, fc_str_make(at, plain), err));
    at += plain;
    if (!*at) break;
    FC_TRY(put_word(out, *++at, lanes, err));
  }
  return FC_OK;
}

// The function that checks a signed division. Usually one comparison is enough: if
// divisor + 1, as an unsigned number, is above 1, the divisor is neither 0 nor -1. With
// the divisor -1, the quotient overflows if the dividend is the least number: -a == a
// holds only for that number and 0.
static const char kSigned[] =
    "(%a: $T, %b: $T, %place: !llvm.ptr) "
    "attributes {passthrough = [\"alwaysinline\"]} {\n"
    "  %zero = $0\n"
    "  %one = $1\n"
    "  %next = llvm.add %b, %one : $T\n"
    "  %near = llvm.icmp \"ule\" %next, %one : $T\n"
    "  %some = $(%near$)\n"
    "  llvm.cond_br %some weights([1, 4000]), ^near, ^fine\n"
    "^near:\n"
    "  %nought = llvm.icmp \"eq\" %b, %zero : $T\n"
    "  %by_zero = $(%nought$)\n"
    "  llvm.cond_br %by_zero, ^zero, ^minus_one\n"
    "^zero:\n"
    "  %text = llvm.mlir.addressof @\"farcall.zero\" : !llvm.ptr\n"
    "  llvm.call @\"farcall.refuse\"(%text, %place) : (!llvm.ptr, !llvm.ptr) "
    "-> ()\n"
    "  llvm.unreachable\n"
    "^minus_one:\n"
    "  %minus_one = llvm.sub %zero, %one : $T\n"
    "  %negated = llvm.sub %zero, %a : $T\n"
    "  %of_minus_one = llvm.icmp \"eq\" %b, %minus_one : $T\n"
    "  %itself = llvm.icmp \"eq\" %negated, %a : $T\n"
    "  %some_number = llvm.icmp \"ne\" %a, %zero : $T\n"
    "  %least = llvm.and %itself, %some_number : $L\n"
    "  %both = llvm.and %least, %of_minus_one : $L\n"
    "  %overflows = $(%both$)\n"
    "  llvm.cond_br %overflows, ^over, ^fine\n"
    "^over:\n"
    "  %over = llvm.mlir.addressof @\"farcall.over\" : !llvm.ptr\n"
    "  llvm.call @\"farcall.refuse\"(%over, %place) : (!llvm.ptr, !llvm.ptr) "
    "-> ()\n"
    "  llvm.unreachable\n"
    "^fine:\n"
    "  llvm.return\n"
    "}\n";

static const char kUnsigned[] =
    "(%a: $T, %b: $T, %place: !llvm.ptr) "
    "attributes {passthrough = [\"alwaysinline\"]} {\n"
    "  %zero = $0\n"
    "  %nought = llvm.icmp \"eq\" %b, %zero : $T\n"
    "  %by_zero = $(%nought$)\n"
    "  llvm.cond_br %by_zero weights([1, 4000]), ^zero, ^fine\n"
    "^zero:\n"
    "  %text = llvm.mlir.addressof @\"farcall.zero\" : !llvm.ptr\n"
    "  llvm.call @\"farcall.refuse\"(%text, %place) : (!llvm.ptr, !llvm.ptr) "
    "-> ()\n"
    "  llvm.unreachable\n"
    "^fine:\n"
    "  llvm.return\n"
    "}\n";

// Prints a report in two parts. The reader of the report joins them.
static const char kRefusal[] =
    "llvm.mlir.global internal constant @\"farcall.zero\"(\"ERROR: Runtime op "
    "verification failed\\0A^ integer division by zero\\00\")\n"
    "llvm.mlir.global internal constant @\"farcall.over\"(\"ERROR: Runtime op "
    "verification failed\\0A^ integer division overflows\\00\")\n"
    "llvm.func internal @\"farcall.refuse\"(%text: !llvm.ptr, %place: "
    "!llvm.ptr) attributes {passthrough = [\"cold\", \"noinline\", "
    "\"noreturn\"]} {\n"
    "  llvm.call @puts(%text) : (!llvm.ptr) -> ()\n"
    "  llvm.call @puts(%place) : (!llvm.ptr) -> ()\n"
    "  llvm.call @abort() : () -> ()\n"
    "  llvm.unreachable\n"
    "}\n";

// Shared by the checks of a module.
typedef struct fc_checks_t {
  fc_division_t *kinds;  // one for each type and sign; kind i has check i
  size_t kind_count;
  size_t inside;  // after the module's first line; 0: there is no module
  bool has_puts;
  bool has_abort;
} fc_checks_t;

static size_t find_kind(const fc_checks_t *checks,
                        const fc_division_t *division) {
  for (size_t i = 0; i < checks->kind_count; i++) {
    if (checks->kinds[i].is_signed == division->is_signed &&
        fc_str_equal(checks->kinds[i].type, division->type)) {
      return i;
    }
  }
  return checks->kind_count;
}

// Notes whether the function is `puts` or `abort`, which the checks call.
static void note_function(fc_str_t text, fc_operation_t *operation,
                          fc_checks_t *checks) {
  fc_operation_complete(text, operation);
  const fc_str_t name =
      fc_lex_unwrap(fc_attr_find(operation->properties, FC_STR("sym_name")));
  if (fc_str_equal(name, FC_STR("puts"))) checks->has_puts = true;
  if (fc_str_equal(name, FC_STR("abort"))) checks->has_abort = true;
}

// Like fc_operation_next, but skips modules inside the module: their functions are not
// called. mlir-opt indents them.
static bool next_own(fc_str_t text, size_t *at, fc_operation_t *out) {
  while (fc_operation_next(text, at, out)) {
    if (!fc_operation_is(out, "builtin.module")) return true;
    if (text.data[out->begin] != ' ') return true;
    fc_operation_complete(text, out);
    *at = out->end;
  }
  return false;
}

static size_t count_divisions(fc_str_t text) {
  size_t count = 0;
  fc_operation_t operation;
  fc_division_t division;
  for (size_t at = 0; next_own(text, &at, &operation);) {
    if (read_division(text, &operation, &division)) count++;
  }
  return count;
}

// Reads all operations before any is written, because the functions of the checks come
// first.
static fc_status_t survey(fc_str_t text, fc_checks_t *checks, fc_error_t *err) {
  fc_operation_t operation;
  for (size_t at = 0; next_own(text, &at, &operation);) {
    fc_division_t division;
    fc_lanes_t lanes;
    if (!checks->inside && fc_operation_is(&operation, "builtin.module")) {
      checks->inside = at;
    }
    if (fc_operation_is(&operation, "llvm.func")) {
      note_function(text, &operation, checks);
    }
    if (!read_division(text, &operation, &division)) continue;
    if (!read_lanes(division.type, &lanes) || !checks->inside) {
      return fc_fail(err, FC_CODE_ABI_METADATA,
                     "mlir-opt printed a division in a form not known here");
    }
    const size_t kind = find_kind(checks, &division);
    checks->kinds[kind] = division;
    if (kind == checks->kind_count) checks->kind_count++;
  }
  return FC_OK;
}

static fc_status_t put_checks(fc_text_t *out, const fc_checks_t *checks,
                              fc_error_t *err) {
  if (!checks->has_puts) FC_TRY(put(out, "llvm.func @puts(!llvm.ptr)\n", err));
  if (!checks->has_abort) FC_TRY(put(out, "llvm.func @abort()\n", err));
  FC_TRY(put(out, kRefusal, err));
  for (size_t i = 0; i < checks->kind_count; i++) {
    const fc_division_t *kind = &checks->kinds[i];
    fc_lanes_t lanes;
    (void)read_lanes(kind->type, &lanes);  // the survey has read the type
    FC_TRY(fc_print_to(&out->sink, err,
                       "llvm.func internal @\"farcall.check.%zu\"", i));
    FC_TRY(put_form(out, kind->is_signed ? kSigned : kUnsigned, &lanes, err));
  }
  return FC_OK;
}

// Writes @"farcall.place.N", the text that the check of division N prints.
static fc_status_t put_places(fc_text_t *out, fc_str_t text, fc_error_t *err) {
  size_t number = 0;
  fc_operation_t operation;
  fc_division_t division;
  for (size_t at = 0; next_own(text, &at, &operation);) {
    if (!read_division(text, &operation, &division)) continue;
    FC_TRY(fc_print_to(
        &out->sink, err,
        "llvm.mlir.global internal constant @\"farcall.place.%zu\"(\"",
        number++));
    FC_TRY(put_place(out, &operation, err));
    FC_TRY(put(out, "\\00\")\n", err));
  }
  return FC_OK;
}

static fc_status_t put_check(fc_text_t *out, const fc_operation_t *operation,
                             size_t kind, size_t number, fc_error_t *err) {
  FC_TRY(
      fc_print_to(&out->sink, err,
                  "%%farcall%zu = llvm.mlir.addressof @\"farcall.place.%zu\" : "
                  "!llvm.ptr\nllvm.call @\"farcall.check.%zu\"(",
                  number, number, kind));
  FC_TRY(fc_sink_put(&out->sink, operation->operands, err));
  FC_TRY(fc_print_to(&out->sink, err, ", %%farcall%zu) : (", number));
  FC_TRY(fc_sink_put(&out->sink, operation->operand_types, err));
  return put(out, ", !llvm.ptr) -> ()\n", err);
}

fc_status_t fc_mlir_guard_divisions(fc_arena_t *arena, fc_str_t text,
                                    fc_text_t *out, fc_error_t *err) {
  const size_t count = count_divisions(text);
  if (!count) return FC_OK;
  fc_checks_t checks = {0};
  checks.kinds = fc_arena_alloc_array(arena, count, sizeof *checks.kinds);
  if (!checks.kinds) return fc_fail_memory(err);
  FC_TRY(survey(text, &checks, err));
  FC_TRY(fc_sink_put(&out->sink, fc_lex_part(text, 0, checks.inside), err));
  FC_TRY(put_checks(out, &checks, err));
  FC_TRY(put_places(out, text, err));
  size_t number = 0, done = checks.inside;
  fc_operation_t operation;
  fc_division_t division;
  for (size_t at = done; next_own(text, &at, &operation);) {
    if (!read_division(text, &operation, &division)) continue;
    FC_TRY(
        fc_sink_put(&out->sink, fc_lex_part(text, done, operation.begin), err));
    done = operation.begin;
    FC_TRY(put_check(out, &operation, find_kind(&checks, &division), number++,
                     err));
  }
  return fc_sink_put(&out->sink, fc_lex_part(text, done, text.size), err);
}

fc_status_t fc_mlir_rename_divisions(fc_str_t text, fc_text_t *out,
                                     fc_error_t *err) {
  static const struct {
    const char *from;
    const char *to;
  } kNames[] = {{"index.ceildivs", "arith.ceildivsi"},
                {"index.ceildivu", "arith.ceildivui"},
                {"index.floordivs", "arith.floordivsi"}};
  size_t done = 0;
  fc_operation_t operation;
  for (size_t at = 0; fc_operation_next(text, &at, &operation);) {
    for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
      if (!fc_operation_is(&operation, kNames[i].from)) continue;
      size_t begin = (size_t)(operation.name.data - text.data);
      FC_TRY(fc_sink_put(&out->sink, fc_lex_part(text, done, begin), err));
      FC_TRY(put(out, kNames[i].to, err));
      done = begin + operation.name.size;
    }
  }
  return fc_sink_put(&out->sink, fc_lex_part(text, done, text.size), err);
}
