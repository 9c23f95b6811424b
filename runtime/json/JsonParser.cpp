// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds a document from nlohmann's SAX events. The events have no position, so
// the input iterator counts consumed bytes; a value starts at the first byte
// after the last event that is neither a space nor a separator. Nothing throws:
// the SAX interface reports errors as events.
#include "runtime/json/JsonParser.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/JsonStorage.h"
#include "runtime/json/PythonNumbers.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace transom {
namespace {
using detail::JsonNode;
using detail::JsonStorage;
using detail::PythonNumber;
using Kind = JsonValue::Kind;

/// An input iterator that stores the parser's position in an external variable.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(const char *at, const char **place) : at(at), place(place) {}
  reference operator*() const { return *at; }
  CountingIterator &operator++() {
    *place = ++at;
    return *this;
  }
  bool operator==(const CountingIterator &other) const {
    return at == other.at;
  }
  bool operator!=(const CountingIterator &other) const {
    return at != other.at;
  }

private:
  const char *at;
  const char **place;
};

bool isSpaceOrSeparator(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',' ||
         c == ':';
}
bool isNumberByte(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' ||
         c == 'e' || c == 'E';
}

/// Receives the events and appends nodes.
class Builder {
public:
  /// `python` contains the numbers for the placeholders in `bytes`, by offset.
  Builder(std::string_view bytes, JsonStorage &storage, JsonNumbers numbers,
          const std::vector<PythonNumber> &python)
      : bytes(bytes), place(bytes.data()), storage(storage), numbers(numbers),
        nextNumber(python.begin()), endOfNumbers(python.end()) {}

  const char **parserPlace() { return &place; }
  Error takeError() { return std::move(failure); }

  bool null() { return addScalar(Kind::Null); }
  bool boolean(bool value) {
    return addScalar(Kind::Bool, [&](JsonNode &n) { n.boolean = value; });
  }
  bool number_integer(int64_t value) {
    return addScalar(Kind::Int64, [&](JsonNode &n) { n.integer = value; });
  }
  bool number_unsigned(uint64_t value) {
    if (value <= static_cast<uint64_t>(INT64_MAX))
      return number_integer(static_cast<int64_t>(value));
    return addScalar(Kind::Uint64, [&](JsonNode &n) { n.natural = value; });
  }
  bool number_float(double value, const std::string &text) {
    // The lexer turns an integer that does not fit into a float.
    const bool isLarge = text.find_first_of(".eE") == std::string::npos;
    if (numbers == JsonNumbers::Strict && isLarge)
      return fail(nextToken(), "integer '" + utf8::printable(text, 40) +
                                   "' does not fit 64 bits");
    const uint32_t offset = nextToken();
    if (nextNumber != endOfNumbers && nextNumber->offset == offset)
      value = (nextNumber++)->value;
    return addScalar(Kind::Double, [&](JsonNode &n) {
      n.real = value;
      n.isLargeInteger = isLarge;
    });
  }
  bool string(const std::string &value) {
    return addScalar(Kind::String,
                     [&](JsonNode &n) { n.text = storage.addText(value); });
  }
  bool binary(const nlohmann::json::binary_t &) {
    return fail(nextToken(), "unexpected binary value");
  }
  bool start_object(size_t) { return openList(Kind::Object); }
  bool start_array(size_t) { return openList(Kind::Array); }
  bool key(const std::string &name) {
    open.back().key = storage.addText(name);
    lastEnd = place - bytes.data();
    return true;
  }
  bool end_array() {
    closeList();
    return true;
  }
  bool end_object() {
    uint32_t index = closeList();
    return sortMembers(index);
  }
  template <typename Exception>
  bool parse_error(size_t position, const std::string &token,
                   const Exception &exception) {
    return fail(errorOffset(position, exception.what()),
                describe(exception.what()));
  }

private:
  /// An unfinished list.
  struct Open {
    uint32_t node;
    size_t pendingBegin; // its children are pending[pendingBegin...]
    uint32_t key = 0;    // for the next member
  };

  /// The offset after the last event where a token starts. For a number the
  /// parser has read one byte ahead, so its end is found by scanning.
  uint32_t nextToken() {
    size_t at = lastEnd;
    while (at < bytes.size() && isSpaceOrSeparator(bytes[at]))
      ++at;
    return static_cast<uint32_t>(at);
  }

