// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy placement by size in regions that are compared coefficient by
// coefficient.
#include "passes/kernel/MemoryPlanner.h"
#include "runtime/abi/Layout.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

using namespace transom;

/// Rounds each coefficient up, so that every value is a multiple of 64.
static Polynomial roundCoefficients(const Polynomial &bytes) {
  Polynomial sum;
  for (const auto &[monomial, coefficient] : bytes.terms()) {
    Polynomial term(alignToBuffer(coefficient));
    for (const std::string &symbol : monomial)
      term = term * Polynomial::symbol(symbol);
    sum = sum + term;
  }
  return sum;
}

static double nominalSize(const Polynomial &bytes, int64_t nominal) {
  double sum = 0;
  for (const auto &[monomial, coefficient] : bytes.terms()) {
    double term = double(coefficient);
    for (size_t i = 0; i < monomial.size(); ++i)
      term *= double(nominal);
    sum += term;
  }
  return sum;
}

/// Maximum rounding cost per buffer, in bytes.
static constexpr double maxRounding = 1024 * 1024;

namespace {

/// Polynomials by id, with cached results of pairwise operations: a plan has
/// many buffers but few sizes.
class PolynomialTable {
public:
  using Id = uint32_t;

  Id add(const Polynomial &polynomial) {
    auto [known, isNew] = ids.try_emplace(polynomial, Id(polynomials.size()));
    if (isNew)
      polynomials.push_back(polynomial);
    return known->second;
  }
  const Polynomial &operator[](Id id) const { return polynomials[id]; }

  Id sum(Id a, Id b) {
    auto [known, isNew] = sums.try_emplace(pair(a, b), 0);
    if (isNew)
      known->second = add(polynomials[a] + polynomials[b]);
    return known->second;
  }
  /// Whether each coefficient in `a` is at least the one in `b`.
  bool covers(Id a, Id b) {
    if (a == b)
      return true;
    auto [known, isNew] = covered.try_emplace(pair(a, b), false);
    if (isNew)
      known->second = polynomials[a].coversCoefficients(polynomials[b]);
    return known->second;
  }

private:
  static uint64_t pair(Id a, Id b) { return uint64_t(a) << 32 | b; }

  std::map<Polynomial, Id> ids;
  std::vector<Polynomial> polynomials;
  std::unordered_map<uint64_t, Id> sums;
  std::unordered_map<uint64_t, bool> covered;
};

/// Step intervals in the order in which they were added. Finds the ones that
/// share a step with another interval: they begin within it or contain its
/// first step.
class Intervals {
public:
  void add(int64_t first, int64_t last, uint32_t value) {
    begins.emplace(first, value);
    // Split into aligned chunks whose lengths are powers of two.
    for (int64_t at = first; at <= last;) {
      int level = 0;
      while (at % (int64_t(2) << level) == 0 &&
             at + (int64_t(2) << level) - 1 <= last)
        ++level;
      chunks[key(level, at >> level)].push_back(value);
      at += int64_t(1) << level;
      levels |= uint64_t(1) << level;
    }
  }

  /// Returns values in the order in which they were added.
  void find(int64_t first, int64_t last, std::vector<uint32_t> &found) const {
    found.clear();
    for (uint64_t rest = levels; rest != 0; rest &= rest - 1) {
      const int level = __builtin_ctzll(rest);
      if (auto chunk = chunks.find(key(level, first >> level));
          chunk != chunks.end())
        found.insert(found.end(), chunk->second.begin(), chunk->second.end());
    }
    for (auto begin = begins.upper_bound(first);
         begin != begins.end() && begin->first <= last; ++begin)
      found.push_back(begin->second);
    std::sort(found.begin(), found.end());
  }

private:
  /// Levels are below 64, chunk indices in a level below 2^58.
  static uint64_t key(int level, int64_t chunk) {
    return uint64_t(chunk) << 6 | uint64_t(level);
  }

  std::multimap<int64_t, uint32_t> begins;
  std::unordered_map<uint64_t, std::vector<uint32_t>> chunks;
  uint64_t levels = 0; ///< bit set for each level with chunks
};

/// A buffer in a region.
struct Placed {
  size_t buffer;
  PolynomialTable::Id offset; ///< within the region
  PolynomialTable::Id end;
};

struct Region {
  PolynomialTable::Id bytes;
  std::vector<Placed> placed;
  Intervals lives; ///< indices in `placed`
};

class Planner {
public:
  /// `hasRoom`: sizes that rounding enlarges much get room to round their
  /// offset up instead.
  Planner(const std::vector<BufferLifetime> &buffers, int64_t nominal,
          bool hasRoom)
      : buffers(buffers), nominal(nominal) {
    for (const BufferLifetime &buffer : buffers) {
      const Polynomial rounded = roundCoefficients(buffer.bytes);
      const bool isMuch =
          nominalSize(rounded, nominal) - nominalSize(buffer.bytes, nominal) >
          maxRounding;
      enlargesMuch |= isMuch;
      sizes.push_back(table.add(hasRoom && isMuch
                                    ? buffer.bytes + Polynomial(bufferAlignment)
                                    : rounded));
    }
  }

  /// Whether rounding enlarges a size so much that room would be smaller.
  bool canHaveRoom() const { return enlargesMuch; }

  MemoryPlan plan() {
    std::vector<double> nominals;
    for (PolynomialTable::Id size : sizes)
      nominals.push_back(nominalSize(table[size], nominal));
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return nominals[a] > nominals[b];
    });
    for (size_t buffer : order)
      place(buffer);
    return collect();
  }

