// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each class creates a vocabulary from the pieces, sets normalizer,
// pre-tokenizer and decoder, adds tokens and sets the template, in this order.
// The class, not the file, determines whether the pieces are a Unigram or a BPE
// model.
#include "compiler/import/tokenizer/ImportPieces.h"
#include "compiler/import/tokenizer/PieceImporter.h"
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "compiler/import/tokenizer/classes/Languages.h"
#include <algorithm>
#include <cmath>

namespace transom {

using namespace tokenizer;

//===-- Parts of tokenizer.json -------------------------------------------===//

static constexpr const char *spaces =
    R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})";
static constexpr const char *wordsWithSpaces = R"({"type": "Sequence",
  "pretokenizers": [{"type": "WhitespaceSplit"},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}]})";
static constexpr const char *spacesWithoutPrefix =
    R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})";
static constexpr const char *wordsWithoutPrefix = R"({"type": "Sequence",
  "pretokenizers": [{"type": "WhitespaceSplit"},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}]})";
static constexpr const char *joinSpaces = R"({"type": "Replace",
  "pattern": {"Regex": " {2,}"}, "content": " "})";
static constexpr const char *quotes = R"({"type": "Sequence",
  "normalizers": [
    {"type": "Replace", "pattern": {"String": "``"}, "content": "\""},
    {"type": "Replace", "pattern": {"String": "''"}, "content": "\""}]})";
static constexpr const char *withoutAccents = R"({"type": "Sequence",
  "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}]})";
static constexpr const char *lowerCase = R"({"type": "Lowercase"})";
static constexpr const char *spacesJoinedAndComposed = R"({"type": "Sequence",
  "normalizers": [
    {"type": "Replace", "pattern": {"Regex": "\\s{2,}|[\\n\\r\\t]"},
     "content": " "},
    {"type": "NFC"},
    {"type": "Strip", "strip_left": false, "strip_right": true}]})";
static constexpr const char *joinLines = R"({"type": "Replace",
  "pattern": {"String": "\n"}, "content": " "})";
static constexpr const char *bytes = R"({"type": "Sequence",
  "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"}]})";
static constexpr const char *bytesAfterPrefix = R"({"type": "Sequence",
  "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";

//===-- The classes -------------------------------------------------------===//

static Result<void> makeT5(PieceImporter &importer) {
  TRANSOM_ASSIGN(int64_t count,
                 importer.settings.getNumber("extra_ids", 100, 1 << 20));
  auto getName = [](int64_t i) {
    return "<extra_id_" + std::to_string(i) + ">";
  };
  importer.addPieces(0);
  for (int64_t i = count - 1; i >= 0; --i)
    importer.addToken(getName(i), 0);
  TRANSOM_TRY(importer.finishUnigram(2));
  TRANSOM_TRY(importer.addMap());
  TRANSOM_TRY(importer.setSteps(wordsWithSpaces, spaces));
  importer.addPieceTokens();
  const auto &further = importer.settings.additional;
  const bool isGiven = std::any_of(
      further.begin(), further.end(), [](const TokenSetting &token) {
        return token.content.find("<extra_id_") != std::string::npos;
      });
  for (int64_t i = 0; i < count && !(importer.serialized && isGiven); ++i)
    importer.addSpecial(getName(i));
  TRANSOM_TRY(importer.addTokens(
      {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}}));
  const uint32_t end = importer.getRoleId("eos_token", "</s>");
  importer.addTemplate({}, {end}, {end});
  return {};
}

static Result<void> makeXlmRoberta(PieceImporter &importer) {
  importer.addFairseqTokens("bos_token");
  importer.addToken(importer.getRole("mask_token", "<mask>"), 0);
  TRANSOM_TRY(importer.finishUnigram(3));
  TRANSOM_TRY(importer.addMap());
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", true));
  TRANSOM_TRY(importer.setSteps(prefix ? wordsWithSpaces : wordsWithoutPrefix,
                                prefix ? spaces : spacesWithoutPrefix));
  importer.addPieceTokens();
  TRANSOM_TRY(importer.addTokens(getRobertaRoles({"mask_token", "<mask>"})));
  const uint32_t begin = importer.getRoleId("bos_token", "<s>");
  const uint32_t end = importer.getRoleId("eos_token", "</s>");
  importer.addTemplate({begin}, {end, end}, {end});
  return {};
}

