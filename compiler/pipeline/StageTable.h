// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages of a compile as one table: their names on command lines and in
// progress reports. This header needs no LLVM, so the tool can use it without
// the compiler.
#pragma once
#include "runtime/base/Error.h"
#include <string>
#include <vector>

namespace transom {

/// The stages in their order.
enum class Stage { Attn, AttnOpt, Kern, LlvmIr, Asm, Obj, So };

/// One stage of the table.
struct StageInfo {
  Stage stage;
  const char *name;        ///< of `--emit`, which stops after the stage
  const char *progress;    ///< the name in progress and timing reports
  const char *description; ///< one line
};

/// All stages, in order.
const std::vector<StageInfo> &getStages();

/// The entry of a stage.
const StageInfo &getStageInfo(Stage stage);

/// The names of all stages, in order.
std::vector<std::string> getStageNames();

/// The stage of that name; `Usage` with a suggestion for another name.
Result<Stage> parseStage(const std::string &name);

} // namespace transom
