// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The section's sizes are checked when it is opened, offsets when they are
// read; ids outside the vocabulary are omitted.
#include "runtime/generate/Shortlist.h"
#include "runtime/generate/Softmax.h"
#include <algorithm>
#include <limits>

using namespace transom;
using tokenizer::ArrayView;
using tokenizer::Section;
using tokenizer::ShortlistHeader;

Result<std::optional<Shortlist>> Shortlist::open(const Tokenizer &tokenizer) {
  std::string_view bytes = tokenizer.data().section(Section::Shortlist);
  if (bytes.empty())
    return std::optional<Shortlist>();
  ShortlistHeader header;
  if (bytes.size() < sizeof header)
    return rejected("tokenizer tables: the shortlist is cut short");
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  const uint64_t offsetBytes =
      (uint64_t(header.numSources) + 1) * sizeof(uint32_t);
  if (bytes.size() < offsetBytes)
    return rejected("tokenizer tables: the shortlist has no room for its " +
                    std::to_string(header.numSources) + " source tokens");
  Shortlist list;
  list.first = header.first;
  list.copiesSource = header.copiesSource != 0;
  list.offsets = ArrayView<uint32_t>(bytes.substr(0, size_t(offsetBytes)));
  list.targets = ArrayView<uint32_t>(bytes.substr(size_t(offsetBytes)));
  return std::optional<Shortlist>(list);
}

std::vector<int64_t> Shortlist::getTokens(const std::vector<int64_t> &source,
                                          int64_t vocabulary) const {
  std::vector<int64_t> tokens;
  for (int64_t id = 0; id < std::min<int64_t>(first, vocabulary); ++id)
    tokens.push_back(id);
  auto add = [&](int64_t id) {
    if (id >= 0 && id < vocabulary)
      tokens.push_back(id);
  };
  for (int64_t id : source) {
    if (copiesSource)
      add(id);
    if (id < 0 || uint64_t(id) + 1 >= offsets.size())
      continue;
    const size_t end =
        std::min<size_t>(offsets[size_t(id) + 1], targets.size());
    for (size_t i = offsets[size_t(id)]; i < end; ++i)
      add(targets[i]);
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

bool RestrictedRow::gather(const LogitRow &logits,
                           const std::vector<int64_t> &tokens) {
  listed.reserve(size_t(width));
  listed.clear();
  for (int64_t token : tokens)
    listed.push_back(logits.get(token));
  return firstNonFinite(listed.data(), int64_t(listed.size())) < 0;
}

bool RestrictedRow::restrict(const LogitRow &logits,
                             const std::vector<int64_t> &tokens) {
  const bool isFinite = gather(logits, tokens);
  row.assign(size_t(width), -std::numeric_limits<float>::infinity());
  for (size_t i = 0; i != tokens.size(); ++i)
    row[size_t(tokens[i])] = listed[i];
  return isFinite;
}

double RestrictedRow::getLogSum() const {
  return logSumExp(listed.data(), int64_t(listed.size()));
}
