// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs all axes on an artifact: the entries and steps for each instruction set,
// then comparisons between instruction sets, artifacts and compiles.
#include "tools/commands/verify/BitsMatrix.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/base/InstructionSet.h"
#include "tools/commands/ModelPath.h"
#include "tools/commands/verify/BitsElsewhere.h"
#include "tools/commands/verify/BitsSteps.h"
#include "tools/commands/verify/MachineStepper.h"

using namespace transom;
using namespace transom::tools;

namespace {

using ModelPointer = std::unique_ptr<Model>;

/// Fills the matrix for one artifact.
class BitsMatrix {
public:
  BitsMatrix(const BitsMatrixOptions &flags, const Manifest &manifest,
             const WorkFolder &folder)
      : flags(flags), manifest(manifest), folder(folder) {
    report.path = flags.artifact;
    report.name = manifest.name;
    report.dtype = manifest.dtype;
    report.backend = manifest.backend;
    report.seed = flags.runs.seed;
    report.lengths = flags.runs.lengths;
  }

  Result<BitsReport> run();

private:
  Result<void> runEntry(const Model &model, const Entry &entry);
  Result<void> compareSets(const BitsEntry &base);
  Result<void> compareArtifacts(const BitsEntry &base);
  Result<void> runSteps(const Model &model);
  bool isExactAcross(const std::string &one, const std::string &other) const;

  const BitsMatrixOptions &flags;
  const Manifest &manifest;
  const WorkFolder &folder;
  BitsReport report;
  std::vector<ModelPointer> models; ///< for the instruction sets that run here
  std::vector<std::string> lacking; ///< the other instruction sets
};

} // namespace

/// Returns true if two instruction sets should produce the same bits: some sum
/// bf16 products in pairs.
bool BitsMatrix::isExactAcross(const std::string &one,
                               const std::string &other) const {
  bool hasBf16 = manifest.dtype == "bf16";
  if (manifest.decoder)
    for (const ManifestCache &cache : manifest.decoder->caches)
      hasBf16 = hasBf16 || cache.dtype == DType::BF16;
  const InstructionSet *a = findInstructionSet(one);
  const InstructionSet *b = findInstructionSet(other);
  return !hasBf16 || (a && b && a->dotBf16 == b->dotBf16 && a->amx == b->amx);
}

Result<void> BitsMatrix::compareSets(const BitsEntry &base) {
  // Compare the other instruction sets with the first one.
  std::vector<BitsCell> cells;
  const std::string first = models[0]->isa().name;
  for (size_t i = 1; i < models.size(); ++i) {
    BitsCell cell;
    cell.axis = "instruction set";
    const std::string other = models[i]->isa().name;
    cell.text = "each call on " + other;
    cell.isPromised = isExactAcross(first, other);
    if (!cell.isPromised)
      cell.text += ", which multiplies bf16 in another order";
    TRANSOM_TRY(base.compareWith(*models[i], cell, other));
    cells.push_back(std::move(cell));
  }
  // Sets that this CPU lacks.
  for (const std::string &isa : lacking) {
    BitsCell cell;
    cell.axis = "instruction set";
    cell.setNotRun("this CPU lacks " + isa);
    cells.push_back(std::move(cell));
  }
  // Give the reason if there is nothing to compare.
  if (cells.empty()) {
    BitsCell cell;
    cell.axis = "instruction set";
    if (manifest.isas.size() == 1)
      cell.setNotApplicable("the artifact has code for " + first + " alone");
    else
      cell.setNotRun("TRANSOM_FORCE_ISA asks for " + first + " alone");
    cells.push_back(std::move(cell));
  }
  report.add(std::move(cells), base.entry().manifest->name, first);
  return {};
}

/// Compares with the artifact in '--compare'.
Result<void> BitsMatrix::compareArtifacts(const BitsEntry &base) {
  if (flags.compare.empty())
    return {};
  const std::string isa = models[0]->isa().name;
  TRANSOM_ASSIGN(ModelPointer other, Model::load(flags.compare, {isa}));
  BitsCell cell;
  cell.axis = "other artifact";
  cell.text = "each call on " + flags.compare;
  TRANSOM_TRY(base.compareWith(*other, cell, flags.compare));
  report.add({std::move(cell)}, base.entry().manifest->name, isa);
  return {};
}

Result<void> BitsMatrix::runEntry(const Model &model, const Entry &entry) {
  const std::string isa = model.isa().name;
  TRANSOM_ASSIGN(BitsEntry base, BitsEntry::create(model, entry, flags.runs));
  TRANSOM_ASSIGN(std::vector<BitsCell> cells, base.run());
  TRANSOM_ASSIGN(BitsCell process,
                 checkProcesses(flags.artifact, isa, base, folder));
  cells.insert(cells.begin() + 1, std::move(process));
  report.add(std::move(cells), entry.manifest->name, isa);
  if (&model != models[0].get())
    return {};
  TRANSOM_TRY(compareSets(base));
  return compareArtifacts(base);
}

Result<void> BitsMatrix::runSteps(const Model &model) {
  const Entry *step = model.findEntry(EntryKind::Step);
  if (!step || !manifest.decoder) {
    if (&model == models[0].get())
      report.add(BitsSteps::getNotApplicable(), "", "");
    return {};
  }
  TRANSOM_ASSIGN(BitsSteps steps,
                 BitsSteps::create(model, flags.runs, folder.path()));
  TRANSOM_ASSIGN(std::vector<BitsCell> cells, steps.run());
  report.add(std::move(cells), step->manifest->name, model.isa().name);
  return {};
}

Result<BitsReport> BitsMatrix::run() {
  TRANSOM_ASSIGN(RunnableModels loaded,
                 RunnableModels::load(flags.artifact, manifest));
  models = std::move(loaded.models);
  lacking = std::move(loaded.lacking);
  for (const ModelPointer &model : models) {
    // Derived entries such as score and generate are computed from the logits.
    for (const Entry &entry : model->entries())
      if (entry.kind() == EntryKind::Run || entry.kind() == EntryKind::Encode ||
          entry.kind() == EntryKind::Embed ||
          entry.kind() == EntryKind::Rerank ||
          entry.kind() == EntryKind::Logits)
        TRANSOM_TRY(runEntry(*model, entry));
    TRANSOM_TRY(runSteps(*model));
  }
  // oneDNN chooses the summation order by sizes and threads.
  if (manifest.backend != "native")
    for (BitsCell &cell : report.cells)
      cell.isPromised = false;
  TRANSOM_ASSIGN(std::vector<BitsCell> compiles,
                 checkCompiles(flags.artifact, manifest, flags.model, folder));
  report.add(std::move(compiles), "", "");
  return std::move(report);
}

Result<BitsReport>
transom::tools::runBitsMatrix(const BitsMatrixOptions &options) {
  if (!options.compare.empty())
    TRANSOM_TRY(checkModelArtifact(options.compare));
  if (!options.model.empty())
    TRANSOM_TRY(checkModelSource(options.model));
  TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(options.artifact));
  TRANSOM_TRY(file.checkMachine());
  TRANSOM_ASSIGN(WorkFolder folder, WorkFolder::create());
  return BitsMatrix(options, file.manifest(), folder).run();
}
