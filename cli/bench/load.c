// SPDX-License-Identifier: Apache-2.0
//
// The loop of a load: connections, their schedule, and the records. A line is a
// connection. A small request is one send; a small answer is one recv and one pass of the
// parser, whose callback compares the body as it arrives. The schedule uses a timerfd,
// because epoll's time-outs are in milliseconds.
#include "bench/talk.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MS 1000000ull
#define SECOND 1000000000ull
#define DRAIN_MAX_NS \
  (5 * SECOND)               // to wait for answers that are missing at the end
#define GRACE_NS (200 * MS)  // to send requests that were due before the end
#define RETRY_NS (10 * MS)   // between two attempts to connect
#define LATE_NS MS
#define SLICE_MIN_NS (100 * MS)
#define SLICES 100u  // in a long load
#define SAMPLED_EACH 100u
#define DISTINCT 256u  // values that differ by less than 1/256 count as equal
#define EVENTS 256
#define FILES_SPARE 16
#define BLOCK (64u << 10)

typedef enum fc_line_state_t {
  LINE_DOWN,        // will be connected at retry_ns
  LINE_CONNECTING,  // until the socket can be written
  LINE_IDLE,
  LINE_SENDING,  // until the rest of the request can be written
  LINE_WAITING,  // for the answer
} fc_line_state_t;

// A connection and its current request.
typedef struct fc_line_t {
  fc_talk_t *talk;
  struct fc_line_t *next_idle;
  fc_line_state_t state;
  bool waits;  // until the socket can be written
  fc_wire_t wire;
  uint64_t due_ns;
  uint64_t sent_ns;
  uint64_t idle_ns;   // since then it is idle
  uint64_t retry_ns;  // when it is down
} fc_line_t;

typedef struct load_t {
  const fc_load_plan_t *plan;
  const fc_talk_kind_t *kind;
  fc_load_result_t *result;
  int poll;
  int timer;
  uint64_t armed_ns;
  uint64_t start_ns;  // of the schedule
  uint64_t begin_ns;  // of the measurement
  uint64_t end_ns;
  uint64_t drain_ns;  // after end_ns, how long to wait for answers
  double gap_ns;      // between requests; 0: closed loop
  uint64_t issued;    // requests
  uint32_t busy;      // lines that send or wait for an answer
  uint32_t down;
  fc_line_t *idle_first;  // the one that has been idle longest
  fc_line_t *idle_last;
  fc_load_slice_t slice;  // being filled
  uint64_t slice_ns;
  fc_bench_histogram_t slice_latency;
  socklen_t address_size;
  struct sockaddr_storage address;
  char block[BLOCK];
  fc_line_t lines[];
} load_t;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
  (void)number;
  interrupted = 1;
}

// ---------------------------------------------------------------------------
// Recording

static bool is_measured(const load_t *load, uint64_t due_ns) {
  return due_ns >= load->begin_ns && due_ns < load->end_ns;
}

static void record(load_t *load, const fc_line_t *line, uint64_t now_ns) {
  if (now_ns >= load->begin_ns && now_ns < load->end_ns) {
    load->result->answers++;
    load->slice.answers++;
  }
  if (!is_measured(load, line->due_ns)) return;
  fc_bench_histogram_record(&load->result->latency, now_ns - line->due_ns);
  fc_bench_histogram_record(&load->result->service, now_ns - line->sent_ns);
  fc_bench_histogram_record(&load->slice_latency, now_ns - line->due_ns);
}

static void close_slice(load_t *load) {
  fc_load_result_t *result = load->result;
  fc_load_slice_t *slice = &load->slice;
  slice->p50_ns = fc_bench_histogram_quantile(&load->slice_latency, 0.5);
  slice->p99_ns = fc_bench_histogram_quantile(&load->slice_latency, 0.99);
  slice->max_ns = load->slice_latency.max_ns;
  if (result->slice_count < FC_LOAD_SLICES_MAX) {
    result->slices[result->slice_count++] = *slice;
  }
  if (load->plan->watch) load->plan->watch(load->plan->watch_context, slice);
  load->slice = (fc_load_slice_t){.end_ns = slice->end_ns + load->slice_ns,
                                  .span_ns = load->slice_ns};
  memset(&load->slice_latency, 0, sizeof load->slice_latency);
}

// ---------------------------------------------------------------------------
// Lines

// False: the kernel has no memory to watch one more descriptor. watch_line cannot fail,
// because that memory is already there.
static bool add_line(load_t *load, fc_line_t *line, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = line};
  return epoll_ctl(load->poll, EPOLL_CTL_ADD, line->wire.file, &event) == 0;
}

