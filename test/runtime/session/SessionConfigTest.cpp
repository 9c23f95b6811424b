// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defaults for session options.
#include "runtime/execute/Cpu.h"
#include "test/support/fake/FakeDecoder.h"

using namespace transom;
using namespace transom::test;

TEST(SessionConfig, uses_no_more_threads_than_cpus) {
  auto model = fakeModel();
  transom_session_options options = transom_session_options_default();
  options.threads = 1;
  EXPECT_EQ(SessionConfig::from(*model, &options)->threads, 1u);
  options.threads = usableCpus() + 3;
  EXPECT_EQ(SessionConfig::from(*model, &options)->threads, usableCpus());
  options.parallel = [](void *, size_t, transom_task, void *) {};
  EXPECT_EQ(SessionConfig::from(*model, &options)->threads, usableCpus() + 3);
}

TEST(SessionConfig, a_run_holds_the_longest_source) {
  Manifest manifest = sourceManifest();
  manifest.symbols = {{"seq", 3000}};
  auto model = fakeModel(manifest);
  Result<SessionConfig> config = SessionConfig::from(*model, nullptr);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->maxTokens, 3000);
  EXPECT_EQ(config->maxSourceTokens, 0); // the total for all sequences
  EXPECT_FALSE(config->holdResults);
  manifest.symbols = {{"seq", 300}};
  auto shorter = fakeModel(manifest);
  EXPECT_EQ(SessionConfig::from(*shorter, nullptr)->maxTokens, 1024);

  transom_session_options options = transom_session_options_default();
  options.max_source_tokens = 700;
  EXPECT_EQ(SessionConfig::from(*model, &options)->maxSourceTokens, 700);
  options.max_source_tokens = uint64_t(1) << 41;
  config = SessionConfig::from(*model, &options);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().status, Status::Usage);
}

TEST(SessionConfig, fits_sources_and_targets) {
  auto model = fakeModel(sourceManifest());
  std::vector<int64_t> ids(2 * 300), target(2 * 400);
  const transom_tensor inputs[] = {
      makeTensor("input_ids", TRANSOM_DTYPE_I64, {2, 300}, ids),
      makeTensor("decoder_input_ids", TRANSOM_DTYPE_I64, {2, 400}, target)};
  Capacity capacity;
  ASSERT_TRUE(fitCapacity(*model, "logits", inputs, 2, capacity));
  EXPECT_EQ(capacity.maxBatch, 2);
  EXPECT_EQ(capacity.maxSequences, 2);
  EXPECT_EQ(capacity.maxKvTokens, 2 * 400);
  EXPECT_EQ(capacity.maxSourceTokens, 2 * 512);
  EXPECT_GE(capacity.maxTokens, 400);
  // A source is not split.
  std::vector<int64_t> longer(2000);
  const transom_tensor source =
      makeTensor("input_ids", TRANSOM_DTYPE_I64, {1, 2000}, longer);
  ASSERT_TRUE(fitCapacity(*model, "generate", &source, 1, capacity));
  EXPECT_EQ(capacity.maxTokens, 2000);
  // Sequence entries have no tensors.
  for (const char *entry : {"cross", "fill"}) {
    Result<void> done = fitCapacity(*model, entry, inputs, 2, capacity);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().status, Status::Usage);
  }
}
