// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that the system may refuse, for example because of a process limit.
// Work that uses threads only for speed then runs on the caller's thread.
#pragma once
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace transom {

/// Starts a thread that calls a copy of `work`; nullopt if the system refuses
/// one.
template <typename Work>
std::optional<std::thread> startThread(const Work &work) {
  try {
    return std::thread(work);
  } catch (const std::system_error &) {
    return std::nullopt;
  }
}

/// Starts work whose result is taken later. If the system refuses a thread, the
/// work runs when its result is taken.
template <typename Work> auto startTask(Work work) {
  // A refused std::async() has moved from its argument.
  auto shared = std::make_shared<Work>(std::move(work));
  auto run = [shared] { return (*shared)(); };
  try {
    return std::async(std::launch::async, run);
  } catch (const std::system_error &) {
    return std::async(std::launch::deferred, run);
  }
}

} // namespace transom
