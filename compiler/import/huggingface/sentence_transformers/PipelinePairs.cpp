// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cross-encoders: determines whether a pair is passed as two texts or through
// the folder's chat template, and the template's variables.
#include "compiler/import/huggingface/sentence_transformers/Pipeline.h"
#include "compiler/import/huggingface/sentence_transformers/PipelineReader.h"
#include "compiler/import/tokenizer/ImportFolder.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/JsonParser.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <algorithm>

using namespace transom;

Result<void> PipelineReader::modalities(JsonValue config,
                                        const std::string &output) {
  const auto kwargs = findValue(config, "processing_kwargs");
  std::optional<JsonValue> message;
  if (auto modalities = findValue(config, "modality_config")) {
    TRANSOM_TRY(modalities->expectObject());
    for (JsonValue::Member member : modalities->members()) {
      TRANSOM_TRY(member.value.expectObject());
      TRANSOM_ASSIGN(std::string method, text(member.value, "method", ""));
      auto given = member.value.find("method_output_name");
      const bool isMessage = member.key == "message" && result.pairs;
      if (isMessage)
        message = member.value;
      if ((member.key != "text" && !isMessage) || method != "forward" ||
          !given || !given->isString() || *given->asString() != output)
        result.refuse(member.value.where() +
                      ": only texts are supported, whose method is 'forward' "
                      "with the output '" +
                      output + "'");
    }
  }
  if (message && result.refusal.empty())
    return chatTemplate(*message, config);
  if (kwargs && kwargs->size())
    result.refuse(kwargs->where() + ": 'processing_kwargs' is not supported; "
                                    "supported: none");
  return {};
}

/// Reads files with special tokens; earlier ones take precedence.
Result<void>
PipelineReader::specialTokens(TemplateVariables &variables,
                              std::vector<JsonDocument> &documents) {
  for (const char *file :
       {"tokenizer_config.json", "special_tokens_map.json"}) {
    const std::string path = joinPath(folder, file);
    if (!fileExists(path))
      continue;
    TRANSOM_ASSIGN(std::string bytes, readSmallFile(path, jsonMaxBytes));
    TRANSOM_ASSIGN(JsonDocument document,
                   parseJson(bytes, path, JsonNumbers::Python));
    documents.push_back(document);
    for (const char *name : {"bos_token", "eos_token", "unk_token", "sep_token",
                             "pad_token", "cls_token", "mask_token"}) {
      auto value = document.root().find(name);
      if (value && value->isObject())
        value = value->find("content");
      const bool isKnown =
          std::any_of(variables.begin(), variables.end(),
                      [&](const auto &each) { return each.first == name; });
      if (value && value->isString() && !isKnown)
        variables.emplace_back(name, *value);
    }
  }
  return {};
}

/// `processing_kwargs` may contain template variables in `chat_template`.
Result<void> PipelineReader::chatTemplate(JsonValue message, JsonValue config) {
  TemplateVariables variables;
  std::string name = "default";
  if (auto kwargs = findValue(config, "processing_kwargs")) {
    TRANSOM_TRY(kwargs->expectObject());
    for (JsonValue::Member group : kwargs->members()) {
      TRANSOM_TRY(group.value.expectObject());
      if (group.key != "chat_template" && group.value.size()) {
        result.refuse(group.value.where() + ": '" + utf8::printable(group.key) +
                      "' is not supported; supported: chat_template");
        return {};
      }
      for (JsonValue::Member member : group.value.members()) {
        const bool isSize =
            member.key == "padding" || member.key == "truncation" ||
            member.key == "max_length" || member.key == "return_tensors" ||
            (member.key == "restore_suffix" && member.value.isBool() &&
             !*member.value.asBool());
        if (isSize) {
          result.refuse(member.value.where() + ": '" +
                        utf8::printable(member.key) +
                        "' is not supported for a chat template");
          return {};
        }
        if (member.key == "chat_template") {
          TRANSOM_ASSIGN(std::string_view given, member.value.asString());
          name = given;
        } else if (member.key != "restore_suffix") {
          variables.emplace_back(member.key, member.value);
        }
      }
    }
  }
  if (name != "default")
    TRANSOM_TRY(checkPlainFileName(name, config.where() + ": chat_template"));
  TRANSOM_ASSIGN(std::string format, text(message, "format", "structured"));
  TRANSOM_ASSIGN(const std::optional<std::string> found,
                 readChatTemplate(folder, name, result.files));
  if (!found) {
    result.refuse("the folder has no chat template '" + utf8::printable(name) +
                  "', by which pairs of texts are read");
    return {};
  }
  std::vector<JsonDocument> documents;
  TRANSOM_TRY(specialTokens(variables, documents));
  Result<void> filled =
      fillTemplates(*found, variables, format == "structured");
  if (!filled && filled.error().status != Status::Unsupported)
    return Error{
        filled.error().status, "chat template: " + filled.error().message, {}};
  if (!filled)
    result.refuse("the chat template is not supported: " +
                  filled.error().message);
  return {};
}