/// The tokens around a text must be pieces.
static Result<void> makeAlbert(PieceImporter &importer) {
  importer.addPieces(0);
  TRANSOM_TRY(importer.finishUnigram(1));
  // Read the settings.
  TRANSOM_ASSIGN(bool accents,
                 importer.settings.getFlag("keep_accents", false));
  TRANSOM_ASSIGN(bool lower, importer.settings.getFlag("do_lower_case", true));
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", true));
  // Set normalizer, pre-tokenizer and decoder.
  TRANSOM_TRY(importer.addNormalizer(quotes));
  if (!accents)
    TRANSOM_TRY(importer.addNormalizer(withoutAccents));
  if (lower)
    TRANSOM_TRY(importer.addNormalizer(lowerCase));
  TRANSOM_TRY(importer.addMap());
  TRANSOM_TRY(importer.setSteps(prefix ? wordsWithSpaces : wordsWithoutPrefix,
                                prefix ? spaces : spacesWithoutPrefix));
  // Add tokens and template.
  const std::string begin = importer.getRole("cls_token", "[CLS]");
  const std::string end = importer.getRole("sep_token", "[SEP]");
  for (const std::string &token : {begin, end})
    if (!findToken(importer.draft, token))
      return rejected("token " + quoted(token) + " is no piece");
  importer.addPieceTokens();
  TRANSOM_TRY(importer.addTokens(getBertRoles("<unk>", "<pad>")));
  if (importer.hasTemplate())
    return importer.takeTemplate();
  importer.addTypedTemplate(importer.getId(begin), importer.getId(end));
  return {};
}

