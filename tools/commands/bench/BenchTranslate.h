// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder-decoder work in bench: encodes sources and generates N target tokens
// for each, greedily or with beam search.
#pragma once
#include "tools/commands/bench/BenchCalls.h"

namespace transom::tools {

/// An encoder-decoder line: a batch of sources with any lengths, and the same
/// number of new tokens for each.
class TranslateWork : public BenchWork {
public:
  /// Generation settings for the targets.
  struct Targets {
    int64_t tokens = 1; ///< per source
    int64_t beams = 1;  ///< 1: greedy
  };

  /// Creates `batch` sources with `length` random tokens.
  static TranslateWork make(const BenchModel &bench, int64_t batch,
                            int64_t length, Targets targets);
  /// Reads sources from a file: `input_ids` and, if lengths differ,
  /// `attention_mask`, both [batch, longest].
  static Result<TranslateWork> read(const std::string &file, Targets targets);

  /// Counts the union of the tokens that the shortlist selects for the sources,
  /// if the artifact has a shortlist.
  Result<void> countListed(const std::string &artifact,
                           const Manifest &manifest);

  Result<std::unique_ptr<Runner>>
  runner(const BenchModel &bench, const MeasureOptions &options) const override;
  std::vector<BenchRun> runs(const BenchModel &bench) const override;
  void describe(BenchRow &row) const override;

private:
  int64_t countTokens() const;
  void listColumns(const BenchModel &bench, SymbolValues symbols,
                   BenchCost &cost) const;

  std::vector<std::vector<int64_t>> sources;
  Targets targets;
  int64_t numListed = 0; ///< selected tokens; 0: the whole vocabulary
};

} // namespace transom::tools
