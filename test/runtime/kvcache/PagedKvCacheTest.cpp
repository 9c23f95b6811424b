// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder with a growing and a read-only cache, as cross attention needs it:
// copies share the read-only blocks, and files hold them.
#include "test/support/fake/FakeDecoder.h"
#include <cstring>

using namespace transom;
using namespace transom::test;

namespace {

/// Fills the blocks of a sequence with a number each.
void fill(FakeDecoder &fake, int32_t sequence, int64_t positions, float value) {
  Result<char *const *> blocks =
      fake->fillReadOnly(sequence, readOnlyGroup, positions);
  ASSERT_TRUE(bool(blocks)) << blocks.error().message;
  for (int64_t i = 0; i != getNumKvBlocks(positions); ++i)
    *reinterpret_cast<float *>((*blocks)[i]) = value + float(i);
}

/// The numbers of a sequence's blocks, from a file of it.
std::vector<float> getNumbers(FakeDecoder &fake, int32_t sequence) {
  TemporaryFolder folder;
  const std::string path = folder.path("cache");
  Result<void> saved = fake->save(sequence, path.c_str());
  EXPECT_TRUE(bool(saved)) << saved.error().message;
  const std::string bytes = readFile(path);
  // Header, one record a group, then the blocks; those of the last group end
  // it.
  std::vector<float> numbers;
  const size_t record = 88 + readOnlyGroup * 32;
  int64_t count;
  std::memcpy(&count, &bytes[record + 24], sizeof count);
  for (int64_t i = count; i != 0; --i) {
    float number;
    std::memcpy(&number, &bytes[bytes.size() - size_t(i) * FAKE_BLOCK_BYTES],
                sizeof number);
    numbers.push_back(number);
  }
  return numbers;
}

} // namespace

TEST(PagedKvCache, copies_share_a_read_only_cache) {
  FakeDecoder fake(decoderConfig(3, 3000), withReadOnlyCache());
  const int32_t first = fake.create();
  fill(fake, first, 600, 7);
  fake.feed(first, randomTokens(300, 1), 1);
  const int32_t second = fake.copy(first), third = fake.copy(second);
  const std::vector<float> expected = {7, 8, 9};
  EXPECT_EQ(getNumbers(fake, second), expected);

  // Each goes on by itself; the read-only blocks stay until the last is freed.
  fake.feed(first, randomTokens(10, 2), 10);
  fake.feed(second, randomTokens(10, 3), 10);
  fake->free(first);
  EXPECT_EQ(getNumbers(fake, third), expected);
  fake.rewind(third, 0);
  EXPECT_EQ(getNumbers(fake, third), expected);
  fake->free(second);
  EXPECT_EQ(getNumbers(fake, third), expected);
  fake->free(third);

  // All blocks are free again: three sequences can fill their caches.
  for (float value : {1.0f, 2.0f, 3.0f}) {
    const int32_t sequence = fake.create();
    fill(fake, sequence, readOnlyPositions, value);
    EXPECT_EQ(getNumbers(fake, sequence)[0], value);
  }
}

TEST(PagedKvCache, a_read_only_cache_is_filled_once) {
  FakeDecoder fake(decoderConfig(2, 1000), withReadOnlyCache());
  const int32_t sequence = fake.create();
  auto status = [&](int32_t which, size_t group, int64_t positions) {
    auto blocks = fake->fillReadOnly(which, group, positions);
    return blocks ? Status::Ok : blocks.error().status;
  };
  EXPECT_EQ(status(sequence, 0, 10), Status::Usage); // a growing one
  EXPECT_EQ(status(sequence, 3, 10), Status::Usage); // no such group
  EXPECT_EQ(status(5, readOnlyGroup, 10), Status::Usage);
  EXPECT_EQ(status(sequence, readOnlyGroup, 0), Status::Usage);
  EXPECT_EQ(status(sequence, readOnlyGroup, readOnlyPositions + 1),
            Status::Usage);
  EXPECT_EQ(status(sequence, readOnlyGroup, 257), Status::Ok);
  EXPECT_EQ(status(sequence, readOnlyGroup, 10), Status::Usage);
}

TEST(PagedKvCache, files_hold_read_only_caches) {
  FakeDecoder fake(decoderConfig(2, 1000), withReadOnlyCache());
  TemporaryFolder folder;
  const std::string path = folder.path("cache");
  const std::vector<int64_t> tokens = randomTokens(40, 4);
  const int32_t sequence = fake.create();
  fill(fake, sequence, 300, 5);
  fake.feed(sequence, tokens, 1);
  ASSERT_TRUE(bool(fake->save(sequence, path.c_str())));
  fake->free(sequence);
  Result<int32_t> loaded = fake->load(path.c_str());
  ASSERT_TRUE(bool(loaded)) << loaded.error().message;
  EXPECT_EQ(fake->length(*loaded), 40);
  EXPECT_EQ(getNumbers(fake, *loaded), (std::vector<float>{5, 6}));
  // A model without the read-only cache does not take the file.
  FakeDecoder other(decoderConfig(2, 1000));
  Result<int32_t> refused = other->load(path.c_str());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::Rejected);
}
