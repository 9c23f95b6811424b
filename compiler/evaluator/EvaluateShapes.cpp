// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights, constants, and operations that move elements: each maps a result
// element to its source.
#include "compiler/evaluator/Evaluation.h"
#include "dialects/attn/Attn.h"

using namespace mlir;

namespace transom {

using namespace attn;

static Result<void> evaluateGetWeight(GetWeightOp op, Evaluation &e) {
  TRANSOM_ASSIGN(std::shared_ptr<const Tensor> weight,
                 e.weight(op.getWeight()));
  e.set(op.getResult(), std::move(weight));
  return {};
}

static Result<void> evaluateConstant(ConstantOp op, Evaluation &e) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value)
    return unsupported("only dense constants are known to the evaluator");
  ShapedType type = value.getType();
  if (isa<FloatType>(type.getElementType())) {
    Tensor result = Tensor::floats(type.getShape());
    for (auto [target, element] :
         llvm::zip_equal(result.real, value.getValues<APFloat>())) {
      bool losesInfo;
      APFloat wide = element;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
      target = constant(wide.convertToDouble());
    }
    e.set(op.getResult(), std::move(result));
    return {};
  }
  bool isBool = type.getElementType().isInteger(1);
  Tensor result = Tensor::integers(type.getShape());
  for (auto [target, element] :
       llvm::zip_equal(result.whole, value.getValues<APInt>()))
    target = isBool ? element.getZExtValue() : element.getSExtValue();
  e.set(op.getResult(), std::move(result));
  return {};
}

static Result<void> evaluateTranspose(TransposeOp op, Evaluation &e) {
  const Tensor &input = e.tensor(op.getInput());
  ArrayRef<int64_t> permutation = op.getPermutation();
  Sizes sizes;
  for (int64_t from : permutation)
    sizes.push_back(input.sizes[from]);
  std::vector<int64_t> sources;
  Sizes source(sizes.size());
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    for (size_t d = 0; d < index.size(); ++d)
      source[permutation[d]] = index[d];
    sources.push_back(flatten(input.sizes, source));
  });
  e.set(op.getResult(), input.pick(sizes, sources));
  return {};
}

static Result<void> evaluateReshape(ReshapeOp op, Evaluation &e) {
  Tensor result = e.tensor(op.getInput());
  Sizes sizes;
  for (const Polynomial &dim : op.getShape().getDims()) {
    TRANSOM_ASSIGN(int64_t size, e.size(dim));
    sizes.push_back(size);
  }
  result.sizes = sizes;
  e.set(op.getResult(), std::move(result));
  return {};
}

/// Elements `start <= i < start + size` along an axis.
static Tensor getSlice(const Tensor &input, int64_t axis, int64_t start,
                       int64_t size) {
  Sizes sizes = input.sizes;
  sizes[axis] = size;
  std::vector<int64_t> sources;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    Sizes source(index);
    source[axis] += start;
    sources.push_back(flatten(input.sizes, source));
  });
  return input.pick(sizes, sources);
}

static Result<void> evaluateSlice(SliceOp op, Evaluation &e) {
  const Tensor &input = e.tensor(op.getInput());
  TRANSOM_ASSIGN(int64_t size, e.size(op.getSize().getPolynomial()));
  int64_t axis = op.getAxis(), start = op.getStart();
  if (size < 0 || start + size > input.sizes[axis])
    return rejected("range of " + std::to_string(size) + " from " +
                    std::to_string(start) + " leaves axis of size " +
                    std::to_string(input.sizes[axis]));
  e.set(op.getResult(), getSlice(input, axis, start, size));
  return {};
}

static Result<void> evaluateConcat(ConcatOp op, Evaluation &e) {
  int64_t axis = op.getAxis();
  Tensor result = e.tensor(op.getInputs().front());
  Sizes sizes = result.sizes;
  sizes[axis] = 0;
  for (Value input : op.getInputs())
    sizes[axis] += e.tensor(input).sizes[axis];
  result = result.isFloat ? Tensor::floats(sizes) : Tensor::integers(sizes);
  int64_t start = 0;
  for (Value value : op.getInputs()) {
    const Tensor &input = e.tensor(value);
    int64_t from = 0;
    forEachIndex(input.sizes, [&](ArrayRef<int64_t> index) {
      Sizes target(index);
      target[axis] += start;
      int64_t to = flatten(sizes, target);
      if (result.isFloat)
        result.real[to] = input.real[from++];
      else
        result.whole[to] = input.whole[from++];
    });
    start += input.sizes[axis];
  }
  e.set(op.getResult(), std::move(result));
  return {};
}

/// Gathers rows in `table` by `indices`.
static Result<Tensor> gatherRows(const Tensor &table, const Tensor &indices) {
  Sizes sizes = indices.sizes;
  sizes.append(table.sizes.begin() + 1, table.sizes.end());
  int64_t width = getNumElements(ArrayRef(table.sizes).drop_front());
  std::vector<int64_t> sources;
  for (int64_t row : indices.whole) {
    if (row < 0 || row >= table.sizes[0])
      return rejected("index " + std::to_string(row) +
                      " is outside a table of " +
                      std::to_string(table.sizes[0]) + " rows");
    for (int64_t i = 0; i < width; ++i)
      sources.push_back(row * width + i);
  }
  return table.pick(sizes, sources);
}

static Result<void> evaluateGather(GatherOp op, Evaluation &e) {
  TRANSOM_ASSIGN(Tensor result, gatherRows(e.tensor(op.getTable()),
                                           e.tensor(op.getIndices())));
  e.set(op.getResult(), std::move(result));
  return {};
}

static Result<void> evaluateEmbedding(EmbeddingOp op, Evaluation &e) {
  TRANSOM_ASSIGN(Tensor result,
                 gatherRows(e.tensor(op.getTable()), e.tensor(op.getIds())));
  for (Number &x : result.real)
    x *= constant(op.getScale().convertToDouble());
  e.set(op.getResult(), std::move(result));
  return {};
}

void attachShapes(MLIRContext *context) {
  attachEvaluator<GetWeightOp, evaluateGetWeight>(context);
  attachEvaluator<ConstantOp, evaluateConstant>(context);
  attachEvaluator<TransposeOp, evaluateTranspose>(context);
  attachEvaluator<ReshapeOp, evaluateReshape>(context);
  attachEvaluator<SliceOp, evaluateSlice>(context);
  attachEvaluator<ConcatOp, evaluateConcat>(context);
  attachEvaluator<GatherOp, evaluateGather>(context);
  attachEvaluator<EmbeddingOp, evaluateEmbedding>(context);
}

} // namespace transom
