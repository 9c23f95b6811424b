// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generation loop. A continuation stores its tokens and how many its
// sequence has seen; each step feeds the others. So prompts, single new tokens,
// shifted contexts and continuations whose sequences were freed to make room
// are handled the same way.
#include "runtime/generate/Generator.h"
#include "runtime/abi/Layout.h"
#include "runtime/generate/BeamGenerator.h"
#include "runtime/generate/GenerationPrompt.h"
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
  // A larger request means no limit, but the cache needs one.
  constexpr int64_t endless = INT32_MAX, most = int64_t(1) << 20;
  const int64_t length = std::max<int64_t>(1, promptLength);
  const int64_t asked = config.mostNewTokens(promptLength);
  int64_t whole = length + (asked > endless ? most : asked);
  if (context)
    whole = std::min(whole, *context);
  const int64_t shared = length / kvBlockSize * kvBlockSize;
  const int64_t own =
      alignToKvBlock(whole) - std::min(shared, alignToKvBlock(whole));
  return alignToKvBlock(whole) + (config.getSequences() - 1) * own;
}

namespace {

/// A continuation in progress.
struct ContinuationState {
  Continuation *out = nullptr;
  std::vector<int64_t> tokens; ///< the prompt's, then the new ones
  size_t start = 0;            ///< offset of the sequence's first token
  size_t seen = 0;       ///< tokens from `start` that the sequence has seen
  int32_t sequence = -1; ///< -1: none
  bool evicted = false;  ///< waits until another one is finished
  std::optional<size_t> leader; ///< will be copied from this continuation
  std::optional<ContinuationText> text; ///< nullopt without a tokenizer
};

class Generation {
public:
  Generation(LogitsSource &source, const GenerationConfig &config,
             const Tokenizer *tokenizer, const GenerationCallback &callback)
      : source(source), config(config), tokenizer(tokenizer),
        callback(callback), sampler(config, source.width()),
        columns(source.width(), source.maxListed()), context(source.longest()),
        opened(source) {}
  ~Generation() {
    for (ContinuationState &state : states)
      leave(state);
  }

  Result<void> prepare(const GenerationPrompts &given,
                       std::vector<Continuation> &out);
  Result<void> run();

private:
  Result<void> addStates(size_t prompt, std::vector<Continuation> &out);
  Result<void> admit();
  bool hasRoom(const ContinuationState &state, int64_t needed) const;
  Result<void> open();
  Result<LogitRows> step();
  bool evictOne();
  Result<void> take(ContinuationState &state, const LogitRow &logits);
  void copySequences(size_t leader);
  Result<void> choose(ContinuationState &state, const LogitRow &logits);
  FinishReason addText(ContinuationState &state, int64_t token,
                       FinishReason finish) const;
  void shift(ContinuationState &state);
  void finish(ContinuationState &state, FinishReason reason);
  void leave(ContinuationState &state);
  void cancelAll();
  std::string getName(const ContinuationState &state) const;

  LogitsSource &source;
  const GenerationConfig &config;
  const Tokenizer *tokenizer;
  const GenerationCallback &callback;
  Sampler sampler;
  ListedColumns columns;
  int64_t context; ///< max positions per sequence
  std::vector<PreparedPrompt> prompts;
  std::vector<ContinuationState> states;
  std::vector<size_t> active;  ///< continuations with a sequence
  std::vector<size_t> opening; ///< continuations that will get one
  std::vector<const PreparedPrompt *> openingPrompts;
  NewSequences opened;        ///< not yet owned by a continuation
  std::vector<NewTokens> fed; ///< by active continuation
  size_t firstWaiting = 0;    ///< all earlier continuations are finished
};

} // namespace

std::string Generation::getName(const ContinuationState &state) const {
  std::string name = "prompt " + std::to_string(state.out->prompt);
  if (config.numReturnSequences > 1)
    name += ", continuation " + std::to_string(state.out->number);
  return name;
}

/// Adds a prompt's continuations.
Result<void> Generation::addStates(size_t prompt,
                                   std::vector<Continuation> &out) {
  constexpr int64_t reserved = 65536; // new tokens without any allocation
  const PreparedPrompt &prepared = prompts[prompt];
  const size_t most =
      size_t(std::clamp<int64_t>(prepared.mostNew, 0, reserved));
  const size_t leader = states.size();
  for (size_t number = 0; number != size_t(config.numReturnSequences);
       ++number) {
    // Initialize the continuation from the prompt.
    ContinuationState &state = states.emplace_back();
    state.out = &out[leader + number];
    state.out->prompt = prompt;
    state.out->number = number;
    state.out->promptTokens = prepared.tokens.size();
    state.out->tokens.reserve(most);
    state.start = prepared.start;
    state.tokens.reserve(prepared.tokens.size() + most);
    state.tokens = prepared.tokens;
    // All others copy the sequence of the first one.
    if (number > 0)
      state.leader = leader;
    if (prepared.mostNew <= 0)
      state.out->finish = prepared.atMost;
    if (!tokenizer)
      continue;
    TRANSOM_ASSIGN(state.text,
                   ContinuationText::create(*tokenizer, config, prepared));
  }
  return {};
}

