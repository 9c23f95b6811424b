// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run allocates nothing: malloc and related functions are replaced by
// counting versions. Sanitizers also replace them, so this test does nothing
// there.
#include "test/support/fake/FakeDecoder.h"
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <fstream>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRANSOM_TEST_SANITIZED 1
#endif
#endif

#ifndef TRANSOM_TEST_SANITIZED
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

static std::atomic<size_t> allocations{0};

extern "C" void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
extern "C" void *calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
extern "C" void *realloc(void *old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
extern "C" void *aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
extern "C" int posix_memalign(void **out, size_t alignment, size_t size) {
  ++allocations;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

using namespace transom;
using namespace transom::test;

TEST(Allocation, the_counter_counts) {
  size_t before = allocations;
  auto kept = std::make_unique<std::vector<int>>(100);
  EXPECT_GE(allocations - before, 2u);
}

TEST(Allocation, a_run_allocates_nothing) {
  auto model = fakeModel();
  for (unsigned threads : {1u, 4u})
    for (bool hold : {false, true}) {
      SessionConfig config = makeConfig(4, 200, threads);
      config.holdResults = hold;
      config.profile = hold;
      auto session = makeSession(*model, config);
      EncodeCall call(4, 30);
      call.randomize(1, true);
      size_t before = allocations;
      for (int i = 0; i != 3; ++i) {
        Result<void> done = session->run("encode", call.inputs.data(), 3,
                                         call.outputs.data(), hold ? 1 : 2);
        ASSERT_TRUE(bool(done));
      }
      EXPECT_EQ(allocations - before, 0u);
    }
}

TEST(Allocation, sources_allocate_nothing) {
  auto model = fakeModel(sourceManifest());
  for (unsigned threads : {1u, 3u}) {
    SessionConfig config = decoderConfig(6, 3000, 400);
    config.threads = threads;
    auto session = makeSession(*model, config);
    DecodeEngine &decoder = *session->decoder();
    std::vector<int64_t> ids = randomTokens(5 * 90, 1), labels = ids;
    std::vector<float> logits(5 * 90 * FAKE_VOCABULARY), scores(5 * 90);
    const transom_tensor inputs[] = {
        makeTensor("input_ids", TRANSOM_DTYPE_I64, {5, 90}, ids),
        makeTensor("decoder_input_ids", TRANSOM_DTYPE_I64, {5, 90}, labels),
        makeTensor("labels", TRANSOM_DTYPE_I64, {5, 90}, labels)};
    const transom_tensor scored[] = {inputs[0], inputs[2]};
    transom_tensor output = makeTensor("logits", TRANSOM_DTYPE_F32, {}, logits);
    transom_tensor score =
        makeTensor("logprobs", TRANSOM_DTYPE_F32, {}, scores);
    const SourceInput sources[] = {{ids.data(), nullptr, 3},
                                   {ids.data(), nullptr, 390},
                                   {ids.data(), nullptr, 90}};
    const size_t before = allocations;
    bool good = true;
    for (int round = 0; round != 3; ++round) {
      int32_t sequences[3];
      good = good && decoder.addSources(sources, 3, sequences);
      const StepInput rows[] = {{sequences[2], ids.data(), 30, 2},
                                {sequences[0], ids.data(), 1, 1}};
      good = good && decoder.step(rows, 2);
      for (int32_t sequence : sequences)
        decoder.free(sequence);
      good = good && session->run("logits", inputs, 2, &output, 1) &&
             session->run("score", scored, 2, &score, 1);
    }
    EXPECT_EQ(allocations - before, 0u);
    EXPECT_TRUE(good);
  }
}

TEST(Allocation, a_step_allocates_nothing) {
  auto model = fakeModel(fakeDecoderManifest());
  for (unsigned threads : {1u, 3u}) {
    SessionConfig config = decoderConfig(4, 6000, 32);
    config.threads = threads;
    auto session = makeSession(*model, config);
    DecodeEngine &decoder = *session->decoder();
    // All memory that the calls use is allocated before.
    std::vector<int64_t> tokens = randomTokens(700, 1);
    std::vector<float> logits(2 * 30 * FAKE_VOCABULARY);
    transom_tensor input =
        makeTensor("input_ids", TRANSOM_DTYPE_I64, {2, 30}, tokens);
    transom_tensor output = makeTensor("logits", TRANSOM_DTYPE_F32, {}, logits);
    std::vector<float> scores(2 * 29);
    transom_tensor score =
        makeTensor("logprobs", TRANSOM_DTYPE_F32, {}, scores);
    // Steps, copies, rewinds and derived entries allocate nothing.
    size_t before = allocations;
    bool good = true;
    for (int round = 0; round != 3; ++round) {
      int32_t first = *decoder.create(), second = *decoder.create();
      StepInput rows[] = {{first, tokens.data(), 700, 3},
                          {second, tokens.data(), 300, 10}};
      good = good && decoder.step(rows, 2);
      int32_t copy = *decoder.copy(first);
      StepInput more[] = {{copy, tokens.data(), 1, 1},
                          {first, tokens.data(), 1, 1}};
      for (int i = 0; i != 20; ++i)
        good = good && decoder.step(more, 2);
      good = good && decoder.rewind(copy, 710) && decoder.step(more, 2);
      decoder.free(first);
      decoder.free(second);
      decoder.free(copy);
      good = good && session->run("logits", &input, 1, &output, 1) &&
             session->run("score", &input, 1, &score, 1);
    }
    EXPECT_EQ(allocations - before, 0u);
    EXPECT_TRUE(good);
  }
}

TEST(Allocation, a_large_batch_allocates_nothing) {
  FakeDecoder fake(decoderConfig(2, 200, 64));
  const int64_t batch = 1100, seq = 1100; // numbers too long for small strings
  std::vector<int64_t> ids(size_t(batch * seq), 1), mask(ids.size(), 0);
  for (size_t i = 0; i < mask.size(); i += 40)
    mask[i] = 1;
  std::vector<float> scores(size_t(batch * (seq - 1)));
  transom_tensor inputs[] = {
      makeTensor("input_ids", TRANSOM_DTYPE_I64, {batch, seq}, ids),
      makeTensor("attention_mask", TRANSOM_DTYPE_I64, {batch, seq}, mask)};
  transom_tensor output = makeTensor("logprobs", TRANSOM_DTYPE_F32, {}, scores);
  size_t before = allocations;
  Result<void> done = fake.session().run("score", inputs, 2, &output, 1);
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_TRUE(bool(done)) << done.error().message;
}

/// Resident memory pages in this process.
static long residentPages() {
  long total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

TEST(Allocation, ten_thousand_tokens_take_no_memory) {
  FakeDecoder fake(decoderConfig(2, 2048, 64));
  DecodeEngine &decoder = *fake.session().decoder();
  int32_t sequence = *decoder.create();
  const int64_t token = 3;
  StepInput rows{sequence, &token, 1, 1};
  long after = 0;
  for (int i = 0; i != 10000; ++i) {
    if (decoder.length(sequence) == 900) { // and other sequences in between
      int32_t copy = *decoder.copy(sequence);
      decoder.free(sequence);
      ASSERT_TRUE(bool(decoder.rewind(copy, 0)));
      rows.sequence = sequence = copy;
    }
    ASSERT_TRUE(bool(decoder.step(&rows, 1)));
    if (i == 1000)
      after = residentPages();
  }
  EXPECT_LT((residentPages() - after) * sysconf(_SC_PAGESIZE), 256 << 10);
}
#endif
