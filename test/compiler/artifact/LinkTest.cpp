// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked artifacts: imports and exports, missing symbols, weights larger than a
// gigabyte, and strip, which changes nothing.
#include "compiler/artifact/Link.h"
#include "runtime/base/File.h"
#include "test/compiler/artifact/ArtifactFixture.h"
#include "test/support/TimeLimit.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace transom;
using namespace transom::test;

using Link = ArtifactFixture;

TEST_F(Link, ImportsNothingAndExportsOneSymbol) {
  ASSERT_TRUE(write(smallPlan()));
  auto binary = llvm::object::ObjectFile::createObjectFile(
      (folder / "model.so").string());
  ASSERT_TRUE(bool(binary)) << llvm::toString(binary.takeError());
  auto *elf = llvm::cast<llvm::object::ELF64LEObjectFile>(binary->getBinary());
  std::vector<std::string> names;
  for (llvm::object::SymbolRef symbol : elf->getDynamicSymbolIterators()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    ASSERT_TRUE(bool(name));
    names.push_back(name->str());
  }
  EXPECT_EQ(names, std::vector<std::string>{artifactSymbol});
  for (const auto &entry : *elf->getELFFile().dynamicEntries())
    EXPECT_NE(entry.getTag(), llvm::ELF::DT_NEEDED);
}

TEST_F(Link, SurvivesStrip) {
  ArtifactPlan plan = smallPlan();
  plan.tokenizer = std::string(1000, 't');
  ASSERT_TRUE(write(plan));
  for (const char *tool : {"strip", "llvm-strip-19"}) {
    if (system(("command -v " + std::string(tool) + " >/dev/null").c_str()))
      continue;
    fs::path stripped = folder / tool;
    std::string command = std::string(tool) + " -o " + stripped.string() + " " +
                          (folder / "model.so").string();
    ASSERT_EQ(system(command.c_str()), 0);
    const transom_artifact_code *code = load(stripped);
    ASSERT_NE(code, nullptr) << tool;
    EXPECT_EQ(runStep(code, 2, 1), 2000.0f) << tool;
    // All loaded sections stay at the offsets in the manifest.
    Result<MappedFile> before = MappedFile::open(folder / "model.so");
    Result<MappedFile> after = MappedFile::open(stripped);
    ASSERT_TRUE(before && after);
    size_t tokenizer = before->bytes().find(plan.tokenizer);
    EXPECT_EQ(after->bytes().find(plan.tokenizer), tokenizer) << tool;
  }
}

TEST_F(Link, UndefinedSymbolFailsTheLink) {
  std::vector<IsaObject> objects = smallObjects();
  objects.pop_back();
  ArtifactPlan plan = smallPlan();
  plan.phases.push_back({"missing", "layer.{0,1}"});
  Result<ArtifactReport> report = writeArtifact(
      plan, objects, IndexSource(), nullptr, folder / "model.so", nullptr);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().status, Status::Internal);
  EXPECT_NE(report.error().message.find("transom.p.avx2.missing.layer.{0+1}"),
            std::string::npos)
      << report.error().message;
  EXPECT_TRUE(files().empty());
  EXPECT_TRUE(write(smallPlan())) << "the linker runs again after a failure";
}

TEST_F(Link, LinksThreeGigabytes) {
  std::vector<IsaObject> objects = smallObjects();
  ArtifactPlan plan = smallPlan();
  std::vector<std::string> isas, bytes;
  for (IsaObject &object : objects) {
    isas.push_back(object.isa);
    bytes.push_back(object.object);
  }
  bytes.push_back(*makeTables(plan, isas, 64));
  double start = processorSeconds();
  Result<LinkedImage> image = linkArtifact(bytes, uint64_t(3) << 30);
  ASSERT_TRUE(image) << image.error().message;
  expectSeconds(processorSeconds() - start, 1);
  EXPECT_GE(image->tailOffset, uint64_t(3) << 30);
  EXPECT_LT(image->head.size() + image->tail.size(), 100000u);
}

TEST_F(Link, ReachesWeightsBeyondTwoGigabytes) {
  ArtifactPlan plan = smallPlan();
  const uint64_t far = (uint64_t(5) << 29) + 64;
  plan.rows = {0, static_cast<int64_t>(far)};
  plan.weights[1] = {"far", "file(\"64\")", WeightLayout::Rows, far, 256, {64},
                     {}};
  plan.weights.pop_back();
  plan.weightBytes = far + 256;
  Result<ArtifactReport> report = write(plan);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(fs::file_size(folder / "model.so"), far);
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(runStep(code, 2, 33), 66.0f);
}
