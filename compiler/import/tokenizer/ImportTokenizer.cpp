// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the top level of tokenizer.json. The model is read first, since its
// kind determines whether the file is supported.
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/AddedTokens.h"
#include "compiler/import/tokenizer/PieceImporter.h"
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "compiler/import/tokenizer/classes/Languages.h"
#include "runtime/json/Json.h"

namespace transom {

using namespace tokenizer;

static Result<void> readVersion(JsonValue root) {
  auto version = root.find("version");
  if (!version)
    return {};
  TRANSOM_ASSIGN(auto text, version->asString());
  if (text != "1.0")
    return version->error("unsupported tokenizer version '" +
                              std::string(text) + "'; supported: 1.0",
                          Status::Unsupported);
  return {};
}

static Result<void> readSteps(JsonValue root, Draft &draft) {
  if (auto value = root.find("normalizer"); value && !value->isNull())
    TRANSOM_TRY(readNormalizer(*value, draft));
  if (auto value = root.find("pre_tokenizer"); value && !value->isNull())
    TRANSOM_TRY(readPreTokenizer(*value, draft));
  TRANSOM_TRY(readPostProcessor(root.find("post_processor"), draft));
  TRANSOM_TRY(readDecoder(root.find("decoder"), draft));
  return readTruncation(root.find("truncation"), draft.parameters);
}

/// Reads all parts except for added tokens.
static Result<void> readFile(JsonValue root, Draft &draft) {
  TRANSOM_TRY(root.expectObject());
  TRANSOM_TRY(readVersion(root));
  TRANSOM_ASSIGN(auto model, root.get("model"));
  TRANSOM_TRY(readModel(model, draft));
  return readSteps(root, draft);
}

Result<ImportedTokenizer> importTokenizer(std::string_view json,
                                          const std::string &fileName) {
  TRANSOM_ASSIGN(auto document, parseJson(json, fileName));
  Draft draft;
  ImportedTokenizer result;
  TRANSOM_TRY(readFile(document.root(), draft));
  TRANSOM_ASSIGN(std::vector<AddedElement> added,
                 readAddedElements(document.root().find("added_tokens")));
  TRANSOM_TRY(addTokens(added, draft, result.notes));
  findLanguages(draft);
  auto tables = writeTables(draft);
  if (!tables) {
    Error error = tables.takeError();
    error.message = fileName + ": " + error.message;
    return error;
  }
  result.tables = std::move(*tables);
  return result;
}

/// Adds the `padding` token as the padding role if the settings specify none.
static void addPadding(JsonValue root, TokenizerSettings &settings) {
  auto padding = root.find("padding");
  auto token = padding && padding->isObject() ? padding->find("pad_token")
                                              : std::optional<JsonValue>();
  if (!token || !token->isString() || settings.find("pad_token"))
    return;
  TokenSetting setting;
  setting.content = *token->asString();
  setting.isText = setting.special = true;
  settings.named.push_back({"pad_token", setting});
}

Result<ImportedTokenizer> importTokenizer(JsonValue root,
                                          const std::string &fileName,
                                          const SettingFiles &files) {
  Draft draft;
  ImportedTokenizer result;
  TRANSOM_TRY(readFile(root, draft));
  TRANSOM_ASSIGN(TokenizerSettings settings,
                 readTokenizerSettings(files, root));
  addPadding(root, settings);
  const SentencePieceModel none;
  PieceImporter importer(none, settings, draft, result.notes);
  auto make = [&]() -> Result<void> {
    TRANSOM_TRY(importer.takeAddedTokens(root));
    importer.addFurther(settings.additional);
    TRANSOM_TRY(importer.setTruncationSide());
    TRANSOM_TRY(importer.addTokens({}));
    TRANSOM_TRY(addCleanUp(settings, draft));
    TRANSOM_ASSIGN(result.tables, importer.finish(files.lowersCase));
    return {};
  };
  if (Result<void> made = make(); !made)
    return nameFile(made.takeError(), files, fileName);
  return result;
}

} // namespace transom
