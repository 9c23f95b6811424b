// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scans JSON bytes. Strings are skipped and the words between them are checked;
// malformed input is reported by the parser.
#include "runtime/json/PythonNumbers.h"
#include <charconv>
#include <limits>

using namespace transom::detail;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static bool isWordByte(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         c == '-' || c == '+' || c == '.' || c == '_';
}

/// Removes leading digits; false if there is no digit.
static bool consumeDigits(std::string_view &word) {
  const size_t begin = word.size();
  while (!word.empty() && isDigit(word.front()))
    word.remove_prefix(1);
  return word.size() != begin;
}

/// True if a word is a JSON number literal.
static bool isNumber(std::string_view word) {
  if (word.substr(0, 1) == "-")
    word.remove_prefix(1);
  const bool startsWithZero = word.substr(0, 1) == "0";
  const size_t digits = word.size();
  if (!consumeDigits(word) || (startsWithZero && digits - word.size() > 1))
    return false;
  if (word.substr(0, 1) == ".") {
    word.remove_prefix(1);
    if (!consumeDigits(word))
      return false;
  }
  if (word.empty() || (word.front() != 'e' && word.front() != 'E'))
    return word.empty();
  word.remove_prefix(1);
  if (!word.empty() && (word.front() == '+' || word.front() == '-'))
    word.remove_prefix(1);
  return consumeDigits(word) && word.empty();
}

/// True if a number literal is too large for a double.
static bool isTooLarge(std::string_view word) {
  constexpr size_t mostSafeDigits = 300;
  const size_t exponent = word.find_first_of("eE");
  if (exponent == std::string_view::npos && word.size() < mostSafeDigits)
    return false;
  double value = 0;
  const auto read =
      std::from_chars(word.data(), word.data() + word.size(), value);
  return read.ec == std::errc::result_out_of_range && isNumber(word) &&
         (exponent == std::string_view::npos || word[exponent + 1] != '-');
}

/// Returns the value for a word that only Python accepts; 0 for all others.
static double getPythonValue(std::string_view word) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (word == "NaN")
    return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity" || word == "-Infinity")
    return word.front() == '-' ? -infinity : infinity;
  if (!isTooLarge(word))
    return 0;
  return word.front() == '-' ? -infinity : infinity;
}

/// The offset after the string that begins at `at`.
static size_t skipString(std::string_view bytes, size_t at) {
  for (++at; at < bytes.size() && bytes[at] != '"'; ++at)
    if (bytes[at] == '\\')
      ++at;
  return at + 1;
}

std::vector<PythonNumber>
transom::detail::replacePythonNumbers(std::string_view bytes,
                                      std::string &copy) {
  std::vector<PythonNumber> numbers;
  for (size_t at = 0; at < bytes.size();) {
    if (bytes[at] == '"') {
      at = skipString(bytes, at);
      continue;
    }
    size_t end = at;
    while (end < bytes.size() && isWordByte(bytes[end]))
      ++end;
    if (end == at) {
      ++at;
      continue;
    }
    if (const double value = getPythonValue(bytes.substr(at, end - at));
        value != 0) {
      if (copy.empty())
        copy = bytes;
      numbers.push_back({static_cast<uint32_t>(at), value});
      // `0.0`, `0.000000`, `-0.000000`
      const size_t first = bytes[at] == '-' ? at + 1 : at;
      copy.replace(first, end - first, end - first, '0');
      copy[first + 1] = '.';
    }
    at = end;
  }
  return numbers;
}
