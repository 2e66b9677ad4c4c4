// SPDX-License-Identifier: Apache-2.0
//
// There are two passes: the schemas of each function, and all errors, go into the
// components, where client generators look for them; then the paths are written.
#include "dialect/openapi.h"

#include "abi/render.h"
#include "base/hex.h"
#include "dialect/openapi_errors.h"
#include "dialect/openapi_sessions.h"
#include "farcall/abi.h"
#include "farcall/version.h"
#include "json/writer.h"
#include "module/examples.h"
#include "pool/turn.h"

// A larger example is left out; the document has the path that returns it.
#define EXAMPLE_MAX 4096
#define SUMMARY_MAX (4u << 10)
#define NODES_MAX 1000  // types of a function; each takes up to a KiB
// The most bytes of a module's or a function's name. An escaped byte takes three.
#define NAME_SIZE 256
#define ESCAPED_MAX (3 * NAME_SIZE)
#define PREFIX_MAX (2 * ESCAPED_MAX + 2)

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

// ---------------------------------------------------------------------------
// Names

// Writes the bytes that `is_plain` allows unchanged, the others as `escape` and two
// digits. Returns the size; 0: the name is empty or has more than NAME_SIZE bytes.
static size_t put_escaped(fc_str_t name, bool (*is_plain)(char c), char escape,
                          char out[ESCAPED_MAX]) {
  size_t size = 0;
  if (name.size > NAME_SIZE) return 0;
  for (size_t i = 0; i < name.size; i++) {
    if (is_plain(name.data[i])) {
      out[size++] = name.data[i];
      continue;
    }
    out[size++] = escape;
    fc_hex_put(out + size, (uint8_t)name.data[i]);
    size += 2;
  }
  return size;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

static bool is_in_path(char c) {
  return is_word(c) || c == '-' || c == '.' || c == '~' || c == '@';
}

static bool is_in_component(char c) { return is_word(c) || c == '.'; }

// Returns the name by which a path leads to the generation: its label, or its key if the
// label now leads to another generation.
static fc_str_t name_of(const fc_parts_t *parts,
                        const fc_generation_t *generation) {
  const fc_generation_t *found = fc_generations_find(
      &parts->server->modules->generations, generation->claim.label);
  return found == generation ? generation->claim.label : generation->claim.key;
}

// Writes the prefix of the names of a function's components, "MODULE.FUNCTION.". It is
// unique, because a dot in a module's name is escaped. "": a name is empty or too long.
static fc_str_t component_prefix(fc_str_t module, const fc_function_t *function,
                                 char out[PREFIX_MAX]) {
  size_t size = put_escaped(module, is_word, '-', out);
  if (!size) return FC_STR("");
  out[size++] = '.';
  const size_t more =
      put_escaped(function->name, is_in_component, '-', out + size);
  if (!more) return FC_STR("");
  size += more;
  out[size++] = '.';
  return fc_str_make(out, size);
}

static fc_status_t put_path(fc_str_t name, fc_sink_t *sink, fc_error_t *err) {
  char text[ESCAPED_MAX];
  const size_t size = put_escaped(name, is_in_path, '%', text);
  return fc_sink_put(sink, fc_str_make(text, size), err);
}

static fc_status_t put_function_path(fc_str_t module,
                                     const fc_function_t *function,
                                     fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "'/api/v1/functions/"));
  FC_TRY(put_path(module, sink, err));
  FC_TRY(fc_json_print(sink, err, "/"));
  return put_path(function->name, sink, err);
}

// ---------------------------------------------------------------------------
// Functions

// Writes a line about the function in the form of `farcall sig`; only the name if the
// line exceeds SUMMARY_MAX bytes.
static fc_status_t put_summary(const fc_signature_t *signature, fc_sink_t *sink,
                               fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, signature->allocator, SUMMARY_MAX);
  fc_error_t error;
  fc_error_reset(&error);
  fc_status_t status = fc_signature_print_text(signature, &text.sink, &error);
  if (status == FC_OK) {
    status = fc_json_write_string(sink, fc_text_str(&text), err);
  } else if (error.code == FC_CODE_RESULT_TOO_LARGE) {
    const fc_str_t name = fc_signature_text(signature, signature->name);
    status = fc_json_write_string(sink, name, err);
  } else {
    *err = error;
  }
  fc_text_deinit(&text);
  return status;
}

