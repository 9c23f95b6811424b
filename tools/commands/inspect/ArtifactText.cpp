// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats an artifact as text.
#include "runtime/abi/Layout.h"
#include "runtime/base/Utf8.h"
#include "runtime/manifest/ExampleSizes.h"
#include "tools/commands/Command.h"
#include "tools/commands/inspect/ArtifactReport.h"
#include <algorithm>
#include <cinttypes>
#include <cstdarg>

using namespace transom;
using namespace transom::tools;

namespace {

/// Text to which printf-style output is appended.
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

static std::string getShape(const ManifestTensor &tensor) {
  std::string text = "[";
  for (const Polynomial &dim : tensor.shape)
    text += (text.size() > 1 ? ", " : "") + dim.str();
  return text + "]";
}

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

static void addEntry(Page &page, const ManifestEntry &entry) {
  // The runtime derives this entry, so it has no code and no costs.
  if (!entry.derivedFrom.empty()) {
    page.add("\nentry %s: derived from %s\n", entry.name.c_str(),
             entry.derivedFrom.c_str());
    return addTensors(page, entry);
  }
  // Dispatches and interface.
  page.add("\nentry %s: %zu dispatches, %zu barriers a %s", entry.name.c_str(),
           entry.dispatches.size(), entry.dispatchOrder.size(),
           entry.kind == EntryKind::Step ? "step" : "call");
  const int64_t barriers = entry.getMinBarriers();
  if (size_t(barriers) != entry.dispatchOrder.size())
    page.add(", %" PRId64 " of one short sequence", barriers);
  page.add("\n");
  addTensors(page, entry);
  // Memory, FLOP and weights.
  page.add("  arena bytes  %s\n", entry.arenaBytes.str().c_str());
  if (const int64_t kept = getKeptBytes(entry))
    page.add("  kept bytes   %s from call to call\n",
             formatBytes(static_cast<uint64_t>(kept)).c_str());
  page.add("  flops        %s\n", entry.flops.str().c_str());
  for (const auto &[type, flops] :
       {std::pair("  in bf16     ", entry.bf16Flops),
        {"  in int8     ", entry.int8Flops}})
    if (!(flops == Polynomial()))
      page.add("%s %s\n", type, flops.str().c_str());
  for (const ManifestDispatch &step : entry.dispatches)
    if (!step.schedule.empty())
      page.add("  schedule     %s of %s\n", step.schedule.c_str(),
               step.location.c_str());
  if (entry.streamedBytes)
    page.add("  streamed     %s of weights a call\n",
             formatBytes(static_cast<uint64_t>(*entry.streamedBytes)).c_str());
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
             formatBytes(getSequenceBytes(decoder, *decoder.context)).c_str());
}

static void addText(Page &page, const ManifestText &text) {
  if (text.maxLength)
    page.add("text limit         %" PRId64 " tokens\n", text.maxLength);
  if (!text.pooling.empty())
    page.add("pooling            %s\n", text.pooling.c_str());
  page.add("normalization      %s\n", text.normalize ? "yes" : "no");
  if (!text.pipeline)
    return;
  const ManifestPipeline &pipeline = *text.pipeline;
  if (pipeline.entry.empty())
    page.add("embeddings         refused: %s\n", pipeline.refusal.c_str());
  else
    page.add("embeddings         entry '%s'\n", pipeline.entry.c_str());
  if (pipeline.dim)
    page.add("cut to             %" PRId64 " numbers\n", pipeline.dim);
  if (!pipeline.similarity.empty())
    page.add("similarity         %s\n", pipeline.similarity.c_str());
  for (const auto &[name, prompt] : pipeline.prompts)
    if (!prompt.empty())
      page.add("prompt %-11s '%s'%s\n", name.c_str(),
               utf8::printable(prompt).c_str(),
               name == pipeline.defaultPrompt ? ", the default" : "");
}

std::string ArtifactReport::getText() const {
  const Manifest &manifest = file.manifest();
  // The model and its compile options.
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

  // Supported hosts.
  page.add("instruction sets  ");
  for (const std::string &isa : manifest.isas)
    page.add(" %s", isa.c_str());
  if (manifest.backend != "native")
    page.add(
        "\nbackend            %s; its own memory (weights anew, primitives, "
        "scratch) is not counted",
        manifest.backend.c_str());
  page.add("\ntokenizer          %s\n", manifest.tokenizer ? "yes" : "no");

  // Capabilities, limits and sources.
  if (manifest.text)
    addText(page, *manifest.text);
  if (manifest.decoder)
    addDecoder(page, *manifest.decoder);
  for (const ManifestSymbol &symbol : manifest.symbols)
    if (symbol.max)
      page.add("%-18s at most %" PRId64 "\n", symbol.name.c_str(), *symbol.max);
  for (const auto &[name, hash] : manifest.inputsSha256)
    page.add("from %s  %s\n", hash.c_str(), name.c_str());
  if (certificate)
    page.add("certificate        passes: %s; key %s\n",
             certificate->getVerdict().c_str(), certificate->key.c_str());
  for (const std::string &pass : manifest.disabledPasses)
    page.add("without pass %s\n", pass.c_str());

  // Entries, and compiler notes.
  for (const ManifestEntry &entry : manifest.entries)
    addEntry(page, entry);
  memory.addText(page.text);
  if (figures) {
    figures->parameters.addText(page.text);
    figures->formulas.addText(page.text);
  }
  for (const std::string &text : manifest.notes)
    page.add("\nnote: %s\n", text.c_str());
  return page.text;
}
