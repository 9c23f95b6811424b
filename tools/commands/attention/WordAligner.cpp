// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The alignment of generated text.
#include "tools/commands/attention/WordAligner.h"
#include "tools/commands/Texts.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

Result<std::vector<TextSpan>>
tools::findSpans(const transom_model *model, const std::vector<int64_t> &ids) {
  // A token covers what the text grows by with it.
  std::vector<TextSpan> spans;
  std::vector<int64_t> first;
  size_t size = 0;
  for (int64_t id : ids) {
    first.push_back(id);
    TRANSOM_ASSIGN(std::string text, detokenize(model, first, true));
    spans.push_back({size, std::max(size, text.size())});
    size = spans.back().end;
  }
  return spans;
}

void tools::addAlignmentFlags(CLI::App &app, AlignmentFlags &flags) {
  flags.choice.flagPrefix = "--alignment-";
  CLI::Option *alignments = app.add_flag(
      "--alignments", flags.on,
      "print which words of the source those of a result come from, as in "
      "'0-0 1-2', after a tab; for models that were compiled with --attention");
  app.add_option("--alignment-layers", flags.choice.layers,
                 "layers of the decoder that align words, such as 0,2-5 "
                 "(default: all)")
      ->type_name("LIST")
      ->needs(alignments);
  app.add_option("--alignment-heads", flags.choice.heads,
                 "heads that align words, such as 0,2-5 (default: all)")
      ->type_name("LIST")
      ->needs(alignments);
}

Result<WordAligner> WordAligner::create(const transom_model *model,
                                        const std::string &path,
                                        const AlignmentFlags &flags,
                                        std::optional<int64_t> start,
                                        unsigned threads) {
  TRANSOM_TRY(checkAttentionEntry(model, path));
  if (!takesTarget(model))
    return unsupported("word alignments are not supported for " + quote(path) +
                       "; supported: encoder-decoders");
  if (!start)
    return getStartToken(model).takeError();
  return WordAligner(model, flags.choice, *start, threads);
}

Result<Alignment> WordAligner::align(const std::string &text,
                                     const std::vector<transom_token> &tokens,
                                     const std::vector<int64_t> &ids) {
  TokenSequence source, target;
  for (const transom_token &token : tokens) {
    source.ids.push_back(token.id);
    source.labels.emplace_back();
    const TextSpan span{size_t(token.begin), size_t(token.end)};
    source.spans.push_back(token.special ? TextSpan() : span);
  }
  TRANSOM_ASSIGN(std::string made, detokenize(model, ids, true));
  TRANSOM_ASSIGN(target.spans, findSpans(model, ids));
  target.ids = ids;
  target.labels.resize(ids.size());
  const TokenWords sourceWords = findWords(text, source.spans),
                   targetWords = findWords(made, target.spans);
  if (ids.empty())
    return Alignment{sourceWords.words, targetWords.words, {}};

  TRANSOM_ASSIGN(TokenSequence decoder, getDecoderInput(model, start, target));
  TRANSOM_ASSIGN(std::vector<AttentionGroup> groups,
                 runner.run(source, &decoder, choice));
  if (groups.back().name != "cross")
    return usageError("words are aligned by layers and heads of the decoder");
  return alignWords(groups.back(), sourceWords, targetWords);
}

Result<Alignment> WordAligner::align(const std::string &text,
                                     const std::vector<transom_token> &tokens,
                                     std::vector<int64_t> prefix,
                                     const transom_continuation &continuation) {
  prefix.insert(prefix.end(), continuation.ids,
                continuation.ids + continuation.num_ids);
  return align(text, tokens, prefix);
}

std::string tools::formatPairs(const std::vector<WordPair> &pairs) {
  std::string text;
  for (const auto &[source, target] : pairs)
    text += (text.empty() ? "" : " ") + std::to_string(source) + "-" +
            std::to_string(target);
  return text;
}
