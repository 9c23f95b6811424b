// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compile stages as one table: their names on command lines and in progress
// reports. This header needs no LLVM, so the tool can use it without the
// compiler.
#pragma once
#include "runtime/base/Error.h"
#include <string>
#include <vector>

namespace transom {

/// The stages in order.
enum class Stage { Attn, AttnOpt, Kern, LlvmIr, Asm, Obj, So };

/// One stage in the table.
struct StageInfo {
  Stage stage;
  const char *name;        ///< value for `--emit`, which stops after the stage
  const char *progress;    ///< the name in progress and timing reports
  const char *description; ///< one line
};

/// All stages, in order.
const std::vector<StageInfo> &getStages();

/// Returns the entry for a stage.
const StageInfo &getStageInfo(Stage stage);

/// Returns all stage names, in order.
std::vector<std::string> getStageNames();

/// Returns the stage with that name; `Usage` with a suggestion for another
/// name.
Result<Stage> parseStage(const std::string &name);

} // namespace transom
