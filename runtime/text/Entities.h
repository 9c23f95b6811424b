// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named entities of types that are given with a text (GLiNER).
#pragma once
#include "runtime/session/Session.h"
#include <functional>
#include <string_view>
#include <vector>

namespace transom {

/// The tokens of types and a text, and where their states are.
struct EntityPrompt {
  Encoding encoding;
  /// Tokens of each word of the text, in order; none for a word that has no
  /// token or was truncated.
  std::vector<std::vector<size_t>> words;
  std::vector<size_t> types; ///< the token of each; fewer if truncated
};

/// Encodes `TYPE-TOKEN type ... SEPARATOR word ...`, cut to `maxTokens`.
Result<EntityPrompt>
encodeEntityPrompt(const Tokenizer &tokenizer, const ManifestEntities &rules,
                   const std::vector<std::string_view> &types,
                   const std::vector<std::string_view> &words,
                   size_t maxTokens);

/// The entities of a text.
struct TextEntities {
  std::vector<transom_entity> entities;
  bool isCut = false; ///< the text or the types were truncated
};

/// Takes the entities of a text by its number.
using TakeEntities = std::function<void(size_t text, TextEntities entities)>;

/// Finds entities, as transom_session_find_entities_batch().
Result<void> findEntities(Session &session, const transom_text *texts,
                          size_t count, const transom_text *types,
                          size_t numTypes,
                          const transom_entity_options &options,
                          const TakeEntities &take);

} // namespace transom
