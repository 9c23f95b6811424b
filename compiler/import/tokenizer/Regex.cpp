// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tree becomes instructions (Thompson, 1968), and these an automaton whose
// states are lists of threads in the order of preference (Cox, "Regular
// expression matching: the virtual machine approach", 2009). A state's list is
// taken before looks are decided, since each transition knows the next
// character; so looks cost no states of their own.
#include "compiler/import/tokenizer/Regex.h"
#include "compiler/import/tokenizer/RegexTree.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Splitter.h"
#include <algorithm>
#include <map>

namespace transom::tokenizer {

static constexpr size_t instructionLimit = 4096;
static constexpr size_t programStates = 2048;
/// Nodes that are compiled, and steps of threads in building an automaton.
static constexpr size_t nodeLimit = 100'000, stepLimit = 50'000'000;

namespace {
/// An instruction; the next one follows unless it says otherwise.
struct Instruction {
  enum class Op { Set, Look, Fork, Jump, Match };
  Op op;
  uint32_t set = 0;    ///< of Set and Look
  bool atEnd = false;  ///< of Look
  uint32_t first = 0;  ///< of Fork and Jump: where to go on
  uint32_t second = 0; ///< of Fork: where to go on else
};
using Op = Instruction::Op;

/// Instructions of a tree, and the sets they name.
class Code {
public:
  bool add(const RegexNode &node);
  void finish() { emit({Op::Match}); }
  const std::vector<Instruction> &list() const { return instructions; }
  const std::vector<CharSet> &setList() const { return sets; }

private:
  uint32_t here() const { return static_cast<uint32_t>(instructions.size()); }
  uint32_t emit(Instruction instruction) {
    instructions.push_back(instruction);
    return here() - 1;
  }
  uint32_t getNumber(const CharSet &set);
  bool addAlternatives(const RegexNode &node);
  bool addRepeat(const RegexNode &node);
  /// A fork: to the next instruction, or to one that is set later.
  void setFork(uint32_t fork, uint32_t inside, uint32_t outside, bool lazy) {
    instructions[fork].first = lazy ? outside : inside;
    instructions[fork].second = lazy ? inside : outside;
  }

