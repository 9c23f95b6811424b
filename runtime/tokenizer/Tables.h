// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of a tokenizer: one position-independent blob of bytes, written at
// compile time and used where it lies. A header and a directory of sections are
// checked when the blob is opened; whatever stands inside a section is checked
// where it is read, so opening costs nothing and no bytes can lead outside.
//
// Numbers are little-endian; sections start at multiples of 8.
#pragma once
#include "runtime/support/Error.h"
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace transom::tokenizer {

inline constexpr char tablesMagic[8] = {'t', 'r', 'n', 's', 'm', 't', 'o', 'k'};
inline constexpr uint32_t tablesVersion = 1;
/// Token ids are below this.
inline constexpr uint32_t idLimit = 0x80000000u;

/// The sections, in the order of the directory.
enum class Section : uint32_t {
  Parameters,        ///< one `Parameters`
  NormalizerSteps,   ///< bytes, `NormalizerStep`
  PreTokenizerSteps, ///< bytes, `PreTokenizerStep`
  SingleTemplate,    ///< `TemplatePiece`s
  PairTemplate,      ///< `TemplatePiece`s
  Vocabulary,        ///< `VocabularyEntry`s by ascending id
  Text,              ///< bytes that the others refer to
  ModelTrie,         ///< `TrieUnit`s, tokens of the model to ids
  AddedTokens,       ///< `AddedToken`s
  AddedNames,        ///< `TrieUnit`s, contents of added tokens to ids
  RawTrie,           ///< `TrieUnit`s, added tokens found in the text as it is
  NormalizedTrie,    ///< `TrieUnit`s, those found in normalized text
};
inline constexpr size_t sectionCount = 12;

/// The kinds of model; byte-level BPE and Unigram take further numbers.
enum class ModelKind : uint32_t { WordPiece = 1 };
/// How ids become text.
enum class DecoderKind : uint32_t {
  JoinWithSpaces = 1, ///< no decoder
  WordPiece,
  Unsupported, ///< its name is in `Parameters::decoderText`
};
/// Which sequence of a pair is cut.
enum class TruncationStrategy : uint32_t {
  LongestFirst = 1,
  OnlyFirst,
  OnlySecond
};
/// The end at which a sequence is cut.
enum class TruncationSide : uint32_t { Right = 1, Left };

/// Bytes of the section `Text`.
struct TextRef {
  uint32_t offset;
  uint32_t length;
};

/// Everything that is one of a kind.
struct Parameters {
  ModelKind model;
  uint32_t unknownId;
  TextRef continuingPrefix;
  uint32_t maxWordCharacters; ///< a longer word is the unknown token
  DecoderKind decoder;
  TextRef decoderText; ///< prefix of the WordPiece decoder
  uint32_t decoderCleanup;
  uint32_t truncationLength; ///< 0: none
  TruncationStrategy truncationStrategy;
  TruncationSide truncationSide;
  uint32_t idEnd; ///< the largest id + 1
  uint32_t reserved;
};

/// What stands at a place of the template.
enum class PieceKind : uint32_t { SequenceA = 1, SequenceB, Token };

struct TemplatePiece {
  PieceKind kind;
  uint32_t id; ///< of a token
  uint32_t typeId;
};

struct VocabularyEntry {
  uint32_t id;
  TextRef text;
  uint32_t special; ///< 1: left out by `decode` on demand
};

/// The bits of `AddedToken::flags`.
enum AddedFlag : uint32_t { SingleWord = 1, LeftStrip = 2, RightStrip = 4 };

struct AddedToken {
  uint32_t id;
  uint32_t flags;
};

/// A state of a double-array trie over bytes. The child of state s for label l
/// is state base(s) + l where that state's check is s + 1. Label 0 ends a key,
/// and base of that child is the key's value; byte b has label b + 1.
struct TrieUnit {
  uint32_t base;
  uint32_t check;
};

/// A section as an array, at any alignment.
template <typename T> class ArrayView {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  ArrayView() = default;
  explicit ArrayView(std::string_view bytes) : bytes(bytes) {}
  size_t size() const { return bytes.size() / sizeof(T); }
  /// i < size().
  T operator[](size_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }

private:
  std::string_view bytes;
};

/// A double-array trie that lies in the tables.
class Trie {
public:
  static constexpr uint32_t root = 0;
  static constexpr uint32_t none = UINT32_MAX;

  Trie() = default;
  explicit Trie(std::string_view bytes) : units(bytes) {}

  bool empty() const { return units.size() == 0; }
  /// The state behind `state` and `byte`, or `none`.
  uint32_t step(uint32_t state, uint8_t byte) const {
    return child(state, byte + 1u);
  }
  /// The same for several bytes.
  uint32_t step(uint32_t state, std::string_view key) const {
    for (size_t i = 0; i < key.size() && state != none; ++i)
      state = step(state, static_cast<uint8_t>(key[i]));
    return state;
  }
  /// The same for the UTF-8 form of a code point.
  uint32_t stepCode(uint32_t state, char32_t code) const;
  /// The value of the key that ends in `state`, or `none`.
  uint32_t value(uint32_t state) const {
    uint32_t end = child(state, 0);
    return end == none ? none : units[end].base;
  }
  /// The value of `key`, or `none`.
  uint32_t find(std::string_view key) const { return value(step(root, key)); }

private:
  uint32_t child(uint32_t state, uint32_t label) const {
    if (state >= units.size())
      return none;
    uint64_t index = uint64_t(units[state].base) + label;
    if (index >= units.size() || units[index].check != state + 1)
      return none;
    return static_cast<uint32_t>(index);
  }

  ArrayView<TrieUnit> units;
};

/// Header of the blob, followed by `sectionCount` of `SectionEntry`.
struct TablesHeader {
  char magic[8];
  uint32_t version;
  uint32_t sections;
  uint64_t size; ///< of the whole blob
};

struct SectionEntry {
  uint64_t offset; ///< from the start of the blob
  uint64_t size;
};

/// A checked view of the blob; the bytes are the caller's and outlive it.
class Tables {
public:
  /// Checks header, directory and parameters. `Rejected` for bytes that no
  /// compiler of this version wrote.
  static Result<Tables> open(std::string_view bytes);

  const Parameters &parameters() const { return params; }
  std::string_view section(Section which) const {
    return sections[static_cast<size_t>(which)];
  }
  template <typename T> ArrayView<T> array(Section which) const {
    return ArrayView<T>(section(which));
  }
  Trie trie(Section which) const { return Trie(section(which)); }
  /// The bytes of `ref`; empty where it points outside.
  std::string_view text(TextRef ref) const;

private:
  Result<void> readDirectory(std::string_view bytes);
  Result<void> checkContents() const;
  Parameters params{};
  std::string_view sections[sectionCount];
};

} // namespace transom::tokenizer
