// SPDX-License-Identifier: Apache-2.0
//
// Modules change while the server runs: files are added, changed, broken and removed.
// Acts run at the same time as other acts, their clients leave, and the server ends.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "modules/act.h"

// The rows run one after the other; each finds the files that the rows before it left.
static void files_come_change_break_and_go(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *file, *text;  // text NULL: it is removed
    const char *path;         // NULL: all are reloaded
    int status;
    const char *says;
    const char *listed;  // afterwards
  } rows[] = {
      {"nothing has changed", NULL, NULL, NULL, 200,
       "{\"loaded\":0,\"unchanged\":2,\"unloaded\":0}", NULL},
      {"a file comes", "u.fixture", "fixture", NULL, 200,
       "{\"loaded\":1,\"unchanged\":2,\"unloaded\":0}", "\"name\":\"u\""},
      {"it changes", "u.fixture", "fixture 2", NULL, 200,
       "{\"loaded\":1,\"unchanged\":2,\"unloaded\":0}", NULL},
      {"it breaks", "u.fixture", "nonsense", NULL, 422,
       "\"code\":\"module_load\"",
       "\"reason\":null,\"refused\":{\"code\":\"module_load\",\"detail\":\"u.fix"},
      {"by its name", NULL, NULL, MODULES "u/load", 422, "module_load", NULL},
      {"and again", NULL, NULL, MODULES "u/reload", 422, "\"module\":\"u\"",
       NULL},
      {"it is mended", "u.fixture", "fixture 3", MODULES "u/load", 200,
       "\"name\":\"u\",\"version\":\"1\",\"kind\":\"fixture\",\"state\":\"ready\"",
       NULL},
      {"there is a second one", "u.so",
       "\x7f"
       "ELF",
       NULL, 422, "two modules are called 'u': 'u.fixture' and 'u.so'",
       "\"name\":\"u\",\"kind\":\"native\",\"state\":\"failed\""},
      {"which is known", NULL, NULL, NULL, 200, "\"unchanged\":3", NULL},
      {"the one that serves keeps its name", NULL, NULL, MODULES "u/reload",
       200, "\"name\":\"u\",\"version\":\"1\",\"kind\":\"fixture\"", NULL},
      {"the first one is gone", "u.fixture", NULL, MODULES "u/load", 422,
       "\"code\":\"module_load\"", "\"refused\""},
      {"the second too", "u.so", NULL, MODULES "u/load", 422,
       "the file of module 'u' is gone: 'u.fixture'", "\"name\":\"u\""},
      {"so it is unloaded", NULL, NULL, NULL, 200,
       "{\"loaded\":0,\"unchanged\":2,\"unloaded\":1}", NULL},
      {"once", NULL, NULL, MODULES "u/unload", 404, "module_not_found", NULL},
      {"one is unloaded by name", NULL, NULL, MODULES "serial/unload", 200,
       "{\"name\":\"serial\",\"state\":\"unloaded\"}", NULL},
      {"and loaded", NULL, NULL, MODULES "serial/load", 200,
       "\"name\":\"serial\",\"version\":\"1\"", NULL},
      {"one that was broken from the start", "v.fixture", "nonsense", NULL, 422,
       "v.fixture", "\"name\":\"v\",\"kind\":\"fixture\",\"state\":\"failed\""},
      {"goes", "v.fixture", NULL, NULL, 200,
       "{\"loaded\":0,\"unchanged\":2,\"unloaded\":1}", NULL},
      {"one that takes less than before", "serial.fixture", "fixture narrowed",
       NULL, 409,
       "\"code\":\"signature_narrowed\",\"detail\":\"module 'serial': function 'add', "
       "argument 1: was i64, is i8 (loaded 0, unchanged 1, unloaded 0, failed "
       "1)\",\"expected\":\"i64\",\"got\":\"i8\"",
       "\"refused\":{\"code\":\"signature_narrowed\",\"detail\":\"function 'add', "},
      {"and again", NULL, NULL, MODULES "serial/load", 409,
       "signature_narrowed", NULL},
      {"unless it is forced", NULL, NULL, MODULES "serial/load?force=1", 200,
       "\"reason\":null,\"sha256\":\"6877427037d2f52d", NULL},
      {"another type is neither more nor less", "serial.fixture", "fixture",
       MODULES "serial/reload?force=0", 409, "was i8, is i64", NULL},
      {"back again", NULL, NULL, "/api/v1/reload?force=1", 200, "\"loaded\":1",
       NULL},
  };
  enter("");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    if (row->file && row->text) put(row->file, row->text);
    if (row->file && !row->text) drop(row->file);
    expect_request("POST", row->path ? row->path : "/api/v1/reload",
                   row->status, row->says);
    if (row->listed) {
      expect_request("GET", "/api/v1/modules", 200, row->listed);
    }
    expect_sum(200);
  }
  leave();
}

