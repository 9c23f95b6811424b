// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables for the automata that a regular expression is compiled to: one matches
// the expression, and one for each lookaround passes over the text beforehand,
// in either direction. The answers from a pass are input to the later automata.
#pragma once
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/tokenizer/Tables.h"
#include <algorithm>
#include <optional>
#include <vector>

namespace transom::tokenizer {

/// Program header, followed by (u16) class blocks [blocks], (u8) class
/// indices [numberBlocks][128] and the machines, with the expression's machine
/// last. A code point's block selects its class; code points beyond the last
/// block have the last code point's class. One additional class represents the
/// text end.
struct ProgramHeader {
  uint32_t classes;
  uint32_t blocks;
  uint32_t numberBlocks;
  uint32_t literal; ///< the only matching character, or 0
  uint32_t machines;
};

/// Machine header, followed by (u16) its inputs [inputs], its table
/// columns by class and input answers [map] (without inputs the class is the
/// column), transitions [states][columns], and for a pass also its answers
/// [states][columns]. In the expression's machine, state 0 leads to no match
/// and state 1 is the start; a pass starts in state 0.
struct MachineHeader {
  uint32_t states;
  uint32_t columns;
  uint32_t backward; ///< 1: reads the text from its end
  uint32_t answers;  ///< for a pass: number of distinct answers
  uint32_t inputs;   ///< number of input passes
  uint32_t map;
};
/// Transition bit: a match ends before the character.
inline constexpr uint16_t matchBit = 0x8000;
/// Max states in a machine.
inline constexpr uint32_t stateLimit = matchBit;
inline constexpr unsigned classShift = 7;

/// A character range [begin, end) in a text.
struct Span {
  size_t begin;
  size_t end;
};

/// A view of a program.
class Automaton {
public:
  /// Returns nullopt if the bytes are not a program.
  static std::optional<Automaton> open(std::string_view program);

  uint32_t states() const { return main.header.states; }
  uint32_t literal() const { return header.literal; }
  /// True if a position's column depends on more than its character.
  bool hasPasses() const { return !passes.empty(); }

  /// Returns a character's class, which is its column if there are no passes.
  uint32_t getClass(char32_t code) const {
    size_t block = code >> classShift, low = code & ((1u << classShift) - 1);
    if (block >= header.blocks) {
      block = header.blocks - 1;
      low = (1u << classShift) - 1;
    }
    size_t index = (size_t(blocks[block]) << classShift) + low;
    uint32_t number = index < numbers.size() ? numbers[index] : 0;
    return std::min(number, header.classes - 1);
  }
  /// The class that represents the text end.
  uint32_t endClass() const { return header.classes; }

  /// Runs the passes over `span`; returns the columns for its positions and for
  /// its end.
  std::vector<uint16_t> getColumns(const Characters &text, Span span) const;

  /// Returns the next state, with `matchBit`.
  uint16_t transition(uint32_t state, uint32_t column) const {
    uint16_t next =
        main.transitions[size_t(state) * main.header.columns + column];
    return (next & ~matchBit) < main.header.states ? next : 0;
  }

private:
  struct Machine {
    MachineHeader header{};
    ArrayView<uint16_t> inputs, map, transitions, outputs;
  };
  using Values = std::vector<uint16_t>;

  bool readMachine(std::string_view &bytes, bool isPass, Machine &machine);
  Values selectColumns(const Machine &machine, const Values &classes,
                       const std::vector<Values> &answers) const;
  static Values run(const Machine &pass, Values columns);

  ProgramHeader header{};
  ArrayView<uint16_t> blocks;
  ArrayView<uint8_t> numbers;
  std::vector<Machine> passes;
  Machine main;
};

} // namespace transom::tokenizer
