// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom tokenize: prints one JSON line with the tokens of each text or pair,
// or, with --decode, with the decoded text.
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/text/Texts.h"
#include <charconv>

using namespace transom;
using namespace transom::tools;

namespace {
struct TokenizeFlags {
  std::string model;
  TextInput input;
  std::vector<std::string> pairs; ///< from `--pair`, in addition to `--text`
  bool noSpecial = false, noTruncation = false, decode = false;
  std::string sourceLanguage, targetLanguage;

  /// Returns true for texts in the target language.
  bool target() const { return !targetLanguage.empty(); }
};
} // namespace

static std::string formatLine(const TextOrPair &text,
                              const std::vector<transom_token> &tokens) {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text.first);
  if (text.pair)
    json.member("pair", *text.pair);
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

//===----------------------------------------------------------------------===//
// Ids to text
//===----------------------------------------------------------------------===//

/// Parses ids between spaces, commas and brackets.
static Result<std::vector<int64_t>> readIds(const std::string &text) {
  std::vector<int64_t> ids;
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    while (at != end &&
           std::string_view(" ,[]\t").find(*at) != std::string_view::npos)
      ++at;
    if (at == end)
      return ids;
    int64_t id = 0;
    auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0)
      return usageError("expected ids for '--decode', got " +
                        quote(std::string(at, end)));
    ids.push_back(id);
    at = next;
  }
}

static Result<void> decodeLine(const transom_model *model,
                               const std::string &line, bool skipSpecial) {
  TRANSOM_ASSIGN(std::vector<int64_t> ids, readIds(line));
  // The library skips ids without a token; report them as errors here.
  for (int64_t id : ids) {
    size_t size = 0;
    const transom_status known =
        transom_model_token_text(model, id, nullptr, 0, &size);
    if (known != TRANSOM_STATUS_OK && known != TRANSOM_STATUS_LIMIT)
      return lastError(known);
  }
  TRANSOM_ASSIGN(std::string text,
                 detokenize(model, ids,
                            skipSpecial ? TRANSOM_DETOKENIZE_SKIP_SPECIAL : 0));
  std::string out;
  JsonWriter json(out);
  json.beginObject();
  json.key("ids");
  json.array(ids);
  json.member("text", text);
  json.endObject();
  return writeOut(out + "\n");
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static Result<void> validate(const TokenizeFlags &flags) {
  TRANSOM_TRY(flags.input.validate());
  if (flags.decode && !flags.pairs.empty())
    return usageError("'--pair' and '--decode' exclude each other");
  if (!flags.sourceLanguage.empty() && flags.target())
    return usageError("'--source-lang' and '--target-lang' exclude each other");
  if (flags.decode && (!flags.sourceLanguage.empty() || flags.target()))
    return usageError("'--decode' takes no language");
  return checkPairs(flags.input, flags.pairs);
}

static Result<void> runTokenize(const TokenizeFlags &flags,
                                const CommonFlags &common) {
  // Check the flags, and open the model.
  TRANSOM_TRY(validate(flags));
  TRANSOM_ASSIGN(TextModel opened, openTextModel(flags.model));
  const transom_model *model = opened.model.get();
  // Options.
  transom_tokenize_options options = transom_tokenize_options_default();
  options.no_special = flags.noSpecial;
  options.no_truncation = flags.noTruncation;
  const std::string &language =
      flags.target() ? flags.targetLanguage : flags.sourceLanguage;
  if (!language.empty())
    options.language = language.c_str();
  options.target = flags.target();
  CutTexts cuts;
  size_t index = 0;
  // Encode or decode each text.
  auto encodeLine = [&](TextOrPair text) -> Result<void> {
    uint32_t cut = 0;
    TRANSOM_ASSIGN(std::vector<transom_token> tokens,
                   tokenizeText(model, text, options, cut));
    cuts.count += cut;
    return writeOut(formatLine(text, tokens));
  };
  auto runBatch = [&](std::vector<std::string> texts) -> Result<void> {
    for (size_t i = 0; i < texts.size(); ++i) {
      std::optional<std::string> pair;
      if (!flags.pairs.empty())
        pair = flags.pairs[i];
      Result<void> done = flags.decode
                              ? decodeLine(model, texts[i], flags.noSpecial)
                              : encodeLine({texts[i], pair});
      if (!done)
        return inText(flags.input, index, done.takeError());
      ++index;
    }
    return {};
  };
  Result<void> done = forEachBatch(flags.input, common, runBatch);
  cuts.tell(common, opened.info.max_text_tokens);
  return done;
}

void tools::addTokenize(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(app, commands, "tokenize",
                                "print the token ids of each text, or the text "
                                "of ids, as a line of JSON");
  auto flags = std::make_shared<TokenizeFlags>();
  // Model and texts.
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  addTextInput(*command.app, flags->input);
  addPairs(*command.app, flags->pairs, "the second text of a --text");
  // Direction, special tokens and languages.
  command.app->add_flag("--decode", flags->decode,
                        "each text is a list of ids (1 2 3); print their text");
  command.app->add_flag(
      "--no-special", flags->noSpecial,
      "omit the tokens that the model adds; with --decode, omit "
      "special tokens");
  command.app->add_flag("--no-truncation", flags->noTruncation,
                        "do not truncate texts to the model's limit");
  command.app->add_option("--source-lang", flags->sourceLanguage,
                          "the language of the texts, of a translator that has "
                          "tokens for languages");
  command.app->add_option("--target-lang", flags->targetLanguage,
                          "the same for texts in the language that a model "
                          "translates into");
  command.run = [flags](const CommonFlags &common) {
    return runTokenize(*flags, common);
  };
}