// The loader's threads end in any order, so either failure may be named first.
static void expect_failed_reload(const char *const *texts) {
  fixture_response_t response =
      fixture_request(&server, "POST", "/api/v1/reload", "{}");
  assert_true(response.status == 409 || response.status == 422);
  for (; *texts; texts++) {
    if (!strstr(response.body, *texts)) {
      fail_msg("no %s in %s", *texts, response.body);
    }
  }
  fixture_response_free(&response);
}

// A reload of all names each module that it could not load, in its answer and in the
// log, and says how many others were loaded. If there are too many names, it lists as
// many as fit.
static void a_reload_names_what_it_could_not_load(void **state) {
  (void)state;
  static const char *const kTwo[] = {
      "module 'bad': ",
      "module 'serial': function 'add', argument 1: was i64, is i8",
      "(loaded 1, unchanged 1, unloaded 0, failed 2)\"", NULL};
  static const char *const kMany[] = {
      " more (loaded 0, unchanged 2, unloaded 0, failed 22)\"", NULL};
  char file[32];
  enter("");
  put("good.fixture", "fixture");
  put("bad.fixture", "nonsense");
  put("serial.fixture", "fixture narrowed");
  expect_failed_reload(kTwo);
  for (int i = 0; i < 20; i++) {
    snprintf(file, sizeof file, "bad%d.fixture", i);
    put(file, "nonsense");
  }
  expect_failed_reload(kMany);
  for (int i = 0; i < 20; i++) {
    snprintf(file, sizeof file, "bad%d.fixture", i);
    drop(file);
  }
  drop("bad.fixture");
  drop("good.fixture");
  put("broken.fixture", "fixture");
  fixture_stop(&server);
  // Once in the log line of the act, and once in that of the request.
  assert_int_equal(count_of(server.log_text, kTwo[2]), 2);
  fixture_forget(&server);
}

// MODULE.FUNCTION is a model's name, and a module may have the same name. Whenever one of
// two such modules is loaded, the operator is told.
static void models_of_one_name_are_told(void **state) {
  (void)state;
  static const char *const kFiles[] = {"t.add.fixture", "a.b.fixture",
                                       "a.b.add.fixture"};
  static const char *const kTold[] = {
      "\"model\":\"t.add\",\"module\":\"t.add\",\"other_module\":\"t\","
      "\"other_function\":\"add\"",
      "\"model\":\"a.b.add\",\"module\":\"a.b.add\",\"other_module\":\"a.b\","
      "\"other_function\":\"add\"",
      "\"model\":\"t.add\",\"module\":\"t\",\"other_module\":\"t.add\"}",
  };
  enter("");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFiles); i++) {
    put(kFiles[i], "fixture");
    expect_request("POST", "/api/v1/reload", 200, "\"loaded\":1");
  }
  expect_request("POST", MODULES "t/reload", 200, "ready");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFiles); i++) drop(kFiles[i]);
  put("broken.fixture", "fixture");
  fixture_stop(&server);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTold); i++) {
    assert_int_equal(count_of(server.log_text, kTold[i]), 1);
  }
  assert_int_equal(count_of(server.log_text, "a model means two functions"), 3);
  fixture_forget(&server);
}

