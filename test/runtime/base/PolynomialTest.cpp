// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polynomials: canonical text, and algebra against evaluation at random
// points.
#include "runtime/base/Polynomial.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

Polynomial poly(const std::string &text) {
  Result<Polynomial> parsed = Polynomial::parse(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : Polynomial();
}

std::string parseError(const std::string &text) {
  Result<Polynomial> parsed = Polynomial::parse(text);
  return parsed ? "parsed as " + parsed->str() : parsed.error().message;
}

const std::vector<std::string> names = {"batch", "keys", "rows", "seq"};

Polynomial randomPolynomial(Random &random) {
  Polynomial sum;
  for (int64_t terms = random.between(0, 4); terms > 0; --terms) {
    Polynomial term(random.between(-9, 9));
    for (int64_t degree = random.between(0, 3); degree > 0; --degree)
      term = term * Polynomial::symbol(names[random.between(0, 3)]);
    sum = sum + term;
  }
  return sum;
}

/// A point at which all symbols have values.
struct Point {
  std::map<std::string, int64_t> values;
  explicit Point(Random &random) {
    for (const std::string &name : names)
      values[name] = random.between(0, 50);
  }
  int64_t operator()(const Polynomial &p) const {
    Result<int64_t> value = p.evaluate([&](const std::string &name) {
      auto found = values.find(name);
      return found == values.end() ? std::nullopt
                                   : std::optional<int64_t>(found->second);
    });
    EXPECT_TRUE(value);
    return value ? *value : -1;
  }
};

} // namespace

TEST(Polynomial, text_is_canonical) {
  EXPECT_EQ(poly("64 + 31*batch + seq*2*batch").str(),
            "2*batch*seq+31*batch+64");
  EXPECT_EQ(poly("0").str(), "0");
  EXPECT_EQ(poly("batch-batch").str(), "0");
  EXPECT_EQ(poly("-batch+1").str(), "-batch+1");
  EXPECT_EQ(poly("1-2*seq").str(), "-2*seq+1");
  EXPECT_EQ(poly("seq*seq*3").str(), "3*seq*seq");
  EXPECT_EQ(poly("1*batch").str(), "batch");
  EXPECT_EQ(poly(" 7 ").str(), "7");
  EXPECT_EQ(poly("seq+batch+seq*batch").str(), "batch*seq+batch+seq");
}

TEST(Polynomial, malformed_text_is_rejected_with_its_column) {
  EXPECT_EQ(parseError(""),
            "polynomial: expected a number or a symbol at column 1");
  EXPECT_EQ(parseError("2*"),
            "polynomial: expected a number or a symbol at column 3");
  EXPECT_EQ(parseError("a b"),
            "polynomial: expected '+', '-' or '*' at column 3");
  EXPECT_EQ(parseError("a++b"),
            "polynomial: expected a number or a symbol at column 3");
  EXPECT_EQ(parseError("9223372036854775808"),
            "polynomial: number does not fit 64 bits at column 1");
  EXPECT_EQ(parseError("4294967296*4294967296*a"),
            "polynomial: coefficient does not fit 64 bits at column 22");
  EXPECT_EQ(parseError("9223372036854775806+1+1"),
            "polynomial: coefficient does not fit 64 bits at column 22");
  EXPECT_NE(parseError(std::string(70000, '1')).find("limit of 65536"),
            std::string::npos);
  std::string power = "a";
  for (int i = 0; i < 40; ++i)
    power += "*a";
  EXPECT_NE(parseError(power).find("degree is over the limit"),
            std::string::npos);
}

TEST(Polynomial, algebra_agrees_with_evaluation) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    Polynomial a = randomPolynomial(random), b = randomPolynomial(random);
    Point at(random);
    ASSERT_EQ(at(a + b), at(a) + at(b));
    ASSERT_EQ(at(a - b), at(a) - at(b));
    ASSERT_EQ(at(a * b), at(a) * at(b));
    ASSERT_EQ(poly(a.str()), a);
    ASSERT_EQ(a + b, b + a);
    ASSERT_EQ((a + b).str(), (b + a).str());
    ASSERT_EQ(a - a, Polynomial());
  }
}

