// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates weight expressions in blocks. Each node maps the requested block to
// blocks of its operands; transposes read tiles that stay in cache, so that
// writing gigabytes of packed weights runs at copy speed.
#include "dialects/weights/WeightExpr.h"
#include "dialects/weights/WeightProducts.h"
#include "dialects/weights/WeightTables.h"
#include "runtime/base/DType.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace transom {
namespace {

using Kind = WeightExpr::Kind;

/// Floats in a transposed tile: half a typical L2 cache.
constexpr int64_t tileElements = 1 << 16;

int64_t getProduct(const Shape &dims, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t d = begin; d < end; ++d)
    product *= dims[d];
  return product;
}

/// Whether an expression has matmuls or norms.
bool isComputed(const WeightExpr &e) {
  if (e.kind() == Kind::Matmul || e.kind() == Kind::LayerNorm)
    return true;
  return std::any_of((*e).operands.begin(), (*e).operands.end(), isComputed);
}

/// Evaluates in f32 or in float64.
template <typename Element> class Evaluator {
public:
  explicit Evaluator(const TensorSource &source) : source(source) {}

  /// Evaluates a block inside e's shape.
  Result<void> run(const WeightExpr &e, const Block &block, Element *out) {
    if (block.empty())
      return {};
    switch (e.kind()) {
    case Kind::File:
      return read(e, block, out);
    case Kind::Transpose:
      return transpose(e, block, out);
    case Kind::Slice: {
      Block inner = block;
      inner.offsets[(*e).axis] += (*e).start;
      return run((*e).operand(), inner, out);
    }
    case Kind::Concat:
      return concat(e, block, out);
    case Kind::Scale:
    case Kind::Add:
    case Kind::Matmul:
    case Kind::LayerNorm:
      return compute(e, block, out);
    case Kind::Pad:
      return pad(e, block, out);
    case Kind::Reshape:
      return reshape(e, block, out);
    case Kind::Fill:
      std::fill_n(out, block.count(), static_cast<Element>((*e).number));
      return {};
    case Kind::Sinusoid:
      evaluateSinusoid(e, block, out);
      return {};
    case Kind::Values:
      evaluateValues(e, block, out);
      return {};
    case Kind::Triangle:
      evaluateTriangle(e, block, out);
      return {};
    case Kind::Angles: {
      TRANSOM_ASSIGN(Shape shape, e.shape(source));
      evaluateAngles(e, shape, block, out);
      return {};
    }
    case Kind::Gather:
      return gather(e, block, out);
    case Kind::Interleave:
      return interleave(e, block, out);
    }
    return internalError("unknown kind of weight expression");
  }

private:
  Result<void> read(const WeightExpr &e, const Block &block, Element *out) {
    if constexpr (std::is_same_v<Element, float>)
      return source.read((*e).name, block.offsets, block.sizes, out);
    std::vector<float> stored(static_cast<size_t>(block.count()));
    TRANSOM_TRY(
        source.read((*e).name, block.offsets, block.sizes, stored.data()));
    std::copy(stored.begin(), stored.end(), out);
    return {};
  }

  /// Evaluates the intersection of `operand` (which is at [at, at + size) along
  /// the axis) with the block, into the block's dense output.
  Result<void> runOperand(const WeightExpr &operand, int64_t axis, int64_t at,
                          int64_t size, const Block &block, Element *out) {
    int64_t begin = std::max(block.offsets[axis], at);
    int64_t end = std::min(block.offsets[axis] + block.sizes[axis], at + size);
    if (begin >= end)
      return {};
    Block inner = block;
    inner.offsets[axis] = begin - at;
    inner.sizes[axis] = end - begin;
    int64_t outer = getProduct(block.sizes, 0, axis);
    int64_t row = getProduct(block.sizes, axis + 1, block.sizes.size());
    Element *target = out + (begin - block.offsets[axis]) * row;
    if (outer == 1 || inner.sizes[axis] == block.sizes[axis])
      return run(operand, inner, target);
    std::vector<Element> dense(static_cast<size_t>(inner.count()));
    if (Result<void> done = run(operand, inner, dense.data()); !done)
      return done;
    int64_t length = (end - begin) * row, stride = block.sizes[axis] * row;
    for (int64_t i = 0; i < outer; ++i)
      std::memcpy(target + i * stride, dense.data() + i * length,
                  static_cast<size_t>(length) * sizeof(Element));
    return {};
  }

  Result<void> concat(const WeightExpr &e, const Block &block, Element *out) {
    int64_t at = 0, axis = (*e).axis;
    for (const WeightExpr &operand : (*e).operands) {
      TRANSOM_ASSIGN(Shape shape, operand.shape(source));
      int64_t size = shape[axis];
      if (Result<void> done = runOperand(operand, axis, at, size, block, out);
          !done)
        return done;
      at += size;
    }
    return {};
  }

  Result<void> gather(const WeightExpr &e, const Block &block, Element *out) {
    int64_t row = getProduct(block.sizes, 1, block.sizes.size());
    Block inner = block;
    inner.sizes[0] = 1;
    for (int64_t i = 0; i < block.sizes[0]; ++i) {
      inner.offsets[0] = (*e).dims[block.offsets[0] + i];
      TRANSOM_TRY(run((*e).operands[0], inner, out + i * row));
    }
    return {};
  }

  /// Reads each operand's rows at once, since they are contiguous, and then
  /// distributes them.
  Result<void> interleave(const WeightExpr &e, const Block &block,
                          Element *out) {
    int64_t size = (*e).size;
    int64_t operands = static_cast<int64_t>((*e).operands.size());
    int64_t row = getProduct(block.sizes, 1, block.sizes.size());
    int64_t begin = block.offsets[0], end = begin + block.sizes[0];
    int64_t firstRow = begin / (size * operands) * size;
    int64_t lastRow = ((end - 1) / (size * operands) + 1) * size;
    Block inner = block;
    inner.offsets[0] = firstRow;
    inner.sizes[0] = lastRow - firstRow;
    std::vector<Element> dense(static_cast<size_t>(inner.count()));
    for (int64_t operand = 0; operand < operands; ++operand) {
      if (Result<void> done = run((*e).operand(operand), inner, dense.data());
          !done)
        return done;
      for (int64_t r = begin; r < end; ++r) {
        if (r / size % operands != operand)
          continue;
        int64_t from = r / (size * operands) * size + r % size - firstRow;
        std::copy_n(dense.data() + from * row, row, out + (r - begin) * row);
      }
    }
    return {};
  }

  Result<void> pad(const WeightExpr &e, const Block &block, Element *out) {
    int64_t axis = (*e).axis;
    TRANSOM_ASSIGN(Shape shape, (*e).operand().shape(source));
    int64_t size = shape[axis];
    if (block.offsets[axis] + block.sizes[axis] > size)
      std::fill_n(out, block.count(), Element(0));
    return runOperand((*e).operand(), axis, 0, size, block, out);
  }

  /// Operations that change elements. In f32, expressions with matmuls or norms
  /// are computed in float64 and rounded.
  Result<void> compute(const WeightExpr &e, const Block &block, Element *out) {
    if constexpr (std::is_same_v<Element, float>) {
      if (!isComputed(e))
        return e.kind() == Kind::Scale ? scale(e, block, out)
                                       : add(e, block, out);
      std::vector<double> exact(static_cast<size_t>(block.count()));
      TRANSOM_TRY(Evaluator<double>(source).run(e, block, exact.data()));
      std::transform(exact.begin(), exact.end(), out,
                     [](double x) { return static_cast<float>(x); });
      return {};
    } else {
      if (e.kind() == Kind::Scale)
        return scale(e, block, out);
      if (e.kind() == Kind::Add)
        return add(e, block, out);
      TRANSOM_ASSIGN(Shape first, (*e).operand().shape(source));
      auto read = [&](size_t operand, const Block &of, double *to) {
        return run((*e).operand(operand), of, to);
      };
      if (e.kind() == Kind::Matmul)
        return evaluateMatmul(first[1], block, read, out);
      if ((*e).rowNorms)
        return evaluateWithNorms({first[0], first[1], &source}, *(*e).rowNorms,
                                 block, read, out);
      return evaluateLayerNorm({first.back(), (*e).number}, block, read, out);
    }
  }

  Result<void> scale(const WeightExpr &e, const Block &block, Element *out) {
    if (Result<void> done = run((*e).operand(), block, out); !done)
      return done;
    double factor = (*e).number;
    for (int64_t i = 0, n = block.count(); i < n; ++i)
      out[i] = static_cast<Element>(out[i] * factor);
    return {};
  }

  /// The second summand may have fewer leading dimensions.
  Result<void> add(const WeightExpr &e, const Block &block, Element *out) {
    TRANSOM_TRY(run((*e).operand(0), block, out));
    TRANSOM_ASSIGN(Shape shape, (*e).operand(1).shape(source));
    Block inner = block;
    const auto leading =
        static_cast<Shape::difference_type>(block.sizes.size() - shape.size());
    for (Shape *dims : {&inner.offsets, &inner.sizes})
      dims->erase(dims->begin(), dims->begin() + leading);
    std::vector<Element> second(static_cast<size_t>(inner.count()));
    TRANSOM_TRY(run((*e).operand(1), inner, second.data()));
    for (int64_t i = 0, n = block.count(); i < n; ++i)
      out[i] += second[static_cast<size_t>(i) % second.size()];
    return {};
  }

  Result<void> transpose(const WeightExpr &e, const Block &block,
                         Element *out) {
    const Shape &permutation = (*e).dims;
    size_t rank = permutation.size();
    Shape strides(rank, 1); // for the dense output
    for (size_t d = rank; d-- > 1;)
      strides[d - 1] = strides[d] * block.sizes[d];
    // Halve the tile's longest dimension until it fits.
    Shape tile = block.sizes;
    while (getProduct(tile, 0, rank) > tileElements) {
      auto longest = std::max_element(tile.begin(), tile.end());
      *longest = (*longest + 1) / 2;
    }
    std::vector<Element> dense(static_cast<size_t>(getProduct(tile, 0, rank)));
    Shape at(rank, 0);
    while (true) {
      Shape sizes(rank);
      int64_t start = 0;
      for (size_t d = 0; d < rank; ++d) {
        sizes[d] = std::min(tile[d], block.sizes[d] - at[d]);
        start += at[d] * strides[d];
      }
      // Read the tile from the operand and scatter it.
      Block inner{Shape(rank), Shape(rank)};
      Shape innerStrides(rank); // output strides, by operand dimension
      for (size_t d = 0; d < rank; ++d) {
        inner.offsets[permutation[d]] = block.offsets[d] + at[d];
        inner.sizes[permutation[d]] = sizes[d];
        innerStrides[permutation[d]] = strides[d];
      }
      if (Result<void> done = run((*e).operand(), inner, dense.data()); !done)
        return done;
      scatter(dense.data(), inner.sizes, innerStrides, out + start);
      // Advance to the next tile.
      size_t d = rank;
      while (d > 0 && (at[d - 1] += tile[d - 1]) >= block.sizes[d - 1])
        at[--d] = 0;
      if (d == 0)
        return {};
    }
  }

  /// Stores a dense tile with the given strides. The output's contiguous
  /// dimension is the inner loop: stores are then contiguous and loads stay in
  /// cache.
  static void scatter(const Element *in, const Shape &sizes,
                      const Shape &strides, Element *out) {
    size_t rank = sizes.size();
    if (rank == 0) {
      *out = *in;
      return;
    }
    Shape inStrides(rank, 1);
    for (size_t d = rank; d-- > 1;)
      inStrides[d - 1] = inStrides[d] * sizes[d];
    // Choose the inner loop's dimension.
    size_t inside = 0;
    for (size_t d = 1; d < rank; ++d)
      if (std::make_pair(strides[d], -sizes[d]) <
          std::make_pair(strides[inside], -sizes[inside]))
        inside = d;
    // Iterate over all other dimensions.
    Shape index(rank, 0);
    int64_t from = 0, to = 0, count = sizes[inside], step = inStrides[inside],
            stride = strides[inside];
    while (true) {
      for (int64_t i = 0; i < count; ++i)
        out[to + i * stride] = in[from + i * step];
      size_t d = rank;
      for (; d > 0; --d) {
        size_t dim = d - 1;
        if (dim == inside)
          continue;
        from += inStrides[dim];
        to += strides[dim];
        if (++index[dim] < sizes[dim])
          break;
        from -= sizes[dim] * inStrides[dim];
        to -= sizes[dim] * strides[dim];
        index[dim] = 0;
      }
      if (d == 0)
        return;
    }
  }

  Result<void> reshape(const WeightExpr &e, const Block &block, Element *out);
  Result<void> reshapeSplit(const WeightExpr &e, const Block &block,
                            Element *out);

  const TensorSource &source;
};

