// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of the artifact by hand: results for any mask, number of threads and
// host; staging; limits; memory.
#include "runtime/execute/Cpu.h"
#include "runtime/execute/Executor.h"
#include "test/support/fake/Fake.h"
#include <algorithm>
#include <cfenv>
#include <cstring>
#include <random>
#include <thread>

using namespace transom;
using namespace transom::test;

static void expectError(const Result<void> &result, Status status,
                        const std::string &text) {
  ASSERT_FALSE(result) << "expected: " << text;
  EXPECT_EQ(int(result.error().status), int(status)) << result.error().message;
  EXPECT_EQ(result.error().message, text);
}

TEST(Session, same_results_for_any_number_of_threads) {
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

/// A host that runs the shares in a shuffled order, on two threads.
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

TEST(Session, a_host_runs_the_shares_in_any_order) {
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

TEST(Session, two_sessions_of_one_model_at_once) {
  auto model = fakeModel();
  auto work = [&](unsigned seed) {
    auto session = makeSession(*model, makeConfig(3, 64, 2));
    for (unsigned round = 0; round != 30; ++round) {
      EncodeCall call(3, 17);
      call.randomize(seed + round, true);
      ASSERT_TRUE(bool(call.run(*session)));
      call.checkResults();
    }
  };
  std::thread other(work, 100);
  work(200);
  other.join();
}

TEST(Session, takes_i32_strides_and_defaults) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(2, 64));
  EncodeCall call(2, 5);
  call.randomize(3, false);
  std::fill(call.types.begin(), call.types.end(), 0);
  std::vector<int32_t> transposed(10);
  for (int64_t i = 0; i != 10; ++i)
    transposed[size_t(i % 5 * 2 + i / 5)] = int32_t(call.ids[size_t(i)]);
  transom_tensor ids =
      makeTensor("input_ids", TRANSOM_DTYPE_I32, {2, 5}, transposed);
  ids.strides[0] = 1;
  ids.strides[1] = 2;
  Result<void> done = session->run("encode", &ids, 1, call.outputs.data(), 2);
  ASSERT_TRUE(bool(done)) << done.error().message;
  call.checkResults();
}

TEST(Session, holds_results_for_strides_and_omission) {
  auto model = fakeModel();
  SessionConfig config = makeConfig(2, 64);
  EncodeCall call(2, 3);
  call.randomize(4, true);
  std::vector<float> wide(2 * 3 * 7, -7);
  transom_tensor hidden =
      makeTensor("last_hidden_state", TRANSOM_DTYPE_NONE, {}, wide);
  hidden.strides[0] = 21;
  hidden.strides[1] = 7;
  hidden.strides[2] = 1;
  auto plain = makeSession(*model, config);
  Result<void> refused =
      plain->run("encode", call.inputs.data(), 3, &hidden, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::Rejected);
  EXPECT_TRUE(std::all_of(wide.begin(), wide.end(),
                          [](float value) { return value == -7; }));
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

TEST(Session, tells_wrong_inputs) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(2, 64));
  EncodeCall call(2, 5);
  auto expect = [&](Status status, const std::string &text, auto change) {
    EncodeCall broken(2, 5);
    change(broken);
    SCOPED_TRACE(text);
    expectError(broken.run(*session), status, text);
    EXPECT_EQ(broken.hidden, std::vector<float>(broken.hidden.size(), -1));
  };
  expect(Status::Rejected,
         "entry 'encode' has no input 'input_id'; it has: input_ids, "
         "attention_mask, token_type_ids; did you mean 'input_ids'?",
         [](EncodeCall &c) { c.inputs[0].name = "input_id"; });
  expect(Status::Rejected,
         "entry 'encode' needs the input 'input_ids', which is missing",
         [](EncodeCall &c) { c.inputs.erase(c.inputs.begin()); });
  expect(Status::Rejected, "input 'input_ids' is given twice",
         [](EncodeCall &c) { c.inputs[1] = c.inputs[0]; });
  expect(Status::Rejected,
         "input 'input_ids' has dtype f32, expected i64 or i32",
         [](EncodeCall &c) { c.inputs[0].dtype = TRANSOM_DTYPE_F32; });
  expect(Status::Rejected,
         "input 'input_ids' has rank 1, expected 2: [batch, seq]",
         [](EncodeCall &c) { c.inputs[0].rank = 1; });
  expect(Status::Rejected,
         "input 'input_ids' has the shape [0, 5]; sizes are 1 to 2147483647",
         [](EncodeCall &c) { c.inputs[0].shape[0] = 0; });
  expect(Status::Rejected,
         "input 'attention_mask' has the shape [2, 4], but 'seq' is 5 in an "
         "input before",
         [](EncodeCall &c) { c.inputs[1].shape[1] = 4; });
  expect(Status::Limit,
         "input 'input_ids' needs 80 bytes, got a capacity of 79",
         [](EncodeCall &c) { c.inputs[0].capacity = 79; });
  expect(Status::Usage, "input 'input_ids' has no data: it is NULL",
         [](EncodeCall &c) { c.inputs[0].data = nullptr; });
  expect(Status::Rejected,
         "input 'input_ids' at [1, 2]: id 100 is not in [0, 100)",
         [](EncodeCall &c) { c.ids[7] = 100; });
  expect(Status::Rejected,
         "input 'attention_mask' at [0, 1]: 2 is neither 0 nor 1",
         [](EncodeCall &c) { c.mask[1] = 2; });
  expect(Status::Rejected,
         "entry 'encode' has no result 'pooler'; it has: last_hidden_state, "
         "pooler_output; did you mean 'pooler_output'?",
         [](EncodeCall &c) { c.outputs[1].name = "pooler"; });
  expect(Status::Limit,
         "result 'last_hidden_state' needs 160 bytes for its shape [2, 5, 4], "
         "got a capacity of 159",
         [](EncodeCall &c) { c.outputs[0].capacity = 159; });
  expect(Status::Rejected, "result 'pooler_output' has dtype i64, expected f32",
         [](EncodeCall &c) { c.outputs[1].dtype = TRANSOM_DTYPE_I64; });
  expect(Status::Rejected,
         "result 'pooler_output' is left out, and the session does not hold "
         "results",
         [](EncodeCall &c) { c.outputs.pop_back(); });
  expectError(session->run("encod", nullptr, 0, nullptr, 0), Status::Usage,
              "the model has no entry 'encod'; it has: encode, combine; did "
              "you mean 'encode'?");
  ASSERT_TRUE(bool(call.run(*session))) << "a good call after the bad ones";
}

