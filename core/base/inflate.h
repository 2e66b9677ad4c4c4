// SPDX-License-Identifier: Apache-2.0
//
// Compressed bytes, by zlib. Whoever sends them may be hostile: what they say of
// their size is not believed, and nothing grows beyond what is allowed. Any thread;
// memory is allocated through `allocator`.
#ifndef FARCALL_BASE_INFLATE_H_
#define FARCALL_BASE_INFLATE_H_

#include "farcall/base.h"

typedef enum fc_coding_t {
  FC_CODING_NONE,
  FC_CODING_GZIP,     // RFC 1952
  FC_CODING_DEFLATE,  // RFC 1950, as "deflate" means in HTTP
  FC_CODING_RAW,      // RFC 1951, as in zip files
} fc_coding_t;

// The most that so many compressed bytes may become: far more than what data
// usually does, far less than what deflate can.
#define FC_INFLATE_FREE ((size_t)4 << 20)
#define FC_INFLATE_RATIO 200
size_t fc_inflate_bound(size_t packed);

// Appends the bytes to `text`, at most `limit` of them. FC_CODE_CONTENT_CODING when
// they are damaged or something follows them, FC_CODE_BODY_TOO_LARGE beyond the
// limit or fc_inflate_bound.
fc_status_t fc_inflate(fc_coding_t coding, fc_str_t packed, size_t limit,
                       fc_text_t *text, fc_error_t *err);

// A sink that compresses what is put into it.
typedef struct fc_deflate_t {
  fc_sink_t sink;  // first: the sink is cast to the compressor
  fc_sink_t *inner;
  struct z_stream_s *stream;
  fc_allocator_t allocator;
  char *buffer;
  bool started;  // something was compressed, so all has to be
  fc_coding_t coding;
} fc_deflate_t;

// Bytes that are gathered before they are compressed: what ends before that is so
// small that it is not worth it.
#define FC_DEFLATE_BUFFER ((size_t)16 << 10)
#define FC_DEFLATE_LEAST 1024

fc_status_t fc_deflate_init(fc_deflate_t *packer, fc_coding_t coding,
                            fc_sink_t *inner, fc_allocator_t allocator,
                            fc_error_t *err) FC_MUST_CHECK;
// Writes what is left. *out_packed: is what was written compressed? Fewer than
// FC_DEFLATE_LEAST bytes are written as they are.
fc_status_t fc_deflate_finish(fc_deflate_t *packer, bool *out_packed,
                              fc_error_t *err);
void fc_deflate_deinit(fc_deflate_t *packer);

// The checksum of zip and gzip; 0 begins.
uint32_t fc_crc32(uint32_t crc, fc_str_t bytes);

#endif  // FARCALL_BASE_INFLATE_H_
