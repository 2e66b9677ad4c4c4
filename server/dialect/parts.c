// SPDX-License-Identifier: Apache-2.0
//
// Generations come and go between two parts, so a place in their table says nothing
// later on. Their keys are kept, and each is looked up when its turn comes.
#include "dialect/parts.h"

#include "config/limits.h"

typedef enum step_t {
  STEP_LIST,
  STEP_BEGIN,
  STEP_ENTRIES,
  STEP_MIDDLE,
  STEP_ASIDE
} step_t;

static bool is_listed(const fc_generation_t *generation, bool with_draining) {
  return generation && (generation->current || with_draining);
}

// Lists what there is. `keys` may be NULL: then they are counted only.
static uint32_t list(const fc_generations_t *generations, bool with_draining,
                     fc_parts_key_t *keys, char *texts, size_t *out_size) {
  uint32_t count = 0;
  size_t size = 0;
  for (uint32_t i = 0; i < generations->count; i++) {
    const fc_generation_t *generation = generations->places[i];
    if (!is_listed(generation, with_draining)) continue;
    const fc_str_t key = generation->key;
    if (keys) {
      keys[count] = (fc_parts_key_t){.index = i,
                                     .size = (uint32_t)key.size,
                                     .serial = generation->serial,
                                     .text = size,
                                     .current = generation->current};
      memcpy(texts + size, key.data, key.size);
    }
    size += key.size;
    count++;
  }
  *out_size = size;
  return count;
}

static fc_status_t open_aside(fc_parts_t *parts, fc_error_t *err) {
  uint32_t block;
  if (!parts->form->middle) return FC_OK;
  FC_TRY(fc_block_take(parts->server->blocks, FC_LIMIT_HEAD, &block, err));
  fc_block_sink_init(&parts->aside, parts->server->blocks, block, 0,
                     UINT32_MAX);
  return FC_OK;
}

fc_status_t fc_parts_create(const fc_server_t *server,
                            const fc_parts_form_t *form, uint32_t flags,
                            fc_parts_t **out_parts, fc_error_t *err) {
  const fc_generations_t *generations = &server->modules->generations;
  size_t size;
  const uint32_t count =
      list(generations, form->with_draining, NULL, NULL, &size);
  const size_t keys = count * sizeof(fc_parts_key_t);
  fc_parts_t *parts =
      fc_alloc(generations->allocator, sizeof *parts + keys + size);
  if (!parts) return fc_fail_memory(err);
  char *texts = (char *)(parts->keys + count);
  *parts = (fc_parts_t){.server = server,
                        .form = form,
                        .flags = flags,
                        .count = count,
                        .texts = texts};
  (void)list(generations, form->with_draining, parts->keys, texts, &size);
  const fc_status_t status = open_aside(parts, err);
  if (status == FC_OK) *out_parts = parts;
  else fc_parts_destroy(parts);
  return status;
}

static void release(fc_parts_t *parts) {
  if (!parts->held) return;
  fc_generations_release(&parts->server->modules->generations, parts->held);
  parts->held = NULL;
}

void fc_parts_destroy(fc_parts_t *parts) {
  if (!parts) return;
  release(parts);
  fc_block_sink_drop(&parts->aside);
  fc_free(parts->server->modules->generations.allocator, parts);
}

fc_status_t fc_parts_comma(fc_parts_t *parts, fc_sink_t *sink,
                           fc_error_t *err) {
  if (parts->any) return fc_sink_put(sink, FC_STR(","), err);
  parts->any = true;
  return FC_OK;
}

// What stands under the key by now; NULL: nothing.
static fc_generation_t *find(const fc_parts_t *parts,
                             const fc_parts_key_t *key) {
  const fc_generations_t *generations = &parts->server->modules->generations;
  fc_generation_t *generation = fc_generations_at(generations, key->index);
  if (generation && generation->serial == key->serial &&
      is_listed(generation, parts->form->with_draining)) {
    return generation;
  }
  if (!key->current) return NULL;
  return fc_generations_find(generations,
                             fc_str_make(parts->texts + key->text, key->size));
}

