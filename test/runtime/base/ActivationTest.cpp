// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The activation table.
#include "runtime/base/Activation.h"
#include <gtest/gtest.h>

using namespace transom;

TEST(Activation, namesRoundTrip) {
  for (const ActivationInfo &info : getActivations()) {
    EXPECT_EQ(parseActivation(info.name), info.kind);
    EXPECT_EQ(getActivationName(info.kind), info.name);
    EXPECT_EQ(&getActivationInfo(info.kind), &info);
  }
  EXPECT_FALSE(parseActivation("swish2"));
  EXPECT_EQ(getActivationName(std::optional<Activation>()), "");
}

TEST(Activation, definitions) {
  auto evaluate = [](Activation kind, double x) {
    return getActivationInfo(kind).evaluate(x);
  };
  EXPECT_EQ(evaluate(Activation::Relu, -2), 0);
  EXPECT_EQ(evaluate(Activation::Relu, 2), 2);
  EXPECT_NEAR(evaluate(Activation::Gelu, 1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(evaluate(Activation::GeluTanh, 1), 0.8411919906082768, 1e-15);
  EXPECT_NEAR(evaluate(Activation::Silu, 1), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(evaluate(Activation::Sigmoid, 0), 0.5, 1e-15);
  EXPECT_NEAR(evaluate(Activation::Rsqrt, 4), 0.5, 1e-15);
  EXPECT_NEAR(evaluate(Activation::Log1pRelu, 1), 0.6931471805599453, 1e-15);
  EXPECT_EQ(evaluate(Activation::Log1pRelu, -1), 0);
  EXPECT_NEAR(evaluate(Activation::Log1pRelu, 1e-20), 1e-20, 1e-35);
}

TEST(Activation, namesByUsage) {
  EXPECT_EQ(getActivationNames().size(), getActivations().size());
  for (const std::string &name : getActivationNames(activation::OneDnn))
    EXPECT_TRUE(getActivationInfo(*parseActivation(name)).usage &
                activation::OneDnn);
  EXPECT_FALSE(getActivationNames(activation::OneDnn).empty());
}