// Reshape: the dimensions on both sides form groups with equal products. If in
// each group the block is also a rectangle of the operand, one operand block is
// the result; otherwise the block is split.

/// Dimension ranges on both sides with the same elements.
struct Group {
  size_t newBegin, newEnd, oldBegin, oldEnd;
};

std::vector<Group> getGroups(const Shape &newShape, const Shape &oldShape) {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < newShape.size() || j < oldShape.size()) {
    Group group{i, i, j, j};
    int64_t left = 1, right = 1;
    do {
      bool takeNew =
          i < newShape.size() && (left <= right || j == oldShape.size());
      if (takeNew)
        left *= newShape[i++];
      else
        right *= oldShape[j++];
    } while (left != right || (i == group.newBegin && i < newShape.size()) ||
             (j == group.oldBegin && j < oldShape.size()));
    group.newEnd = i;
    group.oldEnd = j;
    groups.push_back(group);
  }
  return groups;
}

/// Returns the operand's rectangle for elements [start, start + length) in a
/// group, or for their longest beginning that one rectangle holds; the return
/// value is its length.
int64_t getRectangle(const Shape &oldShape, const Group &group, int64_t start,
                     int64_t length, Block &block) {
  int64_t inner = getProduct(oldShape, group.oldBegin, group.oldEnd);
  for (size_t d = group.oldBegin; d < group.oldEnd; ++d) {
    inner /= oldShape[d];
    int64_t index = start / inner;
    start -= index * inner;
    block.offsets[d] = index;
    block.sizes[d] = 1;
    if (start != 0 || length < inner)
      continue;
    // Whole steps in this dimension: further dimensions are taken completely.
    int64_t steps = std::min(length / inner, oldShape[d] - index);
    block.sizes[d] = steps;
    for (size_t k = d + 1; k < group.oldEnd; ++k) {
      block.offsets[k] = 0;
      block.sizes[k] = oldShape[k];
    }
    return steps * inner;
  }
  return 1; // a group without operand dimensions has one element
}

