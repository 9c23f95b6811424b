// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates an operation tree from its leaves, on leading element boxes.
#include "passes/graph/ConstantElements.h"
#include "dialects/weights/WeightNode.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace transom::attn;

namespace transom {

namespace {

/// Deeper trees are not evaluated.
constexpr int maxDepth = 31;
/// The maximum box size.
constexpr int64_t maxElements = int64_t(1) << 20;
/// Triangle rows and columns in the box, and the maximum diagonal and slice
/// start that keep the diagonal inside it.
constexpr int64_t triangleBox = 512, maxShift = 128;

using Elements = std::optional<ConstantElements>;

/// Maps a box index to an element index in an operand that broadcasts to it.
class BroadcastIndex {
public:
  BroadcastIndex(ArrayRef<int64_t> from, size_t rank) : strides(rank, 0) {
    int64_t stride = 1;
    for (size_t axis = from.size(); axis-- > 0;) {
      strides[rank - from.size() + axis] = from[axis] == 1 ? 0 : stride;
      stride *= from[axis];
    }
  }
  int64_t operator()(ArrayRef<int64_t> index) const {
    int64_t at = 0;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      at += i * stride;
    return at;
  }

private:
  SmallVector<int64_t> strides;
};

} // namespace

static Elements makeBox(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (size <= 0 || (count *= size) > maxElements)
      return std::nullopt;
  ConstantElements box;
  box.sizes.assign(sizes.begin(), sizes.end());
  box.numbers.resize(static_cast<size_t>(count));
  return box;
}

/// Calls `visit` for each index of a box, in row-major order.
static void forEachIndex(ArrayRef<int64_t> sizes,
                         llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(sizes.size(), 0);
  for (size_t axis = sizes.size() + 1; axis > 0;) {
    visit(index);
    for (axis = sizes.size(); axis > 0; --axis) {
      if (++index[axis - 1] < sizes[axis - 1])
        break;
      index[axis - 1] = 0;
    }
  }
}

static Elements readConstant(ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return std::nullopt;
  Elements box = makeBox(elements.getType().getShape());
  if (!box)
    return std::nullopt;
  box->isListed = !elements.isSplat();
  const bool isBool = elements.getElementType().isInteger(1);
  if (isa<FloatType>(elements.getElementType()))
    for (auto [to, from] :
         llvm::zip_equal(box->numbers, elements.getValues<APFloat>()))
      to = from.convertToDouble();
  else
    for (auto [to, from] :
         llvm::zip_equal(box->numbers, elements.getValues<APInt>()))
      to = double(isBool ? int64_t(!from.isZero()) : from.getSExtValue());
  return box;
}

/// The leading rows and columns of a `triangle` weight.
static Elements readTriangle(GetWeightOp op) {
  auto weight =
      SymbolTable::lookupNearestSymbolFrom<WeightOp>(op, op.getWeightAttr());
  if (!weight ||
      weight.getExpr().getExpr().kind() != WeightExpr::Kind::Triangle)
    return std::nullopt;
  const WeightExpr expr = weight.getExpr().getExpr();
  const WeightExpr::Node &node = *expr;
  if (std::abs(node.start) > maxShift)
    return std::nullopt;
  SmallVector<int64_t> sizes{ArrayRef<int64_t>(node.dims)};
  for (int64_t &size : MutableArrayRef<int64_t>(sizes).take_back(2))
    size = std::min(size, triangleBox);
  Elements box = makeBox(sizes);
  if (!box)
    return std::nullopt;
  box->isCut = ArrayRef<int64_t>(sizes) != ArrayRef<int64_t>(node.dims);
  double *to = box->numbers.data();
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    *to++ = node.data[index.back() - index[index.size() - 2] > node.start];
  });
  return box;
}

