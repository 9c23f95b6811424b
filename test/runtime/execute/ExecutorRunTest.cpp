// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dispatches on any number of threads and on a host pool; cancelling a call,
// between dispatches and from another thread; times for dispatches and workers;
// dispatches with no barrier between them.
#include "runtime/execute/ExecutorRun.h"
#include "test/support/fake/Fake.h"
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

using namespace transom;
using namespace transom::test;

TEST(ExecutorRun, same_results_for_any_number_of_threads) {
  auto model = fakeModel();
  for (unsigned threads = 1; threads <= 8; ++threads) {
    auto session = makeSession(*model, makeConfig(5, 200, threads));
    for (unsigned round = 0; round != 8; ++round) {
      EncodeCall call(1 + round % 5, 1 + int64_t(round) * 5);
      call.randomize(round, true);
      Result<void> done = call.run(*session);
      ASSERT_TRUE(bool(done)) << done.error().message;
      call.checkResults();
      EXPECT_EQ(call.outputs[0].rank, 3);
      EXPECT_EQ(call.outputs[0].shape[1], call.seq);
      EXPECT_EQ(call.outputs[1].dtype, TRANSOM_DTYPE_F32);
    }
  }
}

/// A host that runs the workers in a shuffled order, on two threads.
struct ShuffledHost {
  std::mt19937 random{7};
  int forks = 0;
  static void parallel(void *context, size_t count, transom_task task,
                       void *arg) {
    ShuffledHost &host = *static_cast<ShuffledHost *>(context);
    ++host.forks;
    std::vector<size_t> order(count);
    for (size_t i = 0; i != count; ++i)
      order[i] = i;
    std::shuffle(order.begin(), order.end(), host.random);
    std::thread other([&] {
      for (size_t i = 0; i < count; i += 2)
        task(arg, order[i]);
    });
    for (size_t i = 1; i < count; i += 2)
      task(arg, order[i]);
    other.join();
  }
};

TEST(ExecutorRun, a_host_runs_the_workers_in_any_order) {
  auto model = fakeModel();
  ShuffledHost host;
  SessionConfig config = makeConfig(4, 100, 7);
  config.parallel = ShuffledHost::parallel;
  config.parallelContext = &host;
  auto session = makeSession(*model, config);
  EncodeCall call(4, 20);
  call.randomize(1, true);
  ASSERT_TRUE(bool(call.run(*session)));
  call.checkResults();
  EXPECT_EQ(host.forks, 5);
}

TEST(ExecutorRun, cancel_ends_a_call_between_dispatches) {
  auto model = fakeModel();
  for (unsigned threads : {1u, 3u}) {
    // A host that cancels in the second step acts as another thread.
    struct Host {
      Session *session = nullptr;
      int forks = 0;
    } host;
    SessionConfig config = makeConfig(2, 40, threads);
    config.parallelContext = &host;
    config.parallel = [](void *context, size_t count, transom_task task,
                         void *arg) {
      Host &host = *static_cast<Host *>(context);
      if (++host.forks == 2)
        host.session->cancel();
      for (size_t i = 0; i != count; ++i)
        task(arg, i);
    };
    auto session = makeSession(*model, config);
    host.session = session.get();
    EncodeCall call(2, 5);
    Result<void> cancelled = call.run(*session);
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().status, cancelledStatus);
    EXPECT_EQ(host.forks, 2);
    ASSERT_TRUE(bool(call.run(*session))) << "the flag is used up";
    call.checkResults();
  }
}

TEST(ExecutorRun, cancel_from_another_thread) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(8, 512, 3));
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      session->cancel();
      std::this_thread::yield();
    }
  });
  int ended = 0;
  EncodeCall call(8, 64);
  // On a busy host the other thread may be late.
  for (int i = 0; i < 200 || (ended == 0 && i < 1000000); ++i) {
    Result<void> done = call.run(*session);
    if (!done) {
      EXPECT_EQ(done.error().status, cancelledStatus);
      ++ended;
    }
  }
  stop = true;
  other.join();
  EXPECT_GT(ended, 0);
  while (!call.run(*session))
    ;
  call.checkResults();
}

