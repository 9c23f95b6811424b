// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of architectures: how the metadata and the tensors of each say what
// config.json and the checkpoint of a Hugging Face model say.
#pragma once
#include "compiler/import/gguf/Gguf.h"
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace transom::gguf {

/// What a key of config.json gets where the metadata lacks its value.
enum class Absent {
  Error,    ///< the file is rejected
  Omit,     ///< no key
  Heads,    ///< the number of heads
  HeadSize, ///< the width of the embedding divided by the heads
  Theta     ///< 10000
};

/// A key of the metadata, after `ARCHITECTURE.`, and the one of config.json.
struct KeyMap {
  const char *key, *config;
  enum class Type { Size, Number } type = Type::Size;
  Absent absent = Absent::Error;
};

/// How a stored tensor differs from that of the checkpoint.
enum class TensorChange {
  None,
  /// Rows of each head are in turn those of its first and of its second half.
  PairedQuery,
  PairedKey,
  PlusOne,   ///< a norm's weight is stored plus one
  Transposed ///< a matrix is stored transposed
};

/// Whether files have a tensor.
enum class Needs { Never, Maybe, Always };

/// A module's tensors: `NAME.weight` and `NAME.bias`. `{i}` is the layer.
struct TensorMap {
  const char *name, *module;
  TensorChange change = TensorChange::None;
  Needs weight = Needs::Always, bias = Needs::Never;
};

/// A key, after `ARCHITECTURE.`, with the value that changes nothing, as 0
/// does.
struct FixedKey {
  const char *key;
  double value;
};

/// How much of a head rope turns.
enum class RopeShare {
  None,  ///< no rope
  Whole, ///< `rope.dimension_count` is the size of a head
  Part   ///< `partial_rotary_factor` is made from it
};

/// One `general.architecture`.
struct Architecture {
  const char *name;
  const char *modelType, *className;
  std::vector<KeyMap> keys;
  std::vector<TensorMap> tensors;
  RopeShare rope = RopeShare::Whole;
  bool isEncoder = false;
  /// Tokens have types; without their tensor there is one type of zeros.
  bool tokenTypes = false;
  /// The same with a window; empty: they are the same with and without.
  std::pair<const char *, const char *> windowed = {"", ""};
  /// Keys of config.json with the value that all models of it have.
  std::vector<
      std::pair<const char *, std::variant<std::string_view, double, bool>>>
      fixedConfig = {};
  /// Keys of config.json that say whether a tensor is there.
  std::vector<std::pair<const char *, const char *>> biases = {};
  /// The key of config.json for the period of layers without a window; empty:
  /// layers do not differ. Without a window the period is 1.
  const char *periodKey = "";
  /// The key of config.json for the number under the root by which scores are
  /// divided, which files do not have: the size of a head, but in models with
  /// this many layers the width of the embedding divided by the heads.
  const char *scalarKey = "";
  int64_t wideScalarLayers = 0;
};

/// The row of an architecture, or null.
const Architecture *findArchitecture(std::string_view name);
/// The names of all rows, sorted.
std::vector<std::string> getArchitectureNames();
/// Keys of any architecture that change results where no row reads them.
const std::vector<FixedKey> &getFixedKeys();
/// Keys of any architecture that change no result, after `ARCHITECTURE.`.
const std::vector<std::string_view> &getKeysWithoutEffect();

} // namespace transom::gguf
