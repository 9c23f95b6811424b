// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a manifest from untrusted bytes. A visitor over the fields checks types
// and ranges; the `check` functions check constraints across fields, such as
// references to inputs and buffers.
#include "runtime/abi/Layout.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include "runtime/manifest/ManifestFields.h"
#include <algorithm>

using namespace transom;
using namespace transom::manifest;

namespace {

constexpr size_t maxCallRank = 8;
constexpr int64_t maxCacheGroups = 64;

/// A visitor that reads the current object's members. It records the first
/// error; fields visited after an error keep their values.
class Reader {
public:
  Result<Manifest> read(JsonValue root) {
    Manifest result;
    manifest = &result;
    readAbi(root);
    readValue(root, result);
    if (failure)
      return std::move(*failure);
    return result;
  }

  // The visitor's functions, see ManifestFields.h.

  template <typename T, typename... Constraint>
  void required(const char *key, T &member, const Constraint &...constraint) {
    if (std::optional<JsonValue> value = getMember(key))
      readValue(*value, member, constraint...);
  }
  template <typename T, typename... Constraint>
  void defaulted(const char *key, T &member, const Constraint &...constraint) {
    if (std::optional<JsonValue> value = findMember(key))
      readValue(*value, member, constraint...);
  }
  template <typename T, typename... Constraint>
  void optional(const char *key, T &member, const Constraint &...constraint) {
    defaulted(key, member, constraint...);
  }
  template <typename T>
  void nullable(const char *key, std::optional<T> &member) {
    std::optional<JsonValue> value = getMember(key);
    if (value && !value->isNull())
      readValue(*value, member);
  }
  void either(std::initializer_list<const char *> keys, bool &second,
              int64_t &member) {
    second = findMember(keys.begin()[1]).has_value();
    required(keys.begin()[second], member);
  }

private:
  void fail(JsonValue at, const std::string &text) {
    if (!failure)
      failure = at.error(text);
  }
  /// Stores a result's value in `target`, or records its error.
  template <typename T, typename From>
  void store(T &target, Result<From> result) {
    if (result)
      target = T(*result);
    else if (!failure)
      failure = result.takeError();
  }

