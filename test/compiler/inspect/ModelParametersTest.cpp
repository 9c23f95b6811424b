// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How parameters by layer are written.
#include "compiler/inspect/ModelParameters.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

TEST(ModelParameters, equalLayersAreOneLine) {
  ParameterReport report;
  LayerParameters layers{"h", 0, 11, {}};
  layers.counts[static_cast<size_t>(Component::Mlp)] = 8;
  LayerParameters outside;
  outside.counts[static_cast<size_t>(Component::Embedding)] = 4;
  report.layers = {outside, layers};
  report.counts[static_cast<size_t>(Component::Mlp)] = 96;
  report.counts[static_cast<size_t>(Component::Embedding)] = 4;

  std::string text;
  llvm::raw_string_ostream stream(text);
  report.addText(stream);
  EXPECT_NE(text.find("h 0-11, each: 8 (mlp 8)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("outside of layers: 4 (embedding 4)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" 96.0 %"), std::string::npos) << text;
}

} // namespace