TEST(ExecutorRun, profile_has_a_time_for_each_dispatch) {
  auto model = fakeModel();
  SessionConfig config = makeConfig(2, 40, 2);
  config.profile = true;
  auto session = makeSession(*model, config);
  EncodeCall call(2, 5);
  ASSERT_TRUE(bool(call.run(*session)));
  size_t steps = 0;
  const int64_t *times = session->executor().profile(steps);
  ASSERT_EQ(steps, 5u);
  for (size_t i = 0; i != steps; ++i)
    EXPECT_GE(times[i], 0);
}

TEST(ExecutorRun, trace_has_a_begin_and_an_end_for_each_worker) {
  auto model = fakeModel();
  SessionConfig config = makeConfig(2, 40, 3);
  size_t steps = 0;
  EXPECT_EQ(makeSession(*model, config)->executor().workerTimes(steps),
            nullptr);
  config.profile = config.trace = true;
  auto session = makeSession(*model, config);
  EncodeCall call(2, 5);
  ASSERT_TRUE(bool(call.run(*session)));
  const transom_worker_time *shares = session->executor().workerTimes(steps);
  ASSERT_EQ(steps, 5u);
  for (size_t step = 0; step != steps; ++step)
    for (size_t worker = 0; worker != 3; ++worker) {
      const transom_worker_time &share = shares[step * 3 + worker];
      EXPECT_GT(share.begin, 0);
      EXPECT_GE(share.end, share.begin);
      // A step begins after all shares in the previous step have ended.
      for (size_t other = 0; step != 0 && other != 3; ++other)
        EXPECT_GE(share.begin, shares[(step - 1) * 3 + other].end);
    }
}

