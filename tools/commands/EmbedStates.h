// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// embed --tokens and --layers: the vectors of the tokens of texts, of the last
// layer or of those that the model was compiled with.
#pragma once
#include "tools/commands/EmbedOutput.h"
#include "tools/commands/Texts.h"
#include <string>
#include <vector>

namespace transom::tools {

/// The hidden states of texts, by an entry that gives those of all tokens.
class HiddenStates {
public:
  /// `layers` is a list as `0,-1`; empty: the last hidden state. `prompt` is
  /// put before each text.
  static Result<HiddenStates> open(const transom_model *model,
                                   const std::string &layers,
                                   std::string prompt);
  /// The line of JSON of a text; `truncated` is set to 1 if it was cut.
  Result<std::string> getLine(transom_session *session, const std::string &text,
                              uint32_t &truncated) const;

private:
  /// A result of the entry, and the layer as it was asked for.
  struct LayerResult {
    std::string name, layer;
  };
  const transom_model *model = nullptr;
  std::string entry, prompt;
  std::vector<std::string> inputs;
  std::vector<LayerResult> results;
};

} // namespace transom::tools
