// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes for decode steps: splitting a sequence into steps, sharing a step, and
// the source of the cached past.
#pragma once
#include "tools/commands/verify/BitsEntry.h"

namespace transom::tools {

/// Tokens with their logits from a single step, alone. In an encoder-decoder
/// they are a target, with its source.
struct BitsText {
  std::vector<int64_t> ids, mask; ///< the source
  std::vector<int64_t> tokens;
  std::vector<float> logits;
};

/// Session settings for steps.
struct StepWay {
  BitsWay way;
  int64_t maxTokens = 1024; ///< per run
  int64_t maxBatch = 1;     ///< sources per run
  int64_t maxSequences = 1;

  std::string getName() const;
};

/// The steps of a decoder.
class BitsSteps {
public:
  /// Reads each text in one step on one thread; all other steps are compared
  /// with these logits. `model` must outlive this; `folder` receives sequence
  /// files.
  static Result<BitsSteps>
  create(const Model &model, const BitsOptions &options, std::string folder);

  /// Runs all axes.
  Result<std::vector<BitsCell>> run();

  /// Returns the cells for a model without steps.
  static std::vector<BitsCell> getNotApplicable();

private:
  BitsSteps(const Model &model, const BitsOptions &options, std::string folder)
      : model(&model), options(options), folder(std::move(folder)) {}
  Result<std::unique_ptr<Session>> createSession(const StepWay &way) const;
  Result<BitsText> makeText(int64_t length, std::mt19937 &random) const;
  Result<void> readWhole(BitsText &text) const;
  Result<BitsCell> checkChunks() const;
  Result<BitsCell> checkSteps() const;
  Result<BitsCell> checkCaches() const;
  Result<BitsCell> checkRewinds() const;
  Result<BitsCell> checkCopies() const;
  Result<BitsCell> checkSources() const;
  Result<BitsCell> checkMixture() const;

  const Model *model;
  BitsOptions options;
  std::string folder;
  std::vector<BitsText> texts;
};

} // namespace transom::tools
