// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths that hold no model.
#include "test/compiler/import/Fixture.h"

using namespace transom;
using namespace transom::testing;

TEST(Import, missing_folder) {
  expectError("/no/such/folder", Status::Unavailable, {"/no/such/folder"});
}

TEST(Import, folder_without_a_model) {
  ModelFolder folder;
  expectError(folder.path, Status::Unavailable,
              {"no config.json and no graph.json"});
}
