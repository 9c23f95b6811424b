// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys of encoders' configs.
#include "compiler/import/huggingface/EncoderConfig.h"

using namespace transom;

/// Caps of inputs.md.
static constexpr int64_t maxLayers = 4096;
static constexpr int64_t maxDim = INT32_MAX;

/// Refuses what the families' attention does not do.
static void checkFeatures(Config &config) {
  config.requireFalse({"is_decoder"});
  config.requireText({"position_embedding_type"}, "absolute");
}

static void checkSizes(Config &config, const Family &family,
                       ModelSizes &sizes) {
  const FamilyKeys &keys = family.keys;
  if (config.failed())
    return;
  auto errorAt = [&](const ConfigKey &key, const std::string &text) {
    std::optional<JsonValue> value = config.find(key);
    config.fail((value ? *value : config.root()).error(text));
  };
  if (sizes.hidden % sizes.heads)
    return errorAt(keys.heads, "'" + std::string(keys.heads[0]) + "' " +
                                   std::to_string(sizes.heads) +
                                   " does not divide '" + keys.hidden[0] +
                                   "' " + std::to_string(sizes.hidden));
  sizes.maxLength = sizes.positions;
  if (family.positions == PositionRule::NonpadRank)
    sizes.maxLength -= sizes.pad + 1;
  if (sizes.maxLength < 1)
    errorAt(keys.positions, "'" + std::string(keys.positions[0]) + "' " +
                                std::to_string(sizes.positions) +
                                " leaves no position behind the padding id " +
                                std::to_string(sizes.pad));
}

ModelSizes transom::readEncoder(Config &config, const Family &family) {
  checkFeatures(config);
  const FamilyKeys &keys = family.keys;
  const FamilyDefaults &absent = family.defaults;
  ModelSizes sizes;
  sizes.vocab = config.integer({"vocab_size"}, absent.vocab, 1, maxDim);
  sizes.hidden = config.integer(keys.hidden, absent.hidden, 1, maxDim);
  sizes.layers = config.integer(keys.layers, absent.layers, 0, maxLayers);
  sizes.heads = config.integer(keys.heads, absent.heads, 1, maxDim);
  sizes.intermediate =
      config.integer(keys.intermediate, absent.intermediate, 1, maxDim);
  sizes.positions = config.integer(keys.positions, absent.positions, 1, maxDim);
  if (!keys.types.empty())
    sizes.types = config.integer(keys.types, absent.types, 1, maxDim);
  if (family.positions == PositionRule::NonpadRank)
    sizes.pad = config.integer({"pad_token_id"}, absent.pad, 0, maxDim);
  sizes.epsilon = config.number(keys.epsilon, absent.epsilon);
  sizes.activation = config.activation(keys.activation, absent.activation);
  sizes.tied = config.flag({"tie_word_embeddings"}, true);
  checkSizes(config, family, sizes);
  return sizes;
}
