// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `pos_att_type` is a list or, in older configs, a string with bars.
#include "compiler/import/huggingface/RelativePositions.h"
#include "llvm/ADT/StringExtras.h"

using namespace transom;

static void fail(Config &config, const ConfigKey &key, const std::string &text,
                 Status status = Status::Unsupported) {
  std::optional<JsonValue> value = config.find(key);
  config.fail((value ? *value : config.root())
                  .error("'" + std::string(key[0]) + "' " + text, status));
}

/// Splits a string at bars, in lower case.
static std::vector<std::string> splitAtBars(const std::string &text) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, '|');
  std::vector<std::string> words;
  for (llvm::StringRef part : parts)
    words.push_back(part.trim().lower());
  return words;
}

/// Reads the words in a list of strings or in one string.
static std::vector<std::string> readWords(Config &config,
                                          const ConfigKey &key) {
  std::optional<JsonValue> value = config.find(key);
  if (!value || config.failed())
    return {};
  if (!value->isArray())
    return splitAtBars(config.text(key, ""));
  std::vector<std::string> words;
  for (JsonValue element : value->elements()) {
    Result<std::string_view> word = element.asString();
    if (!word) {
      config.fail(word.takeError());
      return {};
    }
    words.emplace_back(*word);
  }
  return words;
}

static void readPositionScores(Config &config, const ConfigKey &key,
                               RelativePositions &relative) {
  for (const std::string &word : readWords(config, key)) {
    bool *product = word == "c2p"   ? &relative.toPosition
                    : word == "p2c" ? &relative.fromPosition
                                    : nullptr;
    if (!product || *product)
      return fail(
          config, key,
          (product ? "has '" + word + "' twice" : "has '" + word + "'") +
              "; supported: c2p and p2c, each once");
    *product = true;
  }
}

void transom::readRelativePositions(Config &config, const ModelFamily &family,
                                    int64_t positions, ModelConfig &model) {
  const FamilyKeys &keys = family.keys;
  RelativePositions &relative = model.relativePositions;
  readPositionScores(config, keys.positionScores, relative);
  relative.shared =
      config.flag(keys.sharedPositions.key, keys.sharedPositions.absent);
  for (const std::string &word :
       splitAtBars(config.text(keys.positionNorm, "none")))
    relative.normalized |= word == "layer_norm";

  // Values below 1 mean none, or the position count.
  constexpr int64_t most = PositionBuckets::largestDistance;
  int64_t buckets =
      config.integer(keys.positionBuckets, -1, INT32_MIN, most / 2);
  int64_t distance = config.integer(keys.positionDistance, -1, INT32_MIN, most);
  const ConfigKey &rows =
      buckets > 0 ? keys.positionBuckets
                  : (distance > 0 ? keys.positionDistance : keys.positions);
  if (!rows.empty())
    config.noteSize(rows[0], 0, "buckets");
  const bool hasTable =
      config.flag(keys.relativePositions.key, keys.relativePositions.absent);
  if (config.failed() || !hasTable)
    return;
  if (distance < 1)
    distance = positions;
  relative.rule = {2 * (buckets > 0 ? buckets : distance),
                   buckets > 0 ? distance : 0};
  if (relative.rule.isValid())
    return;
  if (relative.rule.getExact() < 1)
    return fail(config, keys.positionBuckets,
                std::to_string(buckets) + " is too few; the least are 2");
  fail(config, keys.positionDistance,
       std::to_string(distance) + " is not from " +
           std::to_string(relative.rule.getExact() + 2) + " to " +
           std::to_string(most) + ", as 'position_buckets' " +
           std::to_string(buckets) + " needs");
}

void transom::readConvolution(Config &config, const ModelFamily &family,
                              ModelConfig &model) {
  const FamilyKeys &keys = family.keys;
  Convolution &convolution = model.convolution;
  if (keys.convolution.empty())
    return;
  convolution.size =
      std::max<int64_t>(config.integer(keys.convolution, 0, INT32_MIN, 255), 0);
  convolution.groups =
      config.integer(keys.convolutionGroups, 1, 1, model.hidden);
  convolution.activation =
      config.activation(keys.convolutionActivation, "tanh");
  if (config.failed() || !convolution.size)
    return;
  if (convolution.size % 2 == 0)
    return fail(config, keys.convolution,
                std::to_string(convolution.size) +
                    " is even; supported: odd numbers of columns");
  if (model.hidden % convolution.groups)
    fail(config, keys.convolutionGroups,
         std::to_string(convolution.groups) +
             " does not divide the hidden "
             "size " +
             std::to_string(model.hidden),
         Status::Rejected);
}
