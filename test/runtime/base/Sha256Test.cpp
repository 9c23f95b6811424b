// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 against known hashes.
#include "runtime/base/Sha256.h"
#include "test/runtime/base/TestSupport.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

// FIPS 180-4 examples, and the length at which each padding case changes.
TEST(Sha256, known_hashes) {
  EXPECT_EQ(Sha256::getHex(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256::getHex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256::getHex(
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256::getHex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, engines_and_chunks_agree) {
  Random random(1);
  std::string text;
  for (int i = 0; i < 700; ++i)
    text += static_cast<char>(random.next());
  for (size_t size = 0; size <= text.size(); ++size) {
    Sha256 whole(Sha256::Engine::Portable), chunks;
    whole.update(text.data(), size);
    for (size_t at = 0; at < size;) {
      size_t chunk = std::min<size_t>(size - at, random.next() % 130);
      chunks.update(text.data() + at, chunk);
      at += chunk;
    }
    ASSERT_EQ(whole.hex(), chunks.hex()) << size;
  }
}

TEST(Sha256, several_texts_at_once) {
  Random random(2);
  std::string text;
  for (int i = 0; i < 4000; ++i)
    text += static_cast<char>(random.next());
  for (int round = 0; round < 200; ++round) {
    // Equal lengths, and lengths that differ.
    std::array<std::string_view, Sha256::numLanes> texts;
    const size_t common = random.next() % 1000;
    for (std::string_view &part : texts)
      part = std::string_view(text).substr(
          random.next() % 3000, round % 2 ? common : random.next() % 1000);
    for (auto engine : {Sha256::Engine::Automatic, Sha256::Engine::Portable}) {
      const auto digests = Sha256::getDigests(texts, engine);
      for (size_t lane = 0; lane < texts.size(); ++lane) {
        Sha256 hash(Sha256::Engine::Portable);
        hash.update(texts[lane]);
        ASSERT_EQ(digests[lane], hash.digest()) << round;
      }
    }
  }
}

TEST(Sha256, digest_does_not_end_the_hash) {
  Sha256 hash;
  hash.update("ab");
  (void)hash.hex();
  hash.update("c");
  EXPECT_EQ(hash.hex(), Sha256::getHex("abc"));
}
