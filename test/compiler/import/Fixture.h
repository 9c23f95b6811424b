// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated model folders, and their import results.
#pragma once
#include "compiler/import/Import.h"
#include "runtime/base/File.h"
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace transom::testing {

/// Tensor shapes by name.
using Shapes = std::map<std::string, std::vector<int64_t>>;

/// A folder under the temporary folder, removed at the end.
class ModelFolder {
public:
  ModelFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "transom-import-XXXXXX")
            .string();
    path = mkdtemp(pattern.data());
  }
  ~ModelFolder() { std::filesystem::remove_all(path); }

  void write(const std::string &name, const std::string &text) const {
    std::ofstream(path + "/" + name, std::ios::binary) << text;
  }
  /// Writes zero tensors.
  void writeTensors(const Shapes &shapes,
                    const std::string &name = "model.safetensors",
                    DType dtype = DType::F32) const {
    SafetensorsWriter writer;
    uint64_t bytes = 0;
    for (const auto &[tensor, shape] : shapes) {
      ASSERT_TRUE(writer.add(tensor, dtype, shape));
      bytes += *tensorBytes(dtype, shape);
    }
    ASSERT_TRUE(writer.begin(path + "/" + name));
    ASSERT_TRUE(writer.append(std::string(bytes, '\0')));
    ASSERT_TRUE(writer.commit());
  }
  /// Returns the import path.
  std::string path;
};

/// The result of one import.
struct Imported {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  ImportInfo info;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Error error{Status::Ok, "", {}};

  explicit Imported(const std::string &path, bool configOnly = false) {
    Result<mlir::OwningOpRef<mlir::ModuleOp>> result =
        importModel(context, {path, configOnly}, info);
    if (result)
      module = std::move(*result);
    else
      error = result.takeError();
  }
  /// Returns the module's assembly with locations.
  std::string text() {
    std::string out;
    if (!module)
      return "error: " + error.message;
    llvm::raw_string_ostream stream(out);
    module->print(stream, mlir::OpPrintingFlags().useLocalScope());
    return out;
  }
};

/// Expects an error with that status whose one line contains every part.
inline void expectError(const std::string &path, Status status,
                        const std::vector<std::string> &parts) {
  Imported result(path);
  EXPECT_FALSE(result.module) << "imported";
  EXPECT_EQ(int(result.error.status), int(status)) << result.error.message;
  EXPECT_EQ(result.error.message.find('\n'), std::string::npos);
  for (const std::string &part : parts)
    EXPECT_NE(result.error.message.find(part), std::string::npos)
        << "no \"" << part << "\" in: " << result.error.message;
}

/// Counts the occurrences of `part` in `text`.
inline size_t getCount(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

/// The repository's root.
inline std::string sourceFolder() {
  const char *folder = std::getenv("TRANSOM_SOURCE_DIR");
  return folder ? folder : ".";
}

} // namespace transom::testing
