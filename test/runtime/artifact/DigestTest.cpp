// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The digest detects each changed byte in loaded data, and no others.
#include "runtime/artifact/Elf.h"
#include "test/support/fake/ModelFile.h"
#include <elf.h>

using namespace transom;
using namespace transom::test;

TEST(Digest, damage_is_refused_before_the_dynamic_loader_sees_the_file) {
  TemporaryFolder folder;
  const std::string bytes = fakeFile(fakeManifest(), "");
  Result<ElfImage> image = readElf(bytes, "fake");
  ASSERT_TRUE(bool(image));
  // All loaded segments but the last, which holds an artifact's weights.
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

TEST(Digest, damaged_tokenizer_tables_are_refused) {
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

TEST(Digest, a_file_without_sections_has_the_same_digest) {
  TemporaryFolder folder;
  std::string bytes = fakeFile(fakeManifest());
  auto header = reinterpret_cast<Elf64_Ehdr *>(bytes.data());
  header->e_shoff = 0;
  header->e_shnum = header->e_shstrndx = 0;
  writeFile(folder.path("m.so"), bytes);
  EXPECT_TRUE(bool(loadFile(folder.path("m.so"))));
}