static void an_unloaded_module_is_gone(void **state) {
  (void)state;
  enter("");
  expect_request("POST", MODULES "t/unload", 200, "unloaded");
  expect_sum(404);
  expect_request("POST", MODULES "serial/unload", 200, "unloaded");
  // A server without modules is ready, because it may be told to load some again.
  expect_request("GET", "/readyz", 200, "{\"status\":\"ready\",\"modules\":0");
  expect_request("POST", "/v2/repository/index", 200,
                 "{\"name\":\"t\",\"version\":\"1\",\"state\":\"UNAVAILABLE\","
                 "\"reason\":\"unloaded\"}]");
  expect_request("POST", "/api/v1/reload", 200, "\"loaded\":2");
  expect_request("POST", "/v2/repository/index", 200,
                 "\"state\":\"READY\",\"reason\":\"\"}]");
  expect_sum(200);
  leave();
}

static void a_directory_that_vanishes_takes_nothing_along(void **state) {
  (void)state;
  char away[128];
  enter("");
  snprintf(away, sizeof away, "%s.away", server.directory);
  assert_int_equal(rename(server.directory, away), 0);
  for (int i = 0; i < 2; i++) {
    expect_request("POST", "/api/v1/reload", 422, "its modules stay");
  }
  expect_sum(200);
  assert_int_equal(rename(away, server.directory), 0);
  expect_request("POST", "/api/v1/reload", 200, "\"unchanged\":2");
  expect_request("GET", "/metrics", 200, "farcall_modules_failed 0\n");
  leave();
}

// Loading is held, so that the first act is certainly still in progress.
static void acts_of_one_module_do_not_meet(void **state) {
  (void)state;
  static const struct {
    const char *name, *path;
    int status;
    const char *says;
  } rows[] = {
      {"the same", MODULES "t/reload", 409, "\"code\":\"reload_in_progress\""},
      {"another of it", MODULES "t/unload", 409, "another reload by 127.0.0.1"},
      {"all", "/api/v1/reload", 409, "reload_in_progress"},
      {"another module", MODULES "serial/load", 200, "\"state\":\"ready\""},
  };
  enter("");
  fixture_hold_loading(true);
  int first = fixture_connect(&server);
  fixture_post_handled(&server, first, MODULES "t/reload", "");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    if (row->status == 200) fixture_hold_loading(false);
    expect_request("POST", row->path, row->status, row->says);
    expect_sum(200);
  }
  expect(first, 200, "\"state\":\"ready\"");
  close(first);
  leave();
}

