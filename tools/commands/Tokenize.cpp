// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom tokenize: one JSON line with the tokens of each text.
#include "runtime/support/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/Texts.h"

using namespace transom;
using namespace transom::tools;

namespace {
struct TokenizeFlags {
  std::string model;
  TextInput input;
  bool noSpecial = false, noTruncation = false;
};
} // namespace

/// The tokens of a text; grows the room until they fit.
static Result<std::vector<transom_token>>
tokensOf(const transom_model *model, const std::string &text,
         const transom_tokenize_options &options, uint32_t &cut) {
  std::vector<transom_token> tokens(text.size() + 16);
  const transom_text view{text.data(), text.size()};
  size_t count = 0;
  transom_status status =
      transom_tokenize(model, &view, nullptr, &options, tokens.data(),
                       tokens.size(), &count, &cut);
  if (status == TRANSOM_LIMIT && count > tokens.size()) {
    tokens.resize(count);
    status = transom_tokenize(model, &view, nullptr, &options, tokens.data(),
                              tokens.size(), &count, &cut);
  }
  if (status != TRANSOM_OK)
    return lastError(status);
  tokens.resize(count);
  return tokens;
}

static std::string lineOf(const std::string &text,
                          const std::vector<transom_token> &tokens) {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  json.key("ids");
  json.beginArray();
  for (const transom_token &token : tokens)
    json.value(token.id);
  json.endArray();
  json.key("offsets");
  json.beginArray();
  for (const transom_token &token : tokens) {
    json.beginArray();
    json.value(static_cast<uint64_t>(token.begin));
    json.value(static_cast<uint64_t>(token.end));
    json.endArray();
  }
  json.endArray();
  json.endObject();
  return line + "\n";
}

static Result<void> runTokenize(const TokenizeFlags &flags,
                                const CommonFlags &common) {
  if (Result<void> valid = flags.input.validate(); !valid)
    return valid;
  Result<TextModel> opened = openTextModel(flags.model);
  if (!opened)
    return opened.takeError();
  transom_tokenize_options options = transom_tokenize_options_default();
  options.no_special = flags.noSpecial;
  options.no_truncation = flags.noTruncation;
  CutTexts cuts;
  Result<void> done = forEachBatch(
      flags.input, textBatch,
      [&](std::vector<std::string> texts) -> Result<void> {
        for (const std::string &text : texts) {
          uint32_t cut = 0;
          Result<std::vector<transom_token>> tokens =
              tokensOf(opened->model.get(), text, options, cut);
          if (!tokens)
            return tokens.takeError();
          cuts.count += cut;
          if (Result<void> written = writeOut(lineOf(text, *tokens)); !written)
            return written;
        }
        return {};
      });
  cuts.tell(common, opened->info.max_text_tokens);
  return done;
}

void tools::addTokenize(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(app, commands, "tokenize",
                                "token ids of texts, one JSON line a text");
  auto flags = std::make_shared<TokenizeFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  addTextInput(*command.app, flags->input);
  command.app->add_flag("--no-special", flags->noSpecial,
                        "without the tokens that the model adds");
  command.app->add_flag("--no-truncation", flags->noTruncation,
                        "do not cut texts to the model's maximum");
  command.run = [flags](const CommonFlags &common) {
    return runTokenize(*flags, common);
  };
}
