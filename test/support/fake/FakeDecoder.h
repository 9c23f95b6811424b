// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session over the decoder by hand that keeps the tokens of each sequence,
// and compares each row of logits with what it should be.
#pragma once
#include "test/support/fake/Fake.h"
#include <map>

namespace transom::test {

/// A configuration for so many sequences and positions of the cache.
SessionConfig decoderConfig(int64_t sequences, int64_t positions,
                            int64_t maxTokens = 64);

/// The fake decoder's manifest with a third, read-only group of caches, and
/// that group and its positions of a sequence.
Manifest withReadOnlyCache();
inline constexpr size_t readOnlyGroup = 2;
inline constexpr int64_t readOnlyPositions = 600;

/// The same with a step that reads the read-only group: its last logit depends
/// on it.
Manifest crossManifest();

/// The decoder with a step that summarizes its logits.
Manifest summaryManifest();

/// The decoder with a step that also gives the logits of at most nine listed
/// tokens, and the number of such calls that the session remembers.
Manifest listedManifest();
int64_t countListedCalls();

/// The decoder with an encoder and an entry that fills the read-only group; the
/// start token is 3. Without a context.
Manifest sourceManifest();
inline constexpr int64_t fakeStartToken = 3;

/// The last logit that a step gives for a source: the ids of the columns in
/// which `mask` is set.
float expectedSource(const std::vector<int64_t> &ids,
                     const std::vector<int64_t> &mask);
/// The number of sources that were encoded by all sessions.
int64_t countEncoded();

/// Ids without the one that gives NaN.
std::vector<int64_t> randomTokens(size_t count, unsigned seed);

/// Compares a row of logits with what the last of these tokens should give.
void expectRow(const float *logits, const std::vector<int64_t> &tokens);

/// The rows of a step with the memory of their tokens.
class FakeStep {
public:
  void add(int32_t sequence, std::vector<int64_t> tokens, int64_t numLogits);
  size_t size() const { return texts.size(); }
  std::vector<StepInput> rows() const;

private:
  std::vector<int32_t> sequences;
  std::vector<std::vector<int64_t>> texts;
  std::vector<int64_t> numLogits;
};

class FakeDecoder {
public:
  explicit FakeDecoder(const SessionConfig &config = decoderConfig(4, 8000),
                       Manifest manifest = fakeDecoderManifest());
  DecodeEngine *operator->() const { return made->decoder(); }
  Session &session() const { return *made; }

  int32_t create();
  int32_t copy(int32_t sequence);
  void rewind(int32_t sequence, int64_t length);
  /// Runs a step and compares its logits.
  const float *run(const FakeStep &step);
  const float *feed(int32_t sequence, std::vector<int64_t> tokens,
                    int64_t numLogits);
  /// Fails where no row was compared.
  void checkFed() const { EXPECT_GT(compared, 0); }
  /// A sequence that was made by other means has this past.
  void importSequence(int32_t sequence, std::vector<int64_t> tokens) {
    past[sequence] = std::move(tokens);
  }

private:
  Result<const float *> computeLogits(const std::vector<StepInput> &rows);
  std::unique_ptr<Model> model;
  std::unique_ptr<Session> made;
  std::map<int32_t, std::vector<int64_t>> past;
  int64_t compared = 0;
  std::vector<float> large; // logits that the session does not hold
};

/// Tests of the C API: a session of the decoder by hand, from a file.
class FakeDecoderFile : public testing::Test {
protected:
  /// Three sequences with so many positions, in place of the session before.
  void openFile(const Manifest &manifest, uint64_t positions);
  void TearDown() override;

  TemporaryFolder folder;
  transom_model *model = nullptr;
  transom_session *session = nullptr;
};

} // namespace transom::test
