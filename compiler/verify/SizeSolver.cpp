// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assigns sizes in ascending order. A size that is a product or sum of smaller
// ones follows from them; any other gets the smallest value that its rules
// allow. If a size has no value, the search backtracks to the last size on
// which the failure depends.
#include "compiler/verify/SizeSolver.h"
#include <algorithm>

namespace transom {

void SizeRelations::addProduct(SizeProduct product) {
  for (std::vector<int64_t> *side : {&product.left, &product.right}) {
    side->erase(std::remove(side->begin(), side->end(), 1), side->end());
    std::sort(side->begin(), side->end());
    for (int64_t size : *side)
      add(size);
  }
  // Sizes on both sides cancel.
  std::vector<int64_t> left, right;
  std::set_difference(product.left.begin(), product.left.end(),
                      product.right.begin(), product.right.end(),
                      std::back_inserter(left));
  std::set_difference(product.right.begin(), product.right.end(),
                      product.left.begin(), product.left.end(),
                      std::back_inserter(right));
  product.left = std::move(left);
  product.right = std::move(right);
  if (!product.left.empty() || !product.right.empty())
    products.push_back(std::move(product));
}

void SizeRelations::addSum(SizeSum sum) {
  add(sum.total);
  for (int64_t term : sum.terms)
    add(term);
  if (sum.terms.size() > 1)
    sums.push_back(std::move(sum));
}

void SizeRelations::addRange(int64_t size, int64_t begin, int64_t end) {
  for (int64_t boundary : {begin, end})
    if (boundary > 0 && boundary < size)
      cuts[size].insert(boundary);
}

void SizeRelations::finish() {
  for (const auto &[size, boundaries] : cuts) {
    SizeSum sum{size, {}};
    int64_t begin = 0;
    for (int64_t boundary : boundaries) {
      sum.terms.push_back(boundary - begin);
      begin = boundary;
    }
    sum.terms.push_back(size - begin);
    addSum(std::move(sum));
  }
}

int64_t SizeMap::getBoundary(int64_t size, int64_t boundary) const {
  auto found = cuts.find(size);
  if (found == cuts.end() || boundary == size)
    return boundary == size ? get(size) : boundary;
  int64_t begin = 0, moved = 0;
  for (int64_t end : found->second) {
    if (end > boundary)
      break;
    moved += get(end - begin);
    begin = end;
  }
  return moved + boundary - begin;
}

int64_t SizeMap::getLimit(int64_t limit) const {
  int64_t largest = 1;
  for (const auto &[size, value] : sizes)
    if (size <= limit)
      largest = std::max(largest, value);
  return largest;
}

bool SizeMap::isIdentity() const { return getChanged().empty(); }

std::vector<std::pair<int64_t, int64_t>> SizeMap::getChanged() const {
  std::vector<std::pair<int64_t, int64_t>> changed;
  for (const auto &[size, value] : sizes)
    if (size != value)
      changed.emplace_back(size, value);
  return changed;
}

namespace {

/// The search for new values.
class SizeSearch {
public:
  SizeSearch(const SizeRelations &relations, const SizeRules &rules)
      : relations(relations), rules(rules),
        order(relations.sizes.begin(), relations.sizes.end()) {}

  std::optional<SizeMap> run();

private:
  /// Sizes that cause a failure; nullopt: success.
  using Conflict = std::optional<std::set<int64_t>>;

  Conflict assign(size_t index);
  Conflict tryValue(size_t index, int64_t value, std::set<int64_t> &conflict);
  bool deriveProduct(const SizeProduct &product, int64_t size,
                     std::optional<int64_t> &value, std::set<int64_t> &from);
  bool deriveSum(const SizeSum &sum, int64_t size,
                 std::optional<int64_t> &value, std::set<int64_t> &from);
  bool derive(int64_t size, std::optional<int64_t> &value,
              std::set<int64_t> &from);
  bool isAllowed(int64_t size, int64_t value) const;
  bool keepsOrder(int64_t size, int64_t value, std::set<int64_t> &conflict);
  std::vector<int64_t> getCandidates(int64_t size) const;
  bool isFixed(int64_t size) const;

  bool isHeads(int64_t size) const { return relations.heads.count(size) != 0; }

  static constexpr int64_t largestFixed = 32, smallestLength = 64;
  static constexpr int64_t maxSteps = 200000;

