// SPDX-License-Identifier: Apache-2.0
//
// DECODE: turns a call document into flat values, in one pass over its bytes. Called by a
// worker. container.c reads the values of arguments; this file reads the rest: sections,
// positions and names, options. The first error in document order is reported.
#include "marshal/container.h"
#include "marshal/framed.h"
#include "marshal/read.h"
#include "marshal/repeat.h"
#include "marshal/stored.h"

// ---------------------------------------------------------------------------
// Arguments

enum { ARGS, KWARGS, OPTIONS, REPEAT, SECTION_COUNT };

// What the call document has contained so far.
typedef struct document_t {
  uint8_t *given;    // by input: 1: given, 2: given in the current "kwargs"
  uint32_t missing;  // inputs not given
  bool root_given;   // args[0] was the whole root dict
  fc_level_t rest;   // the dict of keywords, once a key of it was read
  bool bare;         // the document is the args array
  bool has[SECTION_COUNT];
  uint64_t ends[SECTION_COUNT];  // offsets at which the sections end
} document_t;

// Adds to an error about an argument's value which argument it is, and where.
static fc_status_t name_argument(fc_frame_t *frame,
                                 const fc_plan_param_t *input,
                                 fc_status_t status, fc_error_t *err) {
  if (!err || !fc_code_is_argument(err->code)) return status;
  fc_json_locate(&frame->reader, status, err);
  fc_plan_name_argument(input, err);
  return status;
}

static fc_status_t read_argument(fc_frame_t *frame, document_t *document,
                                 uint32_t input, fc_json_token_t token,
                                 fc_error_t *err) {
  const fc_plan_param_t *param = &frame->plan->inputs[input];
  fc_status_t status;
  if (document->given[input]) {
    status = fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_ARGUMENT,
                          "given twice");
  } else {
    document->given[input] = 1;
    document->missing--;
    status = fc_container_read(frame, param->op, token, err);
  }
  return status == FC_OK ? FC_OK : name_argument(frame, param, status, err);
}

#define ONCE_HINT ": put it in [ ] once more"
#define LIST_HINT \
  "; the call is a list of arguments, so one tensor stands in [ ] too"

// True when only one argument may be given by position, and it is a tensor. Clients often
// send the rows of such a tensor as arguments.
static bool takes_one_tensor(const fc_plan_t *plan) {
  return plan->positional_count == 1 &&
         plan->inputs[0].op->kind == FC_TYPE_TENSOR;
}

// Explains why the only argument, a tensor, was refused as not nested deep enough.
// If more values follow, the client probably sent the tensor's rows as
// arguments, and the message says so. If no value follows and one bracket is `missing`,
// the message says that. Reads on after the refused value, until the reader has
// `depth` open containers again, so `err` must have its position already.
static fc_status_t explain_rows(fc_frame_t *frame, uint32_t depth,
                                fc_status_t status, fc_error_t *err) {
  const int32_t missing = frame->fill.too_flat;
  fc_json_reader_t *reader = &frame->reader;
  fc_json_token_t token;
  fc_status_t read = FC_OK;
  while (read == FC_OK && reader->depth > depth) {
    read = fc_json_next(reader, &token, NULL);
  }
  if (read == FC_OK) read = fc_json_next(reader, &token, NULL);
  if (read != FC_OK) return status;
  const bool alone =
      token == FC_JSON_ARRAY_END;  // it may be the only row of a table
  if (alone && missing != 1) return status;
  fc_error_t longer;
  fc_fail(&longer, err->code, "%s%s", err->message,
          alone ? ONCE_HINT : LIST_HINT);
  memcpy(err->message, longer.message, sizeof err->message);
  return status;
}

// Reads one element of "args".
static fc_status_t read_positional(fc_frame_t *frame, document_t *document,
                                   uint32_t index, fc_json_token_t token,
                                   fc_error_t *err) {
  // If a bracket or brace was just read, the reader already counts it.
  const uint32_t depth = frame->reader.depth - (token == FC_JSON_ARRAY_BEGIN ||
                                                token == FC_JSON_OBJECT_BEGIN);
  frame->fill.too_flat = 0;
  fc_status_t status = read_argument(frame, document, index, token, err);
  const bool rows = status != FC_OK && err && frame->fill.too_flat &&
                    takes_one_tensor(frame->plan);
  return rows ? explain_rows(frame, depth, status, err) : status;
}

static fc_status_t extra_argument(fc_frame_t *frame, size_t index,
                                  fc_error_t *err) {
  uint32_t wanted = frame->plan->positional_count;
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_EXTRA_ARGUMENT,
                   "argument %zu: the function takes %u by position%s", index,
                   wanted, takes_one_tensor(frame->plan) ? LIST_HINT : "");
  fc_error_expected(err, "at most %u arguments", wanted);
  return status;
}

