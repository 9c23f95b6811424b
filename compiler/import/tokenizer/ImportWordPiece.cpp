// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All classes split and normalize text as BERT does; each adds its own tokens
// and its template, in this order.
#include "compiler/import/tokenizer/ImportWordPiece.h"
#include "compiler/import/tokenizer/PieceImporter.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Tables.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>

namespace transom {

using namespace tokenizer;

//===-- The classes -------------------------------------------------------===//

static Result<void> makeBert(PieceImporter &importer) {
  TRANSOM_TRY(importer.addTokens({{"unk_token", "[UNK]"},
                                  {"sep_token", "[SEP]"},
                                  {"pad_token", "[PAD]"},
                                  {"cls_token", "[CLS]"},
                                  {"mask_token", "[MASK]"}}));
  importer.addTypedTemplate(importer.getRoleId("cls_token", "[CLS]"),
                            importer.getRoleId("sep_token", "[SEP]"));
  return {};
}

static Result<void> makeMpnet(PieceImporter &importer) {
  TRANSOM_TRY(importer.addTokens({{"bos_token", "<s>"},
                                  {"eos_token", "</s>"},
                                  {"unk_token", "[UNK]"},
                                  {"sep_token", "</s>"},
                                  {"pad_token", "<pad>"},
                                  {"cls_token", "<s>"},
                                  {"mask_token", "<mask>", true}}));
  const uint32_t begin = importer.getRoleId("cls_token", "<s>");
  const uint32_t end = importer.getRoleId("sep_token", "</s>");
  importer.addTemplate({begin}, {end, end}, {end});
  importer.draft.parameters.flags |= TrimOffsets;
  return {};
}

namespace {
/// A transformers tokenizer class.
struct WordPieceClass {
  std::string_view name;
  Result<void> (*make)(PieceImporter &);
};
} // namespace

static constexpr WordPieceClass classes[] = {
    {"BertTokenizer", makeBert},        {"DistilBertTokenizer", makeBert},
    {"ElectraTokenizer", makeBert},     {"LayoutLMTokenizer", makeBert},
    {"MPNetTokenizer", makeMpnet},      {"MobileBertTokenizer", makeBert},
    {"SqueezeBertTokenizer", makeBert},
};

static const WordPieceClass *findClass(std::string_view name) {
  for (const WordPieceClass &each : classes)
    if (each.name == name)
      return &each;
  return nullptr;
}

bool isWordPieceClass(std::string_view className) {
  return findClass(className) != nullptr;
}

std::string getWordPieceClassNames() {
  std::string names;
  for (const WordPieceClass &each : classes)
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

//===-- The vocabulary ----------------------------------------------------===//

/// Returns a line without trailing whitespace.
static std::string_view trimEnd(std::string_view line) {
  size_t end = 0;
  for (size_t at = 0; at < line.size();)
    if (!unicode::isWhitespace(utf8::decode(line, at)))
      end = at;
  return line.substr(0, end);
}

/// Reads vocab.txt, in which ids are line numbers from 0. As in the tokenizers
/// library, a token that occurs twice has the later id, and the earlier id has
/// no token.
static Result<void> readTokenLines(const NamedFile &file, Draft &draft) {
  auto fail = [&](size_t line, const std::string &message) {
    return rejected(file.name + ":" + std::to_string(line) + ": " + message);
  };
  std::string_view text = file.bytes;
  auto &tokens = draft.modelTokens;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!utf8::isValid(line))
      return fail(tokens.size() + 1, "expected UTF-8, got " + quoted(line));
    tokens.push_back({trimEnd(line), static_cast<uint32_t>(tokens.size())});
  }

  // Keep the last of several equal strings.
  std::sort(tokens.begin(), tokens.end());
  size_t count = 0;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (i + 1 == tokens.size() || tokens[i + 1].first != tokens[i].first)
      tokens[count++] = tokens[i];
  tokens.resize(count);
  for (auto &[token, id] : tokens)
    draft.entries.push_back({id, std::string(token), false});
  std::sort(
      draft.entries.begin(), draft.entries.end(),
      [](const DraftEntry &a, const DraftEntry &b) { return a.id < b.id; });
  return {};
}

/// Completes the WordPiece model.
static Result<void> finishWordPiece(PieceImporter &importer) {
  const std::string unknown = importer.getRole("unk_token", "[UNK]");
  const uint32_t *id = findToken(importer.draft, unknown);
  if (!id)
    return rejected("unknown token " + quoted(unknown) +
                    " is not in the vocabulary");
  importer.draft.continuingPrefix = "##";
  importer.draft.parameters.model = ModelKind::WordPiece;
  importer.draft.parameters.unknownId = *id;
  importer.draft.parameters.maxWordCharacters = 100;
  return {};
}

//===-- Steps -------------------------------------------------------------===//

static Result<void> setBertSteps(PieceImporter &importer) {
  const TokenizerSettings &settings = importer.settings;
  TRANSOM_ASSIGN(bool lower, settings.getFlag("do_lower_case", true));
  TRANSOM_ASSIGN(bool strip, settings.getFlag("strip_accents", lower));
  TRANSOM_ASSIGN(bool chinese,
                 settings.getFlag("tokenize_chinese_chars", true));
  auto text = [](bool flag) { return flag ? "true" : "false"; };
  const std::string normalizer =
      std::string(R"({"type": "BertNormalizer", "clean_text": true, )") +
      R"("lowercase": )" + text(lower) + R"(, "strip_accents": )" +
      text(strip) + R"(, "handle_chinese_chars": )" + text(chinese) + "}";
  TRANSOM_TRY(importer.addNormalizer(normalizer.c_str()));
  return importer.setSteps(
      R"({"type": "BertPreTokenizer"})",
      R"({"type": "WordPiece", "prefix": "##", "cleanup": true})");
}

//===-- The files ---------------------------------------------------------===//

Result<ImportedTokenizer>
importWordPieceTokenizer(std::string_view className,
                         const WordPieceFiles &files) {
  Draft draft;
  auto read = [&]() -> Result<SentencePieceModel> {
    TRANSOM_TRY(readTokenLines(files.vocabulary, draft));
    return SentencePieceModel();
  };
  auto make = [&](PieceImporter &importer) -> Result<void> {
    importer.addFurther(importer.settings.additional);
    TRANSOM_TRY(finishWordPiece(importer));
    TRANSOM_TRY(setBertSteps(importer));
    return findClass(className)->make(importer);
  };
  return importByClass(
      {files.settings, files.serialized, files.vocabulary.name}, draft, read,
      make);
}

} // namespace transom
