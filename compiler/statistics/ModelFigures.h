// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model statistics that need its graph: parameters by component and by layer,
// and textbook formulas for a Transformer with l layers and width d next to the
// exact counts: 12 l d^2 parameters, 24 b s d^2 + 4 b s^2 d operations per
// layer for b sequences with s tokens, 6 N D operations to train N parameters
// on D tokens (Kaplan et al. 2020). Artifacts contain them as JSON. The header
// needs no LLVM.
#pragma once
#include "runtime/json/Json.h"
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// Nonzero parameter counts by component (`attention_query`).
using ComponentParameters = std::vector<std::pair<std::string, uint64_t>>;

/// Consecutive layers in a stack with equal parameters, or all parameters
/// outside layers.
struct LayerParameters {
  std::string stack; ///< `encoder.layer`; empty: outside layers
  int64_t first = 0, last = 0;
  ComponentParameters components; ///< for one layer
};

/// All parameters. Each element in a file tensor counts once, so the sum is the
/// model's parameter count.
struct ParameterReport {
  ComponentParameters components;
  std::vector<LayerParameters> layers;
  bool tiedHead = false; ///< the head and the embedding share a matrix

  /// Appends human-readable lines.
  void addText(std::string &text) const;
};

/// A formula term with its exact count.
struct FormulaTerm {
  std::string name;    ///< such as `attention_projections`
  std::string formula; ///< for all layers; empty: no such textbook term
  double textbook = 0, exact = 0;
  std::string why; ///< difference between the model and the textbook
};

/// Floating-point operations in an entry, for one sequence.
struct EntryFormulas {
  std::string entry;
  int64_t layers = 0, width = 0; ///< l and d
  int64_t length = 1;            ///< sequence length in tokens
  std::vector<FormulaTerm> terms;

  double getTextbook() const;
  double getExact() const;
};

/// The formulas applied to a model.
struct FormulaReport {
  int64_t layers = 0, width = 0;      ///< l and d for the whole model
  FormulaTerm parameters;             ///< for matrices in layers
  std::vector<EntryFormulas> entries; ///< empty: no attention, no formulas
  /// Operations to train on one token in a sequence: 6 N, and three times the
  /// exact operations in a run with results for all tokens.
  FormulaTerm training;

  /// Appends human-readable lines.
  void addText(std::string &text) const;
};

/// All statistics for a model.
struct ModelFigures {
  ParameterReport parameters;
  FormulaReport formulas;

  /// Adds the members `parameter_report` and `formulas` to the open object.
  void writeJson(JsonWriter &json) const;
  /// Returns an object with only these members, in one line.
  std::string toJson() const;
  /// Reads toJson() output.
  static Result<ModelFigures> parse(std::string_view text,
                                    const std::string &fileName);
};

/// Returns the sum over all components.
uint64_t countParameters(const ComponentParameters &components);

} // namespace transom
