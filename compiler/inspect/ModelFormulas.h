// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The textbook's formulas for a Transformer of l layers of width d beside the
// exact numbers: 12 l d^2 parameters, 24 b s d^2 + 4 b s^2 d operations a layer
// for b sequences of s tokens, 6 N D operations to train N parameters on D
// tokens (Kaplan et al. 2020).
#pragma once
#include "compiler/inspect/ModelParameters.h"

namespace transom {

/// A term of a formula beside the exact number.
struct FormulaTerm {
  std::string name;    ///< such as `attention_projections`
  std::string formula; ///< of all layers; empty: the textbook has no such term
  double textbook = 0, exact = 0;
  std::string why; ///< where the model differs from the textbook
};

/// The floating-point operations of an entry for one sequence.
struct EntryFormulas {
  std::string entry;
  int64_t layers = 0, width = 0; ///< l and d
  int64_t length = 0;            ///< tokens of the sequence
  std::vector<FormulaTerm> terms;

  double getTextbook() const;
  double getExact() const;
};

/// What the formulas say about a model.
struct FormulaReport {
  int64_t layers = 0, width = 0; ///< l and d of the whole model
  FormulaTerm parameters;        ///< of the matrices in layers
  std::vector<EntryFormulas> entries;
  /// Operations to train on one token of a sequence: 6 N, and three times the
  /// exact operations of a run that has results for all tokens.
  FormulaTerm training;

  /// Adds lines for people.
  void addText(llvm::raw_ostream &out) const;
  /// Adds members to the open object.
  void writeJson(JsonWriter &json) const;
};

FormulaReport reportFormulas(mlir::ModuleOp module,
                             const ParameterReport &parameters,
                             const ModelComponents &components);

} // namespace transom