static void an_act_goes_on_without_its_client(void **state) {
  (void)state;
  enter("");
  fixture_hold_loading(true);
  put("u.fixture", "fixture");
  int first = fixture_connect(&server);
  fixture_post_handled(&server, first, MODULES "u/load", "");
  struct linger reset = {.l_onoff = 1};
  setsockopt(first, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(first);
  fixture_hold_loading(false);
  while (true) {
    fixture_response_t response =
        fixture_request(&server, "GET", MODULES "u", "");
    const bool ready = strstr(response.body, "\"state\":\"ready\"");
    fixture_response_free(&response);
    if (ready) break;
  }
  drop("u.fixture");
  leave();
}

// The second request is sent together with the first, whose load fails. It is handled
// while the loop ends the first, and removes the generation that was to be loaded.
static void a_failed_load_is_unloaded_at_once(void **state) {
  (void)state;
  enter("");
  put("u.fixture", "nonsense");
  const int fd = fixture_connect(&server);
  fixture_send_text(fd,
                    "POST " MODULES "u/load HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Length: 0\r\n\r\n"
                    "POST " MODULES "u/unload HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Length: 0\r\n\r\n");
  expect(fd, 422, "module_load");
  expect(fd, 200, "unloaded");
  close(fd);
  expect_request("GET", MODULES "u", 404, "module_not_found");
  leave();
}

static void an_act_ends_with_the_server(void **state) {
  (void)state;
  enter("");
  fixture_hold_loading(true);
  int first = fixture_connect(&server);
  fixture_post_handled(&server, first, MODULES "t/reload", "");
  fc_loop_stop(server.loop);
  expect(first, 503, "shutting_down");
  close(first);
  fixture_hold_loading(false);
  put("broken.fixture", "fixture");
  fixture_join(&server);
  assert_int_equal(server.exit_code, 0);
  assert_non_null(strstr(server.log_text, "\"msg\":\"act\",\"act\":\"reload\","
                                          "\"by\":\"127.0.0.1, request "));
  fixture_forget(&server);
}

#define READY(name)                                               \
  "\"name\":\"" name "\",\"version\":\"1\",\"kind\":\"fixture\"," \
  "\"state\":\"ready\""

static void files_are_followed(void **state) {
  (void)state;
  enter("--watch");
  put("u.fixture", "fixture");
  wait_until_listed(READY("u"));
  // A broken file is refused once, and loaded once it is repaired.
  put("u.fixture", "nonsense");
  wait_until_listed("\"refused\":{\"code\":\"module_load\",\"detail\":\"u.fix");
  put("u.fixture", "fixture");
  wait_until_gone("\"refused\"");
  drop("u.fixture");
  wait_until_gone("\"name\":\"u\"");
  expect_sum(200);
  leave();
}

static void a_file_being_written_is_not_loaded(void **state) {
  (void)state;
  char path[128];
  enter("--watch");
  path_of("v.fixture", path);
  FILE *half = fopen(path, "w");
  assert_non_null(half);
  put("w.fixture", "fixture");
  wait_until_listed(READY("w"));
  assert_false(is_listed("\"name\":\"v\""));
  assert_true(fputs("fix", half) > 0 && fflush(half) == 0);
  drop("w.fixture");
  wait_until_gone("\"name\":\"w\"");
  assert_false(is_listed("\"name\":\"v\""));
  assert_true(fputs("ture", half) > 0);
  fclose(half);
  wait_until_listed(READY("v"));
  drop("v.fixture");
  leave();
}

// How many watches the server has, as the kernel lists them.
static unsigned count_watches(void) {
  char path[64], text[16384];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", server.loop->watch.file);
  FILE *stream = fopen(path, "r");
  assert_non_null(stream);
  text[fread(text, 1, sizeof text - 1, stream)] = '\0';
  fclose(stream);
  return count_of(text, "inotify wd:");
}

// A folder that is moved away is no longer watched.
static void a_folder_that_is_moved_away_is_forgotten(void **state) {
  (void)state;
  char folder[128], version[128], away[128];
  enter("--watch --isolation=thread");
  path_of("m", folder);
  path_of("m/1", version);
  snprintf(away, sizeof away, "%s.away", server.directory);
  const unsigned before = count_watches();
  assert_int_equal(mkdir(folder, 0700) | mkdir(version, 0700), 0);
  put("m/1/model.fixture", "fixture");
  wait_until_listed(READY("m"));
  assert_int_equal(count_watches(), before + 2);
  assert_int_equal(rename(folder, away), 0);
  wait_until_gone("\"name\":\"m\"");
  assert_int_equal(count_watches(), before);
  assert_int_equal(rename(away, folder), 0);
  wait_until_listed(READY("m"));
  assert_int_equal(count_watches(), before + 2);
  drop("m/1/model.fixture");
  assert_int_equal(rmdir(version) | rmdir(folder), 0);
  wait_until_gone("\"name\":\"m\"");
  leave();
}

static void what_was_unloaded_stays_so(void **state) {
  (void)state;
  enter("--watch");
  expect_request("POST", MODULES "serial/unload", 200, "unloaded");
  put("u.fixture", "fixture");
  wait_until_listed(READY("u"));
  assert_false(is_listed("\"name\":\"serial\""));
  put("serial.fixture", "fixture 2");  // a new file is meant to be served
  wait_until_listed(READY("serial"));
  drop("u.fixture");
  leave();
}

// Replaces files as Kubernetes does in a volume: all at once, by replacing a link.
static void a_volume_is_followed(void **state) {
  (void)state;
  char one[128], two[128], data[128], link[128], other[128];
  enter("--watch");
  path_of("..1", one);
  path_of("..2", two);
  path_of("..data", data);
  path_of("c.fixture", link);
  path_of("..tmp", other);
  assert_int_equal(mkdir(one, 0700) | mkdir(two, 0700), 0);
  put("..1/c.fixture", "fixture");
  put("..2/c.fixture", "fixture 2");
  assert_int_equal(symlink("..1", data), 0);
  assert_int_equal(symlink("..data/c.fixture", link), 0);
  wait_until_listed(READY("c"));
  expect_request("GET", MODULES "c", 200, "f16d05ec6b29248d");
  assert_int_equal(symlink("..2", other) | rename(other, data), 0);
  while (true) {
    fixture_response_t response =
        fixture_request(&server, "GET", MODULES "c", "");
    const bool old = strstr(response.body, "f16d05ec6b29248d");
    fixture_response_free(&response);
    if (!old) break;
  }
  drop("c.fixture");
  wait_until_gone("\"name\":\"c\"");
  drop("..1/c.fixture");
  drop("..2/c.fixture");
  drop("..data");
  assert_int_equal(rmdir(one) | rmdir(two), 0);
  leave();
}

// If the system does not report changes, the server looks at the files itself.
static void files_are_looked_at_now_and_then(void **state) {
  (void)state;
  enter("--watch-interval=10ms");
  put("u.fixture", "fixture");
  wait_until_listed(READY("u"));
  drop("u.fixture");
  wait_until_gone("\"name\":\"u\"");
  leave();
}

// If each reload left descriptors reserved for modules, there would be none left for
// connections, and the test would fail.
static void reloading_often_costs_nothing(void **state) {
  (void)state;
  enter("--access-log=off");
  const uint64_t reserved = server.loop->reserved_files;
  for (int i = 0; i < 50; i++) {
    expect_request("POST", MODULES "t/reload", 200, NULL);
    expect_request("POST", MODULES "serial/unload", 200, NULL);
    expect_request("POST", MODULES "serial/load", 200, NULL);
  }
  while (true) {
    fixture_response_t response =
        fixture_request(&server, "GET", "/api/v1/modules", "");
    const bool draining = strstr(response.body, "\"state\":\"draining\"");
    fixture_response_free(&response);
    if (!draining) break;
  }
  assert_int_equal(server.loop->reserved_files, reserved);
  assert_int_equal(server.loop->modules.generations.used, 2);
  leave();
}

// Starts a server with two versions each of m and n, and a directory for its decisions.
static void enter_versions(char state_dir[32]) {
  static const char *const kFolders[] = {"m", "m/1", "m/2", "n", "n/1", "n/2"};
  char flags[64], path[128], file[32];
  snprintf(state_dir, 32, "/tmp/farcall-state-XXXXXX");
  assert_non_null(mkdtemp(state_dir));
  snprintf(flags, sizeof flags, "--state-dir=%s", state_dir);
  enter(flags);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFolders); i++) {
    path_of(kFolders[i], path);
    assert_int_equal(mkdir(path, 0700), 0);
    if (strlen(kFolders[i]) < 3) continue;
    snprintf(file, sizeof file, "%s/model.fixture", kFolders[i]);
    put(file, "fixture");
    snprintf(file, sizeof file, "%s/gates", kFolders[i]);
    path_of(file, path);
    assert_int_equal(symlink("../../gates", path), 0);  // for its process
  }
  expect_request("POST", "/api/v1/reload", 200, "\"loaded\":4");
}

