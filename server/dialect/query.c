// SPDX-License-Identifier: Apache-2.0
//
// Has the table of forms, and compares entity tags by RFC 9110 8.8.3. Nothing is hashed
// or stored here.
#include "dialect/query.h"

#include "abi/render.h"
#include "config/limits.h"
#include "dialect/route.h"
#include "farcall/abi.h"
#include "module/examples.h"
#include "module/prove.h"

static fc_status_t write_json(const fc_function_t *function, fc_sink_t *sink,
                              fc_error_t *err) {
  return fc_function_print_json(function, sink, err);
}

static fc_status_t write_text(const fc_function_t *function, fc_sink_t *sink,
                              fc_error_t *err) {
  return fc_signature_print_text(function->signature, sink, err);
}

static fc_status_t write_mlir(const fc_function_t *function, fc_sink_t *sink,
                              fc_error_t *err) {
  return fc_signature_print_mlir(function->signature, sink, err);
}

static fc_status_t write_schema(const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err) {
  return fc_signature_print_schema(function->signature, sink, err);
}

// IREE's metadata describes arguments and results, but cannot describe arguments that the
// function writes to.
static fc_status_t check_roles(const fc_signature_t *signature,
                               fc_error_t *err) {
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const uint8_t role = signature->arguments[i].role;
    if (role == FC_ROLE_IN) continue;
    const bool sent = fc_role_is_sent(role) || role == FC_ROLE_OUT;
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "argument %u is %s; this form has inputs alone", i,
                   sent ? "written to" : "memory that no client sends");
  }
  return FC_OK;
}

static fc_status_t write_sip(const fc_function_t *function, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(check_roles(function->signature, err));
  return fc_sip_mangle(function->signature, sink, err);
}

static fc_status_t write_v1(const fc_function_t *function, fc_sink_t *sink,
                            fc_error_t *err) {
  FC_TRY(check_roles(function->signature, err));
  return fc_v1_mangle(function->signature, sink, err);
}

typedef struct format_t {
  const char *name;
  const char *content_type;
  fc_status_t (*write)(const fc_function_t *function, fc_sink_t *sink,
                       fc_error_t *err);
} format_t;

static const format_t kFormats[] = {
#define FC_FORMAT(name, content_type, write) {name, content_type, write},
#include "dialect/format.def"
#undef FC_FORMAT
};

// Finds the form that a query names; returns the first one if it names none. parameter.c
// has refused unknown names.
static const format_t *find_format(fc_str_t query) {
  fc_str_t wanted = fc_request_query(query, FC_STR("format"));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFormats); i++) {
    if (fc_str_equal(wanted, fc_str(kFormats[i].name))) return &kFormats[i];
  }
  return &kFormats[0];
}

fc_status_t fc_query_write(const fc_function_t *function, fc_str_t query,
                           fc_sink_t *sink, fc_error_t *err) {
  const format_t *format = find_format(query);
  fc_error_t own;
  fc_error_reset(&own);
  fc_status_t status = format->write(function, sink, &own);
  if (status == FC_OK) return FC_OK;
  if (own.code == FC_CODE_UNSUPPORTED_TYPE ||
      own.code == FC_CODE_ABI_METADATA) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "function '%.*s' has no form '%s': %s",
                   FC_STR_ARG(function->name), format->name, own.message);
  }
  *err = own;
  return status;
}

static bool has_example(const fc_function_t *function, fc_str_t name) {
  const fc_expected_call_t *it = NULL;
  while ((it = fc_example_next(function, it))) {
    if (fc_str_equal(it->name, name)) return true;
  }
  return false;
}

// Decodes the name in a query. A '+' stays a '+' if the function has an example of that
// name; otherwise it is a space, as clients encode one.
static bool read_name(const fc_function_t *function, fc_str_t query, char *out,
                      size_t *out_size) {
  fc_str_t text = fc_request_query(query, FC_STR("name"));
  char spaced[FC_LIMIT_TARGET];
  if (!fc_percent_decode(text, out, out_size)) return false;
  if (has_example(function, fc_str_make(out, *out_size))) return true;
  for (size_t i = 0; i < text.size; i++) {
    spaced[i] = text.data[i] == '+' ? ' ' : text.data[i];
  }
  return fc_percent_decode(fc_str_make(spaced, text.size), out, out_size);
}

fc_status_t fc_query_example(const fc_function_t *function, fc_str_t query,
                             fc_sink_t *sink, fc_error_t *err) {
  char name[FC_LIMIT_TARGET];
  size_t size;
  const fc_signature_t *signature = function->signature;
  if (!function->plan) {
    fc_str_t reason = fc_signature_text(signature, signature->reason);
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "function '%.*s': %.*s",
                   FC_STR_ARG(function->name), FC_STR_ARG(reason));
  }
  if (!read_name(function, query, name, &size)) {
    return fc_fail(err, FC_CODE_HTTP_SYNTAX,
                   "the name of the example has a wrong percent-encoding");
  }
  fc_status_t status = fc_example_print(function, fc_str_make(name, size),
                                        FC_EXAMPLE_SIZE_MAX, sink, err);
  if (status == FC_OK || err->code != FC_CODE_RESULT_TOO_LARGE) return status;
  return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                 "an example for function '%.*s' would exceed %u bytes",
                 FC_STR_ARG(function->name), FC_EXAMPLE_SIZE_MAX);
}

