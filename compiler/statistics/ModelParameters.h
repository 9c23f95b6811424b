// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts model parameters by component and by layer.
#pragma once
#include "compiler/import/Import.h"
#include "compiler/statistics/ModelComponents.h"
#include "compiler/statistics/ModelFigures.h"

namespace transom {

/// Parameter counts by component.
using ComponentCounts = std::array<uint64_t, numComponents>;

ParameterReport reportParameters(mlir::ModuleOp module, const ImportInfo &info,
                                 const ModelComponents &components);

} // namespace transom
