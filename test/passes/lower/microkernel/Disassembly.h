// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine code as text: the functions of an object file, their innermost loops
// and what is looked for in these.
#pragma once
#include <cstdint>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace transom::test {

/// How the disassembler writes what is looked for.
struct Syntax {
  const char *flags; ///< of llvm-objdump
  std::regex jump;   ///< a jump; its first group is the target
  std::vector<std::string> multiplyAdd, stack, call;
};
/// That of an instruction set.
const Syntax &getSyntax(const std::string &isa);

struct Instruction {
  uint64_t address = 0;
  std::string text; ///< name and operands
};
using Code = std::vector<Instruction>;

/// The functions of an object file and their instructions.
std::map<std::string, Code> disassemble(const std::string &object,
                                        const Syntax &syntax);

/// The bodies of the innermost loops: from the target of a backward jump to it.
std::vector<Code> innermostLoops(const Code &code, const Syntax &syntax);

/// How many of the instructions hold one of the words.
int64_t countMatches(const Code &code, const std::vector<std::string> &words);

/// How many accumulators a loop has: registers that multiply-adds write. In a
/// polynomial one register takes many of them.
int64_t countAccumulators(const Code &code, const Syntax &syntax);

} // namespace transom::test
