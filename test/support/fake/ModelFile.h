// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads model files, and files that are refused.
#pragma once
#include "test/support/fake/Fake.h"

namespace transom::test {

inline Result<std::unique_ptr<Model>> loadFile(const std::string &path) {
  return Model::load(path, {});
}

inline void expectRefused(const std::string &path, Status status,
                          const std::string &expected) {
  Result<std::unique_ptr<Model>> model = loadFile(path);
  ASSERT_FALSE(model) << expected;
  EXPECT_EQ(int(model.error().status), int(status)) << model.error().message;
  EXPECT_NE(model.error().message.find(expected), std::string::npos)
      << model.error().message;
  EXPECT_EQ(model.error().message.find('\n'), std::string::npos);
}

} // namespace transom::test
