// SPDX-License-Identifier: Apache-2.0
//
// Notices changes of files in the PATHs, with its own inotify descriptor: libuv's
// watchers do not report that a writer has closed a file. The watch only reports that
// something may have changed; listing the PATHs again finds the changes. Loop thread,
// except fc_watch_folder and fc_folders_replace.
#ifndef FARCALL_SERVER_MODULES_WATCH_H_
#define FARCALL_SERVER_MODULES_WATCH_H_

#include "farcall/base.h"

// A watched directory, and the names in it that matter.
typedef struct fc_watched_t {
  int mark;   // inotify's number for the directory, -1: it is not watched
  bool told;  // fc_watch_arm has returned that it cannot be watched
  const char *path;
  // Names that begin with this matter; "": all that do not begin with a dot.
  fc_str_t prefix;
  bool exactly;  // only a name that equals the prefix matters
} fc_watched_t;

// A file that was written to and is not closed yet.
typedef struct fc_writing_t {
  struct fc_writing_t *next;
  int mark;  // inotify's number for its directory
  fc_str_t name;
  char text[];
} fc_writing_t;

typedef struct fc_watch_t {
  fc_allocator_t allocator;
  int file;  // inotify's descriptor: it becomes readable when there are events
  fc_watched_t *watched;
  uint32_t count;
  fc_writing_t *writing;
  uint32_t writing_count;
  char *text;  // holds the bytes of all paths and names
} fc_watch_t;

// The watched directories in a PATH, as its last listing found them.
typedef struct fc_folders_t {
  int *marks;  // inotify's numbers for them, in order
  size_t count;
} fc_folders_t;

// Prepares to watch the PATHs, which it copies; fc_watch_arm begins.
// FC_CODE_OUT_OF_MEMORY: there is no memory, or no inotify descriptor.
fc_status_t fc_watch_open(fc_watch_t *watch, fc_allocator_t allocator,
                          const char *const *paths, size_t count,
                          fc_error_t *err) FC_MUST_CHECK;
// Accepts a zeroed fc_watch_t.
void fc_watch_close(fc_watch_t *watch);
// Begins to watch, also directories that were replaced or came back since the last call.
// Returns the path of a directory that cannot be watched, and the errno; each path is
// returned once until it can be watched. Call it until it returns NULL. A PATH without a
// directory is not returned.
const char *fc_watch_arm(fc_watch_t *watch, int *out_errno);
// Watches a directory in a PATH, with inotify's descriptor `file`, until the directory is
// gone or fc_folders_replace ends the watch. Any thread. Returns inotify's number for it;
// -1 and errno: it cannot be watched.
int fc_watch_folder(int file, const char *path);
// Call it when the PATH at `position` of the `count` PATHs in `all` was listed.
// `take_found` (allocated by `allocator`, ownership moves) has the marks that
// fc_watch_folder returned for it. Ends the watches of directories that no PATH has any
// more: they may have been moved elsewhere, and would report changes there. One thread
// for all calls with `all`.
void fc_folders_replace(fc_folders_t *all, size_t count, size_t position,
                        fc_folders_t take_found, int file,
                        fc_allocator_t allocator);
// Reads waiting events once. True: list the PATHs again.
bool fc_watch_take(fc_watch_t *watch);
// Was this file written to, and not closed since?
bool fc_watch_is_written(const fc_watch_t *watch, fc_str_t path);
// Does the same for a file in a directory that fc_watch_folder watches.
bool fc_watch_is_written_in(const fc_watch_t *watch, int mark, fc_str_t name);

#endif  // FARCALL_SERVER_MODULES_WATCH_H_
