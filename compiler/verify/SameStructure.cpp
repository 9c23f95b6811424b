// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares printed modules, so operations and attributes need not be listed.
#include "compiler/verify/SameStructure.h"
#include "passes/Remarks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace transom {

/// True for a digit that begins a number rather than continuing a name or type.
static bool beginsNumber(StringRef text, size_t i) {
  if (!llvm::isDigit(text[i]))
    return false;
  // Tensor type sizes are separated by 'x'.
  return i == 0 || text[i - 1] == 'x' ||
         !(llvm::isAlnum(text[i - 1]) || text[i - 1] == '_');
}

/// The end of the decimal or hexadecimal number that starts at `i`.
static size_t getNumberEnd(StringRef text, size_t i) {
  if (text.substr(i).starts_with("0x") && i + 2 < text.size() &&
      llvm::isHexDigit(text[i + 2])) {
    for (i += 2; i < text.size() && llvm::isHexDigit(text[i]);)
      ++i;
    return i;
  }
  auto isPart = [&](size_t at) {
    const char c = text[at];
    const bool isSign =
        (c == '-' || c == '+') && (text[at - 1] == 'e' || text[at - 1] == 'E');
    const bool isExponent = (c == 'e' || c == 'E') && at + 1 < text.size() &&
                            (llvm::isDigit(text[at + 1]) ||
                             text[at + 1] == '-' || text[at + 1] == '+');
    return llvm::isDigit(c) || c == '.' || isExponent || isSign;
  };
  while (i < text.size() && isPart(i))
    ++i;
  return i;
}

/// Collapses lists with equal elements: `~, ~, ~`, `[~], [~]`.
static void joinLists(std::string &text, StringRef element) {
  const std::string twice = (element + ", " + element).str();
  for (size_t at = text.find(twice); at != std::string::npos;
       at = text.find(twice, at))
    text.erase(at, element.size() + 2);
}

/// Masks an attribute that is an arena offset or arena size, a sum over sizes.
static void maskSums(std::string &text, StringRef attribute) {
  const std::string name = (attribute + " = \"").str();
  for (size_t at = text.find(name); at != std::string::npos;
       at = text.find(name, at)) {
    at += name.size();
    text.replace(at, text.find('"', at) - at, "~");
  }
}

/// Context around the first difference between two lines.
static std::pair<StringRef, StringRef> getDifference(StringRef a, StringRef b) {
  constexpr size_t before = 40, length = 120;
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at])
    ++at;
  const size_t begin = at > before ? at - before : 0;
  return {a.substr(begin, length), b.substr(begin, length)};
}

std::string printStructure(ModuleOp module) {
  OwningOpRef<ModuleOp> copy(module.clone());
  (*copy)->removeAttr(Remarks::attributeName);
  std::string printed, text;
  llvm::raw_string_ostream stream(printed);
  // Alias names contain sizes.
  copy->print(stream, OpPrintingFlags().useLocalScope());
  for (size_t i = 0; i < printed.size();) {
    if (!beginsNumber(printed, i)) {
      text += printed[i++];
      continue;
    }
    if (!text.empty() && text.back() == '-')
      text.pop_back();
    text += '~';
    i = getNumberEnd(printed, i);
  }
  // Some sizes have padded rows to avoid sharing cache sets.
  static constexpr llvm::StringLiteral padding = ", stride ~";
  for (size_t at = text.find(padding); at != std::string::npos;
       at = text.find(padding, at))
    text.erase(at, padding.size());
  for (StringRef attribute :
       {"offset", "kern.arena_bytes", "kern.arena_lower_bound"})
    maskSums(text, attribute);
  for (StringRef element : {"~", "[~]", "[[~]]"})
    joinLists(text, element);
  return text;
}

std::string findStructureDifference(const std::string &a,
                                    const std::string &b) {
  StringRef left(a), right(b);
  while (!left.empty() || !right.empty()) {
    auto [leftLine, leftRest] = left.split('\n');
    auto [rightLine, rightRest] = right.split('\n');
    if (leftLine != rightLine) {
      auto [ours, theirs] = getDifference(leftLine.trim(), rightLine.trim());
      return ("'" + ours + "', not '" + theirs + "'").str();
    }
    left = leftRest;
    right = rightRest;
  }
  return {};
}

} // namespace transom
