// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading a manifest from bytes that anybody may have made: every type, range
// and reference is checked, so that the runtime can rely on what it holds.
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include "runtime/manifest/Manifest.h"
#include <algorithm>

namespace transom {
namespace {

const int64_t readableAbi = Manifest().abi;
constexpr int64_t maxCounters = 1 << 20;
constexpr size_t maxCallRank = 8;
constexpr int64_t maxGroups = 64;
constexpr int64_t maxLayers = 1 << 16;
constexpr int64_t maxBlockBytes = int64_t(1) << 40;
constexpr int64_t maxPositions = INT32_MAX; // positions are int32_t in tables

/// Reads members of one object after the other; the first error stays and
/// what is read after it has default values.
class ManifestReader {
public:
  Result<Manifest> read(JsonValue root) {
    Manifest manifest;
    manifest.abi = integer(root, "abi", 0, INT64_MAX);
    if (!failure && manifest.abi != readableAbi)
      fail(*root.find("abi"),
           "artifact has ABI version " + std::to_string(manifest.abi) +
               ", this program reads version " + std::to_string(readableAbi));
    if (!failure)
      readHead(root, manifest);
    for (JsonValue value : array(root, "entries")) {
      ManifestEntry entry = readEntry(value);
      if (failure)
        break;
      if (manifest.findEntry(entry.name))
        fail(value, "entry '" + utf8::printable(entry.name) + "' stands twice");
      manifest.entries.push_back(std::move(entry));
    }
    if (!failure)
      readTail(root, manifest);
    if (failure)
      return std::move(*failure);
    return manifest;
  }

private:
  void fail(JsonValue at, const std::string &text) {
    if (!failure)
      failure = at.error(text);
  }
  /// The value of a result, or a default and the error kept.
  template <typename T, typename From> T take(Result<From> result) {
    if (result)
      return T(*result);
    if (!failure)
      failure = result.takeError();
    return T();
  }
  template <typename T> T take(Result<T> result) {
    return take<T, T>(std::move(result));
  }

  std::optional<JsonValue> member(JsonValue object, const char *key) {
    if (failure)
      return std::nullopt;
    Result<JsonValue> value = object.get(key);
    if (value)
      return *value;
    failure = value.takeError();
    return std::nullopt;
  }
  std::optional<JsonValue> optionalMember(JsonValue object, const char *key) {
    if (failure)
      return std::nullopt;
    return object.find(key);
  }

  std::string text(JsonValue value) {
    return take<std::string>(value.asString());
  }
  std::string text(JsonValue object, const char *key) {
    auto value = member(object, key);
    return value ? text(*value) : "";
  }
  std::string optionalText(JsonValue object, const char *key) {
    auto value = optionalMember(object, key);
    return value ? text(*value) : "";
  }
  int64_t integer(JsonValue object, const char *key, int64_t low,
                  int64_t high) {
    auto value = member(object, key);
    return value ? take(value->asInt(low, high)) : 0;
  }
  bool boolean(JsonValue object, const char *key, bool absent) {
    auto value = optionalMember(object, key);
    return value ? take(value->asBool()) : absent;
  }
  std::vector<JsonValue> array(JsonValue object, const char *key) {
    std::vector<JsonValue> elements;
    auto value = member(object, key);
    if (!value)
      return elements;
    if (Result<void> isList = value->expectArray(); !isList)
      failure = isList.takeError();
    for (JsonValue element : value->elements())
      elements.push_back(element);
    return elements;
  }
  std::vector<JsonValue> object(JsonValue parent, const char *key) {
    std::vector<JsonValue> values;
    auto value = member(parent, key);
    if (!value)
      return values;
    if (Result<void> isList = value->expectObject(); !isList)
      failure = isList.takeError();
    for (JsonValue::Member m : value->members())
      values.push_back(m.value);
    return values;
  }
  std::vector<std::string> names(JsonValue object, const char *key,
                                 bool optional = true) {
    auto value = optional ? optionalMember(object, key) : member(object, key);
    return value ? take(value->asStringArray()) : std::vector<std::string>();
  }

