// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small artifact with hand-written code, for tests of artifact writers.
#pragma once
#include "compiler/artifact/Artifact.h"
#include "compiler/artifact/Tables.h"
#include "runtime/abi/Abi.h"
#include "test/compiler/codegen/CodegenTestBase.h"
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace transom::test {

namespace fs = std::filesystem;

/// A separate folder for each test.
class ArtifactFixture : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "transom-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    for (void *library : libraries)
      dlclose(library);
    fs::remove_all(folder);
  }

  /// Two phases, one entry, a weight in each layout.
  static ArtifactPlan smallPlan() {
    ArtifactPlan plan;
    plan.phases = {{"double"}, {"mark"}};
    plan.entries = {{"run", {{0, 0}, {1, -1}, {0, 1}}}};
    plan.rows = {0, 128};
    plan.weights = {{"a", "file(\"32\")", WeightLayout::Rows, 0, 128, {32}, {}},
                    {"b",
                     "file(\"40x3\")",
                     WeightLayout::Panels32,
                     128,
                     3 * 32 * 3 * 4,
                     {40, 3},
                     {5, 35}},
                    {"c",
                     "file(\"40\")",
                     WeightLayout::Padded32,
                     2048,
                     96 * 4,
                     {40},
                     {5, 35}}};
    plan.weightBytes = 4096;
    plan.manifest.name = "small";
    plan.manifest.compiler = "test";
    return plan;
  }

  static std::vector<IsaObject> smallObjects() {
    std::vector<IsaObject> objects;
    Result<std::vector<const InstructionSet *>> isas = selectTargets({});
    for (const InstructionSet *isa : *isas) {
      Result<std::string> object =
          compileObject(phasesFor(isa->name), isa->name);
      EXPECT_TRUE(object) << object.error().message;
      if (object)
        objects.push_back({isa->name, *object});
    }
    return objects;
  }

  Result<ArtifactReport> write(const ArtifactPlan &plan,
                               const std::string &name = "model.so") {
    return writeArtifact(plan, smallObjects(), IndexSource(), nullptr,
                         folder / name, nullptr);
  }

  const transom_artifact_code *load(const fs::path &path) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    if (!library)
      return nullptr;
    libraries.push_back(library);
    return static_cast<const transom_artifact_code *>(
        dlsym(library, artifactSymbol));
  }

  /// The names in the folder.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder))
      names.push_back(entry.path().filename());
    return names;
  }

  fs::path folder;
  std::vector<void *> libraries;
};

/// Runs step `index` in the first entry in one part; returns arena[0]
/// afterwards.
inline float runStep(const transom_artifact_code *code, int64_t index,
                     int64_t part) {
  float arena[64] = {};
  int64_t counters[1] = {0};
  transom_frame frame = {};
  frame.arena = reinterpret_cast<char *>(arena);
  frame.weights = code->weights;
  frame.counters = counters;
  const transom_dispatch &step = code->entries[0].dispatches[index];
  code->isas[0].phases[step.phase](
      &frame, step.layer < 0 ? nullptr : code->layers + step.layer, part, 3);
  return step.phase == 1 ? static_cast<float>(counters[0]) : arena[part];
}

} // namespace transom::test
