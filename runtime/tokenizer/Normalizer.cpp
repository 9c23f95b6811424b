// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each step produces the next character list. An inserted character represents
// the same bytes as the preceding one; canonical ordering permutes the
// characters but not their byte ranges, as Hugging Face does.
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Aligner.h"
#include "runtime/tokenizer/ByteLevel.h"
#include "runtime/tokenizer/CharacterMap.h"
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>

namespace transom::tokenizer {

Characters getCharacters(std::string_view text) {
  Characters characters(text.size());
  size_t count = 0;
  for (size_t position = 0; position < text.size(); ++count) {
    const uint32_t begin = static_cast<uint32_t>(position);
    char32_t code = static_cast<uint8_t>(text[position]);
    if (code < 0x80)
      ++position;
    else
      code = utf8::decode(text, position);
    characters[count] = {code, begin, static_cast<uint32_t>(position)};
  }
  characters.resize(count);
  return characters;
}

template <typename Predicate>
static void removeIf(Characters &text, Predicate drop) {
  text.erase(std::remove_if(text.begin(), text.end(),
                            [&](const Character &c) { return drop(c.code); }),
             text.end());
}

static void cleanText(Characters &text) {
  removeIf(text,
           [](char32_t code) { return unicode::has(code, unicode::Removed); });
  for (Character &character : text)
    if (unicode::isWhitespace(character.code))
      character.code = U' ';
}

/// Applies SentencePiece's nmt rule: removes controls and replaces other
/// separators with spaces.
static void cleanControls(Characters &text) {
  removeIf(text, [](char32_t c) {
    return (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) ||
           c == 0x7F || c == 0x8F || c == 0x9F;
  });
  auto isSpace = [](char32_t c) {
    return c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
           c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  };
  for (Character &character : text)
    if (isSpace(character.code))
      character.code = U' ';
}

static void spaceChinese(Characters &text) {
  auto chinese = [](const Character &c) { return unicode::isChinese(c.code); };
  if (std::none_of(text.begin(), text.end(), chinese))
    return;
  Characters result;
  result.reserve(text.size() + 2);
  for (const Character &character : text) {
    if (!chinese(character)) {
      result.push_back(character);
      continue;
    }
    result.push_back({U' ', character.begin, character.end});
    result.push_back(character);
    result.push_back({U' ', character.begin, character.end});
  }
  text = std::move(result);
}

namespace {
/// A character during decomposition and composition, with its change in
/// `Aligner` terms.
struct Unit {
  char32_t code;
  uint8_t combiningClass;
  int32_t change;
};
using Units = std::vector<Unit>;

/// Canonical or compatibility decomposition, in canonical order.
class Decomposer {
public:
  explicit Decomposer(bool compatible) : compatible(compatible) {}

  Units run(const Characters &source) {
    units.reserve(source.size());
    for (const Character &character : source) {
      if (compatible && addCompatible(character.code))
        continue;
      unicode::Image image = unicode::decompose(character.code);
      for (unsigned i = 0; i < image.size; ++i)
        add(image.codes[i], i != 0);
    }
    orderRun();
    return std::move(units);
  }

private:
  bool addCompatible(char32_t code) {
    unicode::LongImage image = unicode::decomposeCompatibly(code);
    for (unsigned i = 0; i < image.size; ++i)
      add(image.codes[i], i != 0);
    return image.size != 0;
  }

  void add(char32_t code, int32_t change) {
    uint8_t combiningClass = unicode::getRecord(code).combiningClass;
    if (combiningClass == 0)
      orderRun();
    units.push_back({code, combiningClass, change});
    if (combiningClass == 0)
      runBegin = units.size();
  }

