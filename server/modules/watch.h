// SPDX-License-Identifier: Apache-2.0
//
// Notices that files of the PATHs change, by an inotify descriptor of our own:
// libuv's never says that a file was written to its end. It says only that there is
// something to look at; what has changed is found by listing the PATHs again. The
// loop's thread.
#ifndef FARCALL_SERVER_MODULES_WATCH_H_
#define FARCALL_SERVER_MODULES_WATCH_H_

#include "farcall/base.h"

// A directory, and what matters in it.
typedef struct fc_watched_t {
  int mark;   // inotify's, -1: it cannot be watched
  bool told;  // that it cannot
  const char *path;
  fc_str_t prefix;  // of names; "": all
  bool exactly;     // the prefix is the whole name
} fc_watched_t;

// Somebody is writing to a file.
typedef struct fc_writing_t {
  struct fc_writing_t *next;
  int mark;  // of its directory
  fc_str_t name;
  char text[];
} fc_writing_t;

typedef struct fc_watch_t {
  fc_allocator_t allocator;
  int file;  // becomes readable
  fc_watched_t *watched;
  uint32_t count;
  fc_writing_t *writing;
  uint32_t writing_count;
  char *text;  // of the paths
} fc_watch_t;

// Watches the PATHs, each directory and each file. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_watch_open(fc_watch_t *watch, fc_allocator_t allocator,
                          const char *const *paths, size_t count,
                          fc_error_t *err) FC_MUST_CHECK;
// A zeroed one is allowed.
void fc_watch_close(fc_watch_t *watch);
// Watches again what was replaced or has come back. Returns the path of one that
// cannot be watched and why (errno's), each once; NULL when there is no further
// one.
const char *fc_watch_arm(fc_watch_t *watch, int *out_errno);
// Takes the events there are. True: look at the PATHs again.
bool fc_watch_take(fc_watch_t *watch);
// Has somebody begun to write to this file and not closed it yet?
bool fc_watch_is_written(const fc_watch_t *watch, fc_str_t path);

#endif  // FARCALL_SERVER_MODULES_WATCH_H_