/// Gets the elements that a block takes from a group as one range; false if
/// they are not contiguous.
bool getRange(const Shape &newShape, const Group &group, const Block &block,
              int64_t &start, int64_t &length) {
  start = 0;
  length = 1;
  bool mustBeFull = false;
  for (size_t d = group.newBegin; d < group.newEnd; ++d) {
    if (mustBeFull && block.sizes[d] != newShape[d])
      return false;
    mustBeFull = mustBeFull || block.sizes[d] != 1;
    start = start * newShape[d] + block.offsets[d];
    length *= block.sizes[d];
  }
  return true;
}

template <typename Element>
Result<void> Evaluator<Element>::reshape(const WeightExpr &e,
                                         const Block &block, Element *out) {
  const WeightExpr &operand = (*e).operand();
  TRANSOM_ASSIGN(Shape oldShape, operand.shape(source));
  const Shape &newShape = (*e).dims;
  Block inner{Shape(oldShape.size(), 0), Shape(oldShape.size(), 1)};
  for (const Group &group : getGroups(newShape, oldShape)) {
    int64_t start, length;
    if (getRange(newShape, group, block, start, length) &&
        getRectangle(oldShape, group, start, length, inner) == length)
      continue;
    return reshapeSplit(e, block, out);
  }
  return run(operand, inner, out);
}

