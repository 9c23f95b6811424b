// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Architecture table: maps metadata and tensors to the config.json and
// checkpoint of a Hugging Face model.
#pragma once
#include "compiler/import/gguf/Gguf.h"
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace transom::gguf {

/// Value for a config.json key if the metadata has none.
enum class Absent {
  Error,    ///< the file is rejected
  Omit,     ///< no key
  Heads,    ///< the head count
  HeadSize, ///< embedding width / heads
  Theta     ///< 10000
};

/// A metadata key, after `ARCHITECTURE.`, and the config.json key.
struct KeyMap {
  const char *key, *config;
  enum class Type { Size, Number } type = Type::Size;
  Absent absent = Absent::Error;
};

/// Difference between a stored tensor and the checkpoint tensor.
enum class TensorChange {
  None,
  /// Rows in each head alternate between its first and second half.
  PairedQuery,
  PairedKey,
  PlusOne,   ///< the norm weight is stored plus one
  Transposed ///< a matrix is stored transposed
};

/// Whether files have a tensor.
enum class Needs { Never, Maybe, Always };

/// Module tensors: `NAME.weight` and `NAME.bias`. `{i}` is the layer.
struct TensorMap {
  const char *name, *module;
  TensorChange change = TensorChange::None;
  Needs weight = Needs::Always, bias = Needs::Never;
};

/// A key, after `ARCHITECTURE.`, and a value without effect; 0 has no effect
/// either.
struct FixedKey {
  const char *key;
  double value;
};

/// Fraction of a head that rope rotates.
enum class RopeShare {
  None,  ///< no rope
  Whole, ///< `rope.dimension_count` is the head size
  Part   ///< `partial_rotary_factor` is computed from it
};

/// A `general.architecture` value.
struct Architecture {
  const char *name;
  const char *modelType, *className;
  std::vector<KeyMap> keys;
  std::vector<TensorMap> tensors;
  RopeShare rope = RopeShare::Whole;
  bool isEncoder = false;
  /// Tokens have types; without the tensor there is a single type with zeros.
  bool tokenTypes = false;
  /// The same with a window; empty: the window makes no difference.
  std::pair<const char *, const char *> windowed = {"", ""};
  /// config.json keys and values that are the same for all models.
  std::vector<
      std::pair<const char *, std::variant<std::string_view, double, bool>>>
      fixedConfig = {};
  /// config.json keys that specify whether a tensor exists.
  std::vector<std::pair<const char *, const char *>> biases = {};
  /// config.json key for the period of layers without a window; empty: all
  /// layers are equal. Without a window the period is 1.
  const char *periodKey = "";
  /// config.json key for the number whose square root divides scores, which
  /// files do not contain: the head size, but in models with this many layers
  /// the embedding width divided by the heads.
  const char *scalarKey = "";
  int64_t wideScalarLayers = 0;
};

/// Returns an architecture's row, or null.
const Architecture *findArchitecture(std::string_view name);
/// Returns all architecture names, sorted.
std::vector<std::string> getArchitectureNames();
/// Keys in any architecture that change results if no row reads them.
const std::vector<FixedKey> &getFixedKeys();
/// Keys in any architecture without effect on results, after `ARCHITECTURE.`.
const std::vector<std::string_view> &getKeysWithoutEffect();

} // namespace transom::gguf
