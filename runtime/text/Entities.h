// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named entities with types that are given per call (GLiNER).
#pragma once
#include "runtime/session/Session.h"
#include <functional>
#include <string_view>
#include <vector>

namespace transom {

/// The input tokens for types and a text, and the positions of their states.
struct EntityPrompt {
  Encoding encoding;
  /// Token indices for each word in the text, in order; empty if a word has no
  /// token or was truncated.
  std::vector<std::vector<size_t>> words;
  std::vector<size_t> types; ///< each type's token; fewer if truncated
};

/// Encodes `TYPE-TOKEN type ... SEPARATOR word ...`, truncated to `maxTokens`.
Result<EntityPrompt>
encodeEntityPrompt(const Tokenizer &tokenizer, const ManifestEntities &rules,
                   const std::vector<std::string_view> &types,
                   const std::vector<std::string_view> &words,
                   size_t maxTokens);

/// The entities in a text.
struct TextEntities {
  std::vector<transom_entity> entities;
  bool isCut = false; ///< the text or the types were truncated
};

/// Receives a text's entities and its index.
using TakeEntities = std::function<void(size_t text, TextEntities entities)>;

/// Finds entities, as transom_session_find_entities_batch().
Result<void> findEntities(Session &session, const transom_text *texts,
                          size_t count, const transom_text *types,
                          size_t numTypes,
                          const transom_entity_options &options,
                          const TakeEntities &take);

} // namespace transom
