// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unknown fields are skipped, as in every protocol buffer reader; groups, which
// no version of the format contains, are malformed.
#include "compiler/import/tokenizer/SentencePiece.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

namespace transom::tokenizer {

namespace {
/// A field value's wire format.
enum class Wire : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// A message field.
struct Field {
  uint32_t number = 0;
  Wire wire = Wire::Varint;
  uint64_t value = 0;     ///< for integers
  std::string_view bytes; ///< for strings and messages
  size_t place = 0;       ///< offset in the file
};

/// Iterates over a message's fields.
class Message {
public:
  /// `start` is the message's offset in the file.
  Message(std::string_view bytes, size_t start) : bytes(bytes), start(start) {}

  bool atEnd() const { return at == bytes.size(); }

  Result<Field> next() {
    Field field;
    field.place = start + at;
    // Read the field number and wire format.
    TRANSOM_ASSIGN(uint64_t key, readVarint());
    if (key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3)
      return bad(field.place, "field " + std::to_string(key >> 3));
    field.number = static_cast<uint32_t>(key >> 3);
    field.wire = static_cast<Wire>(key & 7);
    // Read the value.
    switch (field.wire) {
    case Wire::Varint: {
      TRANSOM_ASSIGN(field.value, readVarint());
      return field;
    }
    case Wire::Fixed64: {
      TRANSOM_ASSIGN(field.value, readFixed(8));
      return field;
    }
    case Wire::Fixed32: {
      TRANSOM_ASSIGN(field.value, readFixed(4));
      return field;
    }
    case Wire::Bytes: {
      TRANSOM_ASSIGN(uint64_t size, readVarint());
      if (size > bytes.size() - at)
        return bad(field.place,
                   "field of " + std::to_string(size) + " bytes where " +
                       std::to_string(bytes.size() - at) + " are left");
      field.place = start + at;
      field.bytes = bytes.substr(at, size);
      at += size;
      return field;
    }
    }
    return bad(field.place, "wire type " + std::to_string(key & 7));
  }

  static Error bad(size_t place, const std::string &what) {
    return rejected("malformed SentencePiece model at byte " +
                    std::to_string(place) + ": " + what);
  }

private:
  Result<uint64_t> readVarint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (atEnd())
        return bad(start + at, "cut short");
      uint8_t byte = static_cast<uint8_t>(bytes[at++]);
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80)
        return value;
    }
    return bad(start + at, "number of more than 64 bits");
  }

  Result<uint64_t> readFixed(size_t size) {
    if (size > bytes.size() - at)
      return bad(start + at, "cut short");
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    at += size;
    return value;
  }

  std::string_view bytes;
  size_t start;
  size_t at = 0;
};
} // namespace

/// Calls `read` for each field in a message.
static Result<void>
readFields(std::string_view bytes, size_t start,
           const std::function<Result<void>(const Field &)> &read) {
  Message message(bytes, start);
  while (!message.atEnd()) {
    TRANSOM_ASSIGN(Field field, message.next());
    TRANSOM_TRY(read(field));
  }
  return {};
}

static Result<void> expectWire(const Field &field, Wire wire) {
  if (field.wire == wire)
    return {};
  return Message::bad(
      field.place, "field " + std::to_string(field.number) + " has wire type " +
                       std::to_string(static_cast<uint32_t>(field.wire)) +
                       ", expected " +
                       std::to_string(static_cast<uint32_t>(wire)));
}

static Result<void> readFlag(const Field &field, bool &flag) {
  TRANSOM_TRY(expectWire(field, Wire::Varint));
  flag = field.value != 0;
  return {};
}

/// Reads an enum value from 1 to `last`.
template <typename Enum>
static Result<void> readEnum(const Field &field, Enum last, Enum &value) {
  TRANSOM_TRY(expectWire(field, Wire::Varint));
  if (field.value == 0 || field.value > static_cast<uint32_t>(last))
    return Message::bad(field.place, "field " + std::to_string(field.number) +
                                         " is " + std::to_string(field.value));
  value = static_cast<Enum>(field.value);
  return {};
}

/// Calls `read` for each field in a nested message.
static Result<void>
readMessage(const Field &message,
            const std::function<Result<void>(const Field &)> &read) {
  TRANSOM_TRY(expectWire(message, Wire::Bytes));
  return readFields(message.bytes, message.place, read);
}

/// Longer than any real piece; import time is quadratic in the length.
static constexpr size_t longestPiece = 1024;

static Result<void> readPiece(const Field &message, SentencePieceModel &model) {
  Piece piece;
  TRANSOM_TRY(readMessage(message, [&](const Field &field) -> Result<void> {
    switch (field.number) {
    case 1:
      TRANSOM_TRY(expectWire(field, Wire::Bytes));
      if (!utf8::isValid(field.bytes))
        return Message::bad(field.place, "a piece is not UTF-8");
      if (field.bytes.size() > longestPiece)
        return limitError("a piece of " + std::to_string(field.bytes.size()) +
                          " bytes at byte " + std::to_string(field.place) +
                          "; supported: at most " +
                          std::to_string(longestPiece));
      piece.text = field.bytes;
      return {};
    case 2: {
      TRANSOM_TRY(expectWire(field, Wire::Fixed32));
      uint32_t bits = static_cast<uint32_t>(field.value);
      std::memcpy(&piece.score, &bits, sizeof bits);
      return {};
    }
    case 3:
      return readEnum(field, PieceType::Byte, piece.type);
    default:
      return {};
    }
  }));
  if (piece.text.empty())
    return Message::bad(message.place, "an empty piece");
  model.pieces.push_back(piece);
  return {};
}

static Result<void> readTrainer(const Field &message,
                                SentencePieceModel &model) {
  return readMessage(message, [&](const Field &field) -> Result<void> {
    switch (field.number) {
    case 3:
      return readEnum(field, PieceModel::Char, model.model);
    case 24:
      return readFlag(field, model.spaceAfterWord);
    case 35:
      return readFlag(field, model.byteFallback);
    case 40:
      TRANSOM_TRY(expectWire(field, Wire::Varint));
      model.unknownId =
          static_cast<uint32_t>(std::min<uint64_t>(field.value, UINT32_MAX));
      return {};
    default:
      return {};
    }
  });
}

static Result<void> readNormalizer(const Field &message,
                                   SentencePieceModel &model) {
  return readMessage(message, [&](const Field &field) -> Result<void> {
    switch (field.number) {
    case 2:
      TRANSOM_TRY(expectWire(field, Wire::Bytes));
      model.characterMap = field.bytes;
      return {};
    case 3:
      return readFlag(field, model.addDummyPrefix);
    case 4:
      return readFlag(field, model.removeExtraWhitespaces);
    case 5:
      return readFlag(field, model.escapeWhitespaces);
    default:
      return {};
    }
  });
}

Result<SentencePieceModel> readSentencePiece(std::string_view file) {
  SentencePieceModel model;
  TRANSOM_TRY(readFields(file, 0, [&](const Field &field) -> Result<void> {
    switch (field.number) {
    case 1:
      return readPiece(field, model);
    case 2:
      return readTrainer(field, model);
    case 3:
      return readNormalizer(field, model);
    default:
      return {};
    }
  }));
  if (model.pieces.empty())
    return rejected("malformed SentencePiece model: no pieces");
  return model;
}

} // namespace transom::tokenizer
