// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes an artifact as JSON.
#include "runtime/abi/Layout.h"
#include "runtime/manifest/ExampleSizes.h"
#include "runtime/manifest/ManifestWriter.h"
#include "tools/commands/inspect/ArtifactReport.h"

using namespace transom;
using namespace transom::tools;

Result<ArtifactReport> ArtifactReport::create(const ArtifactFile &file,
                                              bool isVerified,
                                              MemoryTable memory) {
  ArtifactReport report{file, isVerified, {}, std::move(memory), {}};
  if (const std::string &text = file.manifest().figures; !text.empty()) {
    TRANSOM_ASSIGN(report.figures, ModelFigures::parse(text, "figures"));
  }
  if (const std::string &text = file.manifest().certificate; !text.empty()) {
    TRANSOM_ASSIGN(JsonDocument document, parseJson(text, "certificate"));
    TRANSOM_ASSIGN(report.certificate, parseCertificate(document));
  }
  return report;
}

/// Writes the certificate's verdict and the data that a repeated check needs.
static void writeCertificate(JsonWriter &json, const Certificate &certificate) {
  json.key("certificate");
  json.beginObject();
  json.member("verdict", certificate.getVerdict());
  json.member("lanes", certificate.lanes);
  json.member("key", certificate.key);
  json.member("all_layers", !certificate.leavesLayersOut());
  json.endObject();
}

int64_t tools::getPositionBytes(const ManifestDecoder &decoder, bool ofSource) {
  int64_t bytes = 0;
  for (const ManifestCache &cache : decoder.caches)
    if (cache.readOnly == ofSource)
      bytes += cache.blockBytes / kvBlockSize;
  return bytes;
}

int64_t tools::getSequenceBytes(const ManifestDecoder &decoder,
                                int64_t positions) {
  int64_t bytes = 0;
  for (const ManifestCache &cache : decoder.caches)
    if (!cache.readOnly)
      bytes += getNumKvBlocks(positions) * cache.blockBytes;
  return bytes;
}

static void writeTensors(JsonWriter &json, const char *key,
                         const std::vector<ManifestTensor> &tensors) {
  json.key(key);
  json.beginArray();
  for (const ManifestTensor &tensor : tensors) {
    json.beginObject();
    manifest::Writer(json).writeFields(tensor, {"name", "dtype"});
    json.key("shape");
    json.beginArray();
    for (const Polynomial &dim : tensor.shape) {
      if (std::optional<int64_t> size = dim.constant())
        json.value(*size);
      else
        json.value(dim.str());
    }
    json.endArray();
    if (!tensor.role.empty())
      json.member("optional", tensor.fallback.has_value());
    json.endObject();
  }
  json.endArray();
}

static void writeEntry(JsonWriter &json, const Manifest &manifest,
                       const ManifestEntry &entry) {
  json.beginObject();
  // The runtime derives this entry, so it has no code and no costs.
  json.member("name", entry.name);
  if (!entry.derivedFrom.empty()) {
    json.member("derived_from", entry.derivedFrom);
    writeTensors(json, "inputs", entry.inputs);
    writeTensors(json, "outputs", entry.outputs);
    json.endObject();
    return;
  }
  // Interface, dispatches and costs.
  writeTensors(json, "inputs", entry.inputs);
  writeTensors(json, "outputs", entry.outputs);
  json.member("dispatches", static_cast<uint64_t>(entry.dispatches.size()));
  json.member("barriers", static_cast<uint64_t>(entry.dispatchOrder.size()));
  json.member("min_barriers", entry.getMinBarriers());
  json.member("flops", entry.flops.str());
  json.member("bf16_flops", entry.bf16Flops.str());
  json.member("int8_flops", entry.int8Flops.str());
  manifest::Writer(json).writeFields(entry, {"streamed_bytes"});
  json.key("attention_schedules");
  json.beginObject();
  for (const ManifestDispatch &step : entry.dispatches)
    if (!step.schedule.empty())
      json.member(step.location, step.schedule);
  json.endObject();
  manifest::Writer(json).writeFields(entry,
                                     {"arena_bytes", "arena_lower_bound"});
  if (const int64_t kept = getKeptBytes(entry))
    json.member("kept_bytes", kept);
  // Costs for example sizes.
  json.key("examples");
  json.beginArray();
  for (const ExampleSizes &example : getExamples(manifest, entry)) {
    json.beginObject();
    json.member("batch", example.batch);
    json.member("seq", example.length);
    if (manifest.decoder)
      json.member("past", example.past);
    json.member("parts", exampleWorkers);
    if (auto bytes = evaluateExample(entry.arenaBytes, entry, example))
      json.member("arena_bytes", *bytes);
    if (auto flops = evaluateExample(entry.flops, entry, example))
      json.member("flops", *flops);
    if (auto flops = evaluateExample(entry.bf16Flops, entry, example))
      json.member("bf16_flops", *flops);
    if (auto flops = evaluateExample(entry.int8Flops, entry, example))
      json.member("int8_flops", *flops);
    json.endObject();
  }
  json.endArray();
  json.endObject();
}

