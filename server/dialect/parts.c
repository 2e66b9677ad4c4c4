// SPDX-License-Identifier: Apache-2.0
//
// Generations are added and removed between two parts, so an index may mean another
// generation later. So keys and serial numbers are stored too, and each generation is
// looked up when it is written.
#include "dialect/parts.h"

#include "config/limits.h"

typedef enum step_t {
  STEP_LIST,
  STEP_BEGIN,
  STEP_PASS,
  STEP_ENTRIES,
  STEP_END
} step_t;

static bool is_listed(const fc_generation_t *generation, bool with_draining) {
  return generation && (generation->claim.current || with_draining);
}

// Lists generations and returns their number. *out_size is the number of bytes of their
// keys. With `keys` NULL, only counts.
static uint32_t list(const fc_generations_t *generations, bool with_draining,
                     fc_parts_key_t *keys, char *texts, size_t *out_size) {
  uint32_t count = 0;
  size_t size = 0;
  for (uint32_t i = 0; i < generations->count; i++) {
    const fc_generation_t *generation = generations->places[i];
    if (!is_listed(generation, with_draining)) continue;
    const fc_str_t key = generation->claim.key;
    if (keys) {
      keys[count] = (fc_parts_key_t){.index = i,
                                     .size = (uint32_t)key.size,
                                     .serial = generation->serial,
                                     .text = size,
                                     .current = generation->claim.current};
      memcpy(texts + size, key.data, key.size);
    }
    size += key.size;
    count++;
  }
  *out_size = size;
  return count;
}

fc_status_t fc_parts_create(const fc_server_t *server,
                            const fc_parts_form_t *form, uint32_t flags,
                            fc_parts_t **out_parts, fc_error_t *err) {
  fc_parts_t *parts =
      fc_alloc(server->modules->generations.allocator, sizeof *parts);
  if (!parts) return fc_fail_memory(err);
  *parts = (fc_parts_t){
      .server = server, .form = form, .flags = flags, .list = FC_BLOCK_NONE};
  *out_parts = parts;
  return FC_OK;
}

static fc_status_t list_all(fc_parts_t *parts, fc_error_t *err) {
  const fc_generations_t *generations = &parts->server->modules->generations;
  const bool with_draining = parts->form->with_draining;
  size_t size;
  const uint32_t count = list(generations, with_draining, NULL, NULL, &size);
  const size_t keys = count * sizeof *parts->keys;
  FC_TRY(fc_block_take_for(parts->server->blocks, &parts->owner, keys + size,
                           keys + size, &parts->list, err));
  parts->keys = (fc_parts_key_t *)(void *)fc_block_data(parts->server->blocks,
                                                        parts->list);
  char *texts = (char *)(parts->keys + count);
  (void)list(generations, with_draining, parts->keys, texts, &size);
  parts->texts = texts;
  parts->count = count;
  return FC_OK;
}

static void release(fc_parts_t *parts) {
  if (!parts->held) return;
  fc_module_release(parts->module);
  fc_generations_release(&parts->server->modules->generations, parts->held);
  parts->held = NULL;
}

void fc_parts_destroy(fc_parts_t *parts) {
  if (!parts) return;
  const fc_allocator_t allocator =
      parts->server->modules->generations.allocator;
  release(parts);
  fc_block_give(parts->server->blocks, parts->list);
  fc_free(allocator, parts);
}

fc_status_t fc_parts_comma(fc_parts_t *parts, fc_sink_t *sink,
                           fc_error_t *err) {
  if (parts->any) return fc_sink_put(sink, FC_STR(","), err);
  parts->any = true;
  return FC_OK;
}

void fc_parts_hold(fc_parts_t *parts, const fc_generation_t *generation) {
  parts->held = fc_generations_at(&parts->server->modules->generations,
                                  generation->index);
  fc_generation_hold(parts->held);
  parts->module = fc_module_retain(parts->held->module);
  parts->function = 0;
  if (parts->form->module_end) parts->any = false;
}

fc_status_t fc_parts_create_of(const fc_server_t *server,
                               const fc_parts_form_t *form, uint32_t flags,
                               const fc_generation_t *generation,
                               fc_parts_t **out_parts, fc_error_t *err) {
  FC_TRY(fc_parts_create(server, form, flags, out_parts, err));
  (*out_parts)->alone = true;
  (*out_parts)->step = STEP_ENTRIES;
  fc_parts_hold(*out_parts, generation);
  return FC_OK;
}