  /// Sorts the marks from `runBegin` on by class, stably and in linear time.
  void orderRun() {
    auto begin = units.begin() + static_cast<ptrdiff_t>(runBegin);
    runBegin = units.size();
    auto before = [](const Unit &a, const Unit &b) {
      return a.combiningClass < b.combiningClass;
    };
    if (std::is_sorted(begin, units.end(), before))
      return;
    size_t places[257] = {};
    for (auto unit = begin; unit != units.end(); ++unit)
      ++places[unit->combiningClass + 1];
    for (size_t i = 1; i < 257; ++i)
      places[i] += places[i - 1];
    ordered.resize(static_cast<size_t>(units.end() - begin));
    for (auto unit = begin; unit != units.end(); ++unit)
      ordered[places[unit->combiningClass]++] = *unit;
    std::copy(ordered.begin(), ordered.end(), begin);
  }

  bool compatible;
  Units units, ordered;
  size_t runBegin = 0; ///< after the last starter
};
} // namespace

/// Canonical composition (Unicode Standard, section 3.11, D117).
static void compose(Units &units) {
  constexpr size_t none = SIZE_MAX;
  size_t starter = none, size = 0;
  int lastClass = -1; // among marks between the starter and this unit
  for (const Unit &unit : units) {
    bool blocked = starter == none || lastClass >= unit.combiningClass;
    char32_t joined =
        blocked ? 0 : unicode::compose(units[starter].code, unit.code);
    if (joined != 0) {
      units[starter].code = joined;
      units[starter].change += unit.change - 1;
      continue;
    }
    if (unit.combiningClass == 0) {
      starter = size;
      lastClass = -1;
    } else if (starter != none) {
      lastClass = unit.combiningClass;
    }
    units[size++] = unit;
  }
  units.resize(size);
}

namespace {
/// A Unicode normal form.
struct NormalForm {
  bool composed, compatible;
};
} // namespace

/// True if no character changes by itself or joins the preceding one.
static bool isStable(const Characters &text, NormalForm form) {
  // Below `firstMark`, nothing changes in NFC; below `firstJoining`, no
  // character without a combining class joins the preceding one.
  constexpr char32_t firstMark = 0x300, firstJoining = 0x900;
  return std::all_of(text.begin(), text.end(), [form](const Character &c) {
    if (c.code < 0x80)
      return true;
    if (form.compatible && unicode::decomposeCompatibly(c.code).size != 0)
      return false;
    if (form.composed && c.code < firstMark)
      return true;
    const unicode::Record &record = unicode::getRecord(c.code);
    return !(record.flags & unicode::Decomposes) &&
           record.combiningClass == 0 &&
           !(form.composed && c.code >= firstJoining);
  });
}

static void toNormalForm(Characters &text, NormalForm form) {
  if (isStable(text, form))
    return;
  Units units = Decomposer(form.compatible).run(text);
  if (form.composed)
    compose(units);
  Aligner aligner(text);
  aligner.reserve(units.size());
  for (const Unit &unit : units)
    aligner.add(unit.code, unit.change);
  text = aligner.take();
}

static void lowercase(Characters &text) {
  // In place up to the first character with a longer image.
  auto character = text.begin();
  for (; character != text.end(); ++character) {
    const unicode::Image image = unicode::lowercase(character->code);
    if (image.size != 1)
      break;
    character->code = image.codes[0];
  }
  if (character == text.end())
    return;

  Characters result(text.begin(), character);
  result.reserve(text.size() + 2);
  for (; character != text.end(); ++character) {
    const unicode::Image image = unicode::lowercase(character->code);
    for (unsigned i = 0; i < image.size; ++i)
      result.push_back({image.codes[i], character->begin, character->end});
  }
  text = std::move(result);
}

/// The inserted prefix represents the bytes of the first character.
static void prepend(Characters &text, std::string_view prefix) {
  Characters inserted = getCharacters(prefix);
  for (Character &character : inserted)
    character = {character.code, text[0].begin, text[0].end};
  text.insert(text.begin(), inserted.begin(), inserted.end());
}

static void replace(std::string_view program, std::string_view content,
                    Characters &text) {
  std::optional<Splitter> splitter = Splitter::open(program);
  if (!splitter)
    return;
  Characters result;
  result.reserve(text.size());
  splitter->replace(text, {0, text.size()}, getCharacters(content), result);
  text = std::move(result);
}

static void strip(Characters &text, bool left) {
  auto solid = [](const Character &c) {
    return !unicode::isWhitespace(c.code);
  };
  if (left)
    text.erase(text.begin(), std::find_if(text.begin(), text.end(), solid));
  else
    text.erase(std::find_if(text.rbegin(), text.rend(), solid).base(),
               text.end());
}

void appendBytes(const Character &character, Characters &result) {
  auto append = [&](uint8_t byte) {
    result.push_back({characterOfByte(byte), character.begin, character.end});
  };
  if (character.code < 0x80)
    return append(static_cast<uint8_t>(character.code));
  std::string bytes;
  utf8::append(bytes, character.code);
  for (char byte : bytes)
    append(static_cast<uint8_t>(byte));
}

static void toBytes(Characters &text) {
  Characters result;
  result.reserve(text.size());
  for (const Character &character : text)
    appendBytes(character, result);
  text = std::move(result);
}

static void collapseSpaces(Characters &text) {
  Characters result;
  result.reserve(text.size());
  for (const Character &character : text)
    if (character.code != U' ' ||
        (!result.empty() && result.back().code != U' '))
      result.push_back(character);
  while (!result.empty() &&
         (result.back().code == U' ' || result.back().code == U'\u2581'))
    result.pop_back();
  text = std::move(result);
}

static void removeFlagged(Characters &text, unicode::Flag flag) {
  removeIf(text, [flag](char32_t code) { return unicode::has(code, flag); });
}

static void runStep(const StepList &list, Step step, Characters &text) {
  switch (static_cast<NormalizerStep>(step.kind)) {
  // Steps that only remove or replace characters.
  case NormalizerStep::CleanText:
    return cleanText(text);
  case NormalizerStep::SpaceChinese:
    return spaceChinese(text);
  // Unicode normal forms.
  case NormalizerStep::Decompose:
    return toNormalForm(text, {false, false});
  case NormalizerStep::Compose:
    return toNormalForm(text, {true, false});
  case NormalizerStep::DecomposeCompatibly:
    return toNormalForm(text, {false, true});
  case NormalizerStep::ComposeCompatibly:
    return toNormalForm(text, {true, true});
  // Other character classes and case.
  case NormalizerStep::CleanControls:
    return cleanControls(text);
  case NormalizerStep::RemoveNonspacing:
    return removeFlagged(text, unicode::Nonspacing);
  case NormalizerStep::RemoveMarks:
    return removeFlagged(text, unicode::Mark);
  case NormalizerStep::Lowercase:
    return lowercase(text);
  // Steps with strings from the tables.
  case NormalizerStep::Prepend:
    if (!text.empty())
      prepend(text, list.text(step.first));
    return;
  case NormalizerStep::Replace:
    return replace(list.text(step.first), list.text(step.second), text);
  case NormalizerStep::StripLeft:
  case NormalizerStep::StripRight:
    return strip(text,
                 step.kind == static_cast<uint32_t>(NormalizerStep::StripLeft));
  case NormalizerStep::MapCharacters:
    return (step.option ? mapLongest : mapCharacters)(
        list.text(step.first), list.text(step.second), text);
  case NormalizerStep::CollapseSpaces:
    return collapseSpaces(text);
  case NormalizerStep::ToBytes:
    return toBytes(text);
  }
}

void normalize(const StepList &list, Characters &text) {
  for (size_t i = 0; i < list.steps.size(); ++i)
    runStep(list, list.steps[i], text);
}

std::string toUtf8(const Characters &text) {
  std::string result;
  result.reserve(text.size());
  for (const Character &character : text)
    utf8::append(result, character.code);
  return result;
}

} // namespace transom::tokenizer