static void drop_versions(const char *state_dir) {
  static const char *const kGone[] = {"m/1/model.fixture",
                                      "m/1/gates",
                                      "m/2/model.fixture",
                                      "m/2/gates",
                                      "n/1/model.fixture",
                                      "n/1/gates",
                                      "n/2/model.fixture",
                                      "n/2/gates",
                                      "m/1",
                                      "m/2",
                                      "n/1",
                                      "n/2",
                                      "m",
                                      "n"};
  char path[128];
  for (size_t i = 0; i < FC_ARRAY_COUNT(kGone); i++) {
    path_of(kGone[i], path);
    (void)remove(path);
  }
  snprintf(path, sizeof path, "%s/modules", state_dir);
  (void)unlink(path);
  assert_int_equal(rmdir(state_dir), 0);
}

static void leave_versions(const char *state_dir) {
  drop_versions(state_dir);
  leave();
}

static void expect_saved(const char *state_dir, const char *part, bool there) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "%s/modules", state_dir);
  FILE *stream = fopen(path, "r");
  assert_non_null(stream);
  (void)fread(text, 1, sizeof text - 1, stream);
  fclose(stream);
  if (!strstr(text, part) == there) fail_msg("'%s' in:\n%s", part, text);
}

// Promotions of m and n come while the loader is busy with t, so both are decided
// before either is saved. If both had started from the same old list, the later one
// would undo the earlier one.
static void decisions_at_once_both_hold(void **state) {
  (void)state;
  char state_dir[32];
  enter_versions(state_dir);
  fixture_hold_loading(true);
  static const char *const kActs[] = {MODULES "t/reload", MODULES "m@1/promote",
                                      MODULES "n@1/promote"};
  int clients[3];
  for (size_t i = 0; i < FC_ARRAY_COUNT(kActs); i++) {
    clients[i] = fixture_connect(&server);
    fixture_post_handled(&server, clients[i], kActs[i], "");
  }
  fixture_hold_loading(false);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kActs); i++) {
    expect(
        clients[i], 200,
        i ? "\"before\":\"2\",\"unloaded\":null,\"persistent\":true" : "ready");
    close(clients[i]);
  }
  expect_request("GET", MODULES "m", 200, "\"version\":\"1\"");
  expect_request("GET", MODULES "n", 200, "\"version\":\"1\"");
  expect_saved(state_dir, "lead m - 1 2\n", true);
  expect_saved(state_dir, "lead n - 1 2\n", true);
  leave_versions(state_dir);
}

