// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing a manifest as JSON, and finding its parts.
#include "runtime/manifest/Manifest.h"
#include "runtime/json/Json.h"

namespace transom {
namespace {

void writeText(JsonWriter &json, const char *key, const std::string &text) {
  if (!text.empty())
    json.member(key, text);
}

void writeNames(JsonWriter &json, const char *key,
                const std::vector<std::string> &names) {
  json.key(key);
  json.array(names);
}

void writeTensors(JsonWriter &json, const char *key,
                  const std::vector<ManifestTensor> &tensors) {
  json.key(key);
  json.beginArray();
  for (const ManifestTensor &tensor : tensors) {
    json.beginObject();
    json.member("name", tensor.name);
    json.member("dtype", dtypeName(tensor.dtype));
    json.key("shape");
    json.beginArray();
    for (const Polynomial &dim : tensor.shape)
      json.value(dim.str());
    json.endArray();
    writeText(json, "role", tensor.role);
    if (tensor.bound)
      json.member("bound", *tensor.bound);
    if (tensor.fallback)
      json.member("default", *tensor.fallback);
    json.endObject();
  }
  json.endArray();
}

void writeSegments(JsonWriter &json,
                   const std::vector<ManifestSegments> &segments) {
  json.key("segments");
  json.beginArray();
  for (const ManifestSegments &s : segments) {
    json.beginObject();
    writeText(json, "mask", s.mask);
    writeText(json, "columns_of", s.columnsOf);
    if (s.keepFirst)
      json.member("keep_first", true);
    writeText(json, "batch", s.batch);
    writeText(json, "columns", s.columns);
    if (s.sequences)
      json.member("sequences", true);
    json.member("rows", s.rows);
    json.member("keys", s.keys);
    writeText(json, "pairs", s.pairs);
    json.endObject();
  }
  json.endArray();
}

void writePositionLimit(JsonWriter &json, const ManifestPositionLimit &limit) {
  json.key("position_limit");
  json.beginObject();
  json.member("input", limit.input);
  json.member("rule", limit.rule);
  json.member("pad", limit.pad);
  json.member("max", limit.max);
  json.endObject();
}

/// Leaves out what is zero.
void writeCost(JsonWriter &json, const char *key, const Polynomial &cost) {
  if (cost != Polynomial())
    json.member(key, cost.str());
}

void writeSteps(JsonWriter &json, const ManifestEntry &entry) {
  json.key("steps");
  json.beginArray();
  for (const ManifestStep &step : entry.steps) {
    json.beginObject();
    json.member("phase", step.phase);
    json.member("location", step.location);
    json.member("rows", step.rows);
    writeCost(json, "flops", step.flops);
    writeCost(json, "bf16_flops", step.bf16Flops);
    if (step.weightBytes)
      json.member("weight_bytes", step.weightBytes);
    writeCost(json, "bytes", step.bytes);
    if (!step.schedule.empty())
      json.member("attention_schedule", step.schedule);
    json.endObject();
  }
  json.endArray();
  json.key("walk");
  json.beginArray();
  for (int64_t step : entry.walk)
    json.value(step);
  json.endArray();
}

void writeOperand(JsonWriter &json, const char *key,
                  const ManifestOperand &operand) {
  json.key(key);
  json.beginObject();
  json.member(operand.isArgument ? "argument" : "buffer", operand.index);
  json.key("shape");
  json.beginArray();
  for (const Polynomial &dim : operand.shape)
    json.value(dim.str());
  json.endArray();
  json.endObject();
}

void writeCallWeight(JsonWriter &json, const char *key,
                     const std::optional<ManifestCallWeight> &weight) {
  if (!weight)
    return;
  json.key(key);
  json.beginObject();
  json.member(weight->inRow ? "row" : "offset", weight->at);
  json.endObject();
}

void writeCalls(JsonWriter &json, const std::vector<ManifestCall> &calls) {
  json.key("calls");
  json.beginArray();
  for (const ManifestCall &call : calls) {
    json.beginObject();
    json.member("primitive", call.primitive);
    writeOperand(json, "input", call.input);
    if (call.rhs)
      writeOperand(json, "rhs", *call.rhs);
    writeCallWeight(json, "weights", call.weights);
    writeCallWeight(json, "bias", call.bias);
    writeText(json, "activation", call.activation);
    if (call.residual)
      writeOperand(json, "residual", *call.residual);
    writeOperand(json, "out", call.out);
    if (call.epsilon != 0)
      json.member("epsilon", call.epsilon);
    json.endObject();
  }
  json.endArray();
}

void writeEntry(JsonWriter &json, const ManifestEntry &entry) {
  json.beginObject();
  json.member("name", entry.name);
  writeText(json, "loop", entry.loop);
  writeNames(json, "symbol_order", entry.symbolOrder);
  writeTensors(json, "inputs", entry.inputs);
  writeTensors(json, "outputs", entry.outputs);
  writeSegments(json, entry.segments);
  if (entry.positionLimit)
    writePositionLimit(json, *entry.positionLimit);
  json.key("buffers");
  json.beginArray();
  for (const ManifestBuffer &buffer : entry.buffers) {
    json.beginObject();
    json.member("offset", buffer.offset.str());
    json.member("bytes", buffer.bytes.str());
    writeText(json, "what", buffer.what);
    json.endObject();
  }
  json.endArray();
  json.member("arena_bytes", entry.arenaBytes.str());
  json.member("arena_lower_bound", entry.arenaLowerBound.str());
  json.member("counters", entry.counters);
  if (!entry.calls.empty())
    writeCalls(json, entry.calls);
  writeSteps(json, entry);
  json.member("flops", entry.flops.str());
  writeCost(json, "bf16_flops", entry.bf16Flops);
  if (entry.streamedBytes)
    json.member("streamed_bytes", *entry.streamedBytes);
  json.endObject();
}

void writeText(JsonWriter &json, const ManifestText &text) {
  json.key("text");
  json.beginObject();
  json.member("tokenizer", text.tokenizer);
  json.member("max_length", text.maxLength);
  json.member("pooling", text.pooling);
  json.member("normalize", text.normalize);
  json.endObject();
}

void writeDecoder(JsonWriter &json, const ManifestDecoder &decoder) {
  json.key("decoder");
  json.beginObject();
  if (decoder.context)
    json.member("context", *decoder.context);
  json.member("vocabulary", decoder.vocabulary);
  json.key("caches");
  json.beginArray();
  for (const ManifestCache &cache : decoder.caches) {
    json.beginObject();
    if (cache.window)
      json.member("window", cache.window);
    json.member("dtype", dtypeName(cache.dtype));
    json.member("layers", cache.layers);
    json.member("block_bytes", cache.blockBytes);
    json.endObject();
  }
  json.endArray();
  writeText(json, "generation", decoder.generation);
  json.endObject();
}

/// What stands before the entries.
void writeHead(JsonWriter &json, const Manifest &manifest) {
  json.member("abi", manifest.abi);
  json.member("compiler", manifest.compiler);
  json.member("name", manifest.name);
  json.member("family", manifest.family);
  json.member("architecture", manifest.architecture);
  json.member("head", manifest.head);
  json.member("file_bytes", manifest.fileBytes);
  writeNames(json, "isas", manifest.isas);
  json.member("dtype", manifest.dtype);
  json.member("backend", manifest.backend);
  json.key("options");
  json.beginObject();
  for (const auto &[key, value] : manifest.options)
    json.member(key, value);
  json.endObject();
  json.key("inputs_sha256");
  json.beginObject();
  for (const auto &[file, hash] : manifest.inputsSha256)
    json.member(file, hash);
  json.endObject();
  json.member("weights_sha256", manifest.weightsSha256);
  json.member("parameters", manifest.parameters);
  json.member("weights_bytes", manifest.weightsBytes);
  json.key("symbols");
  json.beginObject();
  for (const ManifestSymbol &symbol : manifest.symbols) {
    json.key(symbol.name);
    json.beginObject();
    json.key("max");
    if (symbol.max)
      json.value(*symbol.max);
    else
      json.null();
    json.endObject();
  }
  json.endObject();
}

} // namespace

const std::vector<std::string> &ManifestCall::primitives() {
  static const std::vector<std::string> names = {"matmul", "batch_matmul",
                                                 "softmax", "layer_norm"};
  return names;
}

const std::vector<std::string> &ManifestCall::activations() {
  static const std::vector<std::string> names = {
      "relu", "gelu", "gelu_tanh", "silu", "quick_gelu", "tanh", "sigmoid"};
  return names;
}

const ManifestEntry *Manifest::findEntry(std::string_view entry) const {
  for (const ManifestEntry &candidate : entries)
    if (candidate.name == entry)
      return &candidate;
  return nullptr;
}

const ManifestSymbol *Manifest::findSymbol(std::string_view symbol) const {
  for (const ManifestSymbol &candidate : symbols)
    if (candidate.name == symbol)
      return &candidate;
  return nullptr;
}

std::string Manifest::toJson() const {
  std::string out;
  JsonWriter json(out);
  json.beginObject();
  writeHead(json, *this);
  json.key("entries");
  json.beginArray();
  for (const ManifestEntry &entry : entries)
    writeEntry(json, entry);
  json.endArray();
  if (text)
    writeText(json, *text);
  if (tokenizer) {
    json.key("tokenizer");
    json.beginObject();
    json.member("offset", tokenizer->offset);
    json.member("bytes", tokenizer->bytes);
    json.endObject();
  }
  if (decoder)
    writeDecoder(json, *decoder);
  if (!labels.empty())
    writeNames(json, "labels", labels);
  if (problemType)
    json.member("problem_type", *problemType);
  writeNames(json, "places", places);
  writeNames(json, "notes", notes);
  writeNames(json, "disabled_passes", disabledPasses);
  json.endObject();
  return out;
}

} // namespace transom