  std::optional<JsonValue> getMember(const char *key) {
    std::optional<JsonValue> value;
    if (!failure)
      store(value, object->get(key));
    return value;
  }
  std::optional<JsonValue> findMember(const char *key) const {
    if (failure)
      return std::nullopt;
    return object->find(key);
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  void readValue(JsonValue value, bool &target) {
    store(target, value.asBool());
  }
  void readValue(JsonValue value, int64_t &target, Range range = {}) {
    store(target, value.asInt(range.low, range.high));
  }
  void readValue(JsonValue value, uint64_t &target) {
    store(target, value.asInt(0, INT64_MAX));
  }
  void readValue(JsonValue value, double &target) {
    store(target, value.asDouble());
  }
  void readValue(JsonValue value, std::string &target) {
    store(target, value.asString());
  }
  void readValue(JsonValue value, std::string &target, const Choice &choice) {
    readValue(value, target);
    if (!failure && std::find(choice.names.begin(), choice.names.end(),
                              target) == choice.names.end())
      fail(value, unknownName(value, target) +
                      "; supported: " + joinNames(choice.names));
  }
  void readValue(JsonValue value, std::string &target, Refers) {
    readValue(value, target);
    if (!failure && !isSymbol(target))
      fail(value, "unknown symbol '" + utf8::printable(target) + "'");
  }
  void readValue(JsonValue value, EntryKind &target) {
    const EntryKind kinds[] = {
        EntryKind::Run,    EntryKind::Encode, EntryKind::Embed,
        EntryKind::Rerank, EntryKind::Step,   EntryKind::Source,
        EntryKind::Logits, EntryKind::Score,  EntryKind::Generate};
    Choice choice;
    for (EntryKind kind : kinds)
      choice.names.push_back(getEntryKindName(kind));
    std::string name;
    readValue(value, name, choice);
    for (EntryKind kind : kinds)
      if (name == getEntryKindName(kind))
        target = kind;
  }
  void readValue(JsonValue value, DType &target) {
    std::string name;
    readValue(value, name);
    std::optional<DType> dtype = dtypeFromName(name);
    if (!failure && !dtype)
      fail(value, unknownName(value, name));
    target = dtype.value_or(DType::F32);
  }
  void readValue(JsonValue value, DType &target, const Choice &choice) {
    std::string name;
    readValue(value, name, choice);
    if (!failure)
      readValue(value, target);
  }
  /// A polynomial over entry symbols.
  void readValue(JsonValue value, Polynomial &target,
                 Refers refers = Refers::Symbol) {
    std::string text;
    readValue(value, text);
    if (failure)
      return;
    Result<Polynomial> parsed = Polynomial::parse(text);
    if (!parsed)
      return fail(value, parsed.error().message);
    for (const std::string &symbol : parsed->symbols())
      if (!isSymbol(symbol) && !(refers == Refers::Cost && isCost(symbol)))
        fail(value, "unknown symbol '" + symbol + "'; the entry has: " +
                        utf8::printable(joinNames(entry->symbolOrder), 300));
    target = std::move(*parsed);
  }

  template <typename T, typename... Constraint>
  void readValue(JsonValue value, std::optional<T> &target,
                 const Constraint &...constraint) {
    readValue(value, target.emplace(), constraint...);
  }
  template <typename T, typename... Constraint>
  void readValue(JsonValue value, std::vector<T> &target,
                 const Constraint &...constraint) {
    expect(value.expectArray());
    for (JsonValue element : value.elements()) {
      T item{};
      readValue(element, item, constraint...);
      if (failure)
        return;
      checkUnique(element, target, item);
      target.push_back(std::move(item));
    }
  }
  void readValue(JsonValue value, std::vector<std::string> &target, Sorted) {
    readValue(value, target);
    if (std::adjacent_find(target.begin(), target.end(),
                           std::greater_equal<std::string>()) != target.end())
      fail(value, "'" + std::string(value.key()) +
                      "' is not sorted, or has a name twice");
  }
  void readValue(JsonValue value, std::map<std::string, std::string> &target) {
    readMembers(value, [&](JsonValue member) {
      readValue(member, target[std::string(member.key())]);
    });
  }
  void readValue(JsonValue value,
                 std::vector<std::pair<std::string, std::string>> &target) {
    readMembers(value, [&](JsonValue member) {
      readValue(member, target.emplace_back(member.key(), "").second);
    });
  }
  void readValue(JsonValue value, std::vector<ManifestSymbol> &target) {
    readMembers(value, [&](JsonValue member) {
      ManifestSymbol &symbol = target.emplace_back();
      symbol.name = member.key();
      readValue(member, symbol);
    });
    std::sort(target.begin(), target.end(),
              [](const ManifestSymbol &a, const ManifestSymbol &b) {
                return a.name < b.name;
              });
  }
  template <typename Object> void readValue(JsonValue value, Object &target) {
    std::optional<JsonValue> outer = object;
    object = value;
    enter(target);
    Object::visitFields(target, *this);
    if (!failure)
      check(value, target);
    object = outer;
  }

  void expect(Result<void> result) {
    if (!result && !failure)
      failure = result.takeError();
  }
  template <typename Function>
  void readMembers(JsonValue value, Function readMember) {
    expect(value.expectObject());
    for (JsonValue::Member member : value.members())
      if (!failure)
        readMember(member.value);
  }

  //===--------------------------------------------------------------------===//
  // Names
  //===--------------------------------------------------------------------===//

  static std::string unknownName(JsonValue value, const std::string &name) {
    return "unknown " + std::string(value.key()) + " '" +
           utf8::printable(name) + "'";
  }
  bool isSymbol(const std::string &name) const {
    return std::binary_search(entry->symbolOrder.begin(),
                              entry->symbolOrder.end(), name);
  }
  /// True for a name that only costs may use, see `ManifestRaggedBatch::pairs`.
  bool isCost(const std::string &name) const {
    auto begins = [&](const std::string &prefix) {
      return name.compare(0, prefix.size(), prefix) == 0;
    };
    for (const ManifestRaggedBatch &ragged : entry->ragged)
      if (name == ragged.pairs ||
          (ragged.sequences && (begins("pairs_of_" + ragged.rows) ||
                                begins("reads_of_" + ragged.rows))))
        return true;
    return false;
  }

  //===--------------------------------------------------------------------===//
  // Checks
  //===--------------------------------------------------------------------===//

  /// A different ABI version is reported before anything else is read.
  void readAbi(JsonValue root) {
    object = root;
    required("abi", manifest->abi);
    if (!failure && manifest->abi != TRANSOM_ABI_VERSION)
      fail(*root.find("abi"), "artifact has ABI version " +
                                  std::to_string(manifest->abi) +
                                  ", this program reads version " +
                                  std::to_string(TRANSOM_ABI_VERSION));
  }

  template <typename T> void enter(T &) {}
  void enter(ManifestEntry &target) { entry = &target; }

  template <typename T>
  void checkUnique(JsonValue, const std::vector<T> &, const T &) {}
  void checkUnique(JsonValue at, const std::vector<ManifestTensor> &tensors,
                   const ManifestTensor &tensor) {
    checkName(at, tensors, tensor, "tensor");
  }
  void checkUnique(JsonValue at, const std::vector<ManifestEntry> &entries,
                   const ManifestEntry &entry) {
    checkName(at, entries, entry, "entry");
  }
  template <typename T>
  void checkName(JsonValue at, const std::vector<T> &others, const T &item,
                 const char *what) {
    for (const T &other : others)
      if (other.name == item.name)
        fail(at, std::string("duplicate ") + what + " '" +
                     utf8::printable(item.name) + "'");
  }

  template <typename T> void check(JsonValue, T &) {}

  /// Checks that a member in the current object names an entry input.
  void checkInput(const char *key, const std::string &name) {
    auto isNamed = [&](const ManifestTensor &input) {
      return input.name == name;
    };
    std::optional<JsonValue> value = getMember(key);
    if (value &&
        std::none_of(entry->inputs.begin(), entry->inputs.end(), isNamed))
      fail(*value, "unknown input '" + utf8::printable(name) + "'");
  }

  /// Keeps only the fields for one of the three ways to build the table.
  void check(JsonValue value, ManifestRaggedBatch &ragged) {
    ManifestRaggedBatch kept;
    kept.rows = ragged.rows;
    kept.keys = ragged.keys;
    kept.pairs = ragged.pairs;
    if (value.find("mask")) {
      checkInput("mask", ragged.mask);
      checkInput("columns_of", ragged.columnsOf);
      kept.mask = ragged.mask;
      kept.columnsOf = ragged.columnsOf;
      kept.keepFirst = ragged.keepFirst;
    } else if (ragged.sequences) {
      kept.sequences = true;
      kept.cacheGroup = ragged.cacheGroup;
    } else {
      Polynomial batch, columns;
      required("batch", batch);
      required("columns", columns);
      kept.batch = batch.str();
      kept.columns = columns.str();
    }
    ragged = std::move(kept);
  }

  void check(JsonValue, ManifestPositionLimit &limit) {
    checkInput("input", limit.input);
  }

  void check(JsonValue value, ManifestOperand &operand) {
    const size_t count = operand.isArgument
                             ? entry->inputs.size() + entry->outputs.size()
                             : entry->buffers.size();
    required(operand.isArgument ? "argument" : "buffer", operand.index,
             Range{0, static_cast<int64_t>(count) - 1});
    if (operand.shape.empty() || operand.shape.size() > maxCallRank)
      fail(value, "operand of a call with " +
                      std::to_string(operand.shape.size()) + " dimensions");
  }

  void check(JsonValue value, ManifestCall &call) {
    if (call.rhs.has_value() != (call.primitive == "batch_matmul") ||
        call.weights.has_value() !=
            (call.primitive == "matmul" || call.primitive == "layer_norm"))
      fail(value,
           "operands do not fit a '" + utf8::printable(call.primitive) + "'");
  }

  void check(JsonValue value, ManifestTokenizer &tokenizer) {
    if (tokenizer.offset > manifest->fileBytes ||
        tokenizer.bytes > manifest->fileBytes - tokenizer.offset)
      fail(value, "tokenizer reaches beyond the file of " +
                      std::to_string(manifest->fileBytes) + " bytes");
  }

  void check(JsonValue value, ManifestCache &cache) {
    if (cache.blockBytes % bufferAlignment)
      fail(value, "block of " + std::to_string(cache.blockBytes) +
                      " bytes, which is no multiple of " +
                      std::to_string(bufferAlignment));
    if (cache.regions.empty())
      fail(value, "cache group without regions");
    for (const ManifestCacheRegion &region : cache.regions)
      checkRegion(value, cache, region);
  }

  /// A region has whole units and ends inside its block.
  void checkRegion(JsonValue value, const ManifestCache &cache,
                   const ManifestCacheRegion &region) {
    if (kvBlockSize % region.positions)
      return fail(value, "region of a cache in units of " +
                             std::to_string(region.positions) +
                             " positions, which do not divide " +
                             std::to_string(kvBlockSize));
    auto size = [](int64_t number) { return CheckedSize::fromSigned(number); };
    const CheckedSize end = size(region.offset) +
                            size(region.layers - 1) * size(region.layerBytes) +
                            size(region.heads) * size(region.bytes) *
                                size(kvBlockSize / region.positions);
    if (!end.value() || *end.value() > static_cast<uint64_t>(cache.blockBytes))
      fail(value, "region of a cache that reaches beyond its block of " +
                      std::to_string(cache.blockBytes) + " bytes");
  }

  void check(JsonValue value, ManifestDecoder &decoder) {
    if (static_cast<int64_t>(decoder.caches.size()) > maxCacheGroups)
      fail(value, "decoder has " + std::to_string(decoder.caches.size()) +
                      " groups of caches, at most " +
                      std::to_string(maxCacheGroups) + " are supported");
  }

  /// Key tables refer to read-only cache groups.
  void checkCacheGroups(JsonValue root, const Manifest &manifest) {
    for (const ManifestEntry &entry : manifest.entries)
      for (const ManifestRaggedBatch &ragged : entry.ragged)
        if (ragged.cacheGroup &&
            (!manifest.decoder ||
             *ragged.cacheGroup >=
                 static_cast<int64_t>(manifest.decoder->caches.size()) ||
             !manifest.decoder->caches[*ragged.cacheGroup].readOnly))
          fail(root, "a ragged batch of the cache group " +
                         std::to_string(*ragged.cacheGroup) +
                         ", which is not a read-only group");
  }

  /// A `source` entry and a decoder's `encoder` occur together.
  void checkSource(JsonValue root, const Manifest &manifest) {
    const std::string encoder =
        manifest.decoder ? manifest.decoder->encoder : "";
    if (manifest.findEntry(EntryKind::Source) == nullptr) {
      if (!encoder.empty())
        fail(root, "an 'encoder' without an entry of the kind 'source'");
      return;
    }
    const ManifestEntry *found = manifest.findEntry(encoder);
    if (!found || !found->derivedFrom.empty() || found->outputs.empty() ||
        found->kind == EntryKind::Source || found->kind == EntryKind::Step)
      fail(root, "the encoder '" + utf8::printable(encoder) +
                     "' of the entry of the kind 'source' is not an entry "
                     "with code and a result");
  }

  /// A decoder and its step occur together; derived entries need both.
  void check(JsonValue root, Manifest &manifest) {
    checkCacheGroups(root, manifest);
    checkSource(root, manifest);
    const ManifestEntry *step = manifest.findEntry(EntryKind::Step);
    bool hasStep = step && std::any_of(step->ragged.begin(), step->ragged.end(),
                                       [](const ManifestRaggedBatch &ragged) {
                                         return ragged.sequences;
                                       });
    if (manifest.decoder.has_value() != hasStep)
      fail(root, hasStep
                     ? "an entry of the kind 'step' without a 'decoder'"
                     : "a 'decoder' without an entry of the kind 'step' that "
                       "takes sequences");
    for (const ManifestEntry &entry : manifest.entries)
      if (!entry.derivedFrom.empty() &&
          (!hasStep || entry.derivedFrom != step->name))
        fail(root,
             "entry '" + utf8::printable(entry.name) + "' is derived from '" +
                 utf8::printable(entry.derivedFrom) + "', which is not a step");
  }

  std::optional<Error> failure;
  std::optional<JsonValue> object; ///< the object being read
  Manifest *manifest = nullptr;
  ManifestEntry *entry = nullptr; ///< the entry being read
};

} // namespace

Result<Manifest> Manifest::parse(std::string_view text,
                                 const std::string &fileName) {
  TRANSOM_ASSIGN(JsonDocument json, parseJson(text, fileName));
  return Reader().read(json.root());
}
