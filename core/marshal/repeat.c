// SPDX-License-Identifier: Apache-2.0
//
// Reads "repeat" in one pass. Only "until" is read twice, because "equals", whose type is
// that of the result, may stand before "result".
#include "marshal/repeat.h"

#include "marshal/read.h"

static fc_status_t here(fc_frame_t *frame, fc_status_t status,
                        fc_error_t *err) {
  return fc_json_locate(&frame->reader, status, err);
}

// ---------------------------------------------------------------------------
// Members of an object

// Finds the key just read among `members`, which are sorted bytewise. `seen` has one
// bit for each member.
static fc_status_t find_member(fc_frame_t *frame, const fc_plan_key_t *members,
                               uint32_t count, uint32_t *seen,
                               uint32_t *out_member, fc_error_t *err) {
  fc_str_t name;
  FC_TRY(fc_read_text(frame, &name, err));
  const fc_plan_key_t *member = fc_plan_find(members, count, name);
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  if (!member) {
    const fc_str_t near = fc_plan_nearest(members, count, name);
    const fc_status_t status =
        fc_fail(err, FC_CODE_UNKNOWN_KEY, "there is no '%s' here; %s '%.*s'",
                shown, near.size ? "did you mean" : "there is",
                FC_STR_ARG(near.size ? near : members[0].name));
    fc_error_got(err, name);
    return here(frame, status, err);
  }
  if (*seen & 1u << member->ordinal) {
    return here(
        frame,
        fc_fail(err, FC_CODE_DUPLICATE_KEY, "'%s' is given twice", shown), err);
  }
  *seen |= 1u << member->ordinal;
  *out_member = member->ordinal;
  return FC_OK;
}

// Fails at the end of an object because the member `name` is missing.
static fc_status_t lacks(fc_frame_t *frame, const char *name, fc_error_t *err) {
  const fc_status_t status =
      fc_fail(err, FC_CODE_MISSING_KEY, "'%s' is missing", name);
  fc_error_expected(err, "key '%s'", name);
  return here(frame, status, err);
}

static fc_status_t expect(fc_frame_t *frame, fc_json_token_t wanted,
                          fc_json_token_t token, fc_error_t *err) {
  return fc_json_check(&frame->reader, token, wanted, FC_CODE_TYPE_MISMATCH,
                       err);
}

// ---------------------------------------------------------------------------
// Numbers of results and arguments

// Checks that a result or argument with this number, which was just read, exists.
static fc_status_t check_number(fc_frame_t *frame, const char *what,
                                uint64_t number, uint32_t count,
                                fc_error_t *err) {
  if (number < count) return FC_OK;
  const fc_status_t status =
      fc_fail(err, FC_CODE_OUT_OF_RANGE, "%s %llu: the function has %u", what,
              (unsigned long long)number, count);
  fc_error_expected(err, "a number below %u", count);
  return here(frame, status, err);
}

static fc_status_t read_number(fc_frame_t *frame, fc_json_token_t token,
                               const char *what, uint32_t count,
                               uint32_t *out_number, fc_error_t *err) {
  uint64_t number = 0;
  FC_TRY(expect(frame, FC_JSON_NUMBER, token, err));
  FC_TRY(
      fc_json_read_scalar(&frame->reader, token, FC_DTYPE_UI64, &number, err));
  FC_TRY(check_number(frame, what, number, count, err));
  *out_number = (uint32_t)number;
  return FC_OK;
}

