// SPDX-License-Identifier: Apache-2.0
//
// The documents of /api/v1 and of the server's state. Lists of all modules or all
// functions, and documents about a module with many functions, are written in parts
// (fc_parts_form_t); other documents at once.
#include "dialect/reflect.h"

#include "dialect/condition.h"
#include "dialect/explorer.h"
#include "dialect/metrics.h"
#include "dialect/openapi.h"
#include "dialect/query.h"
#include "dialect/ready.h"
#include "farcall/version.h"
#include "json/writer.h"
#include "module/examples.h"
#include "modules/memory.h"
#include "config/limits.h"
#include "config/table.h"

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static const char *flag(bool value) { return value ? "true" : "false"; }

static fc_status_t put_or_null(fc_sink_t *sink, const char *text,
                               fc_error_t *err) {
  return text ? fc_json_print(sink, err, "'%s'", text) : put(sink, "null", err);
}

static uint64_t uptime_ms(const fc_server_t *server) {
  return (fc_clock_ns() - server->started_ns) / 1000000u;
}

static fc_status_t write_index(const fc_server_t *server, fc_sink_t *sink,
                               fc_error_t *err) {
  const fc_routes_t *routes = server->routes;
  // KServe's first protocol asks at this path whether the server is alive.
  FC_TRY(fc_json_print(
      sink, err,
      "{'name':'farcalld','version':'%s','status':'alive','routes':[",
      fc_version()));
  for (int i = FC_ROUTE_NONE + 1; i < (int)routes->count; i++) {
    const fc_route_t route = (fc_route_t)i;
    FC_TRY(fc_json_print(sink, err, "%s{'path':'%.*s','methods':'%s'}",
                         i > FC_ROUTE_NONE + 1 ? "," : "",
                         FC_STR_ARG(fc_route_path(routes, route)),
                         fc_route_allow(routes, route)));
  }
  return put(sink, "]}", err);
}

static fc_status_t write_limits(const fc_server_t *server, fc_sink_t *sink,
                                fc_error_t *err) {
  const fc_server_options_t *options = server->options;
  const fc_limits_t values = fc_limits_default(), *limits = &values;
  const fc_blocks_usage_t usage = fc_blocks_usage(server->blocks);
  return fc_json_print(
      sink, err,
      "'limits':{'body':%lu,'target':%u,'headers':%u,'header_fields':%d,"
      "'json_depth':%u,'json_keys':%u,'tensor_elements':%lu,"
      "'tensor_size':%lu,'result_size':%lu,'timeout_ms':%lu,'queue':%u,"
      "'memory':%lu,'client_memory':%lu,'connections':%lu}",
      options->max_body, FC_LIMIT_TARGET, FC_LIMIT_HEADERS, FC_LIMIT_FIELDS,
      limits->json_depth, limits->json_keys, limits->tensor_elements,
      limits->tensor_size, limits->result_size, options->timeout,
      server->pool->options.queue_limit, usage.limit, usage.share,
      options->connections);
}

// Writes for each limit of control groups null if it can be set, or the reason why it
// cannot.
static fc_status_t write_groups(const fc_groups_t *groups, fc_sink_t *sink,
                                fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, ",'groups':{"));
  for (unsigned i = 0; i < FC_GROUP_LIMITS; i++) {
    const char *reason = groups->reasons[i];
    FC_TRY(fc_json_print(sink, err, "%s'%s':", i ? "," : "",
                         fc_group_limit_name((fc_group_limit_t)i)));
    FC_TRY(put_or_null(sink, *reason ? reason : NULL, err));
  }
  return put(sink, "}", err);
}

