// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies a caller's options on top of the settings in the model's files.
#include "runtime/generate/GenerationOptions.h"

using namespace transom;

template <typename T, typename Field>
static void assign(T &member, Field value) {
  member = T(value);
}
template <typename T, typename Field>
static void assign(std::optional<T> &member, Field value) {
  member = T(value);
}

void transom::applyOptions(const transom_generate_options &options,
                           GenerationConfig &config) {
  bool turnsOnSampling = false;
  visitGenerationOptions(
      [&](const GenerationOption &option, auto member, auto field) {
        if constexpr (!std::is_null_pointer_v<decltype(field)>)
          if (isGiven(options.*field)) {
            assign(config.*member, options.*field);
            turnsOnSampling |= option.turnsOnSampling;
          }
      });
  if (isGiven(options.sample))
    config.sample = options.sample != 0;
  else if (turnsOnSampling)
    config.sample = true;
  config.seed = options.seed;
  config.ignoreEnd = options.ignore_end != 0;
  config.topLogprobs = options.top_logprobs;
}