private:
  void place(size_t buffer) {
    for (Region &region : regions)
      if (std::optional<PolynomialTable::Id> offset = fit(region, buffer))
        return put(region, buffer, *offset);
    if (const Region *other = findIncomparable(buffer))
      apart.push_back({buffer, other->placed.front().buffer});
    Region &region = regions.emplace_back();
    region.bytes = sizes[buffer];
    put(region, buffer, zero);
  }

  /// A region without live buffers in a buffer's lifetime, but possibly too
  /// small.
  const Region *findIncomparable(size_t buffer) {
    for (const Region &region : regions) {
      region.lives.find(buffers[buffer].first, buffers[buffer].last, together);
      if (together.empty())
        return &region;
    }
    return nullptr;
  }

  void put(Region &region, size_t buffer, PolynomialTable::Id offset) {
    region.lives.add(buffers[buffer].first, buffers[buffer].last,
                     uint32_t(region.placed.size()));
    region.placed.push_back({buffer, offset, table.sum(offset, sizes[buffer])});
  }

  /// The first offset in a region at which the buffer overlaps no buffer that
  /// is live at the same time.
  std::optional<PolynomialTable::Id> fit(const Region &region, size_t buffer) {
    if (!table.covers(region.bytes, sizes[buffer]))
      return std::nullopt;
    region.lives.find(buffers[buffer].first, buffers[buffer].last, together);
    if (isFree(region, buffer, zero))
      return zero;
    for (uint32_t other : together) {
      PolynomialTable::Id offset = region.placed[other].end;
      if (table.covers(region.bytes, table.sum(offset, sizes[buffer])) &&
          isFree(region, buffer, offset))
        return offset;
    }
    return std::nullopt;
  }

  /// True if the buffer at this offset overlaps none in `together`.
  bool isFree(const Region &region, size_t buffer, PolynomialTable::Id offset) {
    PolynomialTable::Id end = table.sum(offset, sizes[buffer]);
    return std::all_of(together.begin(), together.end(), [&](uint32_t index) {
      const Placed &other = region.placed[index];
      return table.covers(offset, other.end) || table.covers(other.offset, end);
    });
  }

  MemoryPlan collect() {
    MemoryPlan plan;
    plan.offsets.resize(buffers.size());
    // Regions with room for rounding come last, so that the others need none.
    std::stable_partition(
        regions.begin(), regions.end(), [&](const Region &region) {
          return roundCoefficients(table[region.bytes]) == table[region.bytes];
        });
    for (const Region &region : regions) {
      MemoryRegion &made = plan.regions.emplace_back();
      made.bytes = table[region.bytes];
      for (const Placed &placed : region.placed) {
        plan.offsets[placed.buffer] = plan.bytes + table[placed.offset];
        made.buffers.push_back(placed.buffer);
      }
      plan.bytes = plan.bytes + made.bytes;
    }
    plan.apart = apart;
    plan.lowerBound = findLowerBound();
    return plan;
  }

  /// Max of the live bytes over all steps at which a buffer's lifetime begins;
  /// on a tie, the step with the first buffer.
  Polynomial findLowerBound() {
    // Collect the steps at which lifetimes begin or end.
    struct Change {
      std::vector<size_t> begins, ends; ///< buffers
    };
    std::map<int64_t, Change> changes;
    for (size_t i = 0; i < buffers.size(); ++i) {
      changes[buffers[i].first].begins.push_back(i);
      changes[buffers[i].last + 1].ends.push_back(i);
    }
    // Visit the steps with the number of live buffers per size.
    std::map<PolynomialTable::Id, int64_t> live;
    double fullest = 0;
    Polynomial bytes;
    size_t first = buffers.size();
    for (const auto &[step, change] : changes) {
      for (size_t buffer : change.ends)
        if (--live[sizes[buffer]] == 0)
          live.erase(sizes[buffer]);
      for (size_t buffer : change.begins)
        ++live[sizes[buffer]];
      if (change.begins.empty())
        continue;
      Polynomial sum;
      for (auto [size, count] : live)
        sum = sum + table[size] * Polynomial(count);
      const double filled = nominalSize(sum, nominal);
      if (filled > fullest ||
          (filled == fullest && change.begins.front() < first)) {
        fullest = filled;
        bytes = sum;
        first = change.begins.front();
      }
    }
    return bytes;
  }

  const std::vector<BufferLifetime> &buffers;
  int64_t nominal;
  PolynomialTable table;
  const PolynomialTable::Id zero = table.add(Polynomial());
  std::vector<PolynomialTable::Id> sizes;
  bool enlargesMuch = false;
  std::vector<Region> regions;
  std::vector<BuffersApart> apart;
  std::vector<uint32_t> together; ///< in the current region, during placement
};

} // namespace

MemoryPlan transom::planMemory(const std::vector<BufferLifetime> &buffers,
                               int64_t nominal) {
  Planner planner(buffers, nominal, /*hasRoom=*/false);
  MemoryPlan rounded = planner.plan();
  if (!planner.canHaveRoom())
    return rounded;
  MemoryPlan roomy = Planner(buffers, nominal, /*hasRoom=*/true).plan();
  return nominalSize(roomy.bytes, nominal) < nominalSize(rounded.bytes, nominal)
             ? roomy
             : rounded;
}
