// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thompson's construction (1968). Inside an atomic group, a fork's
// lower-priority branch may be followed only if the preferred one does not lead
// to the group's end; that is a query for a backward pass over the group's own
// code, so atomic groups need no memory either.
//
// A repetition ends after an empty match. A body that can match the empty
// string therefore has two copies: a character consumed in the first copy leads
// to the second one, and only the second one repeats.
#include "compiler/import/tokenizer/regex/RegexCode.h"
#include <algorithm>

namespace transom::tokenizer {

using Kind = RegexNode::Kind;
using Op = RegexInstruction::Op;

static constexpr size_t instructionLimit = 4096;
static constexpr size_t nodeLimit = 100'000;
static constexpr size_t passLimit = 32;

static bool matchesEmpty(const RegexNode &node) {
  auto partMatches = [](const RegexTree &part) { return matchesEmpty(*part); };
  switch (node.kind) {
  case Kind::Set:
    return false;
  case Kind::Sequence:
  case Kind::Atomic:
    return std::all_of(node.parts.begin(), node.parts.end(), partMatches);
  case Kind::Alternatives:
    return std::any_of(node.parts.begin(), node.parts.end(), partMatches);
  case Kind::Repeat:
    return node.least == 0 || matchesEmpty(*node.parts[0]);
  case Kind::Empty:
  case Kind::Look:
  case Kind::Around:
    break;
  }
  return true;
}

/// Returns the match width in characters, if all matches have the same width.
static std::optional<size_t> getWidth(const RegexNode &node) {
  std::optional<size_t> width;
  switch (node.kind) {
  case Kind::Empty:
  case Kind::Look:
  case Kind::Around:
    return 0;
  case Kind::Set:
    return 1;
  case Kind::Atomic:
    return getWidth(*node.parts[0]);
  case Kind::Repeat:
    width = getWidth(*node.parts[0]);
    if (!width || (node.least != node.most && *width != 0))
      return std::nullopt;
    return *width * node.least;
  case Kind::Sequence:
  case Kind::Alternatives:
    break;
  }
  // Sequences add widths; alternatives need equal widths.
  for (const RegexTree &part : node.parts) {
    std::optional<size_t> next = getWidth(*part);
    if (!next)
      return std::nullopt;
    if (node.kind == Kind::Sequence)
      width = width.value_or(0) + *next;
    else if (width.value_or(*next) != *next)
      return std::nullopt;
    else
      width = next;
  }
  return width.value_or(0);
}

namespace {
/// State shared by an expression and its passes.
struct Shared {
  std::vector<CharSet> sets;
  std::map<CharSet, uint32_t> numbers;
  std::vector<RegexPass> passes{1}; ///< the first pass looks one character back
  std::vector<uint32_t> previous;   ///< its sets
  size_t nodes = 0;
};

/// Code for one expression.
class Code {
public:
  Code(Shared &shared, bool isBehind) : shared(shared), isBehind(isBehind) {}

  Result<void> add(const RegexNode &node);
  RegexCode finish() {
    emit({Op::Match});
    return std::move(code);
  }

private:
  uint32_t here() const { return static_cast<uint32_t>(code.size()); }
  uint32_t emit(RegexInstruction instruction) {
    if (instruction.op == Op::Set || instruction.op == Op::Check)
      instruction.first = here() + 1;
    code.push_back(std::move(instruction));
    return here() - 1;
  }
  uint32_t getNumber(const CharSet &set);
  Result<void> addAround(const RegexNode &node);
  Result<void> addAtomic(const RegexNode &node);
  Result<void> addAlternatives(const RegexNode &node);
  Result<void> addRepeat(const RegexNode &node);
  Result<void> addLoop(const RegexNode &part, bool lazy);
  /// Sets a fork's targets: the next instruction, or one that is set later.
  void setFork(uint32_t fork, uint32_t inside, uint32_t outside, bool lazy) {
    code[fork].first = lazy ? outside : inside;
    code[fork].second = lazy ? inside : outside;
  }

