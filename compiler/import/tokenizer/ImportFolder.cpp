// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the files first, and passes their bytes to the importers.
#include "compiler/import/tokenizer/ImportFolder.h"
#include "compiler/import/tokenizer/ImportMerges.h"
#include "compiler/import/tokenizer/ImportPieces.h"
#include "compiler/import/tokenizer/ImportWordPiece.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "compiler/import/tokenizer/classes/ImportM2M100.h"
#include "compiler/import/tokenizer/classes/ImportMarian.h"
#include "compiler/import/tokenizer/classes/TokenizerClass.h"
#include "runtime/base/File.h"
#include "runtime/json/JsonParser.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <algorithm>
#include <deque>

namespace transom {

using namespace tokenizer;

/// Files that only tokenizers have.
static constexpr const char *tokenizerFiles[] = {
    "source.spm",      "spm.model",  "spiece.model", "sentencepiece.bpe.model",
    "tokenizer.model", "merges.txt", "vocab.txt"};

namespace {
/// Reads a folder's files.
class FolderReader {
public:
  FolderReader(const SmallFiles &source, const ModelVocabulary &model,
               bool lowersCase, std::optional<JsonValue> overrides)
      : source(source), model(model), lowersCase(lowersCase),
        overrides(overrides) {}

  Result<std::optional<FolderTokenizer>> run() {
    TRANSOM_ASSIGN(std::optional<FolderTokenizer> found, readTokenizer());
    if (found) {
      TRANSOM_TRY(readUse(*found));
      found->files = files;
    }
    return found;
  }

private:
  Result<std::optional<FolderTokenizer>> readTokenizer() {
    TRANSOM_TRY(readHints());
    if (has("tokenizer.json"))
      return readSerialized();
    const std::string name = className = getFilesClass(hints);
    if (name == "MarianTokenizer" || (name.empty() && has("source.spm")))
      return readMarian();
    if (name == "M2M100Tokenizer")
      return readM2M100();
    if (isMergesClass(name))
      return readMerges(name);
    if (isWordPieceClass(name))
      return readWordPiece(name);
    if (const char *file = getPieceFileName(name))
      return readPieces(name, file);
    for (const char *file : tokenizerFiles)
      if (!name.empty() && has(file))
        return unsupported("unsupported tokenizer class '" + name +
                           "' without tokenizer.json; supported: "
                           "M2M100Tokenizer, MarianTokenizer, " +
                           getPieceClassNames() + ", " + getMergesClassNames() +
                           ", " + getWordPieceClassNames());
    return std::optional<FolderTokenizer>();
  }

  /// Reads tokenizer.json according to its class: unchanged, or only the model,
  /// to which the class adds the rest.
  Result<std::optional<FolderTokenizer>> readSerialized() {
    TRANSOM_ASSIGN(NamedFile file, read("tokenizer.json"));
    TRANSOM_ASSIGN(JsonDocument document, parseJson(file.bytes, file.name));
    JsonValue root = document.root();
    TRANSOM_TRY(root.expectObject());
    TRANSOM_ASSIGN(JsonValue model, root.get("model"));
    TRANSOM_ASSIGN(std::string_view type, readModelType(model));
    TRANSOM_ASSIGN(SettingFiles given, readSettings());
    const bool bytes =
        file.bytes.find("\"ByteLevel\"") != std::string_view::npos;
    className = getSerializedClass(hints, bytes);
    if (isWordPieceClass(className) && type == "WordPiece")
      return give(importWordPieceTokenizer(className, {file, given, root}));
    if (isMergesClass(className, /*serialized=*/true) && type == "BPE")
      return give(importMergesTokenizer(className, {file, {}, given, root}));
    if (const char *own = getPieceModelType(className); own && type == own)
      return give(importPieceTokenizer(className, {file, given, root}));
    return give(importTokenizer(root, file.name, given));
  }

