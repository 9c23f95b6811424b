// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each class splits words and converts them to bytes, adds tokens and sets the
// template, in this order.
#include "compiler/import/tokenizer/ImportMerges.h"
#include "compiler/import/tokenizer/PieceImporter.h"
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "runtime/tokenizer/Tables.h"
#include <algorithm>

namespace transom {

using namespace tokenizer;

//===-- Parts of tokenizer.json -------------------------------------------===//

/// Returns a pre-tokenizer that splits words as GPT-2 does, as bytes.
static std::string getByteLevel(bool prefix, bool cuts = true) {
  auto text = [](bool flag) { return flag ? "true" : "false"; };
  return std::string(R"({"type": "ByteLevel", "trim_offsets": true, )") +
         R"("add_prefix_space": )" + text(prefix) + R"(, "use_regex": )" +
         text(cuts) + "}";
}

static constexpr const char *bytes = R"({"type": "ByteLevel",
  "add_prefix_space": true, "trim_offsets": true, "use_regex": true})";
static constexpr const char *composed = R"({"type": "NFC"})";
static constexpr const char *qwen2Words =
    R"({"type": "Split", "behavior": "Isolated", "invert": false,
  "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}})";

//===-- The classes -------------------------------------------------------===//

/// Adds tokens around texts if the settings request them. A tokenizer.json has
/// its own template.
static Result<void> addBoundaries(PieceImporter &importer) {
  if (importer.serialized)
    return importer.takeTemplate();
  TRANSOM_ASSIGN(bool begins,
                 importer.settings.getFlag("add_bos_token", false));
  TRANSOM_ASSIGN(bool ends, importer.settings.getFlag("add_eos_token", false));
  importer.addBoundaryTemplate(begins, ends);
  return {};
}

static Result<void> makeGpt2(PieceImporter &importer) {
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", false));
  TRANSOM_TRY(importer.setSteps(getByteLevel(prefix).c_str(), bytes));
  TRANSOM_TRY(importer.addTokens({{"unk_token", "<|endoftext|>"},
                                  {"bos_token", "<|endoftext|>"},
                                  {"eos_token", "<|endoftext|>"}}));
  return addBoundaries(importer);
}

/// Also used for BART's class.
static Result<void> makeRoberta(PieceImporter &importer) {
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", false));
  TRANSOM_ASSIGN(bool trims, importer.settings.getFlag("trim_offsets", true));
  TRANSOM_TRY(importer.setSteps(getByteLevel(prefix).c_str(), bytes));
  TRANSOM_TRY(importer.addTokens(getRobertaRoles({"mask_token", "<mask>"})));
  const uint32_t begin = importer.getRoleId("cls_token", "<s>");
  const uint32_t end = importer.getRoleId("sep_token", "</s>");
  importer.addTemplate({begin}, {end, end}, {end});
  if (trims)
    importer.draft.parameters.flags |= TrimOffsets | (prefix ? PrefixSpace : 0);
  return {};
}

static Result<void> makeBlenderbot(PieceImporter &importer) {
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", true));
  TRANSOM_TRY(importer.setSteps(getByteLevel(prefix).c_str(), bytes));
  TRANSOM_TRY(
      importer.addTokens(getRobertaRoles({"mask_token", "<mask>", true})));
  return addBoundaries(importer);
}

/// The mask is an ordinary token: the class strips no space before it.
static Result<void> makeDeberta(PieceImporter &importer) {
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", false));
  TRANSOM_TRY(importer.setSteps(getByteLevel(prefix).c_str(), bytes));
  TRANSOM_TRY(importer.addTokens(getBertRoles("[UNK]")));
  const uint32_t begin = importer.getRoleId("cls_token", "[CLS]");
  const uint32_t end = importer.getRoleId("sep_token", "[SEP]");
  importer.addTemplate({begin}, {end, end}, {end});
  return {};
}

static Result<void> makeQwen2(PieceImporter &importer) {
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", false));
  TRANSOM_TRY(importer.addNormalizer(composed));
  const std::string steps =
      std::string(R"({"type": "Sequence", "pretokenizers": [)") + qwen2Words +
      ", " + getByteLevel(prefix, false) + "]}";
  TRANSOM_TRY(importer.setSteps(steps.c_str(), bytes));
  TRANSOM_TRY(importer.addTokens({{"unk_token", "<|endoftext|>"},
                                  {"eos_token", "<|endoftext|>"},
                                  {"pad_token", "<|endoftext|>"}}));
  return addBoundaries(importer);
}