  const SizeRelations &relations;
  const SizeRules &rules;
  const std::vector<int64_t> order;
  std::map<int64_t, int64_t> values;
  int64_t steps = 0;
};

} // namespace

bool SizeSearch::isFixed(int64_t size) const {
  if (relations.fixed.count(size))
    return true;
  return isHeads(size) ? size <= rules.headPeriod : size <= largestFixed;
}

/// Candidates for an independent size, ascending.
std::vector<int64_t> SizeSearch::getCandidates(int64_t size) const {
  if (isFixed(size))
    return {size};
  const int64_t step = isHeads(size) ? rules.headPeriod : rules.panel;
  std::vector<int64_t> candidates;
  // All small candidates, then with growing stride.
  constexpr size_t dense = 24;
  int64_t stride = step;
  for (int64_t value = size % step; value < size; value += stride) {
    if (candidates.size() >= dense)
      stride *= 2;
    if (isAllowed(size, value))
      candidates.push_back(value);
  }
  candidates.push_back(size);
  return candidates;
}

bool SizeSearch::isAllowed(int64_t size, int64_t value) const {
  if (value == size)
    return true;
  if (isFixed(size) || value < 1 || value > size)
    return false;
  if (isHeads(size)) {
    if (value < rules.headPeriod ||
        value % rules.headPeriod != size % rules.headPeriod)
      return false;
    if (!relations.widths.count(size))
      return true;
  }
  const int64_t smallest = relations.lengths.count(size)
                               ? std::max(rules.smallest, smallestLength)
                               : rules.smallest;
  if (value < std::min(smallest, size) ||
      value % rules.panel != size % rules.panel)
    return false;
  auto groups = relations.groups.find(size);
  if (groups == relations.groups.end())
    return true;
  for (int64_t group : groups->second) {
    const bool keeps = rules.keepsGroupRemainders
                           ? value % group == size % group
                           : (value % group == 0) == (size % group == 0);
    // Several groups stay several.
    if (!keeps || value < std::min(size, 2 * group))
      return false;
  }
  return true;
}

/// The value for `size` if it is the largest in a product.
bool SizeSearch::deriveProduct(const SizeProduct &product, int64_t size,
                               std::optional<int64_t> &value,
                               std::set<int64_t> &from) {
  auto count = [&](const std::vector<int64_t> &side) {
    return std::count(side.begin(), side.end(), size);
  };
  const auto left = count(product.left), right = count(product.right);
  if (left + right == 0)
    return true;
  __int128 own = 1, other = 1;
  auto multiply = [&](const std::vector<int64_t> &side, __int128 &result) {
    for (int64_t factor : side) {
      if (factor > size)
        return false;
      if (factor == size)
        continue;
      result *= values.at(factor);
      from.insert(factor);
    }
    return true;
  };
  const bool isLeft = left > 0;
  own *= isLeft ? product.leftFactor : product.rightFactor;
  other *= isLeft ? product.rightFactor : product.leftFactor;
  if (!multiply(isLeft ? product.left : product.right, own) ||
      !multiply(isLeft ? product.right : product.left, other))
    return true; // a larger size follows from this one
  // One side is a power with this size as its base.
  if (left + right > 1) {
    int64_t root = 1;
    auto power = [&](int64_t base) {
      __int128 result = own;
      for (auto i = left + right; i > 0; --i)
        result *= base;
      return result;
    };
    while (power(root) < other)
      ++root;
    if (power(root) != other || (value && *value != root))
      return false;
    value = root;
    return true;
  }
  if (other % own != 0)
    return false;
  const auto derived = static_cast<int64_t>(other / own);
  if (value && *value != derived)
    return false;
  value = derived;
  return true;
}

bool SizeSearch::deriveSum(const SizeSum &sum, int64_t size,
                           std::optional<int64_t> &value,
                           std::set<int64_t> &from) {
  if (sum.total != size)
    return true;
  int64_t derived = 0;
  for (int64_t term : sum.terms) {
    derived += term == 1 ? 1 : values.at(term);
    from.insert(term);
  }
  if (value && *value != derived)
    return false;
  value = derived;
  return true;
}

/// The value derived from smaller sizes; false if two derivations disagree.
bool SizeSearch::derive(int64_t size, std::optional<int64_t> &value,
                        std::set<int64_t> &from) {
  for (const SizeProduct &product : relations.products) {
    std::set<int64_t> own;
    std::optional<int64_t> before = value;
    const bool agrees = deriveProduct(product, size, value, own);
    if (!agrees || value != before)
      from.insert(own.begin(), own.end());
    if (!agrees)
      return false;
  }
  for (const SizeSum &sum : relations.sums)
    if (!deriveSum(sum, size, value, from))
      return false;
  return true;
}

/// Sizes of one kind keep their order, and no two sizes become equal.
bool SizeSearch::keepsOrder(int64_t size, int64_t value,
                            std::set<int64_t> &conflict) {
  for (const auto &[other, otherValue] : values) {
    const bool isOrdered = rules.keepsOrder && isHeads(other) == isHeads(size);
    if (isOrdered ? otherValue >= value
                  : rules.keepsDifferent && otherValue == value) {
      conflict.insert(other);
      return false;
    }
  }
  return true;
}

SizeSearch::Conflict SizeSearch::tryValue(size_t index, int64_t value,
                                          std::set<int64_t> &conflict) {
  const int64_t size = order[index];
  if (!keepsOrder(size, value, conflict))
    return conflict;
  values[size] = value;
  Conflict later = assign(index + 1);
  if (later)
    values.erase(size);
  return later;
}

SizeSearch::Conflict SizeSearch::assign(size_t index) {
  if (index == order.size())
    return std::nullopt;
  const int64_t size = order[index];
  std::set<int64_t> conflict;
  if (++steps > maxSteps)
    return conflict;

  std::optional<int64_t> derived;
  std::set<int64_t> from;
  if (!derive(size, derived, from))
    return from;
  if (derived) {
    if (!isAllowed(size, *derived))
      return from;
    conflict = from;
    Conflict later = tryValue(index, *derived, conflict);
    if (later && later->erase(size))
      later->insert(from.begin(), from.end());
    return later;
  }

  for (int64_t value : getCandidates(size)) {
    std::set<int64_t> own;
    Conflict later = tryValue(index, value, own);
    if (!later)
      return std::nullopt;
    // Another value for this size would not help.
    if (values.count(size) == 0 && own.empty() && !later->count(size))
      return later;
    conflict.insert(later->begin(), later->end());
  }
  conflict.erase(size);
  return conflict;
}

std::optional<SizeMap> SizeSearch::run() {
  if (assign(0))
    return std::nullopt;
  SizeMap map;
  map.sizes = std::move(values);
  map.cuts = relations.cuts;
  return map;
}

std::optional<SizeMap> solveSizes(const SizeRelations &relations,
                                  const SizeRules &rules) {
  return SizeSearch(relations, rules).run();
}

} // namespace transom
