// SPDX-License-Identifier: Apache-2.0
//
// farcalld reads the options, loads modules and serves them until it is stopped. Exit
// codes are those of sysexits.h, or 128 plus the number of a signal that came a second
// time while the server ended.
#include <errno.h>
#include <llhttp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <unistd.h>
#include <yyjson.h>

#include "check.h"
#include "config/file.h"
#include "farcall/version.h"
#include "jailing.h"
#include "listen/certificates.h"
#include "listen/token_files.h"
#include "modules/decisions.h"
#include "named.h"
#include "pool/process_main.h"
#include "server.h"

static int complain(int code, const char *message) {
  fprintf(stderr, "farcalld: %s\n", message);
  return code;
}

static int print_version(void) {
  const char *tls = fc_tls_library();
  printf("farcalld %s (libuv %s, llhttp %d.%d.%d, yyjson %s%s%s)\n",
         fc_version(), uv_version_string(), LLHTTP_VERSION_MAJOR,
         LLHTTP_VERSION_MINOR, LLHTTP_VERSION_PATCH, YYJSON_VERSION_STRING,
         *tls ? ", " : "", tls);
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
  return status == FC_OK ? EX_OK : complain(EX_OSERR, "out of memory");
}

// Returns `code` if all output could be written, else complains and returns EX_IOERR.
static int flush(int code) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  return complain(EX_IOERR, "cannot write to standard output");
}

// Checks the file of --trust, for -t, which loads nothing.
static fc_status_t check_trust(const fc_server_options_t *options,
                               fc_error_t *err) {
  fc_trust_t trust;
  if (!*options->trust) return FC_OK;
  fc_trust_init(&trust, options->trust);
  const fc_status_t status = fc_trust_read(&trust, err);
  fc_trust_deinit(&trust);
  return status;
}

// Checks the state directory for -t, which keeps no decisions.
static fc_status_t check_state(const fc_server_options_t *options,
                               fc_error_t *err) {
  const fc_allocator_t allocator = fc_allocator_system();
  fc_decision_t *decisions = NULL;
  if (!*options->state_dir) return FC_OK;
  FC_TRY(fc_decisions_read(fc_str(options->state_dir), allocator, &decisions,
                           err));
  fc_decisions_free(decisions, allocator);
  if (access(options->state_dir, W_OK | X_OK)) {
    fprintf(stderr, "farcalld: --state-dir: no decision can be kept: %s: %s\n",
            options->state_dir, strerror(errno));
  }
  return FC_OK;
}

// Checks the files besides the options that a start reads and may refuse. Also tries
// the jail.
static fc_status_t check_files(const fc_server_options_t *options,
                               fc_error_t *err) {
  FC_TRY(fc_token_files_check(options, err));
  FC_TRY(fc_certificates_check(options, err));
  FC_TRY(check_trust(options, err));
  FC_TRY(check_state(options, err));
  FC_TRY(fc_named_check(options, err));
  return fc_jailing_check(options, err);
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
  // Worker processes run other people's code and, without --worker-user, have the
  // server's user. If the server is not dumpable, they cannot open its memory and files.
  // It also leaves no core file.
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
  // A call that still runs in a thread after the drain time cannot be waited for. A file
  // that is being loaded need not be waited for.
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
  // By default each of these three signals would end the server in the middle of calls.
  // Later the loop makes SIGHUP reload the configuration.
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
  if (status == FC_OK && !only_told)
    status = fc_options_check(&options, &error);
  if (status == FC_OK && options.test) status = check_files(&options, &error);
  int code = EX_OK;
  if (status != FC_OK) code = complain(EX_USAGE, error.message);
  else if (options.version) code = flush(print_version());
  else if (options.help || options.print) code = flush(print_text(&options));
  else if (options.test) tell_right(&options);
  else code = serve(&options);
  fc_server_options_deinit(&options);
  fc_free(allocator, paths);
  return code;
}
