// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The top level of tokenizer.json. The model is read first, since its kind
// decides whether the rest is worth reading.
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/AddedTokens.h"
#include "compiler/import/tokenizer/Languages.h"
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
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

Result<ImportedTokenizer> importTokenizer(std::string_view json,
                                          const std::string &fileName,
                                          std::optional<bool> truncatesLeft) {
  TRANSOM_ASSIGN(auto document, parseJson(json, fileName));
  JsonValue root = document.root();
  TRANSOM_TRY(root.expectObject());
  TRANSOM_TRY(readVersion(root));
  Draft draft;
  ImportedTokenizer result;
  TRANSOM_ASSIGN(auto model, root.get("model"));
  TRANSOM_TRY(readModel(model, draft));
  TRANSOM_TRY(readSteps(root, draft));
  if (truncatesLeft)
    draft.parameters.truncationSide =
        *truncatesLeft ? TruncationSide::Left : TruncationSide::Right;
  TRANSOM_TRY(readAddedTokens(root.find("added_tokens"), draft, result.notes));
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

} // namespace transom
