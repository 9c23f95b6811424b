// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model loading: models that run on this host and models that do not.
#include "runtime/artifact/Elf.h"
#include "test/support/fake/ModelFile.h"
#include <cstring>
#include <elf.h>

using namespace transom;
using namespace transom::test;

TEST(Model, loads_and_runs) {
  TemporaryFolder folder;
  std::string path = folder.path("model.so");
  writeFile(path, fakeFile(fakeManifest()));
  auto model = loadFile(path);
  ASSERT_TRUE(bool(model)) << model.error().message;
  EXPECT_STREQ((*model)->isa().name, "avx2");
  auto session = makeSession(**model, makeConfig(2, 40, 2));
  EncodeCall call(2, 9);
  call.randomize(1, true);
  ASSERT_TRUE(bool(
      session->run("encode", call.inputs.data(), 3, call.outputs.data(), 2)));
  call.checkResults();
}

TEST(Model, a_new_file_under_an_old_name_is_the_new_one) {
  TemporaryFolder folder;
  std::string path = folder.path("model.so");
  Manifest manifest = fakeManifest();
  writeFile(path, fakeFile(manifest));
  auto first = loadFile(path);
  ASSERT_TRUE(bool(first));
  manifest.name = "another";
  writeFile(folder.path("new"), fakeFile(manifest));
  ASSERT_EQ(std::rename(folder.path("new").c_str(), path.c_str()), 0);
  auto second = loadFile(path);
  ASSERT_TRUE(bool(second)) << second.error().message;
  EXPECT_EQ((*second)->manifest().name, "another");
  EXPECT_NE(&(*first)->code(), &(*second)->code());
}

TEST(Model, no_code_for_this_cpu) {
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

TEST(Model, code_of_another_machine_can_be_read_but_not_loaded) {
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

TEST(Model, code_of_another_abi) {
  TemporaryFolder folder;
  // The manifest names this version, the table in the code something else.
  std::string bytes = fakeFile(fakeManifest());
  uint32_t wrong = 9;
  Result<ArtifactFile> file = [&] {
    writeFile(folder.path("good.so"), bytes);
    return ArtifactFile::open(folder.path("good.so"));
  }();
  ASSERT_TRUE(bool(file));
  // The table: abi, num_isas 1, a pointer, num_phases 12, num_entries 8.
  const std::string begin{TRANSOM_ABI_VERSION, 0, 0, 0, 1, 0, 0, 0};
  const std::string after("\x0c\0\0\0\0\0\0\0\x08\0\0\0", 12);
  size_t at = bytes.find(begin);
  while (at != std::string::npos && bytes.compare(at + 16, 12, after) != 0)
    at = bytes.find(begin, at + 1);
  ASSERT_NE(at, std::string::npos);
  std::memcpy(&bytes[at], &wrong, sizeof wrong);
  signArtifact(bytes);
  writeFile(folder.path("m.so"), bytes);
  expectRefused(folder.path("m.so"), Status::Rejected, "its code has ABI 9");
}