// Reads args[0], one JSON object, as kwargs would be read. This is for a
// function whose SIP signature (farcall/abi.h) has a dict as its root.
static fc_status_t read_root_dict(fc_frame_t *frame, document_t *document,
                                  fc_json_token_t token, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  const fc_plan_param_t root = {.op = plan->root_dict};
  document->root_given = true;
  document->missing = 0;
  fc_status_t status = fc_container_read(frame, plan->root_dict, token, err);
  return status == FC_OK ? FC_OK : name_argument(frame, &root, status, err);
}

static fc_status_t read_args(fc_frame_t *frame, document_t *document,
                             fc_json_token_t token, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  FC_TRY(fc_json_check(&frame->reader, token, FC_JSON_ARRAY_BEGIN,
                       FC_CODE_JSON_SCHEMA, err));
  for (uint32_t i = 0;; i++) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_ARRAY_END) break;
    if (i < plan->positional_count) {
      FC_TRY(read_positional(frame, document, i, token, err));
    } else if (i == 0 && plan->root_dict && !document->has[KWARGS] &&
               token == FC_JSON_OBJECT_BEGIN) {
      FC_TRY(read_root_dict(frame, document, token, err));
    } else {
      return extra_argument(frame, i, err);
    }
  }
  return FC_OK;
}

static fc_status_t duplicate_key(fc_frame_t *frame, fc_error_t *err) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, frame->reader.text);
  return fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_KEY,
                      "'%s' is given twice", shown);
}

// Reads the value of a keyword that is none of the arguments' names: it is a key of the
// last argument, a dict. The dict stays open until "kwargs" ends.
static fc_status_t read_rest(fc_frame_t *frame, document_t *document,
                             fc_str_t name, fc_error_t *err) {
  const fc_plan_param_t *rest = frame->plan->rest;
  const uint32_t input = (uint32_t)(rest - frame->plan->inputs);
  fc_status_t status;
  if (!document->rest.op && document->given[input]) {
    status = fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_ARGUMENT,
                          "given twice");
    return name_argument(frame, rest, status, err);
  }
  if (!document->rest.op) {
    FC_TRY(fc_dict_open(frame, rest->op, &document->rest, err));
    document->given[input] = 2;
    document->missing--;
  }
  status = fc_dict_read(frame, &document->rest, name, err);
  return status == FC_OK ? FC_OK : name_argument(frame, rest, status, err);
}

static fc_status_t close_rest(fc_frame_t *frame, document_t *document,
                              fc_error_t *err) {
  if (!document->rest.op) return FC_OK;
  fc_status_t status = fc_dict_close(frame, &document->rest, err);
  return status == FC_OK ? FC_OK
                         : name_argument(frame, frame->plan->rest, status, err);
}

static bool takes_rest(const fc_plan_t *plan, fc_str_t name) {
  if (!plan->rest) return false;
  const fc_op_t *op = plan->rest->op;
  return fc_plan_find(&plan->keys[op->keys], op->child_count, name);
}

static fc_status_t read_kwargs(fc_frame_t *frame, document_t *document,
                               fc_json_token_t token, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  FC_TRY(fc_json_check(&frame->reader, token, FC_JSON_OBJECT_BEGIN,
                       FC_CODE_JSON_SCHEMA, err));
  for (;;) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    fc_str_t name;
    FC_TRY(fc_read_text(frame, &name, err));
    const fc_plan_key_t *key =
        fc_plan_find(plan->keywords, plan->keyword_count, name);
    if (!key && takes_rest(plan, name)) {
      FC_TRY(read_rest(frame, document, name, err));
      continue;
    }
    if (!key) {
      const bool rest = plan->rest && !plan->keyword_count;
      const fc_op_t *op = rest ? plan->rest->op : NULL;
      return fc_container_unknown(
          frame, FC_CODE_UNKNOWN_ARGUMENT, "argument", name,
          rest ? &plan->keys[op->keys] : plan->keywords,
          rest ? op->child_count : plan->keyword_count,
          plan->input_count ? "those of this function have no names, so they "
                              "are members of 'args' in order"
                            : "the function takes none",
          err);
    }
    // The name comes twice in this object: it has already given the input.
    if (document->given[key->ordinal] == 2) return duplicate_key(frame, err);
    if (document->given[key->ordinal] || document->root_given) {
      fc_status_t status = fc_json_fail(
          &frame->reader, err, FC_CODE_DUPLICATE_ARGUMENT, "given twice");
      return name_argument(frame, &plan->inputs[key->ordinal], status, err);
    }
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    FC_TRY(read_argument(frame, document, key->ordinal, token, err));
    document->given[key->ordinal] = 2;
  }
  return close_rest(frame, document, err);
}

