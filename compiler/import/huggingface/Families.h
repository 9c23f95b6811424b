// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families of Hugging Face models that are built. A family is a row:
// config keys with their class defaults, names of modules, features, and the
// heads by architecture. The builder knows features, never families.
#pragma once
#include "compiler/import/huggingface/Config.h"
#include <string>
#include <vector>

namespace transom {

/// How a model counts positions.
enum class PositionRule {
  Column,    ///< the token's column
  NonpadRank ///< RoBERTa: padding id + rank among the other ids
};

/// Names of config keys; an empty one means the family has no such key.
struct FamilyKeys {
  ConfigKey hidden, layers, heads, intermediate, activation, positions, types,
      epsilon;
};

/// What an absent key means, as in the family's config class.
struct FamilyDefaults {
  int64_t vocab, hidden, layers, heads, intermediate, positions, types, pad;
  double epsilon;
  const char *activation;
};

/// Names of modules, without the prefix of the base model. In names of a
/// layer's parts the layer's own name is left out.
struct FamilyModules {
  const char *embeddings; ///< the module that sums and normalises
  const char *word, *position, *type, *embeddingNorm;
  const char *layer;     ///< with `{i}` for the number
  const char *attention; ///< the module that holds the attention itself
  const char *query, *key, *value;
  const char *attentionOut; ///< the projection behind attention
  const char *attentionAdd; ///< the module of the first residual sum
  const char *attentionNorm;
  const char *up, *activation, *down;
  const char *outputAdd, *outputNorm;
  const char *pooler; ///< empty where the family has none
};

/// One step of a head; each takes what the step before it gives.
struct HeadStep {
  enum class Kind {
    First,      ///< column 0: [batch, seq, d] -> [batch, d]
    Pooler,     ///< the pooler's output
    Linear,     ///< `module` to `width`
    Activation, ///< `activation`, or the config's when null
    Norm,       ///< `module`
    Decoder,    ///< to the vocabulary; weight tied where the file has none
  };
  enum class Width { Hidden, Labels, Two };
  Kind kind;
  const char *module = "";
  Width width = Width::Hidden;
  const char *activation = nullptr;
  /// Tensors of a decoder's bias; the first that is there counts.
  std::vector<const char *> biases = {};
};

/// One result of an entry: its name and the steps from the last hidden state.
struct HeadResult {
  const char *name;
  std::vector<HeadStep> steps;
};

/// A head: `architectures` says stem + suffix.
struct FamilyHead {
  const char *suffix; ///< `ForMaskedLM`
  const char *kind;   ///< the manifest's word: `masked_lm`
  bool labels;        ///< `id2label` names its outputs
  std::vector<HeadResult> results;
};

/// A row of the table.
struct Family {
  const char *modelType; ///< config's `model_type`
  const char *stem;      ///< of class names: `Bert`
  const char *prefix;    ///< of tensors under a head: `bert.`
  FamilyKeys keys;
  FamilyDefaults defaults;
  FamilyModules modules;
  PositionRule positions;
  std::vector<FamilyHead> heads;
  std::vector<const char *> ignoredKeys; ///< besides those of all families
};

/// All rows, sorted by model type.
const std::vector<Family> &allFamilies();
/// The row for a `model_type`, or null.
const Family *findFamily(const std::string &modelType);
/// Keys of every config that have no effect on inference.
const std::vector<const char *> &commonIgnoredKeys();

} // namespace transom
