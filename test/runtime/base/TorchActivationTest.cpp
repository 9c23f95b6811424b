// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The torch.nn activation modules, against torch 2.13 values in float64.
#include "runtime/base/TorchActivation.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace transom;

TEST(TorchActivation, values_are_those_of_torch) {
  const double inputs[] = {-7, -1, -0.3, 0, 0.4, 2.5, 7};
  const std::map<std::string, std::vector<double>> expected = {
      {"Identity", {-7.0, -1.0, -0.3, 0.0, 0.4, 2.5, 7.0}},
      {"ReLU", {0.0, 0.0, 0.0, 0.0, 0.4, 2.5, 7.0}},
      {"ReLU6", {0.0, 0.0, 0.0, 0.0, 0.4, 2.5, 6.0}},
      {"LeakyReLU", {-0.07, -0.01, -0.003, 0.0, 0.4, 2.5, 7.0}},
      {"PReLU", {-1.75, -0.25, -0.075, 0.0, 0.4, 2.5, 7.0}},
      {"RReLU",
       {-1.604166666667, -0.229166666667, -0.06875, 0.0, 0.4, 2.5, 7.0}},
      {"ELU",
       {-0.999088118034, -0.632120558829, -0.259181779318, 0.0, 0.4, 2.5, 7.0}},
      {"CELU",
       {-0.999088118034, -0.632120558829, -0.259181779318, 0.0, 0.4, 2.5, 7.0}},
      {"SELU",
       {-1.756496161765, -1.111330737813, -0.455667315379, 0.0, 0.420280394942,
        2.626752468389, 7.354906911488}},
      {"GELU",
       {-9e-12, -0.158655253931, -0.114626573343, 0.0, 0.262168696644,
        2.484475836686, 6.999999999991}},
      {"SiLU",
       {-0.006377358361, -0.26894142137, -0.127667244957, 0.0, 0.239475064045,
        2.310354549947, 6.993622641639}},
      {"Mish",
       {-0.00638026341, -0.303401461374, -0.151133177138, 0.0, 0.289030534072,
        2.471392304558, 6.99998837981}},
      {"Sigmoid",
       {0.000911051194, 0.26894142137, 0.425557483188, 0.5, 0.598687660112,
        0.924141819979, 0.999088948806}},
      {"LogSigmoid",
       {-7.000911466454, -1.313261687518, -0.854355244469, -0.69314718056,
        -0.5130152524, -0.078889734293, -0.000911466454}},
      {"Softplus",
       {0.000911466454, 0.313261687518, 0.554355244469, 0.69314718056,
        0.9130152524, 2.578889734293, 7.000911466454}},
      {"Softsign",
       {-0.875, -0.5, -0.230769230769, 0.0, 0.285714285714, 0.714285714286,
        0.875}},
      {"Tanh",
       {-0.999998336944, -0.761594155956, -0.291312612452, 0.0, 0.379948962255,
        0.986614298151, 0.999998336944}},
      {"Tanhshrink",
       {-6.000001663056, -0.238405844044, -0.008687387548, 0.0, 0.020051037745,
        1.513385701849, 6.000001663056}},
      {"Hardtanh", {-1.0, -1.0, -0.3, 0.0, 0.4, 1.0, 1.0}},
      {"Hardsigmoid",
       {0.0, 0.333333333333, 0.45, 0.5, 0.566666666667, 0.916666666667, 1.0}},
      {"Hardswish",
       {-0.0, -0.333333333333, -0.135, 0.0, 0.226666666667, 2.291666666667,
        7.0}},
      {"Hardshrink", {-7.0, -1.0, 0.0, 0.0, 0.0, 2.5, 7.0}},
      {"Softshrink", {-6.5, -0.5, -0.0, 0.0, 0.0, 2.0, 6.5}},
  };
  ASSERT_EQ(getTorchActivationNames().size(), expected.size());
  for (const std::string &name : getTorchActivationNames()) {
    ASSERT_TRUE(expected.count(name)) << name;
    const TorchActivation kind = *parseTorchActivation(name);
    EXPECT_EQ(getTorchActivationName(kind), name);
    for (size_t i = 0; i != std::size(inputs); ++i)
      EXPECT_NEAR(applyTorchActivation(kind, inputs[i]), expected.at(name)[i],
                  1e-11)
          << name << " of " << inputs[i];
    EXPECT_TRUE(std::isnan(applyTorchActivation(kind, NAN))) << name;
  }
}

TEST(TorchActivation, paths) {
  for (const char *path :
       {"Mish", "torch.nn.Mish", "torch.nn.modules.Mish",
        "torch.nn.modules.activation.Mish", "torch.nn.modules.linear.Mish"})
    EXPECT_EQ(parseTorchActivation(path), TorchActivation::Mish) << path;
  for (const char *path : {"", "mish", "own.Mish", "torch.nn.functional.Mish",
                           "torch.nn.GLU", "torch.nn.Threshold", "Softmax"})
    EXPECT_FALSE(parseTorchActivation(path)) << path;
}