/// The unknown token and unused tokens replace the first piece.
static Result<void> makeCamembert(PieceImporter &importer) {
  importer.addToken("<s>NOTUSED", 0);
  importer.addToken(importer.getRole("pad_token", "<pad>"), 0);
  importer.addToken("</s>NOTUSED", 0);
  const std::string unknown = importer.getRole("unk_token", "<unk>");
  importer.addToken(unknown, 0);
  importer.addToken("<unk>NOTUSED", -100);
  importer.addPieces(1);
  importer.addToken(importer.getRole("mask_token", "<mask>"), 0);
  TRANSOM_TRY(importer.finishUnigram(importer.findEntry(unknown, 0)));
  TRANSOM_TRY(importer.addMap());
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", true));
  TRANSOM_TRY(importer.setSteps(prefix ? wordsWithSpaces : wordsWithoutPrefix,
                                prefix ? spaces : spacesWithoutPrefix));
  importer.addPieceTokens();
  if (importer.serialized && importer.settings.additional.empty())
    for (const char *unused : {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"})
      importer.addSpecial(unused);
  TRANSOM_TRY(
      importer.addTokens(getRobertaRoles({"mask_token", "<mask>", true})));
  const uint32_t begin = importer.getRoleId("bos_token", "<s>");
  const uint32_t end = importer.getRoleId("eos_token", "</s>");
  importer.addTemplate({begin}, {end, end}, {end});
  return {};
}

/// No character map: the class omits it.
static Result<void> makeDebertaV2(PieceImporter &importer) {
  importer.addPieces(0);
  // The unknown token is a piece with score 0, or the model's unknown piece.
  const std::string unknown = importer.getRole("unk_token", "[UNK]");
  const size_t at = importer.findEntry(unknown, SIZE_MAX);
  const bool known = at != SIZE_MAX && importer.draft.scores[at] == 0;
  const TokenizerSettings &settings = importer.settings;
  size_t other = importer.unknownPiece;
  if (importer.serialized) {
    TRANSOM_ASSIGN(other, settings.getNumber("unk_id", 1, INT32_MAX));
  }
  TRANSOM_TRY(importer.finishUnigram(known ? at : other));
  // Read the settings and set the normalizer.
  TRANSOM_ASSIGN(bool lower, settings.getFlag("do_lower_case", false));
  TRANSOM_ASSIGN(bool punctuation, settings.getFlag("split_by_punct", false));
  TRANSOM_ASSIGN(bool prefix, settings.getFlag("add_prefix_space", true));
  if (lower)
    TRANSOM_TRY(importer.addNormalizer(lowerCase));
  TRANSOM_TRY(importer.addNormalizer(spacesJoinedAndComposed));
  // Set pre-tokenizer and decoder.
  const std::string metaspace =
      std::string(R"({"type": "Metaspace", "replacement": "▁", )") +
      R"("prepend_scheme": ")" + (prefix ? "always" : "first") + "\"}";
  const std::string steps =
      std::string(R"({"type": "Sequence", "pretokenizers": [)") +
      (punctuation ? R"({"type": "Punctuation", "behavior": "Isolated"}, )"
                   : "") +
      metaspace + "]}";
  TRANSOM_TRY(importer.setSteps(steps.c_str(), metaspace.c_str()));
  // Add tokens and template.
  importer.addPieceTokens();
  TRANSOM_TRY(importer.addTokens(getBertRoles("[UNK]")));
  importer.addTypedTemplate(importer.getRoleId("cls_token", "[CLS]"),
                            importer.getRoleId("sep_token", "[SEP]"));
  return {};
}

/// No character map: the class omits it.
static Result<void> makeMbart(PieceImporter &importer) {
  importer.addFairseqTokens("bos_token");
  for (const char *code : mbartLanguages)
    importer.addToken(code, 0);
  importer.addToken(importer.getRole("mask_token", "<mask>"), 0);
  TRANSOM_TRY(importer.finishUnigram(3));
  TRANSOM_TRY(importer.setSteps(wordsWithSpaces, spaces));
  for (const char *code : mbartLanguages)
    importer.addSpecial(code);
  importer.addPieceTokens();
  TRANSOM_TRY(
      importer.addTokens(getRobertaRoles({"mask_token", "<mask>", true})));
  for (const char *code : mbartLanguages)
    importer.addLanguage(code);
  return importer.addLanguageTemplate("en_XX", false);
}

static Result<void> makeMbart50(PieceImporter &importer) {
  importer.addFairseqTokens("cls_token");
  auto addLanguages = [](auto &&add) {
    for (const char *code : mbartLanguages)
      add(code);
    for (const char *code : mbart50Languages)
      add(code);
  };
  addLanguages([&](const char *code) { importer.addToken(code, 0); });
  importer.addToken(importer.getRole("mask_token", "<mask>"), 0);
  TRANSOM_TRY(importer.finishUnigram(3));
  TRANSOM_TRY(importer.addMap());
  TRANSOM_TRY(importer.addNormalizer(joinSpaces));
  TRANSOM_TRY(importer.setSteps(spaces, spaces));
  importer.addPieceTokens();
  addLanguages([&](const char *code) { importer.addSpecial(code); });
  TRANSOM_TRY(importer.addTokens({{"eos_token", "</s>"},
                                  {"unk_token", "<unk>"},
                                  {"sep_token", "</s>"},
                                  {"pad_token", "<pad>"},
                                  {"cls_token", "<s>"},
                                  {"mask_token", "<mask>", true}}));
  addLanguages([&](const char *code) { importer.addLanguage(code); });
  return importer.addLanguageTemplate("en_XX", true);
}

/// A BPE model. Its pieces follow fairseq's special tokens.
static Result<void> makeNllb(PieceImporter &importer) {
  TRANSOM_TRY(importer.makeBpe({importer.getRole("bos_token", "<s>"),
                                importer.getRole("pad_token", "<pad>"),
                                importer.getRole("eos_token", "</s>"),
                                importer.getRole("unk_token", "<unk>")}));
  // The unknown token is the fourth one, or found in the vocabulary.
  importer.draft.parameters.flags |= FuseUnknown;
  importer.draft.parameters.unknownId = 3;
  if (importer.serialized) {
    const std::string unknown = importer.getRole("unk_token", "<unk>");
    const uint32_t *id = findToken(importer.draft, unknown);
    if (!id)
      return rejected("unknown token " + quoted(unknown) +
                      " is not in the vocabulary");
    importer.draft.parameters.unknownId = *id;
  }
  // Set normalizer, pre-tokenizer and decoder.
  if (!importer.characterMap.empty()) {
    TRANSOM_TRY(importer.addMap());
    TRANSOM_TRY(importer.addNormalizer(joinSpaces));
  }
  TRANSOM_TRY(importer.setSteps(spaces, spaces));
  // Add tokens and the language template.
  importer.addPieceTokens();
  TRANSOM_TRY(importer.addTokens(
      getRobertaRoles({"mask_token", "<mask>", true, true})));
  TRANSOM_ASSIGN(bool legacy,
                 importer.settings.getFlag("legacy_behaviour", false));
  return importer.addLanguageTemplate("eng_Latn", !legacy);
}

static Result<void> makePegasus(PieceImporter &importer) {
  TRANSOM_ASSIGN(int64_t offset,
                 importer.settings.getNumber("offset", 103, 1 << 20));
  // The two masks and unused tokens replace the first two pieces.
  TRANSOM_ASSIGN(std::optional<std::string> sentenceMask,
                 importer.settings.getText("mask_token_sent"));
  const std::string mask = importer.getRole("mask_token", "<mask_1>");
  const std::string second = sentenceMask.value_or("<mask_2>");
  auto getName = [](int64_t i) { return "<unk_" + std::to_string(i) + ">"; };
  importer.addToken(importer.getRole("pad_token", "<pad>"), 0);
  importer.addToken(importer.getRole("eos_token", "</s>"), 0);
  importer.addToken(mask, 0);
  if (second != mask)
    importer.addToken(second, 0);
  for (int64_t i = 2; i < offset; ++i)
    importer.addToken(getName(i), -100);
  importer.addPieces(2);
  const std::string unknown = importer.getRole("unk_token", "<unk>");
  size_t unknownId = 1;
  const auto &entries = importer.draft.entries;
  while (unknownId < entries.size() && (entries[unknownId].text != unknown ||
                                        importer.draft.scores[unknownId] != 0))
    ++unknownId;
  TRANSOM_TRY(importer.finishUnigram(unknownId));
  TRANSOM_TRY(importer.addMap());
  if (importer.characterMap.empty())
    TRANSOM_TRY(importer.addNormalizer(joinLines));
  TRANSOM_TRY(importer.addNormalizer(joinSpaces));
  TRANSOM_TRY(importer.setSteps(spaces, spaces));
  importer.addSpecial(sentenceMask.value_or("<mask_1>"));
  for (int64_t i = 2; i < offset; ++i)
    importer.addSpecial(getName(i));
  TRANSOM_TRY(importer.addTokens({{"eos_token", "</s>"},
                                  {"unk_token", "<unk>"},
                                  {"pad_token", "<pad>"},
                                  {"mask_token", "<mask_2>"}}));
  importer.addTemplate({}, {}, {importer.getRoleId("eos_token", "</s>")});
  return {};
}

/// A BPE model with byte fallback. With `legacy` a space is prepended to each
/// text between added tokens, otherwise only to the first.
static Result<void> makeLlama(PieceImporter &importer) {
  TRANSOM_TRY(importer.makeBpe({}));
  importer.draft.parameters.flags |= FuseUnknown | ByteFallback;
  importer.draft.parameters.unknownId = Trie::none;
  addByteTokens(importer.draft);
  TRANSOM_ASSIGN(bool prefix,
                 importer.settings.getFlag("add_prefix_space", true));
  TRANSOM_ASSIGN(bool legacy, importer.settings.getFlag("legacy", false));
  const std::string scheme = !prefix ? "never" : legacy ? "always" : "first";
  TRANSOM_TRY(importer.setSteps(
      (R"({"type": "Metaspace", "replacement": "▁", "split": false,
           "prepend_scheme": ")" +
       scheme + "\"}")
          .c_str(),
      prefix ? bytesAfterPrefix : bytes));
  importer.addPieceTokens();
  TRANSOM_TRY(importer.addTokens(
      {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}}));
  if (importer.serialized)
    return importer.takeTemplate();
  TRANSOM_ASSIGN(bool begins,
                 importer.settings.getFlag("add_bos_token", false));
  TRANSOM_ASSIGN(bool ends, importer.settings.getFlag("add_eos_token", false));
  importer.addBoundaryTemplate(begins, ends);
  return {};
}

