// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage table. The tool links this file without the compiler.
#include "compiler/pipeline/StageTable.h"
#include "runtime/base/Suggest.h"

using namespace transom;

const std::vector<StageInfo> &transom::getStages() {
  static const std::vector<StageInfo> stages = {
      {Stage::Attn, "attn", "import", "the model as its files describe it"},
      {Stage::AttnOpt, "attn-opt", "optimize",
       "fused attention and projections, ragged rows, outlined layers"},
      {Stage::Kern, "kern", "plan",
       "kernels on planned buffers, divided into phases"},
      {Stage::LlvmIr, "llvm-ir", "lower", "LLVM IR for each instruction set"},
      {Stage::Asm, "asm", "code", "assembly for each instruction set"},
      {Stage::Obj, "obj", "code", "an object file for each instruction set"},
      {Stage::So, "so", "weights", "the shared object with its weights"},
  };
  return stages;
}

const StageInfo &transom::getStageInfo(Stage stage) {
  return getStages()[static_cast<size_t>(stage)];
}

std::vector<std::string> transom::getStageNames() {
  std::vector<std::string> names;
  for (const StageInfo &info : getStages())
    names.push_back(info.name);
  return names;
}

Result<Stage> transom::parseStage(const std::string &name) {
  for (const StageInfo &info : getStages())
    if (name == info.name)
      return info.stage;
  return usageError("unknown stage '" + name +
                    "'; supported: " + joinNames(getStageNames()) +
                    suggest(name, getStageNames()));
}
