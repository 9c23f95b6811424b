// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizes prompts given as texts sequentially.
#include "runtime/api/ApiPrompts.h"
#include "runtime/text/Text.h"

using namespace transom;
using namespace transom::api;

Result<std::vector<std::vector<int64_t>>>
api::getPromptTokens(const Model &model, const char *name,
                     const transom_prompt *prompts, size_t count,
                     const transom_tokenize_options &how) {
  TRANSOM_TRY(checkArray((std::string(name) + "s").c_str(), prompts, count));
  std::vector<std::vector<int64_t>> tokens(count);
  for (size_t i = 0; i != count; ++i) {
    // Use ids directly.
    const transom_prompt &prompt = prompts[i];
    if (prompt.ids) {
      TRANSOM_TRY(checkArray("ids of a prompt", prompt.ids, prompt.num_ids));
      tokens[i].assign(prompt.ids, prompt.ids + prompt.num_ids);
      continue;
    }
    // Tokenize texts; an empty text needs no tokenizer.
    if (prompt.num_ids)
      return nullArgument("ids of a prompt");
    TRANSOM_TRY(checkTexts("prompts", &prompt.text, 1));
    if (prompt.text.size == 0 && !model.tokenizer())
      continue;
    Result<Encoding> encoding = encodeText(model, prompt.text, nullptr, how);
    if (!encoding) {
      Error error = encoding.takeError();
      if (count > 1)
        error.message =
            std::string(name) + " " + std::to_string(i) + ": " + error.message;
      return error;
    }
    tokens[i] = std::move(encoding->ids);
  }
  return tokens;
}

Result<std::vector<std::vector<int64_t>>>
api::getSourceTokens(const Model &model, const transom_prompt *sources,
                     size_t count) {
  transom_tokenize_options how = transom_tokenize_options_default();
  how.no_truncation = 1;
  return getPromptTokens(model, "source", sources, count, how);
}