static void watch_line(load_t *load, fc_line_t *line, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = line};
  (void)epoll_ctl(load->poll, EPOLL_CTL_MOD, line->wire.file, &event);
}

static void become_idle(load_t *load, fc_line_t *line, uint64_t now_ns) {
  line->state = LINE_IDLE;
  line->idle_ns = now_ns;
  line->next_idle = NULL;
  if (load->idle_last) load->idle_last->next_idle = line;
  else load->idle_first = line;
  load->idle_last = line;
}

static void leave_idle(load_t *load, const fc_line_t *line) {
  fc_line_t **at = &load->idle_first, *before = NULL;
  while (*at != line) {
    before = *at;
    at = &before->next_idle;
  }
  *at = line->next_idle;
  if (load->idle_last == line) load->idle_last = before;
}

static void go_down(load_t *load, fc_line_t *line, uint64_t retry_ns) {
  if (line->state == LINE_IDLE) leave_idle(load, line);
  if (line->state >= LINE_SENDING) load->busy--;
  fc_wire_close(&line->wire);
  load->kind->close(line->talk);
  line->state = LINE_DOWN;
  line->waits = false;
  line->retry_ns = retry_ns;
  load->down++;
}

// Counts the line's request as broken. The line is connected again after RETRY_NS,
// because the next attempt may also fail at once.
static void break_line(load_t *load, fc_line_t *line) {
  const uint64_t now_ns = fc_clock_ns();
  if (now_ns >= load->begin_ns) {
    load->result->broken++;
    load->slice.errors++;
  }
  go_down(load, line, now_ns + RETRY_NS);
}

