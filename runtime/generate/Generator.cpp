// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop. A row knows its tokens and how many of them its sequence has seen;
// whatever it has not seen is fed next. So a prompt, one new token, a shifted
// context and a row that had to give its place away are one case.
#include "runtime/generate/Generator.h"
#include "runtime/abi/Layout.h"
#include "runtime/generate/StopStrings.h"
#include "runtime/tokenizer/DecodeStream.h"
#include <algorithm>
#include <limits>

using namespace transom;

const char *transom::finishName(FinishReason reason) {
  switch (reason) {
  case FinishReason::None:
    break;
  case FinishReason::End:
    return "end";
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::Context:
    return "context";
  case FinishReason::Cancelled:
    return "cancelled";
  }
  return "none";
}

int64_t transom::positionsFor(const GenerationConfig &config,
                              int64_t promptLength,
                              std::optional<int64_t> context) {
  // Who asks for more than this asks for no end; then something has to be one.
  constexpr int64_t endless = INT32_MAX, most = int64_t(1) << 20;
  const int64_t length = std::max<int64_t>(1, promptLength);
  const int64_t asked = config.mostNewTokens(promptLength);
  int64_t whole = length + (asked > endless ? most : asked);
  if (context)
    whole = std::min(whole, *context);
  const int64_t shared = length / kvBlockSize * kvBlockSize;
  const int64_t own =
      alignToKvBlock(whole) - std::min(shared, alignToKvBlock(whole));
  return alignToKvBlock(whole) + (config.numReturnSequences - 1) * own;
}

namespace {

/// A continuation that is being made.
struct Row {
  Continuation *out = nullptr;
  std::vector<int64_t> tokens; ///< the prompt's, then the new ones
  size_t promptCount = 0;
  size_t start = 0;      ///< the first token that the sequence begins with
  size_t seen = 0;       ///< tokens from there on that the sequence has seen
  int32_t sequence = -1; ///< -1: none
  int64_t mostNew = 0;
  FinishReason atMost = FinishReason::Length; ///< why mostNew is the most
  bool evicted = false; ///< gave its place away; waits until a row is finished
  std::optional<size_t> leader; ///< will be a copy of that row
  std::optional<DecodeStream> stream;
  std::string promptEnd; ///< text of the prompt that the stream still holds
  std::optional<StopStrings> stops;
};

class Generation {
public:
  Generation(LogitsSource &source, const GenerationConfig &config,
             const Tokenizer *tokenizer, const GenerationCallback &callback)
      : source(source), config(config), tokenizer(tokenizer),
        callback(callback), sampler(config, source.width()),
        context(source.longest()) {}
  ~Generation() {
    for (Row &row : rows)
      leave(row);
  }

  Result<void> prepare(const std::vector<std::vector<int64_t>> &prompts,
                       std::vector<Continuation> &out);
  Result<void> run();

private:
  Result<Row> makeRow(std::vector<int64_t> tokens, const std::string &name);
  Result<void> openText(Row &row);
  Result<void> admit();
  Result<const float *> step();
  bool evictOne();
  Result<void> take(Row &row, const float *logits);
  void forkRows(size_t leader);
  Result<void> choose(Row &row, const float *logits);
  void addLogprobs(Continuation &out, const float *logits, int64_t token);
  FinishReason addText(Row &row, int64_t token, FinishReason finish);
  void shift(Row &row);
  void finish(Row &row, FinishReason reason);
  void leave(Row &row);
  void cancelAll();
  std::string getName(const Row &row) const;

  LogitsSource &source;
  const GenerationConfig &config;
  const Tokenizer *tokenizer;
  const GenerationCallback &callback;
  Sampler sampler;
  int64_t context; ///< most positions of a sequence
  std::vector<Row> rows;
  std::vector<size_t> active; ///< rows with a sequence
  std::vector<NewTokens> fed; ///< by active row
  std::string delta;
  size_t firstWaiting = 0; ///< all rows before it are finished
};

} // namespace

