// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results in session memory, and the calling thread's state.
#include "runtime/execute/Executor.h"
#include "test/support/fake/Fake.h"
#include <algorithm>
#include <cfenv>

using namespace transom;
using namespace transom::test;

TEST(Executor, holds_results_for_strides_and_omission) {
  auto model = fakeModel();
  SessionConfig config = makeConfig(2, 64);
  EncodeCall call(2, 3);
  call.randomize(4, true);
  // A result with strides, and another one omitted.
  std::vector<float> wide(2 * 3 * 7, -7);
  transom_tensor hidden =
      makeTensor("last_hidden_state", TRANSOM_DTYPE_NONE, {}, wide);
  hidden.strides[0] = 21;
  hidden.strides[1] = 7;
  hidden.strides[2] = 1;
  // Without held results this is rejected before anything is written.
  auto plain = makeSession(*model, config);
  Result<void> refused =
      plain->run("encode", call.inputs.data(), 3, &hidden, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::Rejected);
  EXPECT_TRUE(std::all_of(wide.begin(), wide.end(),
                          [](float value) { return value == -7; }));
  // With them, only the elements at the strides are written.
  config.holdResults = true;
  auto holding = makeSession(*model, config);
  ASSERT_TRUE(bool(holding->run("encode", call.inputs.data(), 3, &hidden, 1)));
  EXPECT_EQ(hidden.dtype, TRANSOM_DTYPE_F32);
  std::vector<float> expected, pooled;
  call.expect(expected, pooled);
  for (size_t i = 0; i != 6; ++i)
    for (size_t j = 0; j != 7; ++j)
      EXPECT_EQ(wide[i * 7 + j], j < 4 ? expected[i * 4 + j] : -7);
}

TEST(Executor, restores_the_float_mode) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(2, 40, 2));
  EncodeCall call(2, 5);
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  ASSERT_TRUE(bool(call.run(*session)));
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  volatile float small = 1e-30f;
  EXPECT_NE(small * 1e-10f, 0.0f) << "denormals are back";
}

TEST(Executor, calls_a_function_for_each_index_on_all_threads) {
  auto model = fakeModel();
  for (unsigned threads : {1u, 2u, 5u})
    for (bool host : {false, true}) {
      SessionConfig config = makeConfig(2, 40, threads);
      if (host)
        config.parallel = [](void *, size_t count, transom_task task,
                             void *arg) {
          while (count--)
            task(arg, count);
        };
      auto session = makeSession(*model, config);
      for (size_t count : {0, 1, 2, 7, 100}) {
        std::vector<int> workers(count, -1);
        Result<void> looped = session->executor().forEach(
            count,
            [](void *context, size_t index, unsigned worker) {
              int &of = (*static_cast<std::vector<int> *>(context))[index];
              EXPECT_EQ(of, -1);
              of = int(worker);
            },
            &workers);
        EXPECT_TRUE(bool(looped));
        for (size_t i = 0; i != count; ++i)
          EXPECT_EQ(workers[i], count == 1 ? 0 : int(i % threads));
      }
      // Calls run as before.
      EncodeCall call(2, 5);
      EXPECT_TRUE(bool(call.run(*session)));
    }
}