//===-- The model file ----------------------------------------------------===//

namespace {
/// A transformers tokenizer class.
struct PieceClass {
  std::string_view name;
  const char *fileName;
  Result<void> (*make)(PieceImporter &);
  const char *modelType = "Unigram";
};
} // namespace

static constexpr const char *fairseqFile = "sentencepiece.bpe.model";
static constexpr PieceClass classes[] = {
    {"AlbertTokenizer", "spiece.model", makeAlbert},
    {"CamembertTokenizer", fairseqFile, makeCamembert},
    {"DebertaV2Tokenizer", "spm.model", makeDebertaV2},
    {"LlamaTokenizer", "tokenizer.model", makeLlama, "BPE"},
    {"MBart50Tokenizer", fairseqFile, makeMbart50},
    {"MBartTokenizer", fairseqFile, makeMbart},
    {"NllbTokenizer", fairseqFile, makeNllb, "BPE"},
    {"PegasusTokenizer", "spiece.model", makePegasus},
    {"T5Tokenizer", "spiece.model", makeT5},
    {"XLMRobertaTokenizer", fairseqFile, makeXlmRoberta}};

static const PieceClass *findClass(std::string_view name) {
  for (const PieceClass &each : classes)
    if (each.name == name)
      return &each;
  return nullptr;
}

