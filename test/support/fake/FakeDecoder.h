// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session over the hand-written decoder. It records the tokens in each
// sequence and compares each logit row with the expected one.
#pragma once
#include "test/support/fake/Fake.h"
#include <map>

namespace transom::test {

/// A configuration for N sequences and N cache positions.
SessionConfig decoderConfig(int64_t sequences, int64_t positions,
                            int64_t maxTokens = 64);

/// The fake decoder's manifest with a third, read-only cache group, and
/// that group's index and positions per sequence.
Manifest withReadOnlyCache();
inline constexpr size_t readOnlyGroup = 2;
inline constexpr int64_t readOnlyPositions = 600;

/// The same with a step that reads the read-only group: its last logit depends
/// on it.
Manifest crossManifest();

/// The decoder with a step that summarizes its logits.
Manifest summaryManifest();

/// The decoder with a step that also returns logits for at most nine selected
/// tokens, and the number of such calls in the session so far.
Manifest listedManifest();
int64_t countListedCalls();

/// The decoder with an encoder and an entry that fills the read-only group; the
/// start token is 3. There is no context limit.
Manifest sourceManifest();
inline constexpr int64_t fakeStartToken = 3;

/// The last logit that a step returns for a source: the ids in columns where
/// `mask` is set.
float expectedSource(const std::vector<int64_t> &ids,
                     const std::vector<int64_t> &mask);
/// The number of sources that all sessions have encoded.
int64_t countEncoded();

/// Ids without the one that causes NaN.
std::vector<int64_t> randomTokens(size_t count, unsigned seed);

/// Compares a logit row with the expected one for the last of these tokens.
void expectRow(const float *logits, const std::vector<int64_t> &tokens);

/// The rows in a step, with storage for their tokens.
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
  /// Fails if no row was compared.
  void checkFed() const { EXPECT_GT(compared, 0); }
  /// Records the past for a sequence that was made by other means.
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

/// Tests the C API: a session over the hand-written decoder, loaded from a
/// file.
class FakeDecoderFile : public testing::Test {
protected:
  /// Replaces the session by one with three sequences and N positions.
  void openFile(const Manifest &manifest, uint64_t positions);
  void TearDown() override;

  TemporaryFolder folder;
  transom_model *model = nullptr;
  transom_session *session = nullptr;
};

} // namespace transom::test
