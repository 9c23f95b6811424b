// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The seeds in a random test, in groups that are separate tests, so that they
// run in parallel.
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

/// The seeds from `first` up to but excluding `end`.
struct Seeds {
  int64_t first, end;
};

/// `count` seeds starting at 0, in groups with `size` seeds. The environment
/// variables TRANSOM_RANDOM_SEED and TRANSOM_RANDOM_GRAPHS select others.
inline std::vector<Seeds> groupSeeds(int64_t count, int64_t size) {
  int64_t first = fromEnvironment("TRANSOM_RANDOM_SEED", 0);
  int64_t end = first + fromEnvironment("TRANSOM_RANDOM_GRAPHS", count);
  std::vector<Seeds> groups;
  for (; first < end; first += size)
    groups.push_back({first, std::min(first + size, end)});
  return groups;
}

/// Names a group's test by its first seed.
inline std::string
nameByFirstSeed(const ::testing::TestParamInfo<Seeds> &info) {
  return std::to_string(info.param.first);
}

} // namespace transom::testing
