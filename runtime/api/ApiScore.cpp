// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API for scoring: texts with a decoder, and source-target pairs
// with an encoder-decoder, whose entry `score` runs on the padded batch.
#include "runtime/api/ApiPrompts.h"
#include "runtime/generate/Scores.h"
#include "runtime/session/Generate.h"
#include <cstring>

using namespace transom;
using namespace transom::api;

using TokenLists = std::vector<std::vector<int64_t>>;

transom_status transom_session_score(transom_session *handle,
                                     const int64_t *ids, size_t count,
                                     double *logprobs,
                                     transom_token_logprob *top,
                                     size_t topCount) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    TRANSOM_TRY(checkArray("ids", ids, count));
    if (count > 1 && !logprobs)
      return nullArgument("logprobs");
    TRANSOM_ASSIGN(DecoderSource source, DecoderSource::create(session));
    if (top && topCount > size_t(source.width()))
      return usageError("the vocabulary has " + std::to_string(source.width()) +
                        " tokens, got a num_top of " +
                        std::to_string(topCount));
    TRANSOM_ASSIGN(TokenScores scores,
                   scoreTokens(source, ids, count, 1,
                               top ? int64_t(topCount) : 0, "the text"));
    std::copy(scores.logprobs.begin(), scores.logprobs.end(), logprobs);
    for (size_t i = 0; i != scores.top.size(); ++i)
      top[i] = {scores.top[i].token, scores.top[i].logprob};
    return {};
  });
}

transom_status transom_session_score_windows(transom_session *handle,
                                             const int64_t *ids, size_t count,
                                             int64_t window, int64_t stride,
                                             transom_text_score *score) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!score)
      return nullArgument("score");
    TRANSOM_TRY(checkArray("ids", ids, count));
    TRANSOM_ASSIGN(DecoderSource source, DecoderSource::create(session));
    TRANSOM_ASSIGN(TextScore scored,
                   scoreWindows(source, std::vector<int64_t>(ids, ids + count),
                                window, stride, nullptr));
    *score = {scored.sum, scored.tokens, scored.windows};
    return {};
  });
}

static size_t getLongest(const TokenLists &lists) {
  size_t longest = 0;
  for (const std::vector<int64_t> &list : lists)
    longest = std::max(longest, list.size());
  return longest;
}

/// Checks one pair, so errors use the caller's index.
static Result<void> checkPair(const DecoderSource &model, size_t index,
                              const std::vector<int64_t> &source,
                              const std::vector<int64_t> &target) {
  const std::string sourceName = "source " + std::to_string(index);
  const std::string targetName = "target " + std::to_string(index);
  if (source.empty())
    return rejected(sourceName + " has no tokens; a source has 1 or more");
  TRANSOM_TRY(checkTokens(source.data(), source.size(),
                          model.sourceVocabulary(), sourceName));
  TRANSOM_TRY(checkTokens(target.data(), target.size(), model.vocabulary(),
                          targetName));
  if (int64_t(source.size()) > model.longestSource())
    return limitError(sourceName + " has " + std::to_string(source.size()) +
                      " tokens, more than the maximum of a source of " +
                      std::to_string(model.longestSource()));
  if (int64_t(target.size()) > model.longest())
    return limitError(targetName + " has " + std::to_string(target.size()) +
                      " tokens, more than the maximum of " +
                      std::to_string(model.longest()));
  return {};
}

namespace {
/// Ids in lists with different lengths, as a tensor [lists, longest].
class PaddedIds {
public:
  PaddedIds(const TokenLists &lists, int32_t padding)
      : rows(lists.size()), columns(getLongest(lists)),
        values(rows * columns, padding) {
    for (size_t i = 0; i != rows; ++i)
      std::copy(lists[i].begin(), lists[i].end(), &values[i * columns]);
  }
  transom_tensor getTensor(const char *name) {
    transom_tensor tensor = {};
    tensor.name = name;
    tensor.dtype = TRANSOM_DTYPE_I32;
    tensor.rank = 2;
    tensor.shape[0] = int64_t(rows);
    tensor.shape[1] = int64_t(columns);
    tensor.data = values.data();
    tensor.capacity = values.size() * sizeof(int32_t);
    return tensor;
  }

private:
  size_t rows, columns;
  std::vector<int32_t> values;
};
} // namespace

