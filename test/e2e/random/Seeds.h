// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The seeds of a random test, in groups that are tests of their own, so that
// they run side by side.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace transom::testing {

inline int64_t fromEnvironment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// The seeds from `first` up to `end`, without it.
struct Seeds {
  int64_t first, end;
};

/// `count` seeds from 0 on in groups of `size`. The environment's
/// TRANSOM_RANDOM_SEED and TRANSOM_RANDOM_GRAPHS choose others.
inline std::vector<Seeds> groupSeeds(int64_t count, int64_t size) {
  int64_t first = fromEnvironment("TRANSOM_RANDOM_SEED", 0);
  int64_t end = first + fromEnvironment("TRANSOM_RANDOM_GRAPHS", count);
  std::vector<Seeds> groups;
  for (; first < end; first += size)
    groups.push_back({first, std::min(first + size, end)});
  return groups;
}

/// Names the test of a group by its first seed.
inline std::string
nameByFirstSeed(const ::testing::TestParamInfo<Seeds> &info) {
  return std::to_string(info.param.first);
}

} // namespace transom::testing