/// Applies a scalar function to operands that broadcast.
static Elements
applyEach(ArrayRef<ConstantElements> operands,
          llvm::function_ref<double(ArrayRef<double>)> function) {
  // The box contains the elements that exist in all operands.
  size_t rank = 0;
  for (const ConstantElements &operand : operands)
    rank = std::max(rank, operand.sizes.size());
  SmallVector<int64_t> sizes(rank, 1);
  for (const ConstantElements &operand : operands)
    for (auto [axis, size] : llvm::enumerate(operand.sizes)) {
      int64_t &to = sizes[rank - operand.sizes.size() + axis];
      to = to == 1 ? size : size == 1 ? to : std::min(to, size);
    }
  Elements box = makeBox(sizes);
  if (!box)
    return std::nullopt;

  // Evaluate the function at each index.
  SmallVector<BroadcastIndex> places;
  for (const ConstantElements &operand : operands) {
    places.emplace_back(operand.sizes, rank);
    box->isCut |= operand.isCut;
    box->isListed |= operand.isListed;
  }
  SmallVector<double> scalars(operands.size());
  double *to = box->numbers.data();
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    for (auto [scalar, operand, place] :
         llvm::zip_equal(scalars, operands, places))
      scalar = operand.numbers[place(index)];
    *to++ = function(scalars);
  });
  return box;
}

/// The scalar function for an elementwise operation; null if it is not
/// evaluated.
static std::function<double(ArrayRef<double>)> getFunction(Operation *op) {
  using X = ArrayRef<double>;
  using Function = std::function<double(X)>;
  // Booleans are 0 and 1; a cast to an integer truncates.
  return TypeSwitch<Operation *, Function>(op)
      .Case([](AddOp) { return [](X x) { return x[0] + x[1]; }; })
      .Case([](SubOp) { return [](X x) { return x[0] - x[1]; }; })
      .Case([](MulOp) { return [](X x) { return x[0] * x[1]; }; })
      .Case([](DivOp) { return [](X x) { return x[0] / x[1]; }; })
      .Case([](AndOp) { return [](X x) { return double(x[0] && x[1]); }; })
      .Case([](OrOp) { return [](X x) { return double(x[0] || x[1]); }; })
      .Case([](NotOp) { return [](X x) { return double(!x[0]); }; })
      .Case([](WhereOp) { return [](X x) { return x[0] ? x[1] : x[2]; }; })
      .Case([](ScaleOp scale) {
        const double factor = scale.getFactor().convertToDouble(),
                     offset = scale.getOffset().convertToDouble();
        return [=](X x) { return x[0] * factor + offset; };
      })
      .Case([](MaskOp mask) {
        const double value = mask.getValue().convertToDouble();
        return [=](X x) { return x[1] ? x[0] : value; };
      })
      .Case([](CastOp cast) -> Function {
        if (cast.getTo().isInteger(1))
          return [](X x) { return double(x[0] != 0); };
        if (isa<FloatType>(cast.getTo()))
          return [](X x) { return x[0]; };
        return [](X x) { return std::trunc(x[0]); };
      })
      .Default([](Operation *) { return nullptr; });
}

namespace {

/// Evaluates each value once.
class ElementsEvaluator {
public:
  Elements run(Value value, int depth = 0);

private:
  Elements runElementwise(Operation *op, int depth);
  Elements runSlice(SliceOp op, int depth);
  Elements runTranspose(TransposeOp op, int depth);
  Elements runReshape(ReshapeOp op, int depth);

  llvm::DenseMap<Value, Elements> known;
};

} // namespace

Elements ElementsEvaluator::runElementwise(Operation *op, int depth) {
  auto function = getFunction(op);
  if (!function || (isa<DivOp>(op) &&
                    !isa<FloatType>(getElementTypeOrSelf(op->getResult(0)))))
    return std::nullopt;
  SmallVector<ConstantElements> operands;
  for (Value operand : op->getOperands()) {
    Elements elements = run(operand, depth);
    if (!elements)
      return std::nullopt;
    operands.push_back(std::move(*elements));
  }
  return applyEach(operands, function);
}

