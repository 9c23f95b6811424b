// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fits prompts and their continuations into the context.
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
  const std::vector<int64_t> &from = source.empty() ? tokens : sourceTokens;
  position.source = from.data();
  position.sourceCount = from.size();
  position.allowed = allowed.empty() ? nullptr : &allowed;
  return position;
}

/// Returns the error for a prompt that is longer than the context.
static Error overContext(const LogitsSource &source, const std::string &name,
                         size_t length) {
  const int64_t context = source.longest();
  const bool ours = source.context() && *source.context() == context;
  return limitError(name + " has " + std::to_string(length) +
                    " tokens, more than the " +
                    (ours ? "model's context of " : "session's cache of ") +
                    std::to_string(context));
}

/// Prepares a decoder's prompt.
static Result<PreparedPrompt> prepareTokens(const GenerationConfig &config,
                                            const std::vector<int64_t> &tokens,
                                            const std::string &name) {
  PreparedPrompt prompt;
  prompt.tokens = tokens;
  if (!tokens.empty())
    return prompt;
  if (!config.beginToken)
    return rejected(name + " is empty, and the model has no begin token");
  prompt.tokens.push_back(*config.beginToken);
  return prompt;
}

/// Prepares an encoder-decoder's source.
static Result<PreparedPrompt> prepareSource(const LogitsSource &source,
                                            const GenerationPrompts &prompts,
                                            size_t index,
                                            const std::string &name) {
  PreparedPrompt prompt;
  prompt.source = prompts.ids[index];
  if (!prompts.masks.empty())
    prompt.mask = prompts.masks[index];
  // Padding at the end has no effect.
  while (!prompt.mask.empty() && prompt.mask.back() == 0) {
    prompt.mask.pop_back();
    prompt.source.pop_back();
  }
  for (size_t i = 0; i != prompt.source.size(); ++i)
    if (prompt.mask.empty() || prompt.mask[i] != 0)
      prompt.sourceTokens.push_back(prompt.source[i]);
  if (prompt.sourceTokens.empty())
    return rejected(name + " has no tokens; a source has 1 or more");
  TRANSOM_TRY(checkTokens(prompt.source.data(), prompt.source.size(),
                          source.sourceVocabulary(), name));
  if (int64_t(prompt.source.size()) > source.longestSource())
    return limitError(name + " has " + std::to_string(prompt.source.size()) +
                      " tokens, more than the maximum of a source of " +
                      std::to_string(source.longestSource()));
  return prompt;
}

/// Adds the initial tokens for an encoder-decoder's decoder.
static Result<void> addTarget(const GenerationConfig &config,
                              const GenerationPrompts &prompts, size_t index,
                              PreparedPrompt &prompt) {
  const std::optional<int64_t> start = config.getTargetStart();
  if (!start)
    return rejected("the model's files name no 'decoder_start_token_id' and "
                    "no 'bos_token_id', which generation begins with");
  prompt.tokens = {*start};
  if (prompts.targetPrefixes.empty())
    return {};
  const std::vector<int64_t> &prefix = prompts.targetPrefixes[index];
  const bool hasStart = !prefix.empty() && prefix.front() == *start;
  prompt.tokens.insert(prompt.tokens.end(), prefix.begin() + hasStart,
                       prefix.end());
  return {};
}

/// Sets the allowed tokens: the shortlist, end tokens and forced tokens.
static void setAllowed(const LogitsSource &source,
                       const GenerationConfig &config,
                       const GenerationPrompts &prompts,
                       PreparedPrompt &prompt) {
  if (!prompts.shortlist || !config.useShortlist)
    return;
  const int64_t vocabulary = source.width();
  prompt.allowed =
      prompts.shortlist->getTokens(prompt.sourceTokens, vocabulary);
  auto add = [&](int64_t token) {
    if (token >= 0 && token < vocabulary)
      prompt.allowed.push_back(token);
  };
  for (int64_t token : config.endTokens)
    add(token);
  for (int64_t token : config.forcedEnd)
    add(token);
  add(config.forcedBegin.value_or(-1));
  std::sort(prompt.allowed.begin(), prompt.allowed.end());
  prompt.allowed.erase(
      std::unique(prompt.allowed.begin(), prompt.allowed.end()),
      prompt.allowed.end());
}

