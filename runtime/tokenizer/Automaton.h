// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The automata of a regular expression, as tables: one matches the expression,
// and each of its looks around has one that passes over the text before, in
// either direction. Its answers are part of the input of the later ones.
#pragma once
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/tokenizer/Tables.h"
#include <algorithm>
#include <optional>
#include <vector>

namespace transom::tokenizer {

/// Header of a program, followed by (u16) class blocks [blocks], (u8) class
/// numbers [numberBlocks][128] and the machines, the expression's last. A code
/// point's class is found by its block; beyond the last one it is that of the
/// last code point there. One more class stands for the text's end.
struct ProgramHeader {
  uint32_t classes;
  uint32_t blocks;
  uint32_t numberBlocks;
  uint32_t literal; ///< the character that is the only match, or 0
  uint32_t machines;
};

/// Header of a machine, followed by (u16) its inputs [inputs], the columns of
/// its table [map] by class and the inputs' answers (without inputs the class
/// is the column), transitions [states][columns], and of a pass also its
/// answers [states][columns]. State 0 of the expression leads to no match, and
/// state 1 is its start; a pass starts in state 0.
struct MachineHeader {
  uint32_t states;
  uint32_t columns;
  uint32_t backward; ///< 1: it reads the text from its end
  uint32_t answers;  ///< of a pass, how many there are
  uint32_t inputs;   ///< passes before it
  uint32_t map;
};
/// Bit of a transition: a match ends before the character.
inline constexpr uint16_t matchBit = 0x8000;
/// States of a machine are at most so many.
inline constexpr uint32_t stateLimit = matchBit;
inline constexpr unsigned classShift = 7;

/// The characters [begin, end) of a text.
struct Span {
  size_t begin;
  size_t end;
};

/// A view of a program.
class Automaton {
public:
  /// Nothing for bytes that are no program.
  static std::optional<Automaton> open(std::string_view program);

  uint32_t states() const { return main.header.states; }
  uint32_t literal() const { return header.literal; }
  /// True where the column of a position depends on more than its character.
  bool hasPasses() const { return !passes.empty(); }

  /// The class of a character: its column where there are no passes.
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
  /// The class of the text's end.
  uint32_t endClass() const { return header.classes; }

  /// Runs the passes over `span`: the columns of its positions, and of its end.
  std::vector<uint16_t> getColumns(const Characters &text, Span span) const;

  /// The next state, with `matchBit`.
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
