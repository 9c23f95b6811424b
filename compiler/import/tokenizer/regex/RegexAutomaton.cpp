// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expression states are lists of threads in preference order (Cox, "Regular
// expression matching: the virtual machine approach", 2009). A state stores its
// list before conditions are evaluated, since a transition's column determines
// all of them; so conditions need no states.
//
// A pass only returns whether there is a match, so its states are sets: threads
// if it runs forward, and instructions that lead to a match if it runs
// backward.
#include "compiler/import/tokenizer/regex/RegexAutomaton.h"
#include "runtime/tokenizer/Automaton.h"
#include <algorithm>

namespace transom::tokenizer {

using Op = RegexInstruction::Op;
using Numbers = std::vector<uint32_t>;
using Bits = std::vector<bool>;

static constexpr size_t stateLimitOfMachine = 2048;
/// Max number of thread steps when building an automaton.
static constexpr size_t stepLimit = 50'000'000;
static constexpr size_t columnMapLimit = 0xFFFF, answerLimit = 1024;

namespace {
/// Numbers distinct values by their first use.
template <typename T> class Numbering {
public:
  uint32_t operator()(const T &value) {
    auto [place, fresh] =
        numbers.insert({value, static_cast<uint32_t>(values.size())});
    if (fresh)
      values.push_back(value);
    return place->second;
  }
  size_t size() const { return values.size(); }
  const T &operator[](size_t i) const { return values[i]; }
  const std::vector<T> &list() const { return values; }

private:
  std::map<T, uint32_t> numbers;
  std::vector<T> values;
};

/// A pass's answers: for each, whether its queries are true.
using Answers = std::vector<Bits>;

/// Tests in some code, and their values in each column.
class Columns {
public:
  Columns(const RegexCode &code, const RegexClasses &classes,
          const std::vector<Answers> &answers);
  Result<void> build(RegexMachine &machine);
  bool holds(uint32_t column, uint32_t test) const {
    return truth[column][test];
  }
  /// Indices for an instruction's test and guard.
  uint32_t getTest(size_t at) const { return testNumbers[at]; }
  uint32_t getGuard(size_t at) const { return guardNumbers[at]; }

private:
  uint32_t add(const RegexTest &test);
  Bits evaluate(size_t label) const;

  const RegexClasses &classes;
  const std::vector<Answers> &answers;
  std::vector<RegexTest> tests;
  Numbers testNumbers, guardNumbers, inputs;
  std::vector<Bits> truth;
};
} // namespace

Columns::Columns(const RegexCode &code, const RegexClasses &classes,
                 const std::vector<Answers> &answers)
    : classes(classes), answers(answers) {
  for (const RegexInstruction &instruction : code) {
    const bool hasTest =
        instruction.op == Op::Set || instruction.op == Op::Check;
    testNumbers.push_back(hasTest ? add(instruction.test) : 0);
    guardNumbers.push_back(instruction.guard ? add(*instruction.guard) : 0);
  }
}

uint32_t Columns::add(const RegexTest &test) {
  auto known = std::find(tests.begin(), tests.end(), test);
  const auto number = static_cast<uint32_t>(known - tests.begin());
  if (known != tests.end())
    return number;
  tests.push_back(test);
  if (test.pass &&
      std::find(inputs.begin(), inputs.end(), *test.pass) == inputs.end())
    inputs.push_back(*test.pass);
  return number;
}

/// Evaluates the tests for a class and answers.
Bits Columns::evaluate(size_t label) const {
  std::vector<size_t> chosen(answers.size());
  for (size_t i = inputs.size(); i-- > 0;) {
    const size_t count = answers[inputs[i]].size();
    chosen[inputs[i]] = label % count;
    label /= count;
  }
  Bits bits;
  for (const RegexTest &test : tests) {
    if (test.pass)
      bits.push_back(answers[*test.pass][chosen[*test.pass]][test.number] !=
                     test.negative);
    else
      bits.push_back(label == classes.size()
                         ? test.atEnd
                         : classes.isIn(label, test.number));
  }
  return bits;
}

Result<void> Columns::build(RegexMachine &machine) {
  size_t labels = classes.size() + 1;
  for (uint32_t input : inputs) {
    labels *= answers[input].size();
    if (labels > columnMapLimit)
      return unsupported("too many looks around and atomic groups");
  }
  if (labels * tests.size() > stepLimit)
    return unsupported("too large an automaton");
  Numbering<Bits> columns;
  for (size_t label = 0; label < labels; ++label) {
    Bits bits = evaluate(label);
    if (inputs.empty())
      truth.push_back(std::move(bits));
    else
      machine.columnOf.push_back(static_cast<uint16_t>(columns(bits)));
  }
  if (!inputs.empty())
    truth = columns.list();
  machine.inputs = inputs;
  machine.columns = static_cast<uint32_t>(truth.size());
  return {};
}

//===-- States ------------------------------------------------------------===//

namespace {
/// Builds the automaton for some code.
class Maker {
public:
  Maker(const RegexCode &code, const Columns &columns, RegexMachine &machine)
      : code(code), columns(columns), machine(machine) {}

