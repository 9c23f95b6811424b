// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Smaller sizes for a model: a map from each size to a smaller one that keeps
// all products, sums and ratios between sizes, their order, and their
// remainders.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace transom {

/// leftFactor * product(left) = rightFactor * product(right).
struct SizeProduct {
  std::vector<int64_t> left, right;
  int64_t leftFactor = 1, rightFactor = 1;
};

/// `total` is the sum over `terms`.
struct SizeSum {
  int64_t total = 0;
  std::vector<int64_t> terms;
};

/// Model sizes and the relations between them.
struct SizeRelations {
  /// All sizes above 1.
  std::set<int64_t> sizes;
  /// Head counts, for queries or for keys and values.
  std::set<int64_t> heads;
  /// Head widths and weight widths, which are divided into panels.
  std::set<int64_t> widths;
  /// Sizes that do not change.
  std::set<int64_t> fixed;
  /// Length limits, which stay large enough for the calls in a check.
  std::set<int64_t> lengths;
  /// Quantization group sizes, by the size that is divided into groups.
  std::map<int64_t, std::set<int64_t>> groups;
  std::vector<SizeProduct> products;
  std::vector<SizeSum> sums;
  /// Boundaries between slices in a dimension, by its size.
  std::map<int64_t, std::set<int64_t>> cuts;

  /// Size names; the first one counts.
  std::map<int64_t, std::string> names;

  void add(int64_t size) {
    if (size > 1)
      sizes.insert(size);
  }
  void addNamed(int64_t size, std::string name) {
    add(size);
    names.emplace(size, std::move(name));
  }
  void addProduct(SizeProduct product);
  void addSum(SizeSum sum);
  /// A slice in a dimension.
  void addRange(int64_t size, int64_t begin, int64_t end);
  /// Turns the cuts into sums over slice widths.
  void finish();
};

/// Rules for new sizes.
struct SizeRules {
  /// Sizes keep their remainder modulo the weight panel width.
  int64_t panel = 32;
  /// Minimum new value for a larger size.
  int64_t smallest = 32;
  /// A size that is divided into groups keeps its remainder modulo the group
  /// size; otherwise only whether the remainder is zero.
  bool keepsGroupRemainders = true;
  /// Head counts keep their remainder modulo this value, and are not smaller.
  int64_t headPeriod = 4;
  /// The order between sizes does not change.
  bool keepsOrder = true;
  /// Different sizes stay different.
  bool keepsDifferent = true;
};

/// Smaller sizes.
class SizeMap {
public:
  /// The new value; an unknown size keeps its value.
  int64_t get(int64_t size) const {
    auto found = sizes.find(size);
    return found == sizes.end() ? size : found->second;
  }
  /// Maps a slice boundary in a dimension with the given size.
  int64_t getBoundary(int64_t size, int64_t boundary) const;
  /// The largest new value for a size up to the limit, so it separates the same
  /// sizes as the limit; 1 if all sizes are larger.
  int64_t getLimit(int64_t limit) const;
  /// True if no size changes.
  bool isIdentity() const;
  /// Changed sizes with their new values, ascending.
  std::vector<std::pair<int64_t, int64_t>> getChanged() const;

  std::map<int64_t, int64_t> sizes;
  std::map<int64_t, std::set<int64_t>> cuts;
};

/// The smallest sizes that satisfy the rules; nullopt if the rules have no
/// solution.
std::optional<SizeMap> solveSizes(const SizeRelations &relations,
                                  const SizeRules &rules);

} // namespace transom