TEST(Session, refuses_what_does_not_fit) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(2, 20));
  EncodeCall longer(1, 65);
  expectError(longer.run(*session), Status::Limit,
              "'seq' is 65, over the model's maximum 64");
  EncodeCall wide(3, 2);
  expectError(wide.run(*session), Status::Limit,
              "'batch' is 3, over the session's max_batch 2");
  EncodeCall full(2, 11);
  expectError(full.run(*session), Status::Limit,
              "22 tokens are over the session's max_tokens 20");
  // Padding is no row: the same call with two masked columns fits.
  full.mask[21] = full.mask[20] = 0;
  ASSERT_TRUE(bool(full.run(*session)));
  full.checkResults();
  std::vector<float> x(2 * 11 * 3), y(2 * 11 * 3);
  std::vector<uint8_t> m(2 * 11);
  std::vector<uint16_t> z(3);
  transom_tensor inputs[] = {makeTensor("x", TRANSOM_DTYPE_F32, {2, 11, 3}, x),
                             makeTensor("m", TRANSOM_DTYPE_BOOL, {2, 11}, m),
                             makeTensor("z", TRANSOM_DTYPE_BF16, {3}, z)};
  expectError(session->run("combine", inputs, 3, nullptr, 0), Status::Limit,
              "'seq' is 11 for a batch of 2, over the session's max_tokens 20");
}

TEST(Session, uses_no_more_threads_than_cpus) {
  auto model = fakeModel();
  transom_session_options options = transom_session_options_default();
  options.threads = 1;
  EXPECT_EQ(SessionConfig::from(*model, &options)->threads, 1u);
  options.threads = usableCpus() + 3;
  EXPECT_EQ(SessionConfig::from(*model, &options)->threads, usableCpus());
  options.parallel = [](void *, size_t, transom_task, void *) {};
  EXPECT_EQ(SessionConfig::from(*model, &options)->threads, usableCpus() + 3);
}

TEST(Session, position_limits_count_as_maxima) {
  Manifest manifest = fakeManifest();
  manifest.symbols[1].max = std::nullopt;
  auto model = fakeModel(manifest);
  auto session = makeSession(*model, makeConfig(1, 200));
  EncodeCall call(1, 65);
  expectError(call.run(*session), Status::Limit,
              "input 'input_ids' has length 65, over the model's maximum 64");
  EncodeCall fits(1, 64);
  EXPECT_TRUE(bool(fits.run(*session)));
}

