// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The work of bench on decoders: a prompt from an empty cache, or tokens one
// after the other after a past, several sequences together.
#pragma once
#include "tools/commands/bench/BenchCalls.h"

namespace transom::tools {

/// A line on a decoder. Its tokens are random; the past is there before the
/// clock starts.
class DecoderWork : public BenchWork {
public:
  /// A prompt of so many tokens, cut into runs of at most `longestChunk`.
  static DecoderWork prefill(int64_t tokens);
  /// So many tokens of each of `sequences` after `depth` positions. In each
  /// step the most likely token is looked for.
  static DecoderWork decode(int64_t sequences, int64_t depth, int64_t tokens);

  Result<std::unique_ptr<Runner>>
  runner(const BenchModel &bench, const MeasureOptions &options) const override;
  std::vector<BenchRun> runs(const BenchModel &bench) const override;
  void describe(BenchRow &row) const override;

  /// Most rows of a run of a prompt.
  static constexpr int64_t longestChunk = 512;

private:
  DecoderWork(bool decodes, int64_t sequences, int64_t depth, int64_t tokens)
      : decodes(decodes), sequences(sequences), depth(depth), tokens(tokens) {}

  bool decodes;
  int64_t sequences, depth, tokens;
};

/// Sizes of a run of a decoder.
struct StepSizes {
  int64_t sequences = 1; ///< that get new tokens
  int64_t past = 0;      ///< positions of each before
  int64_t tokens = 1;    ///< new tokens of each
  int64_t logits = 1;    ///< tokens of each that give logits
  /// Tokens of the sources, for each sequence again.
  int64_t sourceTokens = 0;
  /// The same, a source that sequences share only once.
  int64_t cachedSourceTokens = 0;
};

/// The values of the symbols of `step` for a run, those of its costs too.
SymbolValues getSymbols(const BenchModel &bench, const StepSizes &sizes);

/// Bytes of the cache that a run reads.
double cacheBytes(const Manifest &manifest, const StepSizes &sizes);

} // namespace transom::tools
