// SPDX-License-Identifier: Apache-2.0
//
// farcalld: reads the options, loads modules, serves them until told to stop.
// Exit codes are those of sysexits.h.
#include <llhttp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <unistd.h>
#include <yyjson.h>

#include "config/address.h"
#include "config/file.h"
#include "config/limits.h"
#include "config/policy.h"
#include "config/socket_file.h"
#include "config/table.h"
#include "farcall/version.h"
#include "modules/policy.h"
#include "modules/versions.h"
#include "pool/isolation.h"
#include "pool/process.h"
#include "pool/tiles.h"
#include "server.h"

static int complain(int code, const char *message) {
  fprintf(stderr, "farcalld: %s\n", message);
  return code;
}

static int print_version(void) {
  printf("farcalld %s (libuv %s, llhttp %d.%d.%d, yyjson %s)\n", fc_version(),
         uv_version_string(), LLHTTP_VERSION_MAJOR, LLHTTP_VERSION_MINOR,
         LLHTTP_VERSION_PATCH, YYJSON_VERSION_STRING);
  return EX_OK;
}

static void tell_right(const fc_server_options_t *options) {
  fprintf(stderr, "farcalld: the options are right%s\n",
          options->path_count ? "" : "; to start, a PATH has to be given too");
}

static int print_text(const fc_server_options_t *options) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 4u << 20);
  fc_status_t status = options->help
                           ? fc_server_options_help(&text.sink, NULL)
                           : fc_config_file_print(options, &text.sink, NULL);
  fc_str_t shown = fc_text_str(&text);
  if (status == FC_OK) fwrite(shown.data, 1, shown.size, stdout);
  fc_text_deinit(&text);
  return status == FC_OK ? EX_OK : EX_OSERR;
}

// Refuses numbers that the server could not keep, or with which it could serve
// nothing.
static fc_status_t check_ranges(const fc_server_options_t *options,
                                unsigned *out_option, fc_error_t *err) {
  static const struct {
    unsigned option;  // a COUNT or a SIZE
    uint64_t least, most;
  } kRanges[] = {
      {FC_OPTION_tiles, 1, FC_TILES_MAX},
      {FC_OPTION_workers, 0, FC_LIMIT_WORKERS},
      {FC_OPTION_crash_limit, 0, FC_LIMIT_CRASHES},
      {FC_OPTION_connections, 1, UINT64_MAX},
      {FC_OPTION_max_body, 1, UINT64_MAX},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRanges); i++) {
    const fc_option_t *option = &fc_options[kRanges[i].option];
    uint64_t value;
    memcpy(&value, (const char *)options + option->offset, sizeof value);
    if (value >= kRanges[i].least && value <= kRanges[i].most) continue;
    const bool low = value < kRanges[i].least;
    *out_option = kRanges[i].option;
    return fc_fail(
        err, FC_CODE_OUT_OF_RANGE, "--%s: %llu is not at %s %llu", option->flag,
        (unsigned long long)value, low ? "least" : "most",
        (unsigned long long)(low ? kRanges[i].least : kRanges[i].most));
  }
  return FC_OK;
}

// The same for what is said of single modules.
static fc_status_t check_modules(const fc_server_options_t *options,
                                 fc_error_t *err) {
  fc_module_policies_t policies;
  fc_status_t status = FC_OK;
  FC_TRY(
      fc_module_policies_init(&policies, fc_allocator_system(), options, err));
  for (uint32_t i = 0; status == FC_OK && i < policies.count; i++) {
    unsigned key;
    const fc_module_policy_t *policy = &policies.items[i];
    status = fc_module_policy_check(policy, &key, err);
    if (status == FC_OK) continue;
    char message[sizeof err->message];
    memcpy(message, err->message, sizeof message);
    status = fc_fail(err, err->code, "\"%s\" of module '%s': %s",
                     fc_module_keys[key].flag, policy->name, message);
    fc_config_locate_at(options, policy->origins[key], err);
  }
  fc_module_policies_deinit(&policies);
  return status;
}