static void writeDecoder(JsonWriter &json, const ManifestDecoder &decoder) {
  // Limits.
  json.key("decoder");
  json.beginObject();
  json.key("context");
  if (decoder.context)
    json.value(*decoder.context);
  else
    json.null();
  json.member("vocabulary", decoder.vocabulary);
  json.member("block_positions", kvBlockSize);
  // Caches, then their bytes per token.
  json.key("caches");
  json.beginArray();
  for (const ManifestCache &cache : decoder.caches) {
    json.beginObject();
    json.member("window", cache.window);
    manifest::Writer(json).writeFields(
        cache, {"dtype", "layers", "block_bytes", "read_only"});
    json.endObject();
  }
  json.endArray();
  json.member("cache_bytes_per_position", getPositionBytes(decoder, false));
  if (const int64_t bytes = getPositionBytes(decoder, true))
    json.member("cache_bytes_per_source_token", bytes);
  if (decoder.context)
    json.member("cache_bytes", getSequenceBytes(decoder, *decoder.context));
  json.endObject();
}

static void writeText(JsonWriter &json, const ManifestText &text) {
  json.key("text");
  json.beginObject();
  json.key("max_tokens");
  if (text.maxLength)
    json.value(text.maxLength);
  else
    json.null();
  json.member("pooling", text.pooling);
  json.member("normalize", text.normalize);
  if (text.pipeline) {
    json.key("pipeline");
    json.beginObject();
    manifest::Writer(json).writeFields(
        *text.pipeline, {"entry", "refusal", "prompts", "default_prompt",
                         "similarity", "dim", "max_active"});
    json.endObject();
  }
  json.endObject();
}

std::string ArtifactReport::toJson() const {
  // Model, versions, weights and options.
  const Manifest &manifest = file.manifest();
  std::string text;
  JsonWriter json(text, 2);
  json.beginObject();
  manifest::Writer fields(json);
  fields.writeFields(manifest,
                     {"name", "family", "architecture", "head", "compiler",
                      "abi", "dtype", "backend", "isas", "parameters",
                      "weights_bytes", "weights_sha256"});
  if (isVerified)
    json.member("weights_verified", true);
  json.member("file_bytes", file.size());
  fields.writeFields(manifest, {"inputs_sha256", "options", "disabled_passes"});
  // Size limits.
  json.key("symbols");
  json.beginObject();
  for (const ManifestSymbol &symbol : manifest.symbols) {
    json.key(symbol.name);
    if (symbol.max)
      json.value(*symbol.max);
    else
      json.null();
  }
  json.endObject();
  // Tokenizer, text processing, decoder and labels.
  json.member("tokenizer", manifest.tokenizer.has_value());
  if (manifest.text)
    writeText(json, *manifest.text);
  if (manifest.decoder)
    writeDecoder(json, *manifest.decoder);
  json.key("labels");
  json.array(manifest.labels);
  // Entries, then parts that only some artifacts have.
  json.key("entries");
  json.beginArray();
  for (const ManifestEntry &entry : manifest.entries)
    writeEntry(json, manifest, entry);
  json.endArray();
  memory.writeJson(json);
  if (figures)
    figures->writeJson(json);
  if (certificate)
    writeCertificate(json, *certificate);
  fields.writeFields(manifest, {"notes"});
  json.endObject();
  return text + "\n";
}
