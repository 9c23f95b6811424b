// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of random weight expressions against the whole, which is computed
// element by element here.
#include "test/dialects/weights/MemorySource.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

namespace {

/// An expression with its value, computed in the simplest way.
struct Model {
  WeightExpr e;
  Shape shape;
  std::vector<float> data;
};

/// Calls visit(linear index, index) for each element of a shape.
template <typename F> void forEach(const Shape &shape, F visit) {
  int64_t count = *elementCount(shape);
  Shape index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    visit(i, index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

int64_t linear(const Shape &shape, const Shape &index) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    at = at * shape[d] + index[d];
  return at;
}

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}
  MemorySource source;
  Random random;

  Shape randomShape() {
    Shape shape;
    for (int64_t rank = random.between(1, 4); rank > 0; --rank)
      shape.push_back(random.between(1, 7));
    return shape;
  }

  Model file(const Shape &shape) {
    std::string name = "t" + std::to_string(source.tensors.size());
    source.add(name, shape, random);
    return {WeightExpr::file(name), shape, source.tensors[name].data};
  }

  Model make(int depth) {
    if (depth == 0)
      return file(randomShape());
    Model in = make(depth - 1);
    int64_t rank = static_cast<int64_t>(in.shape.size());
    int64_t axis = random.between(0, rank - 1);
    switch (random.between(0, 7)) {
    case 0:
      return transposed(in);
    case 1: {
      int64_t start = random.between(0, in.shape[axis] - 1);
      int64_t size = random.between(1, in.shape[axis] - start);
      Shape shape = in.shape;
      shape[axis] = size;
      return pick(WeightExpr::slice(in.e, axis, start, size), shape, in,
                  [&](Shape &index) {
                    index[axis] += start;
                    return true;
                  });
    }
    case 2: {
      Shape shape = in.shape;
      shape[axis] += random.between(0, 5);
      return pick(WeightExpr::pad(in.e, axis, shape[axis]), shape, in,
                  [&](Shape &index) { return index[axis] < in.shape[axis]; });
    }
    case 3:
      return concatenated(in, axis);
    case 4:
      return reshaped(in);
    case 6:
      return interleaved(in);
    case 5: {
      Model out = in;
      out.e = WeightExpr::scale(in.e, 0.5);
      for (float &x : out.data)
        x *= 0.5f;
      return out;
    }
    default: {
      // The second summand may have fewer dimensions.
      Shape shape(in.shape.begin() + random.between(0, rank), in.shape.end());
      Model other = file(shape), out = in;
      out.e = WeightExpr::add(in.e, other.e);
      for (size_t i = 0; i < out.data.size(); ++i)
        out.data[i] += other.data[i % other.data.size()];
      return out;
    }
    }
  }

private:
  /// A model whose elements are `in`'s at a changed index, or zero.
  template <typename F>
  Model pick(WeightExpr e, const Shape &shape, const Model &in, F change) {
    Model out{std::move(e), shape, {}};
    forEach(shape, [&](int64_t, Shape index) {
      out.data.push_back(change(index) ? in.data[linear(in.shape, index)]
                                       : 0.0f);
    });
    return out;
  }

  Model transposed(const Model &in) {
    size_t rank = in.shape.size();
    Shape permutation, shape;
    for (size_t d = 0; d < rank; ++d)
      permutation.push_back(static_cast<int64_t>(d));
    for (size_t d = rank; d-- > 1;)
      std::swap(permutation[d], permutation[random.between(0, d)]);
    for (int64_t axis : permutation)
      shape.push_back(in.shape[axis]);
    return pick(WeightExpr::transpose(in.e, permutation), shape, in,
                [&](Shape &index) {
                  Shape from(rank);
                  for (size_t d = 0; d < rank; ++d)
                    from[permutation[d]] = index[d];
                  index = from;
                  return true;
                });
  }

  Model concatenated(const Model &in, int64_t axis) {
    Shape otherShape = in.shape, shape = in.shape;
    otherShape[axis] = random.between(1, 4);
    Model other = file(otherShape);
    shape[axis] += otherShape[axis];
    Model out{WeightExpr::concat(axis, {in.e, other.e}), shape, {}};
    forEach(shape, [&](int64_t, Shape index) {
      bool first = index[axis] < in.shape[axis];
      if (!first)
        index[axis] -= in.shape[axis];
      out.data.push_back(first ? in.data[linear(in.shape, index)]
                               : other.data[linear(otherShape, index)]);
    });
    return out;
  }

