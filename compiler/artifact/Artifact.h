// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contents of a compiled model in addition to code: phases, steps, layer rows,
// packed weight offsets, tokenizer tables and manifest. The plan is read from
// the module after the kernel passes; `writeArtifact` writes the single output
// file.
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

/// One packed weight: its contents and its offset.
struct ArtifactWeight {
  std::string symbol;
  std::string expression; ///< a WeightExpr as text
  WeightLayout layout = WeightLayout::Rows;
  uint64_t offset = 0; ///< relative to the packed weights
  uint64_t bytes = 0;
  std::vector<int64_t> shape;  ///< the expression's shape
  std::vector<int64_t> splits; ///< sizes along the first dimension; each part
                               ///< starts at a panel; empty: one part
  OperandFormat format;        ///< element format, rounded to nearest even
};

/// Returns the packed size in bytes; nullopt on overflow, or if the shape does
/// not fit the layout or type.
std::optional<uint64_t> packedBytes(const ArtifactWeight &weight);

/// A phase with code.
struct ArtifactPhase {
  std::string name;
  std::string location{}; ///< module path, used in its symbol
};

/// A phase and the first index of its layer row, or -1 without a row. With head
/// ranges some calls have no barrier before it: see `transom_dispatch`.
struct ArtifactStep {
  int32_t phase = 0;
  int32_t row = -1;
  int32_t headRanges = 0;
  int32_t raggedBatch = 0;
};

/// The steps in an entry point.
struct ArtifactEntry {
  std::string name;
  std::vector<ArtifactStep> steps;
};

/// An artifact without its code.
struct ArtifactPlan {
  std::vector<ArtifactPhase> phases; ///< in table order
  std::vector<ArtifactEntry> entries;
  std::vector<int64_t> rows; ///< weight offsets of all layer rows
  std::vector<ArtifactWeight> weights;
  uint64_t weightBytes = 0; ///< for all packed weights, gaps included
  Importance importance;    ///< for weight columns; empty: all are equal
  std::string tokenizer;    ///< flat tables; empty: no tokenizer
  Manifest manifest;        ///< its isas specify the available code
};

/// An object file for one instruction set.
struct IsaObject {
  std::string isa;
  std::string object; ///< relocatable ELF file
};

/// Rounding error between packed values and the quantized values in files.
struct RoundingError {
  int64_t weights = 0;    ///< inexact weights
  int64_t numbers = 0;    ///< elements in these weights
  double largest = 0;     ///< largest difference
  double differences = 0; ///< sum of squared differences
  double squares = 0;     ///< sum of squared elements

  void add(const float *packed, const float *stored, int64_t count);
  void add(const RoundingError &other);
  /// `the root mean square error is ...`
  std::string str() const;
};

/// The rounding errors in an artifact's weights.
struct RoundingErrors {
  RoundingError numbers; ///< integers that no GEMM format can hold
  RoundingError scales;  ///< rounded scales and offsets

  /// Formats the errors as notes.
  std::vector<std::string> getNotes() const;
};

/// The result of writeArtifact.
struct ArtifactReport {
  uint64_t fileBytes = 0; ///< end of the loaded segments in the file
  std::string weightsSha256;
  RoundingErrors rounding;
};

/// Called with the weight bytes written so far and their total; returning false
/// stops the writer with an error.
using WriteProgress = std::function<bool(uint64_t done, uint64_t total)>;

/// Links the objects with the plan's tables and writes the shared object to
/// `file`, which allows random access: code first, then the weights, evaluated
/// from `source` into their location. The caller commits the file. `release` is
/// called with each file tensor that no later weight reads.
Result<ArtifactReport>
writeArtifact(const ArtifactPlan &plan, const std::vector<IsaObject> &objects,
              const TensorSource &source,
              const std::function<void(const std::string &)> &release,
              OutputFile &file, const WriteProgress &progress);

/// Same as above, for a file at `path`, which appears complete or not at all.
Result<ArtifactReport>
writeArtifact(const ArtifactPlan &plan, const std::vector<IsaObject> &objects,
              const TensorSource &source,
              const std::function<void(const std::string &)> &release,
              const std::string &path, const WriteProgress &progress);

} // namespace transom
