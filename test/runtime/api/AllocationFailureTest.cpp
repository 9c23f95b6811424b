// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Injects a failure into each allocation of each C API call, once and for all
// later allocations. The call must return an error, leak nothing and keep the
// number of free sequences, and the next call must return the same bits. malloc
// and related functions are replaced; sanitizers replace these themselves, so
// sanitizer builds replace `operator new`.
#include "test/runtime/text/TextModel.h"
#include "test/support/fake/FakeGeneration.h"
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRANSOM_TEST_SANITIZED 1
#endif
#endif

static std::atomic<long> liveBlocks{0};
static std::atomic<long> untilFailure{-1}; ///< below 0: none fails
static std::atomic<bool> hasFailed{false}, failsOn{false};

/// Whether the next allocation fails.
static bool fails() {
  if (untilFailure.load() < 0)
    return false;
  if (hasFailed ? failsOn.load() : untilFailure.fetch_sub(1) == 0) {
    hasFailed = true;
    untilFailure = 0;
    errno = ENOMEM;
    return true;
  }
  if (hasFailed)
    untilFailure = 0;
  return false;
}

static void *count(void *memory) {
  liveBlocks += memory != nullptr;
  return memory;
}

#ifndef TRANSOM_TEST_SANITIZED
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t size) {
  return fails() ? nullptr : count(__libc_malloc(size));
}
void *calloc(size_t number, size_t size) {
  return fails() ? nullptr : count(__libc_calloc(number, size));
}
void *realloc(void *old, size_t size) {
  if (!old)
    return malloc(size);
  return fails() ? nullptr : __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  return fails() ? nullptr : count(__libc_memalign(alignment, size));
}
int posix_memalign(void **out, size_t alignment, size_t size) {
  *out = aligned_alloc(alignment, size);
  return *out ? 0 : ENOMEM;
}
void free(void *memory) {
  liveBlocks -= memory != nullptr;
  __libc_free(memory);
}
}
#else
void *operator new(size_t size) {
  void *memory = fails() ? nullptr : count(std::malloc(size ? size : 1));
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void *operator new(size_t size, std::align_val_t alignment) {
  const size_t to = size_t(alignment);
  void *memory = fails()
                     ? nullptr
                     : count(std::aligned_alloc(to, (size + to - 1) / to * to));
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
static void release(void *memory) noexcept {
  liveBlocks -= memory != nullptr;
  std::free(memory);
}
void operator delete(void *memory) noexcept { release(memory); }
void operator delete(void *memory, size_t) noexcept { release(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  release(memory);
}
#endif

using namespace transom;
using namespace transom::test;

namespace {

/// A call and its resources.
struct TestedCall {
  std::function<transom_status()> call;
  std::function<void()> clear = [] {}; ///< frees a call's results
  std::function<std::string()> results = [] { return std::string(); };
  std::function<void()> check = [] {}; ///< after an error
  bool keepsMemory = true;             ///< for the next call
  /// Whether C library memory remains from the failed call.
  std::function<bool()> leavesMemory = [] { return false; };
};

/// Runs calls with one failing allocation, or with all failing from that one
/// on. Returns whether any failed.
bool failOnce(const TestedCall &tested, long index, bool goesOn,
              const std::string &expected) {
  failsOn = goesOn;
  hasFailed = false;
  untilFailure = index;
  const transom_status status = tested.call();
  untilFailure = -1;
  const bool failed = hasFailed;
  if (!failed || status == TRANSOM_STATUS_OK) {
    // Some memory only makes a call faster.
    EXPECT_EQ(status, TRANSOM_STATUS_OK) << transom_last_error();
    EXPECT_EQ(tested.results(), expected) << index;
  } else {
    EXPECT_EQ(status, TRANSOM_STATUS_UNAVAILABLE)
        << index << ": " << transom_last_error();
    tested.check();
  }
  tested.clear();
  return failed;
}

/// Fails each allocation in a call; returns the allocation count.
long failEach(const TestedCall &tested) {
  // Data that persists across calls is created now.
  EXPECT_EQ(tested.call(), TRANSOM_STATUS_OK) << transom_last_error();
  const std::string expected = tested.results();
  tested.clear();
  long atFirst = liveBlocks;
  long index = 0;
  for (bool goesOn : {false, true})
    for (index = 0; failOnce(tested, index, goesOn, expected); ++index) {
      // The next call works as before, and creates persistent data again.
      if (tested.keepsMemory) {
        EXPECT_EQ(tested.call(), TRANSOM_STATUS_OK) << transom_last_error();
        EXPECT_EQ(tested.results(), expected);
        tested.clear();
      }
      if (tested.leavesMemory())
        atFirst = liveBlocks;
      EXPECT_EQ(liveBlocks, atFirst) << "leaks after " << index;
      if (testing::Test::HasFailure())
        return index;
    }
  return index;
}

template <typename T> std::string getBytes(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

class AllocationFailure : public FakeGeneration {
protected:
  void SetUp() override {}
  void openDecoder(const Manifest &manifest) {
    openFile(manifest, 2000);
    transom_session_free(session);
    transom_session_options two = transom_session_options_default();
    two.threads = 2;
    two.max_sequences = 4;
    two.max_kv_tokens = 4 * 512;
    ASSERT_EQ(transom_session_create(model, &two, &session), TRANSOM_STATUS_OK)
        << transom_last_error();
  }
  void checkSequences() { EXPECT_EQ(freeSequences(), 4); }
  TestedCall makeGeneration();

  const std::vector<int64_t> first = {1, 2, 3}, second = randomTokens(300, 1);
  /// The token whose logits are not finite never comes.
  const transom_logit_bias noLast = {FAKE_NAN_TOKEN, -INFINITY};
};

} // namespace

TestedCall AllocationFailure::makeGeneration() {
  TestedCall tested;
  tested.call = [this] {
    const transom_prompt prompts[] = {makePrompt(first), makePrompt(second)};
    return transom_session_generate(session, prompts, 2, &options, &generation);
  };
  tested.clear = [this] {
    transom_generation_free(generation);
    generation = nullptr;
  };
  // Results are compared bit by bit.
  tested.results = [this] {
    std::string all;
    for (size_t i = 0; i != transom_generation_count(generation); ++i) {
      transom_continuation one = row(i);
      all += getBytes(std::vector<int64_t>(one.ids, one.ids + one.num_ids));
      if (one.logprobs)
        all += getBytes(
            std::vector<double>(one.logprobs, one.logprobs + one.num_ids));
    }
    return all;
  };
  tested.check = [this] {
    EXPECT_EQ(generation, nullptr);
    checkSequences();
  };
  // A callback and a bias take part in each call.
  options.callback = [](void *, const transom_generated_token *) { return 0; };
  options.biases = &noLast;
  options.num_biases = 1;
  return tested;
}

TEST_F(AllocationFailure, loading_a_model) {
  const std::string path = folder.path("text.so");
  writeFile(path, fakeFile(textManifest(), tables()));
  transom_model *loaded = nullptr;
  TestedCall tested;
  tested.call = [&] {
    return transom_model_load(path.c_str(), nullptr, &loaded);
  };
  tested.clear = [&] {
    transom_model_free(loaded);
    loaded = nullptr;
  };
  tested.check = [&] { EXPECT_EQ(loaded, nullptr); };
  tested.keepsMemory = false;
  // The dynamic loader allocates its own memory with the first loads, and does
  // not free all blocks for an object that it could not load.
  for (int i = 0; i != 3; ++i, tested.clear())
    EXPECT_EQ(tested.call(), TRANSOM_STATUS_OK);
  EXPECT_EQ(dlopen(folder.path("none.so").c_str(), RTLD_NOW), nullptr);
  dlerror();
  tested.leavesMemory = [&] {
    return std::strstr(transom_last_error(), "the dynamic loader refuses it");
  };
  EXPECT_GT(failEach(tested), 100);
}

TEST_F(AllocationFailure, creating_a_session) {
  for (const Manifest &manifest : {fakeDecoderManifest(600), sourceManifest()})
    for (bool usesPool : {false, true}) {
      openDecoder(manifest);
      transom_session_options two = transom_session_options_default();
      two.threads = 2;
      if (usesPool)
        two.parallel = [](void *, size_t count, transom_task task, void *arg) {
          for (size_t i = 0; i != count; ++i)
            task(arg, i);
        };
      transom_session *made = nullptr;
      TestedCall tested;
      tested.call = [&] { return transom_session_create(model, &two, &made); };
      tested.clear = [&] {
        transom_session_free(made);
        made = nullptr;
      };
      tested.check = [&] { EXPECT_EQ(made, nullptr); };
      EXPECT_GT(failEach(tested), 10);
    }
}

TEST_F(AllocationFailure, texts) {
  writeFile(folder.path("text.so"), fakeFile(textManifest(), tables()));
  ASSERT_EQ(transom_model_load(folder.path("text.so").c_str(), nullptr, &model),
            TRANSOM_STATUS_OK);
  transom_session_options two = transom_session_options_default();
  two.threads = 2;
  ASSERT_EQ(transom_session_create(model, &two, &session), TRANSOM_STATUS_OK);
  const transom_text texts[] = {text("a b c"), text("c a"), text("b")};
  std::vector<float> out(3 * FAKE_WIDTH);
  // Embedding.
  TestedCall embed;
  embed.call = [&] {
    std::fill(out.begin(), out.end(), -1.0f);
    return transom_session_embed(session, texts, 3, nullptr, out.data(),
                                 out.size() * sizeof(float), nullptr);
  };
  embed.results = [&] { return getBytes(out); };
  EXPECT_GT(failEach(embed), 10);

  // Tokenizing, and a plain run.
  std::vector<transom_token> tokens(16);
  size_t count = 0;
  TestedCall tokenize;
  tokenize.call = [&] {
    return transom_model_tokenize(model, texts, nullptr, nullptr, tokens.data(),
                                  tokens.size() * sizeof(transom_token), &count,
                                  nullptr);
  };
  EXPECT_GT(failEach(tokenize), 3);
  EncodeCall encode(2, 9);
  TestedCall run;
  run.call = [&] {
    return transom_session_run(session, "encode", encode.inputs.data(), 3,
                               encode.outputs.data(), 2);
  };
  EXPECT_EQ(failEach(run), 0) << "a run allocates nothing";
}

TEST_F(AllocationFailure, generation) {
  openDecoder(fakeDecoderManifest(600));
  TestedCall tested = makeGeneration();
  options.max_new_tokens = 5;
  options.num_return_sequences = 2;
  options.top_logprobs = 2;
  EXPECT_GT(failEach(tested), 10);
  options.sample = 1;
  options.top_p = 0.8;
  EXPECT_GT(failEach(tested), 10);
}

TEST_F(AllocationFailure, beams) {
  openDecoder(fakeDecoderManifest(600));
  TestedCall tested = makeGeneration();
  options.max_new_tokens = 5;
  options.num_return_sequences = options.num_beams = 3;
  EXPECT_GT(failEach(tested), 10);
}

TEST_F(AllocationFailure, sources) {
  openDecoder(sourceManifest());
  TestedCall tested = makeGeneration();
  options.max_new_tokens = 4;
  options.num_return_sequences = options.num_beams = 2;
  EXPECT_GT(failEach(tested), 10);

  int32_t sequences[2] = {-1, -1};
  TestedCall sources;
  sources.call = [&] {
    const transom_prompt prompts[] = {makePrompt(first), makePrompt(second)};
    return transom_session_add_sources(session, prompts, 2, sequences);
  };
  sources.clear = [&] {
    for (int32_t &sequence : sequences) {
      transom_sequence_free(session, sequence);
      sequence = -1;
    }
  };
  sources.check = [&] {
    EXPECT_EQ(sequences[0], -1);
    checkSequences();
  };
  EXPECT_GT(failEach(sources), 3);

  double logprobs[6];
  size_t counts[2];
  TestedCall scores;
  scores.call = [&] {
    const transom_prompt prompts[] = {makePrompt(first), makePrompt(first)};
    return transom_session_score_targets(session, prompts, prompts, 2, logprobs,
                                         sizeof logprobs, counts, nullptr);
  };
  scores.check = [&] { checkSequences(); };
  EXPECT_GT(failEach(scores), 3);
}

TEST_F(AllocationFailure, scores_steps_and_files) {
  openDecoder(fakeDecoderManifest(600));
  std::vector<double> logprobs(second.size());
  TestedCall score;
  score.call = [&] {
    return transom_session_score(session, second.data(), second.size(),
                                 logprobs.data(), nullptr, 0);
  };
  score.results = [&] { return getBytes(logprobs); };
  score.check = [&] { checkSequences(); };
  EXPECT_GT(failEach(score), 3);

  int32_t sequence = -1, loaded = -1;
  ASSERT_EQ(transom_sequence_create(session, &sequence), TRANSOM_STATUS_OK);
  std::vector<float> logits(FAKE_VOCABULARY);
  TestedCall step;
  step.call = [&] {
    const transom_step_input input = {sequence, second.data(), 300, 1};
    return transom_session_step(session, &input, 1, logits.data(),
                                logits.size() * sizeof(float));
  };
  step.clear = [&] { transom_sequence_rewind(session, sequence, 0); };
  EXPECT_EQ(failEach(step), 0) << "a step allocates nothing";
  ASSERT_EQ(step.call(), TRANSOM_STATUS_OK);

  // Saving and loading.
  const std::string path = folder.path("sequence");
  TestedCall save;
  save.call = [&] {
    return transom_sequence_save(session, sequence, path.c_str());
  };
  EXPECT_GT(failEach(save), 3);
  TestedCall load;
  load.call = [&] {
    return transom_sequence_load(session, path.c_str(), &loaded);
  };
  load.clear = [&] {
    transom_sequence_free(session, loaded);
    loaded = -1;
  };
  load.check = [&] {
    EXPECT_EQ(loaded, -1);
    EXPECT_EQ(freeSequences(), 3);
  };
  EXPECT_GT(failEach(load), 3);
}

/// Errors whose messages need memory: the calls before them are undone.
TEST_F(AllocationFailure, messages_of_errors) {
  openDecoder(fakeDecoderManifest(600));
  std::vector<int64_t> wrong = second;
  wrong[200] = FAKE_NAN_TOKEN; // its logits are not finite
  transom_tensor input =
      makeTensor("input_ids", TRANSOM_DTYPE_I64, {1, 300}, wrong);
  std::vector<float> scores(299);
  transom_tensor output = makeTensor("logprobs", TRANSOM_DTYPE_F32, {}, scores);
  for (long index = 0; index != 20; ++index) {
    hasFailed = failsOn = false;
    untilFailure = index;
    const transom_status status =
        transom_session_run(session, "score", &input, 1, &output, 1);
    untilFailure = -1;
    EXPECT_EQ(status,
              hasFailed ? TRANSOM_STATUS_UNAVAILABLE : TRANSOM_STATUS_REJECTED)
        << transom_last_error();
    checkSequences();
  }
}
