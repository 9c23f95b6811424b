// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences that read texts in steps, and compare each token's logits with a
// run over the whole text in one step.
#pragma once
#include "tools/commands/verify/BitsSteps.h"

namespace transom::tools {

/// A sequence that reads a text.
struct BitsReader {
  const BitsText *text = nullptr;
  int32_t sequence = -1;
  int64_t at = 0; ///< tokens read so far

  int64_t getLeft() const { return int64_t(text->tokens.size()) - at; }
};

/// Creates sequences for these texts in one call.
Result<std::vector<BitsReader>>
createReaders(DecodeEngine &decoder,
              const std::vector<const BitsText *> &texts);

/// Saves a sequence to a new file and frees it. An existing file is removed
/// first, because a loaded file must not be overwritten.
Result<void> moveToFile(DecodeEngine &decoder, int32_t sequence,
                        const std::string &file);

/// New tokens for one reader.
struct BitsStep {
  BitsReader *reader;
  int64_t numTokens;
  int64_t numLogits;
};

/// Reads in one step, and compares logits. `how` describes the first
/// difference.
Result<void> readStep(DecodeEngine &decoder, const std::vector<BitsStep> &steps,
                      BitsCell &cell, const std::string &how);

/// Reads the tokens up to `end` in chunks with at most `most` tokens,
/// requesting all logits.
Result<void> readUpTo(DecodeEngine &decoder, BitsReader &reader, int64_t end,
                      int64_t most, BitsCell &cell, const std::string &how);

/// Sequences that read random texts in random steps: chunks, neighbors, copies,
/// rewinds, files.
class RandomReading {
public:
  RandomReading(DecodeEngine &decoder, const std::vector<BitsText> &texts,
                std::string file, std::mt19937 &random)
      : decoder(decoder), texts(texts), file(std::move(file)), random(random) {}

  Result<void> run(int64_t steps, BitsCell &cell, const std::string &how);

private:
  bool isOneIn(unsigned count) { return random() % count == 0; }
  Result<void> restart(BitsReader &reader);
  Result<void> change(BitsReader &reader);
  Result<void> step(BitsCell &cell, const std::string &how);

  DecodeEngine &decoder;
  const std::vector<BitsText> &texts;
  const std::string file;
  std::mt19937 &random;
  std::vector<BitsReader> readers;
};

} // namespace transom::tools