/// The prompt's tokens as they are used: of one that is too long the last.
Result<Row> Generation::makeRow(std::vector<int64_t> tokens,
                                const std::string &name) {
  if (tokens.empty()) {
    if (!config.beginToken)
      return rejected(name + " is empty, and the model has no begin token");
    tokens.push_back(*config.beginToken);
  }
  TRANSOM_TRY(
      checkTokens(tokens.data(), tokens.size(), source.vocabulary(), name));
  Row row;
  const int64_t length = int64_t(tokens.size());
  const int64_t half = std::max<int64_t>(1, context / 2);
  int64_t most = config.mostNewTokens(length);
  if (length > context) {
    const bool ours = source.context() && *source.context() == context;
    if (config.contextPolicy == ContextPolicy::Stop)
      return limitError(name + " has " + std::to_string(length) +
                        " tokens, more than the " +
                        (ours ? "model's context of " : "session's cache of ") +
                        std::to_string(context));
    if (config.contextPolicy == ContextPolicy::Shift) {
      row.start = size_t(length - half);
    } else {
      const int64_t kept = std::max(half, context - std::min(context, most));
      tokens.erase(tokens.begin(), tokens.end() - kept);
    }
  }
  row.promptCount = tokens.size();
  const int64_t room = context - int64_t(row.promptCount);
  if (config.contextPolicy != ContextPolicy::Shift && most > room) {
    most = room;
    row.atMost = FinishReason::Context;
  }
  row.mostNew = most;
  row.tokens = std::move(tokens);
  return row;
}

std::string Generation::getName(const Row &row) const {
  std::string name = "prompt " + std::to_string(row.out->prompt);
  if (config.numReturnSequences > 1)
    name += ", continuation " + std::to_string(row.out->number);
  return name;
}

/// Begins the text of a row. The last token of the prompt goes through the
/// decoder too, so that what it does at the beginning of a text is not done in
/// the middle; its own text is left out.
Result<void> Generation::openText(Row &row) {
  if (!tokenizer)
    return {};
  TRANSOM_ASSIGN(DecodeStream stream, DecodeStream::create(*tokenizer));
  row.stops = StopStrings(config.stopStrings);
  delta.clear();
  stream.feed(row.tokens.back(), delta);
  row.stream = stream;
  stream.flush(row.promptEnd);
  return {};
}

Result<void>
Generation::prepare(const std::vector<std::vector<int64_t>> &prompts,
                    std::vector<Continuation> &out) {
  constexpr int64_t reserved = 65536; // new tokens without any allocation
  if (!config.stopStrings.empty() && !tokenizer)
    return unsupported("stop strings need a tokenizer, the model has none");
  const size_t copies = size_t(config.numReturnSequences);
  out.clear();
  out.resize(prompts.size() * copies);
  for (size_t i = 0; i != prompts.size(); ++i) {
    TRANSOM_ASSIGN(Row made,
                   makeRow(prompts[i], "prompt " + std::to_string(i)));
    const size_t leader = rows.size();
    for (size_t number = 0; number != copies; ++number) {
      rows.push_back(made);
      Row &row = rows.back();
      row.out = &out[leader + number];
      row.out->prompt = i;
      row.out->number = number;
      row.out->promptTokens = row.promptCount;
      const size_t most = size_t(std::min(row.mostNew, reserved));
      row.tokens.reserve(row.promptCount + most);
      row.out->tokens.reserve(most);
      if (number > 0)
        row.leader = leader;
      if (Result<void> done = openText(row); !done)
        return done;
    }
  }
  active.reserve(rows.size());
  fed.reserve(rows.size());
  for (Row &row : rows)
    if (row.mostNew <= 0)
      row.out->finish = row.atMost;
  return {};
}

void Generation::leave(Row &row) {
  if (row.sequence >= 0)
    source.close(row.sequence);
  row.sequence = -1;
  row.seen = 0;
}

void Generation::finish(Row &row, FinishReason reason) {
  row.out->finish = reason;
  leave(row);
  for (Row &other : rows)
    other.evicted = false;
}

