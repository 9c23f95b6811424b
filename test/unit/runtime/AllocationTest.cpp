// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run allocates nothing: malloc and its kin are replaced by ones that count.
// Sanitizers replace them too, so there this test has nothing to say.
#include "test/unit/runtime/Fake.h"
#include <atomic>
#include <cerrno>
#include <dlfcn.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRANSOM_TEST_SANITIZED 1
#endif
#endif

#ifndef TRANSOM_TEST_SANITIZED
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

static std::atomic<size_t> allocations{0};

extern "C" void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
extern "C" void *calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
extern "C" void *realloc(void *old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
extern "C" void *aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
extern "C" int posix_memalign(void **out, size_t alignment, size_t size) {
  ++allocations;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

using namespace transom;
using namespace transom::test;

TEST(Allocation, the_counter_counts) {
  size_t before = allocations;
  auto kept = std::make_unique<std::vector<int>>(100);
  EXPECT_GE(allocations - before, 2u);
}

TEST(Allocation, a_run_allocates_nothing) {
  auto model = fakeModel();
  for (unsigned threads : {1u, 4u})
    for (bool hold : {false, true}) {
      SessionConfig config = configOf(4, 200, threads);
      config.holdResults = hold;
      config.profile = hold;
      auto session = makeSession(*model, config);
      EncodeCall call(4, 30);
      call.randomize(1, true);
      size_t before = allocations;
      for (int i = 0; i != 3; ++i) {
        Result<void> done = session->run("encode", call.inputs.data(), 3,
                                         call.outputs.data(), hold ? 1 : 2);
        ASSERT_TRUE(bool(done));
      }
      EXPECT_EQ(allocations - before, 0u);
    }
}
#endif
