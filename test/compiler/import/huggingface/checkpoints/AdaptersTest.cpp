// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint with adapters computes the results without them, or with a
// task's adapter; each has a separate results file.
#include "test/compiler/import/Numbers.h"

using namespace transom;
using namespace transom::testing;

namespace {

std::string getFolder() {
  return sourceFolder() + "/test/goldens/xlm-roberta-flash";
}

/// An import for a task.
struct ImportedTask {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  ImportInfo info;
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module;

  explicit ImportedTask(const std::string &task,
                        const std::string &path = getFolder(),
                        bool configOnly = false)
      : module(importModel(context, {path, configOnly, task}, info)) {}
  std::string getError() {
    EXPECT_FALSE(module) << "imported";
    return module ? "" : module.error().message;
  }
};

class Adapters : public ::testing::TestWithParam<const char *> {};

TEST_P(Adapters, are_merged) {
  const std::string task = GetParam();
  ImportedTask model(task);
  ASSERT_TRUE(model.module) << model.module.error().message;
  EvaluateOptions options;
  options.source = &model.info.files;
  for (const char *number : {"0", "1", "2"}) {
    Result<std::vector<NamedTensor>> results =
        evaluate(**model.module, "encode",
                 readTensors(getFolder(), std::string("encode.") + number +
                                              ".in.safetensors"),
                 options);
    ASSERT_TRUE(results) << results.error().message;
    for (const NamedTensor &expected :
         readTensors(getFolder(), task + "." + number + ".out.safetensors"))
      expectNear(expected, *results, 2e-6);
  }
  EXPECT_TRUE(model.info.unusedTensors.empty());
}

INSTANTIATE_TEST_SUITE_P(all, Adapters,
                         ::testing::Values("retrieval.query", "separation",
                                           "matching"),
                         [](const auto &info) {
                           return "task_" + std::to_string(info.index);
                         });

TEST(AdaptersOfTasks, are_told) {
  ImportedTask none("");
  ASSERT_TRUE(none.module) << none.module.error().message;
  EXPECT_EQ(none.info.notes,
            (std::vector<std::string>{
                "config.json: no adapter is merged; '--task' merges that of a "
                "task: retrieval.query, separation, matching"}));
  EXPECT_FALSE(none.info.unusedTensors.empty());
  ImportedTask query("retrieval.query");
  EXPECT_EQ(query.info.notes,
            (std::vector<std::string>{"config.json: texts of task "
                                      "'retrieval.query' begin with 'Query: "
                                      "'"}));
  EXPECT_EQ(ImportedTask("separation").info.notes, std::vector<std::string>{});
}

TEST(AdaptersOfTasks, are_known_or_refused) {
  EXPECT_EQ(ImportedTask("seperation").getError(),
            "'--task seperation': the tasks of config.json are "
            "retrieval.query, separation, matching; did you mean "
            "'separation'?");
  EXPECT_EQ(ImportedTask("x", sourceFolder() + "/test/goldens/bert").getError(),
            "'--task x': config.json names no tasks with adapters");
  EXPECT_EQ(ImportedTask("x", sourceFolder() + "/examples/pre-norm").getError(),
            "'--task x': a graph.json has no adapters");
  // Without files the adapters are assumed to exist.
  EXPECT_TRUE(
      ImportedTask("separation", getFolder() + "/config.json", true).module);
}

} // namespace
