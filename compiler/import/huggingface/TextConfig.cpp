// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizer files, and the lengths in sentence_bert_config.json.
#include "compiler/import/huggingface/TextConfig.h"
#include "compiler/import/tokenizer/CheckIds.h"
#include "compiler/import/tokenizer/ImportFolder.h"
#include "runtime/base/File.h"
#include "runtime/json/JsonParser.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <algorithm>

using namespace transom;

namespace {

/// Reads the files in one folder.
class TextReader {
public:
  TextReader(const SmallFiles &files, TextConfig &config,
             PipelineConfig *pipeline)
      : files(files), folder(files.getSource()), config(config),
        pipeline(pipeline),
        table(pipeline ? pipeline->getStaticEmbedding() : nullptr) {}

  Result<void> tokenizer(bool expected, const ModelVocabulary &model);
  Result<void> maxLength(int64_t modelMax);
  /// Finds the token used for query expansion.
  void expansionToken();
  void addPipeline();
  /// The same for entity recognition: checks the tokens around types.
  Result<void> addEntities(const ManifestEntities &entities);

private:
  /// Returns whether the pipeline converts texts to lower case, independent of
  /// the tokenizer.
  Result<bool> lowersCase();
  /// Returns the tokenizer as the model reads it; nullopt without a tokenizer
  /// file.
  Result<std::optional<FolderTokenizer>>
  readTokenizer(const ModelVocabulary &model);
  /// Returns a JSON file in the folder; nullopt if it does not exist.
  Result<std::optional<JsonDocument>> json(const std::string &name);
  /// Returns the token limit specified in files; nullopt: no limit.
  Result<std::optional<int64_t>> givenLength();

  const SmallFiles &files;
  const std::string &folder;
  TextConfig &config;
  PipelineConfig *pipeline;    ///< null: none
  const PipelineModule *table; ///< replaces a Transformer, or null
  /// The tokenizer's limit.
  std::optional<int64_t> tokenizerLength;
  std::string fillToken;
};

} // namespace

Result<std::optional<JsonDocument>> TextReader::json(const std::string &name) {
  if (!files.has(name))
    return std::optional<JsonDocument>();
  TRANSOM_ASSIGN(std::string text, files.read(name, jsonMaxBytes));
  TRANSOM_ASSIGN(JsonDocument document,
                 parseJson(text, files.getPath(name), JsonNumbers::Python));
  if (std::find(config.files.begin(), config.files.end(), name) ==
      config.files.end())
    config.files.push_back(name);
  return std::optional<JsonDocument>(document);
}

/// With an embedding table, tokenizer.json is read unchanged, without the
/// settings next to it.
Result<std::optional<FolderTokenizer>>
TextReader::readTokenizer(const ModelVocabulary &model) {
  if (table)
    return importTokenizerFile(folder, joinPath(table->path, "tokenizer.json"));
  TRANSOM_ASSIGN(const bool lower, lowersCase());
  std::optional<JsonValue> overrides;
  if (pipeline && pipeline->tokenizerArguments)
    overrides = pipeline->tokenizerArguments->value;
  return importTokenizerFolder(files, model, lower, overrides);
}

/// An unsupported tokenizer is not an error, but causes a note.
Result<void> TextReader::tokenizer(bool expected,
                                   const ModelVocabulary &model) {
  Result<std::optional<FolderTokenizer>> read = readTokenizer(model);
  if (!read && read.error().status != Status::Unsupported)
    return read.takeError();
  std::string &reason = config.manifest.tokenizerRefusal;
  if (!read)
    reason = read.error().message;
  else if (!*read && expected)
    reason = files.areInFolder() ? "no tokenizer.json" : "no tokenizer";
  if (!reason.empty())
    config.notes.push_back(reason + (read ? ": " : "; ") +
                           "texts cannot be given");
  if (!read || !*read)
    return {};
  ImportedTokenizer &imported = (*read)->tokenizer;
  if (Result<void> checked =
          checkTokenIds(imported, model.source, (*read)->paddingToken);
      !checked)
    return rejected(folder + ": " + checked.error().message);
  tokenizerLength = (*read)->maxLength;
  fillToken = (*read)->expansionToken;
  config.manifest.maskToken = (*read)->maskToken;
  config.manifest.givesTypes = (*read)->givesTypes;
  config.tokenizer = std::move(imported.tables);
  config.files.insert(config.files.end(), (*read)->files.begin(),
                      (*read)->files.end());
  config.notes.insert(config.notes.end(), imported.notes.begin(),
                      imported.notes.end());
  return {};
}

