// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences that read texts in steps, and compare the logits of each token with
// those of the whole text in one step.
#pragma once
#include "tools/commands/verify/BitsSteps.h"

namespace transom::tools {

/// A sequence on its way through a text.
struct BitsReader {
  const BitsText *text = nullptr;
  int32_t sequence = -1;
  int64_t at = 0; ///< tokens that it has read

  int64_t getLeft() const { return int64_t(text->tokens.size()) - at; }
};

/// Creates the sequences of texts in one call.
Result<std::vector<BitsReader>>
createReaders(DecodeEngine &decoder,
              const std::vector<const BitsText *> &texts);

/// Moves a sequence to a file, which is made anew: a command does not write
/// over a file that it has read.
Result<void> moveToFile(DecodeEngine &decoder, int32_t sequence,
                        const std::string &file);

/// New tokens of one reader.
struct BitsStep {
  BitsReader *reader;
  int64_t numTokens;
  int64_t numLogits;
};

/// Reads in one step, and compares logits. `how` is for the first difference.
Result<void> readStep(DecodeEngine &decoder, const std::vector<BitsStep> &steps,
                      BitsCell &cell, const std::string &how);

/// Reads the tokens up to `end` in chunks of at most `most`, all logits asked
/// for.
Result<void> readUpTo(DecodeEngine &decoder, BitsReader &reader, int64_t end,
                      int64_t most, BitsCell &cell, const std::string &how);

/// Sequences that read random texts in random steps: chunks, neighbours,
/// copies, rewinds, files.
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
