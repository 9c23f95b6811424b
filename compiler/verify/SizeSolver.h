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

/// `leftFactor` times the product of `left` is `rightFactor` times the product
/// of `right`.
struct SizeProduct {
  std::vector<int64_t> left, right;
  int64_t leftFactor = 1, rightFactor = 1;
};

/// `total` is the sum of `terms`.
struct SizeSum {
  int64_t total = 0;
  std::vector<int64_t> terms;
};

/// The sizes of a model and how they depend on each other.
struct SizeRelations {
  /// All sizes above 1.
  std::set<int64_t> sizes;
  /// Numbers of heads, of queries or of keys and values.
  std::set<int64_t> heads;
  /// Widths of heads and of weights, which are divided into panels.
  std::set<int64_t> widths;
  /// Sizes that keep their value.
  std::set<int64_t> fixed;
  /// Limits of lengths, which stay long enough for the calls of a check.
  std::set<int64_t> lengths;
  /// For sizes that are divided into groups of numbers with one scale: the
  /// group sizes.
  std::map<int64_t, std::set<int64_t>> groups;
  std::vector<SizeProduct> products;
  std::vector<SizeSum> sums;
  /// Ends of the ranges that are cut out of a dimension, by its size.
  std::map<int64_t, std::set<int64_t>> cuts;

  /// What sizes are called: the first name that one gets.
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
  /// A range of a dimension.
  void addRange(int64_t size, int64_t begin, int64_t end);
  /// Turns the cuts into sums of their terms.
  void finish();
};

/// How sizes are chosen.
struct SizeRules {
  /// Sizes keep their remainder modulo this: the width of a weight panel.
  int64_t panel = 32;
  /// The smallest value of a size that is larger.
  int64_t smallest = 32;
  /// A size that is divided into groups keeps its remainder modulo the group
  /// size; else only whether there is one.
  bool keepsGroupRemainders = true;
  /// Numbers of heads keep their remainder modulo this, and are not smaller.
  int64_t headPeriod = 4;
  /// Of two sizes the same one is larger.
  bool keepsOrder = true;
  /// Different sizes stay different.
  bool keepsDifferent = true;
};

/// The smaller sizes.
class SizeMap {
public:
  /// The new value; a size that is not known keeps its value.
  int64_t get(int64_t size) const {
    auto found = sizes.find(size);
    return found == sizes.end() ? size : found->second;
  }
  /// Where a boundary of a range of a dimension of `size` moves to.
  int64_t getBoundary(int64_t size, int64_t boundary) const;
  /// The largest new value of a size up to a limit, which separates the same
  /// sizes as the limit does; where none is that small, a smaller one than all.
  int64_t getLimit(int64_t limit) const;
  /// True if no size is smaller.
  bool isIdentity() const;
  /// Sizes that are smaller, with their new values, ascending.
  std::vector<std::pair<int64_t, int64_t>> getChanged() const;

  std::map<int64_t, int64_t> sizes;
  std::map<int64_t, std::set<int64_t>> cuts;
};

/// The smallest sizes that follow the rules; nothing where none are found.
std::optional<SizeMap> solveSizes(const SizeRelations &relations,
                                  const SizeRules &rules);

} // namespace transom