  std::vector<Instruction> instructions;
  std::vector<CharSet> sets;
  std::map<CharSet, uint32_t> numbers;
  size_t nodes = 0;
};
} // namespace

uint32_t Code::getNumber(const CharSet &set) {
  auto [place, fresh] =
      numbers.insert({set, static_cast<uint32_t>(sets.size())});
  if (fresh)
    sets.push_back(set);
  return place->second;
}

/// False where there are too many instructions.
bool Code::add(const RegexNode &node) {
  if (instructions.size() > instructionLimit || ++nodes > nodeLimit)
    return false;
  switch (node.kind) {
  case RegexNode::Kind::Empty:
    return true;
  case RegexNode::Kind::Set:
    emit({Op::Set, getNumber(node.set)});
    return true;
  case RegexNode::Kind::Look:
    emit({Op::Look, getNumber(node.set), node.atEnd});
    return true;
  case RegexNode::Kind::Sequence:
    return std::all_of(node.parts.begin(), node.parts.end(),
                       [&](const RegexTree &part) { return add(*part); });
  case RegexNode::Kind::Alternatives:
    return addAlternatives(node);
  case RegexNode::Kind::Repeat:
    return addRepeat(node);
  }
  return true;
}

bool Code::addAlternatives(const RegexNode &node) {
  std::vector<uint32_t> jumps;
  for (size_t i = 0; i < node.parts.size(); ++i) {
    bool last = i + 1 == node.parts.size();
    uint32_t fork = last ? 0 : emit({Op::Fork});
    if (!add(*node.parts[i]))
      return false;
    if (last)
      break;
    jumps.push_back(emit({Op::Jump}));
    setFork(fork, fork + 1, here(), false);
  }
  for (uint32_t jump : jumps)
    instructions[jump].first = here();
  return true;
}

bool Code::addRepeat(const RegexNode &node) {
  const RegexNode &part = *node.parts[0];
  for (uint32_t i = 0; i < node.least; ++i)
    if (!add(part))
      return false;
  if (node.most == RegexNode::unbounded) {
    uint32_t fork = emit({Op::Fork});
    if (!add(part))
      return false;
    uint32_t jump = emit({Op::Jump});
    instructions[jump].first = fork;
    setFork(fork, fork + 1, here(), node.lazy);
    return true;
  }
  std::vector<uint32_t> forks;
  for (uint32_t i = node.least; i < node.most; ++i) {
    forks.push_back(emit({Op::Fork}));
    if (!add(part))
      return false;
  }
  for (uint32_t fork : forks)
    setFork(fork, fork + 1, here(), node.lazy);
  return true;
}

//===-- Classes of characters ---------------------------------------------===//

namespace {
/// Code points that are in the same sets are of one class.
class Classes {
public:
  explicit Classes(const std::vector<CharSet> &sets);
  size_t size() const { return members.size(); }
  /// True where the characters of a class are in a set.
  bool isIn(size_t number, size_t set) const { return members[number][set]; }
  /// The class blocks and class numbers of a program.
  void write(std::vector<uint16_t> &blocks, std::string &numbers) const;

private:
  std::vector<std::vector<bool>> members; ///< of each class, by set
  std::vector<uint32_t> begins;           ///< of runs of equal classes
  std::vector<uint8_t> classes;           ///< of the runs
};
} // namespace

Classes::Classes(const std::vector<CharSet> &sets) {
  std::vector<uint32_t> borders{0};
  for (const CharSet &set : sets)
    for (const CharSet::Range &range : set.ranges())
      borders.insert(borders.end(), {range.begin, range.end});
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  std::map<std::vector<bool>, size_t> getNumber;
  for (uint32_t begin : borders) {
    if (begin >= CharSet::limit)
      break;
    std::vector<bool> in;
    for (const CharSet &set : sets)
      in.push_back(set.contains(begin));
    auto [place, fresh] = getNumber.insert({in, members.size()});
    if (fresh)
      members.push_back(in);
    begins.push_back(begin);
    classes.push_back(static_cast<uint8_t>(place->second));
  }
}

void Classes::write(std::vector<uint16_t> &blocks, std::string &numbers) const {
  constexpr uint32_t blockSize = 1u << classShift;
  std::map<std::string, uint16_t> getNumber;
  size_t run = 0;
  for (uint32_t begin = 0; begin < CharSet::limit; begin += blockSize) {
    std::string block(blockSize, '\0');
    for (uint32_t i = 0; i < blockSize; ++i) {
      while (run + 1 < begins.size() && begins[run + 1] <= begin + i)
        ++run;
      block[i] = static_cast<char>(classes[run]);
    }
    auto [place, fresh] =
        getNumber.insert({block, static_cast<uint16_t>(getNumber.size())});
    if (fresh)
      numbers += block;
    blocks.push_back(place->second);
    if (run + 1 == begins.size() &&
        block == std::string(blockSize, static_cast<char>(classes[run])))
      break; // so is all that follows
  }
}

//===-- The automaton -----------------------------------------------------===//

namespace {
class Automaton {
public:
  Automaton(const std::vector<Instruction> &code, const Classes &classes)
      : code(code), classes(classes) {}

  /// False where it would be too large.
  bool build();
  bool matchesEmpty() const { return emptyMatch; }
  size_t stateCount() const { return states.size(); }
  const std::vector<uint16_t> &transitions() const { return table; }

private:
  using Threads = std::vector<uint32_t>;

  uint32_t getState(const Threads &threads);
  bool holds(const Instruction &instruction, size_t label) const {
    if (label == classes.size())
      return instruction.op == Op::Look && instruction.atEnd;
    return classes.isIn(label, instruction.set);
  }
  bool follow(const Threads &threads, size_t label, Threads &next);

