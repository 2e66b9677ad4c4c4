// SPDX-License-Identifier: Apache-2.0
//
// Entries of the cache: folders of files, with a list of their digests, which reveals
// damage. A changed entry counts as missing. One thread.
#ifndef FARCALL_CLI_SERVE_ENTRY_H_
#define FARCALL_CLI_SERVE_ENTRY_H_

#include "cli.h"

// Number of characters in an entry's name, hexadecimal.
#define FC_ENTRY_NAME 32
// Folders that become entries have this prefix and six more characters.
#define FC_ENTRY_NEW "new-"

// Writes the list of all files in the folder, with their digests. FC_CODE_MODULE_PATH: a
// file could not be read or written.
fc_status_t fc_entry_seal(fc_arena_t *arena, const char *folder,
                          fc_error_t *err) FC_MUST_CHECK;
// Returns the path of the module that the entry has for a source. NULL: the entry does
// not exist, is incomplete or changed, or others may write to it. From now on the entry
// counts as used by this process, and by the farcalld that it becomes.
const char *fc_entry_find(fc_arena_t *arena, const char *entry,
                          const char *source);
// Call it right before this process becomes farcalld: its entries stay in use.
void fc_entry_keep_used(void);
// Removes entries that were not used for a month, the oldest entries if there are too
// many, and remains of compilations that were killed over a day ago. Entries in use, or
// used in the last day, stay. Other files are not touched.
void fc_entry_prune(fc_arena_t *arena, const char *cache);

#endif  // FARCALL_CLI_SERVE_ENTRY_H_
