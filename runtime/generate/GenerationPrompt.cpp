// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of a prompt and of its continuations a context holds.
#include "runtime/generate/GenerationPrompt.h"
#include <algorithm>

using namespace transom;

SamplingPosition PreparedPrompt::getPosition(const std::vector<int64_t> &all,
                                             uint64_t continuation) const {
  SamplingPosition position;
  position.tokens = all.data();
  position.count = all.size();
  position.promptCount = tokens.size();
  position.continuation = continuation;
  position.maxLength = tokens.size() + size_t(mostNew);
  position.source = tokens.data();
  position.sourceCount = tokens.size();
  return position;
}

/// An error for a prompt that is longer than the context.
static Error overContext(const LogitsSource &source, const std::string &name,
                         size_t length) {
  const int64_t context = source.longest();
  const bool ours = source.context() && *source.context() == context;
  return limitError(name + " has " + std::to_string(length) +
                    " tokens, more than the " +
                    (ours ? "model's context of " : "session's cache of ") +
                    std::to_string(context));
}

Result<PreparedPrompt> transom::preparePrompt(const LogitsSource &source,
                                              const GenerationConfig &config,
                                              std::vector<int64_t> tokens,
                                              const std::string &name) {
  if (tokens.empty()) {
    if (!config.beginToken)
      return rejected(name + " is empty, and the model has no begin token");
    tokens.push_back(*config.beginToken);
  }
  TRANSOM_TRY(
      checkTokens(tokens.data(), tokens.size(), source.vocabulary(), name));
  PreparedPrompt prompt;
  const int64_t context = source.longest();
  const int64_t length = int64_t(tokens.size());
  const int64_t half = std::max<int64_t>(1, context / 2);
  int64_t most = config.mostNewTokens(length);
  if (length > context) {
    if (config.contextPolicy == ContextPolicy::Stop)
      return overContext(source, name, tokens.size());
    if (config.contextPolicy == ContextPolicy::Shift) {
      prompt.start = size_t(length - half);
    } else {
      const int64_t kept = std::max(half, context - std::min(context, most));
      tokens.erase(tokens.begin(), tokens.end() - kept);
    }
  }
  const int64_t room = context - int64_t(tokens.size());
  if (config.contextPolicy != ContextPolicy::Shift && most > room) {
    most = room;
    prompt.atMost = FinishReason::Context;
  }
  prompt.mostNew = most;
  prompt.tokens = std::move(tokens);
  return prompt;
}

Result<ContinuationText>
ContinuationText::create(const Tokenizer &tokenizer,
                         const GenerationConfig &config, int64_t last) {
  TRANSOM_ASSIGN(DecodeStream stream, DecodeStream::create(tokenizer));
  ContinuationText text(std::move(stream), StopStrings(config.stopStrings));
  text.stream.feed(last, text.delta);
  DecodeStream rest = text.stream;
  rest.flush(text.promptEnd);
  return text;
}

FinishReason ContinuationText::add(int64_t token, FinishReason finish,
                                   std::string &text) {
  delta.clear();
  if (token >= 0)
    stream.feed(token, delta);
  if (finish != FinishReason::None)
    stream.flush(delta);
  if (!promptEnd.empty() && !delta.empty()) {
    // Half a character is another text once it is whole.
    if (delta.compare(0, promptEnd.size(), promptEnd) == 0)
      delta.erase(0, promptEnd.size());
    promptEnd.clear();
  }
  if (stops.feed(delta, text))
    return FinishReason::Stop;
  if (finish != FinishReason::None)
    stops.flush(text);
  return finish;
}
