// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of a tokenizer: one position-independent blob of bytes, written at
// compile time and used where it lies. A header and a directory of sections are
// checked when the blob is opened; the contents of a section are checked
// where it is read, so opening costs nothing and no bytes can lead outside.
//
// Numbers are little-endian; sections start at multiples of 8.
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
/// Token ids are below this.
inline constexpr uint32_t idLimit = 0x80000000u;

/// The sections, in the order of the directory.
enum class Section : uint32_t {
  Parameters,        ///< one `Parameters`
  NormalizerSteps,   ///< `Step`s of kind `NormalizerStep`
  PreTokenizerSteps, ///< `Step`s of kind `PreTokenizerStep`
  DecoderSteps,      ///< `Step`s of kind `DecoderStep`
  SingleTemplate,    ///< `TemplateItem`s
  PairTemplate,      ///< `TemplateItem`s
  Vocabulary,        ///< `VocabularyEntry`s by ascending id
  Text,              ///< bytes that the others refer to
  ModelTrie,         ///< `TrieUnit`s, tokens of the model to ids, with
                     ///< `wholeBit`
  AddedTokens,       ///< `AddedToken`s
  AddedNames,        ///< `TrieUnit`s, contents of added tokens to ids
  RawTrie,           ///< `TrieUnit`s, added tokens found in the text as it is
  NormalizedTrie,    ///< `TrieUnit`s, those found in normalized text
  Merges,            ///< `MergeSlot`s, a hash table of pairs
  MergeResults,      ///< u32, the token of each merge by its rank
  ByteTokens,        ///< u32, tokens of the bytes 0 to 255 or `Trie::none`
  Scores,            ///< f64 of each id, NaN for one that is not found in
                     ///< text, and of a Unigram model then that of an unknown
                     ///< character; an id from `Parameters::idEnd` on means the
                     ///< unknown token. Empty for most BPEs
  Languages,         ///< `LanguageEntry`s, sorted by name
  Target,            ///< tables of texts in the target language; empty: these
  Shortlist,         ///< `ShortlistHeader`, u32 offsets of each source token's
                     ///< targets and of their end, u32 targets; empty: none
};
inline constexpr size_t sectionCount = 20;