// Sends until everything is sent or the kernel accepts no more. On an idle line, the
// protocol itself may have something to send.
static void send_rest(load_t *load, fc_line_t *line) {
  fc_str_t *left = &line->talk->left;
  ssize_t sent = 0;
  while (sent >= 0) {
    if (!left->size && !load->kind->next(line->talk)) {
      break_line(load, line);
      return;
    }
    if (!left->size) break;
    sent = fc_wire_send(&line->wire, left->data, left->size);
    if (sent > 0) {
      *left = fc_str_make(left->data + sent, left->size - (size_t)sent);
    }
  }
  if (sent < 0 && errno != EAGAIN && errno != EINTR) {
    break_line(load, line);
    return;
  }
  const bool waits = left->size > 0;
  if (waits != line->waits) {
    watch_line(load, line, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
  line->waits = waits;
  if (line->state != LINE_IDLE) {
    line->state = waits ? LINE_SENDING : LINE_WAITING;
  }
}

static bool must_compare(const load_t *load) {
  switch (load->plan->verify) {
    case FC_LOAD_VERIFY_FIRST:
      return load->issued < load->plan->connections;
    case FC_LOAD_VERIFY_SAMPLED:
      return load->issued % SAMPLED_EACH == 0;
    case FC_LOAD_VERIFY_ALL:
      break;
  }
  return true;
}

// Sends a request over a line that is not in the list of idle lines.
static void fire(load_t *load, fc_line_t *line, uint64_t due_ns,
                 uint64_t now_ns) {
  line->due_ns = due_ns;
  line->sent_ns = now_ns;
  fc_talk_begin(line->talk, must_compare(load));
  line->state = LINE_WAITING;
  load->issued++;
  load->busy++;
  if (load->kind->ask(line->talk)) send_rest(load, line);
  else break_line(load, line);
}

// Called when the line is free. In a closed loop it sends again at once.
static void release(load_t *load, fc_line_t *line, uint64_t now_ns) {
  if (load->gap_ns == 0 && now_ns < load->end_ns) {
    fire(load, line, now_ns, now_ns);
  } else {
    become_idle(load, line, now_ns);
  }
}

static bool open_talk(const load_t *load, fc_line_t *line) {
  memset(line->talk, 0, sizeof *line->talk);
  line->talk->plan = load->plan;
  line->talk->result = load->result;
  return load->kind->open(line->talk);
}

static void connect_line(load_t *load, fc_line_t *line) {
  int one = 1;
  const int family = load->address.ss_family;
  const int file =
      socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  line->wire.file = file;
  line->state = LINE_CONNECTING;
  load->down--;
  if (file >= 0 && family != AF_UNIX) {
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  if (file < 0 ||
      (connect(file, (struct sockaddr *)&load->address, load->address_size) &&
       errno != EINPROGRESS)) {
    // The queue of a Unix socket may be full. That is not an error.
    if (family == AF_UNIX && errno == EAGAIN) {
      go_down(load, line, fc_clock_ns() + RETRY_NS);
    } else {
      break_line(load, line);
    }
    return;
  }
  if (!add_line(load, line, EPOLLIN | EPOLLOUT) || !open_talk(load, line)) {
    break_line(load, line);
  }
}

// Is the line connected? If so, prepares TLS for a server that needs it. False: not
// connected, or TLS failed.
static bool is_connected(load_t *load, fc_line_t *line) {
  const fc_remote_t *server = load->plan->server;
  int reason = 0;
  socklen_t size = sizeof reason;
  fc_error_t ignored;
  if (line->wire.tls) return true;
  if (getsockopt(line->wire.file, SOL_SOCKET, SO_ERROR, &reason, &size) ||
      reason) {
    return false;
  }
  return !server->is_https ||
         fc_wire_secure(&line->wire, &server->rules, &ignored) == FC_OK;
}

static void finish_connect(load_t *load, fc_line_t *line) {
  const char *why;
  const int wanted =
      is_connected(load, line) ? fc_wire_shake(&line->wire, &why) : -1;
  if (wanted < 0) {
    break_line(load, line);
    return;
  }
  if (wanted > 0) {
    watch_line(load, line, wanted == POLLIN ? EPOLLIN : EPOLLOUT);
    return;
  }
  watch_line(load, line, EPOLLIN);
  release(load, line, fc_clock_ns());
}

// ---------------------------------------------------------------------------
// Answers

static void judge(load_t *load, fc_line_t *line) {
  fc_load_result_t *result = load->result;
  const uint64_t now_ns = fc_clock_ns();
  fc_talk_t *talk = line->talk;
  if (!talk->good) {
    if (now_ns >= load->begin_ns) {
      result->refused++;
      load->slice.errors++;
    }
    return;
  }
  if (talk->compares) {
    talk->differs |= talk->received != load->plan->expected.size;
    result->compared++;
    result->different += talk->differs;
  }
  record(load, line, now_ns);
}

// Called when the answer is complete.
static void take_answer(load_t *load, fc_line_t *line) {
  judge(load, line);
  if (line->talk->closes) {
    go_down(load, line, 0);
    return;
  }
  load->busy--;
  release(load, line, fc_clock_ns());
}

// Receives only one block; epoll reports if there is more. So an endless answer delays
// neither the other lines nor the end of the load.
static void receive_block(load_t *load, fc_line_t *line) {
  const ssize_t got =
      fc_wire_recv(&line->wire, load->block, sizeof load->block);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  fc_talk_t *talk = line->talk;
  if (line->state == LINE_IDLE && got <= 0) {  // it was idle for too long
    go_down(load, line, 0);
    return;
  }
  const bool good =
      got >= 0 && load->kind->take(talk, fc_str_make(load->block, (size_t)got));
  if (!good) break_line(load, line);
  else if (line->state >= LINE_SENDING && talk->done) take_answer(load, line);
  else if (line->state == LINE_IDLE && talk->closes) go_down(load, line, 0);
  else send_rest(load, line);
}

// Receives a block, and then the rest of the TLS record, which is already decrypted:
// epoll would not report it.
static void receive(load_t *load, fc_line_t *line) {
  do {
    receive_block(load, line);
  } while (line->state >= LINE_IDLE && fc_wire_has(&line->wire));
}

static void on_line(load_t *load, fc_line_t *line, uint32_t events) {
  if (line->state == LINE_CONNECTING) {
    finish_connect(load, line);
    return;
  }
  if (line->state >= LINE_IDLE && events & EPOLLOUT) send_rest(load, line);
  if (events & ~(uint32_t)EPOLLOUT && line->state >= LINE_IDLE) {
    receive(load, line);
  }
}

// ---------------------------------------------------------------------------
// The schedule

static uint64_t due(const load_t *load, uint64_t request) {
  return load->start_ns + (uint64_t)((double)request * load->gap_ns);
}

// Sends all requests that are due, as long as there are idle lines.
static void issue(load_t *load, uint64_t now_ns) {
  while (load->gap_ns > 0 && load->idle_first) {
    const uint64_t due_ns = due(load, load->issued);
    if (due_ns > now_ns || due_ns >= load->end_ns) return;
    fc_line_t *line = load->idle_first;
    leave_idle(load, line);
    const uint64_t could_ns = line->idle_ns > due_ns ? line->idle_ns : due_ns;
    if (now_ns > could_ns + LATE_NS) load->result->late++;
    fire(load, line, due_ns, now_ns);
    now_ns = fc_clock_ns();
  }
}

// Connects the lines whose time has come, and returns the time of the next one.
static uint64_t revive(load_t *load, uint64_t now_ns) {
  uint64_t next_ns = UINT64_MAX;
  for (uint32_t i = 0; load->down && i < load->plan->connections; i++) {
    fc_line_t *line = &load->lines[i];
    if (line->state == LINE_DOWN && line->retry_ns <= now_ns) {
      connect_line(load, line);
    }
    if (line->state == LINE_DOWN && line->retry_ns < next_ns) {
      next_ns = line->retry_ns;
    }
  }
  return next_ns;
}

static void arm(load_t *load, uint64_t at_ns) {
  if (at_ns == load->armed_ns) return;
  load->armed_ns = at_ns;
  const struct itimerspec when = {
      .it_value = {(time_t)(at_ns / SECOND), (long)(at_ns % SECOND)}};
  timerfd_settime(load->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

// True while requests are sent. In an open loop, a request that was due before the end
// may still be sent up to GRACE_NS after it, because this program may have been late.
static bool is_sending(const load_t *load, uint64_t now_ns) {
  if (now_ns < load->end_ns) return true;
  return load->gap_ns > 0 && now_ns < load->end_ns + GRACE_NS &&
         due(load, load->issued) < load->end_ns;
}

static bool is_over(load_t *load, uint64_t now_ns) {
  if (interrupted && now_ns < load->end_ns) {
    load->end_ns = now_ns;
    load->result->interrupted = true;
  }
  if (is_sending(load, now_ns)) return false;
  return !load->busy || now_ns >= load->end_ns + load->drain_ns;
}

// Returns when something must be done, even if no socket is ready before.
static uint64_t next_time(const load_t *load, uint64_t now_ns,
                          uint64_t retry_ns) {
  uint64_t next_ns = load->begin_ns + load->slice.end_ns;
  if (now_ns >= load->end_ns + GRACE_NS)
    next_ns = load->end_ns + load->drain_ns;
  else if (now_ns >= load->end_ns) next_ns = load->end_ns + GRACE_NS;
  else if (load->end_ns < next_ns) next_ns = load->end_ns;
  if (retry_ns < next_ns) next_ns = retry_ns;
  if (load->gap_ns > 0 && load->idle_first && now_ns < load->end_ns) {
    const uint64_t due_ns = due(load, load->issued);
    if (due_ns < next_ns) next_ns = due_ns;
  }
  return next_ns;
}

static void run(load_t *load) {
  struct epoll_event events[EVENTS];
  for (;;) {
    const uint64_t now_ns = fc_clock_ns();
    while (now_ns >= load->begin_ns + load->slice.end_ns &&
           load->begin_ns + load->slice.end_ns <= load->end_ns) {
      close_slice(load);
    }
    if (is_over(load, now_ns)) return;
    const uint64_t retry_ns =
        is_sending(load, now_ns) ? revive(load, now_ns) : UINT64_MAX;
    if (is_sending(load, now_ns)) issue(load, now_ns);
    arm(load, next_time(load, now_ns, retry_ns));
    const int count = epoll_wait(load->poll, events, EVENTS, -1);
    for (int i = 0; i < count; i++) {
      fc_line_t *line = events[i].data.ptr;
      if (line) on_line(load, line, events[i].events);
    }
  }
}

// ---------------------------------------------------------------------------
// Beginning and end of a load

static fc_status_t open_lines(load_t *load, fc_error_t *err) {
  for (uint32_t i = 0; i < load->plan->connections; i++) {
    fc_line_t *line = &load->lines[i];
    FC_TRY(fc_server_connect(load->plan->server, &line->wire, err));
    if (!open_talk(load, line)) return fc_fail_memory(err);
    if (!add_line(load, line, EPOLLIN)) {
      return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "epoll_ctl: %s",
                     strerror(errno));
    }
    line->state = LINE_IDLE;
  }
  load->address_size = sizeof load->address;
  getpeername(load->lines[0].wire.file, (struct sockaddr *)&load->address,
              &load->address_size);
  return FC_OK;
}

// Raises this process's limit of descriptors to what the lines and a few others need, as
// far as it is allowed. The usual limit is 1024.
static void allow_files(uint32_t lines) {
  struct rlimit limit;
  const rlim_t wanted = lines + FILES_SPARE;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static fc_status_t open_load(load_t *load, fc_error_t *err) {
  allow_files(load->plan->connections);
  struct epoll_event timer = {.events = EPOLLIN | EPOLLET};
  load->poll = epoll_create1(EPOLL_CLOEXEC);
  load->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (load->poll < 0 || load->timer < 0 ||
      epoll_ctl(load->poll, EPOLL_CTL_ADD, load->timer, &timer)) {
    return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "no epoll or timer: %s",
                   strerror(errno));
  }
  return open_lines(load, err);
}

static void begin(load_t *load) {
  const fc_load_plan_t *plan = load->plan;
  const uint64_t share_ns = plan->duration_ns / SLICES;
  load->slice_ns = share_ns > SLICE_MIN_NS ? share_ns : SLICE_MIN_NS;
  load->slice.end_ns = load->slice.span_ns = load->slice_ns;
  const uint64_t timeout_ns = plan->server->timeout_ms * MS;
  load->drain_ns =
      timeout_ns && timeout_ns < DRAIN_MAX_NS ? timeout_ns : DRAIN_MAX_NS;
  load->gap_ns = plan->rate > 0 ? (double)SECOND / plan->rate : 0;
  load->start_ns = fc_clock_ns();
  load->begin_ns = load->start_ns + plan->warmup_ns;
  load->end_ns = load->begin_ns + plan->duration_ns;
  for (uint32_t i = 0; i < plan->connections; i++) {
    release(load, &load->lines[i], load->start_ns);
  }
}

// Records requests that were due and not sent. There may be 10^11 of them, so a group
// whose latencies differ by less than 1/DISTINCT is recorded with its longest.
static void record_unsent(load_t *load) {
  fc_load_result_t *result = load->result;
  if (load->gap_ns == 0) return;
  uint64_t i =
      (uint64_t)((double)(load->begin_ns - load->start_ns) / load->gap_ns);
  if (i < load->issued) i = load->issued;
  while (due(load, i) < load->begin_ns) i++;
  while (due(load, i) < load->end_ns) {
    const uint64_t longest_ns = load->end_ns - due(load, i);
    const double alike = (double)longest_ns / DISTINCT / load->gap_ns;
    const uint64_t count = alike > 1 ? (uint64_t)alike : 1;
    result->unanswered += count;
    fc_bench_histogram_record_many(&result->latency, longest_ns, count);
    i += count;
  }
}

// A request without an answer is recorded with the time it has waited so far. Without it,
// the worst latencies would be missing.
static void record_unanswered(load_t *load) {
  fc_load_result_t *result = load->result;
  const uint64_t now_ns = fc_clock_ns();
  for (uint32_t i = 0; i < load->plan->connections; i++) {
    const fc_line_t *line = &load->lines[i];
    if (line->state < LINE_SENDING || !is_measured(load, line->due_ns))
      continue;
    result->unanswered++;
    fc_bench_histogram_record(&result->latency, now_ns - line->due_ns);
    fc_bench_histogram_record(&result->service, now_ns - line->sent_ns);
  }
  record_unsent(load);
}

fc_status_t fc_load_run(const fc_load_plan_t *plan,
                        fc_load_result_t *out_result, fc_error_t *err) {
  const size_t size = sizeof(load_t) + plan->connections * sizeof(fc_line_t);
  const fc_talk_kind_t *kind = plan->call ? &fc_talk_grpc : &fc_talk_http;
  const fc_allocator_t system = fc_allocator_system();
  load_t *load = fc_alloc(system, size);
  char *talks = fc_alloc_array(system, plan->connections, kind->size);
  if (!load || !talks) {
    fc_free(system, load);
    fc_free(system, talks);
    return fc_fail_memory(err);
  }
  load->plan = plan;
  load->kind = kind;
  load->result = out_result;
  load->poll = load->timer = -1;
  memset(out_result, 0, sizeof *out_result);
  for (uint32_t i = 0; i < plan->connections; i++) {
    load->lines[i].wire = FC_WIRE_CLOSED;
    load->lines[i].talk = (fc_talk_t *)(void *)(talks + i * kind->size);
  }
  const fc_status_t status = open_load(load, err);
  if (status == FC_OK) {
    struct sigaction action = {.sa_handler = on_interrupt}, before;
    interrupted = 0;
    sigaction(SIGINT, &action, &before);
    begin(load);
    run(load);
    record_unanswered(load);
    const uint64_t measured = load->end_ns > load->begin_ns;
    out_result->duration_ns = measured ? load->end_ns - load->begin_ns : 0;
    sigaction(SIGINT, &before, NULL);
  }
  for (uint32_t i = 0; i < plan->connections; i++) {
    fc_wire_close(&load->lines[i].wire);
    kind->close(load->lines[i].talk);
  }
  if (load->poll >= 0) close(load->poll);
  if (load->timer >= 0) close(load->timer);
  fc_free(system, talks);
  fc_free(system, load);
  return status;
}