/// A Transformer's config is used only if modules.json names it; it takes
/// precedence over all settings except for its tokenizer arguments.
Result<std::optional<int64_t>> TextReader::givenLength() {
  const bool isSaved = pipeline && !table && files.has("modules.json");
  if (!isSaved ||
      (pipeline->tokenizerArguments &&
       pipeline->tokenizerArguments->value.find("model_max_length")))
    return tokenizerLength;
  TRANSOM_ASSIGN(std::optional<JsonDocument> document,
                 json(getTransformerFile(folder)));
  auto value = document ? document->root().find("max_seq_length")
                        : std::optional<JsonValue>();
  if (!value || value->isNull())
    return tokenizerLength;
  // No text is that long.
  if (value->isNumber() && *value->asDouble() > INT32_MAX)
    return std::optional<int64_t>();
  TRANSOM_ASSIGN(int64_t given, value->asInt(1, INT32_MAX));
  return std::optional(given);
}

Result<void> TextReader::maxLength(int64_t modelMax) {
  TRANSOM_ASSIGN(std::optional<int64_t> given, givenLength());
  int64_t length = given.value_or(modelMax);
  if (modelMax > 0 && length > modelMax)
    length = modelMax;
  config.manifest.maxLength = length;
  return {};
}

Result<bool> TextReader::lowersCase() {
  if (!pipeline || !files.has("modules.json"))
    return false;
  TRANSOM_ASSIGN(std::optional<JsonDocument> document,
                 json(getTransformerFile(folder)));
  auto flag = document ? document->root().find("do_lower_case")
                       : std::optional<JsonValue>();
  return flag && flag->isBool() && *flag->asBool();
}

void TextReader::expansionToken() {
  if (!pipeline->tokens || !pipeline->tokens->expansion ||
      !pipeline->tokens->expansionToken.empty())
    return;
  // The default is the tokenizer's fill token, or else BERT's mask token.
  pipeline->tokens->expansionToken = fillToken.empty() ? "[MASK]" : fillToken;
}

void TextReader::addPipeline() {
  config.files.insert(config.files.end(), pipeline->files.begin(),
                      pipeline->files.end());
  // Set pooling and normalization.
  ManifestText &text = config.manifest;
  text.normalize = pipeline->endsNormalized();
  for (const PipelineModule &module : pipeline->modules)
    for (const std::string &kind : module.pooling)
      text.pooling += (text.pooling.empty() ? "" : "+") +
                      (kind == "first_key" ? "cls" : kind);
  // Describe the entry, or the reason why it is absent.
  ManifestPipeline described;
  described.refusal = pipeline->refusal;
  if (!pipeline->refusal.empty())
    config.notes.push_back(pipeline->refusal + "; '" +
                           (pipeline->pairs ? "rerank" : "embed") +
                           "' refuses this model");
  else if (!pipeline->pairs)
    described.entry = pipeline->entry;
  if (pipeline->pairs) {
    text.pairs = pipeline->pairs;
    text.pairs->refusal = pipeline->refusal;
    described.refusal = "the model scores pairs of texts, which 'rerank' does; "
                        "it has no embeddings";
  }
  // Copy the remaining settings.
  described.prompts = pipeline->prompts;
  described.defaultPrompt = pipeline->defaultPrompt;
  described.similarity = pipeline->similarity;
  described.dim = pipeline->dim;
  described.maxActive = pipeline->maxActive;
  described.tokens = pipeline->tokens;
  described.isStatic = table != nullptr;
  text.pipeline = std::move(described);
}

Result<void> TextReader::addEntities(const ManifestEntities &entities) {
  if (config.tokenizer.empty())
    return unavailable(folder +
                       ": no tokenizer that can be read, without which no "
                       "types and texts can be given; add tokenizer.json" +
                       (config.notes.empty() ? "" : ": " + config.notes[0]));
  TRANSOM_ASSIGN(Tokenizer tokenizer, Tokenizer::open(config.tokenizer));
  const std::optional<int64_t> id = tokenizer.getId(entities.typeToken);
  if (!id || !tokenizer.token(*id) ||
      *tokenizer.token(*id) != entities.typeToken)
    return rejected("tokenizer.json has no token '" + entities.typeToken +
                    "', which gliner_config.json puts before each type "
                    "('ent_token')");
  if (entities.typeTokenId != -1 && entities.typeTokenId != *id)
    return rejected("gliner_config.json: 'class_token_index' is " +
                    std::to_string(entities.typeTokenId) +
                    ", but tokenizer.json gives '" + entities.typeToken +
                    "' the id " + std::to_string(*id));
  config.manifest.entities = entities;
  config.manifest.entities->typeTokenId = *id;
  return {};
}

Result<TextConfig> transom::readTextConfig(const SmallFiles &files,
                                           int64_t modelMax, bool textExpected,
                                           const ModelVocabulary &model,
                                           PipelineConfig *pipeline,
                                           const ManifestEntities *entities) {
  TextConfig config;
  TextReader reader(files, config, pipeline);
  TRANSOM_TRY(reader.tokenizer(textExpected, model));
  config.manifest.tokenizer = !config.tokenizer.empty();
  TRANSOM_TRY(reader.maxLength(modelMax));
  if (pipeline) {
    reader.expansionToken();
    reader.addPipeline();
  } else {
    config.manifest.pooling = "mean";
    config.manifest.normalize = true;
  }
  if (entities)
    TRANSOM_TRY(reader.addEntities(*entities));
  return config;
}