TEST(Session, bool_and_half_inputs_and_uniform_rows) {
  auto model = fakeModel();
  for (unsigned threads : {1u, 3u}) {
    auto session = makeSession(*model, makeConfig(4, 40, threads));
    std::vector<float> x(4 * 5 * 3), y(x.size(), -1), tiny(4, -1);
    std::vector<uint8_t> m(20);
    std::vector<uint16_t> z = {0x3f80, 0x4000, 0x4040}; // 1, 2, 3
    std::vector<int64_t> count(4, -1);
    for (size_t i = 0; i != x.size(); ++i)
      x[i] = float(i);
    for (size_t i = 0; i != m.size(); ++i)
      m[i] = i % 3 == 0;
    transom_tensor inputs[] = {makeTensor("x", TRANSOM_DTYPE_F32, {4, 5, 3}, x),
                               makeTensor("m", TRANSOM_DTYPE_BOOL, {4, 5}, m),
                               makeTensor("z", TRANSOM_DTYPE_BF16, {3}, z)};
    transom_tensor outputs[] = {
        makeTensor("y", TRANSOM_DTYPE_F32, {}, y),
        makeTensor("tiny", TRANSOM_DTYPE_F32, {}, tiny),
        makeTensor("count", TRANSOM_DTYPE_I64, {}, count)};
    Result<void> done = session->run("combine", inputs, 3, outputs, 3);
    ASSERT_TRUE(bool(done)) << done.error().message;
    for (size_t i = 0; i != y.size(); ++i)
      EXPECT_EQ(y[i], m[i / 3] ? 2 * x[i] + float(i % 3 + 1) : 0);
    EXPECT_EQ(count, (std::vector<int64_t>{2, 2, 1, 2}));
    EXPECT_EQ(tiny, std::vector<float>(4, 0)) << "denormals are zero";
    m[3] = 2;
    expectError(session->run("combine", inputs, 3, outputs, 3),
                Status::Rejected, "input 'm' at [0, 3]: 2 is neither 0 nor 1");
  }
}

TEST(Session, restores_the_float_mode) {
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

TEST(Session, memory_is_what_was_foretold) {
  auto model = fakeModel();
  uint64_t last = 0;
  for (int64_t tokens : {64, 5000, 100000}) {
    SessionConfig config = makeConfig(16, tokens, 2);
    Result<SessionLayout> layout = SessionLayout::plan(*model, config);
    ASSERT_TRUE(bool(layout));
    auto session = makeSession(*model, config);
    EXPECT_EQ(session->memory(), layout->total);
    EXPECT_GE(layout->total, last);
    last = layout->total;
    config.memLimit = layout->total;
    EXPECT_TRUE(bool(Session::create(*model, config)));
    config.memLimit = layout->total - 1;
    Result<std::unique_ptr<Session>> refused = Session::create(*model, config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::Limit);
    EXPECT_NE(refused.error().message.find(std::to_string(layout->total)),
              std::string::npos);
  }
  Result<SessionLayout> huge =
      SessionLayout::plan(*model, makeConfig(INT64_MAX / 4, INT64_MAX / 4));
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().status, Status::Limit);
}

TEST(Session, the_largest_call_fits_with_protected_pages_around) {
  auto model = fakeModel();
  for (bool atEnd : {false, true})
    for (unsigned threads : {1u, 3u}) {
      SessionConfig config = makeConfig(7, 7 * 64, threads);
      config.arenaAtEnd = atEnd;
      config.holdResults = true;
      auto session = makeSession(*model, config);
      EncodeCall call(7, 64);
      call.randomize(9, true);
      ASSERT_TRUE(bool(call.run(*session)));
      call.checkResults();
      std::fill(call.mask.begin(), call.mask.end(), 1);
      ASSERT_TRUE(bool(call.run(*session)));
      call.checkResults();
      std::fill(call.mask.begin(), call.mask.end(), 0);
      ASSERT_TRUE(bool(call.run(*session)));
      call.checkResults();
    }
}

