// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data that a model keeps across calls: primitives by size, weights by address;
// also concurrent sessions over one model with different thread counts.
#include "test/runtime/onednn/Calls.h"
#include <atomic>
#include <thread>

using namespace transom;
using namespace transom::test;

namespace {

using Sessions = OneDnnTest;

constexpr double inFloat32 = 2e-5;

TEST_F(Sessions, callsOfChangingSizes) {
  const int64_t longest = 24;
  Product product(longest, 24, 16);
  for (int64_t i = 0; i != 2 * longest; ++i) {
    const int64_t rows = i % longest + 1;
    std::fill(product.out.begin(), product.out.end(), NAN);
    product.rows = rows;
    product.call.input.dims[0] = product.call.out.dims[0] = rows;
    ASSERT_EQ(run(product.call), "");
    ASSERT_LT(product.error(), inFloat32) << rows << " rows";
    if (rows < longest) {
      ASSERT_TRUE(std::isnan(product.out[size_t(rows * 24)]));
    }
  }
}

/// More primitives than the cache holds, then the first ones again.
TEST_F(Sessions, moreSizesThanAreKept) {
  const int64_t longest = 600;
  std::vector<float> data(size_t(longest), 1.0f);
  transom_onednn_call call{};
  call.primitive = TRANSOM_ONEDNN_SOFTMAX;
  for (int64_t i = 0; i != longest + 5; ++i) {
    const int64_t columns = i % longest + 1;
    std::fill(data.begin(), data.end(), 1.0f);
    call.input = call.out = makeTensor(data, {1, columns});
    ASSERT_EQ(run(call), "");
    ASSERT_NEAR(double(data[0]), 1.0 / double(columns), 1e-6);
    ASSERT_NEAR(double(data[size_t(columns - 1)]), 1.0 / double(columns), 1e-6);
  }
}

TEST_F(Sessions, oneSizeWithManyWeights) {
  std::vector<std::unique_ptr<Product>> products;
  for (unsigned i = 0; i != 6; ++i)
    products.push_back(std::make_unique<Product>(7, 40, 24, 10 * i));
  for (int round = 0; round != 3; ++round)
    for (auto &product : products) {
      ASSERT_EQ(run(product->call), "");
      ASSERT_LT(product->error(), inFloat32);
    }
}

TEST_F(Sessions, onDifferentNumbersOfThreads) {
  Product product(33, 64, 64);
  for (unsigned threads : {1u, 3u, 2u, 1u}) {
    std::unique_ptr<OneDnnSession> other = makeSession(threads);
    std::fill(product.out.begin(), product.out.end(), NAN);
    ASSERT_EQ(run(*other, product.call), "");
    EXPECT_LT(product.error(), inFloat32) << threads << " threads";
  }
}

/// Two host threads, each with a session, over the same weights.
TEST_F(Sessions, atOnce) {
  Product shared(1, 96, 64);
  auto work = [&](unsigned seed, std::atomic<int> &wrong) {
    std::unique_ptr<OneDnnSession> own = makeSession(1 + seed);
    for (int64_t i = 0; i != 100; ++i) {
      Product product(1 + (i * 7 + seed) % 40, 96, 64, seed);
      product.weights = shared.weights;
      product.call.weights = shared.weights.data();
      product.call.activation = TRANSOM_ONEDNN_GELU;
      wrong +=
          !run(*own, product.call).empty() || !(product.error() < inFloat32);
    }
  };
  std::atomic<int> wrong{0};
  std::thread other([&] { work(0, wrong); });
  work(1, wrong);
  other.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Sessions, lendThreadsForOtherSteps) {
  if (!session->parallel())
    GTEST_SKIP() << "skipped: this oneDNN has no OpenMP";
  for (size_t count : {size_t(0), size_t(1), size_t(2), size_t(13)}) {
    std::vector<std::atomic<int>> calls(count + 1);
    session->parallel()(
        session->handle(), count,
        [](void *arg, size_t index) {
          ++(*static_cast<std::vector<std::atomic<int>> *>(arg))[index];
        },
        &calls);
    for (size_t i = 0; i != count; ++i)
      EXPECT_EQ(calls[i], 1);
    EXPECT_EQ(calls[count], 0);
  }
}

} // namespace
