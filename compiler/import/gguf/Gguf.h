// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The container GGUF: typed metadata and a table of tensors, versions 2 and 3.
// Every count, length and offset is checked against the size of the file before
// anything is reserved or read by it. Data of tensors is not touched.
#pragma once
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/File.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace transom::gguf {

/// The metadata and the table of tensors end within so many bytes.
inline constexpr uint64_t maxHeadBytes = uint64_t(256) << 20;
/// Arrays of arrays nest at most this deep.
inline constexpr unsigned maxArrayDepth = 8;
/// A tensor has at most this many dimensions.
inline constexpr unsigned maxRank = 4;

/// The type of a metadata value, with the numbers of the file.
enum class ValueType : uint32_t {
  Uint8,
  Int8,
  Uint16,
  Int16,
  Uint32,
  Int32,
  Float32,
  Bool,
  String,
  Array,
  Uint64,
  Int64,
  Float64
};

/// `a string`, `an array`, `uint32`, ... as in errors.
std::string_view describe(ValueType type);

/// One checked metadata value: a view into the file.
class Value {
public:
  Value(ValueType type, uint64_t offset, std::string_view bytes)
      : kind(type), at(offset), bytes(bytes) {}
  /// An array of `count` elements, whose bytes follow each other.
  Value(ValueType elementType, uint64_t count, uint64_t offset,
        std::string_view bytes)
      : kind(ValueType::Array), elementKind(elementType), elements(count),
        at(offset), bytes(bytes) {}

  ValueType type() const { return kind; }
  /// The offset of its first byte in the file.
  uint64_t offset() const { return at; }

  /// An integer of any width; nothing for other types and beyond int64.
  std::optional<int64_t> asInt() const;
  /// A float or an integer; nothing for other types.
  std::optional<double> asNumber() const;
  std::optional<bool> asBool() const;
  /// A string, without its length; it is valid UTF-8.
  std::optional<std::string_view> asString() const;

  bool isArray() const { return kind == ValueType::Array; }
  ValueType elementType() const { return elementKind; }
  /// Elements of an array; 0 for other types.
  uint64_t count() const { return elements; }
  /// The elements of an array.
  std::vector<Value> asArray() const;
  /// An array of uint8 or int8; nothing for other types.
  std::optional<std::string_view> asBytes() const;

private:
  ValueType kind, elementKind = ValueType::Uint8;
  uint64_t elements = 0, at;
  std::string_view bytes;
};

/// A key of the metadata and its value.
struct Entry {
  std::string_view key;
  Value value;
};

/// How elements of a tensor are stored: blocks of elements, of some bytes.
struct TensorType {
  uint32_t number; ///< in the file
  const char *name;
  uint32_t blockElements, blockBytes;
  std::optional<DType> dtype; ///< of types without scales
};

/// The type of that number, or null.
const TensorType *findTensorType(uint32_t number);

/// One tensor of a file.
struct Tensor {
  std::string_view name;
  const TensorType *type;
  std::vector<int64_t> shape; ///< row-major; the file has it reversed
  uint64_t begin = 0;         ///< offset of its first byte in the file
  uint64_t end = 0;           ///< offset after its last byte in the file
  uint64_t entry = 0;         ///< offset of its entry in the table
};

/// What the head of a file says; texts lie in the file.
struct Header {
  uint32_t version = 0;
  std::vector<Entry> metadata;
  std::vector<Tensor> tensors; ///< in the order of the table
};

/// Reads and checks the head of a whole GGUF file; `fileName` is for errors,
/// each of which is one line that names the byte. `Unsupported` for versions
/// and types of tensors that are not known.
Result<Header> parseGguf(std::string_view file, const std::string &fileName);

/// A mapped GGUF file with a checked head. Move-only.
class File {
public:
  static Result<File> open(const std::string &path);

  /// The value of a key, or null.
  const Value *find(std::string_view key) const;
  const std::vector<Entry> &metadata() const { return header.metadata; }
  const std::vector<Tensor> &tensors() const { return header.tensors; }
  /// The tensor of that name, or null.
  const Tensor *findTensor(std::string_view name) const;
  const std::string &path() const { return mapped.path(); }
  std::string_view getBytes() const { return mapped.bytes(); }
  /// The tensor's bytes in the file.
  std::string_view getData(const Tensor &tensor) const {
    return getBytes().substr(tensor.begin, tensor.end - tensor.begin);
  }
  /// `FILE: byte N: text` as an error.
  Error error(uint64_t offset, const std::string &text,
              Status status = Status::Rejected) const;
  /// Gives the mapping away; views stay valid as long as it lives.
  MappedFile takeMapped() { return std::move(mapped); }

private:
  MappedFile mapped;
  Header header;
  std::unordered_map<std::string_view, size_t> keys, names;
};

} // namespace transom::gguf
