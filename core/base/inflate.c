// SPDX-License-Identifier: Apache-2.0
#include "base/inflate.h"

#include <zlib.h>

#define LEVEL 1  // of 9: higher levels cost far more time and save a tenth

// Returns zlib's number for the format ("windowBits").
static int window_of(fc_coding_t coding) {
  switch (coding) {
    case FC_CODING_GZIP:
      return MAX_WBITS + 16;
    case FC_CODING_RAW:
      return -MAX_WBITS;
    default:
      return MAX_WBITS;
  }
}

static voidpf take_memory(voidpf opaque, uInt count, uInt size) {
  return fc_alloc_array(*(const fc_allocator_t *)opaque, count, size);
}

static void give_memory(voidpf opaque, voidpf memory) {
  fc_free(*(const fc_allocator_t *)opaque, memory);
}

size_t fc_inflate_bound(size_t packed) {
  size_t bound;
  if (!fc_size_mul(packed, FC_INFLATE_RATIO, &bound) ||
      !fc_size_add(bound, FC_INFLATE_FREE, &bound)) {
    return SIZE_MAX;
  }
  return bound;
}

static fc_status_t damaged(fc_error_t *err, const char *why) {
  return fc_fail(err, FC_CODE_CONTENT_CODING, "the compressed bytes %s", why);
}

static fc_status_t too_large(size_t packed, size_t limit, fc_error_t *err) {
  if (limit < fc_inflate_bound(packed)) {
    return fc_fail(err, FC_CODE_BODY_TOO_LARGE,
                   "the body is more than %zu bytes when it is decompressed",
                   limit);
  }
  return fc_fail(err, FC_CODE_BODY_TOO_LARGE,
                 "%zu bytes may become %zu when they are decompressed; these "
                 "would become more",
                 packed, fc_inflate_bound(packed));
}

static uInt at_most(size_t size) {
  return size < UINT32_MAX ? (uInt)size : UINT32_MAX;
}

// The text grows only as bytes are decompressed. A size that a header states is not used.
static fc_status_t run(z_stream *stream, size_t packed, size_t limit,
                       fc_text_t *text, const fc_stop_t *stop,
                       fc_error_t *err) {
  const size_t bound = fc_inflate_bound(packed);
  const size_t most = limit < bound ? limit : bound;
  size_t left = packed, done = 0;
  for (;;) {
    fc_sink_t *sink = &text->sink;
    if (sink->end == sink->cursor) FC_TRY(fc_sink_reserve(sink, 4096, err));
    const uInt fed = at_most(left);
    size_t room = (size_t)(sink->end - sink->cursor);
    if (room > FC_STOP_STEP) room = FC_STOP_STEP;
    // zlib gets room for one byte more than `most`, so that an excess is noticed.
    const uInt offered =
        at_most(room < most + 1 - done ? room : most + 1 - done);
    stream->avail_in = fed;
    stream->next_out = (Bytef *)sink->cursor;
    stream->avail_out = offered;
    const int said = inflate(stream, Z_NO_FLUSH);
    left -= fed - stream->avail_in;
    done += offered - stream->avail_out;
    sink->cursor += offered - stream->avail_out;
    if (done > most) return too_large(packed, limit, err);
    if (said == Z_STREAM_END) break;
    if (said == Z_MEM_ERROR) return fc_fail_memory(err);
    if (said == Z_BUF_ERROR || (said == Z_OK && !left && stream->avail_out)) {
      return damaged(err, "end too early");
    }
    if (said != Z_OK) return damaged(err, "are damaged");
    FC_TRY(fc_stop_look(stop, err));
  }
  return left ? damaged(err, "are followed by further bytes") : FC_OK;
}

fc_status_t fc_inflate(fc_coding_t coding, fc_str_t packed, size_t limit,
                       fc_text_t *text, const fc_stop_t *stop,
                       fc_error_t *err) {
  fc_allocator_t allocator = text->allocator;
  z_stream stream = {.zalloc = take_memory,
                     .zfree = give_memory,
                     .opaque = &allocator,
                     .next_in = (Bytef *)(uintptr_t)packed.data};
  if (inflateInit2(&stream, window_of(coding)) != Z_OK) {
    return fc_fail_memory(err);
  }
  const fc_status_t status = run(&stream, packed.size, limit, text, stop, err);
  (void)inflateEnd(&stream);
  return status;
}

