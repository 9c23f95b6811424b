// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures of a model that need its graph: parameters by component and by
// layer, and the textbook's formulas for a Transformer of l layers of width d
// beside the exact numbers: 12 l d^2 parameters, 24 b s d^2 + 4 b s^2 d
// operations a layer for b sequences of s tokens, 6 N D operations to train N
// parameters on D tokens (Kaplan et al. 2020). An artifact keeps them as JSON.
// No header of LLVM comes along.
#pragma once
#include "runtime/json/Json.h"
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// Numbers of parameters by component (`attention_query`), those that are not
/// zero.
using ComponentParameters = std::vector<std::pair<std::string, uint64_t>>;

/// Consecutive layers of a stack with equal parameters, or what lies in no
/// layer.
struct LayerParameters {
  std::string stack; ///< `encoder.layer`; empty: outside of layers
  int64_t first = 0, last = 0;
  ComponentParameters components; ///< of one layer
};

/// All parameters. Each element of a file's tensor counts once: their sum is
/// the number of parameters of the model.
struct ParameterReport {
  ComponentParameters components;
  std::vector<LayerParameters> layers;
  bool tiedHead = false; ///< the head and the embedding share a matrix

  /// Adds lines for people.
  void addText(std::string &text) const;
};

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
  int64_t length = 1;            ///< tokens of the sequence
  std::vector<FormulaTerm> terms;

  double getTextbook() const;
  double getExact() const;
};

/// What the formulas say about a model.
struct FormulaReport {
  int64_t layers = 0, width = 0;      ///< l and d of the whole model
  FormulaTerm parameters;             ///< of the matrices in layers
  std::vector<EntryFormulas> entries; ///< empty: no attention, no formulas
  /// Operations to train on one token of a sequence: 6 N, and three times the
  /// exact operations of a run that has results for all tokens.
  FormulaTerm training;

  /// Adds lines for people.
  void addText(std::string &text) const;
};

/// All figures of a model.
struct ModelFigures {
  ParameterReport parameters;
  FormulaReport formulas;

  /// Adds the members `parameter_report` and `formulas` to the open object.
  void writeJson(JsonWriter &json) const;
  /// An object with these members alone, in one line.
  std::string toJson() const;
  /// Reads what toJson() wrote.
  static Result<ModelFigures> parse(std::string_view text,
                                    const std::string &fileName);
};

/// The sum over all components.
uint64_t countParameters(const ComponentParameters &components);

} // namespace transom
