// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session maps exactly the planned memory, and it is sufficient.
#include "test/support/fake/Fake.h"
#include <algorithm>
#include <string>

using namespace transom;
using namespace transom::test;

TEST(ExecutorLayout, memory_is_what_was_foretold) {
  auto model = fakeModel();
  uint64_t last = 0;
  for (int64_t tokens : {64, 5000, 100000}) {
    SessionConfig config = makeConfig(16, tokens, 2);
    Result<SessionLayout> layout = SessionLayout::plan(*model, config);
    ASSERT_TRUE(bool(layout));
    auto session = makeSession(*model, config);
    EXPECT_EQ(session->memory(), layout->total);
    EXPECT_GE(layout->total, last);
    last = layout->total;
    config.memLimit = layout->total;
    EXPECT_TRUE(bool(Session::create(*model, config)));
    config.memLimit = layout->total - 1;
    Result<std::unique_ptr<Session>> refused = Session::create(*model, config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::Limit);
    EXPECT_NE(refused.error().message.find(std::to_string(layout->total)),
              std::string::npos);
  }
  Result<SessionLayout> huge =
      SessionLayout::plan(*model, makeConfig(INT64_MAX / 4, INT64_MAX / 4));
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().status, Status::Limit);
}

TEST(ExecutorLayout, kept_buffers_have_memory_of_their_own) {
  auto plan = [](std::optional<int64_t> kept) {
    Manifest manifest = fakeManifest();
    if (kept)
      manifest.entries[0].buffers.push_back({0, *kept, "", true});
    auto model = fakeModel(manifest);
    return SessionLayout::plan(*model, makeConfig(16, 64, 2));
  };
  Result<SessionLayout> without = plan(std::nullopt), with = plan(1 << 20);
  ASSERT_TRUE(bool(without) && bool(with));
  EXPECT_GE(with->total, without->total + (1 << 20));
  EXPECT_LE(with->total, without->total + (1 << 20) + 4096);
  EXPECT_EQ(with->executor.arena.bytes, without->executor.arena.bytes);
  Result<SessionLayout> huge = plan(INT64_MAX);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().status, Status::Limit);
}

TEST(ExecutorLayout, the_largest_call_fits_with_protected_pages_around) {
  auto model = fakeModel();
  for (bool atEnd : {false, true})
    for (unsigned threads : {1u, 3u}) {
      SessionConfig config = makeConfig(7, 7 * 64, threads);
      config.arenaAtEnd = atEnd;
      config.holdResults = true;
      auto session = makeSession(*model, config);
      EncodeCall call(7, 64);
      call.randomize(9, true);
      ASSERT_TRUE(bool(call.run(*session)));
      call.checkResults();
      std::fill(call.mask.begin(), call.mask.end(), 1);
      ASSERT_TRUE(bool(call.run(*session)));
      call.checkResults();
      std::fill(call.mask.begin(), call.mask.end(), 0);
      ASSERT_TRUE(bool(call.run(*session)));
      call.checkResults();
    }
}
