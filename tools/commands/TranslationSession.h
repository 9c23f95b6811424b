// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The session of `translate`: how many sources it works on at the same time,
// and its growth with the length of sources.
#pragma once
#include "tools/commands/Models.h"
#include "tools/commands/TranslationTarget.h"

namespace transom::tools {

/// The tokens of a source, and those that its results begin with.
struct TranslationSource {
  std::vector<int64_t> ids;
  std::vector<int64_t> target;
};

/// A session for sources of any number, and of any length up to the model's
/// maximum.
class TranslationSession {
public:
  struct Limits {
    unsigned threads = 0;
    size_t batch = 0;    ///< sources at the same time; 0: as they are long
    int64_t maximum = 0; ///< tokens of a source; 0: no limit
  };

  /// `model` and `target` outlive the session.
  TranslationSession(const transom_model *model,
                     const TranslationTarget &target, const Limits &limits)
      : model(model), target(target), limits(limits) {}

  /// Generates the results of all sources: source i is prompt i. Calls
  /// `tellDone(i)` as soon as source i has all its results. An error that one
  /// source causes begins with `prompt N`.
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
  /// Sources, tokens of a source and of a prefix that fit the session.
  size_t most = 0, longest = 0, longestPrefix = 0;
};

} // namespace transom::tools