/// Halves the block along its first dimension that has more than one element,
/// which keeps both halves contiguous in the output.
template <typename Element>
Result<void> Evaluator<Element>::reshapeSplit(const WeightExpr &e,
                                              const Block &block,
                                              Element *out) {
  size_t d = 0;
  while (d + 1 < block.sizes.size() && block.sizes[d] == 1)
    ++d;
  int64_t row = getProduct(block.sizes, d + 1, block.sizes.size());
  Block first = block, second = block;
  first.sizes[d] = block.sizes[d] / 2;
  second.sizes[d] -= first.sizes[d];
  second.offsets[d] += first.sizes[d];
  if (Result<void> done = reshape(e, first, out); !done)
    return done;
  return reshape(e, second, out + first.sizes[d] * row);
}

} // namespace

template <typename Element>
Result<void> WeightExpr::evaluate(const TensorSource &source,
                                  const Shape &offsets, const Shape &sizes,
                                  Element *out) const {
  TRANSOM_ASSIGN(Shape whole, shape(source));
  bool inside = offsets.size() == whole.size() && sizes.size() == whole.size();
  for (size_t d = 0; inside && d < sizes.size(); ++d)
    inside = offsets[d] >= 0 && sizes[d] >= 0 && offsets[d] <= whole[d] &&
             sizes[d] <= whole[d] - offsets[d];
  if (!inside)
    return internalError(
        "block at " + shapeText(offsets) + " of " + shapeText(sizes) +
        " is outside of a weight of shape " + shapeText(whole));
  return Evaluator<Element>(source).run(*this, {offsets, sizes}, out);
}

template Result<void> WeightExpr::evaluate(const TensorSource &, const Shape &,
                                           const Shape &, float *) const;
template Result<void> WeightExpr::evaluate(const TensorSource &, const Shape &,
                                           const Shape &, double *) const;

} // namespace transom
