// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The artifact does not contain the kern module, so the model is compiled
// again. Both plans must match.
#include "compiler/verify/VerifyArtifact.h"
#include "compiler/artifact/PlanArtifact.h"
#include "compiler/driver/CompileObserver.h"
#include "compiler/import/Import.h"
#include "compiler/verify/CheckDispatches.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"

using namespace mlir;

namespace transom {

//===----------------------------------------------------------------------===//
// The artifact and the model
//===----------------------------------------------------------------------===//

/// An error if the artifact names other model files.
static Result<void> checkModel(const std::string &model,
                               const Manifest &manifest) {
  if (!isFolder(model) && !fileExists(model))
    return unavailable("'" + model + "' does not exist");
  std::string folder = model;
  if (!isFolder(model))
    folder = model.substr(0, model.size() - getFileName(model).size());
  for (const auto &[name, hash] : manifest.inputsSha256) {
    const std::string path = folder.empty() ? name : joinPath(folder, name);
    Result<MappedFile> file = MappedFile::open(path);
    if (!file && fileExists(path))
      return file.takeError();
    if (!file || Sha256::getHex(file->bytes()) != hash)
      return usageError("'--model " + model +
                        "' is not the model that the artifact was compiled "
                        "from: '" +
                        name + "' has another sha256");
  }
  return {};
}

/// The first difference that matters to a phase between two entries with the
/// same name; otherwise empty.
static std::string findMismatch(const ManifestEntry &artifact,
                                const ManifestEntry &planned) {
  auto getPhase = [](const ManifestEntry &entry, size_t i) {
    return entry.dispatches[size_t(entry.dispatchOrder[i])].phase;
  };
  if (artifact.dispatchOrder.size() != planned.dispatchOrder.size())
    return std::to_string(artifact.dispatchOrder.size()) + " dispatches, not " +
           std::to_string(planned.dispatchOrder.size());
  for (size_t i = 0; i != artifact.dispatchOrder.size(); ++i)
    if (getPhase(artifact, i) != getPhase(planned, i))
      return "the phase '" + getPhase(artifact, i) + "' in dispatch " +
             std::to_string(i) + ", not '" + getPhase(planned, i) + "'";
  if (artifact.symbolOrder != planned.symbolOrder)
    return "other symbols";
  if (artifact.buffers.size() != planned.buffers.size())
    return std::to_string(artifact.buffers.size()) + " buffers, not " +
           std::to_string(planned.buffers.size());
  for (size_t i = 0; i != artifact.buffers.size(); ++i)
    if (!(artifact.buffers[i].offset == planned.buffers[i].offset))
      return "buffer " + std::to_string(i) + " at '" +
             artifact.buffers[i].offset.str() + "', not '" +
             planned.buffers[i].offset.str() + "'";
  return "";
}

static Result<void> comparePlans(const Manifest &artifact,
                                 const Manifest &planned) {
  for (const ManifestEntry &entry : artifact.entries) {
    const ManifestEntry *other = planned.findEntry(entry.name);
    std::string mismatch =
        other ? findMismatch(entry, *other) : "no entry of this name";
    if (!mismatch.empty())
      return rejected("the artifact is not what this compiler makes of the "
                      "model: entry '" +
                      entry.name + "' has " + mismatch +
                      " (compiled by version " + artifact.compiler + ")");
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {

/// Checks the artifact once the module is compiled up to `kern`.
class CodeVerifier : public CompileObserver {
public:
  explicit CodeVerifier(ArtifactStepper &stepper) : stepper(stepper) {}

  void imported(ModuleOp, const ImportInfo &imported,
                const CompileOptions &) override {
    info = &imported;
  }
  void passed(const PassInfo &, ModuleOp, const InstructionSet *) override {}
  void finished(Stage stage, ModuleOp module) override {
    if (stage == Stage::Kern)
      result = verify(module);
  }

  Result<CodeVerification> take() { return std::move(result); }

private:
  Result<CodeVerification> verify(ModuleOp module);

  ArtifactStepper &stepper;
  const ImportInfo *info = nullptr;
  Result<CodeVerification> result = internalError("no kern module");
};

} // namespace

Result<CodeVerification> CodeVerifier::verify(ModuleOp module) {
  const Manifest &manifest = stepper.getManifest();
  TRANSOM_ASSIGN(ArtifactPlan plan, planArtifact(module));
  TRANSOM_TRY(comparePlans(manifest, plan.manifest));
  CheckDispatches checker(module, info->files, manifest);
  TRANSOM_TRY(stepper.run(checker));
  return checker.take();
}

Result<CodeVerification> verifyArtifact(const CompileOptions &options,
                                        ArtifactStepper &stepper) {
  TRANSOM_TRY(checkModel(options.model, stepper.getManifest()));
  CodeVerifier verifier(stepper);
  TRANSOM_ASSIGN(CompileReport report,
                 observeCompile(options, verifier, Stage::Kern));
  return verifier.take();
}

} // namespace transom
