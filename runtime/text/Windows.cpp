// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entire text is tokenized first, so words at window borders have the same
// tokens as in the text.
#include "runtime/text/Windows.h"
#include <algorithm>

using namespace transom;

namespace {

/// Appends tokens [begin, end) of a text.
void append(const Encoding &text, size_t begin, size_t end, Encoding &out) {
  auto copy = [&](const auto &from, auto &to) {
    to.insert(to.end(), from.begin() + ptrdiff_t(begin),
              from.begin() + ptrdiff_t(end));
  };
  copy(text.ids, out.ids);
  copy(text.typeIds, out.typeIds);
  copy(text.offsets, out.offsets);
  copy(text.sequence, out.sequence);
  copy(text.specialMask, out.specialMask);
}

} // namespace

Result<std::vector<TextWindow>> transom::splitIntoWindows(const Encoding &text,
                                                          size_t promptBytes,
                                                          size_t most,
                                                          size_t overlap) {
  // Special and prompt tokens come first, special tokens also last.
  const size_t count = text.ids.size();
  auto isOwn = [&](size_t i) {
    return !text.specialMask[i] && text.offsets[i].end > promptBytes;
  };
  size_t begin = 0, end = count;
  while (begin != count && !isOwn(begin))
    ++begin;
  while (end > begin && !isOwn(end - 1))
    --end;
  const size_t added = begin + count - end;
  if (begin == count || count <= most)
    return std::vector<TextWindow>{{text, end - begin}};
  if (most <= added + overlap)
    return usageError(
        "a chunk of " + std::to_string(most) + " tokens, of which " +
        std::to_string(added) + " are special or of the prompt and " +
        std::to_string(overlap) + " overlap, has no room for others");

  // Each window repeats these tokens around its own part.
  std::vector<TextWindow> windows;
  const size_t room = most - added;
  for (size_t at = begin;; at += room - overlap) {
    TextWindow window;
    const size_t last = std::min(at + room, end);
    append(text, 0, begin, window.encoding);
    append(text, at, last, window.encoding);
    append(text, end, count, window.encoding);
    window.own = last - at;
    windows.push_back(std::move(window));
    if (last == end)
      return windows;
  }
}
