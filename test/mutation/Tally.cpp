// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums and the table.
#include "test/mutation/Tally.h"
#include <iomanip>
#include <iostream>

namespace transom::testing {

void Tally::add(const Tally &other) {
  planted += other.planted;
  equal += other.equal;
  survived += other.survived;
  for (const auto &[finder, count] : other.found)
    found[finder] += count;
}

double Tally::getScore() const {
  const int64_t bugs = planted - equal;
  return bugs ? 100.0 * static_cast<double>(bugs - survived) /
                    static_cast<double>(bugs)
              : 100;
}

static void printRow(const std::string &kind, const Tally &tally,
                     llvm::ArrayRef<const char *> finders) {
  std::cout << std::left << std::setw(18) << kind << std::right << std::setw(10)
            << tally.planted;
  for (const char *finder : finders) {
    auto found = tally.found.find(finder);
    std::cout << std::setw(10)
              << (found == tally.found.end() ? 0 : found->second);
  }
  std::cout << std::setw(10) << tally.equal << std::setw(10) << tally.survived
            << std::setw(9) << std::fixed << std::setprecision(2)
            << tally.getScore() << " %\n";
}

Tally print(const Tallies &tallies, llvm::ArrayRef<const char *> finders) {
  std::cout << std::left << std::setw(18) << "kind" << std::right
            << std::setw(10) << "planted";
  for (const char *finder : finders)
    std::cout << std::setw(10) << finder;
  std::cout << "     equal  survived    found\n";
  Tally all;
  for (const auto &[kind, tally] : tallies) {
    printRow(kind, tally, finders);
    all.add(tally);
  }
  printRow("all", all, finders);
  return all;
}

} // namespace transom::testing
