// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hand-written model: its logits follow from a sequence's tokens alone; its
// cache is a number of 256-position blocks that sequences share.
#pragma once
#include "runtime/generate/LogitsSource.h"
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace transom::test {

class FakeSource final : public LogitsSource {
public:
  FakeSource(int64_t vocabulary, int64_t sequences, int64_t blocks,
             std::optional<int64_t> contextLength = std::nullopt)
      : ids(vocabulary), sequences(sequences), blocks(blocks),
        contextLength(contextLength) {}

  Result<int32_t> create() override {
    if (int64_t(open_.size()) == sequences)
      return limitError("all sequences are taken");
    open_[next] = {};
    mostOpen = std::max(mostOpen, open_.size());
    return next++;
  }
  bool hasSources() const override { return sourceLimit != 0; }
  Result<void> addSources(const SourceTokens *given, size_t count,
                          int32_t *made) override;
  int64_t longestSource() const override { return sourceLimit; }
  void free(int32_t sequence) override { open_.erase(sequence); }
  Result<int32_t> copy(int32_t sequence) override {
    Result<int32_t> made = create();
    if (made) {
      open_[*made] = open_[sequence];
      ++copies;
    }
    return made;
  }
  Result<void> rewind(int32_t sequence, int64_t length) override {
    Past &past = open_[sequence];
    past.tokens.resize(size_t(length));
    past.blocks.resize(size_t((length + 255) / 256));
    return {};
  }
  Result<const float *> step(const NewTokens *inputs, size_t count) override;
  Result<LogitRows> stepSummarized(const NewTokens *inputs, size_t count,
                                   bool needsSums) override;
  Result<const float *> stepListed(const NewTokens *inputs, size_t count,
                                   const std::vector<int64_t> &tokens) override;
  int64_t maxListed() const override { return listedLimit; }
  int64_t width() const override { return ids; }
  std::optional<int64_t> context() const override { return contextLength; }
  int64_t vocabulary() const override { return ids; }
  int64_t maxLogits() const override { return logitLimit; }
  int64_t freePositions() const override { return (blocks - used()) * 256; }
  int64_t maxSequences() const override { return sequences; }
  int64_t freeSequences() const override {
    return sequences - int64_t(open_.size());
  }
  int64_t longest() const override {
    return std::min(contextLength.value_or(blocks * 256), blocks * 256);
  }

  /// The logit of a token after these.
  float getLogit(const std::vector<int64_t> &past, int64_t token) const;
  size_t openCount() const { return open_.size(); }

  int64_t logitLimit = 64;      ///< max logits in a step
  int64_t listedLimit = 0;      ///< max selected tokens in a step
  size_t listedSteps = 0;       ///< `steps` with selected tokens
  size_t steps = 0, copies = 0; ///< that were made
  size_t mostRows = 0;          ///< sequences in a step
  size_t mostOpen = 0;          ///< sequences at the same time
  int64_t fed = 0;              ///< tokens, all together
  size_t cancelAt = SIZE_MAX;   ///< the step that is cancelled
  size_t poisonAt = SIZE_MAX;   ///< the past after which a logit is NaN
  int64_t sourceLimit = 0;      ///< max tokens in a source; 0: a decoder
  size_t sourceCalls = 0, sourcesAdded = 0;
  /// Sequences in a step whose source equals another one's in the step, but not
  /// the previous one's. A model reads a source's keys once for adjacent
  /// sequences.
  size_t strayRows = 0;
  size_t sharingRows = 0;    ///< sequences with the previous one's source
  bool summarizes = false;   ///< its steps give summaries
  std::vector<int64_t> says; ///< the continuation for any input
  size_t saysFrom = 0;       ///< ... after N tokens

private:
  struct Past {
    std::vector<int64_t> source; ///< its logits also depend on it
    size_t sourceNumber = 0;     ///< among all sources; copies share it
    std::vector<int64_t> tokens;
    std::vector<std::shared_ptr<int>> blocks; ///< shared by copies
  };
  int64_t used() const;
  void countStrayRows(const NewTokens *inputs, size_t count);

  int64_t ids, sequences, blocks;
  std::optional<int64_t> contextLength;
  std::map<int32_t, Past> open_;
  std::vector<float> logits, maxima, sums, listed;
  int32_t next = 0;
};

using Prompts = std::vector<std::vector<int64_t>>;

/// Prompts with 1 to `longest` tokens below 40.
Prompts makePrompts(size_t count, size_t longest);

} // namespace transom::test
