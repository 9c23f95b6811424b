// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled polynomials: the same values as the polynomials, reported overflow,
// and bounds that no value within the capacity exceeds.
#include "runtime/execute/Formula.h"
#include <gtest/gtest.h>
#include <random>

using namespace transom;

static const std::vector<std::string> order = {"batch", "keys", "parts", "rows",
                                               "seq"};

static Formula formula(const char *text) {
  return *Formula::compile(*Polynomial::parse(text), order);
}

TEST(Formula, evaluates_like_the_polynomial) {
  for (const char *text :
       {"0", "7", "seq", "2*batch*seq+31*batch+64", "batch*seq*seq-5*seq"}) {
    Polynomial polynomial = *Polynomial::parse(text);
    Formula compiled = formula(text);
    std::mt19937 random(1);
    for (int i = 0; i != 100; ++i) {
      int64_t symbols[5];
      for (int64_t &symbol : symbols)
        symbol = int64_t(random() % 1000);
      auto valueOf = [&](const std::string &name) -> std::optional<int64_t> {
        for (size_t s = 0; s != order.size(); ++s)
          if (order[s] == name)
            return symbols[s];
        return std::nullopt;
      };
      int64_t value;
      ASSERT_TRUE(compiled.evaluate(symbols, value));
      EXPECT_EQ(value, *polynomial.evaluate(valueOf)) << text;
    }
  }
}

TEST(Formula, tells_overflow) {
  int64_t symbols[5] = {INT64_MAX, 1, 1, 1, 2}, value;
  EXPECT_FALSE(formula("batch*seq").evaluate(symbols, value));
  EXPECT_FALSE(formula("batch+seq").evaluate(symbols, value));
  EXPECT_TRUE(formula("batch").evaluate(symbols, value));
}

TEST(Formula, refuses_unknown_symbols) {
  Result<Formula> compiled =
      Formula::compile(*Polynomial::parse("3*heads"), order);
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.error().message.find("'heads'"), std::string::npos);
}

TEST(Formula, knows_a_single_symbol) {
  EXPECT_EQ(formula("seq").onlySymbol(), 4);
  EXPECT_EQ(formula("2*seq").onlySymbol(), -1);
  EXPECT_EQ(formula("seq+1").onlySymbol(), -1);
  EXPECT_EQ(formula("seq*seq").onlySymbol(), -1);
  EXPECT_EQ(formula("4").onlySymbol(), -1);
}

TEST(Formula, bounds_all_values_within_the_capacity) {
  SymbolBounds bounds;
  bounds.kinds = {SymbolKind::Batch, SymbolKind::Keys, SymbolKind::Workers,
                  SymbolKind::Tokens, SymbolKind::Length};
  bounds.maxima = {8, 64 + 31 * 8, 4, 64, 32};
  bounds.batchTimesLength = 64;
  std::mt19937 random(2);
  for (const char *text :
       {"batch*seq", "3*batch*seq*seq+rows", "batch*batch*seq",
        "keys*seq+parts", "100*rows+16*batch-7*seq", "batch*seq*rows"}) {
    int64_t bound;
    ASSERT_TRUE(formula(text).bound(bounds, bound));
    int64_t largest = 0;
    for (int i = 0; i != 20000; ++i) {
      int64_t batch = 1 + int64_t(random() % 8),
              seq = 1 + int64_t(random() % 32);
      if (batch * seq > 64)
        continue;
      int64_t symbols[5] = {batch, batch * seq + 31 * batch,
                            1 + int64_t(random() % 4), batch * seq, seq};
      int64_t value;
      ASSERT_TRUE(formula(text).evaluate(symbols, value));
      EXPECT_LE(value, bound) << text;
      largest = std::max(largest, value);
    }
    EXPECT_GT(largest, bound / 4) << text << " is bounded too loosely";
  }
}
