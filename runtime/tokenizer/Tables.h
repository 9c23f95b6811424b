// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizer tables: one position-independent blob, written at compile time and
// used in place. The header and the section directory are checked when the blob
// is opened; section contents are checked on access, so opening is cheap and
// malformed bytes cannot cause an access outside the blob.
//
// Integers are little-endian; sections are aligned to 8 bytes.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace transom::tokenizer {

inline constexpr char tablesMagic[8] = {'t', 'r', 'n', 's', 'm', 't', 'o', 'k'};
inline constexpr uint32_t tablesVersion = 9;
/// Token ids are below this limit.
inline constexpr uint32_t idLimit = 0x80000000u;

/// Sections in directory order.
enum class Section : uint32_t {
  Parameters,        ///< one `Parameters`
  NormalizerSteps,   ///< `Step`s, kind is a `NormalizerStep`
  PreTokenizerSteps, ///< `Step`s, kind is a `PreTokenizerStep`
  DecoderSteps,      ///< `Step`s, kind is a `DecoderStep`
  SingleTemplate,    ///< `TemplateItem`s
  PairTemplate,      ///< `TemplateItem`s
  Vocabulary,        ///< `VocabularyEntry`s by ascending id
  Text,              ///< bytes that other sections refer to
  ModelTrie,         ///< `TrieUnit`s, from model tokens to ids, with `wholeBit`
  AddedTokens,       ///< `AddedToken`s
  AddedNames,        ///< `TrieUnit`s, from added tokens' contents to ids
  RawTrie,           ///< `TrieUnit`s, added tokens found in unnormalized text
  NormalizedTrie,    ///< `TrieUnit`s, added tokens found in normalized text
  Merges,            ///< `MergeSlot`s, a hash table with pairs as keys
  MergeResults,      ///< u32, each merge's token by rank
  ByteTokens,        ///< u32, tokens for the bytes 0 to 255 or `Trie::none`
  Scores,    ///< f64 by id, NaN if the id is not found in text; a Unigram model
             ///< has one more, for an unknown character; an id from
             ///< `Parameters::idEnd` on means the unknown token. Empty for most
             ///< BPE models
  Languages, ///< `LanguageEntry`s, sorted by name
  Target,    ///< tables for target-language texts; empty: use these tables
  Shortlist, ///< `ShortlistHeader`, u32 offsets to each source token's
             ///< targets and to their end, u32 targets; empty: none
};
inline constexpr size_t sectionCount = 20;

/// Model kinds.
enum class ModelKind : uint32_t { WordPiece = 1, Bpe, Unigram, WordLevel };
/// Decoder stages, which convert ids to text.
enum class DecoderStep : uint32_t {
  JoinWithSpaces = 1, ///< no decoder: spaces between tokens
  WordPiece,          ///< `first` is the continuing prefix, option 1: clean up
  ByteLevel,          ///< characters that represent bytes
  ByteFallback,       ///< tokens `<0xAB>` that represent bytes
  Fuse,               ///< join all tokens into one
  Strip, ///< drop characters `first` at both token ends: option at the
         ///< start, second option at the end
  StripWhitespace, ///< drop whitespace at both text ends
  Replace, ///< each `first` becomes `second`; option 1: each match for program
           ///< `first` in a token
  Metaspace,   ///< `first` becomes a space; option 1: not at the start
  WordEnd,     ///< `first` becomes a space, except in the last token
  CleanUp,     ///< drop spaces before punctuation in the entire text
  Unsupported, ///< `first` is its name
};
/// The sequences that truncation may shorten.
enum class TruncationStrategy : uint32_t {
  LongestFirst = 1,
  OnlyFirst,
  OnlySecond
};
/// The end at which a sequence is truncated.
enum class TruncationSide : uint32_t { Right = 1, Left };

/// A byte range in the section `Text`.
struct TextRef {
  uint32_t offset;
  uint32_t length;
};

/// A normalizer, pre-tokenizer or decoder step; the kind defines the other
/// fields.
struct Step {
  uint32_t kind;
  uint32_t option;
  uint32_t secondOption;
  TextRef first, second;
};

/// Bits in `Parameters::flags`.
enum ModelFlag : uint32_t {
  FuseUnknown = 1,    ///< adjacent unknown characters are one token
  ByteFallback = 2,   ///< an unknown character becomes its byte tokens
  IgnoreMerges = 4,   ///< a word that is a token needs no merges
  TrimOffsets = 8,    ///< offsets exclude spaces at both ends of a token
  PrefixSpace = 16,   ///< except a first space, which was added before the text
  SingleScores = 32,  ///< score sums are rounded to single precision
  LanguageCodes = 64, ///< a leading `>>xx<<` is one token
  SeparateSpaces = 128, ///< no BPE token has U+2581 after another character
};

/// The tokenizer's scalar parameters.
struct Parameters {
  ModelKind model;
  uint32_t unknownId; ///< `Trie::none`: the model has no unknown token
  TextRef continuingPrefix;
  TextRef wordSuffix;         ///< appended to a word's last token
  uint32_t maxWordCharacters; ///< a longer word is the unknown token
  uint32_t flags;             ///< `ModelFlag`s
  uint32_t mergeProbe;        ///< slots in `Merges` to probe for a pair
  uint32_t truncationLength;  ///< 0: none
  TruncationStrategy truncationStrategy;
  TruncationSide truncationSide;
  uint32_t idEnd; ///< the largest id + 1
};

/// Template item kinds.
enum class TemplateItemKind : uint32_t {
  SequenceA = 1,
  SequenceB,
  Token,
  SourceLanguage, ///< the source language's token, by default `id`
};
/// True for an item that is one token.
inline bool isToken(TemplateItemKind kind) {
  return kind == TemplateItemKind::Token ||
         kind == TemplateItemKind::SourceLanguage;
}

