// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residues for weights: elements in file tensors are leaves; other expressions
// move and combine them. Only shapes are read from files.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/Tensor.h"
#include "compiler/evaluator/residues/Residues.h"
#include "dialects/weights/WeightNode.h"

using llvm::ArrayRef;

namespace transom {

namespace {

/// Evaluates expressions in residues.
class WeightResidues {
public:
  WeightResidues(Residues &domain, const TensorSource &source)
      : domain(domain), source(source) {}

  Result<Tensor> run(const WeightExpr &e);

private:
  Tensor getLeaves(const std::string &name, const Sizes &sizes);
  Tensor getAngles(const WeightExpr &e, const Sizes &sizes);
  Tensor multiply(const Tensor &a, const Tensor &b);
  Tensor normalize(const WeightExpr &e, ArrayRef<Tensor> operands);
  Tensor setNorms(ArrayRef<Tensor> operands);
  /// An element in `e`, picked from the operand elements.
  Number pick(const WeightExpr &e, ArrayRef<int64_t> index,
              ArrayRef<Tensor> operands);

  Residues &domain;
  const TensorSource &source;
};

} // namespace

Tensor WeightResidues::getLeaves(const std::string &name, const Sizes &sizes) {
  Tensor tensor = Tensor::floats(sizes);
  domain.getLeaves(name, tensor.real);
  return tensor;
}

/// Rows for coarse positions, then for fine ones; cosines, then sines.
Tensor WeightResidues::getAngles(const WeightExpr &e, const Sizes &sizes) {
  Tensor tensor = Tensor::floats(sizes);
  const int64_t coarse = sizes[0] - weightExprAngleStep, pairs = sizes[1] / 2;
  const Number factor = domain.constant((*e).number);
  for (int64_t row = 0; row < sizes[0]; ++row)
    for (int64_t i = 0; i < pairs; ++i) {
      const bool isCoarse = row < coarse;
      auto [cosine, sine] = domain.getAngle(
          (*e).data[i], isCoarse ? row * weightExprAngleStep : row - coarse);
      Number *out = &tensor.real[row * 2 * pairs];
      out[i] = isCoarse ? cosine : domain.multiply(factor, cosine);
      out[pairs + i] = isCoarse ? sine : domain.multiply(factor, sine);
    }
  return tensor;
}

Tensor WeightResidues::multiply(const Tensor &a, const Tensor &b) {
  const int64_t m = a.sizes[0], k = a.sizes[1], n = b.sizes[1];
  Tensor result = Tensor::floats({m, n});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      result.real[i * n + j] =
          domain.dot(0.0, &a.real[i * k], 1, &b.real[j], n, k);
  return result;
}

Tensor WeightResidues::normalize(const WeightExpr &e,
                                 ArrayRef<Tensor> operands) {
  DomainScope scope(&domain);
  Tensor result = operands[0];
  const std::vector<Number> beta(operands[2].real.begin(),
                                 operands[2].real.end());
  const size_t n = beta.size();
  for (size_t row = 0; n > 0 && row < result.real.size(); row += n)
    layerNorm(llvm::MutableArrayRef(result.real).slice(row, n),
              operands[1].real, &beta, (*e).number);
  return result;
}

/// Rows in the first operand with the norms in the second.
Tensor WeightResidues::setNorms(ArrayRef<Tensor> operands) {
  DomainScope scope(&domain);
  Tensor result = operands[0];
  const int64_t width = result.sizes[1];
  for (int64_t row = 0; row < result.sizes[0]; ++row) {
    Number *numbers = &result.real[row * width];
    const Number root = sqrt(domain.dot(0.0, numbers, 1, numbers, 1, width));
    for (int64_t i = 0; i < width; ++i)
      numbers[i] = numbers[i] * (operands[1].real[row] / root);
  }
  return result;
}

Number WeightResidues::pick(const WeightExpr &e, ArrayRef<int64_t> index,
                            ArrayRef<Tensor> operands) {
  const WeightExpr::Node &node = *e;
  // Map the index to an operand and an index in it.
  Sizes at(index);
  size_t operand = 0;
  switch (node.kind) {
  case WeightExpr::Kind::Transpose:
    for (size_t d = 0; d < at.size(); ++d)
      at[node.dims[d]] = index[d];
    break;
  case WeightExpr::Kind::Slice:
    at[node.axis] += node.start;
    break;
  case WeightExpr::Kind::Concat:
    for (; at[node.axis] >= operands[operand].sizes[node.axis]; ++operand)
      at[node.axis] -= operands[operand].sizes[node.axis];
    break;
  case WeightExpr::Kind::Pad:
    if (at[node.axis] >= operands[0].sizes[node.axis])
      return 0.0;
    break;
  case WeightExpr::Kind::Gather:
    at[0] = node.dims[at[0]];
    break;
  case WeightExpr::Kind::Interleave: {
    const auto count = static_cast<int64_t>(operands.size());
    operand = at[0] / node.size % count;
    at[0] = at[0] / (node.size * count) * node.size + at[0] % node.size;
    break;
  }
  default:
    break;
  }
  return operands[operand].real[flatten(operands[operand].sizes, at)];
}

Result<Tensor> WeightResidues::run(const WeightExpr &e) {
  const WeightExpr::Node &node = *e;
  TRANSOM_ASSIGN(std::vector<int64_t> shape, e.shape(source));
  const Sizes sizes{ArrayRef<int64_t>(shape)};
  // Operands first.
  std::vector<Tensor> operands;
  for (const WeightExpr &operand : node.operands) {
    TRANSOM_ASSIGN(Tensor tensor, run(operand));
    operands.push_back(std::move(tensor));
  }
  Tensor result = Tensor::floats(sizes);
  // Leaves, constants and arithmetic.
  switch (node.kind) {
  case WeightExpr::Kind::File:
    return getLeaves("file " + node.name, sizes);
  case WeightExpr::Kind::Sinusoid: // no operation computes with its angles
    return getLeaves(e.str(), sizes);
  case WeightExpr::Kind::Angles:
    return getAngles(e, sizes);
  case WeightExpr::Kind::Fill:
    std::fill(result.real.begin(), result.real.end(),
              domain.constant(node.number));
    return result;
  case WeightExpr::Kind::Values:
    for (auto [element, value] : llvm::zip_equal(result.real, node.data))
      element = domain.constant(value);
    return result;
  case WeightExpr::Kind::Triangle:
    forEachIndex(sizes, [&, i = size_t(0)](ArrayRef<int64_t> index) mutable {
      const bool isUpTo = index.back() - index[index.size() - 2] <= node.start;
      result.real[i++] = domain.constant(node.data[isUpTo ? 0 : 1]);
    });
    return result;
  case WeightExpr::Kind::Reshape:
    result.real = std::move(operands[0].real);
    return result;
  case WeightExpr::Kind::Scale:
    for (auto [element, x] : llvm::zip_equal(result.real, operands[0].real))
      element = domain.multiply(x, domain.constant(node.number));
    return result;
  case WeightExpr::Kind::Add:
    for (int64_t i = 0; i < result.count(); ++i)
      result.real[i] = domain.add(operands[0].real[i],
                                  operands[1].real[i % operands[1].count()]);
    return result;
  case WeightExpr::Kind::Matmul:
    return multiply(operands[0], operands[1]);
  case WeightExpr::Kind::LayerNorm:
    return node.rowNorms ? setNorms(operands) : normalize(e, operands);
  default:
    break;
  }
  // All other kinds move elements.
  auto element = result.real.begin();
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    *element++ = pick(e, index, operands);
  });
  return result;
}

void Residues::forget() {
  keptWeights.clear();
  numKeptNumbers = 0;
  keptSums = llvm::DenseMap<WordsHash, Residue>();
}

Result<std::shared_ptr<const Tensor>>
Residues::weight(const WeightExpr &expr, const TensorSource &source) {
  const std::string text = expr.str();
  if (auto kept = keptWeights.find(text); kept != keptWeights.end())
    return kept->second;
  const size_t before = mark();
  TRANSOM_ASSIGN(Tensor tensor, WeightResidues(*this, source).run(expr));
  auto shared = std::make_shared<const Tensor>(std::move(tensor));
  // Numbers in the pool are released after the call.
  constexpr size_t most = size_t(1) << 26;
  const size_t size = shared->real.size();
  // Earlier modules' expressions make room for new ones.
  if (numKeptNumbers + size > most) {
    keptWeights.clear();
    numKeptNumbers = 0;
  }
  if (mark() == before && size <= most) {
    numKeptNumbers += size;
    keptWeights[text] = shared;
  }
  return std::shared_ptr<const Tensor>(shared);
}

} // namespace transom