TEST(ExecutorRun, an_observer_sees_each_dispatch_on_the_callers_thread) {
  auto model = fakeModel();
  struct Observer : DispatchObserver {
    std::vector<int64_t> seen;
    std::thread::id thread;
    bool isBegun = false;
    void willRun(const ExecutorRun &run, int64_t dispatch) override {
      EXPECT_FALSE(isBegun);
      isBegun = true;
      EXPECT_EQ(run.numWorkers, 3);
      EXPECT_STREQ(run.entry->name, "encode");
      seen.push_back(dispatch);
    }
    void didRun(const ExecutorRun &, int64_t dispatch) override {
      EXPECT_TRUE(isBegun);
      isBegun = false;
      EXPECT_EQ(seen.back(), dispatch);
      thread = std::this_thread::get_id();
      // The mode is the caller's: denormals count.
      volatile float tiny = 1e-40F;
      EXPECT_NE(tiny * 2, 0);
    }
  } observer;
  SessionConfig config = makeConfig(2, 40, 3);
  config.observer = &observer;
  auto session = makeSession(*model, config);
  EncodeCall call(2, 5);
  call.randomize(1, true);
  ASSERT_TRUE(bool(call.run(*session)));
  call.checkResults();
  EXPECT_EQ(observer.seen, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(observer.thread, std::this_thread::get_id());
}

namespace {
/// Dispatches that record their workers, in a call with one ragged batch.
class JoinedRun {
public:
  struct Step {
    int64_t dispatch, worker;
    bool operator==(const Step &other) const {
      return dispatch == other.dispatch && worker == other.worker;
    }
  };

  /// The heads in dispatch 1 are four ranges, from the second ragged batch.
  JoinedRun(int64_t sequences, int64_t tokens, int64_t workers) {
    batches[1].num_sequences = sequences;
    batches[1].num_tokens = tokens;
    frame.ragged_batches = batches;
    frame.arena = reinterpret_cast<char *>(&steps);
    run.frame = &frame;
    run.entry = &entry;
    run.phases = phases;
    run.numWorkers = workers;
    run.cancel = &cancel;
  }

  /// The number of calls to a host that takes the last worker first.
  int runBackwards() {
    int calls = 0;
    steps.clear();
    HostPool pool(
        [](void *context, size_t count, transom_task task, void *arg) {
          ++*static_cast<int *>(context);
          while (count--)
            task(arg, count);
        },
        &calls, size_t(run.numWorkers));
    Result<bool> done = run.runOnHost(pool);
    EXPECT_TRUE(done && *done);
    return calls;
  }

  std::vector<Step> steps;
  ExecutorRun run;
  std::atomic<uint32_t> cancel{0};

private:
  template <int64_t Dispatch>
  static void write(const transom_frame *frame, const int64_t *, int64_t worker,
                    int64_t) {
    auto *steps = reinterpret_cast<std::vector<Step> *>(frame->arena);
    steps->push_back({Dispatch, worker});
  }

  const transom_phase phases[3] = {write<0>, write<1>, write<2>};
  const transom_dispatch dispatches[3] = {
      {0, -1, 0, 0}, {1, -1, 4, 1}, {2, -1, 0, 0}};
  const transom_entry_code entry = {"joined", dispatches, 3};
  transom_ragged_batch batches[2] = {};
  transom_frame frame = {};
};
} // namespace

TEST(ExecutorRun, a_worker_goes_on_to_the_heads_that_it_made) {
  JoinedRun joined(1, 8, 2);
  EXPECT_EQ(joined.runBackwards(), 2);
  EXPECT_EQ(joined.steps, (std::vector<JoinedRun::Step>{
                              {0, 1}, {1, 1}, {0, 0}, {1, 0}, {2, 1}, {2, 0}}));
}

TEST(ExecutorRun, a_barrier_is_left_out_in_short_calls_of_one_sequence_only) {
  EXPECT_EQ(JoinedRun(1, 8, 1).runBackwards(), 2);
  EXPECT_EQ(JoinedRun(1, 8, 4).runBackwards(), 2);
  EXPECT_EQ(JoinedRun(1, 0, 2).runBackwards(), 2);
  EXPECT_EQ(JoinedRun(1, 8, 3).runBackwards(), 3) << "heads are not divided";
  EXPECT_EQ(JoinedRun(1, 8, 8).runBackwards(), 3) << "more workers than heads";
  EXPECT_EQ(JoinedRun(2, 8, 2).runBackwards(), 3) << "two sequences";
  EXPECT_EQ(JoinedRun(0, 0, 2).runBackwards(), 3) << "no sequence";
  EXPECT_EQ(JoinedRun(1, 127, 2).runBackwards(), 2);
  EXPECT_EQ(JoinedRun(1, 128, 2).runBackwards(), 3) << "workers own rows";
}

TEST(ExecutorRun, times_and_observers_keep_the_barriers) {
  int64_t nanoseconds[3] = {};
  JoinedRun timed(1, 8, 2);
  timed.run.nanoseconds = nanoseconds;
  EXPECT_EQ(timed.runBackwards(), 3);

  transom_worker_time times[6] = {};
  JoinedRun traced(1, 8, 2);
  traced.run.workerTimes = times;
  EXPECT_EQ(traced.runBackwards(), 3);

  struct : DispatchObserver {
    void willRun(const ExecutorRun &, int64_t) override { ++count; }
    void didRun(const ExecutorRun &, int64_t) override {}
    int count = 0;
  } observer;
  JoinedRun observed(1, 8, 2);
  EXPECT_TRUE(observed.run.runObserved(observer));
  EXPECT_EQ(observer.count, 3);
}

TEST(ExecutorRun, cancel_ends_a_call_at_the_next_barrier) {
  JoinedRun joined(1, 8, 2);
  joined.cancel = 1;
  HostPool pool(
      [](void *, size_t count, transom_task task, void *arg) {
        for (size_t i = 0; i != count; ++i)
          task(arg, i);
      },
      nullptr, 2);
  Result<bool> done = joined.run.runOnHost(pool);
  EXPECT_TRUE(done && !*done);
  EXPECT_EQ(joined.steps,
            (std::vector<JoinedRun::Step>{{0, 0}, {1, 0}, {0, 1}, {1, 1}}));
}
