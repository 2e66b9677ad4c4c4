// SPDX-License-Identifier: Apache-2.0
//
// Compresses and decompresses bytes by zlib. The sender of compressed bytes may be
// hostile: a size stated in them is not believed, and no output grows beyond its limit.
// Any thread; memory comes from the allocator of the text or of the compressor.
#ifndef FARCALL_BASE_INFLATE_H_
#define FARCALL_BASE_INFLATE_H_

#include "base/stop.h"

typedef enum fc_coding_t {
  FC_CODING_NONE,
  FC_CODING_GZIP,     // RFC 1952
  FC_CODING_DEFLATE,  // RFC 1950, as "deflate" means in HTTP
  FC_CODING_RAW,      // RFC 1951, as in zip files
} fc_coding_t;

// The most bytes to which `packed` compressed bytes may grow: FC_INFLATE_FREE, plus
// FC_INFLATE_RATIO for each compressed byte. Usual data grows far less. Without this
// bound a small body could fill all memory, because deflate can grow data a thousand
// times.
#define FC_INFLATE_FREE ((size_t)4 << 20)
#define FC_INFLATE_RATIO 200
size_t fc_inflate_bound(size_t packed);

// Decompresses `packed` and appends the result to `text`: at most `limit` bytes and at
// most fc_inflate_bound, else FC_CODE_BODY_TOO_LARGE. FC_CODE_CONTENT_CODING when
// `packed` is damaged, or bytes follow its end; FC_CODE_RESULT_TOO_LARGE when the text
// is full and its own limit allows less than 4096 bytes more. What was appended before
// a failure stays. `coding` is not NONE. Every 64 KiB it checks whether the call must
// end (fc_stop_look).
fc_status_t fc_inflate(fc_coding_t coding, fc_str_t packed, size_t limit,
                       fc_text_t *text, const fc_stop_t *stop, fc_error_t *err);

// A sink that compresses its input and puts the result into `inner`, which is borrowed.
// The sink must stay where fc_deflate_init made it, because zlib keeps a pointer into it.
typedef struct fc_deflate_t {
  fc_sink_t sink;  // first: the sink is cast to the compressor
  fc_sink_t *inner;
  struct z_stream_s *stream;
  fc_allocator_t allocator;
  char *buffer;
  bool started;  // some input was compressed, so all of it must be
  fc_coding_t coding;
} fc_deflate_t;

// Input is collected in a buffer of FC_DEFLATE_BUFFER bytes (more, if a writer asked
// for more at once). It is compressed when a writer needs more room than the buffer has
// left. If that never happens and all input has fewer than FC_DEFLATE_LEAST bytes, it
// is not compressed, since that would save too little.
#define FC_DEFLATE_BUFFER ((size_t)16 << 10)
#define FC_DEFLATE_LEAST 1024

fc_status_t fc_deflate_init(fc_deflate_t *packer, fc_coding_t coding,
                            fc_sink_t *inner, fc_allocator_t allocator,
                            fc_error_t *err) FC_MUST_CHECK;
// Writes the rest of the input. *out_packed tells whether the input was compressed; if
// not, it was written as it is.
fc_status_t fc_deflate_finish(fc_deflate_t *packer, bool *out_packed,
                              fc_error_t *err);
void fc_deflate_deinit(fc_deflate_t *packer);

// Continues the checksum of zip and gzip with `bytes`; `crc` is 0 for the first.
uint32_t fc_crc32(uint32_t crc, fc_str_t bytes);

#endif  // FARCALL_BASE_INFLATE_H_