Result<void> Generation::prepare(const GenerationPrompts &given,
                                 std::vector<Continuation> &out) {
  const size_t count = given.ids.size() * size_t(config.numReturnSequences);
  out.clear();
  out.resize(count);
  states.reserve(count);
  prompts.reserve(given.ids.size());
  for (size_t i = 0; i != given.ids.size(); ++i) {
    TRANSOM_ASSIGN(PreparedPrompt prompt,
                   preparePrompt(source, config, given, i));
    prompts.push_back(std::move(prompt));
    TRANSOM_TRY(addStates(i, out));
  }
  active.reserve(count);
  opening.reserve(count);
  openingPrompts.reserve(count);
  opened.reserve(count);
  fed.reserve(count);
  return {};
}

void Generation::leave(ContinuationState &state) {
  if (state.sequence >= 0)
    source.free(state.sequence);
  state.sequence = -1;
  state.seen = 0;
}

void Generation::finish(ContinuationState &state, FinishReason reason) {
  state.out->finish = reason;
  leave(state);
  for (ContinuationState &other : states)
    other.evicted = false;
}

/// True if a continuation without a sequence may get one: there must be a free
/// sequence, a logits row, and room for its unseen tokens.
bool Generation::hasRoom(const ContinuationState &state, int64_t needed) const {
  const size_t others = active.size() + opening.size();
  if (others == 0)
    return true;
  if (int64_t(others) >= source.maxLogits() ||
      int64_t(opening.size()) >= source.freeSequences())
    return false;
  const int64_t pending = int64_t(state.tokens.size() - state.start);
  return source.freePositions() >= needed + alignToKvBlock(pending + 1);
}

/// Creates sequences for the continuations in `opening`; those without room
/// wait.
Result<void> Generation::open() {
  openingPrompts.clear();
  for (size_t i : opening)
    openingPrompts.push_back(&prompts[states[i].out->prompt]);
  TRANSOM_TRY(opened.create(openingPrompts, !active.empty()));
  for (size_t i = 0; !opened.isEmpty(); ++i) {
    active.push_back(opening[i]);
    states[opening[i]].sequence = opened.take();
  }
  return {};
}

/// Gives sequences to as many waiting continuations as there is room for.
Result<void> Generation::admit() {
  active.clear();
  opening.clear();
  int64_t needed = 0; // positions for tokens that will be fed
  // Skip the finished continuations at the beginning.
  while (firstWaiting != states.size() &&
         states[firstWaiting].out->finish != FinishReason::None)
    ++firstWaiting;
  // Collect the active continuations, and waiting ones while there is room.
  bool full = false;
  for (size_t i = firstWaiting; i != states.size(); ++i) {
    ContinuationState &state = states[i];
    if (state.out->finish != FinishReason::None)
      continue;
    if (state.sequence >= 0) {
      active.push_back(i);
      continue;
    }
    // A copy waits for its leader.
    const bool follows =
        state.leader && states[*state.leader].out->finish == FinishReason::None;
    if (full || state.evicted || follows)
      continue;
    full = !hasRoom(state, needed);
    if (full)
      continue;
    needed += alignToKvBlock(int64_t(state.tokens.size() - state.start) + 1);
    opening.push_back(i);
  }
  return open();
}

/// Frees the last active continuation's sequence to make room for the others.
/// It continues later from the same token.
bool Generation::evictOne() {
  if (active.size() < 2)
    return false;
  ContinuationState &state = states[active.back()];
  leave(state);
  state.evicted = true;
  active.pop_back();
  return true;
}

Result<LogitRows> Generation::step() {
  while (true) {
    fed.clear();
    columns.begin();
    for (size_t i : active) {
      const ContinuationState &state = states[i];
      columns.add(prompts[state.out->prompt].allowed);
      const size_t from = state.start + state.seen;
      fed.push_back({state.sequence, state.tokens.data() + from,
                     int64_t(state.tokens.size() - from), 1});
    }
    Result<LogitRows> logits =
        stepColumns(source, fed, columns, /*needsSums=*/false);
    if (logits || logits.error().status != Status::Limit || !evictOne())
      return logits;
  }
}

/// Copies the leader's sequence for the prompt's other continuations. If there
/// is no room, they process the prompt themselves later.
void Generation::copySequences(size_t leader) {
  if (states[leader].out->number != 0)
    return;
  const size_t end = leader + size_t(config.numReturnSequences);
  for (size_t i = leader + 1; i < end; ++i) {
    ContinuationState &state = states[i];
    if (state.leader != leader)
      continue;
    state.leader.reset();
    // The copy also needs a logits row in all later steps.
    if (state.out->finish != FinishReason::None ||
        int64_t(active.size()) >= source.maxLogits())
      continue;
    Result<int32_t> copy = source.copy(states[leader].sequence);
    if (!copy)
      continue;
    state.sequence = *copy;
    state.seen = states[leader].seen;
    active.push_back(i);
  }
}