  uint32_t addNode(Kind kind) {
    JsonNode node;
    node.natural = 0;
    node.isLargeInteger = false;
    node.kind = kind;
    node.offset = nextToken();
    node.parent = open.empty() ? detail::noParent : open.back().node;
    node.key = 0;
    uint32_t index = static_cast<uint32_t>(storage.nodes.size());
    if (!open.empty()) {
      Open &list = open.back();
      bool inObject = storage.nodes[list.node].kind == Kind::Object;
      node.key =
          inObject ? list.key
                   : static_cast<uint32_t>(pending.size() - list.pendingBegin);
      pending.push_back(index);
      list.key = 0;
    }
    storage.nodes.push_back(node);
    lastEnd = place - bytes.data();
    return index;
  }

  template <typename Set> bool addScalar(Kind kind, Set set) {
    uint32_t index = addNode(kind);
    JsonNode &node = storage.nodes[index];
    set(node);
    if (bytes[node.offset] == '-' ||
        (bytes[node.offset] >= '0' && bytes[node.offset] <= '9')) {
      lastEnd = node.offset;
      while (lastEnd < bytes.size() && isNumberByte(bytes[lastEnd]))
        ++lastEnd;
    }
    return true;
  }
  bool addScalar(Kind kind) {
    return addScalar(kind, [](JsonNode &) {});
  }

  bool openList(Kind kind) {
    if (open.size() == jsonMaxDepth)
      return fail(nextToken(), "nested deeper than the limit of " +
                                   std::to_string(jsonMaxDepth) + " levels");
    uint32_t index = addNode(kind);
    open.push_back({index, pending.size()});
    return true;
  }

  uint32_t closeList() {
    Open list = open.back();
    open.pop_back();
    JsonNode &node = storage.nodes[list.node];
    node.list.first = static_cast<uint32_t>(storage.children.size());
    node.list.count = static_cast<uint32_t>(pending.size() - list.pendingBegin);
    storage.children.insert(storage.children.end(),
                            pending.begin() + list.pendingBegin, pending.end());
    storage.sorted.resize(storage.children.size());
    pending.resize(list.pendingBegin);
    lastEnd = place - bytes.data();
    return list.node;
  }

  /// Sorts an object's members by key; a duplicate key fails at its first
  /// repetition.
  bool sortMembers(uint32_t index) {
    const JsonNode &node = storage.nodes[index];
    auto begin = storage.sorted.begin() + node.list.first;
    auto end = begin + node.list.count;
    std::copy_n(storage.children.begin() + node.list.first, node.list.count,
                begin);
    auto getKey = [&](uint32_t child) {
      return storage.text(storage.nodes[child].key);
    };
    std::sort(begin, end, [&](uint32_t a, uint32_t b) {
      int order = getKey(a).compare(getKey(b));
      return order != 0 ? order < 0 : a < b;
    });
    uint32_t repeated = UINT32_MAX;
    for (auto it = begin; it != end && it + 1 != end; ++it)
      if (getKey(it[0]) == getKey(it[1]))
        repeated = std::min(repeated, it[1]);
    if (repeated == UINT32_MAX)
      return true;
    std::string pointer = detail::getPointer(storage, index);
    failure = rejected(
        detail::placeText(storage, storage.nodes[repeated].offset, pointer) +
        ": duplicate key '" + utf8::printable(getKey(repeated)) + "'");
    return false;
  }

  bool fail(size_t offset, const std::string &text) {
    std::string pointer;
    if (!open.empty()) {
      const Open &list = open.back();
      pointer = detail::getPointer(storage, list.node);
      if (storage.nodes[list.node].kind == Kind::Array)
        pointer += "/" + std::to_string(pending.size() - list.pendingBegin);
      else if (list.key != 0)
        pointer += detail::pointerToken(storage.text(list.key));
    }
    failure = rejected(
        detail::placeText(storage, static_cast<uint32_t>(offset), pointer) +
        ": " + text);
    return false;
  }