/// Returns log-probabilities [pairs, longest target] from the entry `score`.
/// The longest target must have a token.
static Result<std::vector<float>> scorePairs(Session &session,
                                             const TokenLists &sources,
                                             const TokenLists &targets) {
  TokenLists masks;
  for (const std::vector<int64_t> &source : sources)
    masks.emplace_back(source.size(), 1);
  PaddedIds ids(sources, 0), mask(masks, 0), labels(targets, -100);
  const transom_tensor inputs[] = {ids.getTensor("input_ids"),
                                   mask.getTensor("attention_mask"),
                                   labels.getTensor("labels")};
  std::vector<float> scores(targets.size() * getLongest(targets));
  transom_tensor result = {};
  result.name = "logprobs";
  result.data = scores.data();
  result.capacity = scores.size() * sizeof(float);
  const Entry *entry = session.model().findEntry(EntryKind::Score);
  TRANSOM_TRY(
      session.run(entry->manifest->name.c_str(), inputs, 3, &result, 1));
  return scores;
}

namespace {
/// Sources and their targets.
struct TokenPairs {
  TokenLists sources, targets;
};
} // namespace

/// Tokenizes and checks the caller's pairs.
static Result<TokenPairs> readPairs(Session &session,
                                    const transom_prompt *sources,
                                    const transom_prompt *targets,
                                    size_t count) {
  TRANSOM_ASSIGN(const DecoderSource model, DecoderSource::create(session));
  if (!model.hasSources())
    return unsupported("scoring targets needs an encoder-decoder; "
                       "transom_session_score() scores texts with a decoder");
  TokenPairs pairs;
  TRANSOM_ASSIGN(pairs.sources,
                 getSourceTokens(session.model(), sources, count));
  transom_tokenize_options how = transom_tokenize_options_default();
  how.no_truncation = how.target = 1;
  TRANSOM_ASSIGN(pairs.targets, getPromptTokens(session.model(), "target",
                                                targets, count, how));
  for (size_t i = 0; i != count; ++i)
    TRANSOM_TRY(checkPair(model, i, pairs.sources[i], pairs.targets[i]));
  return pairs;
}

transom_status transom_session_score_targets(transom_session *handle,
                                             const transom_prompt *sources,
                                             const transom_prompt *targets,
                                             size_t count, double *logprobs,
                                             size_t capacity, size_t *tokens,
                                             double *sums) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    // Tokenize, and check the output capacity before anything runs.
    TRANSOM_TRY(checkArray("sources", sources, count));
    TRANSOM_TRY(checkArray("targets", targets, count));
    TRANSOM_TRY(checkArray("num_tokens", tokens, count));
    TRANSOM_ASSIGN(const TokenPairs pairs,
                   readPairs(session, sources, targets, count));
    size_t all = 0;
    for (size_t i = 0; i != count; ++i)
      all += tokens[i] = pairs.targets[i].size();
    if (all > capacity / sizeof *logprobs)
      return limitError("the log-probabilities of " + std::to_string(all) +
                        " tokens do not fit into " + std::to_string(capacity) +
                        " bytes");
    if (all && !logprobs)
      return nullArgument("logprobs");
    // Score all pairs, and copy the results without padding.
    std::vector<float> scores;
    if (all) {
      TRANSOM_ASSIGN(scores, scorePairs(session, pairs.sources, pairs.targets));
    }
    const size_t columns = getLongest(pairs.targets);
    for (size_t i = 0; i != count; ++i) {
      double sum = 0;
      for (size_t t = 0; t != tokens[i]; ++t)
        sum += *logprobs++ = double(scores[i * columns + t]);
      if (sums)
        sums[i] = sum;
    }
    return {};
  });
}