// Reads the key just read as the number of a result.
static fc_status_t read_key(fc_frame_t *frame, uint32_t count,
                            uint32_t *out_number, fc_error_t *err) {
  fc_str_t text;
  FC_TRY(fc_read_text(frame, &text, err));
  uint64_t number = 0;
  bool digits = text.size && (text.size == 1 || text.data[0] != '0');
  for (size_t i = 0; i < text.size && digits; i++) {
    digits = text.data[i] >= '0' && text.data[i] <= '9';
    if (number <= UINT32_MAX)
      number = 10 * number + (uint64_t)text.data[i] - '0';
  }
  if (!digits) {
    const fc_status_t status =
        fc_fail(err, FC_CODE_TYPE_MISMATCH, "the key is a result's number");
    fc_error_expected(err, "a result's number");
    fc_error_got(err, text);
    return here(frame, status, err);
  }
  FC_TRY(check_number(frame, "result", number, count, err));
  *out_number = (uint32_t)number;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// "times"

static fc_status_t read_times(fc_frame_t *frame, fc_error_t *err) {
  fc_repeat_t *repeat = frame->repeat;
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  FC_TRY(expect(frame, FC_JSON_NUMBER, token, err));
  FC_TRY(fc_json_read_scalar(&frame->reader, token, FC_DTYPE_UI64,
                             &repeat->times, err));
  if (repeat->times >= 1 && repeat->times <= repeat->times_max) return FC_OK;
  const fc_status_t status = fc_fail(
      err, FC_CODE_OUT_OF_RANGE, "%llu times: from 1 to %llu are allowed",
      (unsigned long long)repeat->times, (unsigned long long)repeat->times_max);
  fc_error_expected(err, "1 to %llu", (unsigned long long)repeat->times_max);
  fc_error_got(err, frame->reader.text);
  return here(frame, status, err);
}

// ---------------------------------------------------------------------------
// "until"

// True unless the type shows that a value cannot have exactly one element.
static bool may_be_one(const fc_op_t *op) {
  if (op->raw < 0 || op->dtype == FC_DTYPE_NONE) return false;
  if (op->kind == FC_TYPE_SCALAR) return true;
  if (op->kind != FC_TYPE_TENSOR && op->kind != FC_TYPE_VECTOR) return false;
  for (int32_t i = 0; i < op->rank; i++) {
    if (op->dims[i] >= 0 && op->dims[i] != 1) return false;
  }
  return true;
}

static fc_status_t read_result(fc_frame_t *frame, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  uint32_t *until = &frame->repeat->until;
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  FC_TRY(read_number(frame, token, "result", plan->output_count, until, err));
  if (may_be_one(plan->outputs[*until].op)) return FC_OK;
  const fc_status_t status =
      fc_fail(err, FC_CODE_TYPE_MISMATCH,
              "result %u is no scalar and no tensor of one element", *until);
  fc_error_expected(err, "a scalar or a tensor of one element");
  return here(frame, status, err);
}

enum { UNTIL_EQUALS, UNTIL_RESULT, UNTIL_COUNT };
static const fc_plan_key_t kUntil[UNTIL_COUNT] = {
    {{"equals", 6}, NULL, UNTIL_EQUALS}, {{"result", 6}, NULL, UNTIL_RESULT}};

// Reads ahead to find "result" in the object that was just opened, and returns to the
// object's beginning.
static fc_status_t look_ahead(fc_frame_t *frame, fc_error_t *err) {
  fc_json_reader_t *reader = &frame->reader;
  fc_json_token_t token;
  fc_status_t status = FC_OK;
  fc_json_reader_copy(&frame->ahead, reader);
  do {
    FC_TRY(fc_json_next(reader, &token, err));
    if (token == FC_JSON_OBJECT_END) return lacks(frame, "result", err);
    if (fc_json_text_is(reader, kUntil[UNTIL_RESULT].name)) break;
    FC_TRY(fc_json_next(reader, &token, err));
    status = fc_json_skip(reader, token, err);
  } while (status == FC_OK);
  if (status == FC_OK) status = read_result(frame, err);
  fc_json_reader_copy(reader, &frame->ahead);
  return status;
}

static fc_status_t read_until(fc_frame_t *frame, fc_error_t *err) {
  fc_repeat_t *repeat = frame->repeat;
  fc_json_reader_t *reader = &frame->reader;
  fc_json_token_t token;
  uint32_t seen = 0, member = 0;
  FC_TRY(fc_json_next(reader, &token, err));
  FC_TRY(expect(frame, FC_JSON_OBJECT_BEGIN, token, err));
  FC_TRY(look_ahead(frame, err));
  const fc_op_t *op = frame->plan->outputs[repeat->until].op;
  for (;;) {
    FC_TRY(fc_json_next(reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    FC_TRY(find_member(frame, kUntil, UNTIL_COUNT, &seen, &member, err));
    FC_TRY(fc_json_next(reader, &token, err));
    if (member == UNTIL_RESULT) continue;
    FC_TRY(fc_fill_element(frame, op->dtype, token, repeat->equals, err));
  }
  return seen & 1u << UNTIL_EQUALS ? FC_OK : lacks(frame, "equals", err);
}

// ---------------------------------------------------------------------------
// "feed"

// True when elements of type `from` may be fed to an argument of type `to`.
// FC_DTYPE_NONE stands for any type: the type is checked once there is a value.
bool fc_repeat_dtype_feeds(fc_dtype_t from, fc_dtype_t to) {
  if (from == to || from == FC_DTYPE_NONE || to == FC_DTYPE_NONE) return true;
  const fc_dtype_info_t *a = fc_dtype_info(from), *b = fc_dtype_info(to);
  // A signless integer is read and written as a signed one.
  const bool a_signed = a->class_ == FC_DTYPE_CLASS_INT ||
                        a->class_ == FC_DTYPE_CLASS_SINT ||
                        a->class_ == FC_DTYPE_CLASS_INDEX;
  const bool b_signed = b->class_ == FC_DTYPE_CLASS_INT ||
                        b->class_ == FC_DTYPE_CLASS_SINT ||
                        b->class_ == FC_DTYPE_CLASS_INDEX;
  return a_signed && b_signed && a->bits == b->bits;
}

// Compares two types. The result is FC_CODE_NONE unless they show that a value of type
// `from` cannot be a value of type `to`. The caller compares the parts of a tree.
static fc_code_t compare_types(const fc_op_t *from, const fc_op_t *to) {
  if (from->kind != to->kind || from->child_count != to->child_count) {
    return FC_CODE_TYPE_MISMATCH;
  }
  switch ((fc_type_kind_t)from->kind) {
    case FC_TYPE_BYTES:
      if (from->flavor != to->flavor) return FC_CODE_TYPE_MISMATCH;
      break;
    case FC_TYPE_SCALAR:
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
    case FC_TYPE_TUPLE:
    case FC_TYPE_DICT:
    case FC_TYPE_NULL:
      break;
    default:
      return FC_CODE_TYPE_MISMATCH;
  }
  if (!fc_repeat_dtype_feeds(from->dtype, to->dtype))
    return FC_CODE_DTYPE_MISMATCH;
  if (from->rank < 0 || to->rank < 0) return FC_CODE_NONE;
  if (from->rank != to->rank) return FC_CODE_SHAPE_MISMATCH;
  for (int32_t i = 0; i < from->rank; i++) {
    if (from->dims[i] < 0 || to->dims[i] < 0) continue;
    if (from->dims[i] != to->dims[i]) return FC_CODE_SHAPE_MISMATCH;
  }
  return FC_CODE_NONE;
}

static fc_status_t check_feed(fc_frame_t *frame, const fc_repeat_feed_t *feed,
                              fc_error_t *err) {
  static const char *const kWhy[] = {"another type", "other elements",
                                     "other dims"};
  const fc_op_t *from = frame->plan->outputs[feed->result].op;
  const fc_op_t *to = frame->plan->inputs[feed->argument].op;
  fc_code_t code =
      from->span == to->span ? FC_CODE_NONE : FC_CODE_TYPE_MISMATCH;
  for (uint32_t i = 0; code == FC_CODE_NONE && i < from->span; i++) {
    const bool named = i == 0 || fc_str_equal(from[i].key, to[i].key);
    code = named ? compare_types(&from[i], &to[i]) : FC_CODE_TYPE_MISMATCH;
  }
  if (code == FC_CODE_NONE) return FC_OK;
  const char *why = kWhy[(code == FC_CODE_DTYPE_MISMATCH) +
                         2 * (code == FC_CODE_SHAPE_MISMATCH)];
  char owner[120];
  fc_plan_print_owner(frame->plan, to, owner, sizeof owner);
  return here(frame,
              fc_fail(err, code, "result %u cannot be %s: it has %s",
                      feed->result, owner, why),
              err);
}

static fc_status_t add_feed(fc_frame_t *frame, fc_repeat_feed_t feed,
                            fc_error_t *err) {
  fc_repeat_t *repeat = frame->repeat;
  for (uint32_t i = 0; i < repeat->feed_count; i++) {
    const fc_repeat_feed_t *other = &repeat->feeds[i];
    if (other->argument != feed.argument) continue;
    return here(frame,
                fc_fail(err, FC_CODE_DUPLICATE_ARGUMENT,
                        "argument %u gets result %u already", feed.argument,
                        other->result),
                err);
  }
  FC_TRY(check_feed(frame, &feed, err));
  repeat->feeds[repeat->feed_count++] = feed;
  return FC_OK;
}

// Reads "feed". Each argument has at most one feed, so there are at most as many feeds as
// arguments.
static fc_status_t read_feed(fc_frame_t *frame, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  fc_repeat_t *repeat = frame->repeat;
  fc_json_token_t token;
  void *memory = NULL;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  FC_TRY(expect(frame, FC_JSON_OBJECT_BEGIN, token, err));
  FC_TRY(fc_frame_alloc(frame, plan->input_count + (size_t)1,
                        sizeof *repeat->feeds, &memory, err));
  repeat->feeds = memory;
  for (;;) {
    fc_repeat_feed_t feed;
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_OBJECT_END) return FC_OK;
    FC_TRY(read_key(frame, plan->output_count, &feed.result, err));
    for (uint32_t i = 0; i < repeat->feed_count; i++) {
      if (repeat->feeds[i].result != feed.result) continue;
      return here(frame,
                  fc_fail(err, FC_CODE_DUPLICATE_KEY, "'%u' is given twice",
                          feed.result),
                  err);
    }
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    FC_TRY(read_number(frame, token, "argument", plan->input_count,
                       &feed.argument, err));
    FC_TRY(add_feed(frame, feed, err));
  }
}

// ---------------------------------------------------------------------------
// "emit"

static fc_status_t read_emit(fc_frame_t *frame, fc_error_t *err) {
  fc_repeat_t *repeat = frame->repeat;
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  FC_TRY(expect(frame, FC_JSON_ARRAY_BEGIN, token, err));
  repeat->emit_count = 0;
  for (;;) {
    uint32_t number;
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    FC_TRY(read_number(frame, token, "result", frame->plan->output_count,
                       &number, err));
    for (uint32_t i = 0; i < repeat->emit_count; i++) {
      if (repeat->emit[i] != number) continue;
      return here(frame,
                  fc_fail(err, FC_CODE_DUPLICATE_ARGUMENT,
                          "result %u is given twice", number),
                  err);
    }
    repeat->emit[repeat->emit_count++] = number;
  }
}

// Makes each step write all results. If "emit" follows, it chooses some of them.
static fc_status_t emit_all(fc_frame_t *frame, fc_error_t *err) {
  fc_repeat_t *repeat = frame->repeat;
  const uint32_t count = frame->plan->output_count;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, count + (size_t)1, sizeof *repeat->emit, &memory,
                        err));
  repeat->emit = memory;
  for (uint32_t i = 0; i < count; i++) repeat->emit[i] = i;
  repeat->emit_count = count;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The whole object

enum { EMIT, FEED, TIMES, UNTIL, MEMBER_COUNT };

fc_status_t fc_repeat_read(fc_frame_t *frame, fc_json_token_t token,
                           fc_error_t *err) {
  static const fc_plan_key_t kMembers[MEMBER_COUNT] = {
      {{"emit", 4}, NULL, EMIT},
      {{"feed", 4}, NULL, FEED},
      {{"times", 5}, NULL, TIMES},
      {{"until", 5}, NULL, UNTIL}};
  static fc_status_t (*const kRead[MEMBER_COUNT])(
      fc_frame_t *, fc_error_t *) = {read_emit, read_feed, read_times,
                                     read_until};
  uint32_t seen = 0, member = 0;
  frame->repeat->given = true;
  frame->repeat->until = FC_REPEAT_NONE;
  FC_TRY(expect(frame, FC_JSON_OBJECT_BEGIN, token, err));
  FC_TRY(emit_all(frame, err));
  for (;;) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    FC_TRY(find_member(frame, kMembers, MEMBER_COUNT, &seen, &member, err));
    FC_TRY(kRead[member](frame, err));
  }
  return seen & 1u << TIMES ? FC_OK : lacks(frame, "times", err);
}
