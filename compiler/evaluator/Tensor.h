// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense tensor in the reference evaluator: numbers for every float type,
// int64 for integers and bool. Slow and simple by intention.
#pragma once
#include "compiler/evaluator/Number.h"
#include "dialects/weights/StoredGroups.h"
#include "runtime/base/Error.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace transom {

/// Pre-quantized integers from a weight file.
struct GivenNumbers {
  OperandFormat format; ///< storage format
  StoredRows rows;
};

/// Tensor sizes, outermost first.
using Sizes = llvm::SmallVector<int64_t>;

/// The element count for a tensor with these sizes.
int64_t getNumElements(llvm::ArrayRef<int64_t> sizes);

/// A dense row-major tensor with numbers or int64 elements (bool: 0 and 1).
struct Tensor {
  Tensor() = default;
  /// A zero tensor.
  static Tensor floats(llvm::ArrayRef<int64_t> sizes);
  static Tensor integers(llvm::ArrayRef<int64_t> sizes);
  /// A tensor with these elements; their count must fit the sizes.
  static Tensor of(llvm::ArrayRef<int64_t> sizes, std::vector<Number> values);
  static Tensor of(llvm::ArrayRef<int64_t> sizes,
                   const std::vector<double> &values);
  static Tensor of(llvm::ArrayRef<int64_t> sizes, std::vector<int64_t> values);

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t count() const { return getNumElements(sizes); }
  /// An element as a number, for either element type.
  Number number(int64_t index) const {
    return isFloat ? real[index] : Number(static_cast<double>(whole[index]));
  }
  /// The same as float64; only for evaluations in float64.
  double getReal(int64_t index) const { return number(index).real(); }
  /// All elements in a float tensor; only for evaluations in float64.
  std::vector<double> getReals() const;

  /// A tensor with other sizes; element i is element `sources[i]` here.
  Tensor pick(llvm::ArrayRef<int64_t> newSizes,
              llvm::ArrayRef<int64_t> sources) const;
  /// Broadcasts to `target` by NumPy's rules; the sizes must fit.
  Tensor broadcastTo(llvm::ArrayRef<int64_t> target) const;

  Sizes sizes;
  bool isFloat = true;
  std::vector<Number> real; ///< elements if `isFloat`
  /// For a weight in groups in the bits domain: the integers, and for each row,
  /// group by group, the scale and the offset, if present.
  std::vector<int8_t> quantized;
  std::vector<Number> scales, minimums;
  std::vector<int64_t> whole; ///< elements otherwise
  /// Set for a weight that consists of complete rows in pre-quantized tensors.
  std::shared_ptr<const GivenNumbers> given;
};

/// The common broadcast sizes; the sizes must fit.
Sizes broadcastSizes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Maps an index in the result's leading dimensions to a broadcast operand.
Sizes broadcastIndex(llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<int64_t> index);

/// Calls `visit` with each index in a tensor with these sizes, in order.
template <typename Visit>
void forEachIndex(llvm::ArrayRef<int64_t> sizes, Visit visit) {
  Sizes index(sizes.size(), 0);
  for (int64_t i = 0, count = getNumElements(sizes); i < count; ++i) {
    visit(llvm::ArrayRef<int64_t>(index));
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d])
        break;
      index[d] = 0;
    }
  }
}

/// The offset for an index in a row-major tensor.
int64_t flatten(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> index);

} // namespace transom
