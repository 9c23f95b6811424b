// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing JSON: separators, indentation, escapes and stable numbers.
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include <cassert>
#include <charconv>
#include <cmath>

namespace transom {
namespace {

template <typename T> void appendNumber(std::string &out, T number) {
  char text[40];
  auto end = std::to_chars(text, text + sizeof text, number);
  out.append(text, end.ptr);
}

template <typename T> void appendReal(std::string &out, T number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  size_t begin = out.size();
  appendNumber(out, number);
  // A reader would parse plain digits as an integer, which may not fit.
  if (out.find_first_of(".e", begin) == std::string::npos)
    out += ".0";
}

/// Appends `text` between quotes, valid and escaped.
void appendString(std::string &out, std::string_view text) {
  static const char hex[] = "0123456789abcdef";
  out += '"';
  size_t position = 0;
  // Copy valid characters, escape quotes, backslashes and control characters,
  // and replace invalid bytes.
  while (position < text.size()) {
    size_t begin = position;
    bool valid;
    char32_t c = utf8::decode(text, position, valid);
    if (!valid) {
      utf8::append(out, utf8::replacement);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c < 0x20) {
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
    } else {
      out += text.substr(begin, position - begin);
    }
  }
  out += '"';
}

} // namespace

void JsonWriter::newLine() {
  if (indent == 0)
    return;
  out += '\n';
  out.append(hasItems.size() * indent, ' ');
}

void JsonWriter::separate() {
  if (afterKey) {
    afterKey = false;
    return;
  }
  if (hasItems.empty())
    return;
  if (hasItems.back())
    out += ',';
  hasItems.back() = true;
  newLine();
}

void JsonWriter::open(char bracket) {
  separate();
  out += bracket;
  hasItems.push_back(false);
}

void JsonWriter::close(char bracket) {
  assert(!hasItems.empty() && !afterKey && "unbalanced JSON");
  bool any = hasItems.back();
  hasItems.pop_back();
  if (any)
    newLine();
  out += bracket;
}

void JsonWriter::key(std::string_view name) {
  assert(!hasItems.empty() && !afterKey && "key outside of an object");
  separate();
  appendString(out, name);
  out += indent == 0 ? ":" : ": ";
  afterKey = true;
}

void JsonWriter::null() {
  separate();
  out += "null";
}

void JsonWriter::value(bool b) {
  separate();
  out += b ? "true" : "false";
}

void JsonWriter::value(int64_t number) {
  separate();
  appendNumber(out, number);
}

void JsonWriter::value(uint64_t number) {
  separate();
  appendNumber(out, number);
}

void JsonWriter::value(double number) {
  separate();
  appendReal(out, number);
}

void JsonWriter::value(float number) {
  separate();
  appendReal(out, number);
}

void JsonWriter::value(std::string_view text) {
  separate();
  appendString(out, text);
}

} // namespace transom