// Writes the example `name`; if that is "", writes the function's default example.
static fc_status_t put_example(fc_str_t module, const fc_function_t *function,
                               fc_str_t name, fc_sink_t *sink,
                               fc_error_t *err) {
  fc_text_t text;
  fc_error_t error;
  fc_text_init(&text, function->signature->allocator, EXAMPLE_MAX);
  fc_error_reset(&error);
  fc_status_t status =
      fc_example_print(function, name, EXAMPLE_MAX, &text.sink, &error);
  if (status == FC_OK) {
    status = fc_json_print(sink, err, "{'value':");
    if (status == FC_OK) status = fc_sink_put(sink, fc_text_str(&text), err);
  } else if (error.code == FC_CODE_RESULT_TOO_LARGE) {
    status = fc_json_print(sink, err, "{'externalValue':");
    if (status == FC_OK) {
      status = put_function_path(module, function, sink, err);
    }
    if (status == FC_OK) status = fc_json_print(sink, err, "/example");
    if (status == FC_OK && name.size) {
      status = fc_json_print(sink, err, "?name=");
      if (status == FC_OK) status = put_path(name, sink, err);
    }
    if (status == FC_OK) status = fc_json_print(sink, err, "'");
  } else {
    *err = error;
  }
  fc_text_deinit(&text);
  FC_TRY(status);
  return fc_json_print(sink, err, "}");
}

static fc_status_t put_reference(fc_str_t prefix, const char *name,
                                 fc_sink_t *sink, fc_error_t *err) {
  return fc_json_print(sink, err,
                       "{'schema':{'$ref':'#/components/schemas/%.*s%s'}",
                       FC_STR_ARG(prefix), name);
}

static fc_status_t put_request(fc_str_t module, const fc_function_t *function,
                               fc_str_t prefix, fc_sink_t *sink,
                               fc_error_t *err) {
  FC_TRY(fc_json_print(
      sink, err,
      ",'requestBody':{'required':true,'content':{'application/json':"));
  FC_TRY(put_reference(prefix, "call", sink, err));
  FC_TRY(fc_json_print(sink, err, ",'examples':{"));
  const fc_expected_call_t *it = fc_example_next(function, NULL);
  if (!it) {
    FC_TRY(fc_json_print(sink, err, "'zeros':"));
    FC_TRY(put_example(module, function, FC_STR(""), sink, err));
  }
  for (const char *before = ""; it; before = ",") {
    FC_TRY(fc_json_print(sink, err, "%s'%.*s':", before, FC_STR_ARG(it->name)));
    FC_TRY(put_example(module, function, it->name, sink, err));
    it = fc_example_next(function, it);
  }
  return fc_json_print(sink, err, "}}}}");
}

static fc_status_t put_answers(fc_str_t prefix, fc_sink_t *sink,
                               fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err,
                       ",'responses':{'200':{'description':'The results',"
                       "'content':{'application/json':"));
  FC_TRY(put_reference(prefix, "answer", sink, err));
  FC_TRY(fc_json_print(
      sink, err,
      "}}},'204':{'description':'The arguments are right (validate=only)'}"));
  FC_TRY(fc_openapi_put_refusals(sink, err));
  return fc_json_print(sink, err, "}");
}

// Writes "operationId" and "tags". The id is the prefix without its last dot, followed by
// `word`. "-signature" cannot be mistaken for an escaped byte: 's' is no hex digit.
static fc_status_t put_id(fc_str_t module, fc_str_t prefix, const char *word,
                          fc_sink_t *sink, fc_error_t *err) {
  const size_t size = prefix.size - 1;
  return fc_json_print(sink, err, "{'operationId':'%.*s%s','tags':['%.*s'],",
                       FC_STR_ARG(fc_str_make(prefix.data, size)), word,
                       FC_STR_ARG(module));
}

