// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GGUF container: typed metadata and a tensor table, versions 2 and 3. Every
// count, length and offset is checked against the file size before it is used
// to reserve memory or read. Tensor data is not read.
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

/// Max size in bytes for metadata and tensor table together.
inline constexpr uint64_t maxHeadBytes = uint64_t(256) << 20;
/// Max nesting depth for arrays.
inline constexpr unsigned maxArrayDepth = 8;
/// Max tensor rank.
inline constexpr unsigned maxRank = 4;

/// Metadata value type, with the type ids used in files.
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

/// Returns `a string`, `an array`, `uint32`, ... for errors.
std::string_view describe(ValueType type);

/// One checked metadata value: a view into the file.
class Value {
public:
  Value(ValueType type, uint64_t offset, std::string_view bytes)
      : kind(type), at(offset), bytes(bytes) {}
  /// An array with `count` contiguous elements.
  Value(ValueType elementType, uint64_t count, uint64_t offset,
        std::string_view bytes)
      : kind(ValueType::Array), elementKind(elementType), elements(count),
        at(offset), bytes(bytes) {}

  ValueType type() const { return kind; }
  /// File offset in bytes.
  uint64_t offset() const { return at; }

  /// Returns an integer; nullopt for other types and values beyond int64.
  std::optional<int64_t> asInt() const;
  /// Returns a float or an integer; nullopt for other types.
  std::optional<double> asNumber() const;
  std::optional<bool> asBool() const;
  /// Returns a string without its length field; it is valid UTF-8.
  std::optional<std::string_view> asString() const;

  bool isArray() const { return kind == ValueType::Array; }
  ValueType elementType() const { return elementKind; }
  /// Array length; 0 for other types.
  uint64_t count() const { return elements; }
  /// Returns the array elements.
  std::vector<Value> asArray() const;
  /// Returns an array's uint8 or int8 bytes; nullopt for other types.
  std::optional<std::string_view> asBytes() const;

private:
  ValueType kind, elementKind = ValueType::Uint8;
  uint64_t elements = 0, at;
  std::string_view bytes;
};

/// A metadata key and its value.
struct Entry {
  std::string_view key;
  Value value;
};

/// Tensor element storage: blocks with a fixed number of elements and bytes.
struct TensorType {
  uint32_t number; ///< type id in files
  const char *name;
  uint32_t blockElements, blockBytes;
  std::optional<DType> dtype; ///< for types without scales
};

/// Returns the type with this id, or null.
const TensorType *findTensorType(uint32_t number);

/// A tensor in a file.
struct Tensor {
  std::string_view name;
  const TensorType *type;
  std::vector<int64_t> shape; ///< row-major; the file has it reversed
  uint64_t begin = 0;         ///< file offset in bytes
  uint64_t end = 0;           ///< file offset after its last byte
  uint64_t entry = 0;         ///< file offset of its table entry
};

/// A file header; strings are views into the file.
struct Header {
  uint32_t version = 0;
  std::vector<Entry> metadata;
  std::vector<Tensor> tensors; ///< in table order
};

/// Reads and checks the header of a complete GGUF file; `fileName` is used in
/// errors, which are one line with the byte offset. `Unsupported` for unknown
/// versions and tensor types.
Result<Header> parseGguf(std::string_view file, const std::string &fileName);

/// A mapped GGUF file with a checked header. Move-only.
class File {
public:
  static Result<File> open(const std::string &path);

  /// Returns a key's value, or null.
  const Value *find(std::string_view key) const;
  const std::vector<Entry> &metadata() const { return header.metadata; }
  const std::vector<Tensor> &tensors() const { return header.tensors; }
  /// Returns the tensor with this name, or null.
  const Tensor *findTensor(std::string_view name) const;
  const std::string &path() const { return mapped.path(); }
  std::string_view getBytes() const { return mapped.bytes(); }
  /// The tensor's bytes in the file.
  std::string_view getData(const Tensor &tensor) const {
    return getBytes().substr(tensor.begin, tensor.end - tensor.begin);
  }
  /// Returns the error `FILE: byte N: text`.
  Error error(uint64_t offset, const std::string &text,
              Status status = Status::Rejected) const;
  /// Releases the mapping; views are valid as long as the mapping exists.
  MappedFile takeMapped() { return std::move(mapped); }

private:
  MappedFile mapped;
  Header header;
  std::unordered_map<std::string_view, size_t> keys, names;
};

} // namespace transom::gguf
