// SPDX-License-Identifier: Apache-2.0
//
// The first line is the types of a function, the rest a call document. Whatever they
// are, an error is the client's fault and has a place in the document, and memory is
// bounded. An accepted call is echoed; its answer, sent again, must give the same
// answer.
//
// The first line: a dtype letter (a = i1, b = i2, … in the order of dtype.def) is a
// scalar. `T`dims dtype is a tensor, `V` a vector, `R`dims type an array of references;
// dims are 0-9, ?, N or M (named), and end where the type begins. `U`dtype is unranked;
// S text, B bytes, Z null, A unknown, O opaque; [T] a list, (TT) a tuple, {TT} a dict
// with keys a, b, …. Before an argument, `>` means inout and `<` out. If `=` comes
// first, the arguments are one tree.
#include <stdlib.h>

#include "farcall/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)       \
  do {                         \
    if (!(condition)) abort(); \
  } while (0)

// ---------------------------------------------------------------------------
// Types

typedef struct line_t {
  const char *at;
  const char *end;
  fc_builder_t *builder;
  bool tree;
  int32_t next_raw;
  bool bad;
} line_t;

static uint32_t bad_type(line_t *line) {
  line->bad = true;
  return FC_NODE_NONE;
}

static fc_dtype_t take_dtype(line_t *line) {
  if (line->at == line->end) return FC_DTYPE_NONE;
  char c = *line->at++;
  int index = c >= 'a' && c <= 'z' ? c - 'a' + 1 : 0;
  if (c >= '!' && c <= '%') index = c - '!' + 27;  // five more
  if ((unsigned char)c >= 0x80) index = (unsigned char)c - 0x80 + 32;
  return index < FC_DTYPE_COUNT ? (fc_dtype_t)index : FC_DTYPE_NONE;
}

static int32_t take_dims(line_t *line, int64_t *dims) {
  int32_t rank = 0;
  for (; line->at < line->end && rank < 8; line->at++, rank++) {
    char c = *line->at;
    if (c >= '0' && c <= '9') dims[rank] = c - '0';
    else if (c == '?') dims[rank] = FC_DIM_DYNAMIC;
    else if (c == 'N') {
      dims[rank] = fc_builder_dim_name(line->builder, FC_STR("N"));
    } else if (c == 'M') {
      dims[rank] = fc_builder_dim_name(line->builder, FC_STR("M"));
    } else {
      break;
    }
  }
  return rank;
}

static uint32_t take_type(line_t *line, int depth);

// NOLINTNEXTLINE(misc-no-recursion): depth is bounded.
static uint32_t take_items(line_t *line, int depth, fc_type_kind_t kind,
                           char close) {
  uint32_t node = fc_builder_node(line->builder, kind);
  for (char key = 'a'; line->at < line->end && *line->at != close; key++) {
    uint32_t child = take_type(line, depth + 1);
    if (line->bad || key > 'z') return bad_type(line);
    if (kind == FC_TYPE_DICT) {
      fc_builder_append_key(line->builder, node, fc_str_make(&key, 1), child);
    } else {
      fc_builder_append(line->builder, node, child);
    }
  }
  if (line->at == line->end) return bad_type(line);
  line->at++;
  return node;
}

