// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pattern is converted to a tree, instructions, automata and bytes.
#include "compiler/import/tokenizer/regex/Regex.h"
#include "compiler/import/tokenizer/regex/RegexAutomaton.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Automaton.h"
#include <algorithm>
#include <map>

namespace transom::tokenizer {

//===-- Classes of characters ---------------------------------------------===//

RegexClasses::RegexClasses(const std::vector<CharSet> &sets) {
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
    classes.push_back(static_cast<uint32_t>(place->second));
  }
}

void RegexClasses::write(std::vector<uint16_t> &blocks,
                         std::string &numbers) const {
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
      break; // so are all others
  }
}

//===-- Programs ----------------------------------------------------------===//

template <typename T>
static std::string getBytes(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

static std::string writeMachine(const RegexMachine &machine) {
  MachineHeader header{machine.states,
                       machine.columns,
                       machine.backward,
                       machine.answers,
                       static_cast<uint32_t>(machine.inputs.size()),
                       static_cast<uint32_t>(machine.columnOf.size())};
  const std::vector<uint16_t> inputs(machine.inputs.begin(),
                                     machine.inputs.end());
  return std::string(reinterpret_cast<const char *>(&header), sizeof header) +
         getBytes(inputs) + getBytes(machine.columnOf) +
         getBytes(machine.transitions) + getBytes(machine.outputs);
}

Result<std::string> compileTree(const RegexNode &tree, char32_t literal) {
  TRANSOM_ASSIGN(RegexProgram code, makeCode(tree));
  RegexClasses classes(code.sets);
  if (classes.size() > 255)
    return unsupported("too many classes of characters");
  TRANSOM_ASSIGN(std::vector<RegexMachine> machines,
                 makeMachines(code, classes));
  std::vector<uint16_t> blocks;
  std::string numbers;
  classes.write(blocks, numbers);
  ProgramHeader header{static_cast<uint32_t>(classes.size()),
                       static_cast<uint32_t>(blocks.size()),
                       static_cast<uint32_t>(numbers.size() >> classShift),
                       literal, static_cast<uint32_t>(machines.size())};
  std::string program(reinterpret_cast<const char *>(&header), sizeof header);
  program += getBytes(blocks) + numbers;
  for (const RegexMachine &machine : machines)
    program += writeMachine(machine);
  return program;
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
