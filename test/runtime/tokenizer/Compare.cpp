// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer-compare TOKENIZER STRINGS RESULTS: its results are read by
// tools/dev/compare-tokenizers.py. Strings are u32 lengths and bytes; a length
// with the highest bit is a count of u32 ids to decode. A result is the id
// count, ids, offsets, and the decoded text with and without special tokens.
// Fails if a stream outputs half a character. With --patterns in place of the
// tokenizer, the strings are patterns and texts, and the results matches.
#include "compiler/import/tokenizer/ImportFolder.h"
#include "compiler/import/tokenizer/regex/Regex.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/DecodeStream.h"
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <cstdio>
#include <cstring>

using namespace transom;

static int fail(const std::string &message) {
  fprintf(stderr, "tokenizer-compare: %s\n", message.c_str());
  return 1;
}

static void put(std::string &out, size_t number) {
  uint32_t value = static_cast<uint32_t>(number);
  out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Decodes id by id; returns the error, if any.
static std::string stream(const Tokenizer &tokenizer, const Encoding &encoding,
                          bool skipSpecial, std::string &out) {
  auto decoder = DecodeStream::create(tokenizer, skipSpecial);
  if (!decoder)
    return decoder.error().message;
  std::string text;
  bool whole = true;
  for (int64_t id : encoding.ids) {
    size_t before = text.size();
    decoder->feed(id, text);
    whole &= utf8::isValid(std::string_view(text).substr(before));
  }
  decoder->flush(text);
  put(out, text.size());
  out += text;
  return whole && utf8::isValid(text) ? "" : "half a character in a stream";
}

static std::string addResult(const Tokenizer &tokenizer,
                             const Encoding &encoding, std::string &out) {
  put(out, encoding.ids.size());
  for (int64_t id : encoding.ids)
    put(out, static_cast<size_t>(id));
  for (TokenOffsets offsets : encoding.offsets) {
    put(out, offsets.begin);
    put(out, offsets.end);
  }
  std::string wrong = stream(tokenizer, encoding, false, out);
  return wrong.empty() ? stream(tokenizer, encoding, true, out) : wrong;
}

/// The bit in a length whose bytes are ids.
static constexpr uint32_t idsBit = 0x80000000u;

static Encoding getIds(std::string_view bytes) {
  Encoding encoding;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    uint32_t id;
    std::memcpy(&id, bytes.data() + i, sizeof id);
    encoding.ids.push_back(id);
  }
  encoding.offsets.resize(encoding.ids.size());
  return encoding;
}

/// A tokenizer.json, or a folder.
static Result<ImportedTokenizer> importFrom(const std::string &path) {
  if (path.size() > 5 && path.substr(path.size() - 5) == ".json") {
    TRANSOM_ASSIGN(std::string json, readSmallFile(path, 256 << 20));
    return importTokenizer(json, path);
  }
  TRANSOM_ASSIGN(auto folder, importTokenizerFolder(path));
  if (!folder)
    return unavailable("no tokenizer in " + path);
  return std::move(folder->tokenizer);
}

/// Writes the text with each match in brackets, or a NUL and the error, for
/// each pattern and text.
static std::string matchAll(std::string_view strings) {
  std::string out;
  auto take = [&](size_t &at) {
    uint32_t size;
    std::memcpy(&size, strings.data() + at, sizeof size);
    at += sizeof size + size;
    return strings.substr(at - size, size);
  };
  for (size_t at = 0; at < strings.size();) {
    const std::string_view pattern = take(at), text = take(at);
    auto program = tokenizer::compileRegex(pattern);
    std::string found = program ? "" : '\0' + program.error().message;
    const tokenizer::Characters characters = tokenizer::getCharacters(text);
    if (program)
      for (auto [span, match] : tokenizer::Splitter::open(*program)->find(
               characters, {0, characters.size()})) {
        found += match ? "[" : "";
        for (size_t i = span.begin; i < span.end; ++i)
          utf8::append(found, characters[i].code);
        found += match ? "]" : "";
      }
    put(out, found.size());
    out += found;
  }
  return out;
}

static int write(const char *path, const std::string &out) {
  FILE *file = fopen(path, "wbe");
  bool written = file && fwrite(out.data(), 1, out.size(), file) == out.size();
  if (!file || fclose(file) != 0 || !written)
    return fail(std::string("cannot write ") + path);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return fail("expected TOKENIZER STRINGS RESULTS");
  auto strings = readSmallFile(argv[2], uint64_t(1) << 30);
  if (!strings)
    return fail(strings.error().message);
  // Patterns need no tokenizer.
  if (std::string_view(argv[1]) == "--patterns")
    return write(argv[3], matchAll(*strings));
  auto imported = importFrom(argv[1]);
  if (!imported)
    return fail(imported.error().message);
  auto tokenizer = Tokenizer::open(imported->tables);
  if (!tokenizer)
    return fail(tokenizer.error().message);
  std::string out;
  // Encode or decode each string.
  for (size_t at = 0; at + 4 <= strings->size();) {
    uint32_t size;
    std::memcpy(&size, strings->data() + at, sizeof size);
    bool isIds = size & idsBit;
    size &= ~idsBit;
    std::string_view bytes = std::string_view(*strings).substr(at + 4, size);
    Result<Encoding> encoding =
        isIds ? Result<Encoding>(getIds(bytes)) : tokenizer->encode(bytes);
    if (!encoding)
      return fail(encoding.error().message);
    if (std::string wrong = addResult(*tokenizer, *encoding, out);
        !wrong.empty())
      return fail("the string at byte " + std::to_string(at) + ": " + wrong);
    at += 4 + size;
  }
  return write(argv[3], out);
}