static fc_status_t put_call(fc_str_t module, const fc_function_t *function,
                            fc_str_t prefix, fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(put_id(module, prefix, "", sink, err));
  FC_TRY(fc_json_print(sink, err, "'summary':"));
  FC_TRY(put_summary(function->signature, sink, err));
  const fc_str_t doc = fc_signature_attr(function->signature, FC_STR("doc"));
  if (doc.size) {
    FC_TRY(fc_json_print(sink, err, ",'description':'%.*s'", FC_STR_ARG(doc)));
  }
  FC_TRY(fc_json_print(
      sink, err,
      ",'parameters':[{'name':'validate','in':'query',"
      "'description':'only: check the arguments and call nothing',"
      "'schema':{'type':'string','enum':['only']}},"
      "{'$ref':'#/components/parameters/session'}]"));
  FC_TRY(put_request(module, function, prefix, sink, err));
  FC_TRY(put_answers(prefix, sink, err));
  return fc_json_print(sink, err, "}");
}

// Writes a path with its two operations: GET answers with the signature, POST calls the
// function.
static fc_status_t put_operations(fc_str_t module,
                                  const fc_function_t *function,
                                  fc_str_t prefix, fc_sink_t *sink,
                                  fc_error_t *err) {
  FC_TRY(put_function_path(module, function, sink, err));
  FC_TRY(fc_json_print(sink, err, "':{'get':"));
  FC_TRY(put_id(module, prefix, "-signature", sink, err));
  FC_TRY(fc_json_print(
      sink, err,
      "'summary':'What the function takes and gives',"
      "'responses':{'200':{'description':'The signature',"
      "'content':{'application/json':{'schema':{'type':'object'}}}},"
      "'default':{'$ref':'#/components/responses/problem'}}},'post':"));
  FC_TRY(put_call(module, function, prefix, sink, err));
  return fc_json_print(sink, err, "}");
}

// Writes the path with ?iterate. No query parameter is declared: generated clients would
// drop the path's query. A body of many documents is text: OpenAPI cannot describe it.
static fc_status_t put_steps(fc_str_t module, const fc_function_t *function,
                             fc_str_t prefix, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(put(sink, ",", err));
  FC_TRY(put_function_path(module, function, sink, err));
  FC_TRY(put(sink, "?iterate\":{\"post\":", err));
  FC_TRY(put_id(module, prefix, "-iterate", sink, err));
  FC_TRY(fc_json_print(
      sink, err,
      "'summary':'Calls it many times in a row, each step from the results of "
      "the one before','requestBody':{'required':true,'content':{'application/json':"));
  FC_TRY(put_reference(prefix, "repeated", sink, err));
  FC_TRY(fc_json_print(
      sink, err,
      "}}},'responses':{'200':{'description':'A line or an event for each step, "
      "as it is made, and one that says why it ended: each is a Step',"
      "'content':{"));
  for (int i = FC_PART_FORM_FIRST; i < FC_PART_FORM_COUNT; i++) {
    if (fc_part_rows[i].offer != FC_PART_OFFERED) continue;
    FC_TRY(fc_json_print(sink, err, "%s'%.*s':{'schema':{'type':'string'}}",
                         i > FC_PART_FORM_FIRST ? "," : "",
                         FC_STR_ARG(fc_part_rows[i].text)));
  }
  FC_TRY(put(sink, "}}", err));
  FC_TRY(fc_openapi_put_refusals(sink, err));
  FC_TRY(put(sink, "}},\"get\":", err));
  FC_TRY(put_id(module, prefix, "-events", sink, err));
  FC_TRY(fc_json_print(
      sink, err,
      "'summary':'The same for EventSource: the query has input, the document',"
      "'responses':{'200':{'description':'An event for each step, and the last "
      "one with the id end','content':{'%.*s':{'schema':{'type':'string'}}}},"
      "'204':{'description':'Last-Event-ID was end: there is no more'}",
      FC_STR_ARG(fc_part_rows[FC_PART_FORM_SOURCE].text)));
  FC_TRY(fc_openapi_put_refusals(sink, err));
  return put(sink, "}}}", err);
}

// Are the components for the module's paths in the document? Not if the module was
// replaced, described again or renamed since the first pass: then it has no path.
static bool has_components(fc_parts_t *parts, const fc_generation_t *generation,
                           bool by_label) {
  fc_parts_key_t *key = &parts->keys[parts->at - 1];
  const uint64_t mark = generation->serial << 1 | by_label;
  if (parts->pass > 0) {
    return key->mark == mark && key->module == parts->module;
  }
  key->mark = mark;
  key->module = parts->module;
  return true;
}

