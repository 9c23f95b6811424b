// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table rows have unique names. test/e2e compares their results with
// transformers.
#include "compiler/import/gguf/GgufArchitecture.h"
#include <gtest/gtest.h>
#include <set>

using namespace transom;

TEST(GgufArchitecture, rows_name_each_thing_once) {
  const std::vector<std::string> names = gguf::getArchitectureNames();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(),
            names.size());
  for (const std::string &name : names) {
    const gguf::Architecture *row = gguf::findArchitecture(name);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->name, name);
    std::set<std::string> keys, configs, tensors, modules;
    for (const gguf::KeyMap &key : row->keys) {
      EXPECT_TRUE(keys.insert(key.key).second) << name << " " << key.key;
      EXPECT_TRUE(configs.insert(key.config).second) << name << " " << key.key;
    }
    for (const gguf::TensorMap &tensor : row->tensors) {
      EXPECT_TRUE(tensors.insert(tensor.name).second) << tensor.name;
      EXPECT_TRUE(modules.insert(tensor.module).second) << tensor.module;
      EXPECT_EQ(std::string(tensor.name).find("{i}") == std::string::npos,
                std::string(tensor.module).find("{i}") == std::string::npos)
          << tensor.name;
    }
    EXPECT_TRUE(keys.count("block_count"));
  }
  EXPECT_EQ(gguf::findArchitecture("none"), nullptr);
}