  /// A polynomial over the entry's symbols.
  Polynomial polynomial(JsonValue value) {
    Polynomial result;
    Result<Polynomial> parsed = Polynomial::parse(text(value));
    if (failure)
      return result;
    if (!parsed) {
      fail(value, parsed.error().message);
      return result;
    }
    for (const std::string &symbol : parsed->symbols())
      if (!isSymbol(symbol))
        fail(value, "unknown symbol '" + symbol + "'; the entry has: " +
                        utf8::printable(joinNames(symbolOrder), 300));
    return *parsed;
  }
  Polynomial polynomial(JsonValue object, const char *key) {
    auto value = member(object, key);
    return value ? polynomial(*value) : Polynomial();
  }
  bool isSymbol(const std::string &name) const {
    return std::binary_search(symbolOrder.begin(), symbolOrder.end(), name) ||
           std::any_of(costPrefixes.begin(), costPrefixes.end(),
                       [&](const std::string &prefix) {
                         return name.compare(0, prefix.size(), prefix) == 0;
                       });
  }
  /// The member as the name of a symbol of the entry.
  std::string symbol(JsonValue object, const char *key) {
    std::string name = text(object, key);
    if (!failure && !isSymbol(name))
      fail(*object.find(key), "unknown symbol '" + utf8::printable(name) + "'");
    return name;
  }
  /// The member as the name of an input of the entry.
  std::string inputName(JsonValue object, const char *key,
                        const ManifestEntry &entry) {
    std::string name = text(object, key);
    bool known = std::any_of(
        entry.inputs.begin(), entry.inputs.end(),
        [&](const ManifestTensor &input) { return input.name == name; });
    if (!failure && !known)
      fail(*object.find(key), "unknown input '" + utf8::printable(name) + "'");
    return name;
  }

  void readHead(JsonValue root, Manifest &manifest) {
    manifest.compiler = text(root, "compiler");
    manifest.name = text(root, "name");
    manifest.family = text(root, "family");
    manifest.architecture = text(root, "architecture");
    manifest.head = text(root, "head");
    manifest.fileBytes =
        static_cast<uint64_t>(integer(root, "file_bytes", 0, INT64_MAX));
    manifest.isas = names(root, "isas", false);
    manifest.dtype = text(root, "dtype");
    manifest.backend = optionalText(root, "backend");
    if (manifest.backend.empty())
      manifest.backend = "native";
    for (JsonValue value : object(root, "options"))
      manifest.options.emplace_back(value.key(), text(value));
    for (JsonValue value : object(root, "inputs_sha256"))
      manifest.inputsSha256.emplace(value.key(), text(value));
    manifest.weightsSha256 = text(root, "weights_sha256");
    manifest.parameters = integer(root, "parameters", 0, INT64_MAX);
    manifest.weightsBytes =
        static_cast<uint64_t>(integer(root, "weights_bytes", 0, INT64_MAX));
    for (JsonValue value : object(root, "symbols")) {
      ManifestSymbol symbol;
      symbol.name = value.key();
      if (auto max = member(value, "max"); max && !max->isNull())
        symbol.max = take(max->asInt(0, INT64_MAX));
      manifest.symbols.push_back(std::move(symbol));
    }
    std::sort(manifest.symbols.begin(), manifest.symbols.end(),
              [](const ManifestSymbol &a, const ManifestSymbol &b) {
                return a.name < b.name;
              });
  }

