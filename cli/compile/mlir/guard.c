// SPDX-License-Identifier: Apache-2.0
//
// The checks are text between the lines of the module. Sizes are checked by
// arith.cmpi and cf.assert, which the lowering knows. Divisions are checked after
// the lowering, by calls of functions that `opt` inlines; where a divisor is a
// constant, nothing of the check remains.
#include "compile/mlir/guard.h"

#include <stdio.h>
#include <stdlib.h>

#include "compile/mlir/lex.h"
#include "compile/mlir/module.h"

static fc_status_t put(fc_text_t *out, const char *text, fc_error_t *err) {
  return fc_sink_put(&out->sink, fc_str(text), err);
}

// ---------------------------------------------------------------------------
// Places

// The location aliases of a module, sorted by name: nearly every operation has
// one, and every check asks for the place of its operation.
typedef struct fc_located_t {
  fc_str_t name;  // with its '#'
  fc_str_t value;
} fc_located_t;

typedef struct fc_locations_t {
  fc_located_t *items;
  size_t count;
} fc_locations_t;

static int by_name(const void *a, const void *b) {
  return fc_str_compare(((const fc_located_t *)a)->name,
                        ((const fc_located_t *)b)->name);
}

static fc_status_t index_locations(fc_arena_t *arena, fc_str_t text,
                                   fc_locations_t *out, fc_error_t *err) {
  fc_str_t prefix = FC_STR("#loc");
  size_t count = 0;
  for (size_t at = 0; at < text.size;) {
    if (fc_str_starts(fc_lex_line(text, &at), prefix)) count++;
  }
  out->items = fc_arena_alloc_array(arena, count, sizeof *out->items);
  out->count = 0;
  if (!out->items) return fc_fail_memory(err);
  for (size_t at = 0; at < text.size;) {
    fc_str_t line = fc_lex_line(text, &at);
    if (!fc_str_starts(line, prefix)) continue;
    size_t end = 1;
    while (end < line.size && fc_lex_is_word(line.data[end])) end++;
    out->items[out->count++] =
        (fc_located_t){fc_lex_part(line, 0, end), fc_lex_location(line)};
  }
  if (count) qsort(out->items, count, sizeof *out->items, by_name);
  return FC_OK;
}

// An operation's location as "file":line:column, or the word unknown.
static fc_str_t find_place(const fc_locations_t *index, fc_str_t location) {
  if (fc_lex_char(location, 0) == '#' && index->count) {
    fc_located_t key = {location, {0}};
    const fc_located_t *found = bsearch(&key, index->items, index->count,
                                        sizeof *index->items, by_name);
    if (found) location = found->value;
  }
  return fc_lex_char(location, 0) == '"' ? location : FC_STR("unknown");
}

// Writes the last line of MLIR's own reports, escaped for the inside of an MLIR
// string.
static fc_status_t put_place(fc_text_t *out, fc_str_t place, fc_error_t *err) {
  FC_TRY(put(out, "Location: loc(", err));
  for (size_t i = 0; i < place.size; i++) {
    bool quote = place.data[i] == '"';
    fc_str_t piece = quote ? FC_STR("\\22") : fc_lex_part(place, i, i + 1);
    FC_TRY(fc_sink_put(&out->sink, piece, err));
  }
  return put(out, ")", err);
}

static fc_status_t put_location(fc_text_t *out, fc_str_t location,
                                fc_error_t *err) {
  FC_TRY(put(out, " loc(", err));
  FC_TRY(fc_sink_put(&out->sink, location, err));
  return put(out, ")\n", err);
}

// ---------------------------------------------------------------------------
// Sizes

