// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts are collected in windows and sorted by length within each window.
#include "runtime/text/TextBatches.h"
#include "runtime/text/Text.h"
#include <algorithm>
#include <numeric>

using namespace transom;

TextBatcher::TextBatcher(Session &session, TextUses uses)
    : session(session), uses(std::move(uses)) {
  const auto &limit = this->uses.front().entry->manifest->positionLimit;
  if (limit && limit->rule == "nonpad_rank")
    padding = limit->pad;
  runsEmpty = isStaticEmbedding(session.model());
}

void TextBatcher::add(size_t text, Encoding encoding) {
  texts.push_back(text);
  encodings.push_back(std::move(encoding));
}

size_t TextBatcher::window() const {
  constexpr size_t batches = 16;
  return size_t(session.config().maxBatch) * batches;
}

Result<void> TextBatcher::flush(const TakeRows &take) {
  // Sort by descending length, so batches have little padding.
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    size_t first = encodings[a].ids.size(), second = encodings[b].ids.size();
    return first != second ? first > second : a < b;
  });
  const SessionConfig &config = session.config();
  for (size_t at = 0; at != order.size();) {
    size_t columns = encodings[order[at]].ids.size();
    if (columns == 0 && runsEmpty)
      columns = 1;
    if (columns == 0) { // only texts without tokens are left
      for (; at != order.size(); ++at)
        take({texts[order[at]], encodings[order[at]],
              std::vector<const float *>(uses.size()), 0});
      break;
    }
    // Run as many texts together as the session's limits allow.
    size_t batch = std::clamp<size_t>(size_t(config.maxTokens) / columns, 1,
                                      size_t(config.maxBatch));
    batch = std::min(batch, order.size() - at);
    while (!runsEmpty && encodings[order[at + batch - 1]].ids.empty())
      --batch;
    if (Result<void> done = runBatch(&order[at], batch, columns, take); !done)
      return done;
    at += batch;
  }
  texts.clear();
  encodings.clear();
  return {};
}

Result<void> TextBatcher::runBatch(const size_t *order, size_t batch,
                                   size_t columns, const TakeRows &take) {
  // Fill the padded inputs.
  ids.assign(batch * columns, padding);
  mask.assign(batch * columns, 0);
  types.assign(batch * columns, 0);
  expansion.assign(batch * columns, 0);
  const Model::TextUse &use = uses.front();
  for (size_t b = 0; b != batch; ++b) {
    const Encoding &encoding = encodings[order[b]];
    size_t begin = b * columns;
    std::copy(encoding.ids.begin(), encoding.ids.end(), ids.begin() + begin);
    std::copy(encoding.typeIds.begin(), encoding.typeIds.end(),
              types.begin() + begin);
    const size_t own = encoding.ids.size() - encoding.expansionTokens;
    std::fill_n(mask.begin() + begin, use.attends ? encoding.ids.size() : own,
                1);
    std::fill_n(expansion.begin() + begin + own, encoding.expansionTokens, 1);
  }
  // Exclude prompt tokens from pooling.
  pooled = mask;
  for (size_t b = 0; b != batch; ++b)
    std::fill_n(pooled.begin() + b * columns, std::min(use.skipped, columns),
                0);
  // Bind the inputs that the entry has.
  transom_tensor inputs[5];
  size_t count = 0;
  for (auto [index, data] : {std::pair(use.ids, &ids),
                             {use.mask, &mask},
                             {use.types, &types},
                             {use.pooled, &pooled},
                             {use.expansion, &expansion}})
    if (index >= 0) {
      transom_tensor &tensor = inputs[count++];
      tensor = {};
      tensor.name = use.entry->inputs[size_t(index)].name.c_str();
      tensor.dtype = TRANSOM_DTYPE_I64;
      tensor.rank = 2;
      tensor.shape[0] = int64_t(batch);
      tensor.shape[1] = int64_t(columns);
      tensor.data = data->data();
      tensor.capacity = data->size() * sizeof(int64_t);
    }
  // Run the entry, and pass on each text's rows.
  Result<void> done =
      session.run(use.entry->manifest->name.c_str(), inputs, count, nullptr, 0);
  if (!done)
    return done;
  std::vector<const float *> results;
  for (const Model::TextUse &each : uses)
    results.push_back(static_cast<const float *>(
        session.executor().heldResult(*each.entry, size_t(each.result), 1)));
  for (size_t b = 0; b != batch; ++b) {
    const Encoding &encoding = encodings[order[b]];
    TextRows found = {
        texts[order[b]], encoding, {}, use.perToken ? encoding.ids.size() : 1};
    for (size_t i = 0; i != uses.size(); ++i)
      found.rows.push_back(results[i] + b * size_t(uses[i].width) *
                                            (uses[i].perToken ? columns : 1));
    take(found);
  }
  return {};
}

Error transom::inText(size_t index, size_t count, Error error) {
  if (count > 1)
    error.message = "text " + std::to_string(index) + ": " + error.message;
  return error;
}

Result<void> transom::runEncoded(Session &session, const TextUses &uses,
                                 size_t count, const EncodeNumbered &encode,
                                 size_t &cut, const TakeRows &take) {
  if (!session.config().holdResults)
    return usageError("texts need a session that holds results");
  TextBatcher batcher(session, uses);
  cut = 0;
  for (size_t i = 0; i != count; ++i) {
    Result<Encoding> encoding = encode(i);
    if (!encoding)
      return inText(i, count, encoding.takeError());
    cut += encoding->truncatedTokens != 0;
    batcher.add(i, std::move(*encoding));
    if (batcher.size() < batcher.window())
      continue;
    if (Result<void> done = batcher.flush(take); !done)
      return done;
  }
  return batcher.flush(take);
}

Result<void> transom::runTexts(Session &session, const TextUses &uses,
                               const transom_text *texts,
                               const transom_text *pairs, size_t count,
                               size_t &cut, const TakeRows &take) {
  return runEncoded(
      session, uses, count,
      [&](size_t i) {
        return encodeText(session.model(), texts[i],
                          pairs ? &pairs[i] : nullptr,
                          transom_tokenize_options{});
      },
      cut, take);
}
