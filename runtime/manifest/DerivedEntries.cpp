// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a decoder without code of their own: the runtime derives them
// from the step. This file defines the names, arguments and results that the
// manifest, the command line and the C API show.
#include "runtime/manifest/Manifest.h"

namespace transom {
namespace {

Polynomial sym(const char *name) { return Polynomial::symbol(name); }

ManifestEntry makeDerivedEntry(const Manifest &manifest, EntryKind kind) {
  ManifestEntry entry;
  entry.name = getEntryKindName(kind);
  entry.kind = kind;
  entry.derivedFrom = manifest.findEntry(EntryKind::Step)->name;
  entry.symbolOrder = {"batch", "seq"};
  ManifestTensor ids, mask;
  ids.name = "input_ids";
  ids.role = "ids";
  ids.bound = manifest.decoder->vocabulary;
  mask.name = "attention_mask";
  mask.role = "mask";
  mask.fallback = 1;
  ids.dtype = mask.dtype = DType::I64;
  ids.shape = mask.shape = {sym("batch"), sym("seq")};
  entry.inputs = {ids, mask};
  return entry;
}

void addResult(ManifestEntry &entry, const char *name, DType dtype,
               std::vector<Polynomial> shape) {
  ManifestTensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  entry.outputs.push_back(std::move(tensor));
}

ManifestEntry makeGenerateEntry(const Manifest &manifest) {
  ManifestEntry entry = makeDerivedEntry(manifest, EntryKind::Generate);
  // `returned` continuations of each row, the longest of `tokens` tokens: both
  // follow from the settings and the run.
  entry.symbolOrder = {"batch", "returned", "seq", "tokens"};
  addResult(entry, "output_ids", DType::I64,
            {sym("batch") * sym("returned"), sym("tokens")});
  return entry;
}

} // namespace

std::vector<ManifestEntry> getDerivedEntries(const Manifest &manifest) {
  const ManifestEntry *step = manifest.findEntry(EntryKind::Step);
  if (!manifest.decoder || !step || step->outputs.empty() ||
      step->outputs[0].shape.size() != 2)
    return {};
  const ManifestTensor &result = step->outputs[0];
  const Polynomial &width = result.shape[1];
  std::vector<Polynomial> perToken = {sym("batch"), sym("seq"), width};
  std::vector<ManifestEntry> entries;
  if (manifest.head == "causal_lm") {
    entries.push_back(makeDerivedEntry(manifest, EntryKind::Logits));
    addResult(entries[0], "logits", DType::F32, perToken);
    entries.push_back(makeDerivedEntry(manifest, EntryKind::Score));
    addResult(entries[1], "logprobs", DType::F32,
              {sym("batch"), sym("seq") - Polynomial(1)});
    entries.push_back(makeGenerateEntry(manifest));
    return entries;
  }
  entries.push_back(makeDerivedEntry(manifest, EntryKind::Encode));
  if (result.name == "logits")
    addResult(entries[0], "logits", DType::F32, {sym("batch"), width});
  else
    addResult(entries[0], result.name.c_str(), DType::F32, perToken);
  return entries;
}

} // namespace transom