  /// Reads the settings for token usage.
  Result<void> readUse(FolderTokenizer &found) {
    TRANSOM_ASSIGN(SettingFiles given, readSettings());
    TRANSOM_ASSIGN(TokenizerSettings settings, readTokenizerSettings(given));
    TRANSOM_TRY(findTokens(settings, found));
    TRANSOM_ASSIGN(found.maxLength, settings.getMaxLength());
    found.givesTypes = hasTypes(className);
    TRANSOM_ASSIGN(std::optional<std::vector<std::string>> inputs,
                   settings.getTexts("model_input_names"));
    if (inputs)
      found.givesTypes = std::find(inputs->begin(), inputs->end(),
                                   "token_type_ids") != inputs->end();
    return {};
  }

  /// Finds the mask token, and the token that pads queries.
  static Result<void> findTokens(const TokenizerSettings &settings,
                                 FolderTokenizer &found) {
    TRANSOM_ASSIGN(Tokenizer built, Tokenizer::open(found.tokenizer.tables));
    auto take = [&](std::string_view text) {
      found.maskToken = built.getId(text);
      if (found.maskToken)
        found.expansionToken = text;
    };
    if (const NamedToken *named = settings.find("mask_token")) {
      if (named->token)
        take(named->token->content);
    } else {
      for (const char *usual : {"[MASK]", "<mask>"})
        if (auto id = built.getId(usual);
            !found.maskToken && id && built.isSpecial(*id))
          take(usual);
    }
    const NamedToken *padding = settings.find("pad_token");
    for (const char *usual : {"[PAD]", "<pad>"})
      if (!padding && !found.paddingToken)
        found.paddingToken = built.getId(usual);
    if (padding && padding->token)
      found.paddingToken = built.getId(padding->token->content);
    const NamedToken *end = settings.find("eos_token");
    if (!found.maskToken && end && end->token)
      found.expansionToken = end->token->content;
    return {};
  }

  bool has(const std::string &name) const { return source.has(name); }

  Result<NamedFile> read(const std::string &name) {
    TRANSOM_ASSIGN(std::string text, source.read(name, jsonMaxBytes));
    if (std::find(files.begin(), files.end(), name) == files.end())
      files.push_back(name);
    texts.push_back(std::move(text));
    return NamedFile{texts.back(), source.getPath(name)};
  }

  Result<void> readOptional(const std::string &name,
                            std::optional<NamedFile> &file) {
    if (has(name)) {
      TRANSOM_ASSIGN(file, read(name));
    }
    return {};
  }

  /// Returns a key's string in a JSON file; empty if file or key is absent.
  Result<std::string> readKey(const std::string &name, const char *key) const {
    if (!has(name))
      return std::string();
    TRANSOM_ASSIGN(std::string text, source.read(name, jsonMaxBytes));
    TRANSOM_ASSIGN(JsonDocument document,
                   parseJson(text, source.getPath(name), JsonNumbers::Python));
    auto value = document.root().find(key);
    return value && value->isString() ? std::string(*value->asString())
                                      : std::string();
  }

  Result<void> readHints() {
    TRANSOM_ASSIGN(hints.settings,
                   readKey("tokenizer_config.json", "tokenizer_class"));
    TRANSOM_ASSIGN(hints.config, readKey("config.json", "tokenizer_class"));
    TRANSOM_ASSIGN(hints.modelType, readKey("config.json", "model_type"));
    return {};
  }

  Result<std::optional<FolderTokenizer>>
  give(Result<ImportedTokenizer> imported) {
    FolderTokenizer result;
    TRANSOM_ASSIGN(result.tokenizer, std::move(imported));
    return std::optional<FolderTokenizer>(std::move(result));
  }

  Result<SettingFiles> readSettings() {
    SettingFiles settings;
    settings.lowersCase = lowersCase;
    settings.overrides = overrides;
    TRANSOM_TRY(readOptional("tokenizer_config.json", settings.config));
    TRANSOM_TRY(
        readOptional("special_tokens_map.json", settings.specialTokens));
    TRANSOM_TRY(readOptional("added_tokens.json", settings.addedTokens));
    return settings;
  }