static Result<void> makeCohere(PieceImporter &importer) {
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", false));
  TRANSOM_TRY(importer.addNormalizer(composed));
  const std::string steps =
      std::string(R"({"type": "Sequence", "pretokenizers": [)") +
      R"({"type": "Digits", "individual_digits": true}, )" +
      getByteLevel(prefix) + "]}";
  TRANSOM_TRY(importer.setSteps(steps.c_str(), bytes));
  TRANSOM_TRY(importer.addTokens({{"bos_token", "<BOS_TOKEN>"},
                                  {"eos_token", "<|END_OF_TURN_TOKEN|>"},
                                  {"unk_token", "<UNK>"},
                                  {"sep_token", "<SEP>"},
                                  {"pad_token", "<PAD>"},
                                  {"cls_token", "<CLS>"},
                                  {"mask_token", "<MASK_TOKEN>"}}));
  return addBoundaries(importer);
}

/// Text is not split: spaces have been replaced before.
static Result<void> makeGemma(PieceImporter &importer) {
  importer.draft.parameters.flags |= FuseUnknown | ByteFallback;
  const std::string unknown = importer.getRole("unk_token", "<unk>");
  const uint32_t *id = findToken(importer.draft, unknown);
  if (!id)
    return rejected("unknown token " + quoted(unknown) +
                    " is not in the vocabulary");
  importer.draft.parameters.unknownId = *id;
  addByteTokens(importer.draft);
  TRANSOM_TRY(importer.addNormalizer(
      R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})"));
  TRANSOM_TRY(importer.setSteps(
      R"({"type": "Split", "pattern": {"String": " "},
          "behavior": "MergedWithPrevious", "invert": false})",
      R"({"type": "Sequence", "decoders": [
          {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
          {"type": "ByteFallback"}, {"type": "Fuse"}]})"));
  TRANSOM_TRY(importer.addTokens({{"bos_token", "<bos>"},
                                  {"eos_token", "<eos>"},
                                  {"unk_token", "<unk>"},
                                  {"pad_token", "<pad>"},
                                  {"mask_token", "<mask>"}}));
  return addBoundaries(importer);
}

/// The class ignores the template in tokenizer.json.
static Result<void> makeGptNeoX(PieceImporter &importer) {
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", false));
  TRANSOM_TRY(importer.addNormalizer(composed));
  TRANSOM_TRY(importer.setSteps(getByteLevel(prefix).c_str(), bytes));
  TRANSOM_TRY(importer.addTokens({{"bos_token", "<|endoftext|>"},
                                  {"eos_token", "<|endoftext|>"},
                                  {"unk_token", "<|endoftext|>"},
                                  {"pad_token", "<|padding|>"}}));
  importer.addBoundaryTemplate(false, false);
  return {};
}

namespace {
/// A transformers tokenizer class.
struct MergesClass {
  std::string_view name;
  Result<void> (*make)(PieceImporter &);
  bool needsSerialized = false; ///< it does not read vocab.json and merges.txt
};
} // namespace

static constexpr MergesClass classes[] = {
    {"BartTokenizer", makeRoberta},
    {"BlenderbotTokenizer", makeBlenderbot},
    {"CohereTokenizer", makeCohere, true},
    {"DebertaTokenizer", makeDeberta},
    {"GPT2Tokenizer", makeGpt2},
    {"GPTNeoXTokenizer", makeGptNeoX, true},
    {"GemmaTokenizer", makeGemma, true},
    {"Qwen2Tokenizer", makeQwen2},
    {"RobertaTokenizer", makeRoberta}};

static const MergesClass *findClass(std::string_view name) {
  for (const MergesClass &each : classes)
    if (each.name == name)
      return &each;
  return nullptr;
}

bool isMergesClass(std::string_view className, bool serialized) {
  const MergesClass *found = findClass(className);
  return found && (serialized || !found->needsSerialized);
}

std::string getMergesClassNames() {
  std::string names;
  for (const MergesClass &each : classes)
    if (!each.needsSerialized)
      names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

//===-- The files ---------------------------------------------------------===//

/// Reads the model in vocab.json and merges.txt. The document owns its tokens.
static Result<JsonDocument> readFiles(const MergeFiles &files, Draft &draft) {
  TRANSOM_ASSIGN(JsonDocument vocabulary,
                 parseJson(files.vocabulary.bytes, files.vocabulary.name));
  draft.parameters.model = ModelKind::Bpe;
  draft.parameters.unknownId = Trie::none;
  TRANSOM_TRY(readTokens(vocabulary.root(), draft));
  TRANSOM_TRY(readMergeLines(files.merges.bytes, files.merges.name, draft));
  return vocabulary;
}

Result<ImportedTokenizer> importMergesTokenizer(std::string_view className,
                                                const MergeFiles &files) {
  Draft draft;
  draft.parameters.truncationSide = TruncationSide::Right;
  std::optional<JsonDocument> vocabulary;
  // Errors contain the name of the file.
  if (!files.serialized) {
    TRANSOM_ASSIGN(vocabulary, readFiles(files, draft));
  }
  auto make = [&](PieceImporter &importer) {
    importer.addFurther(importer.settings.additional);
    return findClass(className)->make(importer);
  };
  return importByClass(
      {files.settings, files.serialized, files.vocabulary.name}, draft,
      [] { return SentencePieceModel(); }, make);
}

} // namespace transom
