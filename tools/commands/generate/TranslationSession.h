// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The session for `translate`: its batch size, and its growth with source
// length.
#pragma once
#include "tools/commands/Models.h"
#include "tools/commands/generate/TranslationTarget.h"

namespace transom::tools {

/// The tokens in a source, and the prefix of its results.
struct TranslationSource {
  std::vector<int64_t> ids;
  std::vector<int64_t> target;
};

/// A session for any number of sources with any length up to the model's
/// maximum.
class TranslationSession {
public:
  struct Limits {
    unsigned threads = 0;
    size_t batch = 0;    ///< sources in progress; 0: depends on their length
    int64_t maximum = 0; ///< max source tokens; 0: no limit
  };

  /// `model` and `target` must outlive the session.
  TranslationSession(const transom_model *model,
                     const TranslationTarget &target, const Limits &limits)
      : model(model), target(target), limits(limits) {}

  /// Generates results for all sources: source i is prompt i. Calls
  /// `tellDone(i)` when source i has all its results. An error that one source
  /// causes begins with `prompt N`.
  Result<GenerationPtr>
  generate(const std::vector<const TranslationSource *> &sources,
           const std::function<void(size_t)> &tellDone);

private:
  size_t getBatch() const;
  bool hasRoom(size_t sources, size_t tokens, size_t prefix) const;
  Result<void> fit(const std::vector<const TranslationSource *> &sources);
  Result<void> create();

  const transom_model *model;
  const TranslationTarget &target;
  Limits limits;
  SessionPtr session;
  /// Session capacity: sources, source tokens and prefix tokens.
  size_t most = 0, longest = 0, longestPrefix = 0;
};

} // namespace transom::tools