static fc_status_t write_sandbox(const fc_server_t *server, fc_sink_t *sink,
                                 fc_error_t *err) {
  const fc_jail_facts_t *facts = fc_jail_know(server->jail);
  const fc_str_t mode =
      fc_choice_word(FC_WORDS(SANDBOX), server->options->sandbox);
  FC_TRY(fc_json_print(sink, err, ",'sandbox':{'mode':'%.*s','parts':[",
                       FC_STR_ARG(mode)));
  for (unsigned i = 0, count = 0; i < FC_JAIL_PARTS; i++) {
    if (!(facts->parts >> i & 1)) continue;
    FC_TRY(fc_json_print(sink, err, "%s'%s'", count++ ? "," : "",
                         fc_jail_parts[i].text));
  }
  FC_TRY(fc_json_print(sink, err, "],'lacks':["));
  for (unsigned i = 0, count = 0; i < FC_JAIL_PARTS; i++) {
    if (!facts->errors[i]) continue;
    FC_TRY(fc_json_print(sink, err, "%s{'part':'%s','reason':'%s'}",
                         count++ ? "," : "", fc_jail_parts[i].text,
                         strerror(facts->errors[i])));
  }
  FC_TRY(put(sink, "]", err));
  if (server->groups->asked) FC_TRY(write_groups(server->groups, sink, err));
  return put(sink, "}", err);
}

static fc_status_t write_info(const fc_server_t *server,
                              const fc_place_t *place, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(fc_json_print(
      sink, err,
      "{'name':'farcalld','version':'%s','ready':%s,'uptime_ms':%lu,"
      "'instance':'%lu','workers':%u,'modules':%u",
      fc_version(), flag(fc_ready_is(server)), uptime_ms(server),
      server->instance, server->pool->options.workers,
      server->modules->generations.used));
  FC_TRY(write_sandbox(server, sink, err));
  FC_TRY(fc_json_print(sink, err,
                       ",'formats':['application/json'],'profile':%s,",
                       flag(place->may_profile)));
  FC_TRY(write_limits(server, sink, err));
  fc_blocks_usage_t usage = fc_blocks_usage(server->blocks);
  return fc_json_print(
      sink, err,
      ",'in_flight':{'connections':%u,'waiting':%u,'running':%u,'bytes':%lu,"
      "'bytes_kept':%lu}}",
      server->connections, server->pool->waiting, fc_pool_running(server->pool),
      usage.taken, usage.kept);
}

static fc_status_t write_function(const fc_module_t *module, size_t index,
                                  fc_sink_t *sink, fc_error_t *err) {
  return fc_function_print_json(fc_module_function(module, index), sink, err);
}

static fc_status_t write_name(const fc_module_t *module, size_t index,
                              fc_sink_t *sink, fc_error_t *err) {
  return fc_json_write_string(sink, fc_module_function(module, index)->name,
                              err);
}

static fc_status_t write_short(const fc_module_t *module, size_t index,
                               fc_sink_t *sink, fc_error_t *err) {
  return fc_signature_print_short(fc_module_function(module, index)->signature,
                                  fc_module_get_name(module),
                                  fc_module_get_version(module), sink, err);
}

typedef fc_status_t (*write_one_t)(const fc_module_t *module, size_t index,
                                   fc_sink_t *sink, fc_error_t *err);

static fc_status_t write_each(const fc_generation_t *generation,
                              write_one_t write_one, bool *is_first,
                              fc_sink_t *sink, fc_error_t *err) {
  const fc_module_t *module = generation->module;
  for (size_t i = 0; i < fc_module_function_count(module); i++) {
    if (!fc_generation_exposes(generation, fc_module_function(module, i))) {
      continue;
    }
    if (!*is_first) FC_TRY(put(sink, ",", err));
    *is_first = false;
    FC_TRY(write_one(module, i, sink, err));
  }
  return FC_OK;
}

static fc_status_t write_functions_of(const fc_generation_t *generation,
                                      bool signatures, fc_sink_t *sink,
                                      fc_error_t *err) {
  bool is_first = true;
  FC_TRY(fc_json_print(sink, err, "{'functions':["));
  FC_TRY(write_each(generation, signatures ? write_function : write_short,
                    &is_first, sink, err));
  return put(sink, "]}", err);
}

