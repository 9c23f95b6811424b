// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the tokenizer kind and token roles, and creates the files next to
// tokenizer.json. Defaults for absent keys are the same as in llama.cpp.
#include "compiler/import/gguf/GgufTokenizer.h"
#include "compiler/import/gguf/GgufTokenizerMaker.h"
#include "runtime/base/Utf8.h"
#include <algorithm>

namespace transom::gguf {

Result<TokenizerTexts> TokenizerMaker::run() {
  TokenizerTexts result;
  if (!reader.find("model"))
    return result;
  TRANSOM_ASSIGN(const std::string model, reader.readText("model"));
  if (model == "none" || model == "no_vocab")
    return result;
  TRANSOM_ASSIGN(tokens, reader.readTokens(vocabulary));
  TRANSOM_TRY(readRoles(model));
  if (Result<void> made = makeModel(model); made) {
    result.texts["tokenizer.json"] = std::move(text);
    result.texts["tokenizer_config.json"] = writeSettings(model);
  } else {
    Error error = made.takeError();
    if (error.status != Status::Unsupported)
      return error;
    notes.push_back(error.message + "; texts cannot be given");
    result.refusal = std::move(error.message);
  }
  result.notes = std::move(notes);
  result.texts["generation_config.json"] = writeGeneration();
  return result;
}

Result<void> TokenizerMaker::makeModel(const std::string &model) {
  if (model == "gpt2")
    return makeByteLevel();
  if (model == "llama")
    return makePieces();
  if (model == "bert")
    return makeWordPiece();
  if (model == "t5")
    return makeUnigram();
  return reader.fail("model", *reader.find("model"),
                     "is '" + utf8::printable(model) +
                         "'; supported: bert, gpt2, llama, t5",
                     Status::Unsupported);
}

Result<void> TokenizerMaker::readRole(const char *name, const char *key,
                                      std::optional<int64_t> absent) {
  const auto count = static_cast<int64_t>(tokens.size());
  TRANSOM_ASSIGN(const std::optional<int64_t> given, reader.readId(key));
  const bool isToken = given && *given >= 0 && *given < count;
  std::optional<int64_t> id = isToken ? given : std::nullopt;
  if (!id && absent && *absent < count)
    id = absent;
  if (id)
    roles[name] = *id;
  // Writers without such a token may set its id to -1.
  if (given && !isToken && !id)
    ignored.insert(name);
  if (given && !isToken)
    notes.push_back(
        reader.getNotePrefix(key) + "is " + std::to_string(*given) +
        ", but there are " + std::to_string(count) + " tokens; it was ignored" +
        (id ? ", and the token is '" + utf8::printable(tokens[*id].text) + "'"
            : ""));
  return {};
}

Result<void> TokenizerMaker::readRoles(const std::string &model) {
  const bool pieces = model == "llama", words = model == "bert",
             scored = model == "t5";
  using Id = std::optional<int64_t>;
  const Id none;
  TRANSOM_TRY(readRole("bos", "bos_token_id",
                       pieces  ? Id(1)
                       : words ? Id(101)
                               : none));
  TRANSOM_TRY(readRole("eos", "eos_token_id",
                       pieces   ? Id(2)
                       : scored ? Id(1)
                                : none));
  TRANSOM_TRY(readRole("eot", "eot_token_id", none));
  TRANSOM_TRY(readRole("eom", "eom_token_id", none));
  TRANSOM_TRY(readRole("unk", "unknown_token_id",
                       pieces   ? Id(0)
                       : words  ? Id(100)
                       : scored ? Id(2)
                                : none));
  TRANSOM_TRY(readRole("sep", "seperator_token_id", words ? Id(102) : none));
  TRANSOM_TRY(
      readRole("pad", "padding_token_id", words || scored ? Id(0) : none));
  TRANSOM_TRY(readRole("mask", "mask_token_id", words ? Id(103) : none));
  return {};
}

std::optional<int64_t> TokenizerMaker::getRole(const char *name) const {
  auto found = roles.find(name);
  return found == roles.end() ? std::nullopt : std::optional(found->second);
}

Result<void> TokenizerMaker::readBoundaries(bool begins, bool ends) {
  TRANSOM_TRY(readBoundary("add_bos_token", "bos", begins, first));
  return readBoundary("add_eos_token", "eos", ends, last);
}

Result<void> TokenizerMaker::readBoundary(const char *key, const char *role,
                                          bool absent,
                                          std::optional<int64_t> &id) {
  TRANSOM_ASSIGN(const bool adds, reader.readFlag(key, absent));
  if (adds)
    id = getRole(role);
  if (adds && !id && reader.find(key) && !ignored.count(role))
    return reader.fail(key, *reader.find(key),
                       std::string("is true, but the file names no ") + role +
                           " token");
  return {};
}

std::string TokenizerMaker::writeSettings(const std::string &model) const {
  std::string settings;
  JsonWriter writer(settings);
  writer.beginObject();
  for (const char *role : {"bos", "eos", "unk", "sep", "pad", "mask"})
    if (std::optional<int64_t> id = getRole(role))
      writer.member(std::string(role) + "_token", tokens[*id].text);
  writer.key("model_input_names");
  std::vector<std::string> inputs = {"input_ids", "attention_mask"};
  if (model == "bert")
    inputs.push_back("token_type_ids");
  writer.array(inputs);
  writer.endObject();
  return settings;
}

std::string TokenizerMaker::writeGeneration() const {
  std::string settings;
  JsonWriter writer(settings);
  writer.beginObject();
  if (std::optional<int64_t> id = getRole("bos"))
    writer.member("bos_token_id", *id);
  if (std::optional<int64_t> id = getRole("pad"))
    writer.member("pad_token_id", *id);
  std::vector<int64_t> ends;
  for (const char *role : {"eos", "eot", "eom"})
    if (std::optional<int64_t> id = getRole(role);
        id && std::find(ends.begin(), ends.end(), *id) == ends.end())
      ends.push_back(*id);
  if (!ends.empty()) {
    writer.key("eos_token_id");
    writer.array(ends);
  }
  writer.endObject();
  return settings;
}

Result<TokenizerTexts> makeTokenizer(const File &file, int64_t vocabulary) {
  return TokenizerMaker(file, vocabulary).run();
}

} // namespace transom::gguf
