// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences in files: a loaded sequence continues where it was; damaged, forged
// and foreign files are rejected.
#include "runtime/base/Sha256.h"
#include "test/support/fake/FakeDecoder.h"
#include <cstring>
#include <random>

using namespace transom;
using namespace transom::test;

namespace {

/// Offsets in the header.
enum : size_t { VersionAt = 8, GroupsAt = 12, LengthAt = 16, ModelAt = 24 };
enum : size_t { SumAt = 56, RecordsAt = 88, FirstAt = 16, CountAt = 24 };

/// A sequence with this length in a file.
struct Saved {
  explicit Saved(size_t length,
                 const SessionConfig &config = decoderConfig(3, 3000))
      : fake(config), tokens(randomTokens(length, 5)),
        path(folder.path("cache")) {
    int32_t sequence = fake.create();
    if (length)
      fake.feed(sequence, tokens, 1);
    Result<void> done = fake->save(sequence, path.c_str());
    EXPECT_TRUE(bool(done)) << done.error().message;
    fake->free(sequence);
  }
  TemporaryFolder folder;
  FakeDecoder fake;
  std::vector<int64_t> tokens;
  std::string path;
};

/// The bytes with their digest corrected.
std::string sealed(std::string bytes) {
  Sha256 hash;
  hash.update(bytes.data(), SumAt);
  hash.update(bytes.data() + RecordsAt, bytes.size() - RecordsAt);
  auto sum = hash.digest();
  std::memcpy(&bytes[SumAt], sum.data(), sum.size());
  return bytes;
}

template <typename T>
std::string withValue(std::string bytes, size_t at, T value) {
  std::memcpy(&bytes[at], &value, sizeof value);
  return bytes;
}

void expectRefused(Saved &saved, const std::string &bytes,
                   const std::string &text, Status status = Status::Rejected) {
  std::string path = saved.folder.path("other");
  writeFile(path, bytes);
  int64_t free = saved.fake->freePositions();
  Result<int32_t> loaded = saved.fake->load(path.c_str());
  ASSERT_FALSE(loaded) << text;
  EXPECT_EQ(loaded.error().status, status);
  EXPECT_NE(loaded.error().message.find(text), std::string::npos)
      << loaded.error().message;
  EXPECT_EQ(saved.fake->freePositions(), free);
  EXPECT_EQ(saved.fake->freeSequences(), saved.fake->maxSequences());
}

} // namespace

TEST(KvFile, a_sequence_goes_on_where_it_was) {
  for (size_t length : {0u, 1u, 256u, 700u, 1300u}) {
    Saved saved(length);
    FakeDecoder other(decoderConfig(2, 2500, 16));
    Result<int32_t> loaded = other->load(saved.path.c_str());
    ASSERT_TRUE(bool(loaded)) << loaded.error().message;
    EXPECT_EQ(other->length(*loaded), int64_t(length));
    other.importSequence(*loaded, saved.tokens);
    other.feed(*loaded, randomTokens(300, 8), 12);
    other.checkFed();
  }
}

TEST(KvFile, what_a_window_dropped_is_not_in_the_file) {
  Saved saved(1300, decoderConfig(3, 6000));
  // Group 0: 6 blocks; group 1 begins at (1300 - 299) / 256: block 3.
  EXPECT_EQ(readFile(saved.path).size(), RecordsAt + 2 * 32 + (6 + 3) * 1024u);
}

TEST(KvFile, a_session_of_short_walks_takes_what_a_long_one_left) {
  Saved saved(2000, decoderConfig(1, 2000, 2000));
  FakeDecoder other(decoderConfig(1, 2000, 1));
  for (int round = 0; round != 2; ++round) {
    Result<int32_t> loaded = other->load(saved.path.c_str());
    ASSERT_TRUE(bool(loaded)) << loaded.error().message;
    EXPECT_EQ(other->length(*loaded), 2000);
    other->free(*loaded);
  }
}

TEST(KvFile, a_cache_of_another_model) {
  Saved saved(10);
  Manifest manifest = fakeDecoderManifest();
  manifest.weightsSha256 = "x";
  FakeDecoder other(decoderConfig(2, 500), manifest);
  Result<int32_t> loaded = other->load(saved.path.c_str());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().status, Status::Rejected);
  EXPECT_NE(loaded.error().message.find("the cache of another model"),
            std::string::npos);
  manifest = fakeDecoderManifest();
  manifest.compiler += "x"; // its blocks may look otherwise inside
  FakeDecoder newer(decoderConfig(2, 500), manifest);
  EXPECT_EQ(newer->load(saved.path.c_str()).error().status, Status::Rejected);
  int32_t sequence = other.create(); // the session is as good as before
  other.feed(sequence, {1, 2, 3}, 3);
  other.checkFed();
}