static uint32_t take_leaf(line_t *line, char c) {
  fc_builder_t *builder = line->builder;
  int64_t dims[8];
  int32_t rank;
  switch (c) {
    case 'T':
      rank = take_dims(line, dims);
      return fc_builder_tensor(builder, take_dtype(line), rank, dims);
    case 'V':
      rank = take_dims(line, dims);
      for (int32_t i = 0; i < rank; i++) dims[i] = dims[i] < 0 ? 2 : dims[i];
      return fc_builder_vector(builder, take_dtype(line), rank, dims);
    case 'U':
      return fc_builder_tensor(builder, take_dtype(line), FC_RANK_DYNAMIC,
                               NULL);
    case 'S':
      return fc_builder_bytes(builder, FC_FLAVOR_UTF8);
    case 'B':
      return fc_builder_bytes(builder, FC_FLAVOR_RAW);
    case 'Z':
      return fc_builder_node(builder, FC_TYPE_NULL);
    case 'A':
      return fc_builder_node(builder, FC_TYPE_UNKNOWN);
    case 'O':
      return fc_builder_opaque(builder, FC_STR("thing"));
    default:
      line->at--;
      return fc_builder_scalar(builder, take_dtype(line));
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
static uint32_t take_type(line_t *line, int depth) {
  if (line->at == line->end || depth > 20) return bad_type(line);
  char c = *line->at++;
  if (c == '(') return take_items(line, depth, FC_TYPE_TUPLE, ')');
  if (c == '{') return take_items(line, depth, FC_TYPE_DICT, '}');
  uint32_t node;
  if (c == '[') {
    node = take_items(line, depth, FC_TYPE_LIST, ']');
  } else if (c == 'R') {
    int64_t dims[8];
    int32_t rank = take_dims(line, dims);
    node = fc_builder_node(line->builder, FC_TYPE_REFARRAY);
    fc_builder_append(line->builder, node, take_type(line, depth + 1));
    fc_builder_dims(line->builder, node, rank, dims);
  } else {
    node = take_leaf(line, c);
    fc_type_t *type = fc_builder_at(line->builder, node);
    if (line->tree && type && c != 'Z') type->raw_index = line->next_raw++;
  }
  return node;
}

// Each argument of role IN is also made a result. For that the text of its type is
// parsed a second time, because one node cannot be in the argument's type and in the
// result's.
static void take_params(line_t *line) {
  line->tree = line->at < line->end && *line->at == '=';
  if (line->tree) {
    line->at++;
    fc_builder_root_tree(line->builder, true);
  }
  for (int count = 0; line->at < line->end && !line->bad; count++) {
    fc_role_t role = FC_ROLE_IN;
    if (!line->tree && *line->at == '>') role = FC_ROLE_INOUT, line->at++;
    else if (!line->tree && *line->at == '<') role = FC_ROLE_OUT, line->at++;
    int32_t raw_index = line->tree ? FC_RAW_NONE : FC_RAW_NEXT;
    const char *begin = line->at;
    const char name = (char)('a' + count);
    int32_t raw = line->next_raw;
    uint32_t node = take_type(line, 0);
    fc_builder_argument(line->builder, fc_str_make(&name, 1), node, role,
                        !line->tree && count < 26, raw_index);
    if (role != FC_ROLE_IN || line->bad) continue;
    line->at = begin;
    line->next_raw = raw;
    fc_builder_result(line->builder, (fc_str_t){0}, take_type(line, 0),
                      raw_index);
    if (line->tree && line->at < line->end) line->bad = true;
  }
}

static fc_signature_t *take_signature(fc_str_t text) {
  line_t line = {.at = text.data, .end = text.data + text.size};
  line.builder = fc_builder_create(fc_allocator_system());
  CHECK(line.builder);
  take_params(&line);
  fc_signature_t *signature = NULL;
  if (line.bad || fc_signature_build(line.builder, &signature, NULL) != FC_OK) {
    signature = NULL;
  }
  fc_builder_destroy(line.builder);
  return signature;
}

// ---------------------------------------------------------------------------
// Memory with a bound

typedef struct meter_t {
  size_t live;
  size_t peak;
} meter_t;

static void *meter_allocate(void *context, size_t size, size_t alignment) {
  (void)alignment;
  meter_t *meter = context;
  fc_allocator_t system = fc_allocator_system();
  char *block = system.allocate(system.context, size + 64, 64);
  CHECK(block);
  memcpy(block, &size, sizeof size);
  meter->live += size;
  if (meter->live > meter->peak) meter->peak = meter->live;
  return block + 64;
}

static void meter_release(void *context, void *memory) {
  meter_t *meter = context;
  fc_allocator_t system = fc_allocator_system();
  size_t size;
  memcpy(&size, (char *)memory - 64, sizeof size);
  meter->live -= size;
  system.release(system.context, (char *)memory - 64);
}

// ---------------------------------------------------------------------------
// The echo: a result is an argument that is only read, and the final contents of other
// arguments are what was sent

static fc_status_t echo(void *instance, size_t index, fc_backend_call_t *call,
                        fc_error_t *err) {
  (void)err;
  const fc_signature_t *signature =
      ((const fc_module_info_t *)instance)->signatures[index];
  size_t count = 0, finals = signature->raw_result_count;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (param->raw_index < 0) continue;
    const fc_value_t *value = &call->arguments[param->raw_index];
    if (param->role == FC_ROLE_IN) call->results[count++] = *value;
    else call->results[finals++] = *value;
  }
  if (signature->root_tree) {
    for (size_t i = 0; i < call->argument_count; i++) {
      call->results[i] = call->arguments[i];
    }
  }
  return FC_OK;
}

static void echo_end(void *instance, size_t index, fc_backend_call_t *call) {
  (void)instance;
  (void)index;
  (void)call;
}

static const fc_module_info_t *echo_inspect(const void *instance) {
  return instance;
}

static const fc_backend_t kEcho = {
    .inspect = echo_inspect, .call = echo, .call_end = echo_end};

// ---------------------------------------------------------------------------

static void check_error(const fc_error_t *err, size_t size) {
  const fc_code_info_t *info = fc_code_info(err->code);
  CHECK(err->code >= FC_CODE_JSON_SYNTAX && err->code <= FC_CODE_UNTYPED_VALUE);
  CHECK(err->status == info->status);
  CHECK(err->message[0]);
  CHECK(err->has_pointer);
  CHECK(err->pointer[0] == '\0' || err->pointer[0] == '/');
  CHECK(err->byte_offset <= size);
}

typedef struct bench_t {
  fc_signature_t *signature;
  const fc_plan_t *plan;
  fc_frame_t *frame;
} bench_t;

// False: the document was refused.
static bool trip(const bench_t *bench, fc_str_t body, fc_text_t *answer) {
  fc_error_t err;
  fc_error_reset(&err);
  fc_frame_begin(bench->frame, bench->plan, NULL);
  if (fc_frame_decode(bench->frame, body, &err) != FC_OK) {
    check_error(&err, body.size);
    return false;
  }
  fc_module_info_t info = {.signatures = &bench->signature, .count = 1};
  CHECK(fc_frame_invoke(bench->frame, &kEcho, &info, 0, NULL, 0, &err) ==
        FC_OK);
  fc_text_reset(answer);
  CHECK(fc_frame_encode(bench->frame, &answer->sink, &err) == FC_OK);
  fc_frame_end(bench->frame);
  return true;
}

static void put(fc_text_t *text, fc_str_t piece) {
  CHECK(fc_sink_put(&text->sink, piece, NULL) == FC_OK);
}

// Writes a call whose arguments are the results of the answer.
static void ask_again(const bench_t *bench, fc_str_t answer, fc_text_t *body) {
  const fc_str_t head = FC_STR("{\"results\":");
  CHECK(fc_str_starts(answer, head));
  fc_str_t list = {answer.data + head.size, answer.size - head.size - 1};
  const fc_signature_t *signature = bench->signature;
  if (signature->root_tree && signature->argument_count) {
    const fc_param_t *root = &signature->arguments[0];
    if (fc_signature_node(signature, root->type)->kind == FC_TYPE_TUPLE) {
      list = (fc_str_t){list.data + 1, list.size - 2};
    }
  }
  put(body, FC_STR("{\"options\":{\"results\":\"typed\"},\"args\":"));
  put(body, list);
  put(body, FC_STR("}"));
}

enum { TYPED, PACKED, FIRST, AGAIN, SECOND, TEXT_COUNT };

// Makes the same call and requests the results in another form. False: it is refused,
// because it may now be nested one level too deep.
static bool ask_for(const bench_t *bench, fc_str_t args, const char *form,
                    fc_text_t *body, fc_text_t *answer) {
  put(body, FC_STR("{\"options\":{\"results\":\""));
  put(body, fc_str(form));
  put(body, FC_STR("\"},\"args\":"));
  put(body, args);
  put(body, FC_STR("}"));
  return trip(bench, fc_text_str(body), answer);
}

// A typed answer contains all that was sent, so sending it again must give the same
// answer.
static void check_again(const bench_t *bench, fc_text_t *texts,
                        const fc_text_t *answer) {
  fc_text_reset(&texts[AGAIN]);
  ask_again(bench, fc_text_str(answer), &texts[AGAIN]);
  if (!trip(bench, fc_text_str(&texts[AGAIN]), &texts[SECOND])) return;
  CHECK(fc_str_equal(fc_text_str(&texts[FIRST]), fc_text_str(&texts[SECOND])));
}

static void check_trips(const bench_t *bench, fc_str_t body, fc_text_t *texts) {
  if (!trip(bench, body, &texts[FIRST])) return;
  // If the call is a bare array it can be wrapped, to request a typed answer.
  size_t blank = 0;
  while (blank < body.size && strchr(" \t\r\n", body.data[blank])) blank++;
  bool outs = bench->signature->raw_argument_count !=
              bench->signature->raw_result_count;
  if (body.data[blank] != '[' || outs) return;
  if (!ask_for(bench, body, "typed", &texts[TYPED], &texts[FIRST])) return;
  check_again(bench, texts, &texts[FIRST]);
  fc_text_reset(&texts[TYPED]);
  if (!ask_for(bench, body, "b64", &texts[TYPED], &texts[PACKED])) return;
  check_again(bench, texts, &texts[PACKED]);
}

static void check_body(const bench_t *bench, fc_str_t body) {
  fc_text_t texts[TEXT_COUNT];
  for (size_t i = 0; i < TEXT_COUNT; i++) {
    fc_text_init(&texts[i], fc_allocator_system(), (size_t)1 << 30);
  }
  check_trips(bench, body, texts);
  for (size_t i = 0; i < TEXT_COUNT; i++) fc_text_deinit(&texts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
  if (!newline) return 0;
  size_t head = (size_t)(newline - data);
  fc_str_t body = {(const char *)newline + 1, size - head - 1};
  fc_signature_t *signature =
      take_signature(fc_str_make((const char *)data, head));
  if (!signature) return 0;
  meter_t meter = {0};
  fc_allocator_t allocator = {&meter, meter_allocate, meter_release};
  const fc_limits_t limits = {.tensor_elements = 1 << 20,
                              .tensor_size = 1 << 20,
                              .result_size = (size_t)1 << 30,
                              .arena_size = 1 << 20,
                              .json_depth = 64,
                              .json_keys = 64};
  bench_t bench = {.signature = signature};
  fc_plan_t *plan = NULL;
  if (fc_plan_create(signature, allocator, &plan, NULL) == FC_OK) {
    CHECK(fc_frame_create(allocator, &limits, &bench.frame, NULL) == FC_OK);
    bench.plan = plan;
    // The memory of OUT arguments depends on the signature. The bound grows with the
    // document, so it does not include that memory.
    size_t stores = (size_t)signature->argument_count << 20;
    size_t fixed = meter.live + ((size_t)3 << 20) + stores;
    check_body(&bench, body);
    CHECK(meter.peak <= fixed + 64 * size);
    fc_frame_destroy(bench.frame);
    fc_plan_destroy(plan);
  }
  CHECK(meter.live == 0);
  fc_signature_destroy(signature);
  return 0;
}
