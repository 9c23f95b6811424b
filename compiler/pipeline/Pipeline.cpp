// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of passes. A pass is added by an entry here.
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/ExtensionPoints.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/lower/Passes.h"
#include "runtime/base/Suggest.h"

using namespace mlir;

namespace transom {

/// Creates a pass without options.
template <std::unique_ptr<Pass> (*create)()>
static std::unique_ptr<Pass> plain(const PipelineOptions &) {
  return create();
}

/// Creates an extension point pass.
template <const char *flag>
static std::unique_ptr<Pass> extension(const PipelineOptions &) {
  return createExtensionPass(flag);
}

/// oneDNN writes rows, which a native kernel packs into key panels.
static std::unique_ptr<Pass> fuseEpilogues(const PipelineOptions &options) {
  FuseEpiloguesPassOptions flags;
  flags.keyPanels = options.backend == Backend::Native;
  return createFuseEpiloguesPass(flags);
}

static std::unique_ptr<Pass> convertKernToLlvm(const PipelineOptions &options) {
  ConvertKernToLlvmPassOptions flags;
  flags.isa = options.isa;
  return createConvertKernToLlvmPass(flags);
}

static std::unique_ptr<Pass> convertVectorToLlvm(const PipelineOptions &) {
  return createConvertVectorToLLVMPass();
}

llvm::ArrayRef<PassInfo> getPasses() {
  static constexpr PassInfo passes[] = {
      {Stage::AttnOpt, "attn-infer-shapes", true, plain<createInferShapesPass>},
      {Stage::AttnOpt, attnShapedPoint, false, extension<attnShapedPoint>},
      {Stage::AttnOpt, "canonicalize", false, plain<createCanonicalizerPass>},
      {Stage::AttnOpt, "cse", false, plain<createCSEPass>},
      {Stage::AttnOpt, "attn-fuse-attention", false,
       plain<createFuseAttentionPass>},
      {Stage::AttnOpt, "canonicalize", false, plain<createCanonicalizerPass>},
      {Stage::AttnOpt, "attn-fuse-projections", false,
       plain<createFuseProjectionsPass>, Backend::Native},
      {Stage::AttnOpt, attnFusedPoint, false, extension<attnFusedPoint>},
      {Stage::AttnOpt, "attn-remove-padding", false,
       plain<createRemovePaddingPass>},
      {Stage::AttnOpt, "cse", false, plain<createCSEPass>},
      {Stage::AttnOpt, "attn-add-attention-entry", true,
       plain<createAddAttentionEntryPass>},
      {Stage::AttnOpt, "attn-summarize-logits", false,
       plain<createSummarizeLogitsPass>, Backend::Native},
      {Stage::AttnOpt, "attn-outline-layers", false,
       plain<createOutlineLayersPass>},
      {Stage::AttnOpt, "attn-drop-unused-weights", false,
       plain<createDropUnusedWeightsPass>},
      {Stage::Kern, "convert-attn-to-kern", true,
       plain<createConvertAttnToKernPass>},
      {Stage::Kern, "kern-fuse-glu", false, plain<createFuseGluPass>,
       Backend::Native},
      {Stage::Kern, "kern-fuse-epilogues", false, fuseEpilogues},
      {Stage::Kern, "kern-fuse-norm", false, plain<createFuseNormPass>,
       Backend::Native},
      {Stage::Kern, "convert-kern-to-onednn", false,
       plain<createConvertKernToOnednnPass>, Backend::OneDnn},
      {Stage::Kern, "kern-choose-precision", false,
       plain<createChoosePrecisionPass>},
      {Stage::Kern, "kern-fuse-cross-layer-norm", false,
       plain<createFuseCrossLayerNormPass>, Backend::Native},
      {Stage::Kern, kernFusedPoint, false, extension<kernFusedPoint>},
      {Stage::Kern, "kern-plan-caches", true, plain<createPlanCachesPass>},
      {Stage::Kern, "kern-pack-weights", true, plain<createPackWeightsPass>},
      {Stage::Kern, "kern-form-phases", true, plain<createFormPhasesPass>},
      {Stage::Kern, "kern-plan-memory", true, plain<createPlanMemoryPass>},
      {Stage::LlvmIr, "convert-kern-to-llvm", true, convertKernToLlvm},
      {Stage::LlvmIr, "canonicalize", true, plain<createCanonicalizerPass>},
      {Stage::LlvmIr, "cse", true, plain<createCSEPass>},
      {Stage::LlvmIr, "loop-invariant-code-motion", true,
       plain<createLoopInvariantCodeMotionPass>},
      {Stage::LlvmIr, "convert-scf-to-cf", true,
       plain<createConvertSCFToCFPass>},
      {Stage::LlvmIr, "convert-vector-to-llvm", true, convertVectorToLlvm},
      {Stage::LlvmIr, "convert-arith-to-llvm", true,
       plain<createArithToLLVMConversionPass>},
      {Stage::LlvmIr, "convert-cf-to-llvm", true,
       plain<createConvertControlFlowToLLVMPass>},
      {Stage::LlvmIr, "reconcile-unrealized-casts", true,
       plain<createReconcileUnrealizedCastsPass>},
  };
  return passes;
}

std::optional<Backend> parseBackend(llvm::StringRef name) {
  if (name == "native")
    return Backend::Native;
  if (name == "onednn")
    return Backend::OneDnn;
  return std::nullopt;
}

bool runsPass(const PassInfo &info, const PipelineOptions &options) {
  return (info.required || !options.disabled.count(info.flag.str())) &&
         (!info.only || *info.only == options.backend);
}

Result<void> checkDisabledPasses(const std::set<std::string> &flags) {
  std::vector<std::string> known, optional;
  for (const PassInfo &pass : getPasses()) {
    known.push_back(pass.flag.str());
    if (!pass.required)
      optional.push_back(pass.flag.str());
  }
  for (const std::string &flag : flags) {
    const PassInfo *pass = llvm::find_if(
        getPasses(), [&](const PassInfo &info) { return info.flag == flag; });
    if (pass == getPasses().end())
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
  for (const PassInfo &pass : getPasses())
    if (pass.stage == stage && runsPass(pass, options))
      manager.addPass(pass.create(options));
}

} // namespace transom