  /// An invalid byte inside a token has its own offset, an unexpected token has
  /// its start offset.
  size_t errorOffset(size_t position, std::string_view what) {
    if (what.find("unexpected end of input") != std::string_view::npos)
      return bytes.size();
    size_t last = position == 0 ? 0 : std::min(position, bytes.size()) - 1;
    if (what.find("; last read: ") != std::string_view::npos)
      return std::min(last, bytes.empty() ? 0 : bytes.size() - 1);
    return std::min<size_t>(nextToken(), last);
  }

  /// The reason in nlohmann's message, without its prefix and without the last
  /// token, which may be long and unprintable.
  static std::string describe(std::string_view what) {
    if (what.find("number overflow") != std::string_view::npos)
      return "number is out of the range of a double";
    size_t begin = what.find(" - ");
    std::string_view reason =
        begin == std::string_view::npos ? what : what.substr(begin + 3);
    constexpr std::string_view prefix = "invalid string: ";
    if (reason.substr(0, prefix.size()) == prefix)
      reason.remove_prefix(prefix.size());
    size_t last = reason.find("; last read: ");
    std::string text(reason.substr(0, last));
    if (last != std::string_view::npos) {
      size_t expected = reason.rfind("; expected ");
      if (expected != std::string_view::npos && expected > last)
        text += reason.substr(expected);
    }
    return utf8::printable(text, 200);
  }

  std::string_view bytes;
  const char *place; // after the consumed bytes
  JsonStorage &storage;
  JsonNumbers numbers;
  std::vector<PythonNumber>::const_iterator nextNumber, endOfNumbers;
  std::vector<Open> open;
  std::vector<uint32_t> pending; // children in unfinished lists
  size_t lastEnd = 0;            // offset after the last event's token
  Error failure;
};

std::vector<uint32_t> findLines(std::string_view bytes) {
  std::vector<uint32_t> lines{0};
  for (size_t at = bytes.find('\n'); at != std::string_view::npos;
       at = bytes.find('\n', at + 1))
    lines.push_back(static_cast<uint32_t>(at + 1));
  return lines;
}

} // namespace

Result<JsonDocument> parseJson(std::string_view bytes,
                               const std::string &fileName) {
  return parseJson(bytes, fileName, JsonNumbers::Strict);
}

Result<JsonDocument> parseJson(std::string_view bytes,
                               const std::string &fileName,
                               JsonNumbers numbers) {
  if (bytes.size() > jsonMaxBytes)
    return rejected(fileName + ": JSON of " + std::to_string(bytes.size()) +
                    " bytes is over the limit of " +
                    std::to_string(jsonMaxBytes));
  auto storage = std::make_shared<JsonStorage>();
  storage->fileName = fileName;
  storage->lines = findLines(bytes);
  storage->texts.assign(4, '\0'); // so that offset 0 is not a key
  auto failAt = [&](size_t offset, const char *text) {
    return rejected(
        detail::placeText(*storage, static_cast<uint32_t>(offset), "") + ": " +
        text);
  };
  // The lexer would skip a byte order mark and stop at a NUL byte.
  if (bytes.substr(0, 3) == "\xEF\xBB\xBF")
    return failAt(0, "begins with a byte order mark; expected a value");
  if (size_t nul = bytes.find('\0'); nul != std::string_view::npos)
    return failAt(nul, "unexpected NUL byte");
  if (size_t bad = utf8::firstInvalid(bytes); bad != std::string_view::npos)
    return failAt(bad, "invalid UTF-8");

  std::string copy;
  std::vector<PythonNumber> python;
  if (numbers == JsonNumbers::Python)
    python = detail::replacePythonNumbers(bytes, copy);
  if (!copy.empty())
    bytes = copy;

  Builder builder(bytes, *storage, numbers, python);
  CountingIterator begin(bytes.data(), builder.parserPlace());
  CountingIterator end(bytes.data() + bytes.size(), builder.parserPlace());
  if (!nlohmann::json::sax_parse(begin, end, &builder))
    return builder.takeError();
  storage->texts.shrink_to_fit();
  return JsonDocument(std::move(storage));
}

Result<JsonDocument> parseJsonFile(const std::string &path,
                                   JsonNumbers numbers) {
  TRANSOM_ASSIGN(MappedFile file, MappedFile::open(path));
  return parseJson(file.bytes(), path, numbers);
}

Result<JsonDocument> parseJsonFile(const std::string &path) {
  return parseJsonFile(path, JsonNumbers::Strict);
}

} // namespace transom