static fc_status_t write_processes(const fc_host_t *host,
                                   const fc_host_facts_t *facts,
                                   fc_sink_t *sink, fc_error_t *err) {
  const fc_str_t fresh = fc_choice_word(FC_WORDS(FRESH), facts->fresh);
  const fc_str_t sandbox = fc_choice_word(FC_WORDS(SANDBOX), facts->sandbox);
  FC_TRY(fc_json_print(sink, err,
                       ",'fresh':'%.*s','sandbox':'%.*s','workers':[",
                       FC_STR_ARG(fresh), FC_STR_ARG(sandbox)));
  fc_host_worker_t worker;
  for (uint32_t i = 0; fc_host_worker(host, i, &worker); i++) {
    FC_TRY(fc_json_print(sink, err, "%s{'pid':%d,'state':'%s','calls':%lu}",
                         i ? "," : "", worker.pid, worker.state, worker.calls));
  }
  FC_TRY(fc_json_print(
      sink, err,
      "],'crashes':%lu,'restarts':%lu,'quarantines':%lu,'quarantined_until':",
      facts->crashes, facts->restarts, facts->quarantines));
  char text[FC_TIME_TEXT];
  if (facts->quarantined_ns) fc_time_print(facts->quarantined_ns, text);
  return put_or_null(sink, facts->quarantined_ns ? text : NULL, err);
}

// Writes which host runs a module, and the state of its workers.
static fc_status_t write_host(const fc_server_t *server, uint32_t index,
                              fc_sink_t *sink, fc_error_t *err) {
  const fc_host_t *host = fc_pool_host(server->pool, index);
  fc_pool_numbers_t numbers;
  fc_host_facts_t facts = {0};
  if (host) fc_host_describe(host, &facts);
  fc_pool_numbers(server->pool, index, &numbers);
  FC_TRY(fc_json_print(
      sink, err,
      ",'host':{'isolation':'%s','waiting':%lu,'running':%lu,'timeouts':%lu",
      facts.in_process ? "process" : "thread", numbers.waiting, numbers.running,
      numbers.timeouts));
  FC_TRY(facts.in_process
             ? write_processes(host, &facts, sink, err)
             : fc_json_print(sink, err, ",'lost_threads':%lu", numbers.lost));
  return put(sink, "}", err);
}

static const char *const kStates[] = {
    [FC_GENERATION_LOADING] = "loading",
    [FC_GENERATION_READY] = "ready",
    [FC_GENERATION_FAILED] = "failed",
    [FC_GENERATION_DRAINING] = "draining",
    [FC_GENERATION_DESCRIBED] = "described",
};

// Writes why a module is not served. If it is served, writes why a newer file of it is
// not.
static fc_status_t write_reason(const fc_generation_t *generation,
                                fc_sink_t *sink, fc_error_t *err) {
  const char *reason = generation->error.message;
  if (fc_generation_state(generation) == FC_GENERATION_FAILED) {
    return fc_json_print(sink, err, ",'reason':'%s'", reason);
  }
  FC_TRY(fc_json_print(sink, err, ",'reason':null"));
  if (generation->error.code == FC_CODE_NONE) return FC_OK;
  return fc_json_print(sink, err, ",'refused':{'code':'%s','detail':'%s'}",
                       fc_code_info(generation->error.code)->text, reason);
}

// Parts of a module that are written only if the request asks for them.
typedef struct extras_t {
  bool signatures;
  bool memory;
  bool conditions;
} extras_t;

static bool is_asked(fc_str_t query, fc_str_t key) {
  return fc_str_equal(fc_request_query(query, key), FC_STR("1"));
}

static extras_t read_extras(fc_str_t query) {
  return (extras_t){.signatures = is_asked(query, FC_STR("signatures")),
                    .memory = is_asked(query, FC_STR("memory")),
                    .conditions = is_asked(query, FC_STR("conditions"))};
}

