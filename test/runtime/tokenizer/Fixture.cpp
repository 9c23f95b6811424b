// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The golden data's folder is fixed when the tests are built.
#include "test/runtime/tokenizer/Fixture.h"
#include "runtime/base/File.h"
#include "runtime/json/Json.h"
#include <cstdlib>
#include <map>

namespace transom::test {

std::string getGoldenPath(const std::string &name) {
  const char *root = std::getenv("TRANSOM_SOURCE_DIR");
  return joinPath(joinPath(root ? root : ".", "test/goldens/tokenizer"), name);
}

std::string golden(const std::string &name) {
  auto bytes = readSmallFile(getGoldenPath(name), 16 << 20);
  if (!bytes) {
    ADD_FAILURE() << bytes.error().message;
    return {};
  }
  return *bytes;
}

static Result<ImportedTokenizer> import(const std::string &json,
                                        const std::string &config) {
  if (config.empty())
    return importTokenizer(json, "tokenizer.json");
  TRANSOM_ASSIGN(const JsonDocument document,
                 parseJson(json, "tokenizer.json"));
  tokenizer::SettingFiles files;
  files.config = {config, "tokenizer_config.json"};
  return importTokenizer(document.root(), "tokenizer.json", files);
}

Loaded load(const std::string &json, const std::string &config) {
  Loaded loaded;
  auto imported = import(json, config);
  if (!imported) {
    ADD_FAILURE() << imported.error().message;
    return loaded;
  }
  loaded.tables = std::make_shared<std::string>(std::move(imported->tables));
  loaded.notes = std::move(imported->notes);
  auto opened = Tokenizer::open(*loaded.tables);
  if (!opened)
    ADD_FAILURE() << opened.error().message;
  else
    loaded.tokenizer = *opened;
  return loaded;
}

std::string replaceOnce(std::string text, const std::string &from,
                        const std::string &to) {
  size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos)
    ADD_FAILURE() << "not exactly once: " << from;
  else
    text.replace(at, from.size(), to);
  return text;
}

std::string smallJson() {
  return R"({"version": "1.0",
"truncation": null, "padding": null,
"added_tokens": [
 {"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
 {"id": 9, "content": "New", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false}],
"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
"pre_tokenizer": {"type": "BertPreTokenizer"},
"post_processor": {"type": "TemplateProcessing",
 "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
 "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
 "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}}},
"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20,
 "vocab": {"[UNK]": 0, "[CLS]": 1, "un": 2, "##aff": 3, "##able": 4, "a": 5, ",": 6, "##a": 7, "the": 8}}})";
}

std::string smallBpeJson() {
  return R"({"version": "1.0",
"truncation": null, "padding": null,
"added_tokens": [
 {"id": 13, "content": "<|end|>", "single_word": false, "lstrip": true, "rstrip": false, "normalized": false, "special": true}],
"normalizer": {"type": "NFC"},
"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
 {"type": "Split", "pattern": {"Regex": " ?[a-z]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false},
 {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
"post_processor": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
"decoder": {"type": "ByteLevel"},
"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
 "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
 "vocab": {"a": 0, "b": 1, "c": 2, "Ġ": 3, "Ã": 4, "©": 5, "Ċ": 6, "ab": 7, "bc": 8, "abc": 9, "Ġa": 10, "Ġab": 11, "Ã©": 12},
 "merges": ["b c", ["a", "b"], ["Ġ", "a"], ["a", "bc"], "Ġa b", ["Ã", "©"]]}})";
}

std::string smallUnigramJson() {
  return R"({"version": "1.0",
"truncation": null, "padding": null, "added_tokens": [],
"normalizer": null,
"pre_tokenizer": null,
"post_processor": null,
"decoder": {"type": "Fuse"},
"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false,
 "vocab": [["<unk>", 0], ["a", 0.0], ["b", 0.0], ["c", 0.0], ["d", 0.0], ["cd", 1.0],
 ["ab", 2.0], ["abc", 5.0], ["abcd", 10.0], ["<0xC3>", 0], ["<0xA9>", 0]]}})";
}

/// Each state of the double array has 256 slots for its children.
std::string makeCharacterMap(
    const std::vector<std::pair<std::string, std::string>> &rules) {
  std::vector<uint32_t> units(256, 0);
  std::map<std::string, uint32_t> states{{"", 0}}; ///< places of their units
  auto getChildren = [&](uint32_t at) {
    if (units[at] >> 10 == 0) {
      units[at] |= (at ^ static_cast<uint32_t>(units.size())) << 10;
      units.resize(units.size() + 256, 0);
    }
    return at ^ units[at] >> 10;
  };
  // Insert each key byte by byte; its value offset is the last state.
  std::string strings;
  for (const auto &[key, value] : rules) {
    uint32_t at = 0;
    for (size_t i = 0; i < key.size(); ++i) {
      uint8_t label = static_cast<uint8_t>(key[i]);
      auto [state, fresh] = states.insert({key.substr(0, i + 1), 0});
      if (fresh) {
        state->second = getChildren(at) ^ label;
        units[state->second] |= label;
      }
      at = state->second;
    }
    units[getChildren(at)] = 1u << 31 | static_cast<uint32_t>(strings.size());
    units[at] |= 1u << 8;
    strings += value + '\0';
  }
  // The map is the array size, the array and the strings.
  uint32_t size = static_cast<uint32_t>(units.size() * sizeof units[0]);
  std::string map(reinterpret_cast<const char *>(&size), sizeof size);
  map.append(reinterpret_cast<const char *>(units.data()), size);
  return map + strings;
}

} // namespace transom::test
