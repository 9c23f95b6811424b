// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-memory tensors for weight expressions, and block evaluation.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include "runtime/base/DType.h"
#include "test/runtime/base/TestSupport.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace transom::test {

using Shape = std::vector<int64_t>;

/// In-memory tensors with small integers; records the largest read.
class MemorySource : public TensorSource {
public:
  struct Tensor {
    Shape shape;
    std::vector<float> data;
  };
  std::map<std::string, Tensor> tensors;
  mutable int64_t largestRead = 0;

  void add(const std::string &name, Shape shape, Random &random) {
    Tensor tensor{shape, {}};
    for (int64_t n = *elementCount(shape); n > 0; --n)
      tensor.data.push_back(static_cast<float>(random.between(-100, 100)));
    tensors[name] = std::move(tensor);
  }
  Result<Shape> shape(const std::string &name) const override {
    auto found = tensors.find(name);
    if (found == tensors.end())
      return rejected("tensor '" + name + "' is missing");
    return found->second.shape;
  }
  Result<void> read(const std::string &name, const Shape &offsets,
                    const Shape &sizes, float *out) const override {
    const Tensor &tensor = tensors.at(name);
    int64_t count = *elementCount(sizes);
    largestRead = std::max(largestRead, count);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, at = 0, stride = 1;
      for (size_t d = sizes.size(); d-- > 0;) {
        EXPECT_LE(offsets[d] + sizes[d], tensor.shape[d]);
        at += (offsets[d] + rest % sizes[d]) * stride;
        rest /= sizes[d];
        stride *= tensor.shape[d];
      }
      out[i] = tensor.data[at];
    }
    return {};
  }
};

inline WeightExpr expr(const std::string &text) {
  Result<WeightExpr> parsed = WeightExpr::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : WeightExpr::fill({}, 0);
}

inline std::vector<float> evaluate(const WeightExpr &e,
                                   const TensorSource &source,
                                   const Shape &offsets, const Shape &sizes) {
  std::vector<float> out(*elementCount(sizes) + 1, 12345);
  Result<void> done = e.evaluate(source, offsets, sizes, out.data());
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  EXPECT_EQ(out.back(), 12345) << "wrote beyond the block";
  out.pop_back();
  return out;
}

inline std::vector<float> evaluateAll(const WeightExpr &e,
                                      const TensorSource &source) {
  Shape shape = *e.shape(source);
  return evaluate(e, source, Shape(shape.size(), 0), shape);
}

} // namespace transom::test