static fc_status_t put_alias(const fc_server_t *server,
                             const fc_generation_t *generation, fc_str_t alias,
                             bool *first, fc_sink_t *sink, fc_error_t *err) {
  const fc_str_t name = generation->claim.name;
  if (fc_generations_find_version(&server->modules->generations, name, alias) !=
      generation) {
    return FC_OK;
  }
  FC_TRY(fc_json_print(sink, err, "%s'%.*s@%.*s'", *first ? "" : ",",
                       FC_STR_ARG(name), FC_STR_ARG(alias)));
  *first = false;
  return FC_OK;
}

// Writes the names that lead to a generation: the module's name, and names with an alias.
static fc_status_t write_names(const fc_server_t *server,
                               const fc_generation_t *generation,
                               fc_sink_t *sink, fc_error_t *err) {
  const fc_generations_t *all = &server->modules->generations;
  const fc_str_t name = generation->claim.name;
  bool first = fc_generations_find(all, name) != generation;
  FC_TRY(put(sink, ",\"names\":[", err));
  if (!first) FC_TRY(fc_json_print(sink, err, "'%.*s'", FC_STR_ARG(name)));
  for (const fc_decision_t *d = all->decisions; d; d = d->next) {
    if (d->mark || !d->alias.size || !fc_str_equal(d->name, name)) continue;
    FC_TRY(put_alias(server, generation, d->alias, &first, sink, err));
  }
  fc_str_t rest = fc_str(generation->policy ? generation->policy->aliases : "");
  while (rest.size) {
    fc_str_t version = fc_str_take(&rest, ',');
    const fc_str_t alias = fc_str_take(&version, '=');
    if (fc_decisions_find(all->decisions, name, alias)) continue;
    FC_TRY(put_alias(server, generation, alias, &first, sink, err));
  }
  return put(sink, "]", err);
}

// Writes the members of a module up to "functions". If *out_open, the array is open: the
// caller writes the functions and closes it. Otherwise the functions are not known: an
// empty array is written, or null if the file was not read.
static fc_status_t begin_module(const fc_server_t *server,
                                const fc_generation_t *generation,
                                extras_t extras, bool *out_open,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_module_t *module = generation->module;
  const fc_generation_claim_t *claim = &generation->claim;
  *out_open = module != NULL;
  FC_TRY(fc_json_print(sink, err, "{'name':'%.*s'", FC_STR_ARG(claim->name)));
  if (module || claim->label.size != claim->name.size) {
    FC_TRY(fc_json_print(sink, err, ",'version':'%.*s'",
                         FC_STR_ARG(claim->version)));
  }
  FC_TRY(fc_json_print(
      sink, err, ",'kind':'%s','state':'%s','generation':%lu", generation->kind,
      kStates[fc_generation_state(generation)], generation->serial));
  FC_TRY(write_reason(generation, sink, err));
  if (extras.conditions) {
    FC_TRY(fc_json_print(sink, err, ",'conditions':"));
    FC_TRY(fc_conditions_write(server, generation, sink, err));
    // `label` is the name that metrics and the log use.
    FC_TRY(
        fc_json_print(sink, err, ",'label':'%.*s'", FC_STR_ARG(claim->label)));
    FC_TRY(write_names(server, generation, sink, err));
  }
  if (extras.memory) {
    FC_TRY(fc_json_print(sink, err, ",'calls':%lu,'memory':%lu",
                         generation->calls,
                         fc_modules_memory(server->modules, generation)));
  }
  // The file of a DESCRIBED module may not have been read yet.
  const bool known =
      module || fc_generation_state(generation) != FC_GENERATION_DESCRIBED;
  if (!known) return fc_json_print(sink, err, ",'functions':null");
  if (!module) return fc_json_print(sink, err, ",'functions':[]");
  const char *sha256 = fc_module_get_sha256(module);
  if (*sha256) FC_TRY(fc_json_print(sink, err, ",'sha256':'%s'", sha256));
  return fc_json_print(sink, err, ",'functions':[");
}

