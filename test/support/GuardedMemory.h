// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays between two inaccessible pages: an access after the end (or, on
// demand, before the beginning) stops the test.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace transom::test {

/// The array end that touches an inaccessible page.
enum class Edge { End, Begin };

/// Pages between two inaccessible ones.
class GuardedMemory {
public:
  explicit GuardedMemory(size_t bytes, Edge edge = Edge::End);
  GuardedMemory(GuardedMemory &&other) noexcept { *this = std::move(other); }
  GuardedMemory &operator=(GuardedMemory &&other) noexcept;
  ~GuardedMemory();

  void *data() const { return start; }

private:
  void *base = nullptr;
  size_t mapped = 0;
  void *start = nullptr;
};

/// An array with trivial element type in guarded memory.
template <typename T> class Guarded {
public:
  explicit Guarded(size_t count, Edge edge = Edge::End)
      : memory(count * sizeof(T), edge), count(count) {}
  Guarded(const std::vector<T> &values, Edge edge = Edge::End)
      : Guarded(values.size(), edge) {
    for (size_t i = 0; i < count; ++i)
      data()[i] = values[i];
  }

  T *data() const { return static_cast<T *>(memory.data()); }
  size_t size() const { return count; }
  T &operator[](size_t i) const { return data()[i]; }
  T *begin() const { return data(); }
  T *end() const { return data() + count; }
  std::vector<T> copy() const { return std::vector<T>(begin(), end()); }

private:
  GuardedMemory memory;
  size_t count;
};

} // namespace transom::test