/// Adds a token to the continuation's text; if the continuation is finished,
/// adds all remaining text.
FinishReason Generation::addText(ContinuationState &state, int64_t token,
                                 FinishReason finish) const {
  return state.text ? state.text->add(token, finish, state.out->text) : finish;
}

/// Chooses a continuation's next token, and updates its state.
Result<void> Generation::choose(ContinuationState &state,
                                const LogitRow &logits) {
  Continuation &out = *state.out;
  const PreparedPrompt &prompt = prompts[out.prompt];
  const SamplingPosition position =
      prompt.getPosition(state.tokens, out.number);
  Result<int64_t> token = sampler.choose(logits, position);
  if (!token) {
    if (sampler.areFinite(logits, position)) {
      Error error = token.takeError();
      error.message = getName(state) + ": " + error.message;
      return error;
    }
    return nonFiniteLogit(int64_t(state.tokens.size()) - 1, getName(state));
  }
  // Record the token.
  if (config.topLogprobs >= 0)
    sampler.appendLogprobs(logits, position, *token, size_t(config.topLogprobs),
                           out.logprobs, out.top);
  state.tokens.push_back(*token);
  out.tokens.push_back(*token);
  // Decide whether the token or the text ends the continuation.
  FinishReason reason = FinishReason::None;
  if (!config.ignoreEnd && config.isEnd(*token))
    reason = FinishReason::End;
  else if (int64_t(out.tokens.size()) >= prompt.mostNew)
    reason = prompt.atMost;
  const size_t before = out.text.size();
  reason = addText(state, *token, reason);
  out.finish = reason;
  // Tell the caller, who may end the continuation.
  if (callback &&
      !callback({out, *token, std::string_view(out.text).substr(before)}) &&
      reason == FinishReason::None)
    reason = addText(state, -1, FinishReason::Cancelled);
  if (reason != FinishReason::None)
    finish(state, reason);
  return {};
}

/// If the context is full, continues with the continuation's last tokens.
void Generation::shift(ContinuationState &state) {
  const int64_t length = int64_t(state.tokens.size() - state.start);
  if (state.out->finish != FinishReason::None || length <= context)
    return;
  state.start = state.tokens.size() - size_t(std::max<int64_t>(1, context / 2));
  state.seen = 0;
  if (state.sequence >= 0 && !source.rewind(state.sequence, 0))
    leave(state);
}

Result<void> Generation::take(ContinuationState &state,
                              const LogitRow &logits) {
  if (Result<void> done = choose(state, logits); !done)
    return done;
  shift(state);
  return {};
}

void Generation::cancelAll() {
  for (ContinuationState &state : states) {
    if (state.out->finish != FinishReason::None)
      continue;
    const size_t before = state.out->text.size();
    finish(state, addText(state, -1, FinishReason::Cancelled));
    if (callback)
      callback(
          {*state.out, -1, std::string_view(state.out->text).substr(before)});
  }
}

Result<void> Generation::run() {
  while (true) {
    if (Result<void> done = admit(); !done)
      return done;
    // Run one step over the continuations that have room.
    if (active.empty())
      return {};
    Result<LogitRows> logits = step();
    if (!logits) {
      if (logits.error().status == cancelledStep)
        cancelAll();
      return logits.takeError();
    }
    // Choose a token for each continuation; the first token after a prompt is
    // chosen for all its continuations, which copy the sequence before it
    // grows.
    const size_t stepped = active.size();
    for (size_t i = 0; i != stepped; ++i) {
      const size_t leader = active[i];
      states[leader].seen = states[leader].tokens.size() - states[leader].start;
      const LogitRow row = logits->get(i, source.width());
      const size_t forked = active.size();
      copySequences(leader);
      if (Result<void> done = take(states[leader], row); !done)
        return done;
      for (size_t copy = forked; copy != active.size(); ++copy)
        if (Result<void> done = take(states[active[copy]], row); !done)
          return done;
    }
  }
}

Result<void> transom::generate(LogitsSource &source,
                               const GenerationConfig &config,
                               const Tokenizer *tokenizer,
                               const GenerationPrompts &prompts,
                               const GenerationCallback &callback,
                               std::vector<Continuation> &out) {
  if (!config.stopStrings.empty() && !tokenizer)
    return unsupported("stop strings need a tokenizer, the model has none");
  if (config.numBeams > 1)
    return generateBeams({source, config, tokenizer, callback}, prompts, out);
  Generation generation(source, config, tokenizer, callback);
  if (Result<void> ready = generation.prepare(prompts, out); !ready)
    return ready;
  return generation.run();
}
