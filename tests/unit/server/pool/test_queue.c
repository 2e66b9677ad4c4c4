// SPDX-License-Identifier: Apache-2.0
//
// Both hand-overs of slots, with several threads on the other side: each slot arrives
// once, in the order of its pusher, and no thread sleeps while there is a slot.
#include "pool/queue.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "helpers/test.h"

#define SLOTS 512
#define THREADS 3

static void stops_have_names(void **state) {
  (void)state;
  assert_string_equal(fc_stage_name(FC_STAGE_READ), "read");
  assert_string_equal(fc_stage_name(FC_STAGE_WRITE), "write");
  assert_int_equal(FC_STAGE_COUNT, 8);
}

static void ready_slots_come_out_in_order(void **state) {
  (void)state;
  static fc_slot_t slots[4];
  fc_ready_t ready;
  fc_spin_t spin = {.ns = 1000};
  fc_ready_init(&ready);
  slots[2].next = 0;
  fc_ready_submit(&ready, slots, 2, 0, 2);
  fc_ready_submit(&ready, slots, 3, 3, 1);
  assert_int_equal(fc_ready_take(&ready, slots, &spin), 2);
  assert_int_equal(fc_ready_take(&ready, slots, &spin), 0);
  assert_int_equal(fc_ready_take(&ready, slots, &spin), 3);
  fc_ready_submit(&ready, slots, 1, 1, 1);
  fc_ready_stop(&ready);
  // Slots that were submitted before the stop are still given out.
  assert_int_equal(fc_ready_take(&ready, slots, &spin), 1);
  assert_int_equal(fc_ready_take(&ready, slots, &spin), FC_SLOT_NONE);
  fc_ready_deinit(&ready);
}

static void done_slots_come_out_oldest_first(void **state) {
  (void)state;
  static fc_slot_t slots[4];
  fc_done_t done;
  fc_done_init(&done);
  assert_int_equal(fc_done_take(&done, slots, true), FC_SLOT_NONE);
  assert_true(fc_done_push(&done, slots, 2));
  assert_false(fc_done_push(&done, slots, 0));
  uint32_t slot = fc_done_take(&done, slots, false);
  assert_int_equal(slot, 2);
  assert_int_equal(slots[2].next, 0);
  assert_int_equal(slots[0].next, FC_SLOT_NONE);
  // A slot was taken before the wake-up came, so that wake-up is still outstanding.
  assert_false(fc_done_push(&done, slots, 1));
  assert_int_equal(fc_done_take(&done, slots, true), 1);
  assert_true(fc_done_push(&done, slots, 3));
}

// The workers return the slots that they take. A bell counts the wake-ups of the loop.
typedef struct house_t {
  fc_slot_t slots[SLOTS];
  fc_ready_t ready;
  fc_done_t done;
  pthread_mutex_t lock;
  pthread_cond_t bell;
  unsigned rings;
  uint64_t work[SLOTS];
  uint32_t spin_ns;
} house_t;

static void *work(void *context) {
  house_t *house = context;
  fc_spin_t spin = {.ns = house->spin_ns};
  uint32_t slot;
  while ((slot = fc_ready_take(&house->ready, house->slots, &spin)) !=
         FC_SLOT_NONE) {
    house->work[slot] = house->work[slot] * 2 + 1;
    house->slots[slot].call.deadline_ns = house->work[slot];
    if (fc_done_push(&house->done, house->slots, slot)) {
      pthread_mutex_lock(&house->lock);
      house->rings++;
      pthread_cond_signal(&house->bell);
      pthread_mutex_unlock(&house->lock);
    }
  }
  return NULL;
}

static void pass_through(uint32_t spin_ns) {
  static house_t house;
  house = (house_t){.spin_ns = spin_ns};
  fc_ready_init(&house.ready);
  fc_done_init(&house.done);
  pthread_mutex_init(&house.lock, NULL);
  pthread_cond_init(&house.bell, NULL);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, work, &house), 0);
  }
  uint32_t free_slots[SLOTS], free_count = 0;
  for (uint32_t i = 0; i < SLOTS; i++) free_slots[free_count++] = i;
  bool out[SLOTS] = {false};
  unsigned sent = 0, received = 0;
  enum { TOTAL = 20000 };
  while (received < TOTAL) {
    uint32_t first = FC_SLOT_NONE, last = FC_SLOT_NONE, count = 0;
    while (free_count && sent < TOTAL && count < 1 + sent % 37) {
      uint32_t slot = free_slots[--free_count];
      assert_false(out[slot]);
      out[slot] = true;
      house.work[slot] = sent++;
      if (first == FC_SLOT_NONE) first = slot;
      else house.slots[last].next = slot;
      last = slot;
      count++;
    }
    if (count) {
      fc_ready_submit(&house.ready, house.slots, first, last, count);
    }
    // Does what the loop does: looks for a slot and, if there is none, waits for the
    // bell.
    uint32_t slot = fc_done_take(&house.done, house.slots, false);
    if (slot == FC_SLOT_NONE) {
      pthread_mutex_lock(&house.lock);
      while (house.rings == 0) pthread_cond_wait(&house.bell, &house.lock);
      house.rings--;
      assert_int_equal(house.rings, 0);  // at most one outstanding
      pthread_mutex_unlock(&house.lock);
      slot = fc_done_take(&house.done, house.slots, true);
    }
    while (slot != FC_SLOT_NONE) {
      assert_true(out[slot]);
      out[slot] = false;
      assert_int_equal(house.slots[slot].call.deadline_ns, house.work[slot]);
      received++;
      uint32_t next = house.slots[slot].next;
      free_slots[free_count++] = slot;
      slot = next;
    }
  }
  fc_ready_stop(&house.ready);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(fc_done_take(&house.done, house.slots, true), FC_SLOT_NONE);
  fc_ready_deinit(&house.ready);
  pthread_cond_destroy(&house.bell);
  pthread_mutex_destroy(&house.lock);
}

