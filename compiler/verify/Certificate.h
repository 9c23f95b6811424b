// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a check of the passes of a compile did and found: the certificate, which
// says all that is needed to check again. The tool reads and prints it without
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

/// Layers of an entry that are equal but for their weights.
struct EqualLayers {
  std::string entry;
  /// The module paths of those that were run: `encoder.layer.0`, ...
  std::vector<std::string> kept;
  /// Repeats of the operations, each of one layer or more; of the whole model,
  /// and of those that were run.
  int64_t numLayers = 0, numKept = 0;
};

/// A size that was replaced by a smaller one.
struct ShrunkSize {
  std::string name;          ///< `hidden`, `heads`, ...
  int64_t size = 0, run = 0; ///< of the model, and of what was run
};

/// A pass after which a module is another function.
struct VerifyDifference {
  std::string pass;
  /// Which result differs where; or the error of the evaluation.
  std::string result;
  /// The first operation in the order of execution that computes a number which
  /// no operation computed before the pass: its place and its name; empty if
  /// all are old.
  std::string place, operation;
  /// That operation, and the operations of this place before the pass, each as
  /// a line of IR.
  std::string after;
  std::vector<std::string> before;
  /// A file with the module before the pass, which `transom-opt
  /// --run-reproducer` runs the pass on; empty: none was written.
  std::string reproducer;
  std::string replay; ///< the command that does

  std::string str() const;
};

/// The module at the end of a stage.
struct CertifiedStage {
  std::string stage;   ///< `attn`, `attn-opt`, `kern`
  std::string sha256;  ///< of its text with locations
  std::string results; ///< sha256 of all results in residues; empty: not run
};

/// A pass that ran.
struct CertifiedPass {
  std::string stage, pass;
  bool changed = false; ///< the module; else there was nothing to compare
};

/// What was checked.
struct Certificate {
  static constexpr int64_t format = 1;

  std::string transom; ///< version of the compiler
  std::string model;   ///< its name
  std::string dtype, kvDtype, backend;
  std::string quantize; ///< as in CompileOptions
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::string> disabledPasses;
  unsigned lanes = 1;
  /// sha256 of the compiler's version and the text of all stages, from which
  /// the keys of the residues are derived.
  std::string key;
  std::vector<EqualLayers> layers;
  /// Sizes that were replaced, ascending; empty: the model ran at its widths.
  std::vector<ShrunkSize> widths;
  /// Why a large model ran at its widths; empty where it did not, or was asked
  /// to.
  std::string whyFullWidths;
  /// How the modules at the model's widths differ from those that were run, but
  /// for sizes: their first line that does; empty where none does.
  std::string otherStructure;
  /// Calls after each pass, and those after all passes.
  std::vector<std::string> calls, endCalls;
  std::vector<CertifiedPass> passes;
  std::vector<CertifiedStage> stages;
  /// Constants taken for something else than their exact value.
  std::vector<std::string> equalConstants;
  /// Shapes of the file tensors that weights are made of.
  std::map<std::string, std::vector<int64_t>> tensors;
  std::optional<VerifyDifference> difference;

  bool rounds() const {
    return dtype != "f32" || kvDtype != "f32" || !quantize.empty();
  }
  bool leavesLayersOut() const;
  bool isAtFullWidths() const { return widths.empty(); }
  /// `hidden 1536 -> 384, heads 16 -> 4`.
  std::string describeWidths() const;
  /// `no difference found (chance of a miss at most 2^-11)`; from two lanes on
  /// `proved equal (chance of a miss below 2^-60)`; or the difference.
  std::string getVerdict() const;
  /// What was shown and what was not, in sentences.
  std::vector<std::string> getShown() const, getNotShown() const;
  std::string toText() const;
  /// `indent` spaces a level; 0 writes everything in one line.
  std::string toJson(unsigned indent = 2) const;
  /// The error of a difference, with status `CheckFailed`.
  Result<void> check() const;
};

/// Reads what `toJson` writes.
Result<Certificate> parseCertificate(const JsonDocument &document);

} // namespace transom