/// Fills in a template without and with a prompt.
Result<void> PipelineReader::fillTemplates(const std::string &text,
                                           const TemplateVariables &variables,
                                           bool isStructured) {
  for (const bool hasPrompt : {false, true}) {
    std::optional<ManifestTemplate> &filled =
        hasPrompt ? result.pairs->prompted : result.pairs->plain;
    TRANSOM_ASSIGN(filled,
                   fillChatTemplate(text, variables, isStructured, hasPrompt));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Folders without modules.json
//===----------------------------------------------------------------------===//

/// Returns the ids for the tokens in the options.
static Result<std::vector<int64_t>>
findScoreTokens(const std::string &folder, const ScoringOptions &options) {
  TRANSOM_ASSIGN(const std::optional<FolderTokenizer> read,
                 importTokenizerFolder(folder));
  if (!read)
    return unsupported("'--true-token': the folder has no tokenizer");
  TRANSOM_ASSIGN(const Tokenizer tokenizer,
                 Tokenizer::open(read->tokenizer.tables));
  const auto unknown = int64_t(tokenizer.data().parameters().unknownId);
  std::vector<int64_t> ids;
  for (auto [flag, token] : {std::pair("--true-token", &options.trueToken),
                             {"--false-token", &options.falseToken}}) {
    if (token->empty())
      continue;
    const std::optional<int64_t> id = tokenizer.getId(*token);
    if (!id || (*id == unknown && tokenizer.token(*id) != *token))
      return usageError(std::string("'") + flag +
                        "': the tokenizer has no token '" +
                        utf8::printable(*token) + "'");
    ids.push_back(*id);
  }
  return ids;
}

/// Returns whether a template expects contents as item lists; as in
/// sentence-transformers this depends on the names that the template uses.
static bool isStructured(const std::string &text) {
  for (const char *sign :
       {"content[0]", ".type", "'type'", "\"type\"", "message.content["})
    if (text.find(sign) != std::string::npos)
      return true;
  return false;
}

Result<void> PipelineReader::scoring(const ScoringOptions &options) {
  TRANSOM_ASSIGN(result.scoreTokens, findScoreTokens(folder, options));
  std::optional<std::string> text;
  if (!options.chatTemplate.empty()) {
    TRANSOM_ASSIGN(text, readSmallFile(options.chatTemplate, jsonMaxBytes));
  } else {
    TRANSOM_ASSIGN(text, readChatTemplate(folder, "default", result.files));
  }
  PipelineModule transformer, score;
  transformer.kind = PipelineKind::Transformer;
  transformer.name = "Transformer";
  transformer.readsTokens = transformer.writesTokens = true;
  score.kind = PipelineKind::LogitScore;
  score.name = "LogitScore";
  result.modules = {transformer, score};
  result.scoringHead = "causal_lm";
  result.pairs.emplace();
  result.entry = result.pairs->entry = "rerank";
  if (!text)
    return {};
  TemplateVariables variables;
  std::vector<JsonDocument> documents;
  TRANSOM_TRY(specialTokens(variables, documents));
  if (Result<void> filled =
          fillTemplates(*text, variables, isStructured(*text));
      !filled)
    return Error{
        filled.error().status,
        "the chat template is not one of pairs: " + filled.error().message +
            "; give another with --chat-template",
        {}};
  return {};
}

Result<PipelineConfig>
transom::makeScoringPipeline(const std::string &folder,
                             const ScoringOptions &options) {
  PipelineConfig config;
  TRANSOM_TRY(PipelineReader(folder, config).scoring(options));
  return config;
}
