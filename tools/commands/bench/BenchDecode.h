// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder work in bench: a prompt from an empty cache, or successive tokens
// after a past, for several sequences together.
#pragma once
#include "tools/commands/bench/BenchCalls.h"

namespace transom::tools {

/// A decoder line. Its tokens are random; the past is computed before the clock
/// starts.
class DecoderWork : public BenchWork {
public:
  /// Creates a prompt with `tokens` tokens, split into runs with at most
  /// `longestChunk` tokens.
  static DecoderWork prefill(int64_t tokens);
  /// Creates `tokens` new tokens for each of `sequences` after `depth`
  /// positions. Each step includes the search for the most likely token.
  static DecoderWork decode(int64_t sequences, int64_t depth, int64_t tokens);

  Result<std::unique_ptr<Runner>>
  runner(const BenchModel &bench, const MeasureOptions &options) const override;
  std::vector<BenchRun> runs(const BenchModel &bench) const override;
  void describe(BenchRow &row) const override;

  /// Max rows in a prompt run.
  static constexpr int64_t longestChunk = 512;

private:
  DecoderWork(bool decodes, int64_t sequences, int64_t depth, int64_t tokens)
      : decodes(decodes), sequences(sequences), depth(depth), tokens(tokens) {}

  bool decodes;
  int64_t sequences, depth, tokens;
};

/// Sizes of a decoder run.
struct StepSizes {
  int64_t sequences = 1; ///< sequences with new tokens
  int64_t past = 0;      ///< positions before the run, per sequence
  int64_t tokens = 1;    ///< new tokens per sequence
  int64_t logits = 1;    ///< tokens with logits per sequence
  /// Source tokens, counted again for each sequence.
  int64_t sourceTokens = 0;
  /// Source tokens, counted once for sequences that share a source.
  int64_t cachedSourceTokens = 0;
};

/// Returns values for the symbols in `step` and its costs.
SymbolValues getSymbols(const BenchModel &bench, const StepSizes &sizes);

/// Returns the cache bytes that a run reads.
double cacheBytes(const Manifest &manifest, const StepSizes &sizes);

} // namespace transom::tools