TEST(Polynomial, division_finds_each_exact_quotient) {
  Random random(8);
  for (int i = 0; i < 1000; ++i) {
    Polynomial a = randomPolynomial(random), b = randomPolynomial(random);
    if (b == Polynomial())
      continue;
    auto quotient = (a * b).divideExactly(b);
    ASSERT_TRUE(quotient) << a.str() << " by " << b.str();
    ASSERT_EQ(*quotient, a);
    if (!b.isConstant())
      ASSERT_FALSE((a * b + Polynomial(1)).divideExactly(b));
  }
}

TEST(Polynomial, division_refuses_what_does_not_divide) {
  EXPECT_FALSE(poly("3*seq").divideExactly(Polynomial(2)));
  EXPECT_FALSE(poly("seq").divideExactly(poly("batch")));
  EXPECT_FALSE(poly("seq").divideExactly(Polynomial()));
  EXPECT_EQ(poly("batch*seq-seq").divideExactly(poly("batch-1")), poly("seq"));
}

TEST(Polynomial, substitution_agrees_with_evaluation) {
  Random random(9);
  for (int i = 0; i < 1000; ++i) {
    Polynomial a = randomPolynomial(random), b = randomPolynomial(random);
    Polynomial replaced =
        a.substitute([&](const std::string &name) -> std::optional<Polynomial> {
          if (name == "seq")
            return b;
          return std::nullopt;
        });
    Point at(random);
    Point moved = at;
    moved.values["seq"] = at(b);
    ASSERT_EQ(at(replaced), moved(a));
  }
}

TEST(Polynomial, covering_means_at_least_everywhere) {
  EXPECT_TRUE(poly("2*seq+3").coversCoefficients(poly("seq+3")));
  EXPECT_FALSE(poly("2*seq+3").coversCoefficients(poly("seq+4")));
  EXPECT_FALSE(poly("seq*seq").coversCoefficients(poly("seq")));
  EXPECT_TRUE(poly("seq").coversCoefficients(poly("seq-batch")));
  EXPECT_FALSE(poly("seq-batch").coversCoefficients(poly("seq")));
  Random random(10);
  for (int i = 0; i < 2000; ++i) {
    Polynomial a = randomPolynomial(random), b = randomPolynomial(random);
    Point at(random);
    if (a.coversCoefficients(b))
      ASSERT_GE(at(a), at(b));
  }
}

TEST(Polynomial, evaluation_says_what_is_wrong) {
  auto value =
      poly("batch*seq")
          .evaluate([](const std::string &name) -> std::optional<int64_t> {
            if (name == "seq")
              return std::nullopt;
            return 1;
          });
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message, "unknown symbol 'seq' in 'batch*seq'");
  auto big = poly("batch*seq").evaluate([](const std::string &) {
    return std::optional<int64_t>(INT64_C(1) << 32);
  });
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().status, Status::Limit);
  auto zero = poly("4611686018427387904*batch*seq")
                  .evaluate([](const std::string &name) {
                    return std::optional<int64_t>(name == "seq" ? 0 : 1000);
                  });
  ASSERT_TRUE(zero) << "a zero symbol makes the product zero";
  EXPECT_EQ(*zero, 0);
}

TEST(Polynomial, overflowed_coefficients_never_look_right) {
  Polynomial huge = Polynomial(INT64_MAX / 2) * Polynomial(4);
  Polynomial size = huge * Polynomial::symbol("seq") - Polynomial(INT64_MAX);
  auto one = [](const std::string &) { return std::optional<int64_t>(1); };
  EXPECT_FALSE(size.evaluate(one));
  EXPECT_FALSE((huge - huge).evaluate(one));
  EXPECT_FALSE((huge - Polynomial(5)).evaluate(one));
  EXPECT_FALSE((Polynomial(0) - huge).evaluate(one));
}

TEST(Polynomial, constants_and_symbols) {
  EXPECT_EQ(Polynomial().constant(), 0);
  EXPECT_EQ(Polynomial(5).constant(), 5);
  EXPECT_FALSE(poly("seq").constant());
  EXPECT_FALSE(poly("seq+1").isConstant());
  EXPECT_EQ(poly("seq*batch+seq").symbols(),
            (std::vector<std::string>{"batch", "seq"}));
  EXPECT_EQ(poly("2*seq").terms().at({"seq"}), 2);
}
