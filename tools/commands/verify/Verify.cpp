// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom verify --bits: on which axes the results of a compiled model have the
// same bits.
#include "runtime/artifact/Artifact.h"
#include "runtime/base/InstructionSet.h"
#include "runtime/execute/Cpu.h"
#include "tools/commands/Command.h"
#include "tools/commands/ModelPath.h"
#include "tools/commands/verify/BitsElsewhere.h"
#include "tools/commands/verify/BitsSteps.h"
#include "tools/commands/verify/VerifyCode.h"
#include <algorithm>
#include <cstdlib>

using namespace transom;
using namespace transom::tools;

namespace {

struct VerifyFlags {
  std::string artifact, model, compare;
  bool bits = false;
  BitsOptions options;
};

using ModelPointer = std::unique_ptr<Model>;

/// Fills the matrix of one artifact.
class BitsMatrix {
public:
  BitsMatrix(const VerifyFlags &flags, const Manifest &manifest,
             const WorkFolder &folder)
      : flags(flags), manifest(manifest), folder(folder) {
    report.path = flags.artifact;
    report.name = manifest.name;
    report.dtype = manifest.dtype;
    report.backend = manifest.backend;
    report.seed = flags.options.seed;
    report.lengths = flags.options.lengths;
  }

  Result<BitsReport> run();

private:
  Result<void> loadModels();
  Result<void> runEntry(const Model &model, const Entry &entry);
  Result<void> compareSets(const BitsEntry &base);
  Result<void> compareArtifacts(const BitsEntry &base);
  Result<void> runSteps(const Model &model);
  bool isExactAcross(const std::string &one, const std::string &other) const;

  const VerifyFlags &flags;
  const Manifest &manifest;
  const WorkFolder &folder;
  BitsReport report;
  std::vector<ModelPointer> models; ///< of the instruction sets that run here
  std::vector<std::string> lacking; ///< those that do not
};

} // namespace

/// Loads the artifact for each instruction set that runs here, the strongest
/// first, or for the one that the environment asks for.
Result<void> BitsMatrix::loadModels() {
  const char *forced = getenv("TRANSOM_FORCE_ISA");
  TRANSOM_ASSIGN(
      const size_t first,
      chooseIsa(manifest.isas, forced ? forced : "", flags.artifact));
  std::vector<std::string> names{manifest.isas[first]};
  for (const std::string &isa : manifest.isas) {
    if (isa == names[0])
      continue;
    if (!chooseIsa(manifest.isas, isa, flags.artifact))
      lacking.push_back(isa);
    else if (!forced)
      names.push_back(isa);
  }
  for (const std::string &isa : names) {
    TRANSOM_ASSIGN(ModelPointer model, Model::load(flags.artifact, {isa}));
    models.push_back(std::move(model));
  }
  return {};
}

/// Whether two instruction sets should give the same bits: products of bf16 are
/// summed in pairs by some.
bool BitsMatrix::isExactAcross(const std::string &one,
                               const std::string &other) const {
  bool hasBf16 = manifest.dtype == "bf16";
  if (manifest.decoder)
    for (const ManifestCache &cache : manifest.decoder->caches)
      hasBf16 = hasBf16 || cache.dtype == DType::BF16;
  const InstructionSet *a = findInstructionSet(one);
  const InstructionSet *b = findInstructionSet(other);
  return !hasBf16 || (a && b && a->dotBf16 == b->dotBf16);
}

Result<void> BitsMatrix::compareSets(const BitsEntry &base) {
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
  for (const std::string &isa : lacking) {
    BitsCell cell;
    cell.axis = "instruction set";
    cell.setNotRun("this CPU lacks " + isa);
    cells.push_back(std::move(cell));
  }
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

/// Compares with the artifact of '--compare'.
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
  TRANSOM_ASSIGN(BitsEntry base,
                 BitsEntry::create(model, entry, flags.options));
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
                 BitsSteps::create(model, flags.options, folder.path()));
  TRANSOM_ASSIGN(std::vector<BitsCell> cells, steps.run());
  report.add(std::move(cells), step->manifest->name, model.isa().name);
  return {};
}

Result<BitsReport> BitsMatrix::run() {
  TRANSOM_TRY(loadModels());
  for (const ModelPointer &model : models) {
    // What scores and generates is computed from the logits.
    for (const Entry &entry : model->entries())
      if (entry.kind() == EntryKind::Run || entry.kind() == EntryKind::Encode ||
          entry.kind() == EntryKind::Logits)
        TRANSOM_TRY(runEntry(*model, entry));
    TRANSOM_TRY(runSteps(*model));
  }
  // oneDNN chooses the order of its sums by sizes and threads.
  if (manifest.backend != "native")
    for (BitsCell &cell : report.cells)
      cell.isPromised = false;
  TRANSOM_ASSIGN(std::vector<BitsCell> compiles,
                 checkCompiles(flags.artifact, manifest, flags.model, folder));
  report.add(std::move(compiles), "", "");
  return std::move(report);
}

static Result<void> runVerify(const VerifyFlags &flags,
                              const CommonFlags &common) {
  if (!flags.bits)
    return verifyCode({flags.artifact,
                       flags.model,
                       {flags.options.lengths, flags.options.seed}},
                      common);
  TRANSOM_TRY(checkModelArtifact(flags.artifact));
  if (!flags.compare.empty())
    TRANSOM_TRY(checkModelArtifact(flags.compare));
  if (!flags.model.empty())
    TRANSOM_TRY(checkModelSource(flags.model));
  TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(flags.artifact));
  TRANSOM_TRY(file.checkMachine());
  TRANSOM_ASSIGN(WorkFolder folder, WorkFolder::create());
  VerifyFlags complete = flags;
  if (complete.options.lengths.empty())
    complete.options.lengths = {1, 2, 31, 33, 64, 257};
  if (common.threads)
    complete.options.maxThreads = common.threads;
  TRANSOM_ASSIGN(BitsReport report,
                 BitsMatrix(complete, file.manifest(), folder).run());
  TRANSOM_TRY(writeOut(common.json ? report.toJson() : report.toText()));
  TRANSOM_TRY(flushOut());
  return report.check();
}

void tools::addVerify(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "verify",
                 "check that results of a compiled model have the same bits");
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App &verify = *command.app;
  verify.get_option("--threads")
      ->description("most threads and workers to run with (default 16)");
  verify.add_option("MODEL", flags->artifact, "a compiled model")->required();
  verify.add_flag("--bits", flags->bits,
                  "run the model in all ways that may not show in its results, "
                  "and compare bits");
  verify
      .add_option(
          "-s,--seq", flags->options.lengths,
          "lengths of sequences (default 1 to 14, 31 to 33, 255 to 257; with "
          "--bits 1,2,31,33,64,257)")
      ->type_name("N,N..")
      ->delimiter(',')
      ->check(wholeNumber(1, uint64_t(1) << 30));
  verify
      .add_option("--seed", flags->options.seed,
                  "seed of the random inputs (default 1)")
      ->type_name("N")
      ->check(wholeNumber(0, UINT32_MAX));
  verify
      .add_option("--model", flags->model,
                  "the model folder or graph.json of MODEL, to compile it "
                  "again")
      ->type_name("FOLDER");
  verify
      .add_option("--compare", flags->compare,
                  "another artifact of the same model, whose results should "
                  "have the same bits")
      ->type_name("SO");
  command.run = [flags](const CommonFlags &common) {
    return runVerify(*flags, common);
  };
}
