// SPDX-License-Identifier: Apache-2.0
//
// Entries of the cache: folders of files, with a list of their digests, by which damage is
// noticed. An entry that is not as it was made is none. One thread.
#ifndef FARCALL_CLI_SERVE_ENTRY_H_
#define FARCALL_CLI_SERVE_ENTRY_H_

#include "cli.h"

// Characters of an entry's name, hexadecimal.
#define FC_ENTRY_NAME 32
// Folders that become entries are named so, with six characters more.
#define FC_ENTRY_NEW "new-"

// Writes the list of all files in the folder. FC_CODE_MODULE_PATH says what it could not
// read or write.
fc_status_t fc_entry_seal(fc_arena_t *arena, const char *folder,
                          fc_error_t *err) FC_MUST_CHECK;
// The path of the module that the entry has of a source; NULL: there is no such entry, or
// it is not whole, not as it was sealed, or others may write to it. An entry that is
// found is used from now on, by this process and the farcalld that it becomes.
const char *fc_entry_find(fc_arena_t *arena, const char *entry,
                          const char *source);
// Call it right before this process becomes farcalld: what it uses stays in use.
void fc_entry_keep_used(void);
// Removes entries of the cache that were not used for a month, all but the newest if there
// are many, and what a compilation that was killed has left a day ago. What is in use, or
// was in the last day, stays. Other files are left alone.
void fc_entry_prune(fc_arena_t *arena, const char *cache);

#endif  // FARCALL_CLI_SERVE_ENTRY_H_
