// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares textbook formulas with exact counts for an attn module.
#pragma once
#include "compiler/import/Import.h"
#include "compiler/statistics/ModelComponents.h"
#include "compiler/statistics/ModelFigures.h"

namespace transom {

FormulaReport reportFormulas(mlir::ModuleOp module,
                             const ParameterReport &parameters,
                             const ModelComponents &components);

/// Returns all statistics for an attn module, as imported.
ModelFigures reportFigures(mlir::ModuleOp module, const ImportInfo &info);

} // namespace transom
