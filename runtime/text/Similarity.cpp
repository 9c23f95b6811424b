// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All functions are computed in one pass in double.
#include "runtime/text/Similarity.h"
#include <cmath>

using namespace transom;

std::string transom::getSimilarityFunction(const Model &model) {
  const auto &text = model.manifest().text;
  return text && text->pipeline && !text->pipeline->similarity.empty()
             ? text->pipeline->similarity
             : "cosine";
}

double transom::getSimilarity(const std::string &function, const float *a,
                              const float *b, size_t size) {
  double product = 0, first = 0, second = 0, squares = 0, distance = 0;
  for (size_t i = 0; i != size; ++i) {
    const double x = double(a[i]), y = double(b[i]);
    product += x * y;
    first += x * x;
    second += y * y;
    squares += (x - y) * (x - y);
    distance += std::abs(x - y);
  }
  if (function == "dot")
    return product;
  if (function == "euclidean")
    return -std::sqrt(squares);
  if (function == "manhattan")
    return -distance;
  const double length = std::sqrt(first) * std::sqrt(second);
  return length > 0 ? product / length : 0;
}
