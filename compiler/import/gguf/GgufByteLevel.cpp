// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-level BPE: the merges come from the file, the words from the
// pre-tokenizer that it names.
#include "compiler/import/gguf/GgufTokenizerMaker.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include <algorithm>

namespace transom::gguf {
namespace {

constexpr const char *gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char *qwenPattern =
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|)"
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *llama3Pattern =
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|)"
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::vector<Splits> &getSplits() {
  static const std::vector<Splits> all = {
      {{"default"},
       {R"([\p{P}\$\+<=>\^~\|]+)", gpt2Pattern, R"(\p{N}+)",
        R"([0-9][0-9][0-9])"}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral",
        "lfm2"},
       {llama3Pattern},
       true,
       true},
      {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {llama3Pattern}},
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "jina-es", "jina-de",
        "jina-v2-es", "jina-v2-de", "gigachat", "exaone4"},
       {gpt2Pattern}},
      {{"roberta-bpe", "jina-v1-en", "jina-v2-code"},
       {gpt2Pattern},
       false,
       false,
       true},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone",
        "minerva-7b"},
       {R"(\p{N})", gpt2Pattern}},
      {{"qwen2"}, {qwenPattern}, false, false, false, true},
      {{"deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan"}, {qwenPattern}}};
  return all;
}

std::vector<std::string> getSplitNames() {
  std::vector<std::string> names;
  for (const Splits &splits : getSplits())
    names.insert(names.end(), splits.names.begin(), splits.names.end());
  std::sort(names.begin(), names.end());
  return names;
}

const Splits *findSplits(const std::string &name) {
  for (const Splits &splits : getSplits())
    for (const char *each : splits.names)
      if (name == each)
        return &splits;
  return nullptr;
}

} // namespace

Result<void> TokenizerMaker::makeByteLevel() {
  TRANSOM_ASSIGN(std::string name, reader.readText("pre"));
  if (name.empty())
    name = "default";
  // Find the word patterns for the pre-tokenizer.
  const Splits *splits = findSplits(name);
  if (!splits)
    return reader.fail("pre", *reader.find("pre"),
                       "is '" + utf8::printable(name) +
                           "'; supported: " + joinNames(getSplitNames()) +
                           suggest(name, getSplitNames()),
                       Status::Unsupported);
  TRANSOM_TRY(readBoundaries(splits->addsBos, false));
  // Write the pre-tokenizer, template, decoder and model.
  beginFile();
  writeSplits(*splits);
  TRANSOM_ASSIGN(const bool separated,
                 reader.readFlag("add_sep_token", splits->separatesPairs));
  writeTemplate(separated ? getRole(getRole("sep") ? "sep" : "eos") : first,
                separated ? 0 : 1);
  writeByteLevel("decoder");
  json.key("model");
  json.beginObject();
  json.member("type", "BPE");
  json.member("ignore_merges", splits->ignoresMerges);
  writeVocabulary();
  TRANSOM_TRY(writeGivenMerges());
  json.endObject();
  json.endObject();
  return {};
}

void TokenizerMaker::writeByteLevel(const char *key) {
  if (*key)
    json.key(key);
  json.beginObject();
  json.member("type", "ByteLevel");
  json.member("add_prefix_space", false);
  json.member("trim_offsets", true);
  json.member("use_regex", false);
  json.endObject();
}

void TokenizerMaker::writeSplits(const Splits &splits) {
  if (splits.composes)
    writeTyped("normalizer", "NFC");
  json.key("pre_tokenizer");
  json.beginObject();
  json.member("type", "Sequence");
  json.key("pretokenizers");
  json.beginArray();
  for (const char *pattern : splits.patterns) {
    json.beginObject();
    json.member("type", "Split");
    writePattern("Regex", pattern);
    json.member("behavior", "Isolated");
    json.member("invert", false);
    json.endObject();
  }
  writeByteLevel("");
  json.endArray();
  json.endObject();
}

Result<void> TokenizerMaker::writeGivenMerges() {
  TRANSOM_ASSIGN(auto merges, reader.readTexts("merges"));
  json.key("merges");
  json.beginArray();
  if (merges)
    for (const std::string &merge : *merges)
      json.value(merge);
  json.endArray();
  return {};
}

} // namespace transom::gguf