// A version that was rolled back does not count as failed while its name leads to
// another version. When it is the only one left, it is listed as failed with the
// reason. If it is then loaded by name, it is served again.
static void what_was_rolled_back_is_told(void **state) {
  (void)state;
  char state_dir[32];
  enter_versions(state_dir);
  expect_request("POST", MODULES "m/rollback", 200, "\"version\":\"1\"");
  expect_saved(state_dir, "refuse m 2 ", true);
  expect_request("POST", "/api/v1/reload", 200, "\"unchanged\":6");
  drop("m/1/model.fixture");
  expect_request("POST", "/api/v1/reload", 503,
                 "'model.fixture' was rolled back and has not changed since");
  expect_request("GET", MODULES "m", 200, "\"state\":\"failed\"");
  expect_request("GET", "/metrics", 200, "farcall_modules_failed 1\n");
  expect_request("POST", "/api/v1/reload", 200, "\"unchanged\":5");
  expect_request("POST", MODULES "m/load", 200, "\"version\":\"2\"");
  expect_saved(state_dir, "refuse m 2 ", false);
  expect_request("POST", MODULES "m/unload", 200, "unloaded");
  expect_request("POST", "/api/v1/reload", 200, "\"loaded\":1");
  leave_versions(state_dir);
}

// Replaces a file or folder by something that cannot be opened: a link to itself. The
// error, ELOOP, tells nothing about what was there before.
static void spoil(const char *file, const char *away) {
  char path[128], other[128];
  path_of(file, path);
  path_of(away, other);
  assert_int_equal(rename(path, other), 0);
  assert_int_equal(symlink(strrchr(path, '/') + 1, path), 0);
}