// Leaves out functions that cannot be called, have too long a name, or too many types for
// a turn.
static fc_status_t put_function(fc_parts_t *parts,
                                const fc_generation_t *generation, size_t index,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_function_t *function = fc_module_function(parts->module, index);
  const fc_str_t module = name_of(parts, generation);
  char text[PREFIX_MAX];
  const fc_str_t prefix = component_prefix(module, function, text);
  if (!function->plan || !prefix.size) return FC_OK;
  if (function->signature->node_count > NODES_MAX) return FC_OK;
  const bool by_label = fc_str_equal(module, generation->claim.label);
  if (!has_components(parts, generation, by_label)) return FC_OK;
  FC_TRY(put(sink, ",", err));
  if (parts->pass == 0) {
    return fc_signature_print_components(function->signature, prefix, sink,
                                         err);
  }
  FC_TRY(put_operations(module, function, prefix, sink, err));
  return put_steps(module, function, prefix, sink, err);
}

// ---------------------------------------------------------------------------
// The document

static const char kRepeat[] =
    "{'type':'object','properties':{"
    "'times':{'type':'integer','minimum':1,'maximum':%lu},"
    "'feed':{'type':'object','description':'results, and the arguments of the "
    "next step that they become','additionalProperties':{'type':'integer',"
    "'minimum':0},'propertyNames':{'pattern':'^(0|[1-9][0-9]*)$'}},"
    "'until':{'type':'object','properties':{'result':{'type':'integer',"
    "'minimum':0},'equals':{}},'required':['result','equals'],"
    "'additionalProperties':false},"
    "'emit':{'type':'array','items':{'type':'integer','minimum':0},"
    "'uniqueItems':true}},'required':['times'],'additionalProperties':false}";

static const char kStep[] =
    "{'anyOf':[{'type':'object','properties':{'step':{'type':'integer',"
    "'minimum':1},'results':{'type':'array','items':{}}},"
    "'required':['step','results'],"
    "'additionalProperties':false},{'type':'object','properties':{"
    "'done':{'type':'string','enum':['times','until']},"
    "'steps':{'type':'integer','minimum':1},"
    "'timing':{'$ref':'#/components/schemas/Timing'}},"
    "'required':['done','steps'],'additionalProperties':false},"
    "{'$ref':'#/components/schemas/Problem'}]},"
    "'Timing':{'type':'object','additionalProperties':{'type':'number'}}";

static fc_status_t begin(const fc_server_t *server, fc_sink_t *sink,
                         fc_error_t *err) {
  FC_TRY(fc_json_print(
      sink, err,
      "{'openapi':'3.1.0','info':{'title':'farcall','description':'%s',"
      "'version':'%s'},'servers':[{'url':'/'}],'security':[{},{'token':[]}],"
      "'components':{'parameters':{'session':{'name':'Farcall-Session',"
      "'in':'header','description':'The session that the call belongs to',"
      "'schema':{'type':'string'}}},'securitySchemes':{'token':{"
      "'type':'http','scheme':'bearer','description':"
      "'Needed where the listener has a token file'}},"
      "'responses':{",
      "The functions this server has loaded. GET of a function's path answers its "
      "signature.",
      fc_version()));
  FC_TRY(fc_openapi_put_responses(sink, err));
  FC_TRY(fc_json_print(sink, err, "},'schemas':{'Options':"));
  FC_TRY(fc_signature_print_options(sink, err));
  FC_TRY(fc_json_print(sink, err, ","));
  FC_TRY(fc_signature_print_stored(sink, err));
  FC_TRY(fc_openapi_put_session_schemas(sink, err));
  FC_TRY(fc_json_print(sink, err, ",'Repeat':"));
  FC_TRY(fc_json_print(sink, err, kRepeat, server->options->max_steps));
  FC_TRY(fc_json_print(sink, err, ",'Step':"));
  FC_TRY(fc_json_print(sink, err, kStep));
  FC_TRY(fc_json_print(sink, err, ",'Problem':"));
  return fc_openapi_put_problem(sink, err);
}

static fc_status_t pass(fc_parts_t *parts, bool *out_more, fc_sink_t *sink,
                        fc_error_t *err) {
  *out_more = parts->pass < 2;
  if (parts->pass != 1) return FC_OK;
  FC_TRY(put(sink, "}},\"paths\":{", err));
  return fc_openapi_put_session_paths(sink, err);
}

const fc_parts_form_t fc_openapi_form = {
    .begin = begin, .pass = pass, .function = put_function, .end = "}}"};