  Shared &shared;
  const bool isBehind; ///< it is a lookbehind, or inside one
  RegexCode code;
};
} // namespace

static bool isSame(const RegexInstruction &a, const RegexInstruction &b) {
  return a.op == b.op && a.test == b.test && a.first == b.first &&
         a.second == b.second && a.guard == b.guard;
}

/// Adds a pass and returns its index; equal passes share one.
static Result<uint32_t> addPass(Shared &shared, RegexPass pass) {
  auto isEqual = [&](const RegexPass &other) {
    return other.backward == pass.backward && other.starts == pass.starts &&
           std::equal(other.code.begin(), other.code.end(), pass.code.begin(),
                      pass.code.end(), isSame);
  };
  auto known =
      std::find_if(shared.passes.begin() + 1, shared.passes.end(), isEqual);
  const auto number = static_cast<uint32_t>(known - shared.passes.begin());
  if (known == shared.passes.end())
    shared.passes.push_back(std::move(pass));
  if (shared.passes.size() > passLimit)
    return unsupported("more than " + std::to_string(passLimit) +
                       " looks around and atomic groups");
  return number;
}

uint32_t Code::getNumber(const CharSet &set) {
  auto [place, fresh] =
      shared.numbers.insert({set, static_cast<uint32_t>(shared.sets.size())});
  if (fresh)
    shared.sets.push_back(set);
  return place->second;
}

Result<void> Code::add(const RegexNode &node) {
  if (code.size() > instructionLimit || ++shared.nodes > nodeLimit)
    return unsupported("too many repetitions");
  switch (node.kind) {
  case Kind::Empty:
    return {};
  case Kind::Set:
    emit({Op::Set, {std::nullopt, getNumber(node.set)}});
    return {};
  case Kind::Look:
    emit({Op::Check, {std::nullopt, getNumber(node.set), node.atEnd}});
    return {};
  case Kind::Around:
    return addAround(node);
  case Kind::Atomic:
    return addAtomic(node);
  case Kind::Sequence:
    for (const RegexTree &part : node.parts)
      TRANSOM_TRY(add(*part));
    return {};
  case Kind::Alternatives:
    return addAlternatives(node);
  case Kind::Repeat:
    return addRepeat(node);
  }
  return {};
}

/// A lookbehind with one character is a query for the first pass; any other
/// lookaround has its own pass.
Result<void> Code::addAround(const RegexNode &node) {
  const RegexNode &part = *node.parts[0];
  RegexTest test;
  test.negative = node.negative;
  test.pass = 0;
  if (node.lookbehind && part.kind == Kind::Set) {
    const uint32_t set = getNumber(part.set);
    auto &sets = shared.previous;
    auto known = std::find(sets.begin(), sets.end(), set);
    test.number = static_cast<uint32_t>(known - sets.begin());
    if (known == sets.end())
      sets.push_back(set);
  } else {
    Code inside(shared, isBehind || node.lookbehind);
    TRANSOM_TRY(inside.add(part));
    RegexPass pass{!node.lookbehind, inside.finish(), {0}};
    TRANSOM_ASSIGN(test.pass, addPass(shared, std::move(pass)));
  }
  emit({Op::Check, test});
  return {};
}

Result<void> Code::addAtomic(const RegexNode &node) {
  const uint32_t begin = here();
  TRANSOM_TRY(add(*node.parts[0]));

  // Matches with equal width do not affect the rest. Oniguruma ends them at the
  // end of a lookbehind, which a pass cannot determine.
  if (getWidth(node))
    return {};
  if (isBehind)
    return unsupported("an atomic group of several widths in a lookbehind");

  // Create the queries: whether a fork's preferred branch leads to the end.
  // Forks in nested atomic groups already have a guard.
  RegexPass pass{/*backward=*/true, {}, {}};
  std::vector<uint32_t> forks;
  for (uint32_t at = begin; at < here(); ++at)
    if (code[at].op == Op::Fork && !code[at].guard) {
      forks.push_back(at);
      pass.starts.push_back(code[at].first - begin);
    }
  if (forks.empty())
    return {};

  // Copy the group's code into the pass.
  for (uint32_t at = begin; at < here(); ++at) {
    RegexInstruction copy = code[at];
    copy.first -= begin;
    if (copy.op == Op::Fork)
      copy.second -= begin;
    pass.code.push_back(std::move(copy));
  }
  pass.code.push_back({Op::Match});
  pass.queries = pass.starts.size();
  TRANSOM_ASSIGN(const uint32_t number, addPass(shared, std::move(pass)));
  for (size_t i = 0; i < forks.size(); ++i)
    code[forks[i]].guard =
        RegexTest{number, static_cast<uint32_t>(i), false, /*negative=*/true};
  return {};
}

Result<void> Code::addAlternatives(const RegexNode &node) {
  std::vector<uint32_t> jumps;
  for (size_t i = 0; i < node.parts.size(); ++i) {
    bool last = i + 1 == node.parts.size();
    uint32_t fork = last ? 0 : emit({Op::Fork});
    TRANSOM_TRY(add(*node.parts[i]));
    if (last)
      break;
    jumps.push_back(emit({Op::Jump}));
    setFork(fork, fork + 1, here(), false);
  }
  for (uint32_t jump : jumps)
    code[jump].first = here();
  return {};
}

/// Repeats `part` any number of times.
Result<void> Code::addLoop(const RegexNode &part, bool lazy) {
  const uint32_t fork = emit({Op::Fork});
  TRANSOM_TRY(add(part));
  if (!matchesEmpty(part)) {
    const uint32_t jump = emit({Op::Jump});
    code[jump].first = fork;
    setFork(fork, fork + 1, here(), lazy);
    return {};
  }

  // The copy without consumed characters ends the loop.
  const uint32_t leave = emit({Op::Jump}), copy = here();
  TRANSOM_TRY(add(part));
  for (uint32_t at = fork + 1; at < leave; ++at)
    if (code[at].op == Op::Set)
      code[at].first += copy - (fork + 1);
  const uint32_t jump = emit({Op::Jump});
  code[jump].first = fork;
  code[leave].first = here();
  setFork(fork, fork + 1, here(), lazy);
  return {};
}

Result<void> Code::addRepeat(const RegexNode &node) {
  const RegexNode &part = *node.parts[0];
  for (uint32_t i = 0; i < node.least; ++i)
    TRANSOM_TRY(add(part));
  if (node.most == RegexNode::unbounded)
    return addLoop(part, node.lazy);
  std::vector<uint32_t> forks;
  for (uint32_t i = node.least; i < node.most; ++i) {
    forks.push_back(emit({Op::Fork}));
    TRANSOM_TRY(add(part));
  }
  for (uint32_t fork : forks)
    setFork(fork, fork + 1, here(), node.lazy);
  return {};
}

/// Returns the first pass: determines which sets contain the previous
/// character.
static RegexPass makePrevious(const std::vector<uint32_t> &sets) {
  RegexPass pass;
  pass.queries = sets.size();
  for (size_t i = 0; i < sets.size(); ++i) {
    const auto at = static_cast<uint32_t>(pass.code.size());
    pass.code.push_back({Op::Fork, {}, at + 1, at + 3});
    pass.code.push_back({Op::Set, {std::nullopt, sets[i]}, at + 2});
    pass.code.push_back({Op::Match, {}, 0, static_cast<uint32_t>(i)});
  }
  pass.code[pass.code.size() - 3].op = Op::Jump; // the last one has no
                                                 // alternative
  return pass;
}

/// Removes the unused first pass.
static void removeFirstPass(RegexProgram &program) {
  auto renumber = [](RegexCode &code) {
    for (RegexInstruction &instruction : code) {
      if (instruction.test.pass)
        --*instruction.test.pass;
      if (instruction.guard)
        --*instruction.guard->pass;
    }
  };
  program.passes.erase(program.passes.begin());
  for (RegexPass &pass : program.passes)
    renumber(pass.code);
  renumber(program.code);
}

Result<RegexProgram> makeCode(const RegexNode &tree) {
  Shared shared;
  Code code(shared, false);
  TRANSOM_TRY(code.add(tree));
  RegexProgram program{code.finish(), std::move(shared.passes), {}};
  if (shared.previous.empty())
    removeFirstPass(program);
  else
    program.passes[0] = makePrevious(shared.previous);
  program.sets = std::move(shared.sets);
  return program;
}

} // namespace transom::tokenizer