struct TemplateItem {
  TemplateItemKind kind;
  uint32_t id; ///< if the item is a token
  uint32_t typeId;
};

struct VocabularyEntry {
  uint32_t id;
  TextRef text;
  uint32_t special; ///< 1: `decode` skips it on request
};

/// A language and its token.
struct LanguageEntry {
  uint32_t id;
  TextRef name;
};

/// Bits in `AddedToken::flags`.
enum AddedFlag : uint32_t { SingleWord = 1, LeftStrip = 2, RightStrip = 4 };

struct AddedToken {
  uint32_t id;
  uint32_t flags;
};

/// Lexical shortlist header.
struct ShortlistHeader {
  uint32_t first;        ///< the first N target ids are in every list
  uint32_t copiesSource; ///< 1: source tokens are also in the list
  uint32_t numSources;   ///< followed by one more offsets than this
};

/// A state in a double-array trie over bytes. The child of state s for label l
/// is state base(s) + l if that state's check is s + 1. Label 0 ends a key, and
/// that child's base is the key's value; byte b has label b + 1.
struct TrieUnit {
  uint32_t base;
  uint32_t check;
};

/// Bit in a `ModelTrie` value: a BPE always encodes this token's text as this
/// single token.
inline constexpr uint32_t wholeBit = 0x80000000u;

/// A merge that joins two tokens. Among all applicable merges, the lowest rank
/// is applied first. A merge is stored in the first free slot from `mergeHome`
/// on.
struct MergeSlot {
  uint32_t left, right;
  uint32_t rank; ///< `Trie::none` in a free slot
};

/// Returns the slot, below `count`, where the search for a pair begins.
inline uint64_t mergeHome(uint32_t left, uint32_t right, uint64_t count) {
  uint64_t key = uint64_t(left) << 32 | right;
  uint64_t hash = key * 0x9E3779B97F4A7C15u;
  return ((hash >> 32) * count) >> 32;
}

/// A section as an array, with any alignment.
template <typename T> class ArrayView {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  ArrayView() = default;
  explicit ArrayView(std::string_view bytes) : bytes(bytes) {}
  size_t size() const { return bytes.size() / sizeof(T); }
  /// Requires i < size().
  T operator[](size_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }

private:
  std::string_view bytes;
};

/// Steps and the pool with their strings.
struct StepList {
  ArrayView<Step> steps;
  std::string_view pool;

  /// Returns the bytes of `ref`; empty if it points outside the pool.
  std::string_view text(TextRef ref) const {
    if (ref.offset > pool.size() || ref.length > pool.size() - ref.offset)
      return {};
    return pool.substr(ref.offset, ref.length);
  }
};

/// A double-array trie inside the tables.
class Trie {
public:
  static constexpr uint32_t root = 0;
  static constexpr uint32_t none = UINT32_MAX;

  Trie() = default;
  explicit Trie(std::string_view bytes) : units(bytes) {}

  bool empty() const { return units.size() == 0; }
  /// Returns the state after `state` and `byte`, or `none`.
  uint32_t step(uint32_t state, uint8_t byte) const {
    return child(state, byte + 1u);
  }
  /// The same for several bytes.
  uint32_t step(uint32_t state, std::string_view key) const {
    for (size_t i = 0; i < key.size() && state != none; ++i)
      state = step(state, static_cast<uint8_t>(key[i]));
    return state;
  }
  /// The same for a code point's UTF-8 bytes.
  uint32_t stepCode(uint32_t state, char32_t code) const {
    return code < 0x80 ? step(state, static_cast<uint8_t>(code))
                       : stepLong(state, code);
  }
  /// Returns the value if a key ends in `state`, or `none`.
  uint32_t value(uint32_t state) const {
    uint32_t end = child(state, 0);
    return end == none ? none : units[end].base;
  }
  /// Returns the value of `key`, or `none`.
  uint32_t find(std::string_view key) const { return value(step(root, key)); }
  /// Returns the unit that holds the value of `key`, or `none`.
  uint32_t findUnit(std::string_view key) const {
    return child(step(root, key), 0);
  }

private:
  uint32_t stepLong(uint32_t state, char32_t code) const;
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

/// Blob header, followed by `sectionCount` `SectionEntry`s.
struct TablesHeader {
  char magic[8];
  uint32_t version;
  uint32_t sections;
  uint64_t size; ///< blob size in bytes
};

struct SectionEntry {
  uint64_t offset; ///< from the blob start
  uint64_t size;
};

/// A checked view of the blob; the caller owns the bytes, which must outlive
/// it.
class Tables {
public:
  /// Checks the directory, parameters, steps and templates. Returns `Rejected`
  /// for bytes that no compiler of this version wrote.
  static Result<Tables> open(std::string_view bytes);

  const Parameters &parameters() const { return params; }
  std::string_view section(Section which) const {
    return sections[static_cast<size_t>(which)];
  }
  template <typename T> ArrayView<T> array(Section which) const {
    return ArrayView<T>(section(which));
  }
  Trie trie(Section which) const { return Trie(section(which)); }
  /// Returns the bytes of `ref`; empty if it points outside the text section.
  std::string_view text(TextRef ref) const {
    return steps(Section::Text).text(ref);
  }
  /// Returns the entry for an id, if it has one.
  std::optional<VocabularyEntry> entry(int64_t id) const;
  StepList steps(Section which) const {
    return {array<Step>(which), section(Section::Text)};
  }

private:
  Result<void> readDirectory(std::string_view bytes);
  Result<void> checkContents() const;
  Parameters params{};
  std::string_view sections[sectionCount];
};

} // namespace transom::tokenizer
