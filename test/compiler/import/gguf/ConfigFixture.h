// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file's config, and the errors for one changed key.
#pragma once
#include "test/compiler/import/gguf/TinyGguf.h"

namespace transom::test {

/// The config from a valid file.
inline JsonDocument makeConfig(const GgufWriter &writer,
                               std::vector<std::string> *notes = nullptr) {
  TempFolder folder;
  Result<gguf::Model> model = readGguf(folder, writer);
  EXPECT_TRUE(model) << model.error().message;
  if (notes)
    *notes = model->notes;
  return model->config;
}

inline int64_t getInt(const JsonDocument &config, const char *key) {
  return *config.root().find(key)->asInt();
}

/// Returns the error for one changed key.
inline std::string keyError(const std::string &key, const std::string &value,
                            Status status = Status::Rejected) {
  return withoutByte(modelError(withKey(tinyLlama(), key, value), status));
}

inline std::string unsupportedKey(const std::string &key,
                                  const std::string &value) {
  return keyError(key, value, Status::Unsupported);
}

} // namespace transom::test