static void mend(const char *file, const char *away) {
  char path[128], other[128];
  path_of(file, path);
  path_of(away, other);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rename(other, path), 0);
}

// Versions whose folder or file cannot be read do not count as gone. The operator is
// told once of each such folder.
static void what_cannot_be_read_stays(void **state) {
  (void)state;
  static const char *const kSpoilt[][2] = {
      {"m", ".m"}, {"n/2", ".n2"}, {"n/2/model.fixture", ".file"}};
  char state_dir[32], gone[128], away[128];
  enter_versions(state_dir);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSpoilt); i++) {
    spoil(kSpoilt[i][0], kSpoilt[i][1]);
    for (int reloads = 0; reloads < 2; reloads++) {
      expect_request("POST", "/api/v1/reload", 200, "\"unloaded\":0}");
      expect_request("GET", MODULES "m@1", 200, "\"state\":\"ready\"");
      expect_request("GET", MODULES "m@2", 200, "\"state\":\"ready\"");
      expect_request("GET", MODULES "n@2", 200, "\"state\":\"ready\"");
    }
    if (i == 0) {
      expect_request("POST", MODULES "m/load", 422,
                     "directory 'm' of module 'm' cannot be read: Too many");
    }
    mend(kSpoilt[i][0], kSpoilt[i][1]);
    expect_request("POST", "/api/v1/reload", 200, "\"unloaded\":0}");
  }
  path_of("m", gone);
  path_of(".m", away);
  assert_int_equal(rename(gone, away), 0);
  expect_request("POST", "/api/v1/reload", 200, "\"unloaded\":2}");
  assert_int_equal(rename(away, gone), 0);
  drop_versions(state_dir);
  put("broken.fixture", "fixture");
  fixture_stop(&server);
  assert_int_equal(count_of(server.log_text, "a directory cannot be read"),
                   FC_ARRAY_COUNT(kSpoilt));
  fixture_forget(&server);
}

// A refused file that is loaded by name is served and no longer refused, even if this
// decision cannot be saved.
static void what_cannot_be_saved_is_served(void **state) {
  (void)state;
  char state_dir[32], draft[64];
  enter_versions(state_dir);
  expect_request("POST", MODULES "m/rollback", 200, "\"version\":\"1\"");
  snprintf(draft, sizeof draft, "%s/modules.new", state_dir);
  assert_int_equal(mkdir(draft, 0700), 0);
  expect_request("POST", MODULES "m@2/load", 503, "cannot write");
  expect_request("GET", MODULES "m@2", 200, "\"state\":\"ready\"");
  expect_request("POST", MODULES "m@2/unload", 200, "unloaded");
  expect_request("POST", "/api/v1/reload", 200, "\"loaded\":1");
  assert_int_equal(rmdir(draft), 0);
  leave_versions(state_dir);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(files_come_change_break_and_go),
      FC_TEST(a_reload_names_what_it_could_not_load),
      FC_TEST(models_of_one_name_are_told),
      FC_TEST(an_unloaded_module_is_gone),
      FC_TEST(a_directory_that_vanishes_takes_nothing_along),
      FC_TEST(acts_of_one_module_do_not_meet),
      FC_TEST(an_act_goes_on_without_its_client),
      FC_TEST(a_failed_load_is_unloaded_at_once),
      FC_TEST(an_act_ends_with_the_server),
      FC_TEST(files_are_followed),
      FC_TEST(a_file_being_written_is_not_loaded),
      FC_TEST(a_folder_that_is_moved_away_is_forgotten),
      FC_TEST(what_was_unloaded_stays_so),
      FC_TEST(a_volume_is_followed),
      FC_TEST(files_are_looked_at_now_and_then),
      FC_TEST(reloading_often_costs_nothing),
      FC_TEST(decisions_at_once_both_hold),
      FC_TEST(what_was_rolled_back_is_told),
      FC_TEST(what_cannot_be_read_stays),
      FC_TEST(what_cannot_be_saved_is_served),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