// ---------------------------------------------------------------------------
// The document

// Finds the key just read in `fields`, which are sorted bytewise.
static fc_status_t find_field(fc_frame_t *frame, const fc_plan_key_t *fields,
                              uint32_t count, const char *what,
                              uint32_t *out_field, fc_error_t *err) {
  fc_str_t name;
  FC_TRY(fc_read_text(frame, &name, err));
  const fc_plan_key_t *field = fc_plan_find(fields, count, name);
  if (!field) {
    return fc_container_unknown(frame, FC_CODE_UNKNOWN_FIELD, what, name,
                                fields, count, "", err);
  }
  *out_field = field->ordinal;
  return FC_OK;
}

// The options of a call, sorted bytewise, and the values that each may have.
enum {
  OPTION_IF_ABSENT,
  OPTION_INT64,
  OPTION_KEEP,
  OPTION_RESULTS,
  OPTION_COUNT
};
static const fc_plan_key_t kOptions[OPTION_COUNT] = {
    {{"if_absent", 9}, NULL, OPTION_IF_ABSENT},
    {{"int64", 5}, NULL, OPTION_INT64},
    {{"keep", 4}, NULL, OPTION_KEEP},
    {{"results", 7}, NULL, OPTION_RESULTS}};
static const struct {
  const char *texts[3];  // "results": in the order of fc_results_t from 1 on
  const char *expected;
} kValues[OPTION_COUNT] = {
    [OPTION_INT64] = {{"string"}, "\"string\""},
    [OPTION_RESULTS] = {{"typed", "b64"}, "\"typed\" or \"b64\""},
};

static fc_status_t wrong_value(fc_frame_t *frame, uint32_t option,
                               fc_json_token_t token, fc_error_t *err) {
  const char *expected = kValues[option].expected;
  const bool text = token == FC_JSON_STRING;
  fc_str_t found =
      text ? frame->reader.text : fc_str(fc_json_token_name(token));
  char shown[80];
  fc_escape(shown, sizeof shown, 64, found);
  fc_status_t status = fc_fail(
      err, FC_CODE_JSON_SCHEMA,
      text ? "option '%s' is %s, found '%s'" : "option '%s' is %s, found %s",
      kOptions[option].name.data, expected, shown);
  fc_error_expected(err, "%s", expected);
  fc_error_got(err, found);
  return fc_json_locate(&frame->reader, status, err);
}

// Reads the value of an option. *out_value is the number of the value among
// those that the option may have, from 1 on.
static fc_status_t read_option(fc_frame_t *frame, uint32_t option,
                               unsigned *out_value, fc_error_t *err) {
  fc_json_token_t token;
  *out_value = 1;
  if (option == OPTION_KEEP) return fc_stored_read_keep(frame, err);
  if (option == OPTION_IF_ABSENT) return fc_stored_read_absent(frame, err);
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  const char *const *texts = kValues[option].texts;
  for (unsigned i = 0; token == FC_JSON_STRING && texts[i]; i++) {
    if (!fc_json_text_is(&frame->reader, fc_str(texts[i]))) continue;
    *out_value = i + 1;
    return FC_OK;
  }
  return wrong_value(frame, option, token, err);
}

static fc_status_t read_options(fc_frame_t *frame, fc_json_token_t token,
                                fc_error_t *err) {
  unsigned values[OPTION_COUNT] = {0};
  FC_TRY(fc_json_check(&frame->reader, token, FC_JSON_OBJECT_BEGIN,
                       FC_CODE_JSON_SCHEMA, err));
  for (;;) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    uint32_t option = 0;
    FC_TRY(find_field(frame, kOptions, OPTION_COUNT, "option", &option, err));
    if (values[option]) return duplicate_key(frame, err);
    FC_TRY(read_option(frame, option, &values[option], err));
  }
  frame->options = (fc_options_t){values[OPTION_INT64] != 0,
                                  (fc_results_t)values[OPTION_RESULTS]};
  return FC_OK;
}

// Fails because an argument stands at the top level. The client probably meant
// `kwargs`.
static fc_status_t misplaced_argument(fc_frame_t *frame, fc_str_t name,
                                      fc_error_t *err) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_UNKNOWN_FIELD,
                   "there is no member '%s': arguments by name are "
                   "members of 'kwargs'",
                   shown);
  fc_error_got(err, name);
  return status;
}

