// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dispatches that oneDNN computes in a session run: between native ones, on one
// thread, on several and on a host pool; and one that fails.
#include "runtime/session/Session.h"
#include "test/runtime/onednn/Calls.h"

using namespace transom;
using namespace transom::test;

namespace {

constexpr int64_t width = 8;

Polynomial poly(const char *text) { return *Polynomial::parse(text); }

/// buffer = 2 * x, row by row.
void twice(const transom_frame *frame, const int64_t *, int64_t worker,
           int64_t numWorkers) {
  const int64_t rows = frame->symbols[0];
  const float *x = static_cast<const float *>(frame->args[0]);
  float *buffer = reinterpret_cast<float *>(frame->arena + frame->offsets[0]);
  for (int64_t i = rows * worker / numWorkers * width;
       i != rows * (worker + 1) / numWorkers * width; ++i)
    buffer[i] = 2 * x[i];
}

/// An entry `run`: y = softmax(2 x) * weight^T for the layer row, on [n, 8].
struct HandMade {
  HandMade() : weights(randomFloats(2 * width * width, 1)) {
    ManifestEntry entry;
    entry.name = "run";
    entry.symbolOrder = {"n"};
    for (auto [list, name] :
         {std::pair(&entry.inputs, "x"), std::pair(&entry.outputs, "y")}) {
      ManifestTensor tensor;
      tensor.name = name;
      tensor.shape = {poly("n"), width};
      list->push_back(tensor);
    }
    entry.buffers = {{0, poly("32*n"), ""}};
    entry.arenaBytes = entry.arenaLowerBound = poly("32*n");
    ManifestCall softmax, product;
    softmax.primitive = "softmax";
    softmax.input = softmax.out = {false, 0, {poly("n"), width}};
    product.primitive = "matmul";
    product.input = softmax.out;
    product.out = {true, 1, {poly("n"), width}};
    product.weights = ManifestCallWeight{true, 1};
    entry.calls = {softmax, product};
    manifest.symbols = {{"n", std::nullopt}};
    manifest.isas = {"avx2"};
    manifest.entries = {entry};

    code.abi = TRANSOM_ABI_VERSION;
    code.num_isas = 1;
    code.isas = &isa;
    code.num_phases = 1;
    code.num_entries = 1;
    code.entries = &entryCode;
    code.layers = rows;
    code.weights = reinterpret_cast<const char *>(weights.data());
  }

  Result<std::unique_ptr<Model>> load() {
    return Model::fromCode(manifest, "", code, {}, "avx2", "hand-made");
  }

  /// The expected result.
  std::vector<float> expected(const std::vector<float> &x) const {
    std::vector<float> y(x.size());
    const float *weight = weights.data() + width * width;
    for (size_t row = 0; row != x.size() / width; ++row) {
      double sum = 0;
      for (size_t i = 0; i != width; ++i)
        sum += std::exp(2.0 * double(x[row * width + i]));
      for (size_t n = 0; n != width; ++n) {
        double value = 0;
        for (size_t i = 0; i != width; ++i)
          value += std::exp(2.0 * double(x[row * width + i])) / sum *
                   double(weight[n * width + i]);
        y[row * width + n] = float(value);
      }
    }
    return y;
  }

  std::vector<float> weights;
  Manifest manifest;
  const int64_t rows[2] = {0, width *width *int64_t(sizeof(float))};
  transom_dispatch steps[3] = {{0, -1}, {-1, -1}, {-2, 0}};
  transom_entry_code entryCode{"run", steps, 3};
  const transom_phase phases[1] = {twice};
  transom_isa_code isa{"avx2", phases};
  transom_artifact_code code{};
};

/// Calls in the opposite order on this thread; counts its uses.
void hostParallel(void *context, size_t count, transom_task task, void *arg) {
  ++*static_cast<int *>(context);
  for (size_t i = count; i-- != 0;)
    task(arg, i);
}

class RunOfCalls : public ::testing::Test {
protected:
  void SetUp() override {
    Result<std::unique_ptr<Model>> loaded = made.load();
    if (!loaded && loaded.error().status == Status::Unsupported)
      GTEST_SKIP() << "skipped: " << loaded.error().message;
    ASSERT_TRUE(bool(loaded)) << loaded.error().message;
    model = std::move(*loaded);
  }

  /// Runs `count` rows and compares.
  void check(SessionConfig config, int64_t count) {
    config.maxBatch = config.maxTokens = 64;
    Result<std::unique_ptr<Session>> session = Session::create(*model, config);
    ASSERT_TRUE(bool(session)) << session.error().message;
    std::vector<float> x = randomFloats(size_t(count * width), 3);
    std::vector<float> y(x.size(), NAN);
    transom_tensor in = tensor("x", x, count), out = tensor("y", y, count);
    Result<void> done = (*session)->run("run", &in, 1, &out, 1);
    ASSERT_TRUE(bool(done)) << done.error().message;
    std::vector<float> expected = made.expected(x);
    for (size_t i = 0; i != y.size(); ++i)
      ASSERT_NEAR(double(y[i]), double(expected[i]), 1e-5);
  }

  static transom_tensor tensor(const char *name, std::vector<float> &data,
                               int64_t count) {
    transom_tensor made{};
    made.name = name;
    made.dtype = TRANSOM_DTYPE_F32;
    made.rank = 2;
    made.shape[0] = count;
    made.shape[1] = width;
    made.data = data.data();
    made.capacity = data.size() * sizeof(float);
    return made;
  }

  HandMade made;
  std::unique_ptr<Model> model;
};

TEST_F(RunOfCalls, onAnyThreads) {
  for (unsigned threads : {1u, 2u, 3u})
    for (int64_t count : {1, 7, 40}) {
      SessionConfig config;
      config.threads = threads;
      check(config, count);
    }
}

TEST_F(RunOfCalls, onAHostsThreads) {
  int uses = 0;
  SessionConfig config;
  config.threads = 2;
  config.parallel = hostParallel;
  config.parallelContext = &uses;
  check(config, 9);
  EXPECT_EQ(uses, 1); // for the native step alone
}

TEST_F(RunOfCalls, endsWithTheErrorOfACall) {
  made.manifest.entries[0].calls[1].input.shape[1] = 5; // no primitive's k
  made.manifest.entries[0].calls[1].out.shape[0] = poly("n+1");
  Result<std::unique_ptr<Model>> loaded = made.load();
  ASSERT_TRUE(bool(loaded));
  SessionConfig config;
  config.maxBatch = config.maxTokens = 64;
  Result<std::unique_ptr<Session>> session = Session::create(**loaded, config);
  ASSERT_TRUE(bool(session));
  std::vector<float> x(4 * width), y(4 * width);
  transom_tensor in = tensor("x", x, 4), out = tensor("y", y, 4);
  Result<void> done = (*session)->run("run", &in, 1, &out, 1);
  ASSERT_FALSE(bool(done));
  EXPECT_EQ(done.error().status, Status::Internal);
  EXPECT_EQ(done.error().message.rfind("oneDNN ", 0), 0u)
      << done.error().message;
}

TEST(HandMadeModel, withAStepOfNoCallIsRejected) {
  HandMade made;
  made.manifest.entries[0].calls.clear();
  Result<std::unique_ptr<Model>> loaded = made.load();
  ASSERT_FALSE(bool(loaded));
  EXPECT_EQ(loaded.error().status, Status::Rejected);
  EXPECT_NE(loaded.error().message.find("phase -1 of 1"), std::string::npos)
      << loaded.error().message;
}

} // namespace
