// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flat representation of a JSON document, shared by the parser and the
// values: one record per value in document order, separate child lists, and one
// buffer for all strings. A tokenizer with half a million entries takes a few
// megabytes.
#pragma once
#include "runtime/json/Json.h"
#include <cstring>
#include <map>

namespace transom::detail {

inline constexpr uint32_t noParent = UINT32_MAX;

/// A value. For arrays and objects `first` and `count` specify its slots in
/// `children`; for a string, `text` is its offset in `texts`.
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
  uint32_t offset; ///< where the value starts in the file
  uint32_t key;    ///< object member: key offset in `texts`; element: index
  JsonValue::Kind kind;
  bool isLargeInteger; ///< a `Double` for an integer beyond 64 bits
};

struct JsonStorage {
  std::string fileName;
  std::vector<JsonNode> nodes;
  std::vector<uint32_t> children; ///< in file order
  std::vector<uint32_t> sorted;   ///< objects: the same slots by key
  std::string texts;              ///< for each, a 4-byte length and the bytes
  std::vector<uint32_t> lines;    ///< line start offsets
  /// Names for errors, in place of lines and pointers; may be empty.
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

/// Formats an offset as `LINE:COL`.
std::string lineAndColumn(const JsonStorage &storage, uint32_t offset);
/// Returns a node's JSON pointer.
std::string getPointer(const JsonStorage &storage, uint32_t index);
/// Returns the last token for a JSON pointer: `/key` with `~` and `/` escaped.
std::string pointerToken(std::string_view key);
/// `FILE:LINE:COL: 'POINTER'`; the pointer may be empty.
std::string placeText(const JsonStorage &storage, uint32_t offset,
                      const std::string &pointer);

} // namespace transom::detail
