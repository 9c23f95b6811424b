// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder entries without their own code: the runtime derives them from the
// step. This file defines the names, arguments and results shown by the
// manifest, the command line and the C API.
#include "runtime/manifest/DerivedEntries.h"
#include "runtime/manifest/ManifestWriter.h"

namespace transom {
namespace {

Polynomial sym(const char *name) { return Polynomial::symbol(name); }

ManifestTensor makeTensor(const char *name, DType dtype,
                          std::vector<Polynomial> shape) {
  ManifestTensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  return tensor;
}

/// Adds ids [batch, columns] below `bound`, and their mask, which may be
/// omitted.
void addIds(ManifestEntry &entry, const char *idsName, const char *maskName,
            const char *columns, std::optional<int64_t> bound) {
  ManifestTensor ids =
      makeTensor(idsName, DType::I64, {sym("batch"), sym(columns)});
  ManifestTensor mask =
      makeTensor(maskName, DType::I64, {sym("batch"), sym(columns)});
  ids.role = "ids";
  ids.bound = bound;
  mask.role = "mask";
  mask.fallback = 1;
  entry.inputs.push_back(std::move(ids));
  entry.inputs.push_back(std::move(mask));
}

/// Builds the derived entries for one manifest.
class DerivedEntryMaker {
public:
  DerivedEntryMaker(const Manifest &manifest, const ManifestEntry &step)
      : manifest(manifest), step(step),
        encoder(manifest.findEntry(manifest.decoder->encoder)) {}

  std::vector<ManifestEntry> make() const {
    if (!manifest.decoder->classRow.empty())
      return {makeEncode()};
    if (encoder)
      return {makeLogits("target"), makeTargetScore(), makeGenerate()};
    if (manifest.head == "causal_lm")
      return {makeLogits("seq"), makeScore(), makeGenerate()};
    return {makeEncode()};
  }

private:
  const ManifestTensor &result() const { return step.outputs[0]; }
  const Polynomial &width() const { return result().shape[1]; }

  /// An entry with a token id batch; for an encoder-decoder, source token ids.
  ManifestEntry makeEntry(EntryKind kind) const {
    ManifestEntry entry;
    entry.name = getEntryKindName(kind);
    entry.kind = kind;
    entry.derivedFrom = step.name;
    entry.symbolOrder = {"batch", "seq"};
    std::optional<int64_t> bound = manifest.decoder->vocabulary;
    if (encoder)
      for (const ManifestTensor &input : encoder->inputs)
        if (input.role == "ids")
          bound = input.bound;
    addIds(entry, "input_ids", "attention_mask", "seq", bound);
    return entry;
  }

  /// Logits for each token, in `columns` columns.
  ManifestEntry makeLogits(const char *columns) const {
    ManifestEntry entry = makeEntry(EntryKind::Logits);
    if (encoder) {
      entry.symbolOrder = {"batch", "seq", "target"};
      addIds(entry, "decoder_input_ids", "decoder_attention_mask", columns,
             manifest.decoder->vocabulary);
    }
    entry.outputs = {makeTensor("logits", DType::F32,
                                {sym("batch"), sym(columns), width()})};
    return entry;
  }

  ManifestEntry makeScore() const {
    ManifestEntry entry = makeEntry(EntryKind::Score);
    entry.outputs = {makeTensor("logprobs", DType::F32,
                                {sym("batch"), sym("seq") - Polynomial(1)})};
    return entry;
  }

  /// Log-probabilities for each target token, given the tokens before it. The
  /// padding value in `labels` is -100.
  ManifestEntry makeTargetScore() const {
    ManifestEntry entry = makeEntry(EntryKind::Score);
    entry.symbolOrder = {"batch", "seq", "target"};
    const std::vector<Polynomial> shape = {sym("batch"), sym("target")};
    entry.inputs.push_back(makeTensor("labels", DType::I64, shape));
    entry.inputs.back().role = "data";
    entry.outputs = {makeTensor("logprobs", DType::F32, shape)};
    return entry;
  }

  /// `returned` continuations per row; the longest has `tokens` tokens. Both
  /// depend on the settings and the run. Only beam search returns scores.
  ManifestEntry makeGenerate() const {
    ManifestEntry entry = makeEntry(EntryKind::Generate);
    entry.symbolOrder = {"batch", "returned", "seq", "tokens"};
    entry.outputs = {
        makeTensor("output_ids", DType::I64,
                   {sym("batch") * sym("returned"), sym("tokens")}),
        makeTensor("scores", DType::F32, {sym("batch") * sym("returned")})};
    return entry;
  }

  ManifestEntry makeEncode() const {
    ManifestEntry entry = makeEntry(EntryKind::Encode);
    std::vector<Polynomial> shape = {sym("batch"), sym("seq"), width()};
    if (result().name == "logits")
      shape.erase(shape.begin() + 1);
    entry.outputs = {
        makeTensor(result().name.c_str(), DType::F32, std::move(shape))};
    return entry;
  }

  const Manifest &manifest;
  const ManifestEntry &step;
  const ManifestEntry *encoder; ///< NULL: not an encoder-decoder
};

} // namespace

std::vector<ManifestEntry> getDerivedEntries(const Manifest &manifest) {
  const ManifestEntry *step = manifest.findEntry(EntryKind::Step);
  if (!manifest.decoder || !step || step->outputs.empty() ||
      step->outputs[0].shape.size() != 2)
    return {};
  return DerivedEntryMaker(manifest, *step).make();
}

static std::string getText(const ManifestEntry &entry) {
  std::string text;
  JsonWriter json(text);
  manifest::Writer(json).writeObject(entry);
  return text;
}

bool isDerived(const Manifest &manifest, const ManifestEntry &entry) {
  // Entries run by kind, so their names can be chosen freely.
  for (ManifestEntry &derived : getDerivedEntries(manifest)) {
    derived.name = entry.name;
    if (derived.kind == entry.kind)
      return getText(derived) == getText(entry);
  }
  return false;
}

} // namespace transom
