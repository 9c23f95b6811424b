// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each step feeds the slots in all groups with the tokens that their sequences
// have not seen, finds the best next tokens for each row on all threads, and
// advances the searches sequentially.
#include "runtime/generate/BeamGenerator.h"
#include "runtime/abi/Layout.h"
#include "runtime/generate/BeamCandidates.h"
#include "runtime/generate/BeamGroup.h"
#include <algorithm>

using namespace transom;

namespace {

/// A row of logits in a step.
struct BeamRow {
  size_t group, slot;
  bool isFinite = true;
  size_t count = 0; ///< number of tokens found
};

class BeamGeneration {
public:
  explicit BeamGeneration(const GenerationCall &call,
                          std::vector<Continuation> &out)
      : source(call.source), config(call.config), tokenizer(call.tokenizer),
        callback(call.callback), out(out),
        columns(call.source.width(), call.source.maxListed()),
        most(BeamSearch::getCount(call.config)), opened(call.source) {}
  ~BeamGeneration() {
    for (BeamGroup &group : groups)
      group.leave(source);
  }

  Result<void> prepare(const GenerationPrompts &given);
  Result<void> run();

private:
  size_t getBeams() const { return size_t(config.numBeams); }
  Result<void> checkRoom() const;
  int64_t getFreeSequences() const;
  Result<void> admit();
  bool hasRoom(int64_t needed) const;
  Result<void> openAll();
  Result<void> open(BeamGroup &group);
  void addRows(size_t index);
  bool evictOne();
  Result<LogitRows> step();
  Result<void> findTokens(const LogitRows &logits);
  void findTokens(const LogitRows &logits, size_t row, BeamCandidates &finder);
  Result<void> advance(size_t firstRow, size_t endRow);
  void findStops(BeamGroup &group);
  Result<void> finish(BeamGroup &group);
  Result<void> give(Continuation &to, const BeamSearch::Hypothesis &from);
  void cancelAll();

  LogitsSource &source;
  const GenerationConfig &config;
  const Tokenizer *tokenizer;
  const GenerationCallback &callback;
  std::vector<Continuation> &out;
  ListedColumns columns;
  size_t most; ///< tokens per beam that its search needs
  std::vector<PreparedPrompt> prompts;
  std::vector<BeamGroup> groups;
  size_t firstWaiting = 0;     ///< all earlier groups are finished
  std::vector<size_t> active;  ///< groups with sequences
  std::vector<size_t> opening; ///< groups that need sequences
  std::vector<const PreparedPrompt *> openingPrompts;
  NewSequences opened; ///< not yet owned by a group
  std::vector<BeamRow> rows;
  std::vector<NewTokens> fed;          ///< by row
  std::vector<ScoredToken> found;      ///< [rows, most]
  std::vector<BeamCandidates> finders; ///< by worker
  std::optional<ContinuationText> probe;
  std::string unused;
};

} // namespace

Result<void> BeamGeneration::checkRoom() const {
  const int64_t room = std::min(source.maxSequences(), source.maxLogits());
  if (config.numBeams > room)
    return limitError("'num_beams' " + std::to_string(config.numBeams) +
                      " is more than the session's " + std::to_string(room) +
                      " sequences");
  if (config.numBeams > source.freeSequences())
    return limitError("'num_beams' " + std::to_string(config.numBeams) +
                      " is more than the session's " +
                      std::to_string(source.freeSequences()) +
                      " free sequences");
  return {};
}

