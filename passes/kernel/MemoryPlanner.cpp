// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy placement by size in regions that are compared coefficient by
// coefficient.
#include "passes/kernel/MemoryPlanner.h"
#include <algorithm>
#include <numeric>

using namespace transom;

namespace {

/// Bytes that offsets are multiples of, for all values of the symbols.
constexpr int64_t kAlignment = 64;

struct Placed {
  size_t buffer;
  Polynomial offset; ///< within the region
};

struct Region {
  Polynomial bytes;
  std::vector<Placed> placed;
};

} // namespace

/// Each coefficient rounded up: then every value is a multiple of 64.
static Polynomial aligned(const Polynomial &bytes) {
  Polynomial sum;
  for (const auto &[monomial, coefficient] : bytes.terms()) {
    Polynomial term((coefficient + kAlignment - 1) / kAlignment * kAlignment);
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

static bool liveTogether(const BufferLifetime &a, const BufferLifetime &b) {
  return a.first <= b.last && b.first <= a.last;
}

namespace {
class Planner {
public:
  Planner(const std::vector<BufferLifetime> &buffers, int64_t nominal)
      : buffers(buffers), nominal(nominal) {
    for (const BufferLifetime &buffer : buffers)
      sizes.push_back(aligned(buffer.bytes));
  }

  MemoryPlan plan() {
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return nominalSize(sizes[a], nominal) > nominalSize(sizes[b], nominal);
    });
    for (size_t buffer : order)
      place(buffer);
    return collect();
  }

private:
  void place(size_t buffer) {
    for (Region &region : regions)
      if (std::optional<Polynomial> offset = fit(region, buffer)) {
        region.placed.push_back({buffer, *offset});
        return;
      }
    regions.push_back({sizes[buffer], {{buffer, Polynomial()}}});
  }

  /// The first offset of a region where the buffer meets none that lives with
  /// it.
  std::optional<Polynomial> fit(const Region &region, size_t buffer) {
    std::vector<Polynomial> candidates{Polynomial()};
    for (const Placed &other : region.placed)
      if (liveTogether(buffers[other.buffer], buffers[buffer]))
        candidates.push_back(other.offset + sizes[other.buffer]);
    for (const Polynomial &offset : candidates)
      if (region.bytes.coversCoefficients(offset + sizes[buffer]) &&
          isFree(region, buffer, offset))
        return offset;
    return std::nullopt;
  }

  bool isFree(const Region &region, size_t buffer, const Polynomial &offset) {
    return std::all_of(
        region.placed.begin(), region.placed.end(), [&](const Placed &other) {
          return !liveTogether(buffers[other.buffer], buffers[buffer]) ||
                 offset.coversCoefficients(other.offset +
                                           sizes[other.buffer]) ||
                 other.offset.coversCoefficients(offset + sizes[buffer]);
        });
  }

  MemoryPlan collect() {
    MemoryPlan plan;
    plan.offsets.resize(buffers.size());
    for (const Region &region : regions) {
      for (const Placed &placed : region.placed)
        plan.offsets[placed.buffer] = plan.bytes + placed.offset;
      plan.bytes = plan.bytes + region.bytes;
    }
    for (const BufferLifetime &step : buffers) {
      Polynomial live;
      for (size_t i = 0; i < buffers.size(); ++i)
        if (buffers[i].first <= step.first && step.first <= buffers[i].last)
          live = live + sizes[i];
      if (nominalSize(live, nominal) > nominalSize(plan.lowerBound, nominal))
        plan.lowerBound = live;
    }
    return plan;
  }

  const std::vector<BufferLifetime> &buffers;
  int64_t nominal;
  std::vector<Polynomial> sizes;
  std::vector<Region> regions;
};
} // namespace

MemoryPlan transom::planMemory(const std::vector<BufferLifetime> &buffers,
                               int64_t nominal) {
  return Planner(buffers, nominal).plan();
}