  Model interleaved(const Model &in) {
    int64_t size = random.between(1, in.shape[0]);
    while (in.shape[0] % size != 0)
      --size;
    std::vector<Model> operands = {in};
    std::vector<WeightExpr> exprs = {in.e};
    for (int64_t n = random.between(0, 2); n > 0; --n) {
      operands.push_back(file(in.shape));
      exprs.push_back(operands.back().e);
    }
    auto count = static_cast<int64_t>(operands.size());
    Shape shape = in.shape;
    shape[0] *= count;
    Model out{WeightExpr::interleave(size, exprs), shape, {}};
    forEach(shape, [&](int64_t, Shape index) {
      int64_t row = index[0], group = row / (size * count);
      const Model &operand = operands[row / size % count];
      index[0] = group * size + row % size;
      out.data.push_back(operand.data[linear(in.shape, index)]);
    });
    return out;
  }

  /// The same elements, grouped into random factors of their count.
  Model reshaped(const Model &in) {
    int64_t rest = *elementCount(in.shape);
    Shape shape;
    while (rest > 1 && shape.size() < 4) {
      int64_t factor = random.between(1, rest);
      while (rest % factor != 0)
        --factor;
      shape.push_back(factor);
      rest /= factor;
    }
    shape.push_back(rest);
    return {WeightExpr::reshape(in.e, shape), shape, in.data};
  }
};

} // namespace

TEST(WeightEvaluate,
     random_expressions_agree_with_their_elements_in_any_block) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Generator generator(seed);
    Model model = generator.make(static_cast<int>(seed % 6));
    std::string text = model.e.str();
    WeightExpr read = expr(text);
    ASSERT_EQ(read.str(), text);
    ASSERT_EQ(*read.shape(generator.source), model.shape) << text;
    ASSERT_EQ(evaluateAll(read, generator.source), model.data) << text;
    // Random blocks, the first one possibly empty.
    for (int i = 0; i < 12; ++i) {
      Shape offsets, sizes;
      for (int64_t dim : model.shape) {
        offsets.push_back(generator.random.between(0, dim - 1));
        sizes.push_back(
            generator.random.between(i == 0 ? 0 : 1, dim - offsets.back()));
      }
      std::vector<float> expected;
      forEach(sizes, [&](int64_t, Shape index) {
        for (size_t d = 0; d < index.size(); ++d)
          index[d] += offsets[d];
        expected.push_back(model.data[linear(model.shape, index)]);
      });
      ASSERT_EQ(evaluate(read, generator.source, offsets, sizes), expected)
          << text << " at " << shapeText(offsets) << " of " << shapeText(sizes);
    }
  }
}

TEST(WeightEvaluate, large_transposes_read_in_tiles) {
  Random random(1);
  MemorySource source;
  source.add("w", {600, 700}, random);
  std::vector<float> out =
      evaluateAll(expr("transpose(file(\"w\"), [1, 0])"), source);
  for (int64_t i = 0; i < 700; ++i)
    for (int64_t j = 0; j < 600; ++j)
      ASSERT_EQ(out[i * 600 + j], source.tensors["w"].data[j * 700 + i]);
  EXPECT_LE(source.largestRead, 1 << 16);
}

TEST(WeightEvaluate, float64_rounds_nothing_but_files) {
  Random random(2);
  MemorySource source;
  source.add("w", {3, 5}, random);
  const std::vector<float> &w = source.tensors["w"].data;
  std::vector<double> scaled(15), summed(15), table(10);
  const std::string text = "scale(file(\"w\"), 0.1)";
  ASSERT_TRUE(expr(text).evaluate(source, {0, 0}, {3, 5}, scaled.data()));
  ASSERT_TRUE(expr("add(" + text + ", file(\"w\"))")
                  .evaluate(source, {0, 0}, {3, 5}, summed.data()));
  for (size_t i = 0; i < w.size(); ++i) {
    EXPECT_EQ(scaled[i], w[i] * 0.1);
    EXPECT_EQ(summed[i], w[i] * 0.1 + w[i]);
  }
  ASSERT_TRUE(
      expr("sinusoid(5, 2, 0)").evaluate(source, {0, 0}, {5, 2}, table.data()));
  EXPECT_EQ(table[2], std::sin(1.0));
}

TEST(WeightEvaluate, fills) {
  MemorySource source;
  EXPECT_EQ(evaluateAll(expr("fill([2, 2], -1.5)"), source),
            (std::vector<float>{-1.5, -1.5, -1.5, -1.5}));
  EXPECT_EQ(evaluateAll(expr("fill([0, 3], 1)"), source).size(), 0u);
}
