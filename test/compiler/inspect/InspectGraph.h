// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports on graphs written in a test.
#pragma once
#include "compiler/inspect/Inspection.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace transom::test {

/// Inspects a graph.json with this content.
inline Result<Inspection> inspectGraph(const std::string &text) {
  std::string folder = ::testing::TempDir() + "/inspect-model";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/graph.json") << text;
  InspectOptions options;
  options.model = folder + "/graph.json";
  Result<Inspection> report = inspectModel(options);
  std::filesystem::remove_all(folder);
  return report;
}

} // namespace transom::test