  Result<void> makeExpression();
  Result<Answers> makePass(const RegexPass &pass);

private:
  Result<void> checkSize(size_t states) const {
    if (states > stateLimitOfMachine || steps > stepLimit)
      return unsupported("too large an automaton");
    return {};
  }
  template <typename Visit>
  void follow(uint32_t thread, uint32_t column, Visit &&visit);
  Numbers stepForward(const Numbers &threads, uint32_t column, Bits &answer);
  Numbers stepBack(const Numbers &leading, uint32_t column,
                   const Numbers &starts, Bits &answer);

  const RegexCode &code;
  const Columns &columns;
  RegexMachine &machine;
  Bits seen; ///< instructions visited in one round of threads
  size_t steps = 0;
};
} // namespace

/// Follows the instructions from `thread` that consume no character, in
/// preference order. Calls `visit` at each match and each character in the
/// column, until it returns true.
template <typename Visit>
void Maker::follow(uint32_t thread, uint32_t column, Visit &&visit) {
  Numbers stack{thread};
  while (!stack.empty()) {
    const uint32_t at = stack.back();
    stack.pop_back();
    // Visit each instruction once per round.
    ++steps;
    if (seen[at])
      continue;
    seen[at] = true;
    // Push the successors, the preferred one last.
    const RegexInstruction &instruction = code[at];
    switch (instruction.op) {
    case Op::Fork:
      if (!instruction.guard || columns.holds(column, columns.getGuard(at)))
        stack.push_back(instruction.second);
      stack.push_back(instruction.first);
      break;
    case Op::Jump:
      stack.push_back(instruction.first);
      break;
    case Op::Check:
      if (columns.holds(column, columns.getTest(at)))
        stack.push_back(instruction.first);
      break;
    case Op::Set:
      if (!columns.holds(column, columns.getTest(at)))
        break;
      [[fallthrough]];
    case Op::Match:
      if (visit(instruction))
        return;
    }
  }
}

/// State 0 has no threads, state 1 is the start. A match removes threads with
/// lower priority.
Result<void> Maker::makeExpression() {
  Numbering<Numbers> states;
  states({});
  states({0});
  for (size_t state = 0; state < states.size(); ++state) {
    TRANSOM_TRY(checkSize(states.size()));
    for (uint32_t column = 0; column < machine.columns; ++column) {
      const Numbers threads = states[state];
      Numbers next;
      bool match = false;
      seen.assign(code.size(), false);
      steps += code.size() / 64;
      for (size_t i = 0; i < threads.size() && !match; ++i)
        follow(threads[i], column, [&](const RegexInstruction &instruction) {
          match = instruction.op == Op::Match;
          if (!match)
            next.push_back(instruction.first);
          return match;
        });
      machine.transitions.push_back(
          static_cast<uint16_t>(states(next) | (match ? matchBit : 0)));
    }
  }
  machine.states = static_cast<uint32_t>(states.size());
  return {};
}

/// Returns the threads after a character, and the queries that match before it.
Numbers Maker::stepForward(const Numbers &threads, uint32_t column,
                           Bits &answer) {
  Numbers next;
  auto visit = [&](const RegexInstruction &instruction) {
    if (instruction.op == Op::Match)
      answer[instruction.second] = true;
    else
      next.push_back(instruction.first);
    return false;
  };
  seen.assign(code.size(), false);
  for (uint32_t thread : threads)
    follow(thread, column, visit);
  follow(0, column, visit); // a match may begin at any position
  std::sort(next.begin(), next.end());
  next.erase(std::unique(next.begin(), next.end()), next.end());
  return next;
}

/// `leading` are the instructions after the character that lead to a match;
/// returns the instructions before the character that do.
Numbers Maker::stepBack(const Numbers &leading, uint32_t column,
                        const Numbers &starts, Bits &answer) {
  auto leadsAfter = [&](uint32_t at) {
    return std::binary_search(leading.begin(), leading.end(), at);
  };
  Bits leads(code.size());
  auto decide = [&](uint32_t at) {
    const RegexInstruction &instruction = code[at];
    switch (instruction.op) {
    case Op::Match:
      return true;
    case Op::Set:
      return columns.holds(column, columns.getTest(at)) &&
             leadsAfter(instruction.first);
    case Op::Check:
      return columns.holds(column, columns.getTest(at)) &&
             leads[instruction.first];
    case Op::Jump:
      break;
    case Op::Fork:
      if (leads[instruction.second] &&
          (!instruction.guard || columns.holds(column, columns.getGuard(at))))
        return true;
    }
    return bool(leads[instruction.first]);
  };

  // Loops lead back, so repeat until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    steps += code.size();
    for (auto at = static_cast<uint32_t>(code.size()); at-- > 0;)
      if (!leads[at] && decide(at))
        leads[at] = changed = true;
  }

