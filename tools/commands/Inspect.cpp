// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom inspect: what an artifact holds, read from its manifest; nothing of
// it is executed. A model folder, or a config without weights, is read by the
// compiler's importer.
#include "runtime/abi/Layout.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/base/File.h"
#include "runtime/json/Json.h"
#include "runtime/manifest/ExampleSizes.h"
#include "runtime/manifest/ManifestWriter.h"
#include "tools/commands/Command.h"
#include "tools/commands/Compiler.h"
#include "tools/commands/ModelPath.h"
#include <algorithm>
#include <cinttypes>
#include <cstdarg>

using namespace transom;
using namespace transom::tools;

namespace {

/// A text, appended to with the formats of printf.
class Page {
public:
  __attribute__((format(printf, 2, 3))) void add(const char *format, ...) {
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text.append(line,
                std::min<size_t>(static_cast<size_t>(length), sizeof line - 1));
  }
  std::string text;
};

} // namespace

/// Bytes of the caches for one token of one sequence, or of its source.
static int64_t positionBytes(const ManifestDecoder &decoder, bool ofSource) {
  int64_t bytes = 0;
  for (const ManifestCache &cache : decoder.caches)
    if (cache.readOnly == ofSource)
      bytes += cache.blockBytes / kvBlockSize;
  return bytes;
}

/// Bytes of the blocks of one sequence of so many positions, without those of
/// its source.
static int64_t sequenceBytes(const ManifestDecoder &decoder,
                             int64_t positions) {
  int64_t bytes = 0;
  for (const ManifestCache &cache : decoder.caches)
    if (!cache.readOnly)
      bytes += getNumKvBlocks(positions) * cache.blockBytes;
  return bytes;
}

static std::string getShape(const ManifestTensor &tensor) {
  std::string text = "[";
  for (const Polynomial &dim : tensor.shape)
    text += (text.size() > 1 ? ", " : "") + dim.str();
  return text + "]";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

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
  json.member("name", entry.name);
  if (!entry.derivedFrom.empty()) {
    json.member("derived_from", entry.derivedFrom);
    writeTensors(json, "inputs", entry.inputs);
    writeTensors(json, "outputs", entry.outputs);
    json.endObject();
    return;
  }
  writeTensors(json, "inputs", entry.inputs);
  writeTensors(json, "outputs", entry.outputs);
  json.member("dispatches", static_cast<uint64_t>(entry.dispatches.size()));
  json.member("barriers", static_cast<uint64_t>(entry.dispatchOrder.size()));
  json.member("flops", entry.flops.str());
  json.member("bf16_flops", entry.bf16Flops.str());
  manifest::Writer(json).writeFields(entry, {"streamed_bytes"});
  json.key("attention_schedules");
  json.beginObject();
  for (const ManifestDispatch &step : entry.dispatches)
    if (!step.schedule.empty())
      json.member(step.location, step.schedule);
  json.endObject();
  manifest::Writer(json).writeFields(entry,
                                     {"arena_bytes", "arena_lower_bound"});
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
    json.endObject();
  }
  json.endArray();
  json.endObject();
}

static void writeDecoder(JsonWriter &json, const ManifestDecoder &decoder) {
  json.key("decoder");
  json.beginObject();
  json.key("context");
  if (decoder.context)
    json.value(*decoder.context);
  else
    json.null();
  json.member("vocabulary", decoder.vocabulary);
  json.member("block_positions", kvBlockSize);
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
  json.member("cache_bytes_per_position", positionBytes(decoder, false));
  if (const int64_t bytes = positionBytes(decoder, true))
    json.member("cache_bytes_per_source_token", bytes);
  if (decoder.context)
    json.member("cache_bytes", sequenceBytes(decoder, *decoder.context));
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
  json.endObject();
}

