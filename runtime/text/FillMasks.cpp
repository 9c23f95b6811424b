// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Probabilities are computed in double over the full vocabulary, also with
// targets.
#include "runtime/text/FillMasks.h"
#include "runtime/text/Text.h"
#include "runtime/text/TextBatches.h"
#include <algorithm>
#include <cmath>

using namespace transom;

/// Returns the best candidates, with probabilities over all ids.
static std::vector<transom_fill> chooseFills(const float *logits, size_t size,
                                             std::vector<int64_t> candidates,
                                             size_t most) {
  const double maximum = double(*std::max_element(logits, logits + size));
  double sum = 0;
  for (size_t i = 0; i != size; ++i)
    sum += std::exp(double(logits[i]) - maximum);
  most = std::min(most, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + most,
                    candidates.end(), [&](int64_t a, int64_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b]
                                                    : a < b;
                    });
  std::vector<transom_fill> fills;
  for (size_t i = 0; i != most; ++i)
    fills.push_back(
        {candidates[i],
         float(std::exp(double(logits[candidates[i]]) - maximum) / sum)});
  return fills;
}

/// Returns the allowed ids: the targets, or all ids without targets.
static Result<std::vector<int64_t>>
getCandidates(const transom_fill_options &options, int64_t size) {
  std::vector<int64_t> candidates;
  if (!options.num_targets)
    for (int64_t id = 0; id != size; ++id)
      candidates.push_back(id);
  for (size_t i = 0; i != options.num_targets; ++i) {
    if (options.targets[i] < 0 || options.targets[i] >= size)
      return usageError("the target " + std::to_string(options.targets[i]) +
                        " is not an id of the model, which has " +
                        std::to_string(size));
    candidates.push_back(options.targets[i]);
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()),
                   candidates.end());
  return candidates;
}

Result<std::vector<FilledMask>>
transom::fillMasks(Session &session, const transom_text &text,
                   const transom_fill_options &options, Encoding &encoding) {
  const Model &model = session.model();
  const Manifest &manifest = model.manifest();
  if (!model.tokenizer())
    return model.noTokenizer();
  // The model must have a masked language model head and a mask token.
  std::optional<Model::TextUse> use;
  if (manifest.head == "masked_lm")
    use = model.findTextUse("logits");
  if (!use || !use->perToken)
    return unsupported("the model fills no masks; its head is '" +
                       manifest.head + "'");
  if (!manifest.text || !manifest.text->maskToken)
    return unsupported("the model's tokenizer files name no mask_token");
  TRANSOM_ASSIGN(std::vector<int64_t> candidates,
                 getCandidates(options, use->width));
  // The text must have a mask token that is not truncated.
  TRANSOM_ASSIGN(encoding,
                 encodeText(model, text, nullptr, transom_tokenize_options{}));
  const int64_t mask = *manifest.text->maskToken;
  if (std::find(encoding.ids.begin(), encoding.ids.end(), mask) ==
      encoding.ids.end())
    return rejected("the text has no mask token '" +
                    std::string(model.tokenizer()->token(mask).value_or("")) +
                    "'" +
                    (encoding.truncatedTokens ? " before it is cut" : ""));
  // Choose tokens at each mask token.
  std::vector<FilledMask> filled;
  const size_t most = options.top_k ? options.top_k : 5;
  TextBatcher batcher(session, {*use});
  batcher.add(0, encoding);
  TRANSOM_TRY(batcher.flush([&](const TextRows &found) {
    for (size_t i = 0; i != found.count; ++i)
      if (found.encoding.ids[i] == mask)
        filled.push_back(
            {i, chooseFills(found.rows[0] + i * size_t(use->width),
                            size_t(use->width), candidates, most)});
  }));
  return filled;
}
