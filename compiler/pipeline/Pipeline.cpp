// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table. A pass is added by a line here.
#include "compiler/pipeline/Pipeline.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/lower/Passes.h"
#include "runtime/base/Suggest.h"

using namespace mlir;

namespace transom {

llvm::ArrayRef<StageInfo> allStages() {
  static constexpr StageInfo stages[] = {
      {Stage::Import, "attn", "the model as its description says it"},
      {Stage::Graph, "attn-opt",
       "fused attention and projections, ragged rows, outlined layers"},
      {Stage::Kernel, "kern", "operations on planned buffers, cut in phases"},
      {Stage::Lower, "llvm-ir", "LLVM IR for each instruction set"},
      {Stage::Assembly, "asm", "assembly for each instruction set"},
      {Stage::Object, "obj", "an object file for each instruction set"},
      {Stage::Library, "so", "the shared object with its weights"},
  };
  return stages;
}

/// The creator of a pass without options.
template <std::unique_ptr<Pass> (*create)()>
static std::unique_ptr<Pass> plain(const PipelineOptions &) {
  return create();
}

/// oneDNN writes rows: a native kernel makes key panels of them.
static std::unique_ptr<Pass> fuseEpilogues(const PipelineOptions &options) {
  FuseEpiloguesPassOptions flags;
  flags.keyPanels = options.backend == Backend::Native;
  return createFuseEpiloguesPass(flags);
}

llvm::ArrayRef<PassInfo> allPasses() {
  static constexpr PassInfo passes[] = {
      {Stage::Graph, "attn-infer-shapes", true, plain<createInferShapesPass>},
      {Stage::Graph, "canonicalize", false, plain<createCanonicalizerPass>},
      {Stage::Graph, "cse", false, plain<createCSEPass>},
      {Stage::Graph, "attn-fuse-attention", false,
       plain<createFuseAttentionPass>},
      {Stage::Graph, "canonicalize", false, plain<createCanonicalizerPass>},
      {Stage::Graph, "attn-fuse-projections", false,
       plain<createFuseProjectionsPass>, Backend::Native},
      {Stage::Graph, "attn-remove-padding", false,
       plain<createRemovePaddingPass>},
      {Stage::Graph, "cse", false, plain<createCSEPass>},
      {Stage::Graph, "attn-outline-layers", false,
       plain<createOutlineLayersPass>},
      {Stage::Graph, "attn-drop-unused-weights", false,
       plain<createDropUnusedWeightsPass>},
      {Stage::Kernel, "convert-attn-to-kern", true,
       plain<createConvertAttnToKernPass>},
      {Stage::Kernel, "kern-fuse-glu", false, plain<createFuseGluPass>,
       Backend::Native},
      {Stage::Kernel, "kern-fuse-epilogues", false, fuseEpilogues},
      {Stage::Kernel, "kern-fuse-norm", false, plain<createFuseNormPass>,
       Backend::Native},
      {Stage::Kernel, "convert-kern-to-onednn", false,
       plain<createConvertKernToOnednnPass>, Backend::OneDnn},
      {Stage::Kernel, "kern-choose-precision", false,
       plain<createChoosePrecisionPass>},
      {Stage::Kernel, "kern-fuse-cross-layer-norm", false,
       plain<createFuseCrossLayerNormPass>, Backend::Native},
      {Stage::Kernel, "kern-plan-caches", true, plain<createPlanCachesPass>},
      {Stage::Kernel, "kern-pack-weights", true, plain<createPackWeightsPass>},
      {Stage::Kernel, "kern-form-phases", true, plain<createFormPhasesPass>},
      {Stage::Kernel, "kern-plan-memory", true, plain<createPlanMemoryPass>},
  };
  return passes;
}

std::optional<Backend> backendByName(llvm::StringRef name) {
  if (name == "native")
    return Backend::Native;
  if (name == "onednn")
    return Backend::OneDnn;
  return std::nullopt;
}

bool runsPass(const PassInfo &info, const PipelineOptions &options) {
  return !options.disabled.count(info.flag.str()) &&
         (!info.only || *info.only == options.backend);
}

std::optional<Stage> stageByName(llvm::StringRef name) {
  for (const StageInfo &stage : allStages())
    if (stage.name == name)
      return stage.stage;
  return std::nullopt;
}

Result<void> checkDisabledPasses(const std::set<std::string> &flags) {
  std::vector<std::string> known, optional;
  for (const PassInfo &pass : allPasses()) {
    known.push_back(pass.flag.str());
    if (!pass.required)
      optional.push_back(pass.flag.str());
  }
  for (const std::string &flag : flags) {
    const PassInfo *pass = llvm::find_if(
        allPasses(), [&](const PassInfo &info) { return info.flag == flag; });
    if (pass == allPasses().end())
      return usageError("unknown pass '" + flag + "'; supported: " +
                        joinNames(optional) + suggest(flag, known));
    if (pass->required)
      return usageError("pass '" + flag + "' cannot be disabled; supported: " +
                        joinNames(optional));
  }
  return {};
}

void populateStage(OpPassManager &manager, Stage stage,
                   const PipelineOptions &options) {
  for (const PassInfo &pass : allPasses())
    if (pass.stage == stage && runsPass(pass, options))
      manager.addPass(pass.create(options));
}

} // namespace transom