/// Gives sequences to rows that wait, as many as there is room for.
Result<void> Generation::admit() {
  active.clear();
  int64_t needed = 0; // positions of what will be fed
  // Skip the finished rows at the beginning.
  while (firstWaiting != rows.size() &&
         rows[firstWaiting].out->finish != FinishReason::None)
    ++firstWaiting;
  bool full = false;
  for (size_t i = firstWaiting; i != rows.size(); ++i) {
    Row &row = rows[i];
    if (row.out->finish != FinishReason::None)
      continue;
    // A row without a sequence needs one, a place among the logits, and room
    // for the tokens that it has not seen. A copy waits for its leader.
    const int64_t pending = int64_t(row.tokens.size() - row.start - row.seen);
    if (row.sequence < 0) {
      const bool follows =
          row.leader && rows[*row.leader].out->finish == FinishReason::None;
      if (full || row.evicted || follows ||
          int64_t(active.size()) >= source.maxLogits())
        continue;
      const int64_t room = alignToKvBlock(pending + 1);
      if (!active.empty() && source.freePositions() < needed + room) {
        full = true;
        continue;
      }
      Result<int32_t> opened = source.open();
      if (!opened && active.empty())
        return opened.takeError();
      full = !opened;
      if (!opened)
        continue;
      row.sequence = *opened;
      needed += room;
    }
    active.push_back(i);
  }
  return {};
}

/// Takes the sequence of the last active row away, so that the others have
/// room. It continues later from the same token.
bool Generation::evictOne() {
  if (active.size() < 2)
    return false;
  Row &row = rows[active.back()];
  leave(row);
  row.evicted = true;
  active.pop_back();
  return true;
}

Result<const float *> Generation::step() {
  while (true) {
    fed.clear();
    for (size_t i : active) {
      const Row &row = rows[i];
      const size_t from = row.start + row.seen;
      fed.push_back({row.sequence, row.tokens.data() + from,
                     int64_t(row.tokens.size() - from), 1});
    }
    Result<const float *> logits = source.step(fed.data(), fed.size());
    if (logits || logits.error().status != Status::Limit || !evictOne())
      return logits;
  }
}

/// Copies the leader's sequence for the other continuations of its prompt.
/// Those that find no room see the prompt by themselves later.
void Generation::forkRows(size_t leader) {
  if (rows[leader].out->number != 0)
    return;
  const size_t end = leader + size_t(config.numReturnSequences);
  for (size_t i = leader + 1; i < end; ++i) {
    Row &row = rows[i];
    if (row.leader != leader)
      continue;
    row.leader.reset();
    // A row more in the steps to come, too.
    if (row.out->finish != FinishReason::None ||
        int64_t(active.size()) >= source.maxLogits())
      continue;
    Result<int32_t> copy = source.fork(rows[leader].sequence);
    if (!copy)
      continue;
    row.sequence = *copy;
    row.seen = rows[leader].seen;
    active.push_back(i);
  }
}

void Generation::addLogprobs(Continuation &out, const float *logits,
                             int64_t token) {
  const double sum = logSumExp(logits, source.width());
  out.logprobs.push_back(double(logits[token]) - sum);
  if (config.topLogprobs > 0)
    sampler.appendTop(logits, size_t(config.topLogprobs), sum, out.top);
}

/// Decodes a token into the row's text, looks for stop strings, and hands
/// everything over when the row is finished.
FinishReason Generation::addText(Row &row, int64_t token, FinishReason finish) {
  if (!row.stream)
    return finish;
  std::string &text = row.out->text;
  delta.clear();
  if (token >= 0)
    row.stream->feed(token, delta);
  if (finish != FinishReason::None)
    row.stream->flush(delta);
  if (!row.promptEnd.empty() && !delta.empty()) {
    // Half a character is another text once it is whole.
    if (delta.compare(0, row.promptEnd.size(), row.promptEnd) == 0)
      delta.erase(0, row.promptEnd.size());
    row.promptEnd.clear();
  }
  if (row.stops->feed(delta, text))
    return FinishReason::Stop;
  if (finish != FinishReason::None)
    row.stops->flush(text);
  return finish;
}