  Result<std::optional<FolderTokenizer>>
  readPieces(const std::string &className, const char *fileName) {
    if (!has(fileName))
      return std::optional<FolderTokenizer>();
    PieceFiles from;
    TRANSOM_ASSIGN(from.pieces, read(fileName));
    TRANSOM_ASSIGN(from.settings, readSettings());
    return give(importPieceTokenizer(className, from));
  }

  Result<std::optional<FolderTokenizer>>
  readMerges(const std::string &className) {
    if (!has("vocab.json") || !has("merges.txt"))
      return std::optional<FolderTokenizer>();
    MergeFiles from;
    TRANSOM_ASSIGN(from.vocabulary, read("vocab.json"));
    TRANSOM_ASSIGN(from.merges, read("merges.txt"));
    TRANSOM_ASSIGN(from.settings, readSettings());
    return give(importMergesTokenizer(className, from));
  }

  Result<std::optional<FolderTokenizer>>
  readWordPiece(const std::string &className) {
    if (!has("vocab.txt"))
      return std::optional<FolderTokenizer>();
    WordPieceFiles from;
    TRANSOM_ASSIGN(from.vocabulary, read("vocab.txt"));
    TRANSOM_ASSIGN(from.settings, readSettings());
    return give(importWordPieceTokenizer(className, from));
  }

  Result<std::optional<FolderTokenizer>> readM2M100() {
    if (!has("sentencepiece.bpe.model") || !has("vocab.json"))
      return std::optional<FolderTokenizer>();
    M2M100Files from;
    TRANSOM_ASSIGN(from.pieces, read("sentencepiece.bpe.model"));
    TRANSOM_ASSIGN(from.vocabulary, read("vocab.json"));
    TRANSOM_ASSIGN(from.settings, readSettings());
    from.model = model;
    return give(importM2M100Tokenizer(from));
  }

  /// target_vocab.json is only used if `separate_vocabs` is set.
  Result<std::optional<FolderTokenizer>> readMarian() {
    if (!has("source.spm") || !has("vocab.json"))
      return std::optional<FolderTokenizer>();
    SettingFiles settings;
    TRANSOM_TRY(readOptional("tokenizer_config.json", settings.config));
    TRANSOM_ASSIGN(TokenizerSettings read, readTokenizerSettings(settings));
    TRANSOM_ASSIGN(bool separate, read.getFlag("separate_vocabs", false));
    MarianFiles from;
    from.settings = settings;
    TRANSOM_ASSIGN(from.pieces, this->read("source.spm"));
    TRANSOM_ASSIGN(from.vocabulary, this->read("vocab.json"));
    TRANSOM_ASSIGN(from.targetPieces, this->read("target.spm"));
    from.model = model;
    if (separate) {
      TRANSOM_ASSIGN(from.targetVocabulary, this->read("target_vocab.json"));
    }
    return give(importMarianTokenizer(from));
  }

  const SmallFiles &source;
  const ModelVocabulary &model;
  const bool lowersCase;
  const std::optional<JsonValue> overrides;
  ClassHints hints;
  std::string className; ///< selected class
  std::vector<std::string> files;
  std::deque<std::string> texts; ///< owns strings that views refer to
};
} // namespace

Result<std::optional<FolderTokenizer>>
importTokenizerFolder(const SmallFiles &source, const ModelVocabulary &model,
                      bool lowersCase, std::optional<JsonValue> overrides) {
  return FolderReader(source, model, lowersCase, overrides).run();
}

Result<std::optional<FolderTokenizer>>
importTokenizerFile(const std::string &folder, const std::string &name) {
  const std::string path = joinPath(folder, name);
  if (!fileExists(path))
    return std::optional<FolderTokenizer>();
  TRANSOM_ASSIGN(std::string text, readSmallFile(path, jsonMaxBytes));
  FolderTokenizer result;
  TRANSOM_ASSIGN(result.tokenizer, importTokenizer(text, path));
  TRANSOM_ASSIGN(Tokenizer built, Tokenizer::open(result.tokenizer.tables));
  if (std::optional<size_t> length = built.truncation())
    result.maxLength = int64_t(*length);
  result.files = {name};
  return std::optional<FolderTokenizer>(std::move(result));
}

} // namespace transom