  void readTail(JsonValue root, Manifest &manifest) {
    if (auto value = optionalMember(root, "text")) {
      ManifestText &text = manifest.text.emplace();
      text.tokenizer = boolean(*value, "tokenizer", false);
      text.maxLength = integer(*value, "max_length", 0, INT64_MAX);
      text.pooling = this->text(*value, "pooling");
      text.normalize = boolean(*value, "normalize", false);
    }
    if (auto value = optionalMember(root, "tokenizer")) {
      ManifestTokenizer &tokenizer = manifest.tokenizer.emplace();
      tokenizer.offset = integer(*value, "offset", 0, INT64_MAX);
      tokenizer.bytes = integer(*value, "bytes", 0, INT64_MAX);
      if (tokenizer.offset > manifest.fileBytes ||
          tokenizer.bytes > manifest.fileBytes - tokenizer.offset)
        fail(*value, "tokenizer reaches beyond the file of " +
                         std::to_string(manifest.fileBytes) + " bytes");
    }
    if (auto value = optionalMember(root, "decoder"))
      manifest.decoder = readDecoder(*value);
    checkLoops(root, manifest);
    manifest.labels = names(root, "labels");
    if (auto value = optionalMember(root, "problem_type"))
      manifest.problemType = text(*value);
    manifest.places = names(root, "places");
    manifest.notes = names(root, "notes");
    manifest.disabledPasses = names(root, "disabled_passes");
  }

  ManifestDecoder readDecoder(JsonValue value) {
    ManifestDecoder decoder;
    if (auto context = optionalMember(value, "context"))
      decoder.context = take(context->asInt(1, maxPositions));
    decoder.vocabulary = integer(value, "vocabulary", 1, INT32_MAX);
    for (JsonValue group : array(value, "caches")) {
      ManifestCache cache;
      if (auto window = optionalMember(group, "window"))
        cache.window = take(window->asInt(0, maxPositions));
      std::string dtype = choice(group, "dtype", {"f32", "bf16", "i8"});
      cache.dtype = dtypeFromName(dtype).value_or(DType::F32);
      cache.layers = integer(group, "layers", 1, maxLayers);
      cache.blockBytes = integer(group, "block_bytes", 64, maxBlockBytes);
      if (cache.blockBytes % 64)
        fail(group, "block of " + std::to_string(cache.blockBytes) +
                        " bytes, which is no multiple of 64");
      decoder.caches.push_back(cache);
    }
    if (!failure && int64_t(decoder.caches.size()) > maxGroups)
      fail(value, "decoder has " + std::to_string(decoder.caches.size()) +
                      " groups of caches, at most " +
                      std::to_string(maxGroups) + " are supported");
    decoder.generation = optionalText(value, "generation");
    return decoder;
  }

  /// A decoder and its entry `step` come together; loops need both.
  void checkLoops(JsonValue root, const Manifest &manifest) {
    const ManifestEntry *step = manifest.findEntry("step");
    bool steps =
        step && std::any_of(step->segments.begin(), step->segments.end(),
                            [](const ManifestSegments &segments) {
                              return segments.sequences;
                            });
    if (manifest.decoder.has_value() != steps)
      fail(root, steps ? "an entry 'step' without a 'decoder'"
                       : "a 'decoder' without an entry 'step' of sequences");
    for (const ManifestEntry &entry : manifest.entries)
      if (!entry.loop.empty() && !steps)
        fail(root, "entry '" + utf8::printable(entry.name) +
                       "' is a loop, but there is no entry 'step'");
  }

  ManifestEntry readEntry(JsonValue value) {
    ManifestEntry entry;
    entry.name = text(value, "name");
    if (optionalMember(value, "loop"))
      entry.loop =
          choice(value, "loop", {"logits", "score", "generate", "encode"});
    entry.symbolOrder = names(value, "symbol_order", false);
    symbolOrder = entry.symbolOrder;
    if (std::adjacent_find(symbolOrder.begin(), symbolOrder.end(),
                           std::greater_equal<std::string>()) !=
        symbolOrder.end())
      fail(value, "'symbol_order' is not sorted, or names a symbol twice");
    readTensors(value, "inputs", entry.inputs);
    readTensors(value, "outputs", entry.outputs);
    for (JsonValue segments : array(value, "segments"))
      entry.segments.push_back(readSegments(segments, entry));
    if (auto limit = optionalMember(value, "position_limit"))
      entry.positionLimit = readPositionLimit(*limit, entry);
    for (JsonValue buffer : array(value, "buffers"))
      entry.buffers.push_back({polynomial(buffer, "offset"),
                               polynomial(buffer, "bytes"),
                               optionalText(buffer, "what")});
    entry.arenaBytes = polynomial(value, "arena_bytes");
    entry.arenaLowerBound = polynomial(value, "arena_lower_bound");
    entry.counters = integer(value, "counters", 0, maxCounters);
    if (optionalMember(value, "calls"))
      for (JsonValue call : array(value, "calls"))
        entry.calls.push_back(readCall(call, entry));
    readCosts(value, entry);
    return entry;
  }