const char *getPieceFileName(std::string_view className) {
  const PieceClass *found = findClass(className);
  return found ? found->fileName : nullptr;
}

const char *getPieceModelType(std::string_view className) {
  const PieceClass *found = findClass(className);
  return found ? found->modelType : nullptr;
}

std::string getPieceClassNames() {
  std::string names;
  for (const PieceClass &each : classes)
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

/// Checks that pieces are unique and scores are numbers.
static Result<void> checkPieces(const SentencePieceModel &model) {
  std::vector<std::string_view> texts;
  for (const Piece &piece : model.pieces) {
    if (!std::isfinite(piece.score))
      return rejected("piece " + quoted(piece.text) + " has no finite score");
    texts.push_back(piece.text);
  }
  std::sort(texts.begin(), texts.end());
  auto twice = std::adjacent_find(texts.begin(), texts.end());
  if (twice != texts.end())
    return rejected("piece " + quoted(*twice) + " comes twice");
  return {};
}

Result<ImportedTokenizer> importPieceTokenizer(std::string_view className,
                                               const PieceFiles &files) {
  Draft draft;
  draft.parameters.truncationSide = TruncationSide::Right;
  auto read = [&]() -> Result<SentencePieceModel> {
    TRANSOM_ASSIGN(SentencePieceModel model,
                   readSentencePiece(files.pieces.bytes));
    TRANSOM_TRY(checkPieces(model));
    return model;
  };
  auto make = [&](PieceImporter &importer) {
    if (files.serialized)
      importer.addFurther(importer.settings.additional);
    return findClass(className)->make(importer);
  };
  return importByClass({files.settings, files.serialized, files.pieces.name},
                       draft, read, make);
}

} // namespace transom
