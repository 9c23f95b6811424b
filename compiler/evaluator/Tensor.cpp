// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dense tensors: creation, and gathering elements by index lists.
#include "compiler/evaluator/Tensor.h"
#include <algorithm>

using llvm::ArrayRef;

namespace transom {

int64_t getNumElements(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

Tensor Tensor::floats(ArrayRef<int64_t> sizes) {
  return of(sizes, std::vector<Number>(getNumElements(sizes)));
}

Tensor Tensor::integers(ArrayRef<int64_t> sizes) {
  return of(sizes, std::vector<int64_t>(getNumElements(sizes)));
}

Tensor Tensor::of(ArrayRef<int64_t> sizes, std::vector<Number> values) {
  assert(static_cast<int64_t>(values.size()) == getNumElements(sizes));
  Tensor tensor;
  tensor.sizes = Sizes(sizes);
  tensor.real = std::move(values);
  return tensor;
}

Tensor Tensor::of(ArrayRef<int64_t> sizes, const std::vector<double> &values) {
  return of(sizes, std::vector<Number>(values.begin(), values.end()));
}

Tensor Tensor::of(ArrayRef<int64_t> sizes, std::vector<int64_t> values) {
  assert(static_cast<int64_t>(values.size()) == getNumElements(sizes));
  Tensor tensor;
  tensor.sizes = Sizes(sizes);
  tensor.isFloat = false;
  tensor.whole = std::move(values);
  return tensor;
}

std::vector<double> Tensor::getReals() const {
  std::vector<double> values;
  for (Number number : real)
    values.push_back(number.real());
  return values;
}

Tensor Tensor::pick(ArrayRef<int64_t> newSizes,
                    ArrayRef<int64_t> sources) const {
  Tensor result = isFloat ? floats(newSizes) : integers(newSizes);
  for (size_t i = 0; i < sources.size(); ++i) {
    if (isFloat)
      result.real[i] = real[sources[i]];
    else
      result.whole[i] = whole[sources[i]];
  }
  return result;
}

Tensor Tensor::broadcastTo(ArrayRef<int64_t> target) const {
  if (ArrayRef<int64_t>(sizes) == target)
    return *this;
  size_t lead = target.size() - sizes.size();
  std::vector<int64_t> sources;
  Sizes own(sizes.size());
  forEachIndex(target, [&](ArrayRef<int64_t> index) {
    for (size_t d = 0; d < own.size(); ++d)
      own[d] = sizes[d] == 1 ? 0 : index[lead + d];
    sources.push_back(flatten(sizes, own));
  });
  return pick(target, sources);
}

Sizes broadcastSizes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Sizes result(a);
  size_t lead = a.size() - b.size();
  for (size_t d = 0; d < b.size(); ++d)
    if (b[d] != 1)
      result[lead + d] = b[d];
  return result;
}

int64_t flatten(ArrayRef<int64_t> sizes, ArrayRef<int64_t> index) {
  int64_t flat = 0;
  for (size_t d = 0; d < sizes.size(); ++d)
    flat = flat * sizes[d] + index[d];
  return flat;
}

Sizes broadcastIndex(ArrayRef<int64_t> sizes, ArrayRef<int64_t> index) {
  Sizes own;
  size_t lead = index.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d)
    own.push_back(sizes[d] == 1 ? 0 : index[lead + d]);
  return own;
}

} // namespace transom