static fc_status_t write_module(const fc_server_t *server,
                                const fc_generation_t *generation,
                                extras_t extras, fc_sink_t *sink,
                                fc_error_t *err) {
  bool is_first = true, is_open;
  FC_TRY(begin_module(server, generation, extras, &is_open, sink, err));
  if (!is_open) return FC_OK;
  FC_TRY(write_each(generation, extras.signatures ? write_function : write_name,
                    &is_first, sink, err));
  return put(sink, "]", err);
}

static fc_status_t put_host(const fc_server_t *server,
                            const fc_generation_t *generation, fc_sink_t *sink,
                            fc_error_t *err) {
  if (!fc_step_in_pool(generation->step) || !generation->module) return FC_OK;
  return write_host(server, generation->index, sink, err);
}

static fc_status_t write_one_module(const fc_server_t *server, uint32_t index,
                                    extras_t extras, fc_sink_t *sink,
                                    fc_error_t *err) {
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, index);
  FC_TRY(write_module(server, generation, extras, sink, err));
  FC_TRY(put_host(server, generation, sink, err));
  return put(sink, "}", err);
}

// ---------------------------------------------------------------------------
// All modules, all functions: in parts

// parts->flags: the additions that the request asks for.
enum { ASKS_SIGNATURES = 1, ASKS_MEMORY = 2, ASKS_CONDITIONS = 4 };

static extras_t extras_of(uint32_t flags) {
  return (extras_t){.signatures = flags & ASKS_SIGNATURES,
                    .memory = flags & ASKS_MEMORY,
                    .conditions = flags & ASKS_CONDITIONS};
}

static uint32_t flags_of(extras_t extras) {
  return (extras.signatures ? ASKS_SIGNATURES : 0u) |
         (extras.memory ? ASKS_MEMORY : 0u) |
         (extras.conditions ? ASKS_CONDITIONS : 0u);
}

static fc_status_t begin_modules(const fc_server_t *server, fc_sink_t *sink,
                                 fc_error_t *err) {
  (void)server;
  return fc_json_print(sink, err, "{'modules':[");
}

// The server's conditions come before the modules.
static fc_status_t begin_conditions(const fc_server_t *server, fc_sink_t *sink,
                                    fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "{'conditions':"));
  FC_TRY(fc_conditions_write(server, NULL, sink, err));
  return fc_json_print(sink, err, ",'modules':[");
}

static fc_status_t put_module(fc_parts_t *parts,
                              const fc_generation_t *generation,
                              fc_sink_t *sink, fc_error_t *err) {
  const extras_t extras = extras_of(parts->flags);
  FC_TRY(fc_parts_comma(parts, sink, err));
  // A draining generation may be removed soon, so it cannot be held.
  if (!extras.signatures || !generation->module || !generation->claim.current) {
    FC_TRY(write_module(parts->server, generation, extras, sink, err));
    return put(sink, "}", err);
  }
  bool is_open;
  FC_TRY(begin_module(parts->server, generation, extras, &is_open, sink, err));
  fc_parts_hold(parts, generation);
  return FC_OK;
}

static fc_status_t begin_functions(const fc_server_t *server, fc_sink_t *sink,
                                   fc_error_t *err) {
  (void)server;
  return fc_json_print(sink, err, "{'functions':[");
}

static fc_status_t put_function(fc_parts_t *parts,
                                const fc_generation_t *generation, size_t index,
                                fc_sink_t *sink, fc_error_t *err) {
  (void)generation;
  const bool signatures = parts->flags & ASKS_SIGNATURES;
  FC_TRY(fc_parts_comma(parts, sink, err));
  return (signatures ? write_function : write_short)(parts->module, index, sink,
                                                     err);
}

static const fc_parts_form_t kModules = {.with_draining = true,
                                         .begin = begin_modules,
                                         .module = put_module,
                                         .function = put_function,
                                         .module_end = "]}",
                                         .end = "]}"};
static const fc_parts_form_t kConditions = {.with_draining = true,
                                            .begin = begin_conditions,
                                            .module = put_module,
                                            .function = put_function,
                                            .module_end = "]}",
                                            .end = "]}"};
static const fc_parts_form_t kFunctions = {
    .begin = begin_functions, .function = put_function, .end = "]}"};