// ---------------------------------------------------------------------------
// Preconditions

// True for a list "*", and if `digest` is in a list of entity tags. Weak tags count only
// if `weak`.
static bool has_tag(fc_str_t list, fc_str_t digest, bool weak) {
  if (fc_str_equal(list, FC_STR("*"))) return true;
  size_t at = 0;
  while (at < list.size) {
    char c = list.data[at];
    if (c == ' ' || c == '\t' || c == ',') {
      at++;
      continue;
    }
    bool is_weak = list.size - at > 2 && c == 'W' && list.data[at + 1] == '/';
    if (is_weak) at += 2;
    if (list.data[at] != '"') return false;
    const char *begin = list.data + at + 1;
    const char *end = memchr(begin, '"', list.size - at - 1);
    if (!end) return false;
    fc_str_t tag = fc_str_make(begin, (size_t)(end - begin));
    if ((weak || !is_weak) && fc_str_equal(tag, digest)) return true;
    at = (size_t)(end - list.data) + 1;
  }
  return false;
}

static fc_status_t fail_condition(const char *field, fc_str_t wanted,
                                  fc_str_t digest, fc_error_t *err) {
  fc_status_t status = fc_fail(err, FC_CODE_PRECONDITION_FAILED,
                               "%s does not hold: the entity tag is \"%.*s\"",
                               field, FC_STR_ARG(digest));
  fc_error_expected(err, "\"%.*s\"", FC_STR_ARG(digest));
  fc_error_got(err, wanted);
  return status;
}

// A large file is served before it is hashed. Until then its tag is unknown, and a list
// of tags may contain it. So If-Match with a list, and If-None-Match of a call, cannot be
// decided. A GET with If-None-Match gets the document.
static fc_status_t check_unknown(const fc_request_t *request, bool reads,
                                 fc_error_t *err) {
  // No tag contains a quote, so only "*" matches this.
  static const fc_str_t kNone = FC_STR("\"");
  const fc_str_t match = request->fields[FC_FIELD_IF_MATCH];
  const fc_str_t none = request->fields[FC_FIELD_IF_NONE_MATCH];
  const bool asks =
      (match.data && !has_tag(match, kNone, false)) || (none.data && !reads);
  if (!asks) return FC_OK;
  return fc_fail(err, FC_CODE_NOT_READY,
                 "the entity tag is not known yet: the module's file is still "
                 "being hashed");
}

fc_status_t fc_query_check(const fc_request_t *request, fc_str_t digest,
                           bool *out_not_modified, fc_error_t *err) {
  const bool reads =
      request->method == FC_METHOD_GET || request->method == FC_METHOD_HEAD;
  *out_not_modified = false;
  if (digest.size == 0) return check_unknown(request, reads, err);
  fc_str_t match = request->fields[FC_FIELD_IF_MATCH];
  if (match.data && !has_tag(match, digest, false)) {
    return fail_condition("If-Match", match, digest, err);
  }
  fc_str_t none = request->fields[FC_FIELD_IF_NONE_MATCH];
  if (!none.data || !has_tag(none, digest, true)) return FC_OK;
  if (!reads) return fail_condition("If-None-Match", none, digest, err);
  *out_not_modified = true;
  return FC_OK;
}

fc_status_t fc_query_document(const fc_request_t *request,
                              const fc_place_t *place,
                              const fc_generations_t *generations,
                              fc_document_t *out_document, fc_error_t *err) {
  *out_document = (fc_document_t){.content_type = FC_STR("application/json")};
  if (place->module == FC_ROUTE_NO_INDEX) return FC_OK;
  const fc_module_t *module =
      fc_generations_at(generations, place->module)->module;
  if (!module) return FC_OK;
  if (place->route == FC_ROUTE_FUNCTION) {
    out_document->content_type =
        fc_str(find_format(request->query)->content_type);
  }
  // Conditions can change while file and signature stay the same, so this document has no
  // tag.
  if (fc_str_equal(fc_request_query(request->query, FC_STR("conditions")),
                   FC_STR("1"))) {
    return FC_OK;
  }
  out_document->digest = fc_module_settled_digest(module);
  out_document->weak_digest = place->route == FC_ROUTE_MODULE;
  if (place->function != FC_ROUTE_NO_INDEX) {
    out_document->digest =
        fc_function_get_digest(fc_module_function(module, place->function));
  }
  return fc_query_check(request, out_document->digest,
                        &out_document->not_modified, err);
}
