// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definition of an IR weight: an expression over model file tensors.
// Fusions rewrite expressions, never data; the artifact writer and the
// reference evaluator evaluate them in blocks, so that only one block is in
// memory.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

enum class StoredField;
struct StoredGroups;

/// Provides the file tensors for expressions.
class TensorSource {
public:
  virtual ~TensorSource() = default;
  /// The dimensions of a file tensor; an error with its name if it is missing.
  virtual Result<std::vector<int64_t>> shape(const std::string &name) const = 0;
  /// Reads a block from a file tensor, converted to f32, densely into `out`.
  virtual Result<void> read(const std::string &name,
                            const std::vector<int64_t> &offsets,
                            const std::vector<int64_t> &sizes,
                            float *out) const = 0;
  /// Reads a block from a field of a pre-quantized tensor, see StoredGroups.h.
  /// Missing minimums are zeros.
  virtual Result<void> readStored(const std::string &name, StoredField field,
                                  const std::vector<int64_t> &offsets,
                                  const std::vector<int64_t> &sizes,
                                  float *out) const;
};

/// Column order in a table with sine and cosine positions (Vaswani et al. 2017,
/// 3.5), and the frequencies.
enum class SinusoidOrder {
  InTurn, ///< alternating sine and cosine with frequencies 10000^(-2i / width)
  Halves, ///< all sines, then all cosines
  Fairseq ///< as Halves with n = width / 2 frequencies 10000^(-i / (n - 1)) and
          ///< angles in single precision; an odd width has a zero last column.
          ///< The width is at least 4
};

/// An immutable expression over file tensors. Its text is used in the IR:
///   file("a.weight")                     a file tensor
///   file("a.weight", i8, 32, 4096)       a pre-quantized tensor: i8 rows with
///                                        4096 elements in groups of 32; with
///                                        `, minimums` at the end groups also
///                                        have minimums
///   transpose(E, [1, 0])                 dimensions permuted
///   slice(E, axis, start, size)          a range along one axis
///   concat(axis, E, E, ...)              along one axis
///   scale(E, 0.125)                      times a constant
///   add(E, E)                            equal shapes, or the second has the
///                                        last dimensions of the first and is
///                                        added to each of its blocks
///   pad(E, axis, size)                   zeros at the end, up to size
///   reshape(E, [2, 3])                   same elements, row-major
///   fill([2, 3], 1.0)                    a constant tensor
///   sinusoid(positions, width, order)    the table with sine and cosine
///                                        positions; order = 0, 1 or 2, see
///                                        SinusoidOrder
///   values([2, 2], [1.0, 2.0, ...])      small literal tensor
///   triangle([1, 8, 8], d, a, b)         a constant tensor: a where column -
///                                        row <= d along the last two axes,
///                                        else b
///   angles(limit, factor, [f, ...])      cosines and sines for positions below
///                                        limit for n frequencies: [C + 256,
///                                        2n] with C = ceil(limit / 256). Row
///                                        i < C: cos(256 i f), then sin; row
///                                        C + j: factor cos(j f), factor sin
///   gather(E, [2, 0, 0])                 entries along axis 0, by index
///   interleave(8, E, E, ...)             along axis 0: 8 rows from the first,
///                                        8 from the second, ..., again from
///                                        the first
///   matmul(E, E)                         [m, k] x [k, n]
///   layer_norm(E, gamma, beta, eps)      (x - mean) / sqrt(variance + eps)
///                                        along the last axis, times gamma
///                                        [n], plus beta [n]
/// Matmuls and norms, and their sums and multiples, are computed in float64 and
/// rounded once.
class WeightExpr {
public:
  enum class Kind {
    File,
    Transpose,
    Slice,
    Concat,
    Scale,
    Add,
    Pad,
    Reshape,
    Fill,
    Sinusoid,
    Values,
    Triangle,
    Angles,
    Gather,
    Interleave,
    Matmul,
    LayerNorm
  };

  static WeightExpr file(std::string name);
  static WeightExpr file(std::string name, const StoredGroups &stored);
  static WeightExpr transpose(WeightExpr e, std::vector<int64_t> permutation);
  static WeightExpr slice(WeightExpr e, int64_t axis, int64_t start,
                          int64_t size);
  static WeightExpr concat(int64_t axis, std::vector<WeightExpr> operands);
  static WeightExpr scale(WeightExpr e, double factor);
  static WeightExpr add(WeightExpr a, WeightExpr b);
  static WeightExpr pad(WeightExpr e, int64_t axis, int64_t size);
  static WeightExpr reshape(WeightExpr e, std::vector<int64_t> shape);
  static WeightExpr fill(std::vector<int64_t> shape, double value);
  static WeightExpr sinusoid(int64_t positions, int64_t width,
                             SinusoidOrder order);
  static WeightExpr values(std::vector<int64_t> shape,
                           std::vector<double> data);
  static WeightExpr triangle(std::vector<int64_t> shape, int64_t diagonal,
                             double upTo, double after);
  static WeightExpr angles(int64_t limit, double factor,
                           std::vector<double> frequencies);
  static WeightExpr gather(WeightExpr e, std::vector<int64_t> indices);
  static WeightExpr interleave(int64_t size, std::vector<WeightExpr> operands);
  static WeightExpr matmul(WeightExpr a, WeightExpr b);
  static WeightExpr layerNorm(WeightExpr e, WeightExpr gamma, WeightExpr beta,
                              double eps);

  /// Parses the text form; errors contain the column.
  static Result<WeightExpr> parse(std::string_view text);
  /// The text form; parse(str()) returns an equal expression.
  std::string str() const;

  Kind kind() const;
  /// Dimensions, checked against the files' headers.
  Result<std::vector<int64_t>> shape(const TensorSource &source) const;
  /// Evaluates a block densely (row-major) into `out`, which has room for
  /// `sizes`: float, as in the artifact, or double, where only file elements
  /// are f32.
  template <typename Element>
  Result<void> evaluate(const TensorSource &source,
                        const std::vector<int64_t> &offsets,
                        const std::vector<int64_t> &sizes, Element *out) const;
  /// The file tensors that it reads, each once, in order of appearance.
  std::vector<std::string> files() const;
  /// Replaces file tensors by other expressions; `replace` returns nullopt to
  /// keep a name.
  WeightExpr replaceFiles(
      const std::function<std::optional<WeightExpr>(const std::string &)>
          &replace) const;

  /// The operation, for the library's own sources.
  struct Node;
  const Node &operator*() const { return *node; }
  static WeightExpr ofNode(std::shared_ptr<const Node> node) {
    return WeightExpr(std::move(node));
  }

private:
  explicit WeightExpr(std::shared_ptr<const Node> node)
      : node(std::move(node)) {}
  std::shared_ptr<const Node> node;
};

} // namespace transom
