// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each step makes the next list of characters. A character that a step inserts
// stands for the same bytes as the one before it; canonical ordering permutes
// the characters but not the bytes they stand for, as Hugging Face has it.
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/support/Utf8.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>

namespace transom::tokenizer {

Characters charactersOf(std::string_view text) {
  Characters characters;
  characters.reserve(text.size());
  for (size_t position = 0; position < text.size();) {
    uint32_t begin = static_cast<uint32_t>(position);
    char32_t code = utf8::decode(text, position);
    characters.push_back({code, begin, static_cast<uint32_t>(position)});
  }
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
/// A decomposed character on its way through canonical ordering.
struct Pending {
  char32_t code;
  uint8_t combiningClass;
  bool first; ///< the first character of what it was decomposed from
};

/// Decomposition with the alignment that Hugging Face gives it: in their final
/// order, the firsts take the places of the source characters one after the
/// other, and the rest share the place before them.
class Decomposer {
public:
  explicit Decomposer(const Characters &source) : source(source) {
    result.reserve(source.size());
  }

  Characters run() {
    for (const Character &character : source) {
      unicode::Image image = unicode::decompose(character.code);
      for (unsigned i = 0; i < image.size; ++i)
        add(image.codes[i], i == 0);
    }
    flush();
    return std::move(result);
  }

private:
  void add(char32_t code, bool first) {
    uint8_t combiningClass = unicode::recordOf(code).combiningClass;
    if (combiningClass == 0)
      flush();
    pending.push_back({code, combiningClass, first});
  }

  void flush() {
    orderPending();
    for (const Pending &p : pending) {
      if (p.first)
        ++taken;
      const Character &place = source[taken == 0 ? 0 : taken - 1];
      result.push_back({p.code, place.begin, place.end});
    }
    pending.clear();
  }

  /// Sorts by combining class, stably and in linear time.
  void orderPending() {
    auto before = [](const Pending &a, const Pending &b) {
      return a.combiningClass < b.combiningClass;
    };
    if (std::is_sorted(pending.begin(), pending.end(), before))
      return;
    size_t places[257] = {};
    for (const Pending &p : pending)
      ++places[p.combiningClass + 1];
    for (size_t i = 1; i < 257; ++i)
      places[i] += places[i - 1];
    ordered.resize(pending.size());
    for (const Pending &p : pending)
      ordered[places[p.combiningClass]++] = p;
    pending.swap(ordered);
  }

  const Characters &source;
  Characters result;
  std::vector<Pending> pending, ordered;
  size_t taken = 0;
};
} // namespace

static void decompose(Characters &text) {
  bool stable = std::all_of(text.begin(), text.end(), [](const Character &c) {
    const unicode::Record &record = unicode::recordOf(c.code);
    return !(record.flags & unicode::Decomposes) && record.combiningClass == 0;
  });
  if (!stable)
    text = Decomposer(text).run();
}

static void lowercase(Characters &text) {
  Characters result;
  result.reserve(text.size());
  for (const Character &character : text) {
    unicode::Image image = unicode::lowercase(character.code);
    for (unsigned i = 0; i < image.size; ++i)
      result.push_back({image.codes[i], character.begin, character.end});
  }
  text = std::move(result);
}

void normalize(std::string_view steps, Characters &text) {
  for (char step : steps) {
    switch (static_cast<NormalizerStep>(step)) {
    case NormalizerStep::CleanText:
      cleanText(text);
      break;
    case NormalizerStep::SpaceChinese:
      spaceChinese(text);
      break;
    case NormalizerStep::Decompose:
      decompose(text);
      break;
    case NormalizerStep::RemoveNonspacing:
      removeIf(text, [](char32_t code) {
        return unicode::has(code, unicode::Nonspacing);
      });
      break;
    case NormalizerStep::RemoveMarks:
      removeIf(text,
               [](char32_t code) { return unicode::has(code, unicode::Mark); });
      break;
    case NormalizerStep::Lowercase:
      lowercase(text);
      break;
    }
  }
}

std::string toUtf8(const Characters &text) {
  std::string result;
  result.reserve(text.size());
  for (const Character &character : text)
    utf8::append(result, character.code);
  return result;
}

} // namespace transom::tokenizer
