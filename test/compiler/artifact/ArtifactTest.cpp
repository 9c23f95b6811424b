// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Artifacts with hand-written code: they load, run, describe themselves, and
// never appear half-written.
#include "runtime/artifact/Digest.h"
#include "runtime/base/File.h"
#include "test/compiler/artifact/ArtifactFixture.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace transom;
using namespace transom::test;

using Artifact = ArtifactFixture;

TEST_F(Artifact, LoadsAndRuns) {
  ArtifactPlan plan = smallPlan();
  plan.entries[0].steps[1] = {1, -1, 4, 2};
  ASSERT_TRUE(write(plan));
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->abi, static_cast<uint32_t>(TRANSOM_ABI_VERSION));
  ASSERT_EQ(code->num_isas, 2u);
  EXPECT_STREQ(code->isas[0].name, "avx2");
  EXPECT_STREQ(code->isas[1].name, "avx512");
  ASSERT_EQ(code->num_entries, 1u);
  EXPECT_STREQ(code->entries[0].name, "run");
  ASSERT_EQ(code->entries[0].num_dispatches, 3);
  EXPECT_EQ(code->entries[0].dispatches[1].head_ranges, 4);
  EXPECT_EQ(code->entries[0].dispatches[1].ragged_batch, 2);
  EXPECT_EQ(code->entries[0].dispatches[2].head_ranges, 0);
  EXPECT_EQ(runStep(code, 0, 5), 10.0f); // row 0: weight a
  EXPECT_EQ(runStep(code, 1, 0), 3.0f);
  EXPECT_EQ(runStep(code, 2, 1), 2000.0f); // row 1: weight b, column 1
}

TEST_F(Artifact, ManifestStandsInTheNote) {
  ArtifactPlan plan = smallPlan();
  plan.tokenizer = std::string(1000, 't');
  Result<ArtifactReport> report = write(plan);
  ASSERT_TRUE(report);
  Result<MappedFile> file = MappedFile::open(folder / "model.so");
  ASSERT_TRUE(file);
  // Find the note and the end of the loaded segments.
  auto elf = llvm::cantFail(
      llvm::object::ELFFile<llvm::object::ELF64LE>::create(file->bytes()));
  llvm::Error bad = llvm::Error::success();
  std::string text;
  llvm::StringRef digest;
  uint64_t lastEnd = 0;
  for (const auto &segment : *elf.program_headers()) {
    if (segment.p_type == llvm::ELF::PT_LOAD)
      lastEnd = segment.p_offset + segment.p_filesz;
    if (segment.p_type != llvm::ELF::PT_NOTE)
      continue;
    for (const auto &note : elf.notes(segment, bad))
      if (note.getName() == noteName && note.getType() == manifestNote)
        text = llvm::toStringRef(note.getDesc(4)).str();
      else if (note.getName() == noteName)
        digest = llvm::toStringRef(note.getDesc(4));
  }
  ASSERT_FALSE(bad);
  // The digest covers the loaded code, the manifest describes the file.
  const std::array<uint8_t, 32> expected = computeArtifactDigest(
      file->bytes(), uint64_t(digest.data() - file->bytes().data()));
  EXPECT_EQ(llvm::toHex(digest), llvm::toHex(llvm::ArrayRef(expected)));
  EXPECT_EQ(lastEnd, report->fileBytes);
  Result<Manifest> manifest = Manifest::parse(text);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->fileBytes, report->fileBytes);
  EXPECT_EQ(manifest->weightsSha256, report->weightsSha256);
  EXPECT_EQ(manifest->isas, (std::vector<std::string>{"avx2", "avx512"}));
  ASSERT_TRUE(manifest->tokenizer);
  EXPECT_EQ(file->bytes().substr(manifest->tokenizer->offset, 1000),
            plan.tokenizer);
}

TEST_F(Artifact, FullDiskLeavesNothing) {
  ArtifactPlan plan = smallPlan();
  plan.weights = {{"rows",
                   "file(\"3001x999\")",
                   WeightLayout::Rows,
                   0,
                   uint64_t(3001) * 999 * 4,
                   {3001, 999},
                   {}}};
  plan.weightBytes = plan.weights[0].bytes;
  std::vector<IsaObject> objects = smallObjects();
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{6 << 20, 6 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    Result<ArtifactReport> report = writeArtifact(
        plan, objects, IndexSource(), nullptr, folder / "model.so", nullptr);
    _exit(report ? 0 : static_cast<int>(report.error().status));
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(Status::Unavailable));
  EXPECT_TRUE(files().empty());
}

TEST_F(Artifact, ProgressCanStopTheWriting) {
  uint64_t last = 0;
  Result<ArtifactReport> report =
      writeArtifact(smallPlan(), smallObjects(), IndexSource(), nullptr,
                    folder / "model.so", [&](uint64_t done, uint64_t total) {
                      EXPECT_EQ(total, 4096u);
                      last = done;
                      return done == 0;
                    });
  ASSERT_FALSE(report);
  EXPECT_GT(last, 0u);
  EXPECT_TRUE(files().empty());
}