  // The previous position only depends on the instructions that a character may
  // lead to.
  for (size_t i = 0; i < starts.size(); ++i)
    answer[i] = leads[starts[i]];
  Numbers before;
  for (const RegexInstruction &instruction : code)
    if (instruction.op == Op::Set && leads[instruction.first])
      before.push_back(instruction.first);
  std::sort(before.begin(), before.end());
  before.erase(std::unique(before.begin(), before.end()), before.end());
  return before;
}

Result<Answers> Maker::makePass(const RegexPass &pass) {
  machine.backward = pass.backward;
  Numbering<Numbers> states;
  Numbering<Bits> answers;
  states({});
  for (size_t state = 0; state < states.size(); ++state) {
    TRANSOM_TRY(checkSize(states.size()));
    for (uint32_t column = 0; column < machine.columns; ++column) {
      const Numbers from = states[state];
      Bits answer(pass.queries);
      const Numbers next = pass.backward
                               ? stepBack(from, column, pass.starts, answer)
                               : stepForward(from, column, answer);
      machine.transitions.push_back(static_cast<uint16_t>(states(next)));
      machine.outputs.push_back(static_cast<uint16_t>(answers(answer)));
    }
    if (answers.size() > answerLimit)
      return unsupported("too large an automaton");
  }
  machine.states = static_cast<uint32_t>(states.size());
  machine.answers = static_cast<uint32_t>(answers.size());
  return answers.list();
}

Result<std::vector<RegexMachine>> makeMachines(const RegexProgram &program,
                                               const RegexClasses &classes) {
  std::vector<RegexMachine> machines;
  std::vector<Answers> answers;
  for (const RegexPass &pass : program.passes) {
    RegexMachine machine;
    Columns columns(pass.code, classes, answers);
    TRANSOM_TRY(columns.build(machine));
    TRANSOM_ASSIGN(Answers answer,
                   Maker(pass.code, columns, machine).makePass(pass));
    answers.push_back(std::move(answer));
    machines.push_back(std::move(machine));
  }
  RegexMachine machine;
  Columns columns(program.code, classes, answers);
  TRANSOM_TRY(columns.build(machine));
  TRANSOM_TRY(Maker(program.code, columns, machine).makeExpression());
  machines.push_back(std::move(machine));
  return machines;
}

} // namespace transom::tokenizer