/// Chooses the next token of a row and does all that follows from it.
Result<void> Generation::choose(Row &row, const float *logits) {
  Continuation &out = *row.out;
  Result<int64_t> token =
      sampler.choose(logits, {row.tokens.data(), row.tokens.size(),
                              row.promptCount, out.number});
  if (!token) {
    if (firstNonFinite(logits, source.width()) < 0)
      return token.takeError();
    return nonFiniteLogit(int64_t(row.tokens.size()) - 1, getName(row));
  }
  // Record the token.
  row.tokens.push_back(*token);
  out.tokens.push_back(*token);
  if (config.topLogprobs >= 0)
    addLogprobs(out, logits, *token);
  // Decide whether the row ends with it, by the token or by the text.
  FinishReason reason = FinishReason::None;
  if (!config.ignoreEnd && config.isEnd(*token))
    reason = FinishReason::End;
  else if (int64_t(out.tokens.size()) >= row.mostNew)
    reason = row.atMost;
  const size_t before = out.text.size();
  reason = addText(row, *token, reason);
  out.finish = reason;
  // Tell the caller, who may end the row.
  if (callback &&
      !callback({out, *token, std::string_view(out.text).substr(before)}) &&
      reason == FinishReason::None)
    reason = addText(row, -1, FinishReason::Cancelled);
  if (reason != FinishReason::None)
    finish(row, reason);
  return {};
}

/// Goes on with the last tokens of a row whose context is full.
void Generation::shift(Row &row) {
  const int64_t length = int64_t(row.tokens.size() - row.start);
  if (row.out->finish != FinishReason::None || length <= context)
    return;
  row.start = row.tokens.size() - size_t(std::max<int64_t>(1, context / 2));
  row.seen = 0;
  if (row.sequence >= 0 && !source.rewind(row.sequence, 0))
    leave(row);
}

Result<void> Generation::take(Row &row, const float *logits) {
  if (Result<void> done = choose(row, logits); !done)
    return done;
  shift(row);
  return {};
}

void Generation::cancelAll() {
  for (Row &row : rows) {
    if (row.out->finish != FinishReason::None)
      continue;
    const size_t before = row.out->text.size();
    finish(row, addText(row, -1, FinishReason::Cancelled));
    if (callback)
      callback({*row.out, -1, std::string_view(row.out->text).substr(before)});
  }
}

Result<void> Generation::run() {
  while (true) {
    if (Result<void> done = admit(); !done)
      return done;
    // Run one step over the rows that have room.
    if (active.empty())
      return {};
    Result<const float *> logits = step();
    if (!logits) {
      if (logits.error().status == cancelledStep)
        cancelAll();
      return logits.takeError();
    }
    // Choose a token for each row; the first token of a prompt is chosen for
    // all its continuations, which copy the sequence before it goes on.
    const size_t stepped = active.size();
    for (size_t i = 0; i != stepped; ++i) {
      const size_t leader = active[i];
      rows[leader].seen = rows[leader].tokens.size() - rows[leader].start;
      const float *row = *logits + int64_t(i) * source.width();
      const size_t forked = active.size();
      forkRows(leader);
      if (Result<void> done = take(rows[leader], row); !done)
        return done;
      for (size_t copy = forked; copy != active.size(); ++copy)
        if (Result<void> done = take(rows[active[copy]], row); !done)
          return done;
    }
  }
}

Result<void> transom::generate(LogitsSource &source,
                               const GenerationConfig &config,
                               const Tokenizer *tokenizer,
                               const std::vector<std::vector<int64_t>> &prompts,
                               const GenerationCallback &callback,
                               std::vector<Continuation> &out) {
  Generation generation(source, config, tokenizer, callback);
  if (Result<void> ready = generation.prepare(prompts, out); !ready)
    return ready;
  return generation.run();
}