// Reads the operands of an allocation, of which the first *out_count are sizes.
// False when the line allocates nothing of dynamic size.
static bool read_allocation(fc_str_t line, fc_str_t *out_sizes,
                            size_t *out_count) {
  fc_str_t name;
  size_t open;
  if (!fc_lex_operation(line, &name, &open)) return false;
  if (!fc_str_equal(name, FC_STR("memref.alloc")) &&
      !fc_str_equal(name, FC_STR("memref.alloca"))) {
    return false;
  }
  size_t close = fc_lex_balanced(line, open, false);
  *out_sizes = fc_lex_unwrap(fc_lex_part(line, open, close));
  // The first segment has the sizes, the second the symbols of a layout:
  // array<i32: 2, 0>.
  size_t begin;
  *out_count = 0;
  return fc_mlir_segment(fc_lex_properties(line, close), 0, &begin,
                         out_count) &&
         *out_count > 0;
}

static fc_status_t put_size_check(fc_text_t *out, fc_str_t size,
                                  fc_str_t location, fc_str_t place,
                                  size_t number, fc_error_t *err) {
  char text[160];
  snprintf(text, sizeof text,
           "%%farcall%zu = \"arith.constant\"() <{value = 0 : index}> : () -> "
           "index",
           2 * number);
  FC_TRY(put(out, text, err));
  FC_TRY(put_location(out, location, err));
  snprintf(text, sizeof text,
           "%%farcall%zu = \"arith.cmpi\"(%.*s, %%farcall%zu) <{predicate = 5 "
           ": i64}> : (index, index) -> i1",
           2 * number + 1, FC_STR_ARG(size), 2 * number);
  FC_TRY(put(out, text, err));
  FC_TRY(put_location(out, location, err));
  snprintf(text, sizeof text,
           "\"cf.assert\"(%%farcall%zu) <{msg = \"ERROR: Runtime op "
           "verification failed\\0Amemref.alloc\\0A^ a size is negative\\0A",
           2 * number + 1);
  FC_TRY(put(out, text, err));
  FC_TRY(put_place(out, place, err));
  FC_TRY(put(out, "\"}> : (i1) -> ()", err));
  return put_location(out, location, err);
}

