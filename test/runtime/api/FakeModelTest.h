// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test with a model that is loaded through the C API.
#pragma once
#include "test/support/fake/Fake.h"

namespace transom::test {

/// A loaded model in a temporary folder.
class FakeModelTest : public testing::Test {
protected:
  void SetUp() override {
    writeFile(folder.path("model.so"), fakeFile(fakeManifest()));
    ASSERT_EQ(
        transom_model_load(folder.path("model.so").c_str(), nullptr, &model),
        TRANSOM_STATUS_OK)
        << transom_last_error();
  }
  void TearDown() override { transom_model_free(model); }

  TemporaryFolder folder;
  transom_model *model = nullptr;
};

} // namespace transom::test
