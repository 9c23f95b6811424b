// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged ELF headers, and contents that an artifact must not have.
#include "runtime/artifact/Elf.h"
#include "test/support/fake/Fake.h"
#include <cstring>
#include <elf.h>
#include <random>

using namespace transom;
using namespace transom::test;

TEST(Elf, flipped_bits_of_headers_never_crash_the_reader) {
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

TEST(Elf, random_headers_never_crash_the_reader) {
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

TEST(Elf, refuses_what_runs_or_needs_something) {
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
