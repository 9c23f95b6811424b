// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine code as text: an object file's functions, their innermost loops, and
// searches in these.
#pragma once
#include <cstdint>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace transom::test {

/// Disassembler syntax.
struct Syntax {
  const char *flags; ///< for llvm-objdump
  std::regex jump;   ///< a jump; its first group is the target
  std::vector<std::string> multiplyAdd, stack, call;
};
/// The syntax for an instruction set.
const Syntax &getSyntax(const std::string &isa);

struct Instruction {
  uint64_t address = 0;
  std::string text; ///< name and operands
};
using Code = std::vector<Instruction>;

/// An object file's functions with their instructions.
std::map<std::string, Code> disassemble(const std::string &object,
                                        const Syntax &syntax);

/// The innermost loop bodies: from a backward jump's target to the jump.
std::vector<Code> innermostLoops(const Code &code, const Syntax &syntax);

/// The number of instructions that contain one of the words.
int64_t countMatches(const Code &code, const std::vector<std::string> &words);

/// The number of accumulators in a loop: registers that multiply-adds write. In
/// a polynomial one register accumulates many times.
int64_t countAccumulators(const Code &code, const Syntax &syntax);

} // namespace transom::test