  const std::vector<Instruction> &code;
  const Classes &classes;
  std::map<Threads, uint32_t> numbers;
  std::vector<Threads> states;
  std::vector<uint16_t> table;
  std::vector<bool> seen; ///< instructions, by one round of threads
  size_t steps = 0;
  bool emptyMatch = false;
};
} // namespace

uint32_t Automaton::getState(const Threads &threads) {
  auto [place, fresh] =
      numbers.insert({threads, static_cast<uint32_t>(states.size())});
  if (fresh)
    states.push_back(threads);
  return place->second;
}

/// The threads after a character of a class (or the end), in order; true where
/// a match ends before it, which cuts off what is less preferred.
bool Automaton::follow(const Threads &threads, size_t label, Threads &next) {
  seen.assign(code.size(), false);
  steps += code.size() / 64;
  for (uint32_t thread : threads) {

    // Follow the instructions that match no character; the preferred way first.
    Threads stack{thread};
    while (!stack.empty()) {
      uint32_t at = stack.back();
      stack.pop_back();
      ++steps;
      if (seen[at])
        continue;
      seen[at] = true;
      const Instruction &instruction = code[at];
      switch (instruction.op) {
      case Op::Match:
        return true;
      case Op::Fork:
        stack.push_back(instruction.second);
        stack.push_back(instruction.first);
        break;
      case Op::Jump:
        stack.push_back(instruction.first);
        break;
      case Op::Look:
        if (holds(instruction, label))
          stack.push_back(at + 1);
        break;
      case Op::Set:
        if (holds(instruction, label))
          next.push_back(at + 1);
        break;
      }
    }
  }
  return false;
}

bool Automaton::build() {
  getState({});
  getState({0});
  for (size_t state = 0; state < states.size(); ++state) {
    if (states.size() > programStates || steps > stepLimit)
      return false;
    for (size_t label = 0; label <= classes.size(); ++label) {
      Threads next, threads = states[state];
      bool match = follow(threads, label, next);
      emptyMatch |= match && state == 1;
      table.push_back(
          static_cast<uint16_t>(getState(next) | (match ? matchBit : 0)));
    }
  }
  return true;
}

//===-- Programs ----------------------------------------------------------===//

template <typename T>
static std::string getBytes(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

/// The error says what is not supported, without the pattern.
/// `literal` is the only match, if that is one character, else 0.
static Result<std::string> compileTree(const RegexNode &tree,
                                       char32_t literal = 0) {
  Code code;
  if (!code.add(tree))
    return unsupported("too many repetitions");
  code.finish();
  Classes classes(code.setList());
  if (classes.size() > 255)
    return unsupported("too many classes of characters");
  Automaton automaton(code.list(), classes);
  if (!automaton.build())
    return unsupported("too large an automaton");
  if (automaton.matchesEmpty())
    return unsupported("a match of the empty text");
  std::vector<uint16_t> blocks;
  std::string numbers;
  classes.write(blocks, numbers);
  ProgramHeader header{static_cast<uint32_t>(automaton.stateCount()),
                       static_cast<uint32_t>(classes.size()),
                       static_cast<uint32_t>(blocks.size()),
                       static_cast<uint32_t>(numbers.size() >> classShift),
                       literal};
  std::string program(reinterpret_cast<const char *>(&header), sizeof header);
  return program + getBytes(automaton.transitions()) + getBytes(blocks) +
         numbers;
}

Result<std::string> compileRegex(std::string_view pattern) {
  auto named = [&](const Error &error) {
    return unsupported("unsupported regular expression '" +
                       utf8::printable(pattern) + "': " + error.message);
  };
  auto tree = parseRegex(pattern);
  if (!tree)
    return named(tree.error());
  auto program = compileTree(**tree);
  if (!program)
    return named(program.error());
  return program;
}

Result<std::string> compileLiteral(std::string_view text) {
  size_t end = 0;
  const char32_t first = text.empty() ? 0 : utf8::decode(text, end);
  return compileTree(*literalTree(text), end == text.size() ? first : 0);
}

Result<std::string> compileSet(const CharSet &set) {
  return compileTree(*setTree(set));
}

} // namespace transom::tokenizer
