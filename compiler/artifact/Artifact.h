// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiled model consists of besides its code: phases, steps, layer
// rows, the packed weights' places, tokenizer tables and manifest. The plan is
// read from the module that the kernel passes leave; `writeArtifact` makes the
// one file of it.
#pragma once
#include "dialects/weights/Importance.h"
#include "dialects/weights/WeightExpr.h"
#include "dialects/weights/WeightLayout.h"
#include "runtime/base/OperandFormat.h"
#include "runtime/base/OutputFile.h"
#include "runtime/manifest/Manifest.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// One packed weight: what it is made of and where it lies.
struct ArtifactWeight {
  std::string symbol;
  std::string expression; ///< text of a WeightExpr
  WeightLayout layout = WeightLayout::Rows;
  uint64_t offset = 0; ///< from the start of the packed weights
  uint64_t bytes = 0;
  std::vector<int64_t> shape;  ///< of the expression
  std::vector<int64_t> splits; ///< sizes along the first dimension that start
                               ///< at a panel border; empty: one part
  OperandFormat format;        ///< of its numbers, rounded to nearest even
};

/// Bytes that a weight takes; nothing for a layout or type that does not fit
/// the shape, or on overflow.
std::optional<uint64_t> packedBytes(const ArtifactWeight &weight);

/// A phase with code.
struct ArtifactPhase {
  std::string name;
  std::string location{}; ///< its path in the model, which its symbol has
};

/// A phase with the first index of its layer row, -1 without one. With head
/// ranges some calls have no barrier before it: see `transom_dispatch`.
struct ArtifactStep {
  int32_t phase = 0;
  int32_t row = -1;
  int32_t headRanges = 0;
  int32_t raggedBatch = 0;
};

/// The steps of an entry point.
struct ArtifactEntry {
  std::string name;
  std::vector<ArtifactStep> steps;
};

/// All of an artifact but its code.
struct ArtifactPlan {
  std::vector<ArtifactPhase> phases; ///< in the order of the tables
  std::vector<ArtifactEntry> entries;
  std::vector<int64_t> rows; ///< weight offsets of all layer rows
  std::vector<ArtifactWeight> weights;
  uint64_t weightBytes = 0; ///< of all packed weights, gaps included
  Importance importance;    ///< of columns of weights; empty: all are equal
  std::string tokenizer;    ///< flat tables, empty for none
  Manifest manifest;        ///< its isas say which code there is
};

/// The object file of one instruction set.
struct IsaObject {
  std::string isa;
  std::string object; ///< ELF relocatable
};

/// How far packed numbers are from those of quantized weights of files.
struct RoundingError {
  int64_t weights = 0;    ///< that are not exact
  int64_t numbers = 0;    ///< of these
  double largest = 0;     ///< difference
  double differences = 0; ///< sum of their squares
  double squares = 0;     ///< sum of the squares of the numbers

  void add(const float *packed, const float *stored, int64_t count);
  void add(const RoundingError &other);
  /// `the root mean square error is ...`
  std::string str() const;
};

/// The errors of the weights of an artifact.
struct RoundingErrors {
  RoundingError numbers; ///< whole numbers that no format of products holds
  RoundingError scales;  ///< scales and minimums that were rounded

  /// As notes.
  std::vector<std::string> getNotes() const;
};

/// What was written.
struct ArtifactReport {
  uint64_t fileBytes = 0; ///< end of the loaded segments in the file
  std::string weightsSha256;
  RoundingErrors rounding;
};

/// Called with the bytes of weights written so far and their total; false
/// stops the writing with an error.
using WriteProgress = std::function<bool(uint64_t done, uint64_t total)>;

/// Links the objects with the plan's tables and writes the shared object to
/// `file`, which allows random access: code first, then the weights, evaluated
/// from `source` into their location. The caller commits the file. `release`
/// lets go of the pages of a file tensor that no later weight reads.
Result<ArtifactReport>
writeArtifact(const ArtifactPlan &plan, const std::vector<IsaObject> &objects,
              const TensorSource &source,
              const std::function<void(const std::string &)> &release,
              OutputFile &file, const WriteProgress &progress);

/// The same into the file at `path`, which appears complete or not at all.
Result<ArtifactReport>
writeArtifact(const ArtifactPlan &plan, const std::vector<IsaObject> &objects,
              const TensorSource &source,
              const std::function<void(const std::string &)> &release,
              const std::string &path, const WriteProgress &progress);

} // namespace transom
