// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder with a growing and a read-only cache, as cross attention needs it:
// copies share the read-only blocks, and files hold them.
#include "test/runtime/kvcache/CacheFormats.h"
#include "test/support/fake/FakeDecoder.h"
#include <cstring>

using namespace transom;
using namespace transom::test;

namespace {

/// Fills each block in a sequence with one value.
void fill(FakeDecoder &fake, int32_t sequence, int64_t positions, float value) {
  Result<char *const *> blocks =
      fake->fillReadOnly(sequence, readOnlyGroup, positions);
  ASSERT_TRUE(bool(blocks)) << blocks.error().message;
  for (int64_t i = 0; i != getNumKvBlocks(positions); ++i)
    *reinterpret_cast<float *>((*blocks)[i]) = value + float(i);
}

/// The values in a sequence's blocks, read from its file.
std::vector<float> getNumbers(FakeDecoder &fake, int32_t sequence) {
  TemporaryFolder folder;
  const std::string path = folder.path("cache");
  Result<void> saved = fake->save(sequence, path.c_str());
  EXPECT_TRUE(bool(saved)) << saved.error().message;
  const std::string bytes = readFile(path);
  // The header, one record per group, then the blocks; the last group's blocks
  // end the file.
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

/// A cache with one growing group for four sequences, whose blocks contain NaN.
class Pool {
public:
  explicit Pool(const CacheFormat &format)
      : format(format), plan(*KvPlan::create(getDecoder(), {4, 2048}, 512)),
        blocks(size_t(plan.groups[0].numBlocks * format.blockBytes)),
        tables(size_t(4 * plan.blocksPerSequence)), counts(3 * 64), lengths(4),
        firsts(4), cache(plan, getStorage()) {
    const int32_t sequence = *cache.create();
    extend(sequence, plan.groups[0].numBlocks * kvBlockSize);
    std::fill(blocks.begin(), blocks.end(), char(0xff));
    clearPadding();
    cache.free(sequence);
  }

  /// Gives a sequence positions up to `length`.
  void extend(int32_t sequence, int64_t length) {
    const int64_t past = cache.length(sequence);
    cache.extend(sequence, past, length - past);
    cache.commit(sequence, length, past);
  }
  /// Fills the positions from `begin` to `end` in a sequence's first block with
  /// bytes equal to `value`, as generated code does.
  void write(int32_t sequence, int64_t begin, int64_t end, char value) {
    char *block = cache.block(sequence, 0, 0);
    for (const ManifestCacheRegion &region : format.regions)
      for (int64_t layer = 0; layer != region.layers; ++layer)
        for (int64_t head = 0; head != region.heads; ++head)
          for (int64_t position = begin; position != end; ++position)
            writePosition(block + region.offset + layer * region.layerBytes +
                              head * (kvBlockSize / region.positions) *
                                  region.bytes,
                          region, position, value);
  }
  std::string read(int32_t sequence) const {
    return {cache.block(sequence, 0, 0), size_t(format.blockBytes)};
  }

  CacheFormat format;
  KvPlan plan;
  std::vector<char> blocks;
  std::vector<char *> tables;
  std::vector<uint32_t> counts;
  std::vector<int64_t> lengths, firsts;
  transom_kv_cache table{};
  PagedKvCache cache;

private:
  ManifestDecoder getDecoder() const {
    ManifestDecoder decoder;
    decoder.caches = {
        {0, DType::F32, 2, format.blockBytes, false, 0, format.regions}};
    return decoder;
  }
  KvStorage getStorage() {
    return {lengths.data(), firsts.data(),      tables.data(),
            counts.data(),  counts.data() + 64, counts.data() + 128,
            &table,         blocks.data()};
  }
  /// Nothing writes padding.
  void clearPadding() {
    const std::vector<int16_t> owners = getPositions(format);
    for (size_t i = 0; i != blocks.size(); ++i)
      if (owners[i % owners.size()] < 0)
        blocks[i] = 0;
  }
  /// In this test, the bytes for one position in a unit are `positions` apart.
  static void writePosition(char *run, const ManifestCacheRegion &region,
                            int64_t position, char value) {
    char *unit = run + position / region.positions * region.bytes;
    for (int64_t i = position % region.positions; i < region.bytes;
         i += region.positions)
      unit[i] = value;
  }
};

} // namespace

TEST(PagedKvCache, a_block_is_taken_with_zeros) {
  for (const CacheFormat &format : cacheFormats()) {
    SCOPED_TRACE(format.name);
    Pool pool(format);
    for (int64_t length : {256, 1, 20, 33}) {
      const int32_t sequence = *pool.cache.create();
      pool.extend(sequence, length);
      EXPECT_EQ(pool.read(sequence),
                std::string(size_t(format.blockBytes), '\0'));
      pool.write(sequence, 0, length, 'x');
      pool.cache.free(sequence);
    }
  }
}

TEST(PagedKvCache, a_copied_block_has_the_used_positions_and_zeros) {
  for (const CacheFormat &format : cacheFormats())
    for (int64_t length : {1, 2, 20, 33, 255}) {
      SCOPED_TRACE(format.name + " " + std::to_string(length));
      Pool pool(format);
      const int32_t first = *pool.cache.create();
      pool.extend(first, length);
      pool.write(first, 0, length, 'x');
      const std::string past = pool.read(first);
      const int32_t second = *pool.cache.copy(first);

      // The first sequence that continues gets a copy; its rest is zero.
      pool.extend(second, length + 1);
      EXPECT_NE(pool.cache.block(first, 0, 0), pool.cache.block(second, 0, 0));
      EXPECT_EQ(pool.read(second), past);
      pool.write(second, length, length + 1, 'y');
      EXPECT_EQ(pool.read(first), past);

      // The other keeps its block.
      const char *block = pool.cache.block(first, 0, 0);
      pool.extend(first, length + 1);
      EXPECT_EQ(pool.cache.block(first, 0, 0), block);
      EXPECT_EQ(pool.read(first), past);

      // Copied blocks are clean when they are allocated again.
      pool.cache.free(second);
      const int32_t third = *pool.cache.create();
      pool.extend(third, 3);
      EXPECT_EQ(pool.read(third), std::string(size_t(format.blockBytes), '\0'));
    }
}

TEST(PagedKvCache, a_copy_takes_only_the_units_of_used_positions) {
  for (const CacheFormat &format : cacheFormats()) {
    SCOPED_TRACE(format.name);
    Pool pool(format);
    const int32_t first = *pool.cache.create();
    pool.extend(first, 200);
    pool.write(first, 0, 200, 'x');
    ASSERT_TRUE(pool.cache.rewind(first, 20));
    const int32_t second = *pool.cache.copy(first);
    pool.extend(second, 21);
    const std::vector<int16_t> owners = getPositions(format);
    const std::string copy = pool.read(second), past = pool.read(first);
    for (size_t i = 0; i != copy.size(); ++i)
      ASSERT_EQ(copy[i], owners[i] < 20 ? past[i] : 0) << i;
  }
}

TEST(PagedKvCache, copies_share_a_read_only_cache) {
  FakeDecoder fake(decoderConfig(3, 3000), withReadOnlyCache());
  const int32_t first = fake.create();
  fill(fake, first, 600, 7);
  fake.feed(first, randomTokens(300, 1), 1);
  const int32_t second = fake.copy(first), third = fake.copy(second);
  const std::vector<float> expected = {7, 8, 9};
  EXPECT_EQ(getNumbers(fake, second), expected);

  // Each continues alone; the read-only blocks persist until the last sequence
  // is freed.
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
  // A model without the read-only cache rejects the file.
  FakeDecoder other(decoderConfig(2, 1000));
  Result<int32_t> refused = other->load(path.c_str());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::Rejected);
}