fc_status_t fc_mlir_guard_sizes(fc_arena_t *arena, fc_str_t text,
                                fc_text_t *out, fc_error_t *err) {
  size_t number = 0;
  fc_locations_t locations;
  FC_TRY(index_locations(arena, text, &locations, err));
  for (size_t at = 0; at < text.size;) {
    size_t begin = at, count;
    fc_str_t line = fc_lex_line(text, &at), sizes, size;
    if (read_allocation(line, &sizes, &count)) {
      fc_str_t location = fc_lex_location(line);
      fc_str_t place = find_place(&locations, location);
      for (size_t i = 0; i < count && fc_lex_element(&sizes, &size); i++) {
        FC_TRY(put_size_check(out, size, location, place, number++, err));
      }
    }
    FC_TRY(fc_sink_put(&out->sink, fc_lex_part(text, begin, at), err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Divisions

typedef struct fc_division_t {
  fc_str_t operands;  // "%a, %b"
  fc_str_t type;      // of each
  bool is_signed;
} fc_division_t;

static fc_str_t type_of(fc_str_t line, size_t at) {
  while (at < line.size && line.data[at] != ':') {
    // Skips the properties that an exact division has.
    if (fc_lex_nesting(line, at) > 0) at = fc_lex_balanced(line, at, false);
    else at++;
  }
  size_t open = fc_lex_space(line, at + 1), close;
  if (fc_lex_char(line, open) != '(') return (fc_str_t){0};
  close = fc_lex_balanced(line, open, false);
  fc_str_t types = fc_lex_unwrap(fc_lex_part(line, open, close)), first = {0};
  return fc_lex_count(types) == 2 && fc_lex_element(&types, &first)
             ? first
             : (fc_str_t){0};
}

// False when the line is no division. Of a division whose types cannot be read,
// out->type is empty.
static bool read_division(fc_str_t line, fc_division_t *out) {
  static const struct {
    const char *name;
    bool is_signed;
  } kDivisions[] = {{"llvm.sdiv", true},
                    {"llvm.srem", true},
                    {"llvm.udiv", false},
                    {"llvm.urem", false}};
  fc_str_t name;
  size_t open;
  if (!fc_lex_operation(line, &name, &open)) return false;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kDivisions); i++) {
    if (!fc_str_equal(name, fc_str(kDivisions[i].name))) continue;
    size_t close = fc_lex_balanced(line, open, false);
    out->operands = fc_lex_unwrap(fc_lex_part(line, open, close));
    out->type = type_of(line, close);
    out->is_signed = kDivisions[i].is_signed;
    return true;
  }
  return false;
}

// A type taken apart for its check: i32 or vector<4xi32>.
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

// Writes a constant of the type: `value`, in each lane.
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

// Writes the type of a comparison: i1 or vector<4xi1>.
static fc_status_t put_lane_type(fc_text_t *out, const fc_lanes_t *lanes,
                                 fc_error_t *err) {
  if (!lanes->lanes.size) return put(out, "i1", err);
  FC_TRY(put(out, "vector<", err));
  FC_TRY(fc_sink_put(&out->sink, lanes->lanes, err));
  return put(out, "xi1>", err);
}

// Writes what the letter behind a '$' stands for:
//   $T the type, $0 and $1 constants of it, $L the type of a comparison,
//   $( and $) around a comparison: whether it holds in any lane
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

// The function that checks a signed division. Nearly always one comparison is enough:
// divisor + 1 is above 1 as an unsigned number, so the divisor is neither 0 nor -1.
// With -1 the quotient overflows if the dividend is the least number: -a == a is true
// of that and of 0 only.
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

// Prints a report of two pieces, which are joined where the report is read.
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

// What the checks of a module share.
typedef struct fc_checks_t {
  fc_locations_t locations;
  fc_division_t *kinds;  // one for each type and sign; kind i has check i
  size_t kind_count;
  size_t count;     // divisions
  bool has_module;  // the module's first line was seen
  bool has_puts;
  bool has_abort;
} fc_checks_t;

static bool is_kind(const fc_division_t *kind, const fc_division_t *division) {
  return kind->is_signed == division->is_signed &&
         fc_str_equal(kind->type, division->type);
}

static size_t find_kind(const fc_checks_t *checks,
                        const fc_division_t *division) {
  size_t i = 0;
  while (i < checks->kind_count && !is_kind(&checks->kinds[i], division)) i++;
  return i;
}

static bool declares(fc_str_t line, const char *symbol) {
  fc_str_t name;
  size_t open;
  if (!fc_lex_operation(line, &name, &open) ||
      !fc_str_equal(name, FC_STR("llvm.func"))) {
    return false;
  }
  fc_str_t properties =
      fc_lex_properties(line, fc_lex_balanced(line, open, false));
  fc_str_t said = fc_mlir_attr(properties, FC_STR("sym_name"));
  return fc_str_equal(fc_lex_unwrap(said), fc_str(symbol));
}

static size_t count_divisions(fc_str_t text) {
  size_t count = 0;
  fc_division_t division;
  for (size_t at = 0; at < text.size;) {
    if (read_division(fc_lex_line(text, &at), &division)) count++;
  }
  return count;
}

// Reads all lines before any is written, because the checks stand in front.
static fc_status_t survey(fc_arena_t *arena, fc_str_t text, fc_checks_t *checks,
                          fc_error_t *err) {
  checks->kinds =
      fc_arena_alloc_array(arena, checks->count, sizeof *checks->kinds);
  if (!checks->kinds) return fc_fail_memory(err);
  for (size_t at = 0; at < text.size;) {
    fc_str_t line = fc_lex_line(text, &at);
    fc_division_t division;
    fc_lanes_t lanes;
    checks->has_module = checks->has_module || fc_lex_opens_module(line);
    checks->has_puts = checks->has_puts || declares(line, "puts");
    checks->has_abort = checks->has_abort || declares(line, "abort");
    if (!read_division(line, &division)) continue;
    if (!read_lanes(division.type, &lanes) || !checks->has_module) {
      return fc_fail(err, FC_CODE_ABI_METADATA,
                     "mlir-opt printed a division in a form not known here");
    }
    size_t kind = find_kind(checks, &division);
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
    char text[64];
    fc_lanes_t lanes;
    (void)read_lanes(kind->type, &lanes);  // the survey has read the type
    snprintf(text, sizeof text, "llvm.func internal @\"farcall.check.%zu\"", i);
    FC_TRY(put(out, text, err));
    FC_TRY(put_form(out, kind->is_signed ? kSigned : kUnsigned, &lanes, err));
  }
  return FC_OK;
}

// Writes @"farcall.place.N", which the check of division N prints.
static fc_status_t put_places(fc_text_t *out, fc_str_t text,
                              const fc_checks_t *checks, fc_error_t *err) {
  size_t number = 0;
  fc_division_t division;
  for (size_t at = 0; at < text.size;) {
    fc_str_t line = fc_lex_line(text, &at);
    if (!read_division(line, &division)) continue;
    char head[96];
    snprintf(head, sizeof head,
             "llvm.mlir.global internal constant @\"farcall.place.%zu\"(\"",
             number++);
    FC_TRY(put(out, head, err));
    FC_TRY(put_place(out, find_place(&checks->locations, fc_lex_location(line)),
                     err));
    FC_TRY(put(out, "\\00\")\n", err));
  }
  return FC_OK;
}

static fc_status_t put_check(fc_text_t *out, const fc_checks_t *checks,
                             const fc_division_t *division, size_t number,
                             fc_error_t *err) {
  char text[160];
  snprintf(text, sizeof text,
           "%%farcall%zu = llvm.mlir.addressof @\"farcall.place.%zu\" : "
           "!llvm.ptr\nllvm.call @\"farcall.check.%zu\"(",
           number, number, find_kind(checks, division));
  FC_TRY(put(out, text, err));
  FC_TRY(fc_sink_put(&out->sink, division->operands, err));
  snprintf(text, sizeof text, ", %%farcall%zu) : (", number);
  FC_TRY(put(out, text, err));
  FC_TRY(fc_sink_put(&out->sink, division->type, err));
  FC_TRY(put(out, ", ", err));
  FC_TRY(fc_sink_put(&out->sink, division->type, err));
  return put(out, ", !llvm.ptr) -> ()\n", err);
}

fc_status_t fc_mlir_guard_divisions(fc_arena_t *arena, fc_str_t text,
                                    fc_text_t *out, fc_error_t *err) {
  fc_checks_t checks = {.count = count_divisions(text)};
  if (!checks.count) return FC_OK;
  FC_TRY(index_locations(arena, text, &checks.locations, err));
  FC_TRY(survey(arena, text, &checks, err));
  size_t number = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size;) {
    size_t begin = at;
    fc_str_t line = fc_lex_line(text, &at);
    fc_division_t division;
    if (read_division(line, &division)) {
      FC_TRY(put_check(out, &checks, &division, number++, err));
    }
    FC_TRY(fc_sink_put(&out->sink, fc_lex_part(text, begin, at), err));
    if (inside || !fc_lex_opens_module(line)) continue;
    inside = true;
    FC_TRY(put_checks(out, &checks, err));
    FC_TRY(put_places(out, text, &checks, err));
  }
  return FC_OK;
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
  for (size_t at = 0; at < text.size;) {
    fc_str_t name;
    size_t open;
    if (!fc_lex_operation(fc_lex_line(text, &at), &name, &open)) continue;
    for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
      if (!fc_str_equal(name, fc_str(kNames[i].from))) continue;
      size_t begin = (size_t)(name.data - text.data);
      FC_TRY(fc_sink_put(&out->sink, fc_lex_part(text, done, begin), err));
      FC_TRY(put(out, kNames[i].to, err));
      done = begin + name.size;
    }
  }
  return fc_sink_put(&out->sink, fc_lex_part(text, done, text.size), err);
}