/// Truncates a decoder's tokens to the context, and computes the remaining
/// space.
static Result<void> fitContext(const LogitsSource &source,
                               const GenerationConfig &config,
                               const std::string &name,
                               PreparedPrompt &prompt) {
  std::vector<int64_t> &tokens = prompt.tokens;
  const int64_t context = source.longest();
  const int64_t length = int64_t(tokens.size());
  const int64_t half = std::max<int64_t>(1, context / 2);
  int64_t most = config.mostNewTokens(length);
  if (length > context) {
    if (config.contextPolicy == ContextPolicy::Stop || source.hasSources())
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
  return {};
}

Result<PreparedPrompt> transom::preparePrompt(const LogitsSource &source,
                                              const GenerationConfig &config,
                                              const GenerationPrompts &prompts,
                                              size_t index) {
  const std::string name = "prompt " + std::to_string(index);
  const std::vector<int64_t> &ids = prompts.ids[index];
  TRANSOM_ASSIGN(PreparedPrompt prompt,
                 source.hasSources()
                     ? prepareSource(source, prompts, index, name)
                     : prepareTokens(config, ids, name));
  if (source.hasSources()) {
    if (config.contextPolicy == ContextPolicy::Shift)
      return unsupported("shifting the context of an encoder-decoder is not "
                         "supported; supported: decoders");
    TRANSOM_TRY(addTarget(config, prompts, index, prompt));
    setAllowed(source, config, prompts, prompt);
  }
  TRANSOM_TRY(checkTokens(prompt.tokens.data(), prompt.tokens.size(),
                          source.vocabulary(),
                          source.hasSources() ? name + ": target" : name));
  TRANSOM_TRY(fitContext(source, config, name, prompt));
  return prompt;
}

Result<LogitRows> transom::stepColumns(LogitsSource &source,
                                       const std::vector<NewTokens> &fed,
                                       ListedColumns &columns, bool needsSums) {
  if (!columns.update())
    return source.stepSummarized(fed.data(), fed.size(), needsSums);
  LogitRows rows{};
  TRANSOM_ASSIGN(rows.logits, source.stepListed(fed.data(), fed.size(),
                                                columns.getTokens()));
  rows.columns = columns.getColumns();
  rows.numColumns = int64_t(columns.getTokens().size());
  return rows;
}

void NewSequences::reserve(size_t count) {
  sequences.reserve(count);
  if (source.hasSources())
    sources.reserve(count);
}

void NewSequences::freeAll() {
  for (; taken != sequences.size(); ++taken)
    source.free(sequences[taken]);
}

/// Creates sequences for an encoder-decoder: as many sources together as fit.
Result<void>
NewSequences::addSources(const std::vector<const PreparedPrompt *> &prompts) {
  sources.clear();
  for (const PreparedPrompt *prompt : prompts)
    sources.push_back({prompt->source.data(),
                       prompt->mask.empty() ? nullptr : prompt->mask.data(),
                       int64_t(prompt->source.size())});
  for (size_t count = sources.size();; count /= 2) {
    // Until all are created, no element is a sequence.
    sequences.resize(count);
    taken = count;
    Result<void> added =
        source.addSources(sources.data(), count, sequences.data());
    if (added) {
      taken = 0;
      return {};
    }
    if (count == 1 || added.error().status != Status::Limit)
      return added;
  }
}

/// Creates sequences for a decoder.
Result<void> NewSequences::addSequences(size_t count) {
  sequences.clear();
  taken = 0;
  sequences.reserve(count);
  for (size_t i = 0; i != count; ++i) {
    Result<int32_t> sequence = source.create();
    if (!sequence && i == 0)
      return sequence.takeError();
    if (!sequence)
      break;
    sequences.push_back(*sequence);
  }
  return {};
}

Result<void>
NewSequences::create(const std::vector<const PreparedPrompt *> &prompts,
                     bool mayWait) {
  freeAll();
  if (prompts.empty())
    return {};
  Result<void> made =
      source.hasSources() ? addSources(prompts) : addSequences(prompts.size());
  if (!made && mayWait && made.error().status == Status::Limit)
    return {};
  return made;
}

Result<ContinuationText>
ContinuationText::create(const Tokenizer &tokenizer,
                         const GenerationConfig &config,
                         const PreparedPrompt &prompt) {
  TRANSOM_ASSIGN(DecodeStream stream, DecodeStream::create(tokenizer));
  ContinuationText text(std::move(stream), StopStrings(config.stopStrings));
  if (!prompt.source.empty() && prompt.tokens.size() == 1)
    return text;
  text.stream.feed(prompt.tokens.back(), text.delta);
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
    // An incomplete character becomes different text once it is complete.
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