// Writes a function in a document about one module.
static fc_status_t put_member(fc_parts_t *parts,
                              const fc_generation_t *generation, size_t index,
                              fc_sink_t *sink, fc_error_t *err) {
  (void)generation;
  const bool signatures = parts->flags & ASKS_SIGNATURES;
  FC_TRY(fc_parts_comma(parts, sink, err));
  return (signatures ? write_function : write_name)(parts->module, index, sink,
                                                    err);
}

static fc_status_t end_members(const fc_server_t *server,
                               const fc_generation_t *generation,
                               fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(put(sink, "]", err));
  return put_host(server, generation, sink, err);
}

static const fc_parts_form_t kModule = {
    .function = put_member, .last = end_members, .end = "}"};
static const fc_parts_form_t kFunctionsOf = {.function = put_function,
                                             .end = "]}"};

// Returns the generation for a document about one module with many functions; NULL: the
// document is written at once.
static const fc_generation_t *find_large(const fc_server_t *server,
                                         const fc_place_t *place) {
  if (place->route != FC_ROUTE_MODULE && place->route != FC_ROUTE_FUNCTIONS_OF)
    return NULL;
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  const fc_module_t *module = generation ? generation->module : NULL;
  return module && fc_module_function_count(module) > FC_LIMIT_PART_LOOKS
             ? generation
             : NULL;
}

static fc_status_t begin_large(const fc_server_t *server,
                               const fc_place_t *place,
                               const fc_generation_t *generation,
                               uint32_t flags, fc_document_t *out_document,
                               fc_sink_t *sink, fc_error_t *err) {
  const bool all = place->route == FC_ROUTE_MODULE;
  bool is_open;
  FC_TRY(all ? begin_module(server, generation, extras_of(flags), &is_open,
                            sink, err)
             : begin_functions(server, sink, err));
  return fc_parts_create_of(server, all ? &kModule : &kFunctionsOf, flags,
                            generation, &out_document->parts, err);
}

static const fc_function_t *function_of(const fc_generation_t *generation,
                                        const fc_place_t *place) {
  return fc_module_function(generation->module, place->function);
}

static fc_status_t write_ready(const fc_server_t *server, fc_str_t query,
                               fc_document_t *out_document, fc_sink_t *sink,
                               fc_error_t *err) {
  if (!fc_ready_is_verbose(query)) return fc_ready_write(server, sink, err);
  return fc_ready_write_verbose(server, &out_document->unavailable, sink, err);
}

static fc_status_t write_startup(const fc_server_t *server, fc_sink_t *sink,
                                 fc_error_t *err) {
  if (server->modules->started)
    return fc_json_print(sink, err, "{'status':'started'}");
  return fc_fail(err, FC_CODE_NOT_READY, "modules are still being loaded");
}

fc_status_t fc_reflect_write_module(const fc_server_t *server, uint32_t index,
                                    fc_sink_t *sink, fc_error_t *err) {
  return write_one_module(server, index, extras_of(0), sink, err);
}

fc_status_t fc_reflect_document(const fc_server_t *server,
                                const fc_request_t *request,
                                const fc_place_t *place,
                                fc_document_t *out_document, fc_sink_t *sink,
                                fc_error_t *err) {
  FC_TRY(fc_query_document(request, place, &server->modules->generations,
                           out_document, err));
  if (out_document->not_modified) return FC_OK;
  const fc_generation_t *large = find_large(server, place);
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  const extras_t extras = read_extras(request->query);
  const uint32_t flags = flags_of(extras);
  if (large) {
    return begin_large(server, place, large, flags, out_document, sink, err);
  }
  switch ((int)place->route) {
#define FC_NATIVE_ROUTE(name, path, methods, scope, document) \
  case FC_ROUTE_##name:                                       \
    return document;
#define FC_PAGE_ROUTE FC_NATIVE_ROUTE
#include "dialect/route.def"
  }
  return fc_fail(err, FC_CODE_INTERNAL, "a route without a document");
}