  /// The steps and what they cost; formulas may name the pairs of segments.
  void readCosts(JsonValue value, ManifestEntry &entry) {
    for (const ManifestSegments &segments : entry.segments)
      if (!segments.pairs.empty())
        symbolOrder.push_back(segments.pairs);
    for (const ManifestSegments &segments : entry.segments)
      if (segments.sequences)
        costPrefixes = {"pairs_of_" + segments.rows,
                        "reads_of_" + segments.rows};
    std::sort(symbolOrder.begin(), symbolOrder.end());
    for (JsonValue step : array(value, "steps"))
      entry.steps.push_back({text(step, "phase"), text(step, "location"),
                             integer(step, "rows", 0, INT64_MAX),
                             cost(step, "flops"), cost(step, "bf16_flops"),
                             optionalInteger(step, "weight_bytes").value_or(0),
                             cost(step, "bytes"),
                             optionalText(step, "attention_schedule")});
    const auto steps = static_cast<int64_t>(entry.steps.size());
    if (auto walk = optionalMember(value, "walk")) {
      if (Result<void> isList = walk->expectArray(); !isList)
        failure = isList.takeError();
      for (JsonValue step : walk->elements())
        entry.walk.push_back(take(step.asInt(0, steps - 1)));
    }
    entry.flops = polynomial(value, "flops");
    entry.bf16Flops = cost(value, "bf16_flops");
    entry.streamedBytes = optionalInteger(value, "streamed_bytes");
    costPrefixes.clear();
  }

  /// A formula that is zero where it is absent.
  Polynomial cost(JsonValue object, const char *key) {
    auto value = optionalMember(object, key);
    return value ? polynomial(*value) : Polynomial();
  }
  std::optional<int64_t> optionalInteger(JsonValue object, const char *key) {
    auto value = optionalMember(object, key);
    if (!value)
      return std::nullopt;
    return take(value->asInt(0, INT64_MAX));
  }

  /// The member as one of these names.
  std::string choice(JsonValue object, const char *key,
                     const std::vector<std::string> &names) {
    std::string name = text(object, key);
    if (!failure && std::find(names.begin(), names.end(), name) == names.end())
      fail(*object.find(key), std::string("unknown ") + key + " '" +
                                  utf8::printable(name) +
                                  "'; supported: " + joinNames(names));
    return name;
  }

  ManifestCall readCall(JsonValue value, const ManifestEntry &entry) {
    ManifestCall call;
    call.primitive = choice(value, "primitive", ManifestCall::primitives());
    call.input = readOperand(value, "input", entry);
    call.out = readOperand(value, "out", entry);
    if (optionalMember(value, "rhs"))
      call.rhs = readOperand(value, "rhs", entry);
    if (optionalMember(value, "residual"))
      call.residual = readOperand(value, "residual", entry);
    call.weights = readCallWeight(value, "weights");
    call.bias = readCallWeight(value, "bias");
    if (optionalMember(value, "activation"))
      call.activation =
          choice(value, "activation", ManifestCall::activations());
    if (auto epsilon = optionalMember(value, "epsilon"))
      call.epsilon = take(epsilon->asDouble());
    if (call.rhs.has_value() != (call.primitive == "batch_matmul") ||
        call.weights.has_value() !=
            (call.primitive == "matmul" || call.primitive == "layer_norm"))
      fail(value,
           "operands do not fit a '" + utf8::printable(call.primitive) + "'");
    return call;
  }

