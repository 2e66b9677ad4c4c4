// SPDX-License-Identifier: Apache-2.0
//
// Attempts at new machine code, at shared memory with a name, and at more than a fair
// share.
#include <dlfcn.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/timerfd.h>
#include <signal.h>
#include <time.h>

#include "escape.h"

// The machine code of a function that returns 7.
#if defined(__x86_64__)
static const uint8_t kCode[] = {0xb8, 7, 0, 0, 0, 0xc3};
#elif defined(__aarch64__)
static const uint32_t kCode[] = {0x528000e0, 0xd65f03c0};
#endif
static int32_t runs(void *code) {
  __builtin___clear_cache((char *)code, (char *)code + sizeof kCode);
  int32_t result = ((int32_t(*)(void))code)() == 7 ? 0 : NOTHING;
  munmap(code, 4096);
  return result;
}
static void *map(int protection, int flags, int fd) {
  return mmap(NULL, 4096, protection, flags, fd, 0);
}
KIND(map_code) {
  void *code =
      map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (code == MAP_FAILED) return errno;
  memcpy(code, kCode, sizeof kCode);
  return runs(code);
}
static int32_t makes_code(int with_key) {
  void *code = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (code == MAP_FAILED) return errno;
  memcpy(code, kCode, sizeof kCode);
  long result = with_key ? syscall(SYS_pkey_mprotect, code, 4096,
                                   PROT_READ | PROT_EXEC, -1)
                         : mprotect(code, 4096, PROT_READ | PROT_EXEC);
  return result < 0 ? errno : runs(code);
}
KIND(protect_code) { return makes_code(0); }
KIND(protect_code_with_key) { return makes_code(1); }
KIND(code_in_file) {
  int fd = (int)syscall(SYS_memfd_create, "code", 0);
  if (fd < 0) return errno;
  if (write(fd, kCode, sizeof kCode) < 0) return errno;
  void *code = map(PROT_READ | PROT_EXEC, MAP_PRIVATE, fd);
  int32_t error = errno;
  close(fd);
  return code == MAP_FAILED ? error : runs(code);
}
KIND(code_by_personality) {  // what can be read can be run, then
  if (personality(READ_IMPLIES_EXEC) < 0) return errno;
  void *code = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (code == MAP_FAILED) return errno;
  memcpy(code, kCode, sizeof kCode);
  return runs(code);
}
KIND(change_own_code) {
  uintptr_t page = (uintptr_t)runs & ~(uintptr_t)4095;
  return error_of(
      mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
}
KIND(code_in_stack) {
  int here;
  uintptr_t page = (uintptr_t)&here & ~(uintptr_t)4095;
  return error_of(
      mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
}
static int32_t loads(const char *name) {
  errno = 0;
  return dlopen(name, RTLD_NOW) ? 0 : errno ? errno : NOTHING;
}
KIND(load_library) { return loads("libresolv.so.2"); }
KIND(load_other_module) { return loads(PLACE "other.so"); }

// ---------------------------------------------------------------------------
// Memory with a name

KIND(shared_memory_new) {
  return gets(shm_open("/farcall-escaped", O_CREAT | O_RDWR, 0600));
}
KIND(shared_memory_of_neighbour) {
  return reads(shm_open("/farcall-neighbour", O_RDONLY, 0));
}
KIND(segment_new) { return error_of(shmget(IPC_PRIVATE, 4096, 0600)); }
KIND(segment_of_neighbour) {
  int id = shmget(IPC_KEY, 0, 0);
  if (id < 0) return errno;
  char *text = shmat(id, NULL, SHM_RDONLY);
  return text == (void *)-1 ? errno : is_secret(text, 64);
}
KIND(semaphores_new) { return error_of(semget(IPC_PRIVATE, 1, 0600)); }
KIND(queue_new) { return error_of(msgget(IPC_PRIVATE, 0600)); }
KIND(queue_of_neighbour) {
  struct {
    long type;
    char text[64];
  } message;
  int id = msgget(IPC_KEY, 0);
  if (id < 0) return errno;
  return is_secret(message.text,
                   msgrcv(id, &message, 64, 0, IPC_NOWAIT | MSG_COPY));
}
KIND(named_queue_new) {
  struct mq_attr size = {.mq_maxmsg = 1, .mq_msgsize = 8};
  return gets(mq_open("/farcall-escaped", O_CREAT | O_RDWR, 0600, &size));
}

// ---------------------------------------------------------------------------
// More than a fair share, within limits

KIND(many_timers) {
  int32_t error = 0;
  int count = 0, fds[200];
  while (count < 200 && !error) {
    fds[count] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    if (fds[count] < 0) error = errno;
    else count++;
  }
  while (count > 0) close(fds[--count]);
  return error;
}
static sem_t end;
static void *wait_for_end(void *context) {
  sem_wait(&end);
  return context;
}
KIND(many_threads) {
  static pthread_t threads[1000];
  int count = 0, error = 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  while (count < 1000 && !error) {
    error = pthread_create(&threads[count], &small, wait_for_end, NULL);
    count += !error;
  }
  for (int i = 0; i < count; i++) sem_post(&end);
  while (count > 0) pthread_join(threads[--count], NULL);
  return error;
}
KIND(huge_file) {
  int fd = (int)syscall(SYS_memfd_create, "huge", 0);
  if (fd < 0) return errno;
  int32_t result = error_of(ftruncate(fd, (off_t)1 << 40));
  close(fd);
  return result;
}
KIND(locked_memory) {
  size_t size = (size_t)64 << 20;
  void *memory =
      mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  int32_t result = error_of(mlock(memory, size));
  munmap(memory, size);
  return result;
}
