// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each stage writes its output to a buffer, which is the next stage's token.
// Stages that fuse tokens emit a long token in deltas. The importer rejects
// chains in which a stage would need such a token as a whole.
#include "runtime/tokenizer/DecodeStream.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/ByteLevel.h"
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>
#include <optional>

namespace transom {

using namespace tokenizer;

static constexpr std::string_view replacement = "\xef\xbf\xbd";

Result<DecodeStream> DecodeStream::create(const Tokenizer &tokenizer,
                                          bool skipSpecial, bool keepsSpaces) {
  const Tables tables = tokenizer.getTarget().data();
  StepList list = tables.steps(Section::DecoderSteps);
  for (size_t i = 0; i < list.steps.size(); ++i)
    if (Step step = list.steps[i];
        step.kind == static_cast<uint32_t>(DecoderStep::Unsupported))
      return unsupported("unsupported decoder '" +
                         std::string(list.text(step.first)) +
                         "'; supported: BPEDecoder, ByteFallback, ByteLevel, "
                         "Fuse, Metaspace, Replace, Sequence, Strip, "
                         "WordPiece");
  return DecodeStream(tables, skipSpecial, keepsSpaces);
}

DecodeStream::DecodeStream(const Tables &tables, bool skipSpecial,
                           bool keepsSpaces)
    : tables(tables), skipSpecial(skipSpecial) {
  ArrayView<Step> steps = tables.steps(Section::DecoderSteps).steps;
  size_t count = steps.size();
  if (keepsSpaces && count &&
      steps[count - 1].kind == static_cast<uint32_t>(DecoderStep::CleanUp))
    --count;
  stages.resize(count);
  for (size_t i = 0; i < stages.size(); ++i)
    stages[i].step = steps[i];
}

std::string_view DecodeStream::getText(TextRef ref) const {
  return tables.text(ref);
}

void DecodeStream::feed(int64_t id, std::string &text) {
  std::optional<VocabularyEntry> entry = tables.entry(id);
  if (entry && !(skipSpecial && entry->special))
    run(0, tables.text(entry->text), true, text);
}

void DecodeStream::flush(std::string &text) {
  for (size_t i = 0; i < stages.size(); ++i) {
    Stage &stage = stages[i];
    bool starts =
        !stage.started ||
        stage.step.kind == static_cast<uint32_t>(DecoderStep::WordEnd);
    finish(stage);
    if (!stage.made.empty())
      run(i + 1, stage.made, starts, text);
  }
  reset();
}

void DecodeStream::reset() {
  for (Stage &stage : stages) {
    stage.started = false;
    stage.first = stage.stripping = true;
    stage.stripped = stage.held = 0;
    stage.pending.clear();
    stage.made.clear();
  }
}

void DecodeStream::run(size_t index, std::string_view token, bool starts,
                       std::string &text) {
  if (index == stages.size()) {
    text += token;
    return;
  }
  // Run the stage on the token.
  Stage &stage = stages[index];
  stage.made.clear();
  stage.first = !stage.started;
  runStage(stage, token, starts);
  stage.started = true;
  auto kind = static_cast<DecoderStep>(stage.step.kind);
  // A stage that delays each token has no output for the first one.
  if (kind == DecoderStep::WordEnd && stage.first)
    return;
  bool fuses = kind == DecoderStep::Fuse || kind == DecoderStep::ByteLevel;
  run(index + 1, stage.made, fuses ? stage.first : starts, text);
}

//===-- The stages --------------------------------------------------------===//

/// Replaces in place if the text does not grow.
static void replaceAll(std::string &text, std::string_view from,
                       std::string_view to) {
  size_t next = from.empty() ? std::string::npos : text.find(from);
  if (next == std::string::npos)
    return;
  size_t put = 0, at = 0;
  if (to.size() > from.size()) {
    std::string grown;
    for (; next != std::string::npos; next = text.find(from, at)) {
      grown.append(text, at, next - at).append(to);
      at = next + from.size();
    }
    text = grown.append(text, at);
    return;
  }
  for (; next != std::string::npos; next = text.find(from, at)) {
    std::copy(text.begin() + at, text.begin() + next, text.begin() + put);
    put += next - at;
    std::copy(to.begin(), to.end(), text.begin() + put);
    put += to.size();
    at = next + from.size();
  }
  text.erase(put, at - put);
}

/// Appends `token`, with each match of `program` replaced by `content`.
static void replaceMatches(std::string_view program, std::string_view content,
                           std::string_view token, std::string &made) {
  const std::optional<Splitter> splitter = Splitter::open(program);
  const Characters characters = getCharacters(token);
  if (!splitter)
    return;
  Characters result;
  splitter->replace(characters, {0, characters.size()}, getCharacters(content),
                    result);
  made += toUtf8(result);
}

/// Removes spaces that splitting at punctuation added to English text. The
/// WordPiece decoder in `tokenizers` has one more rule than transformers.
static void cleanUp(std::string &text, bool contractsNot) {
  static constexpr std::string_view contraction = " do not";
  static constexpr std::string_view rules[][2] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {contraction, " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (auto &rule : rules)
    if (contractsNot || rule[0] != contraction)
      replaceAll(text, rule[0], rule[1]);
}

/// Moves text that later tokens cannot change from `pending` to `made`, and
/// cleans it up. Each rule begins with a space, and every later character
/// except the last is `'`, `n`, `v` or `r`; so no rule extends past the end of
/// a text with another last character, or with no space after such a character.
static void giveCleanedUp(std::string &pending, std::string &made) {
  const size_t last = pending.find_last_not_of(" 'nvr");
  size_t size = last == std::string::npos ? 0 : last + 1;
  const size_t space = pending.find(' ', size);
  if (space == std::string::npos)
    size = pending.size();
  made = pending.substr(0, size);
  cleanUp(made, /*contractsNot=*/false);
  pending.erase(0, size);
}

/// Returns the byte that a token such as `<0xAB>` represents.
static std::optional<char> byteOfToken(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>')
    return std::nullopt;
  auto digit = [](char c) -> int {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  int high = token[3] == '+' ? 0 : digit(token[3]), low = digit(token[4]);
  if (high < 0 || low < 0)
    return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

/// Moves all bytes from `pending` to `made`: unchanged if they are valid UTF-8,
/// otherwise each as U+FFFD.
static void giveBytes(std::string &pending, std::string &made) {
  if (utf8::isValid(pending))
    made += pending;
  else
    for (size_t i = 0; i < pending.size(); ++i)
      made += replacement;
  pending.clear();
}

namespace {
/// The longest prefix of a character at a position.
struct Subpart {
  size_t size; ///< at least 1
  bool whole;  ///< a complete character
  bool cut;    ///< more bytes could complete it
};
} // namespace

static Subpart subpartAt(std::string_view bytes, size_t at) {
  auto byteAt = [&](size_t i) { return static_cast<uint8_t>(bytes[at + i]); };
  uint8_t lead = byteAt(0);
  if (lead < 0x80)
    return {1, true, false};
  size_t count = lead < 0xC2   ? 0
                 : lead < 0xE0 ? 2
                 : lead < 0xF0 ? 3
                 : lead < 0xF5 ? 4
                               : 0;
  uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < count; ++i) {
    if (at + i == bytes.size())
      return {i, false, true};
    if (byteAt(i) < low || byteAt(i) > high)
      return {i, false, false};
    low = 0x80;
    high = 0xBF;
  }
  return {count == 0 ? 1 : count, count != 0, false};
}

/// Moves complete characters from `pending` to `made`, with U+FFFD for invalid
/// bytes; an incomplete character at the end stays.
static void giveCharacters(std::string &pending, std::string &made) {
  size_t at = 0;
  while (at < pending.size()) {
    Subpart part = subpartAt(pending, at);
    if (part.cut)
      break;
    made += part.whole ? std::string_view(pending).substr(at, part.size)
                       : replacement;
    at += part.size;
  }
  pending.erase(0, at);
}

/// A token with a character that represents no byte is copied unchanged.
void DecodeStream::byteLevel(Stage &stage, std::string_view token) {
  size_t before = stage.pending.size();
  for (size_t at = 0; at < token.size();) {
    int byte = byteOfCharacter(utf8::decode(token, at));
    if (byte < 0) {
      stage.pending.resize(before);
      stage.pending += token;
      break;
    }
    stage.pending += static_cast<char>(byte);
  }
  giveCharacters(stage.pending, stage.made);
}

void DecodeStream::strip(Stage &stage, std::string_view token, bool starts) {
  if (starts) {
    stage.stripping = true;
    stage.stripped = stage.held = 0;
  }
  std::string_view content = getText(stage.step.first);
  auto giveHeld = [&] {
    stage.made += content;
    --stage.held;
  };
  // Drop matches at the beginning; hold back the last ones, which are dropped
  // if nothing follows.
  for (size_t at = 0; at < token.size();) {
    size_t begin = at;
    utf8::decode(token, at);
    std::string_view character = token.substr(begin, at - begin);
    bool matches = character == content;
    if (matches && stage.stripping && stage.stripped < stage.step.option) {
      ++stage.stripped;
      continue;
    }
    stage.stripping = false;
    if (matches && ++stage.held > stage.step.secondOption)
      giveHeld();
    if (matches)
      continue;
    while (stage.held > 0)
      giveHeld();
    stage.made += character;
  }
}

/// Holds whitespace back until another character follows.
void DecodeStream::stripWhitespace(Stage &stage, std::string_view token) {
  for (size_t at = 0; at < token.size();) {
    size_t begin = at;
    char32_t code = utf8::decode(token, at);
    std::string_view character = token.substr(begin, at - begin);
    if (unicode::isWhitespace(code)) {
      if (!stage.stripping)
        stage.pending += character;
      continue;
    }
    stage.stripping = false;
    (stage.made += stage.pending) += character;
    stage.pending.clear();
  }
}

void DecodeStream::runStage(Stage &stage, std::string_view token, bool starts) {
  const Step &step = stage.step;
  std::string_view first = getText(step.first);
  std::string &made = stage.made;
  switch (static_cast<DecoderStep>(step.kind)) {
  // Stages that transform each token separately.
  case DecoderStep::JoinWithSpaces:
    made.append(stage.first ? "" : " ").append(token);
    return;
  case DecoderStep::WordPiece: {
    bool continues = token.substr(0, first.size()) == first;
    if (!stage.first && continues)
      token.remove_prefix(first.size());
    made.append(stage.first || continues ? "" : " ").append(token);
    if (step.option)
      cleanUp(made, /*contractsNot=*/true);
    return;
  }
  // Stages that hold back bytes or characters until later tokens.
  case DecoderStep::ByteLevel:
    return byteLevel(stage, token);
  case DecoderStep::ByteFallback:
    if (std::optional<char> byte = byteOfToken(token)) {
      stage.pending += *byte;
      return;
    }
    giveBytes(stage.pending, made);
    made += token;
    return;
  case DecoderStep::Strip:
    return strip(stage, token, starts);
  case DecoderStep::StripWhitespace:
    return stripWhitespace(stage, token);
  // Stages that replace strings in the token.
  case DecoderStep::Replace:
    if (step.option)
      return replaceMatches(first, getText(step.second), token, made);
    made = token;
    return replaceAll(made, first, getText(step.second));
  case DecoderStep::Metaspace:
    made = token;
    return replaceAll(made, first, stage.first && step.option ? "" : " ");
  // Stages with delayed output.
  case DecoderStep::WordEnd:
    made = stage.pending;
    stage.pending = token;
    return replaceAll(made, first, " ");
  case DecoderStep::CleanUp:
    stage.pending += token;
    return giveCleanedUp(stage.pending, made);
  case DecoderStep::Fuse:
  case DecoderStep::Unsupported:
    made = token;
    return;
  }
}

void DecodeStream::finish(Stage &stage) {
  stage.made.clear();
  switch (static_cast<DecoderStep>(stage.step.kind)) {
  case DecoderStep::ByteLevel:
    giveCharacters(stage.pending, stage.made);
    if (!stage.pending.empty())
      stage.made += replacement;
    return;
  case DecoderStep::ByteFallback:
    return giveBytes(stage.pending, stage.made);
  case DecoderStep::WordEnd:
    stage.made = stage.pending;
    return replaceAll(stage.made, getText(stage.step.first), "");
  case DecoderStep::CleanUp:
    stage.made = stage.pending;
    return cleanUp(stage.made, /*contractsNot=*/false);
  default:
    return;
  }
}

} // namespace transom
