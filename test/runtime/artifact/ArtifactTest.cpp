// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading the artifact by hand from a file, and files that are cut, changed or
// not artifacts at all: every one gives an error in one line.
#include "runtime/artifact/Elf.h"
#include "runtime/base/Sha256.h"
#include "runtime/execute/Cpu.h"
#include "test/support/fake/Fake.h"
#include <cstring>
#include <elf.h>
#include <random>

using namespace transom;
using namespace transom::test;

static Result<std::unique_ptr<Model>> load(const std::string &path) {
  return Model::load(path, {});
}

static void expectRefused(const std::string &path, Status status,
                          const std::string &expected) {
  Result<std::unique_ptr<Model>> model = load(path);
  ASSERT_FALSE(model) << expected;
  EXPECT_EQ(int(model.error().status), int(status)) << model.error().message;
  EXPECT_NE(model.error().message.find(expected), std::string::npos)
      << model.error().message;
  EXPECT_EQ(model.error().message.find('\n'), std::string::npos);
}

TEST(Artifact, loads_and_runs) {
  TemporaryFolder folder;
  std::string path = folder.path("model.so");
  writeFile(path, fakeFile(fakeManifest()));
  auto model = load(path);
  ASSERT_TRUE(bool(model)) << model.error().message;
  EXPECT_STREQ((*model)->isa().name, "avx2");
  auto session = makeSession(**model, makeConfig(2, 40, 2));
  EncodeCall call(2, 9);
  call.randomize(1, true);
  ASSERT_TRUE(bool(
      session->run("encode", call.inputs.data(), 3, call.outputs.data(), 2)));
  call.checkResults();
}

TEST(Artifact, a_new_file_under_an_old_name_is_the_new_one) {
  TemporaryFolder folder;
  std::string path = folder.path("model.so");
  Manifest manifest = fakeManifest();
  writeFile(path, fakeFile(manifest));
  auto first = load(path);
  ASSERT_TRUE(bool(first));
  manifest.name = "another";
  writeFile(folder.path("new"), fakeFile(manifest));
  ASSERT_EQ(std::rename(folder.path("new").c_str(), path.c_str()), 0);
  auto second = load(path);
  ASSERT_TRUE(bool(second)) << second.error().message;
  EXPECT_EQ((*second)->manifest().name, "another");
  EXPECT_NE(&(*first)->code(), &(*second)->code());
}

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
  EXPECT_TRUE(bool(load(folder.path("longer.so"))));
}

TEST(Artifact, another_abi) {
  TemporaryFolder folder;
  Manifest manifest = fakeManifest();
  manifest.abi = 77;
  writeFile(folder.path("m.so"), fakeFile(manifest));
  expectRefused(folder.path("m.so"), Status::Rejected, "77");
}

TEST(Artifact, no_code_for_this_cpu) {
  TemporaryFolder folder;
  Manifest manifest = fakeManifest();
  manifest.isas = {"vliw"};
  writeFile(folder.path("m.so"), fakeFile(manifest));
  expectRefused(folder.path("m.so"), Status::Unsupported, "vliw");
  writeFile(folder.path("m.so"), fakeFile(fakeManifest()));
  Result<std::unique_ptr<Model>> model =
      Model::load(folder.path("m.so"), {"avx512"});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().status, Status::Unsupported);
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
  // Any changed byte of the manifest is found.
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

TEST(Artifact, flipped_bits_of_headers_never_crash_the_reader) {
  std::string bytes = fakeFile(fakeManifest());
  Result<ElfImage> image = readElf(bytes, "fake");
  ASSERT_TRUE(bool(image));
  auto header = reinterpret_cast<const Elf64_Ehdr *>(bytes.data());
  size_t headers = header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr);
  size_t note = size_t(image->manifest.data() - bytes.data()) - 20;
  std::vector<std::pair<size_t, size_t>> ranges = {
      {0, headers}, {note, note + 20}, {note + 8192 + 20, note + 8192 + 40}};
  for (size_t i = 0; i != header->e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header->e_phoff + i * sizeof segment,
                sizeof segment);
    if (segment.p_type == PT_DYNAMIC)
      ranges.push_back({segment.p_offset, segment.p_offset + segment.p_filesz});
  }
  size_t refused = 0;
  for (auto [begin, end] : ranges)
    for (size_t at = begin; at != end; ++at)
      for (int bit = 0; bit != 8; ++bit) {
        std::string changed = bytes;
        changed[at] = char(changed[at] ^ (1 << bit));
        Result<ElfImage> read = readElf(changed, "changed");
        if (!read) {
          ++refused;
          EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
        }
      }
  EXPECT_GT(refused, 1000u);
}

TEST(Artifact, random_headers_never_crash_the_reader) {
  std::string bytes = fakeFile(fakeManifest());
  std::mt19937 random(5);
  for (int round = 0; round != 3000; ++round) {
    std::string changed = bytes.substr(0, 16384 - random() % 8192);
    for (int i = 0; i != 1 + round % 8; ++i)
      changed[16 + random() % 1000] =
          char(random() % 3 ? random() : (random() % 2 ? 0xff : 0));
    (void)readElf(changed, "changed");
  }
}