/// Builds a box from input elements; `map` sets the input index for a result
/// index.
static Elements pick(
    const ConstantElements &input, ArrayRef<int64_t> sizes,
    llvm::function_ref<void(ArrayRef<int64_t>, MutableArrayRef<int64_t>)> map) {
  Elements box = makeBox(sizes);
  if (!box)
    return std::nullopt;
  box->isCut = input.isCut;
  box->isListed = input.isListed;
  SmallVector<int64_t> from(input.sizes.size());
  double *to = box->numbers.data();
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    map(index, from);
    int64_t at = 0;
    for (auto [i, size] : llvm::zip_equal(from, input.sizes))
      at = at * size + i;
    *to++ = input.numbers[at];
  });
  return box;
}

Elements ElementsEvaluator::runSlice(SliceOp op, int depth) {
  Elements input = run(op.getInput(), depth);
  const auto start = static_cast<int64_t>(op.getStart());
  if (!input || start > maxShift)
    return std::nullopt;
  SmallVector<int64_t> sizes = input->sizes;
  int64_t &size = sizes[op.getAxis()];
  // Repeated slices may move the diagonal out of the box.
  if (start > 0 && input->isCut && size - start < triangleBox - maxShift)
    return std::nullopt;
  size -= start;
  if (auto fixed = op.getSize().getPolynomial().constant())
    size = std::min(size, *fixed);
  return pick(*input, sizes,
              [&](ArrayRef<int64_t> index, MutableArrayRef<int64_t> from) {
                llvm::copy(index, from.begin());
                from[op.getAxis()] += start;
              });
}

Elements ElementsEvaluator::runTranspose(TransposeOp op, int depth) {
  Elements input = run(op.getInput(), depth);
  if (!input)
    return std::nullopt;
  SmallVector<int64_t> sizes;
  for (int64_t axis : op.getPermutation())
    sizes.push_back(input->sizes[axis]);
  return pick(*input, sizes,
              [&](ArrayRef<int64_t> index, MutableArrayRef<int64_t> from) {
                for (auto [i, axis] :
                     llvm::zip_equal(index, op.getPermutation()))
                  from[axis] = i;
              });
}

/// Reshapes a complete tensor, or adds or drops sizes of 1.
Elements ElementsEvaluator::runReshape(ReshapeOp op, int depth) {
  Elements input = run(op.getInput(), depth);
  if (!input)
    return std::nullopt;
  // Determine the sizes: free for a complete tensor, otherwise matched by axis.
  const Dims from = getDims(op.getInput()), to = getDims(op.getResult());
  const Polynomial one(1);
  SmallVector<int64_t> sizes;
  bool isWhole = true;
  for (auto [dim, size] : llvm::zip_equal(from, input->sizes))
    isWhole &= dim == Polynomial(size);
  if (isWhole) {
    for (const Polynomial &dim : to)
      sizes.push_back(dim.constant().value_or(0));
  } else {
    size_t axis = 0;
    for (const Polynomial &dim : to) {
      while (dim != one && axis < from.size() && from[axis] == one)
        ++axis;
      if (dim != one && (axis == from.size() || from[axis] != dim))
        return std::nullopt;
      sizes.push_back(dim == one ? 1 : input->sizes[axis++]);
    }
  }
  // The element count must not change.
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  if (count != static_cast<int64_t>(input->numbers.size()))
    return std::nullopt;
  input->sizes = std::move(sizes);
  return input;
}

Elements ElementsEvaluator::run(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxDepth)
    return std::nullopt;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  ++depth;
  Elements elements =
      TypeSwitch<Operation *, Elements>(op)
          .Case([](ConstantOp constant) { return readConstant(constant); })
          .Case([](GetWeightOp weight) { return readTriangle(weight); })
          .Case([&](SliceOp slice) { return runSlice(slice, depth); })
          .Case([&](TransposeOp turn) { return runTranspose(turn, depth); })
          .Case([&](ReshapeOp reshape) { return runReshape(reshape, depth); })
          .Default(
              [&](Operation *other) { return runElementwise(other, depth); });
  known[value] = elements;
  return elements;
}

std::optional<ConstantElements> getConstantElements(Value value) {
  Elements elements = ElementsEvaluator().run(value);
  // Elements beyond the box are predictable only for triangles.
  return elements && elements->isCut && elements->isListed ? std::nullopt
                                                           : elements;
}

} // namespace transom