// Checks options whose values are otherwise read only when the server starts,
// and says where a wrong one was given.
static fc_status_t check(const fc_server_options_t *options, fc_error_t *err) {
  fc_address_t address;
  fc_str_t item;
  fc_policy_t policy;
  fc_socket_file_t file;
  unsigned option = FC_OPTION_listen;
  fc_status_t status = FC_OK;
  for (uint32_t i = 0;
       status == FC_OK && fc_texts_at(&options->listen, i, &item); i++) {
    status = fc_address_parse(item, &address, err);
    if (status == FC_OK) {
      status = fc_policy_check_bind(options, &address, item, err);
    }
  }
  if (status == FC_OK) status = check_ranges(options, &option, err);
  if (status == FC_OK) {
    option = FC_OPTION_trusted_proxy;
    status = fc_policy_init(&policy, fc_str(options->allow_host),
                            fc_str(options->trusted_proxy), err);
  }
  if (status == FC_OK) {
    option = options->socket_mode[0] ? FC_OPTION_socket_mode
                                     : FC_OPTION_socket_owner;
    status = fc_socket_file_parse(fc_str(options->socket_mode),
                                  fc_str(options->socket_owner), &file, err);
  }
  if (status == FC_OK) {
    option = FC_OPTION_isolation;
    status = fc_isolation_check(fc_str(options->isolation), err);
  }
  if (status == FC_OK) {
    option = FC_OPTION_versions;
    status = fc_versions_check(fc_str(options->versions), err);
  }
  if (status == FC_OK) {
    option = FC_OPTION_aliases;
    status = fc_module_aliases_check(fc_str(options->aliases), err);
  }
  if (status != FC_OK) fc_config_locate(options, option, err);
  return status == FC_OK ? check_modules(options, err) : status;
}

static int exit_code(fc_code_t code) {
  switch (code) {
    case FC_CODE_FORBIDDEN:
    case FC_CODE_NOT_ACCEPTABLE:
      return EX_USAGE;
    case FC_CODE_MODULE_UNAVAILABLE:
      return EX_UNAVAILABLE;
    default:
      return EX_OSERR;
  }
}

static int serve(const fc_server_options_t *options) {
  // Worker processes have the same user and run other people's code: this keeps
  // them from opening the server's memory and files. It also prevents core
  // files.
  (void)prctl(PR_SET_DUMPABLE, 0);
  fc_allocator_t allocator = fc_allocator_system();
  fc_loop_t *loop = fc_alloc(allocator, sizeof *loop);
  if (!loop) return complain(EX_OSERR, "out of memory");
  fc_error_t error;
  if (fc_loop_init(loop, allocator, options, fc_backends, &fc_routes,
                   STDERR_FILENO, &error) != FC_OK) {
    fc_free(allocator, loop);
    return complain(exit_code(error.code), error.message);
  }
  int code = fc_loop_run(loop);
  // A call that runs in a thread after the drain time cannot be waited for, and
  // a file that is being loaded need not be.
  if (fc_pool_in_threads(&loop->pool) || fc_modules_is_busy(&loop->modules)) {
    fc_log_flush(&loop->log);
    _exit(code);
  }
  fc_loop_deinit(loop);
  fc_free(allocator, loop);
  return code;
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--worker")) {
    const fc_dialect_worker_t *dialects[FC_DIALECTS_MAX];
    fc_dialect_workers(&fc_routes, dialects);
    fc_process_main(argc, argv, fc_backends, dialects);
  }
  signal(SIGPIPE, SIG_IGN);
  // By default these signals would end the server in the middle of calls. The
  // loop makes SIGHUP a reload later.
  signal(SIGHUP, SIG_IGN);
  signal(SIGUSR1, SIG_IGN);
  signal(SIGUSR2, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);  // if ignored, it would hide how workers end
  fc_allocator_t allocator = fc_allocator_system();
  const char **paths = fc_alloc_array(allocator, (size_t)argc, sizeof *paths);
  if (!paths) return complain(EX_OSERR, "out of memory");
  fc_server_options_t options;
  fc_error_t error;
  fc_status_t status =
      fc_server_options_parse(&options, argc, (const char *const *)argv, paths,
                              (const char *const *)environ, &error);
  const bool only_told = options.help || options.version;
  if (status == FC_OK && !only_told) status = check(&options, &error);
  int code = EX_OK;
  if (status != FC_OK) code = complain(EX_USAGE, error.message);
  else if (options.version) code = print_version();
  else if (options.help || options.print) code = print_text(&options);
  else if (options.test) tell_right(&options);
  else code = serve(&options);
  fc_server_options_deinit(&options);
  fc_free(allocator, paths);
  return code;
}
