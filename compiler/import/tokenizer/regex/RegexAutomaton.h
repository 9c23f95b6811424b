// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deterministic automata of a regular expression and its passes.
#pragma once
#include "compiler/import/tokenizer/regex/RegexCode.h"
#include <string>

namespace transom::tokenizer {

/// Code points that are in the same sets are of one class.
class RegexClasses {
public:
  explicit RegexClasses(const std::vector<CharSet> &sets);
  size_t size() const { return members.size(); }
  /// True where the characters of a class are in a set.
  bool isIn(size_t number, size_t set) const { return members[number][set]; }
  /// The class blocks and class numbers of a program.
  void write(std::vector<uint16_t> &blocks, std::string &numbers) const;

private:
  std::vector<std::vector<bool>> members; ///< of each class, by set
  std::vector<uint32_t> begins;           ///< of runs of equal classes
  std::vector<uint32_t> classes;          ///< of the runs
};

/// An automaton. A position's column comes from the class of its next character
/// (the last class is the end) and the answers of the passes `inputs` there.
struct RegexMachine {
  bool backward = false;
  std::vector<uint32_t> inputs;
  /// Columns by class and, the last one fastest, answers; empty without inputs:
  /// the class is the column.
  std::vector<uint16_t> columnOf;
  uint32_t columns = 0, states = 0;
  /// [states][columns]; of the expression itself with `matchBit`.
  std::vector<uint16_t> transitions;
  uint32_t answers = 1;          ///< different ones
  std::vector<uint16_t> outputs; ///< of a pass, [states][columns]: its answer
};

/// The automata of a program: those of its passes, then its own.
Result<std::vector<RegexMachine>> makeMachines(const RegexProgram &program,
                                               const RegexClasses &classes);

} // namespace transom::tokenizer