// Begins with the next module, which may have nothing to write.
static fc_status_t next_module(fc_parts_t *parts, fc_sink_t *sink,
                               fc_error_t *err) {
  fc_generation_t *generation = find(parts, &parts->keys[parts->at++]);
  if (!generation) return FC_OK;
  if (parts->form->module) {
    return parts->form->module(parts, generation, sink, err);
  }
  if (!generation->module) return FC_OK;
  fc_generation_hold(generation);
  parts->held = generation;
  parts->function = 0;
  return FC_OK;
}

static fc_status_t next_entry(fc_parts_t *parts, fc_sink_t *sink,
                              fc_error_t *err) {
  // A described module may be unloaded although it is held.
  const fc_module_t *module = parts->held ? parts->held->module : NULL;
  if (module && parts->function < fc_module_function_count(module)) {
    const size_t at = parts->function++;
    if (!fc_generation_exposes(parts->held, fc_module_function(module, at))) {
      return FC_OK;
    }
    return parts->form->function(parts, parts->held, at, sink, err);
  }
  release(parts);
  if (parts->at < parts->count) return next_module(parts, sink, err);
  parts->step = STEP_MIDDLE;
  return FC_OK;
}

static fc_status_t write_middle(fc_parts_t *parts, fc_sink_t *sink,
                                fc_error_t *err) {
  if (!parts->form->middle) return FC_OK;
  (void)fc_block_sink_finish(&parts->aside);
  return parts->form->middle(parts->server, sink, err);
}

static fc_status_t copy_aside(fc_parts_t *parts, fc_sink_t *sink,
                              fc_error_t *err) {
  const fc_piece_t *piece = &parts->aside.pieces[parts->piece];
  const char *data =
      (const char *)fc_block_data(parts->server->blocks, piece->block) +
      piece->offset + parts->copied;
  uint64_t size = piece->size - parts->copied;
  if (size > FC_LIMIT_PART) size = FC_LIMIT_PART;
  FC_TRY(fc_sink_put(sink, fc_str_make(data, (size_t)size), err));
  parts->copied += size;
  if (parts->copied < piece->size) return FC_OK;
  parts->piece++;
  parts->copied = 0;
  return FC_OK;
}

// Writes a little. False in *out_more: the document is complete.
static fc_status_t write_some(fc_parts_t *parts, fc_sink_t *sink,
                              bool *out_more, fc_error_t *err) {
  *out_more = true;
  switch ((step_t)parts->step) {
    case STEP_BEGIN:
      parts->step = STEP_ENTRIES;
      return parts->form->begin(parts->server, sink, err);
    case STEP_ENTRIES:
      return next_entry(parts, sink, err);
    case STEP_MIDDLE:
      parts->step = STEP_ASIDE;
      return write_middle(parts, sink, err);
    default:
      if (parts->piece < parts->aside.count) {
        return copy_aside(parts, sink, err);
      }
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
  const fc_block_sink_t *aside = parts->aside.count ? &parts->aside : NULL;
  // Listing many modules was enough for this turn.
  if (parts->step == STEP_LIST) {
    parts->step = STEP_BEGIN;
    *out_more = parts->count > FC_LIMIT_PART_LOOKS;
    if (*out_more) return FC_OK;
  }
  const uint64_t enough =
      FC_LIMIT_PART + written(out) + (aside ? written(aside) : 0);
  // Looking at a module takes time too, even if it has nothing to say.
  for (uint32_t looks = 0; looks < FC_LIMIT_PART_LOOKS; looks++) {
    FC_TRY(write_some(parts, &out->sink, out_more, err));
    if (!*out_more) return FC_OK;
    if (written(out) + (aside ? written(aside) : 0) >= enough) return FC_OK;
  }
  return FC_OK;
}