/// The kinds of model.
enum class ModelKind : uint32_t { WordPiece = 1, Bpe, Unigram, WordLevel };
/// How ids become text: the stages of a decoder.
enum class DecoderStep : uint32_t {
  JoinWithSpaces = 1, ///< no decoder: a space between tokens
  WordPiece,          ///< `first` is the continuing prefix, option 1: clean up
  ByteLevel,          ///< characters that stand for bytes
  ByteFallback,       ///< tokens `<0xAB>` that stand for bytes
  Fuse,               ///< all tokens are one
  Strip,              ///< drop characters `first` at both ends of a token:
                      ///< option at the start, second option at the end
  StripWhitespace,    ///< drop whitespace at both ends of the text
  Replace,            ///< each `first` becomes `second`; option 1: each match
                      ///< of the program `first` in a token
  Metaspace,          ///< `first` becomes a space; option 1: not at the start
  WordEnd,            ///< `first` becomes a space, but not in the last token
  CleanUp,            ///< drop spaces before punctuation, in all of the text
  Unsupported,        ///< its name is `first`
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

/// A step of normalizer, pre-tokenizer or decoder; its kind says what the rest
/// means.
struct Step {
  uint32_t kind;
  uint32_t option;
  uint32_t secondOption;
  TextRef first, second;
};

/// The bits of `Parameters::flags`.
enum ModelFlag : uint32_t {
  FuseUnknown = 1,    ///< neighbouring unknown characters are one token
  ByteFallback = 2,   ///< an unknown character is the tokens of its bytes
  IgnoreMerges = 4,   ///< a word that is a token needs no merges
  TrimOffsets = 8,    ///< offsets leave out spaces at both ends of a token
  PrefixSpace = 16,   ///< but not the first, which was put before the text
  SingleScores = 32,  ///< sums of scores are rounded to single precision
  LanguageCodes = 64, ///< a `>>xx<<` that begins a text is a token
  SeparateSpaces =
      128, ///< no token of a BPE has U+2581 after another character
};

/// Everything that is one of a kind.
struct Parameters {
  ModelKind model;
  uint32_t unknownId; ///< `Trie::none`: the model has no unknown token
  TextRef continuingPrefix;
  TextRef wordSuffix;         ///< of a token that ends a word
  uint32_t maxWordCharacters; ///< a longer word is the unknown token
  uint32_t flags;             ///< `ModelFlag`s
  uint32_t mergeProbe;        ///< slots of `Merges` in which a pair may be
  uint32_t truncationLength;  ///< 0: none
  TruncationStrategy truncationStrategy;
  TruncationSide truncationSide;
  uint32_t idEnd; ///< the largest id + 1
};

/// The kind of an item of the template.
enum class TemplateItemKind : uint32_t {
  SequenceA = 1,
  SequenceB,
  Token,
  SourceLanguage, ///< the token of the language, `id` where none is asked for
};
/// True for an item that is one token.
inline bool isToken(TemplateItemKind kind) {
  return kind == TemplateItemKind::Token ||
         kind == TemplateItemKind::SourceLanguage;
}

struct TemplateItem {
  TemplateItemKind kind;
  uint32_t id; ///< of a token
  uint32_t typeId;
};

struct VocabularyEntry {
  uint32_t id;
  TextRef text;
  uint32_t special; ///< 1: left out by `decode` on demand
};

/// A language and its token.
struct LanguageEntry {
  uint32_t id;
  TextRef name;
};

/// The bits of `AddedToken::flags`.
enum AddedFlag : uint32_t { SingleWord = 1, LeftStrip = 2, RightStrip = 4 };

struct AddedToken {
  uint32_t id;
  uint32_t flags;
};

/// The beginning of a lexical shortlist.
struct ShortlistHeader {
  uint32_t first;        ///< so many ids of the target are in every list
  uint32_t copiesSource; ///< 1: source tokens are in the list, too
  uint32_t numSources;   ///< of them there are one more offsets
};

/// A state of a double-array trie over bytes. The child of state s for label l
/// is state base(s) + l where that state's check is s + 1. Label 0 ends a key,
/// and base of that child is the key's value; byte b has label b + 1.
struct TrieUnit {
  uint32_t base;
  uint32_t check;
};

/// The bit of a value of `ModelTrie` that says that the token is the only one
/// that a BPE makes of its text.
inline constexpr uint32_t wholeBit = 0x80000000u;

/// A merge of two tokens into one. Of all that apply, that of the lowest rank
/// goes first. Its slot is the first free one from `mergeHome` on.
struct MergeSlot {
  uint32_t left, right;
  uint32_t rank; ///< `Trie::none` in a free slot
};

/// The slot, of `count`, where the search for a pair begins.
inline uint64_t mergeHome(uint32_t left, uint32_t right, uint64_t count) {
  uint64_t key = uint64_t(left) << 32 | right;
  uint64_t hash = key * 0x9E3779B97F4A7C15u;
  return ((hash >> 32) * count) >> 32;
}

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

/// Steps and the pool that their texts are in.
struct StepList {
  ArrayView<Step> steps;
  std::string_view pool;

  /// The bytes of `ref`; empty where it points outside.
  std::string_view text(TextRef ref) const {
    if (ref.offset > pool.size() || ref.length > pool.size() - ref.offset)
      return {};
    return pool.substr(ref.offset, ref.length);
  }
};

/// A double-array trie that lies in the tables.
class Trie {
public:
  static constexpr uint32_t root = 0;
  static constexpr uint32_t none = UINT32_MAX;

  Trie() = default;
  explicit Trie(std::string_view bytes) : units(bytes) {}

  bool empty() const { return units.size() == 0; }
  /// The state after `state` and `byte`, or `none`.
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
  uint32_t stepCode(uint32_t state, char32_t code) const {
    return code < 0x80 ? step(state, static_cast<uint8_t>(code))
                       : stepLong(state, code);
  }
  /// The value of the key that ends in `state`, or `none`.
  uint32_t value(uint32_t state) const {
    uint32_t end = child(state, 0);
    return end == none ? none : units[end].base;
  }
  /// The value of `key`, or `none`.
  uint32_t find(std::string_view key) const { return value(step(root, key)); }
  /// The unit that holds the value of `key`, or `none`.
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
  std::string_view text(TextRef ref) const {
    return steps(Section::Text).text(ref);
  }
  /// The entry of an id, if it has one.
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
