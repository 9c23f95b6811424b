// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention for one row by key blocks that are merged sequentially, in parts
// that are merged at the end, equals attention by plain softmax in residues;
// with a fault in the merge it does not.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/residues/Residues.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

/// Merge faults.
enum class MergeFault {
  None,
  OutputNotRescaled,
  SumNotRescaled,
  NewNotRescaled,
  FactorsExchanged,
  FactorInverted,
  FactorTwice,
};

/// Other faults.
enum class Fault {
  None,
  MaskOfBlockBefore,
  ValuesOfBlockBefore,
  BorderKeyTwice,
  LastKeyDropped,
  PartsOverlap,
  PartLost,
  NotDivided,
  // The result is the same, so these cannot be found.
  MaximumLeftOut,
  OtherKeyForMaximum,
};

struct Faults {
  const char *name;
  MergeFault inBlocks = MergeFault::None, inParts = MergeFault::None;
  Fault other = Fault::None;
  bool changesResult = true;
};

/// The maximum, the exponential sum and the value sum over some keys.
struct Partial {
  Number maximum = getHidden(), sum;
  std::vector<Number> out;
};

constexpr int64_t numKeys = 14, width = 3, blockSize = 2, partSize = 5;

class OnlineSoftmax : public ::testing::TestWithParam<Faults> {
protected:
  /// Any scores and values.
  void makeRow(int64_t row) {
    scores.clear();
    values.clear();
    visible.clear();
    for (int64_t key = row * numKeys; key < (row + 1) * numKeys; ++key) {
      scores.push_back(domain.getLeaf("score", key));
      visible.push_back(scores.size() != 4 && scores.size() != 7);
      for (int64_t i = 0; i < width; ++i)
        values.push_back(domain.getLeaf("value", key * width + i));
    }
  }

  std::vector<Number> attendPlainly() {
    std::vector<Number> shares;
    for (int64_t key = 0; key < numKeys; ++key)
      shares.push_back(visible[key] ? scores[key] : getHidden());
    softmax(shares);
    return multiply(shares, 0);
  }

  /// Multiplies the key shares from `first` on by their values.
  std::vector<Number> multiply(llvm::ArrayRef<Number> shares, int64_t first) {
    std::vector<Number> out(width);
    for (int64_t i = 0; i < width; ++i)
      out[i] = domain.dot(0.0, shares.data(), 1, &values[first * width + i],
                          width, static_cast<int64_t>(shares.size()));
    return out;
  }

  Number getLarger(Number a, Number b) {
    switch (GetParam().other) {
    case Fault::MaximumLeftOut:
      return 0.0;
    case Fault::OtherKeyForMaximum:
      return scores[0];
    default:
      return getMaximum({a, b});
    }
  }

  Partial merge(const Partial &a, const Partial &b, MergeFault fault) {
    Partial merged;
    merged.maximum = getLarger(a.maximum, b.maximum);
    auto getFactor = [&](const Partial &of) {
      return isHidden(of.maximum) ? Number() : exp(of.maximum - merged.maximum);
    };
    Number old = getFactor(a), added = getFactor(b);
    if (fault == MergeFault::FactorsExchanged)
      std::swap(old, added);
    if (fault == MergeFault::FactorInverted && !isHidden(a.maximum))
      old = exp(merged.maximum - a.maximum);
    if (fault == MergeFault::FactorTwice)
      old *= old;
    if (fault == MergeFault::NewNotRescaled)
      added = 1.0;
    const Number one = 1.0;
    const Number oldSum = fault == MergeFault::SumNotRescaled ? one : old;
    const Number oldOut = fault == MergeFault::OutputNotRescaled ? one : old;
    merged.sum = a.sum * oldSum + b.sum * added;
    for (auto [x, y] : llvm::zip_equal(a.out, b.out))
      merged.out.push_back(x * oldOut + y * added);
    return merged;
  }

  Partial attendBlock(int64_t first, int64_t last) {
    const Fault fault = GetParam().other;
    const bool hasBefore = first >= blockSize;
    auto isVisible = [&](int64_t key) {
      return visible[fault == Fault::MaskOfBlockBefore && hasBefore
                         ? key - blockSize
                         : key];
    };
    Partial block;
    std::vector<Number> shares;
    for (int64_t key = first; key < last; ++key)
      shares.push_back(isVisible(key) ? makeExponent(scores[key])
                                      : getHidden());
    block.maximum = getMaximum(shares);
    for (Number &share : shares) {
      share = isHidden(share) ? Number() : exp(share - block.maximum);
      block.sum += share;
    }
    block.out =
        multiply(shares, fault == Fault::ValuesOfBlockBefore && hasBefore
                             ? first - blockSize
                             : first);
    return block;
  }