static void no_slot_is_lost_or_seen_twice(void **state) {
  (void)state;
  static const uint32_t spins_ns[] = {0, 2000, 1000000};
  for (size_t i = 0; i < FC_ARRAY_COUNT(spins_ns); i++) {
    pass_through(spins_ns[i]);
  }
}

// A thread that is looking for slots is not woken. If it finds none, it looks less
// often.
static void looking_is_adaptive(void **state) {
  (void)state;
  fc_spin_t spin = {.ns = 1};
  unsigned tried = 0;
  for (int i = 0; i < 1600; i++) tried += fc_spin_begin(&spin);
  assert_in_range(tried, 100, 130);
  (void)fc_spin_hit(&spin);
  assert_true(fc_spin_begin(&spin));
  while (fc_spin_more(&spin)) continue;
  fc_spin_t never = {0};
  assert_false(fc_spin_begin(&never));
}

typedef struct taker_t {
  fc_ready_t *ready;
  fc_slot_t *slots;
} taker_t;

static void *take_without_looking(void *context) {
  const taker_t *taker = context;
  fc_spin_t never = {0};
  return (void *)(uintptr_t)fc_ready_take(taker->ready, taker->slots, &never);
}

static void wait_until_idle(fc_ready_t *ready, uint32_t count) {
  for (bool idle = false; !idle; sched_yield()) {
    pthread_mutex_lock(&ready->lock);
    idle = ready->idle == count;
    pthread_mutex_unlock(&ready->lock);
  }
}

// Here each woken thread takes one slot, so every slot must wake a thread.
static void a_batch_wakes_as_many_as_it_has_slots(void **state) {
  (void)state;
  static fc_slot_t slots[THREADS];
  fc_ready_t ready;
  fc_ready_init(&ready);
  taker_t taker = {&ready, slots};
  pthread_t threads[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    slots[i].next = i + 1;
    assert_int_equal(
        pthread_create(&threads[i], NULL, take_without_looking, &taker), 0);
  }
  wait_until_idle(&ready, THREADS);
  fc_ready_submit(&ready, slots, 0, THREADS - 1, THREADS);
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 20;  // seconds: only a thread that is not woken waits so long
  uintptr_t taken_of_all = 0;
  for (int i = 0; i < THREADS; i++) {
    void *taken;
    assert_int_equal(pthread_timedjoin_np(threads[i], &taken, &end), 0);
    taken_of_all |= (uintptr_t)1 << (uintptr_t)taken;
  }
  assert_int_equal(taken_of_all, (1u << THREADS) - 1);
  fc_ready_deinit(&ready);
}

// The kernel may keep a looking thread from running, and it can take only one slot. So
// two slots must wake another thread.
static void one_who_looks_is_not_left_with_two(void **state) {
  (void)state;
  static fc_slot_t slots[2];
  fc_ready_t ready;
  fc_ready_init(&ready);
  ready.looking = 1;
  taker_t taker = {&ready, slots};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, take_without_looking, &taker),
                   0);
  wait_until_idle(&ready, 1);
  fc_ready_submit(&ready, slots, 0, 0, 1);
  fc_ready_submit(&ready, slots, 1, 1, 1);
  void *taken;
  assert_int_equal(pthread_join(thread, &taken), 0);
  assert_int_equal((uintptr_t)taken, 0);
  fc_ready_deinit(&ready);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(stops_have_names),
      FC_TEST(ready_slots_come_out_in_order),
      FC_TEST(done_slots_come_out_oldest_first),
      FC_TEST(no_slot_is_lost_or_seen_twice),
      FC_TEST(looking_is_adaptive),
      FC_TEST(a_batch_wakes_as_many_as_it_has_slots),
      FC_TEST(one_who_looks_is_not_left_with_two),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
