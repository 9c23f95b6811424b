// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves large column magnitudes from norm results into the weights that
// multiply them, before both are quantized in groups.
//
// A few GEMM input columns are many times as large as the others, so the others
// in their group lose bits. If the norm's gamma is divided by s and the weight
// columns are multiplied by s, the GEMM results are the same. s is about the
// square root of the column magnitude, as in AWQ (Lin et al. 2023) and
// SmoothQuant (Xiao et al. 2022), and a power of two, so GEMM results keep
// their bits.
#pragma once
#include "dialects/weights/Importance.h"
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace transom {

/// Factors for file tensor elements: powers of two, one for each index along a
/// dimension.
struct ColumnFactors {
  std::vector<float> factors;
  size_t axis = 0;
};

/// Factors by file tensor; tensors without an entry are unchanged.
using BalancedColumns = std::map<std::string, ColumnFactors>;

/// Finds factors for the norms in an imported module, and converts `importance`
/// to the scaled columns.
///
/// A norm is balanced if its gamma is a file tensor (not 1 + gamma), all users
/// of its result are GEMMs with weights, and nothing else reads gamma, beta or
/// these weights.
BalancedColumns balanceColumns(mlir::ModuleOp module, Importance &importance);

/// Presents the tensors in model files, multiplied by their factors.
class BalancedTensors final : public TensorSource {
public:
  /// Both must outlive this object.
  BalancedTensors(const TensorSource &files, const BalancedColumns &columns)
      : files(files), columns(columns) {}

  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    return files.shape(name);
  }
  Result<void> read(const std::string &name,
                    const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override;
  /// Weights stored in files as quantized groups are not scaled.
  Result<void> readStored(const std::string &name, StoredField field,
                          const std::vector<int64_t> &offsets,
                          const std::vector<int64_t> &sizes,
                          float *out) const override {
    return files.readStored(name, field, offsets, sizes, out);
  }

private:
  const TensorSource &files;
  const BalancedColumns &columns;
};

} // namespace transom
