// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defaults of the options of a session.
#include "runtime/execute/Cpu.h"
#include "test/support/fake/Fake.h"

using namespace transom;
using namespace transom::test;

TEST(SessionConfig, uses_no_more_threads_than_cpus) {
  auto model = fakeModel();
  transom_session_options options = transom_session_options_default();
  options.threads = 1;
  EXPECT_EQ(SessionConfig::from(*model, &options)->threads, 1u);
  options.threads = usableCpus() + 3;
  EXPECT_EQ(SessionConfig::from(*model, &options)->threads, usableCpus());
  options.parallel = [](void *, size_t, transom_task, void *) {};
  EXPECT_EQ(SessionConfig::from(*model, &options)->threads, usableCpus() + 3);
}
