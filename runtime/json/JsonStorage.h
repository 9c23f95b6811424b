// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flat form of a JSON document, shared by the parser and the values: one
// record per value in order of appearance, separate lists of children, and all
// texts in one string. A tokenizer's half a million entries take a few
// megabytes.
#pragma once
#include "runtime/json/Json.h"
#include <cstring>
#include <map>

namespace transom::detail {

inline constexpr uint32_t noParent = UINT32_MAX;

/// A value. For arrays and objects `first` and `count` give its slots in
/// `children`; a string's `text` is its place in `texts`.
struct JsonNode {
  union {
    bool boolean;
    int64_t integer;
    uint64_t natural;
    double real;
    uint32_t text;
    struct {
      uint32_t first, count;
    } list;
  };
  uint32_t parent;
  uint32_t offset; ///< of its first byte in the file
  uint32_t key; ///< object member: place of its key in `texts`; element: index
  JsonValue::Kind kind;
  bool isLargeInteger; ///< a `Double` that stands for an integer
};

struct JsonStorage {
  std::string fileName;
  std::vector<JsonNode> nodes;
  std::vector<uint32_t> children; ///< in the file's order
  std::vector<uint32_t> sorted;   ///< objects: the same slots by key
  std::string texts;              ///< each as four bytes of length and bytes
  std::vector<uint32_t> lines;    ///< offsets at which lines begin
  /// What errors name in place of lines and pointers; empty: nothing.
  std::map<std::string, std::string> origins;

  std::string_view text(uint32_t place) const {
    uint32_t size;
    std::memcpy(&size, texts.data() + place, 4);
    return std::string_view(texts).substr(place + 4, size);
  }
  uint32_t addText(std::string_view text) {
    uint32_t place = static_cast<uint32_t>(texts.size());
    uint32_t size = static_cast<uint32_t>(text.size());
    texts.append(reinterpret_cast<const char *>(&size), 4);
    texts.append(text);
    return place;
  }
};

/// `LINE:COL` of an offset.
std::string lineAndColumn(const JsonStorage &storage, uint32_t offset);
/// The JSON pointer of a node.
std::string getPointer(const JsonStorage &storage, uint32_t index);
/// The end of a JSON pointer: `/key` with `~` and `/` escaped.
std::string pointerToken(std::string_view key);
/// `FILE:LINE:COL: 'POINTER'` for a pointer that may be empty.
std::string placeText(const JsonStorage &storage, uint32_t offset,
                      const std::string &pointer);

} // namespace transom::detail