TEST(Session, symbols_of_any_name_and_sizes_without_symbols) {
  // The batch is what leads inputs only, whatever its name.
  Manifest manifest = fakeManifest();
  ManifestEntry &entry = manifest.entries[1];
  manifest.symbols = {{"n", std::nullopt}, {"t", std::nullopt}};
  entry.symbolOrder = {"keys1", "n", "rows1", "t"};
  auto shape = [](const char *a, const char *b) {
    return std::vector<Polynomial>{*Polynomial::parse(a),
                                   *Polynomial::parse(b)};
  };
  entry.inputs[0].shape = shape("n", "t");
  entry.inputs[0].shape.push_back(3);
  entry.inputs[1].shape = shape("n", "t");
  entry.outputs[0].shape = entry.inputs[0].shape;
  entry.outputs[1].shape = entry.outputs[2].shape = {Polynomial::symbol("n")};
  entry.ragged[0].batch = "n";
  entry.ragged[0].columns = "t";
  entry.arenaBytes = *Polynomial::parse("n*t");
  manifest.entries.erase(manifest.entries.begin());
  auto runWith = [](const Manifest &manifest) {
    auto model = fakeModel(manifest);
    std::vector<float> x(4 * 5 * 3, 1), y(x.size(), -1), tiny(4);
    std::vector<uint8_t> m(20, 1);
    std::vector<uint16_t> z(3);
    std::vector<int64_t> count(4, -1);
    transom_tensor inputs[] = {makeTensor("x", TRANSOM_DTYPE_F32, {4, 5, 3}, x),
                               makeTensor("m", TRANSOM_DTYPE_BOOL, {4, 5}, m),
                               makeTensor("z", TRANSOM_DTYPE_BF16, {3}, z)};
    transom_tensor outputs[] = {
        makeTensor("y", TRANSOM_DTYPE_F32, {}, y),
        makeTensor("tiny", TRANSOM_DTYPE_F32, {}, tiny),
        makeTensor("count", TRANSOM_DTYPE_I64, {}, count)};
    Capacity capacity;
    ASSERT_TRUE(bool(fitCapacity(*model, "combine", inputs, 3, capacity)));
    auto session = makeSession(
        *model, makeConfig(capacity.maxBatch, capacity.maxTokens, 2));
    Result<void> done = session->run("combine", inputs, 3, outputs, 3);
    ASSERT_TRUE(bool(done)) << done.error().message;
    EXPECT_EQ(y, std::vector<float>(y.size(), 2));
    EXPECT_EQ(count, std::vector<int64_t>(4, 5));
  };
  runWith(manifest);
  ManifestEntry &fixed = manifest.entries[0];
  manifest.symbols.clear();
  fixed.symbolOrder = {"keys1", "rows1"};
  fixed.inputs[0].shape = fixed.outputs[0].shape = {4, 5, 3};
  fixed.inputs[1].shape = {4, 5};
  fixed.outputs[1].shape = fixed.outputs[2].shape = {4};
  fixed.ragged[0].batch = "4";
  fixed.ragged[0].columns = "5";
  fixed.arenaBytes = 64;
  runWith(manifest);
  runWith(*Manifest::parse(manifest.toJson()));
}

TEST(Session, shapes_without_running) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(1, 1));
  EncodeCall call(3, 7);
  transom_tensor result{};
  call.inputs[0].data = nullptr;
  ASSERT_TRUE(bool(session->shape("encode", call.inputs.data(), 3,
                                  "last_hidden_state", result)));
  EXPECT_EQ(result.rank, 3);
  EXPECT_EQ(result.shape[0], 3);
  EXPECT_EQ(result.shape[1], 7);
  EXPECT_EQ(result.shape[2], 4);
  EXPECT_EQ(result.capacity, 3u * 7 * 4 * 4);
  expectError(session->shape("encode", call.inputs.data(), 3, "logits", result),
              Status::Rejected,
              "entry 'encode' has no result 'logits'; it has: "
              "last_hidden_state, pooler_output");
}

TEST(Session, refuses_inconsistent_manifests) {
  auto refused = [](auto change) {
    Manifest manifest = fakeManifest();
    change(manifest);
    Result<std::unique_ptr<Model>> model =
        Model::fromCode(manifest, "", transom_artifact, "", "", "fake");
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().status, Status::Rejected) << model.error().message;
  };
  refused([](Manifest &m) { m.entries[0].name = "decode"; });
  refused([](Manifest &m) { m.entries[0].inputs[1].role = "data"; });
  refused([](Manifest &m) {
    m.entries[0].outputs[0].shape[1] = Polynomial::symbol("rows");
  });
  refused([](Manifest &m) {
    m.entries[0].arenaBytes = Polynomial::symbol("heads");
  });
  refused([](Manifest &m) { m.entries[0].ragged[0].keys = "rows"; });
  refused([](Manifest &m) {
    m.entries[1].symbolOrder.push_back("width");
    m.entries[1].arenaBytes = Polynomial::symbol("width");
  });
}
