// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The work of bench on encoder-decoders: sources are encoded, and each is
// continued by a number of tokens, greedily or with beams.
#pragma once
#include "tools/commands/bench/BenchCalls.h"

namespace transom::tools {

/// A line on an encoder-decoder: sources of any lengths together, as many new
/// tokens for each.
class TranslateWork : public BenchWork {
public:
  /// How targets are generated.
  struct Targets {
    int64_t tokens = 1; ///< of each source
    int64_t beams = 1;  ///< 1: greedy
  };

  /// `batch` sources of `length` random tokens.
  static TranslateWork make(const BenchModel &bench, int64_t batch,
                            int64_t length, Targets targets);
  /// The sources of a file: `input_ids` and, if lengths differ,
  /// `attention_mask`, both [batch, longest].
  static Result<TranslateWork> read(const std::string &file, Targets targets);

  /// Counts the tokens that the lists of the sources have together, if the
  /// artifact has a shortlist.
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
  int64_t numListed = 0; ///< tokens; 0: all can come
};

} // namespace transom::tools
