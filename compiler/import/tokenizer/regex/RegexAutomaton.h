// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deterministic automata for a regular expression and its passes.
#pragma once
#include "compiler/import/tokenizer/regex/RegexCode.h"
#include <string>

namespace transom::tokenizer {

/// Character classes: code points that are in the same sets have the same
/// class.
class RegexClasses {
public:
  explicit RegexClasses(const std::vector<CharSet> &sets);
  size_t size() const { return members.size(); }
  /// Returns true if the characters in a class are in a set.
  bool isIn(size_t number, size_t set) const { return members[number][set]; }
  /// Writes a program's class blocks and class numbers.
  void write(std::vector<uint16_t> &blocks, std::string &numbers) const;

private:
  std::vector<std::vector<bool>> members; ///< by class, then set
  std::vector<uint32_t> begins;           ///< starts of runs with equal classes
  std::vector<uint32_t> classes;          ///< classes of the runs
};

/// An automaton. The class of the next character (the last class is the end)
/// and the answers of the passes `inputs` at a position determine the column.
struct RegexMachine {
  bool backward = false;
  std::vector<uint32_t> inputs;
  /// Columns by class and answers, answers varying fastest; empty without
  /// inputs: the class is the column.
  std::vector<uint16_t> columnOf;
  uint32_t columns = 0, states = 0;
  /// [states][columns]; for the expression itself with `matchBit`.
  std::vector<uint16_t> transitions;
  uint32_t answers = 1;          ///< number of different answers
  std::vector<uint16_t> outputs; ///< for a pass, [states][columns]: its answer
};

/// Returns a program's automata: first the passes, then the expression.
Result<std::vector<RegexMachine>> makeMachines(const RegexProgram &program,
                                               const RegexClasses &classes);

} // namespace transom::tokenizer