// ---------------------------------------------------------------------------
// Compressing

static fc_status_t pack(fc_deflate_t *packer, int flush, fc_error_t *err) {
  z_stream *stream = packer->stream;
  fc_sink_t *inner = packer->inner;
  int said = Z_OK;
  stream->next_in = (Bytef *)packer->buffer;
  FC_ASSERT((size_t)(packer->sink.cursor - packer->buffer) <= UINT32_MAX);
  stream->avail_in = (uInt)(packer->sink.cursor - packer->buffer);
  packer->started = true;
  do {
    if (inner->end == inner->cursor) FC_TRY(fc_sink_reserve(inner, 4096, err));
    const uInt room = at_most((size_t)(inner->end - inner->cursor));
    stream->next_out = (Bytef *)inner->cursor;
    stream->avail_out = room;
    said = deflate(stream, flush);
    inner->cursor += room - stream->avail_out;
    FC_ASSERT(said != Z_STREAM_ERROR);
  } while (flush == Z_FINISH ? said != Z_STREAM_END : !stream->avail_out);
  packer->sink.cursor = packer->buffer;
  return FC_OK;
}

static fc_status_t grow(fc_sink_t *sink, size_t need, fc_error_t *err) {
  fc_deflate_t *packer = (fc_deflate_t *)(void *)sink;
  FC_TRY(pack(packer, Z_NO_FLUSH, err));
  if (need <= (size_t)(sink->end - sink->cursor)) return FC_OK;
  char *buffer = fc_alloc_aligned(packer->allocator, need, 16);
  if (!buffer) return fc_fail_memory(err);
  fc_free(packer->allocator, packer->buffer);
  packer->buffer = sink->cursor = buffer;
  sink->end = buffer + need;
  return FC_OK;
}

fc_status_t fc_deflate_init(fc_deflate_t *packer, fc_coding_t coding,
                            fc_sink_t *inner, fc_allocator_t allocator,
                            fc_error_t *err) {
  *packer =
      (fc_deflate_t){.inner = inner, .coding = coding, .allocator = allocator};
  z_stream *stream = fc_alloc(allocator, sizeof *stream);
  packer->buffer = fc_alloc(allocator, FC_DEFLATE_BUFFER);
  packer->stream = stream;
  if (!stream || !packer->buffer) {
    fc_free(allocator, stream);
    packer->stream = NULL;
    fc_deflate_deinit(packer);
    return fc_fail_memory(err);
  }
  stream->zalloc = take_memory;
  stream->zfree = give_memory;
  stream->opaque = &packer->allocator;
  if (deflateInit2(stream, LEVEL, Z_DEFLATED, window_of(coding), 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    fc_free(allocator, stream);
    packer->stream = NULL;
    fc_deflate_deinit(packer);
    return fc_fail_memory(err);
  }
  packer->sink = (fc_sink_t){.cursor = packer->buffer,
                             .end = packer->buffer + FC_DEFLATE_BUFFER,
                             .grow = grow};
  return FC_OK;
}

fc_status_t fc_deflate_finish(fc_deflate_t *packer, bool *out_packed,
                              fc_error_t *err) {
  const size_t size = (size_t)(packer->sink.cursor - packer->buffer);
  *out_packed = packer->started || size >= FC_DEFLATE_LEAST;
  if (*out_packed) return pack(packer, Z_FINISH, err);
  return fc_sink_put(packer->inner, fc_str_make(packer->buffer, size), err);
}

void fc_deflate_deinit(fc_deflate_t *packer) {
  if (packer->stream) (void)deflateEnd(packer->stream);
  fc_free(packer->allocator, packer->stream);
  fc_free(packer->allocator, packer->buffer);
  packer->stream = NULL;
  packer->buffer = NULL;
}

uint32_t fc_crc32(uint32_t crc, fc_str_t bytes) {
  return (uint32_t)crc32_z(crc, (const Bytef *)bytes.data, bytes.size);
}
