// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer's files; sentence_bert_config.json, modules.json and the
// pooling's config.json.
#include "compiler/import/huggingface/TextConfig.h"
#include "compiler/import/tokenizer/ImportFolder.h"
#include "runtime/base/File.h"
#include "runtime/json/Json.h"

using namespace transom;

namespace {

/// Reads the files of one folder.
class TextReader {
public:
  TextReader(const std::string &folder, TextConfig &config)
      : folder(folder), config(config) {}

  Result<void> tokenizer(bool expected, const ModelVocabulary &model);
  Result<void> maxLength(int64_t modelMax);
  Result<void> modules();

private:
  /// A JSON file of the folder, nothing when it is not there.
  Result<std::optional<JsonDocument>> json(const std::string &name);
  Result<void> pooling(const std::string &name);

  const std::string &folder;
  TextConfig &config;
  int64_t truncation = 0; ///< of the tokenizer; 0: none
};

} // namespace

Result<std::optional<JsonDocument>> TextReader::json(const std::string &name) {
  const std::string path = joinPath(folder, name);
  if (!fileExists(path))
    return std::optional<JsonDocument>();
  TRANSOM_ASSIGN(JsonDocument document, parseJsonFile(path));
  config.files.push_back(name);
  return std::optional<JsonDocument>(document);
}

/// A tokenizer that is not supported is no error, but noted.
Result<void> TextReader::tokenizer(bool expected,
                                   const ModelVocabulary &model) {
  Result<std::optional<FolderTokenizer>> read =
      importTokenizerFolder(folder, model);
  if (!read && read.error().status != Status::Unsupported)
    return read.takeError();
  if (!read)
    config.notes.push_back(read.error().message + "; texts cannot be given");
  else if (!*read && expected)
    config.notes.push_back("no tokenizer.json: texts cannot be given");
  if (!read || !*read)
    return {};
  ImportedTokenizer &imported = (*read)->tokenizer;
  truncation = imported.truncation;
  config.manifest.maskToken = (*read)->maskToken;
  config.manifest.givesTypes = (*read)->givesTypes;
  config.tokenizer = std::move(imported.tables);
  config.files.insert(config.files.end(), (*read)->files.begin(),
                      (*read)->files.end());
  config.notes.insert(config.notes.end(), imported.notes.begin(),
                      imported.notes.end());
  return {};
}

Result<void> TextReader::maxLength(int64_t modelMax) {
  int64_t length = truncation > 0 ? truncation : modelMax;
  TRANSOM_ASSIGN(std::optional<JsonDocument> document,
                 json("sentence_bert_config.json"));
  if (document)
    if (auto value = document->root().find("max_seq_length");
        value && !value->isNull()) {
      TRANSOM_ASSIGN(int64_t given, value->asInt(1, INT32_MAX));
      length = given;
    }
  if (modelMax > 0 && (length == 0 || length > modelMax))
    length = modelMax;
  config.manifest.maxLength = length;
  return {};
}

Result<void> TextReader::pooling(const std::string &name) {
  TRANSOM_ASSIGN(std::optional<JsonDocument> document, json(name));
  if (!document)
    return {};
  JsonValue root = document->root();
  if (auto mode = root.find("pooling_mode"); mode && mode->isString()) {
    config.manifest.pooling = std::string(*mode->asString());
    return {};
  }

  // Older files have a flag for each mode.
  const std::string prefix = "pooling_mode_";
  std::vector<std::string> chosen;
  for (JsonValue::Member member : root.members())
    if (member.key.substr(0, prefix.size()) == prefix &&
        member.value.isBool() && *member.value.asBool())
      chosen.push_back(std::string(member.key.substr(prefix.size())));

  // A mode that is not supported is kept by name, and noted.
  if (chosen == std::vector<std::string>{"mean_tokens"})
    config.manifest.pooling = "mean";
  else if (chosen == std::vector<std::string>{"cls_token"})
    config.manifest.pooling = "cls";
  else if (!chosen.empty()) {
    std::string all;
    for (const std::string &mode : chosen)
      all += (all.empty() ? "" : "+") + mode;
    config.manifest.pooling = all;
    config.notes.push_back(name + ": pooling '" + all +
                           "' is not supported; 'embed' needs --pooling");
  }
  return {};
}

Result<void> TextReader::modules() {
  // Without modules.json: mean pooling, normalized.
  config.manifest.pooling = "mean";
  config.manifest.normalize = true;
  TRANSOM_ASSIGN(std::optional<JsonDocument> document, json("modules.json"));
  if (!document)
    return {};
  config.manifest.normalize = false;
  for (JsonValue module : document->root().elements()) {
    auto member = [&](const char *key) {
      auto value = module.find(key);
      return value && value->isString() ? std::string(*value->asString())
                                        : std::string();
    };
    std::string type = member("type");
    type = type.substr(type.rfind('.') + 1);
    if (type == "Normalize") {
      config.manifest.normalize = true;
    } else if (type == "Pooling") {
      const std::string path = member("path");
      if (Result<void> plain = checkPlainFileName(path, "modules.json: path");
          !plain)
        return plain;
      if (Result<void> read = pooling(path + "/config.json"); !read)
        return read;
    } else if (type != "Transformer") {
      config.notes.push_back("modules.json: module '" + type +
                             "' is not supported and left out of 'embed'");
    }
  }
  return {};
}

Result<TextConfig> transom::readTextConfig(const std::string &folder,
                                           int64_t modelMax, bool textExpected,
                                           const ModelVocabulary &model) {
  TextConfig config;
  TextReader reader(folder, config);
  TRANSOM_TRY(reader.tokenizer(textExpected, model));
  config.manifest.tokenizer = !config.tokenizer.empty();
  TRANSOM_TRY(reader.maxLength(modelMax));
  TRANSOM_TRY(reader.modules());
  return config;
}
