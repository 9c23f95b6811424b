// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves the size of large columns from the results of norms into the weights
// that multiply them, before both are quantized in groups.
//
// A few columns of what products multiply are many times as large as the
// others, and the others of their group lose bits to them. With the gamma of a
// norm divided by s and the columns of the weights times s the products are the
// same; s is about the square root of the column's size, as in AWQ (Lin et al.
// 2023) and SmoothQuant (Xiao et al. 2022), and a power of two, so that no
// product changes in any bit.
#pragma once
#include "dialects/weights/Importance.h"
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace transom {

/// What the elements of a file tensor are multiplied by: powers of two, one for
/// each index of a dimension.
struct ColumnFactors {
  std::vector<float> factors;
  size_t axis = 0;
};

/// By file tensor; absent: nothing.
using BalancedColumns = std::map<std::string, ColumnFactors>;

/// Finds factors for the norms of an imported module, and makes `importance`
/// that of the new columns.
///
/// A norm is balanced if its gamma is a file tensor (not 1 + one), all that
/// reads its result are products with weights, and nothing else reads gamma,
/// beta or these weights.
BalancedColumns balanceColumns(mlir::ModuleOp module, Importance &importance);

/// The tensors of a model's files times their factors.
class BalancedTensors final : public TensorSource {
public:
  /// Both outlive this.
  BalancedTensors(const TensorSource &files, const BalancedColumns &columns)
      : files(files), columns(columns) {}

  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    return files.shape(name);
  }
  Result<void> read(const std::string &name,
                    const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override;
  /// Weights that files have in groups of whole numbers stay as they are.
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
