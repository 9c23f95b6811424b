// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameters of a model by component and by layer.
#pragma once
#include "compiler/import/Import.h"
#include "compiler/inspect/ModelComponents.h"
#include "runtime/json/Json.h"

namespace transom {

/// Numbers of parameters by component.
using ComponentCounts = std::array<uint64_t, numComponents>;

/// Consecutive layers of a stack with equal parameters, or what lies in no
/// layer.
struct LayerParameters {
  std::string stack; ///< `encoder.layer`; empty: outside of layers
  int64_t first = 0, last = 0;
  ComponentCounts counts{}; ///< of one layer
};

/// All parameters. Each element of a file's tensor counts once: their sum is
/// the number of parameters of the model.
struct ParameterReport {
  ComponentCounts counts{};
  std::vector<LayerParameters> layers;
  bool tiedHead = false;

  /// Adds lines for people.
  void addText(llvm::raw_ostream &out) const;
  /// Adds members to the open object.
  void writeJson(JsonWriter &json) const;
};

ParameterReport reportParameters(mlir::ModuleOp module, const ImportInfo &info,
                                 const ModelComponents &components);

} // namespace transom
