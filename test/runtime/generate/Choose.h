// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Configurations and single choices for sampling tests.
#pragma once
#include "runtime/generate/Sampler.h"
#include <functional>
#include <gtest/gtest.h>

namespace transom::test {

/// A resolved configuration after `change`.
inline GenerationConfig
resolved(const std::function<void(GenerationConfig &)> &change = {}) {
  GenerationConfig config;
  if (change)
    change(config);
  Result<void> done = config.resolve();
  EXPECT_TRUE(bool(done)) << done.error().message;
  return config;
}

/// The token that is chosen from one logit row.
inline int64_t choose(const GenerationConfig &config,
                      const std::vector<float> &logits,
                      const std::vector<int64_t> &tokens = {},
                      size_t prompt = 0, uint64_t continuation = 0) {
  Sampler sampler(config, int64_t(logits.size()));
  Result<int64_t> token = sampler.choose(
      logits.data(), {tokens.data(), tokens.size(), prompt, continuation});
  EXPECT_TRUE(bool(token)) << token.error().message;
  return token ? *token : -1;
}

} // namespace transom::test
