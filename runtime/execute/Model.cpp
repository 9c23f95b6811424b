// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of the code are checked against the manifest once, here, so that
// an executor run can trust every index.
#include "runtime/execute/Model.h"
#include "runtime/execute/Cpu.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace transom;

/// Checks that the dispatches of one entry name phases, library calls and layer
/// entries that exist.
static Result<void> checkDispatches(const transom_artifact_code &code,
                                    const transom_entry_code &entry,
                                    size_t calls, const std::string &name) {
  for (int64_t i = 0; i < entry.num_dispatches; ++i) {
    const transom_dispatch &dispatch = entry.dispatches[i];
    if (dispatch.phase < -int64_t(calls) || dispatch.phase >= code.num_phases ||
        dispatch.layer < -1 || (dispatch.layer >= 0 && !code.layers))
      return rejected(name + ": dispatch " + std::to_string(i) + " of entry '" +
                      entry.name + "' has phase " +
                      std::to_string(dispatch.phase) + " of " +
                      std::to_string(code.num_phases) + ", layer entry " +
                      std::to_string(dispatch.layer));
  }
  return {};
}

static const transom_entry_code *findCode(const transom_artifact_code &code,
                                          const std::string &name) {
  for (uint32_t i = 0; i != code.num_entries; ++i)
    if (name == code.entries[i].name)
      return &code.entries[i];
  return nullptr;
}

/// Reads the weights' pages now; only a hint, so failure does not matter.
static void populateWeights(const char *weights, uint64_t bytes) {
#ifdef MADV_POPULATE_READ
  uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  uintptr_t begin = uintptr_t(weights) & ~(page - 1);
  madvise(reinterpret_cast<void *>(begin), uintptr_t(weights) + bytes - begin,
          MADV_POPULATE_READ);
#endif
}

Result<std::unique_ptr<Model>> Model::load(const std::string &path,
                                           const LoadOptions &options) {
  TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(path));
  // A wrong machine or CPU is told before any code is mapped.
  TRANSOM_TRY(file.checkMachine());
  TRANSOM_TRY(chooseIsa(file.manifest().isas, options.forcedIsa, path));
  if (options.verifyWeights)
    TRANSOM_TRY(file.checkWeights());
  TRANSOM_ASSIGN(ArtifactCode code, ArtifactCode::load(file));
  std::unique_ptr<Model> model(new Model());
  model->library = std::move(code);
  model->contents = file.manifest();
  model->text = file.manifestText();
  model->artifact = &model->library.code();
  TRANSOM_TRY(
      model->resolve(model->library.tokenizer(), options.forcedIsa, path));
  if (options.populate && model->artifact->weights)
    populateWeights(model->artifact->weights, model->contents.weightsBytes);
  return model;
}

Result<std::unique_ptr<Model>>
Model::fromCode(Manifest manifest, std::string manifestText,
                const transom_artifact_code &code,
                std::string_view tokenizerTables, const std::string &forcedIsa,
                const std::string &name) {
  std::unique_ptr<Model> model(new Model());
  model->contents = std::move(manifest);
  model->text = std::move(manifestText);
  model->artifact = &code;
  TRANSOM_TRY(model->resolve(tokenizerTables, forcedIsa, name));
  return model;
}

Result<void> Model::resolve(std::string_view tokenizerTables,
                            const std::string &forcedIsa,
                            const std::string &name) {
  std::vector<std::string> isas;
  for (uint32_t i = 0; i != artifact->num_isas; ++i)
    isas.push_back(artifact->isas[i].name);
  TRANSOM_ASSIGN(size_t isa, chooseIsa(isas, forcedIsa, name));
  chosen = &artifact->isas[isa];
  for (const ManifestEntry &source : contents.entries) {
    const transom_entry_code *code =
        source.derivedFrom.empty() ? findCode(*artifact, source.name) : nullptr;
    if (!code && source.derivedFrom.empty())
      return rejected(name + ": its manifest has the entry '" + source.name +
                      "', its code does not");
    if (Result<void> done =
            code ? checkDispatches(*artifact, *code, source.calls.size(), name)
                 : Result<void>();
        !done)
      return done;
    if (!source.calls.empty() && !oneDnnModel) {
      TRANSOM_ASSIGN(std::unique_ptr<OneDnnModel> opened,
                     OneDnnModel::open(chosen->name));
      oneDnnModel = std::move(opened);
    }
    Result<Entry> entry = Entry::create(contents, source, code);
    if (!entry)
      return rejected(name + ": " + entry.error().message);
    if (entry->isStep() != (source.kind == EntryKind::Step && contents.decoder))
      return rejected(name + ": entry '" + source.name +
                      "' does not fit a decoder");
    entryList.push_back(std::move(*entry));
  }
  if (!tokenizerTables.empty()) {
    Result<Tokenizer> opened = Tokenizer::open(tokenizerTables);
    if (!opened)
      return rejected(name + ": " + opened.error().message);
    tokenizerValue = std::move(*opened);
  }
  embed = findTextUse("last_hidden_state");
  if (!contents.labels.empty())
    classify = findTextUse("logits");
  return {};
}

const Entry *Model::findEntry(const char *name) const {
  for (const Entry &entry : entryList)
    if (entry.manifest->name == name)
      return &entry;
  return nullptr;
}

const Entry *Model::findEntry(EntryKind kind) const {
  for (const Entry &entry : entryList)
    if (entry.kind() == kind)
      return &entry;
  return nullptr;
}

std::optional<Model::TextUse> Model::findTextUse(const char *result) const {
  TextUse use;
  use.entry = findEntry(EntryKind::Encode);
  if (!use.entry || !tokenizerValue)
    return std::nullopt;
  use.ids = use.entry->inputIndex("input_ids");
  use.mask = use.entry->inputIndex("attention_mask");
  use.types = use.entry->inputIndex("token_type_ids");
  use.result = use.entry->outputIndex(result);
  if (use.ids < 0 || use.mask < 0 || use.result < 0)
    return std::nullopt;
  const Argument &output = use.entry->outputs[use.result];
  size_t rank = output.dims.size();
  std::vector<int64_t> none(use.entry->symbols.size(), 0);
  if (output.dtype != TRANSOM_DTYPE_F32 || rank < 2 || rank > 3 ||
      !output.dims.back().evaluate(none.data(), use.width) || use.width <= 0)
    return std::nullopt;
  use.perToken = rank == 3;
  return use;
}

size_t Model::maxTextTokens() const {
  if (!tokenizerValue)
    return 0;
  if (contents.text && contents.text->maxLength > 0)
    return size_t(contents.text->maxLength);
  for (const Entry &entry : entryList)
    if (entry.positionInput >= 0 && entry.positionLimit > 0)
      return size_t(entry.positionLimit);
  return 0;
}