Result<void> BeamGeneration::prepare(const GenerationPrompts &given) {
  const size_t returned = size_t(config.numReturnSequences);
  out.clear();
  out.resize(given.ids.size() * returned);
  prompts.reserve(given.ids.size());
  for (size_t i = 0; i != given.ids.size(); ++i) {
    TRANSOM_ASSIGN(PreparedPrompt prompt,
                   preparePrompt(source, config, given, i));
    prompts.push_back(std::move(prompt));
    BeamGroup &group = groups.emplace_back();
    group.prompt = i;
    group.finished = prompts[i].mostNew <= 0;
    for (size_t number = 0; number != returned; ++number) {
      Continuation &to = out[i * returned + number];
      to.prompt = i;
      to.number = number;
      to.promptTokens = prompts[i].tokens.size();
      to.score = 0;
      if (group.finished)
        to.finish = prompts[i].atMost;
    }
  }
  if (given.ids.empty())
    return {};
  TRANSOM_TRY(checkRoom());
  // Allocate the memory for all steps.
  const size_t rowCount =
      std::min(groups.size() * getBeams(), size_t(source.maxLogits()));
  active.reserve(groups.size());
  opening.reserve(groups.size());
  openingPrompts.reserve(groups.size());
  opened.reserve(groups.size());
  rows.reserve(rowCount);
  fed.reserve(rowCount);
  found.resize(rowCount * most);
  finders.reserve(source.numWorkers());
  for (unsigned i = 0; i != source.numWorkers(); ++i)
    finders.emplace_back(config, source.width());
  return {};
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// Returns the number of free sequences that no open group may still need for
/// its beams.
int64_t BeamGeneration::getFreeSequences() const {
  int64_t count = source.freeSequences();
  for (size_t i = firstWaiting; i != groups.size(); ++i)
    if (groups[i].isOpen())
      count -= config.numBeams - groups[i].countSequences();
  return count;
}

/// Starts or restores the group's search with the next new sequence.
Result<void> BeamGeneration::open(BeamGroup &group) {
  if (group.search)
    return group.restore(source, opened.take());
  const PreparedPrompt &prompt = prompts[group.prompt];
  group.begin(config, prompt);
  group.slots[0].sequence = opened.take();
  if (config.stopStrings.empty())
    return {};
  TRANSOM_ASSIGN(group.slots[0].text,
                 ContinuationText::create(*tokenizer, config, prompt));
  return {};
}

/// Opens the groups in `opening`; those without room wait.
Result<void> BeamGeneration::openAll() {
  openingPrompts.clear();
  for (size_t i : opening)
    openingPrompts.push_back(&prompts[groups[i].prompt]);
  TRANSOM_TRY(opened.create(openingPrompts, !active.empty()));
  for (size_t i = 0; !opened.isEmpty(); ++i) {
    BeamGroup &group = groups[opening[i]];
    if (Result<void> done = open(group); !done) {
      group.leave(source);
      opened.freeAll();
      return done.error().status == Status::Limit && !active.empty()
                 ? Result<void>()
                 : done;
    }
    active.push_back(opening[i]);
  }
  return {};
}

/// True if there is room for one more group's beams. `needed` positions are
/// reserved for others.
bool BeamGeneration::hasRoom(int64_t needed) const {
  const int64_t others = int64_t(active.size() + opening.size());
  if (others == 0)
    return true;
  if (getFreeSequences() < int64_t(opening.size() + 1) * config.numBeams ||
      (others + 1) * config.numBeams > source.maxLogits())
    return false;
  return source.freePositions() >= needed;
}

/// Gives sequences to as many waiting groups as there is room for.
Result<void> BeamGeneration::admit() {
  active.clear();
  opening.clear();
  int64_t needed = 0; // positions for tokens that will be fed
  // Skip the finished groups at the beginning.
  while (firstWaiting != groups.size() && groups[firstWaiting].finished)
    ++firstWaiting;
  // Collect the open groups, and waiting groups while there is room.
  bool full = false;
  for (size_t i = firstWaiting; i != groups.size(); ++i) {
    const BeamGroup &group = groups[i];
    if (group.isOpen())
      active.push_back(i);
    if (group.finished || group.isOpen() || full || group.evicted)
      continue;
    // The beams share the prompt's blocks; each needs one more block.
    const int64_t length = int64_t(prompts[group.prompt].tokens.size());
    const int64_t room =
        alignToKvBlock(length + 1) + (config.numBeams - 1) * kvBlockSize;
    full = !hasRoom(needed + room);
    if (full)
      continue;
    needed += room;
    opening.push_back(i);
  }
  return openAll();
}

/// Frees the last active group's sequences to make room for the others. The
/// group continues later from the same tokens.
bool BeamGeneration::evictOne() {
  if (active.size() < 2)
    return false;
  BeamGroup &group = groups[active.back()];
  group.leave(source);
  group.evicted = true;
  active.pop_back();
  return true;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Adds the tokens that the group's beams have not seen. Before the first step
/// all beams are in one slot.
void BeamGeneration::addRows(size_t index) {
  const BeamGroup &group = groups[index];
  const std::vector<BeamSearch::Beam> &beams = group.search->getBeams();
  for (size_t i = 0; i != beams.size(); ++i) {
    if (i != 0 && beams[i].slot == beams[0].slot)
      continue;
    const BeamSlot &slot = group.slots[beams[i].slot];
    const std::vector<int64_t> &tokens = group.search->getTokens(beams[i].slot);
    rows.push_back({index, beams[i].slot});
    fed.push_back({slot.sequence, tokens.data() + slot.seen,
                   int64_t(tokens.size() - slot.seen), 1});
  }
}

Result<LogitRows> BeamGeneration::step() {
  while (true) {
    rows.clear();
    fed.clear();
    columns.begin();
    for (size_t index : active) {
      columns.add(prompts[groups[index].prompt].allowed);
      addRows(index);
    }
    Result<LogitRows> logits =
        stepColumns(source, fed, columns, /*needsSums=*/true);
    if (logits) {
      for (const BeamRow &row : rows)
        groups[row.group].slots[row.slot].seen =
            groups[row.group].search->getTokens(row.slot).size();
      return logits;
    }
    if (logits.error().status != Status::Limit || !evictOne())
      return logits;
  }
}

/// Finds the best tokens after one row of logits.
void BeamGeneration::findTokens(const LogitRows &logits, size_t index,
                                BeamCandidates &finder) {
  BeamRow &row = rows[index];
  const BeamGroup &group = groups[row.group];
  auto tokens = finder.find(
      logits.get(index, source.width()),
      prompts[group.prompt].getPosition(group.search->getTokens(row.slot), 0));
  row.isFinite = bool(tokens);
  if (!tokens)
    return;
  row.count = (*tokens)->size();
  std::copy((*tokens)->begin(), (*tokens)->end(),
            found.begin() + int64_t(index * most));
}

/// Finds the best tokens after all rows of logits, on all threads.
Result<void> BeamGeneration::findTokens(const LogitRows &logits) {
  auto find = [&](size_t row, unsigned worker) {
    findTokens(logits, row, finders[worker]);
  };
  return source.forEach(
      rows.size(),
      [](void *context, size_t row, unsigned worker) {
        (*static_cast<decltype(find) *>(context))(row, worker);
      },
      &find);
}

/// Marks the candidates whose text ends in a stop string.
void BeamGeneration::findStops(BeamGroup &group) {
  for (BeamSearch::Candidate &candidate : group.search->select()) {
    if (config.stopStrings.empty())
      return;
    probe = group.slots[candidate.slot].text;
    unused.clear();
    const FinishReason reason =
        candidate.end == BeamEnd::None ? FinishReason::None : FinishReason::End;
    if (probe->add(candidate.token, reason, unused) == FinishReason::Stop)
      candidate.end = BeamEnd::Stop;
  }
}

/// Advances the group's search; its rows are [firstRow, endRow).
Result<void> BeamGeneration::advance(size_t firstRow, size_t endRow) {
  BeamGroup &group = groups[rows[firstRow].group];
  for (size_t i = firstRow; i != endRow; ++i) {
    const BeamRow &row = rows[i];
    if (!row.isFinite)
      return nonFiniteLogit(int64_t(group.search->getTokens(row.slot).size()) -
                                1,
                            "prompt " + std::to_string(group.prompt));
    group.search->add(row.slot, found.data() + i * most, row.count);
  }
  findStops(group);
  group.search->advance();
  if (group.search->isDone())
    return finish(group);
  return group.follow(source, unused);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Outputs a result: its tokens, its text, and both to the callback.
Result<void> BeamGeneration::give(Continuation &to,
                                  const BeamSearch::Hypothesis &from) {
  const PreparedPrompt &prompt = prompts[to.prompt];
  std::optional<ContinuationText> text;
  if (tokenizer) {
    TRANSOM_ASSIGN(text, ContinuationText::create(*tokenizer, config, prompt));
  }
  // Decode token by token, so the callback receives text deltas.
  to.score = from.score;
  to.tokens.reserve(from.tokens.size());
  for (size_t i = 0; i != from.tokens.size(); ++i) {
    FinishReason reason = FinishReason::None;
    if (i + 1 == from.tokens.size())
      reason = from.end == BeamEnd::Token  ? FinishReason::End
               : from.end == BeamEnd::Stop ? FinishReason::Stop
                                           : prompt.atMost;
    const size_t before = to.text.size();
    const int64_t token = from.tokens[i];
    to.tokens.push_back(token);
    to.finish = text ? text->add(token, reason, to.text) : reason;
    // The callback may end the continuation early.
    const bool isStopped =
        callback &&
        !callback({to, token, std::string_view(to.text).substr(before)});
    if (to.finish == FinishReason::None && isStopped)
      to.finish = text ? text->add(-1, FinishReason::Cancelled, to.text)
                       : FinishReason::Cancelled;
    if (to.finish != FinishReason::None)
      break;
  }
  return {};
}

Result<void> BeamGeneration::finish(BeamGroup &group) {
  const size_t returned = size_t(config.numReturnSequences);
  const auto &results = group.search->getResults();
  if (!results[returned - 1].isDone())
    return rejected("prompt " + std::to_string(group.prompt) +
                    ": no token is left to be chosen");
  group.leave(source);
  group.finished = true;
  for (size_t i = 0; i != returned; ++i)
    TRANSOM_TRY(give(out[group.prompt * returned + i], results[i]));
  group.search.reset();
  for (BeamGroup &other : groups)
    other.evicted = false;
  return {};
}

void BeamGeneration::cancelAll() {
  for (Continuation &continuation : out) {
    if (continuation.finish != FinishReason::None)
      continue;
    continuation.finish = FinishReason::Cancelled;
    if (callback)
      callback({continuation, -1, {}});
  }
}

Result<void> BeamGeneration::run() {
  while (true) {
    TRANSOM_TRY(admit());
    if (active.empty())
      return {};
    Result<LogitRows> logits = step();
    if (!logits) {
      if (logits.error().status == cancelledStep)
        cancelAll();
      return logits.takeError();
    }
    TRANSOM_TRY(findTokens(*logits));
    // A group's rows are adjacent.
    for (size_t first = 0, end = 0; first != rows.size(); first = end) {
      while (end != rows.size() && rows[end].group == rows[first].group)
        ++end;
      TRANSOM_TRY(advance(first, end));
    }
  }
}

Result<void> transom::generateBeams(const GenerationCall &call,
                                    const GenerationPrompts &prompts,
                                    std::vector<Continuation> &out) {
  BeamGeneration generation(call, out);
  TRANSOM_TRY(generation.prepare(prompts));
  return generation.run();
}
