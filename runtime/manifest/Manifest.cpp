// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a manifest as JSON, and finds its entries and symbols.
#include "runtime/manifest/Manifest.h"
#include "runtime/base/Activation.h"
#include "runtime/manifest/ManifestWriter.h"

using namespace transom;

const std::vector<std::string> &ManifestCall::primitives() {
  static const std::vector<std::string> names = {"matmul", "batch_matmul",
                                                 "softmax", "layer_norm"};
  return names;
}

const std::vector<std::string> &ManifestCall::activations() {
  static const std::vector<std::string> names =
      getActivationNames(activation::OneDnn);
  return names;
}

const char *transom::getEntryKindName(EntryKind kind) {
  switch (kind) {
  case EntryKind::Run:
    return "run";
  case EntryKind::Encode:
    return "encode";
  case EntryKind::Embed:
    return "embed";
  case EntryKind::Rerank:
    return "rerank";
  case EntryKind::Step:
    return "step";
  case EntryKind::Source:
    return "source";
  case EntryKind::Logits:
    return "logits";
  case EntryKind::Score:
    return "score";
  case EntryKind::Generate:
    return "generate";
  }
  return "run";
}

const ManifestEntry *Manifest::findEntry(EntryKind kind) const {
  for (const ManifestEntry &entry : entries)
    if (entry.kind == kind)
      return &entry;
  return nullptr;
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
  manifest::Writer(json).writeObject(*this);
  return out;
}