  Partial attendPart(int64_t first, int64_t last) {
    Partial part;
    part.out.resize(width);
    while (first < last) {
      const int64_t end = std::min(first + blockSize, last);
      part = merge(part, attendBlock(first, end), GetParam().inBlocks);
      const bool repeats =
          GetParam().other == Fault::BorderKeyTwice && end < last;
      first = repeats ? end - 1 : end;
    }
    return part;
  }

  std::vector<Number> attendByBlocks() {
    const Fault fault = GetParam().other;
    const int64_t end = fault == Fault::LastKeyDropped ? numKeys - 1 : numKeys;
    Partial all = attendPart(0, partSize);
    for (int64_t first = partSize; first < end; first += partSize) {
      if (fault == Fault::PartLost)
        continue;
      const int64_t start = fault == Fault::PartsOverlap ? first - 1 : first;
      all = merge(all, attendPart(start, std::min(first + partSize, end)),
                  GetParam().inParts);
    }
    if (fault != Fault::NotDivided)
      for (Number &x : all.out)
        x /= all.sum;
    return all.out;
  }

  Residues domain{"key", 1, Rounding::Erased};
  DomainScope scope{&domain};
  std::vector<Number> scores, values;
  std::vector<char> visible;
};

} // namespace

// A wrong factor is still 1 in rows whose maximum has its usual position.
TEST_P(OnlineSoftmax, isPlainSoftmaxUnlessItHasAFault) {
  int64_t rowsThatDiffer = 0;
  for (int64_t row = 0; row < 8; ++row) {
    makeRow(row);
    int64_t differ = 0;
    for (auto [x, y] : llvm::zip_equal(attendByBlocks(), attendPlainly()))
      differ += domain.get(x) != domain.get(y);
    EXPECT_TRUE(differ == 0 || differ == width);
    rowsThatDiffer += differ > 0;
  }
  EXPECT_EQ(rowsThatDiffer > 0, GetParam().changesResult) << rowsThatDiffer;
}

using M = MergeFault;
using F = Fault;
INSTANTIATE_TEST_SUITE_P(
    With, OnlineSoftmax,
    ::testing::Values(
        Faults{"noFault", M::None, M::None, F::None, false},
        Faults{"outputOfBlocksNotRescaled", M::OutputNotRescaled},
        Faults{"sumOfBlocksNotRescaled", M::SumNotRescaled},
        Faults{"newBlockNotRescaled", M::NewNotRescaled},
        Faults{"factorsOfBlocksExchanged", M::FactorsExchanged},
        Faults{"factorOfBlocksInverted", M::FactorInverted},
        Faults{"factorOfBlocksTwice", M::FactorTwice},
        Faults{"outputOfPartsNotRescaled", M::None, M::OutputNotRescaled},
        Faults{"sumOfPartsNotRescaled", M::None, M::SumNotRescaled},
        Faults{"newPartNotRescaled", M::None, M::NewNotRescaled},
        Faults{"factorsOfPartsExchanged", M::None, M::FactorsExchanged},
        Faults{"factorOfPartsInverted", M::None, M::FactorInverted},
        Faults{"factorOfPartsTwice", M::None, M::FactorTwice},
        Faults{"maskOfBlockBefore", M::None, M::None, F::MaskOfBlockBefore},
        Faults{"valuesOfBlockBefore", M::None, M::None, F::ValuesOfBlockBefore},
        Faults{"borderKeyTwice", M::None, M::None, F::BorderKeyTwice},
        Faults{"lastKeyDropped", M::None, M::None, F::LastKeyDropped},
        Faults{"partsOverlap", M::None, M::None, F::PartsOverlap},
        Faults{"partLost", M::None, M::None, F::PartLost},
        Faults{"notDivided", M::None, M::None, F::NotDivided},
        Faults{"maximumLeftOut", M::None, M::None, F::MaximumLeftOut, false},
        Faults{"otherKeyForMaximum", M::None, M::None, F::OtherKeyForMaximum,
               false}),
    [](const auto &info) { return std::string(info.param.name); });
