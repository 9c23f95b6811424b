// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Aligns generated text.
#include "tools/commands/attention/WordAligner.h"
#include "tools/commands/text/Texts.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

Result<std::vector<TextSpan>>
tools::findSpans(const transom_model *model, const std::vector<int64_t> &ids) {
  // A token covers the bytes by which the text grows.
  std::vector<TextSpan> spans;
  std::vector<int64_t> first;
  size_t size = 0;
  for (int64_t id : ids) {
    first.push_back(id);
    TRANSOM_ASSIGN(std::string text,
                   detokenize(model, first, TRANSOM_DETOKENIZE_SKIP_SPECIAL));
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
  AttentionChoice choice = flags.choice;
  choice.kind = "cross";
  TRANSOM_TRY(checkAttentionChoice(model, choice));
  return WordAligner(model, choice, *start, threads);
}

/// Returns the entry inputs for a task and the words on both sides.
Result<WordAligner::Prepared>
WordAligner::prepare(const AlignmentTask &task) const {
  Prepared prepared;
  TokenSequence target;
  for (const transom_token &token : *task.tokens) {
    prepared.source.ids.push_back(token.id);
    prepared.source.labels.emplace_back();
    const TextSpan span{size_t(token.begin), size_t(token.end)};
    prepared.source.spans.push_back(token.special ? TextSpan() : span);
  }
  TRANSOM_ASSIGN(std::string made,
                 detokenize(model, task.ids, TRANSOM_DETOKENIZE_SKIP_SPECIAL));
  TRANSOM_ASSIGN(target.spans, findSpans(model, task.ids));
  target.ids = task.ids;
  target.labels.resize(task.ids.size());
  prepared.sourceWords = findWords(*task.text, prepared.source.spans);
  prepared.targetWords = findWords(made, target.spans);
  if (!task.ids.empty()) {
    TRANSOM_ASSIGN(prepared.decoder, getDecoderInput(model, start, target));
  }
  return Result<Prepared>(std::move(prepared));
}

Result<void> WordAligner::align(const std::vector<AlignmentTask *> &tasks) {
  // A target without tokens has no words.
  std::vector<Prepared> all;
  std::vector<AlignmentTask *> left;
  for (AlignmentTask *task : tasks) {
    TRANSOM_ASSIGN(Prepared prepared, prepare(*task));
    if (task->ids.empty()) {
      task->result =
          Alignment{prepared.sourceWords.words, prepared.targetWords.words, {}};
      continue;
    }
    all.push_back(std::move(prepared));
    left.push_back(task);
  }
  std::vector<AttentionTokens> batch;
  for (const Prepared &prepared : all)
    batch.push_back({&prepared.source, &prepared.decoder});
  if (batch.empty())
    return {};

  // The entry has a lower token limit than others: find the offending tasks.
  Result<std::vector<std::vector<AttentionGroup>>> groups =
      runner.run(batch, choice);
  if (!groups && groups.error().status != Status::Limit)
    return groups.takeError();
  if (!groups && batch.size() == 1) {
    left.front()->error = groups.takeError();
    return {};
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (groups)
      left[i]->result = alignWords((*groups)[i].back(), all[i].sourceWords,
                                   all[i].targetWords);
    else
      TRANSOM_TRY(align({left[i]}));
  }
  return {};
}

Result<void> WordAligner::alignAll(std::vector<AlignmentTask> &tasks) {
  std::vector<AlignmentTask *> batch;
  for (AlignmentTask &task : tasks) {
    batch.push_back(&task);
    if (batch.size() < largestAttentionBatch && &task != &tasks.back())
      continue;
    TRANSOM_TRY(align(batch));
    batch.clear();
  }
  return {};
}

std::string tools::formatPairs(const std::vector<WordPair> &pairs) {
  std::string text;
  for (const auto &[source, target] : pairs)
    text += (text.empty() ? "" : " ") + std::to_string(source) + "-" +
            std::to_string(target);
  return text;
}
