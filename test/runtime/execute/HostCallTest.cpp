// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The floating-point mode and the cancel state on both sides of the boundary
// between a host and a call, and host exceptions.
#include "runtime/execute/HostCall.h"
#include <cfenv>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdexcept>
#include <thread>

using namespace transom;

static int getCancelState() {
  int state, ignored;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_setcancelstate(state, &ignored);
  return state;
}

TEST(HostCall, a_callback_sees_the_mode_of_the_host) {
  for (int mode : {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    std::fesetround(mode);
    {
      const HostCall call;
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      EXPECT_EQ(callHost([] { return std::fegetround(); }), mode);
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      // A callback uses another session, which also has a callback.
      callHost([&] {
        const HostCall inner;
        EXPECT_EQ(std::fegetround(), FE_TONEAREST);
        EXPECT_EQ(callHost([] { return std::fegetround(); }), mode);
      });
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    }
    EXPECT_EQ(std::fegetround(), mode);
  }
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(callHost([] { return 7; }), 7) << "without a call";
}

TEST(HostCall, is_not_cancelled_but_its_callbacks_are) {
  for (int host : {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE}) {
    int ignored;
    pthread_setcancelstate(host, &ignored);
    {
      const HostCall call;
      EXPECT_EQ(getCancelState(), PTHREAD_CANCEL_DISABLE);
#if defined(__GLIBC__)
      EXPECT_EQ(callHost(getCancelState), host);
#else
      EXPECT_EQ(callHost(getCancelState), PTHREAD_CANCEL_DISABLE);
#endif
      EXPECT_EQ(getCancelState(), PTHREAD_CANCEL_DISABLE);
    }
    EXPECT_EQ(getCancelState(), host);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
  }
}

TEST(HostCall, an_exception_becomes_a_host_error) {
  const HostCall call;
  auto getMessage = [](auto function) -> std::string {
    try {
      callHost(function);
    } catch (const HostError &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(getMessage([] { throw std::runtime_error("no\nluck"); }),
            "the host's callback threw: no luck");
  EXPECT_EQ(getMessage([] { throw 3; }),
            "the host's callback threw an exception");
  EXPECT_EQ(getMessage([] {
              throw std::runtime_error(std::string(900, 'x'));
            }).size(),
            255u);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}