  ManifestOperand readOperand(JsonValue call, const char *key,
                              const ManifestEntry &entry) {
    ManifestOperand operand;
    auto value = member(call, key);
    if (!value)
      return operand;
    operand.isArgument = value->find("argument").has_value();
    const size_t count = operand.isArgument
                             ? entry.inputs.size() + entry.outputs.size()
                             : entry.buffers.size();
    operand.index = integer(*value, operand.isArgument ? "argument" : "buffer",
                            0, static_cast<int64_t>(count) - 1);
    for (JsonValue dim : array(*value, "shape"))
      operand.shape.push_back(polynomial(dim));
    if (operand.shape.empty() || operand.shape.size() > maxCallRank)
      fail(*value, "operand of a call with " +
                       std::to_string(operand.shape.size()) + " dimensions");
    return operand;
  }

  std::optional<ManifestCallWeight> readCallWeight(JsonValue call,
                                                   const char *key) {
    auto value = optionalMember(call, key);
    if (!value)
      return std::nullopt;
    ManifestCallWeight weight;
    weight.inRow = value->find("row").has_value();
    weight.at = integer(*value, weight.inRow ? "row" : "offset", 0, INT64_MAX);
    return weight;
  }

  void readTensors(JsonValue entry, const char *key,
                   std::vector<ManifestTensor> &tensors) {
    for (JsonValue value : array(entry, key)) {
      ManifestTensor tensor;
      tensor.name = text(value, "name");
      std::string dtype = text(value, "dtype");
      std::optional<DType> type = dtypeFromName(dtype);
      if (!failure && !type)
        fail(*value.find("dtype"),
             "unknown dtype '" + utf8::printable(dtype) + "'");
      tensor.dtype = type.value_or(DType::F32);
      for (JsonValue dim : array(value, "shape"))
        tensor.shape.push_back(polynomial(dim));
      tensor.role = optionalText(value, "role");
      if (auto bound = optionalMember(value, "bound"))
        tensor.bound = take(bound->asInt(0, INT64_MAX));
      if (auto fallback = optionalMember(value, "default"))
        tensor.fallback = take(fallback->asInt());
      for (const ManifestTensor &other : tensors)
        if (other.name == tensor.name)
          fail(value,
               "tensor '" + utf8::printable(tensor.name) + "' stands twice");
      tensors.push_back(std::move(tensor));
      if (failure)
        return;
    }
  }

  ManifestSegments readSegments(JsonValue value, const ManifestEntry &entry) {
    ManifestSegments segments;
    if (auto mask = optionalMember(value, "mask"); mask) {
      segments.mask = inputName(value, "mask", entry);
      segments.columnsOf = inputName(value, "columns_of", entry);
      segments.keepFirst = boolean(value, "keep_first", false);
    } else if (boolean(value, "sequences", false)) {
      segments.sequences = true;
    } else {
      segments.batch = polynomial(value, "batch").str();
      segments.columns = polynomial(value, "columns").str();
    }
    segments.rows = symbol(value, "rows");
    segments.keys = symbol(value, "keys");
    segments.pairs = optionalText(value, "pairs");
    return segments;
  }

  ManifestPositionLimit readPositionLimit(JsonValue value,
                                          const ManifestEntry &entry) {
    ManifestPositionLimit limit;
    limit.input = inputName(value, "input", entry);
    limit.rule = text(value, "rule");
    if (!failure && limit.rule != "column" && limit.rule != "nonpad_rank")
      fail(value, "unknown rule '" + utf8::printable(limit.rule) +
                      "'; supported: column, nonpad_rank");
    if (auto pad = optionalMember(value, "pad"))
      limit.pad = take(pad->asInt());
    limit.max = integer(value, "max", 0, INT64_MAX);
    return limit;
  }

  std::optional<Error> failure;
  std::vector<std::string> symbolOrder;  // of the entry that is read
  std::vector<std::string> costPrefixes; // of names that its costs may use
};

} // namespace

Result<Manifest> Manifest::parse(std::string_view text,
                                 const std::string &fileName) {
  TRANSOM_ASSIGN(JsonDocument json, parseJson(text, fileName));
  return ManifestReader().read(json.root());
}

} // namespace transom