static std::string toJson(const ArtifactFile &file, bool isVerified) {
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
  json.member("tokenizer", manifest.tokenizer.has_value());
  if (manifest.text)
    writeText(json, *manifest.text);
  if (manifest.decoder)
    writeDecoder(json, *manifest.decoder);
  json.key("labels");
  json.array(manifest.labels);
  json.key("entries");
  json.beginArray();
  for (const ManifestEntry &entry : manifest.entries)
    writeEntry(json, manifest, entry);
  json.endArray();
  fields.writeFields(manifest, {"notes"});
  json.endObject();
  return text + "\n";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void addTensors(Page &page, const ManifestEntry &entry) {
  for (const ManifestTensor &tensor : entry.inputs)
    page.add("  in   %-22s %-4s %s%s\n", tensor.name.c_str(),
             std::string(dtypeName(tensor.dtype)).c_str(),
             getShape(tensor).c_str(), tensor.fallback ? "  optional" : "");
  for (const ManifestTensor &tensor : entry.outputs)
    page.add("  out  %-22s %-4s %s\n", tensor.name.c_str(),
             std::string(dtypeName(tensor.dtype)).c_str(),
             getShape(tensor).c_str());
}

/// Sizes of an example: `8x128`, of tokens after a past `8x1 at 4095`.
static std::string getText(const ExampleSizes &example) {
  std::string text =
      std::to_string(example.batch) + "x" + std::to_string(example.length);
  return example.past ? text + " at " + std::to_string(example.past) : text;
}

static void addEntry(Page &page, const Manifest &manifest,
                     const ManifestEntry &entry) {
  if (!entry.derivedFrom.empty()) {
    page.add("\nentry %s: derived from %s\n", entry.name.c_str(),
             entry.derivedFrom.c_str());
    return addTensors(page, entry);
  }
  page.add("\nentry %s: %zu dispatches, %zu barriers a %s\n",
           entry.name.c_str(), entry.dispatches.size(),
           entry.dispatchOrder.size(),
           entry.kind == EntryKind::Step ? "step" : "call");
  addTensors(page, entry);
  page.add("  arena bytes  %s\n", entry.arenaBytes.str().c_str());
  page.add("  flops        %s\n", entry.flops.str().c_str());
  for (const ManifestDispatch &step : entry.dispatches)
    if (!step.schedule.empty())
      page.add("  schedule     %s of %s\n", step.schedule.c_str(),
               step.location.c_str());
  if (entry.streamedBytes)
    page.add("  streamed     %s of weights a call\n",
             formatBytes(static_cast<uint64_t>(*entry.streamedBytes)).c_str());
  page.add("  with %" PRId64 " workers:\n", exampleWorkers);
  for (const ExampleSizes &example : getExamples(manifest, entry)) {
    auto bytes = evaluateExample(entry.arenaBytes, entry, example);
    auto flops = evaluateExample(entry.flops, entry, example);
    if (bytes && flops)
      page.add("    %-12s arena %10s  %10.3f GFLOP\n", getText(example).c_str(),
               formatBytes(static_cast<uint64_t>(*bytes)).c_str(),
               static_cast<double>(*flops) * 1e-9);
  }
}

static void addDecoder(Page &page, const ManifestDecoder &decoder) {
  if (decoder.context)
    page.add("context            %" PRId64 " positions\n", *decoder.context);
  else
    page.add("context            any number of positions\n");
  page.add("vocabulary         %" PRId64 "\n", decoder.vocabulary);
  for (const ManifestCache &cache : decoder.caches) {
    page.add("%s   %s a position in %" PRId64
             " layers (%s), in blocks of %" PRId64 " positions: %" PRId64
             " bytes",
             cache.readOnly ? "cache of sources" : "cache           ",
             formatBytes(cache.blockBytes / kvBlockSize).c_str(), cache.layers,
             std::string(dtypeName(cache.dtype)).c_str(), kvBlockSize,
             cache.blockBytes);
    if (cache.window)
      page.add("; the last %" PRId64 " positions", cache.window);
    page.add("\n");
  }
  if (decoder.context)
    page.add("cache, all         %s a sequence\n",
             formatBytes(sequenceBytes(decoder, *decoder.context)).c_str());
}

static void addText(Page &page, const ManifestText &text) {
  if (text.maxLength)
    page.add("text limit         %" PRId64 " tokens\n", text.maxLength);
  if (!text.pooling.empty())
    page.add("pooling            %s\n", text.pooling.c_str());
  page.add("normalization      %s\n", text.normalize ? "yes" : "no");
}

static std::string getText(const ArtifactFile &file, bool isVerified) {
  const Manifest &manifest = file.manifest();
  // The model, and how it was compiled.
  Page page;
  page.add("%s: %s (%s), head %s\n", manifest.name.c_str(),
           manifest.architecture.c_str(), manifest.family.c_str(),
           manifest.head.c_str());
  page.add("compiled by transom %s, ABI %" PRId64 ", %s\n",
           manifest.compiler.c_str(), manifest.abi, manifest.dtype.c_str());
  page.add("parameters         %" PRId64 "\n", manifest.parameters);
  page.add("weights            %s, sha256 %s%s\n",
           formatBytes(manifest.weightsBytes).c_str(),
           manifest.weightsSha256.c_str(), isVerified ? ", verified" : "");
  page.add("file               %s\n", formatBytes(file.size()).c_str());

  // What it runs on.
  page.add("instruction sets  ");
  for (const std::string &isa : manifest.isas)
    page.add(" %s", isa.c_str());
  if (manifest.backend != "native")
    page.add(
        "\nbackend            %s; its own memory (weights anew, primitives, "
        "scratch) is not counted",
        manifest.backend.c_str());
  page.add("\ntokenizer          %s\n", manifest.tokenizer ? "yes" : "no");

  // What it can do, its limits and its sources.
  if (manifest.text)
    addText(page, *manifest.text);
  if (manifest.decoder)
    addDecoder(page, *manifest.decoder);
  for (const ManifestSymbol &symbol : manifest.symbols)
    if (symbol.max)
      page.add("%-18s at most %" PRId64 "\n", symbol.name.c_str(), *symbol.max);
  for (const auto &[name, hash] : manifest.inputsSha256)
    page.add("from %s  %s\n", hash.c_str(), name.c_str());
  for (const std::string &pass : manifest.disabledPasses)
    page.add("without pass %s\n", pass.c_str());

  // Its entries, and notes of the compiler.
  for (const ManifestEntry &entry : manifest.entries)
    addEntry(page, manifest, entry);
  for (const std::string &text : manifest.notes)
    page.add("\nnote: %s\n", text.c_str());
  return page.text;
}

/// True for a path that the compiler's importer reads: a folder, or JSON.
static bool isModel(const std::string &path) {
  return isFolder(path) ||
         (path.size() > 5 && path.compare(path.size() - 5, 5, ".json") == 0);
}

static Result<void> runInspect(const std::string &path, bool verify,
                               bool asJson) {
  if (isModel(path)) {
    if (verify)
      return usageError("--verify: '" + path +
                        "' is a model; expected a compiled model");
    TRANSOM_TRY(checkModelSource(path));
    TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
    TRANSOM_ASSIGN(ModelReport report, compiler->inspectModel(path));
    return writeOut(asJson ? report.json : escapeLines(report.text));
  }
  TRANSOM_TRY(checkModelArtifact(path));
  TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(path));
  if (verify)
    TRANSOM_TRY(file.checkWeights());
  return writeOut(asJson ? toJson(file, verify)
                         : escapeLines(getText(file, verify)));
}

void tools::addInspect(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "inspect", "what a model or artifact holds");
  auto path = std::make_shared<std::string>();
  command.app
      ->add_option("PATH", *path,
                   "a compiled model, a model folder, a config.json without "
                   "weights, or a graph.json")
      ->required();
  auto verify = std::make_shared<bool>(false);
  command.app->add_flag("--verify", *verify,
                        "also read all weights and compare their sha256");
  command.run = [path, verify](const CommonFlags &common) {
    return runInspect(*path, *verify, common.json);
  };
}
