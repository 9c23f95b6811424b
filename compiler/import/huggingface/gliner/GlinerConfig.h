// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gliner_config.json: what the package gliner says of a model that finds named
// entities of types that are given with each text.
#pragma once
#include "compiler/import/huggingface/Config.h"
#include "runtime/manifest/Manifest.h"

namespace transom {

/// How a model scores spans of words.
enum class SpanMode {
  TokenLevel, ///< each word as a start, an end and an inside of each type
  Marker,     ///< a projection of both ends of a span
  MarkerV0,   ///< an MLP of both ends of a span
};

/// A GLiNER model without its encoder.
struct GlinerConfig {
  SpanMode spanMode = SpanMode::MarkerV0;
  int64_t hidden = 0;     ///< width of the states of words and types
  int64_t vocabulary = 0; ///< rows of the token embedding; -1: not said
  ManifestEntities entities;
  /// The encoder's config, `/encoder_config`; absent: it is in config.json.
  std::optional<JsonValue> encoder;
  std::string encoderName; ///< the checkpoint that the encoder was made from

  bool isTokenLevel() const { return spanMode == SpanMode::TokenLevel; }
};

/// The name of that file in a folder.
inline constexpr const char *glinerFile = "gliner_config.json";

/// Reads it. Errors are the config's: `Unsupported` for models with parts
/// besides an encoder and a head for spans.
GlinerConfig readGlinerConfig(Config &config);

} // namespace transom