static fc_status_t read_section(fc_frame_t *frame, document_t *document,
                                fc_error_t *err) {
  static const fc_plan_key_t kSections[SECTION_COUNT] = {
      {{"args", 4}, NULL, ARGS},
      {{"kwargs", 6}, NULL, KWARGS},
      {{"options", 7}, NULL, OPTIONS},
      {{"repeat", 6}, NULL, REPEAT}};
  const fc_plan_t *plan = frame->plan;
  const uint32_t count = frame->repeat ? SECTION_COUNT : REPEAT;
  uint32_t section = 0;
  fc_str_t name;
  FC_TRY(fc_read_text(frame, &name, err));
  if (!fc_plan_find(kSections, count, name) &&
      fc_plan_find(plan->keywords, plan->keyword_count, name)) {
    return misplaced_argument(frame, name, err);
  }
  FC_TRY(find_field(frame, kSections, count, "member", &section, err));
  if (document->has[section]) return duplicate_key(frame, err);
  document->has[section] = true;
  fc_json_token_t token;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  switch (section) {
    case ARGS:
      FC_TRY(read_args(frame, document, token, err));
      break;
    case KWARGS:
      FC_TRY(read_kwargs(frame, document, token, err));
      break;
    case REPEAT:
      FC_TRY(fc_repeat_read(frame, token, err));
      break;
    default:
      FC_TRY(read_options(frame, token, err));
      break;
  }
  document->ends[section] = frame->reader.token_offset;
  return FC_OK;
}

// Fails because an argument was not given. The error points at the end of "kwargs" or
// "args", where it is missing, or at the end of the document if it has neither.
static fc_status_t missing_argument(fc_frame_t *frame,
                                    const document_t *document,
                                    fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  uint32_t i = 0;
  while (document->given[i]) i++;
  const fc_plan_param_t *input = &plan->inputs[i];
  fc_status_t status = fc_fail(err, FC_CODE_MISSING_ARGUMENT, "missing");
  name_argument(frame, input, status, err);
  if (!err) return status;
  const fc_plan_key_t *key =
      fc_plan_find(plan->keywords, plan->keyword_count, input->name);
  if (document->bare) return status;
  if (document->has[KWARGS] && (key || !document->has[ARGS])) {
    memcpy(err->pointer, "/kwargs", sizeof "/kwargs");
    err->byte_offset = document->ends[KWARGS];
  } else if (document->has[ARGS]) {
    memcpy(err->pointer, "/args", sizeof "/args");
    err->byte_offset = document->ends[ARGS];
  }
  return status;
}

static fc_status_t read_document(fc_frame_t *frame, document_t *document,
                                 fc_error_t *err) {
  fc_json_reader_t *reader = &frame->reader;
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  if (token == FC_JSON_ARRAY_BEGIN) {
    document->bare = true;
    FC_TRY(read_args(frame, document, token, err));
  } else if (token == FC_JSON_OBJECT_BEGIN) {
    for (;;) {
      FC_TRY(fc_json_next(reader, &token, err));
      if (token == FC_JSON_OBJECT_END) break;
      FC_TRY(read_section(frame, document, err));
    }
  } else {
    return fc_json_mismatch(&frame->reader, FC_CODE_JSON_SCHEMA, token,
                            "an array of arguments or an object", err);
  }
  if (document->missing) return missing_argument(frame, document, err);
  return fc_json_next(reader, &token, err);
}

static fc_status_t decode(fc_frame_t *frame, fc_str_t text, fc_error_t *err) {
  if (!frame->plan) return fc_frame_fail_idle(err);
  if (!frame->arguments || !frame->named_dims) return fc_fail_memory(err);
  document_t document = {.missing = frame->plan->input_count};
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, document.missing + (size_t)1, 1, &memory, err));
  document.given = memory;
  frame->depth = 0;
  fc_frame_read(frame, text.data, text.size);
  FC_TRY(read_document(frame, &document, err));
  if (frame->raw.size) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "%zu bytes of the body belong to no value", frame->raw.size);
  }
  fc_status_t status = fc_frame_place_stores(frame, err);
  if (status != FC_OK) return fc_json_locate(&frame->reader, status, err);
  frame->decoded = true;
  return FC_OK;
}

fc_status_t fc_frame_decode(fc_frame_t *frame, fc_str_t body, fc_error_t *err) {
  return decode(frame, body, err);
}

fc_status_t fc_framed_decode(fc_frame_t *frame, fc_str_t body,
                             uint64_t document, fc_error_t *err) {
  FC_TRY(fc_read_split(frame, &body, document, err));
  frame->framed = true;
  return decode(frame, body, err);
}