TEST(Artifact, refuses_what_runs_or_needs_something) {
  std::string bytes = fakeFile(fakeManifest());
  auto header = reinterpret_cast<const Elf64_Ehdr *>(bytes.data());
  for (size_t i = 0; i != header->e_phnum; ++i) {
    size_t at = header->e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + at, sizeof segment);
    if (segment.p_type != PT_DYNAMIC)
      continue;
    for (int64_t tag : {DT_NEEDED, DT_INIT, DT_INIT_ARRAY, DT_FINI}) {
      std::string changed = bytes;
      std::memcpy(&changed[segment.p_offset], &tag, sizeof tag);
      Result<ElfImage> read = readElf(changed, "changed");
      ASSERT_FALSE(read);
      EXPECT_NE(read.error().message.find("dynamic tag"), std::string::npos);
    }
  }
  std::string other = bytes;
  uint16_t machine = EM_RISCV;
  std::memcpy(&other[offsetof(Elf64_Ehdr, e_machine)], &machine, 2);
  Result<ElfImage> read = readElf(other, "other");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().status, Status::Unsupported);
}

TEST(Artifact, code_of_another_machine_can_be_read_but_not_loaded) {
  TemporaryFolder folder;
  std::string bytes = fakeFile(fakeManifest());
  uint16_t machine = thisMachine() == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
  std::memcpy(&bytes[offsetof(Elf64_Ehdr, e_machine)], &machine, 2);
  signArtifact(bytes);
  writeFile(folder.path("m.so"), bytes);
  EXPECT_TRUE(bool(ArtifactFile::open(folder.path("m.so"))));
  auto model = Model::load(folder.path("m.so"), {});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().status, Status::Unsupported);
  EXPECT_NE(model.error().message.find("has code for " + machineName(machine) +
                                       ", this machine is " +
                                       machineName(thisMachine())),
            std::string::npos)
      << model.error().message;
}

TEST(Artifact, code_of_another_abi) {
  TemporaryFolder folder;
  // The manifest names this version, the table in the code something else.
  std::string bytes = fakeFile(fakeManifest());
  uint32_t wrong = 9;
  Result<ArtifactFile> file = [&] {
    writeFile(folder.path("good.so"), bytes);
    return ArtifactFile::open(folder.path("good.so"));
  }();
  ASSERT_TRUE(bool(file));
  // The table: abi, num_isas 1, a pointer, num_phases 8, num_entries 4.
  const std::string begin{TRANSOM_ABI_VERSION, 0, 0, 0, 1, 0, 0, 0};
  const std::string after("\x08\0\0\0\0\0\0\0\x04\0\0\0", 12);
  size_t at = bytes.find(begin);
  while (at != std::string::npos && bytes.compare(at + 16, 12, after) != 0)
    at = bytes.find(begin, at + 1);
  ASSERT_NE(at, std::string::npos);
  std::memcpy(&bytes[at], &wrong, sizeof wrong);
  signArtifact(bytes);
  writeFile(folder.path("m.so"), bytes);
  expectRefused(folder.path("m.so"), Status::Rejected, "its code has ABI 9");
}

TEST(Artifact, damage_is_refused_before_the_dynamic_loader_sees_the_file) {
  TemporaryFolder folder;
  const std::string bytes = fakeFile(fakeManifest(), "");
  Result<ElfImage> image = readElf(bytes, "fake");
  ASSERT_TRUE(bool(image));
  // All loaded segments but the last, which holds the weights of an artifact.
  for (size_t s = 0; s + 1 < image->segments.size(); ++s) {
    const ElfImage::Segment &segment = image->segments[s];
    for (size_t i = 0; i < segment.size; i += 1 + segment.size / 97) {
      const size_t at = segment.offset + i;
      const bool isIgnored = (at >= 40 && at < 48) || (at >= 60 && at < 64);
      SCOPED_TRACE(at);
      std::string changed = bytes;
      changed[at] = char(changed[at] ^ 0x20);
      writeFile(folder.path("m.so"), changed);
      Result<ArtifactFile> file = ArtifactFile::open(folder.path("m.so"));
      EXPECT_EQ(bool(file), isIgnored);
    }
  }
}

TEST(Artifact, damaged_tokenizer_tables_are_refused) {
  TemporaryFolder folder;
  Manifest manifest = fakeManifest();
  const std::string tables(512, 't');
  const std::string bytes = fakeFile(manifest, tables);
  const size_t begin = bytes.find(tables);
  ASSERT_NE(begin, std::string::npos);
  for (size_t at = begin; at < begin + tables.size(); at += 7) {
    std::string changed = bytes;
    changed[at] = char(changed[at] ^ 1);
    writeFile(folder.path("m.so"), changed);
    expectRefused(folder.path("m.so"), Status::Rejected, "digest");
  }
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

  // A changed byte of the weights is found by this check alone. The fake's
  // segment begins with constants; its dynamic table follows.
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

  // So is a manifest that claims more weights than there are.
  manifest.weightsBytes += 1;
  writeFile(path, fakeFile(manifest));
  expectRefused(path, Status::Rejected, "its weights have");
}

TEST(Artifact, a_file_without_sections_has_the_same_digest) {
  TemporaryFolder folder;
  std::string bytes = fakeFile(fakeManifest());
  auto header = reinterpret_cast<Elf64_Ehdr *>(bytes.data());
  header->e_shoff = 0;
  header->e_shnum = header->e_shstrndx = 0;
  writeFile(folder.path("m.so"), bytes);
  EXPECT_TRUE(bool(load(folder.path("m.so"))));
}
