// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions over one model are independent.
#include "test/support/fake/Fake.h"
#include <thread>

using namespace transom;
using namespace transom::test;

TEST(Session, two_sessions_of_one_model_at_once) {
  auto model = fakeModel();
  auto work = [&](unsigned seed) {
    auto session = makeSession(*model, makeConfig(3, 64, 2));
    for (unsigned round = 0; round != 30; ++round) {
      EncodeCall call(3, 17);
      call.randomize(seed + round, true);
      ASSERT_TRUE(bool(call.run(*session)));
      call.checkResults();
    }
  };
  std::thread other(work, 100);
  work(200);
  other.join();
}