TEST(KvFile, there_has_to_be_room) {
  Saved saved(700);
  FakeDecoder small(decoderConfig(1, 500));
  EXPECT_EQ(small->load(saved.path.c_str()).error().status, Status::Limit);
  FakeDecoder full(decoderConfig(2, 900)); // 5 blocks
  int32_t sequence = full.create();
  full.feed(sequence, randomTokens(600, 1), 1);
  Result<int32_t> loaded = full->load(saved.path.c_str());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().status, Status::Limit);
  EXPECT_NE(loaded.error().message.find("the cache is full"),
            std::string::npos);
  full->free(sequence);
  EXPECT_TRUE(bool(full->load(saved.path.c_str())));
  FakeDecoder taken(decoderConfig(1, 900));
  taken.create();
  EXPECT_EQ(taken->load(saved.path.c_str()).error().status, Status::Limit);
}

TEST(KvFile, broken_files_are_refused) {
  Saved saved(700);
  const std::string good = readFile(saved.path);
  auto refuse = [&](const std::string &bytes, const char *text) {
    expectRefused(saved, sealed(bytes), text);
  };
  // Truncated files and wrong headers.
  expectRefused(saved, "", "0 bytes");
  expectRefused(saved, good.substr(0, 87), "cut off");
  expectRefused(saved, good.substr(0, 100), "cut off");
  refuse(withValue(good, 0, 'x'), "not a sequence's file");
  refuse(withValue(good, VersionAt, uint32_t(2)), "version 2");
  refuse(withValue(good, ModelAt, 'x'), "another model");
  refuse(withValue(good, GroupsAt, uint32_t(3)), "3 groups");
  refuse(withValue(good, GroupsAt, uint32_t(0xffffffff)), "groups");
  refuse(withValue(good, LengthAt, int64_t(-1)), "-1 positions");
  refuse(withValue(good, LengthAt, int64_t(1) << 40), "positions");
  refuse(withValue(good, LengthAt, int64_t(900)), "does not fit");
  expectRefused(saved, sealed(withValue(good, LengthAt, int64_t(2001))),
                "the session holds", Status::Limit);
  // Wrong records, per group.
  for (size_t group : {0u, 1u}) {
    size_t at = RecordsAt + group * 32;
    refuse(withValue(good, at, int64_t(7)), "does not fit");
    refuse(withValue(good, at + 8, int64_t(64)), "does not fit");
    refuse(withValue(good, at + FirstAt, int64_t(3)), "does not fit");
    refuse(withValue(good, at + FirstAt, int64_t(-1)), "does not fit");
    refuse(withValue(good, at + CountAt, int64_t(1) << 60), "does not fit");
    refuse(withValue(good, at + CountAt, int64_t(-1)), "does not fit");
  }
  // A wrong file size and a wrong digest.
  refuse(good.substr(0, good.size() - 1), "bytes, expected");
  refuse(good + "x", "bytes, expected");
  expectRefused(saved, withValue(good, good.size() - 3, 'x'), "digest");
  // Paths that cannot be opened.
  Result<int32_t> missing = saved.fake->load("/nowhere/at/all");
  EXPECT_EQ(missing.error().status, Status::Unavailable);
  EXPECT_EQ(saved.fake->save(0, "x").error().status, Status::Usage);
  int32_t sequence = saved.fake.create();
  EXPECT_EQ(saved.fake->save(sequence, "/nowhere/at/all").error().status,
            Status::Unavailable);
}

TEST(KvFile, bytes_at_random_do_no_harm) {
  Saved saved(300);
  const std::string good = readFile(saved.path);
  std::mt19937 random(1);
  std::string path = saved.folder.path("other");
  for (int round = 0; round != 300; ++round) {
    std::string bytes = good;
    for (unsigned i = 0, n = 1 + random() % 4; i != n; ++i)
      bytes[random() % (RecordsAt + 64)] = char(random());
    writeFile(path, random() % 2 ? sealed(bytes) : bytes);
    Result<int32_t> loaded = saved.fake->load(path.c_str());
    if (loaded)
      saved.fake->free(*loaded);
  }
  EXPECT_EQ(saved.fake->freePositions(), saved.fake->allPositions());
}
