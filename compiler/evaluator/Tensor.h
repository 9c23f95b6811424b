// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense tensor of the reference evaluator: numbers for every float type,
// int64 for integers and bool. Slow and obvious on purpose.
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

/// The whole numbers of a weight as its file has them.
struct GivenNumbers {
  OperandFormat format; ///< that holds them
  StoredRows rows;
};

/// Sizes of a tensor, outermost first.
using Sizes = llvm::SmallVector<int64_t>;

/// The number of elements of a tensor of these sizes.
int64_t getNumElements(llvm::ArrayRef<int64_t> sizes);

/// A dense row-major tensor of numbers or int64 (bool: 0 and 1).
struct Tensor {
  Tensor() = default;
  /// A tensor of zeros.
  static Tensor floats(llvm::ArrayRef<int64_t> sizes);
  static Tensor integers(llvm::ArrayRef<int64_t> sizes);
  /// A tensor of these elements; their number must fit.
  static Tensor of(llvm::ArrayRef<int64_t> sizes, std::vector<Number> values);
  static Tensor of(llvm::ArrayRef<int64_t> sizes,
                   const std::vector<double> &values);
  static Tensor of(llvm::ArrayRef<int64_t> sizes, std::vector<int64_t> values);

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t count() const { return getNumElements(sizes); }
  /// An element as a number, whatever it is stored as.
  Number number(int64_t index) const {
    return isFloat ? real[index] : Number(static_cast<double>(whole[index]));
  }
  /// The same in an evaluation in float64.
  double getReal(int64_t index) const { return number(index).real(); }
  /// All elements of a tensor of floats, in an evaluation in float64.
  std::vector<double> getReals() const;

  /// A tensor of other sizes whose element i is element `sources[i]` of this.
  Tensor pick(llvm::ArrayRef<int64_t> newSizes,
              llvm::ArrayRef<int64_t> sources) const;
  /// This repeated to `target` by the rules of NumPy; the sizes must fit.
  Tensor broadcastTo(llvm::ArrayRef<int64_t> target) const;

  Sizes sizes;
  bool isFloat = true;
  std::vector<Number> real; ///< the elements where `isFloat`
  /// In the domain of bits, of a weight in groups the whole numbers, and of
  /// each row, group by group, the scale and the minimum, if there are such.
  std::vector<int8_t> quantized;
  std::vector<Number> scales, minimums;
  std::vector<int64_t> whole; ///< the elements otherwise
  /// Of a weight that consists of whole rows of stored tensors.
  std::shared_ptr<const GivenNumbers> given;
};

/// The sizes that both broadcast to; the sizes must fit.
Sizes broadcastSizes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// An index of the result's leading dimensions in an operand that broadcasts.
Sizes broadcastIndex(llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<int64_t> index);

/// Calls `visit` with each index of a tensor of these sizes, in order.
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

/// The place of an index in a row-major tensor.
int64_t flatten(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> index);

} // namespace transom
