// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The certificate: the result of a check on the passes in a compilation, with
// all data that a repeated check needs. The tool reads and prints it without
// LLVM.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/json/Json.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// Layers in an entry that are equal except for their weights.
struct EqualLayers {
  std::string entry;
  /// Module paths that were run: `encoder.layer.0`, ...
  std::vector<std::string> kept;
  /// Repetitions, each with one or more layers: in the whole model, and in the
  /// part that was run.
  int64_t numLayers = 0, numKept = 0;
};

/// A size that was replaced by a smaller one.
struct ShrunkSize {
  std::string name;          ///< `hidden`, `heads`, ...
  int64_t size = 0, run = 0; ///< in the model, and in the part that was run
};

/// A pass that changes the function which a module computes.
struct VerifyDifference {
  std::string pass;
  /// The location of the differing result, or the evaluation error.
  std::string result;
  /// Module path and name of the first operation, in execution order, that
  /// computes a number which no operation computed before the pass; empty if it
  /// does not exist.
  std::string place, operation;
  /// This operation, and the operations at this module path before the pass,
  /// each as one line of IR.
  std::string after;
  std::vector<std::string> before;
  /// A file with the module before the pass, for `transom-opt
  /// --run-reproducer`; empty: not written.
  std::string reproducer;
  std::string replay; ///< the command to run the pass on it

  std::string str() const;
};

/// The module at the end of a stage.
struct CertifiedStage {
  std::string stage;   ///< `attn`, `attn-opt`, `kern`
  std::string sha256;  ///< over its text with locations
  std::string results; ///< sha256 over all results in residues; empty: not run
};

/// A pass that ran.
struct CertifiedPass {
  std::string stage, pass;
  bool changed =
      false; ///< false: the module is unchanged, so there was no comparison
};

/// The checked compilation, and the result.
struct Certificate {
  static constexpr int64_t format = 1;

  std::string transom; ///< compiler version
  std::string model;   ///< its name
  std::string dtype, kvDtype, backend;
  std::string quantize; ///< as in CompileOptions
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> disabledPasses;
  unsigned lanes = 1;
  /// sha256 over the compiler version and the text of all stages; the residue
  /// keys are derived from it.
  std::string key;
  std::vector<EqualLayers> layers;
  /// Replaced sizes, ascending; empty: the model ran at its original widths.
  std::vector<ShrunkSize> widths;
  /// The reason why a large model ran at its original widths; empty if it did
  /// not, or if this was requested.
  std::string whyFullWidths;
  /// The first line in which the modules at the original widths differ from the
  /// modules that were run, except for sizes; empty if they do not differ.
  std::string otherStructure;
  /// Calls after each pass, and calls after all passes.
  std::vector<std::string> calls, endCalls;
  std::vector<CertifiedPass> passes;
  std::vector<CertifiedStage> stages;
  /// Constants that were not interpreted as their exact value.
  std::vector<std::string> equalConstants;
  /// Shapes of the file tensors in weight expressions.
  std::map<std::string, std::vector<int64_t>> tensors;
  std::optional<VerifyDifference> difference;

  bool rounds() const {
    return dtype != "f32" || kvDtype != "f32" || !quantize.empty();
  }
  bool leavesLayersOut() const;
  bool isAtFullWidths() const { return widths.empty(); }
  /// `hidden 1536 -> 384, heads 16 -> 4`.
  std::string describeWidths() const;
  /// `no difference found (chance of a miss at most 2^-11)`; with two or more
  /// lanes `proved equal (chance of a miss below 2^-60)`; or the difference.
  std::string getVerdict() const;
  /// Sentences on the guarantees and on the limits.
  std::vector<std::string> getShown() const, getNotShown() const;
  std::string toText() const;
  /// `indent` spaces per level; 0 writes a single line.
  std::string toJson(unsigned indent = 2) const;
  /// The error for a difference, with status `CheckFailed`.
  Result<void> check() const;
};

/// Parses the output of `toJson`.
Result<Certificate> parseCertificate(const JsonDocument &document);

} // namespace transom
