// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code's tables are checked against the manifest once, here, so that an
// executor run can trust every index.
#include "runtime/execute/Program.h"
#include "runtime/base/Utf8.h"
#include "runtime/execute/Cpu.h"
#include "runtime/manifest/DerivedEntries.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace transom;

/// Checks the dispatch before a dispatch with head ranges, and its ragged
/// batch.
static bool isAfterProduct(const transom_entry_code &entry, int64_t index,
                           const ManifestEntry &source) {
  const transom_dispatch &dispatch = entry.dispatches[index];
  return dispatch.head_ranges == 0 ||
         (dispatch.head_ranges > 0 && index > 0 && dispatch.phase >= 0 &&
          entry.dispatches[index - 1].phase >= 0 &&
          dispatch.ragged_batch >= 0 &&
          size_t(dispatch.ragged_batch) < source.ragged.size());
}

/// Checks that an entry's dispatches refer to existing phases, library calls,
/// layer entries and ragged batches.
static Result<void> checkDispatches(const transom_artifact_code &code,
                                    const transom_entry_code &entry,
                                    const ManifestEntry &source,
                                    const std::string &name) {
  const size_t calls = source.calls.size();
  for (int64_t i = 0; i < entry.num_dispatches; ++i) {
    const transom_dispatch &dispatch = entry.dispatches[i];
    if (dispatch.phase < -int64_t(calls) || dispatch.phase >= code.num_phases ||
        dispatch.layer < -1 || (dispatch.layer >= 0 && !code.layers))
      return rejected(name + ": dispatch " + std::to_string(i) + " of entry '" +
                      entry.name + "' has phase " +
                      std::to_string(dispatch.phase) + " of " +
                      std::to_string(code.num_phases) + ", layer entry " +
                      std::to_string(dispatch.layer));
    if (!isAfterProduct(entry, i, source))
      return rejected(name + ": dispatch " + std::to_string(i) + " of entry '" +
                      entry.name + "' has " +
                      std::to_string(dispatch.head_ranges) +
                      " head ranges of ragged batch " +
                      std::to_string(dispatch.ragged_batch) +
                      "; expected a batch of the entry, between two phases");
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

Result<void> Program::load(const std::string &path,
                           const LoadOptions &options) {
  // Check the file; an unsupported machine or CPU is reported before any code
  // is mapped.
  TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(path));
  TRANSOM_TRY(file.checkMachine());
  TRANSOM_TRY(chooseIsa(file.manifest().isas, options.forcedIsa, path));
  if (options.verifyWeights)
    TRANSOM_TRY(file.checkWeights());

  // Map the code and prepare its entries.
  TRANSOM_ASSIGN(ArtifactCode code, ArtifactCode::load(file));
  library = std::move(code);
  TRANSOM_TRY(takeCode(file.manifest(), file.manifestText(), library.code(),
                       options.forcedIsa, path));
  if (options.populate && artifact->weights)
    populateWeights(artifact->weights, contents.weightsBytes);
  return {};
}

Result<void> Program::takeCode(Manifest manifest, std::string manifestText,
                               const transom_artifact_code &code,
                               const std::string &forcedIsa,
                               const std::string &name) {
  contents = std::move(manifest);
  text = std::move(manifestText);
  artifact = &code;
  return resolve(forcedIsa, name);
}

Result<void> Program::resolve(const std::string &forcedIsa,
                              const std::string &name) {
  std::vector<std::string> isas;
  for (uint32_t i = 0; i != artifact->num_isas; ++i)
    isas.push_back(artifact->isas[i].name);
  TRANSOM_ASSIGN(size_t isa, chooseIsa(isas, forcedIsa, name));
  chosen = &artifact->isas[isa];
  for (const ManifestEntry &source : contents.entries)
    TRANSOM_TRY(addEntry(source, name));
  return {};
}

Result<void> Program::addEntry(const ManifestEntry &source,
                               const std::string &name) {
  // The step and the decoder define the derived entries, so the manifest must
  // agree.
  const bool hasCode = source.derivedFrom.empty();
  if (!hasCode && !isDerived(contents, source))
    return rejected(name + ": entry '" + utf8::printable(source.name) +
                    "' of its manifest differs from the one that is derived "
                    "from the step");

  // Find the code for the other entries.
  const transom_entry_code *code =
      hasCode ? findCode(*artifact, source.name) : nullptr;
  if (!code && hasCode)
    return rejected(name + ": its manifest has the entry '" + source.name +
                    "', its code does not");
  if (code)
    TRANSOM_TRY(checkDispatches(*artifact, *code, source, name));

  // Open oneDNN for the first entry that calls it.
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
  return {};
}

const Entry *Program::findEntry(const char *name) const {
  for (const Entry &entry : entryList)
    if (entry.manifest->name == name)
      return &entry;
  return nullptr;
}

const Entry *Program::findEntry(EntryKind kind) const {
  for (const Entry &entry : entryList)
    if (entry.kind() == kind)
      return &entry;
  return nullptr;
}
