// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gliner_config.json, as the package gliner writes it: models that find named
// entities, with types given for each text.
#pragma once
#include "compiler/import/huggingface/Config.h"
#include "runtime/manifest/Manifest.h"

namespace transom {

/// Span scoring method.
enum class SpanMode {
  TokenLevel, ///< each word as start, end and inside for each type
  Marker,     ///< a projection of both span ends
  MarkerV0,   ///< an MLP over both span ends
};

/// A GLiNER model without its encoder.
struct GlinerConfig {
  SpanMode spanMode = SpanMode::MarkerV0;
  int64_t hidden = 0;     ///< width of word and type states
  int64_t vocabulary = 0; ///< token embedding rows; -1: not specified
  ManifestEntities entities;
  /// The encoder's config, `/encoder_config`; absent: it is in config.json.
  std::optional<JsonValue> encoder;
  std::string encoderName; ///< checkpoint that the encoder was trained from

  bool isTokenLevel() const { return spanMode == SpanMode::TokenLevel; }
};

/// The config's file name.
inline constexpr const char *glinerFile = "gliner_config.json";

/// Reads the config. Errors are recorded in it: `Unsupported` for models with
/// other parts than an encoder and a span head.
GlinerConfig readGlinerConfig(Config &config);

} // namespace transom
