// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are truncated, changed or not artifacts at all: each gives an
// error in one line.
#include "runtime/artifact/Elf.h"
#include "runtime/base/Sha256.h"
#include "test/support/fake/ModelFile.h"

using namespace transom;
using namespace transom::test;

TEST(Artifact, missing_or_no_file) {
  TemporaryFolder folder;
  expectRefused(folder.path("none.so"), Status::Unavailable, "none.so");
  expectRefused(folder.path("."), Status::Unavailable, "");
  writeFile(folder.path("empty.so"), "");
  expectRefused(folder.path("empty.so"), Status::Rejected, "shared object");
  writeFile(folder.path("text.so"), std::string(5000, 'x'));
  expectRefused(folder.path("text.so"), Status::Rejected, "shared object");
}

TEST(Artifact, truncated_anywhere) {
  TemporaryFolder folder;
  std::string bytes = fakeFile(fakeManifest());
  Result<ElfImage> image = readElf(bytes, "fake");
  ASSERT_TRUE(bool(image));
  std::vector<size_t> ends = {1, 4, 16, 63, 64, 65, 100, 64 + 56};
  for (const ElfImage::Segment &segment : image->segments)
    for (size_t end : {segment.offset, segment.offset + segment.size})
      for (size_t around : {end - 1, end, end + 1})
        ends.push_back(around);
  size_t note = size_t(image->manifest.data() - bytes.data());
  for (size_t end : {note - 20, note - 12, note, note + 5, note + 8192,
                     note + 8192 + 21, size_t(image->loadEnd - 1)})
    ends.push_back(end);
  for (size_t end : ends) {
    if (end >= image->loadEnd)
      continue;
    SCOPED_TRACE(end);
    writeFile(folder.path("cut.so"), bytes.substr(0, end));
    expectRefused(folder.path("cut.so"), Status::Rejected, "cut.so");
  }
}

TEST(Artifact, what_lies_behind_the_segments_does_not_matter) {
  TemporaryFolder folder;
  std::string bytes = fakeFile(fakeManifest());
  Result<ElfImage> image = readElf(bytes, "fake");
  ASSERT_TRUE(bool(image));
  writeFile(folder.path("stripped.so"), bytes.substr(0, image->loadEnd));
  EXPECT_TRUE(bool(ArtifactFile::open(folder.path("stripped.so"))));
  writeFile(folder.path("longer.so"), bytes + "appended");
  EXPECT_TRUE(bool(loadFile(folder.path("longer.so"))));
}

TEST(Artifact, another_abi) {
  TemporaryFolder folder;
  Manifest manifest = fakeManifest();
  manifest.abi = 77;
  writeFile(folder.path("m.so"), fakeFile(manifest));
  expectRefused(folder.path("m.so"), Status::Rejected, "77");
}

TEST(Artifact, changed_manifests) {
  TemporaryFolder folder;
  std::string path = folder.path("m.so");
  Manifest manifest = fakeManifest();
  manifest.fileBytes = 1 << 30;
  writeFile(path, fakeFile(manifest));
  expectRefused(path, Status::Rejected, "truncated");
  manifest.fileBytes = 100;
  writeFile(path, fakeFile(manifest));
  expectRefused(path, Status::Rejected, "100");

  std::string text = fakeManifest().toJson();
  writeFile(path, fakeFileWithText("not json"));
  expectRefused(path, Status::Rejected, "m.so");
  writeFile(path, fakeFileWithText(""));
  expectRefused(path, Status::Rejected, "m.so");
  writeFile(path, fakeFileWithText(text, false));
  expectRefused(path, Status::Rejected, "digest");
  // Any changed byte in the manifest is found.
  std::string good = fakeFile(fakeManifest());
  size_t at = good.find("16*batch");
  good[at] = '0';
  writeFile(path, good);
  expectRefused(path, Status::Rejected, "digest");
}

TEST(Artifact, tokenizer_outside_the_file) {
  TemporaryFolder folder;
  Manifest manifest = fakeManifest();
  manifest.tokenizer = ManifestTokenizer{1 << 29, 5};
  writeFile(folder.path("m.so"), fakeFile(manifest));
  expectRefused(folder.path("m.so"), Status::Rejected, "tokenizer");
  writeFile(folder.path("m.so"), fakeFile(fakeManifest(), "no tables"));
  expectRefused(folder.path("m.so"), Status::Rejected, "m.so");
}

TEST(Artifact, damaged_weights_are_found_when_asked_for) {
  TemporaryFolder folder;
  const std::string path = folder.path("m.so");
  std::string bytes = fakeFile(fakeManifest());
  Result<ElfImage> image = readElf(bytes, "fake");
  ASSERT_TRUE(bool(image));
  // The last segment stands for the weights.
  Manifest manifest = fakeManifest();
  manifest.weightsBytes = image->segments.back().size;
  ASSERT_GT(manifest.weightsBytes, 0u);
  const std::string_view weights = std::string_view(bytes).substr(
      image->segments.back().offset, manifest.weightsBytes);
  manifest.weightsSha256 = Sha256::getHex(weights);
  bytes = fakeFile(manifest);
  writeFile(path, bytes);
  Model::LoadOptions verify;
  verify.verifyWeights = true;
  EXPECT_TRUE(bool(Model::load(path, verify)));

  // Only this check finds a changed weight byte. The fake's segment begins with
  // constants; its dynamic table follows.
  for (uint64_t at : {0, 64, 192}) {
    std::string changed = bytes;
    char &byte = changed[image->segments.back().offset + at];
    byte = char(byte ^ 1);
    writeFile(path, changed);
    Result<ArtifactFile> file = ArtifactFile::open(path);
    ASSERT_TRUE(bool(file)) << file.error().message;
    EXPECT_FALSE(bool(file->checkWeights()));
    auto model = Model::load(path, verify);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().status, Status::Rejected);
    EXPECT_NE(model.error().message.find("sha256"), std::string::npos);
  }

  // So is a manifest that declares more weights than there are.
  manifest.weightsBytes += 1;
  writeFile(path, fakeFile(manifest));
  expectRefused(path, Status::Rejected, "its weights have");
}