// Returns the generation to write for a listed one: the same, or, if it was current
// when listed and is not now, the current one with its key. NULL: there is none any
// more.
static fc_generation_t *find(const fc_parts_t *parts,
                             const fc_parts_key_t *key) {
  const fc_generations_t *generations = &parts->server->modules->generations;
  fc_generation_t *generation = fc_generations_at(generations, key->index);
  const bool same = generation && generation->serial == key->serial;
  if (key->current && !(same && generation->claim.current)) {
    fc_generation_t *newer = fc_generations_find(
        generations, fc_str_make(parts->texts + key->text, key->size));
    if (newer) return newer;
  }
  return same && is_listed(generation, parts->form->with_draining) ? generation
                                                                   : NULL;
}

// Begins the next module, which may have nothing to write.
static fc_status_t next_module(fc_parts_t *parts, fc_sink_t *sink,
                               fc_error_t *err) {
  fc_generation_t *generation = find(parts, &parts->keys[parts->at++]);
  if (!generation) return FC_OK;
  if (parts->form->module) {
    return parts->form->module(parts, generation, sink, err);
  }
  if (generation->module) fc_parts_hold(parts, generation);
  return FC_OK;
}

static fc_status_t end_module(fc_parts_t *parts, fc_sink_t *sink,
                              fc_error_t *err) {
  release(parts);
  if (!parts->form->module_end) return FC_OK;
  parts->any = true;
  return fc_sink_put(sink, fc_str(parts->form->module_end), err);
}

static fc_status_t next_entry(fc_parts_t *parts, fc_sink_t *sink,
                              fc_error_t *err) {
  if (parts->held &&
      parts->function < fc_module_function_count(parts->module)) {
    const size_t at = parts->function++;
    const fc_function_t *function = fc_module_function(parts->module, at);
    if (!fc_generation_exposes(parts->held, function)) return FC_OK;
    return parts->form->function(parts, parts->held, at, sink, err);
  }
  if (parts->alone) {
    parts->step = STEP_END;
    return parts->form->last
               ? parts->form->last(parts->server, parts->held, sink, err)
               : FC_OK;
  }
  if (parts->held) return end_module(parts, sink, err);
  if (parts->at < parts->count) return next_module(parts, sink, err);
  parts->step = parts->form->pass ? STEP_PASS : STEP_END;
  parts->pass++;
  return FC_OK;
}

static fc_status_t begin_pass(fc_parts_t *parts, fc_sink_t *sink,
                              fc_error_t *err) {
  bool more = false;
  FC_TRY(parts->form->pass(parts, &more, sink, err));
  parts->step = more ? STEP_ENTRIES : STEP_END;
  parts->at = 0;
  return FC_OK;
}

// Takes one step. *out_more is false when the document is complete.
static fc_status_t write_some(fc_parts_t *parts, fc_sink_t *sink,
                              bool *out_more, fc_error_t *err) {
  *out_more = true;
  switch ((step_t)parts->step) {
    case STEP_BEGIN:
      parts->step = parts->form->pass ? STEP_PASS : STEP_ENTRIES;
      return parts->form->begin ? parts->form->begin(parts->server, sink, err)
                                : FC_OK;
    case STEP_PASS:
      return begin_pass(parts, sink, err);
    case STEP_ENTRIES:
      return next_entry(parts, sink, err);
    default:
      *out_more = false;
      return fc_sink_put(sink, fc_str(parts->form->end), err);
  }
}

static uint64_t written(const fc_block_sink_t *out) {
  const fc_piece_t *last = &out->pieces[out->count - 1];
  const char *begin = (const char *)fc_block_data(out->blocks, last->block);
  return out->written + (uint64_t)(out->sink.cursor - begin);
}

fc_status_t fc_parts_write(fc_parts_t *parts, fc_block_sink_t *out,
                           bool *out_more, fc_error_t *err) {
  if (parts->step == STEP_LIST) {
    FC_TRY(list_all(parts, err));
    parts->step = STEP_BEGIN;
    // Listing many modules used up this turn.
    *out_more = parts->count > FC_LIMIT_PART_LOOKS;
    if (*out_more) return FC_OK;
  }
  const uint64_t before = written(out);
  // Each look at a module takes time, even if nothing is written for it.
  for (uint32_t looks = 0; looks < FC_LIMIT_PART_LOOKS; looks++) {
    FC_TRY(write_some(parts, &out->sink, out_more, err));
    if (!*out_more) return FC_OK;
    if (written(out) - before >= FC_LIMIT_PART) return FC_OK;
  }
  return FC_OK;
}
