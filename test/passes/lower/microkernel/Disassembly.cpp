// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses llvm-objdump output.
#include "test/passes/lower/microkernel/Disassembly.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <unistd.h>

using namespace transom;
using namespace transom::test;

const Syntax &test::getSyntax(const std::string &isa) {
  static const Syntax x86{"--x86-asm-syntax=intel",
                          std::regex("\\s+j[a-z]+\\s+0x([0-9a-f]+).*"),
                          {"vfmadd", "vdpbf16ps"},
                          {"[rsp", "[rbp"},
                          {"@PLT", "@GOTPCREL"}};
  static const Syntax arm{
      "",
      std::regex("\\s+(?:b|b\\.[a-z]+|[ct]bn?z.*,)\\s+0x([0-9a-f]+).*"),
      {"fmla"},
      {"[sp", "[x29"},
      {"\tbl\t"}};
  return isa == "neon" ? arm : x86;
}

std::map<std::string, Code> test::disassemble(const std::string &object,
                                              const Syntax &syntax) {
  // Write the object file.
  std::string path = testing::TempDir() + "transom-code-XXXXXX";
  int file = mkstemp(path.data());
  EXPECT_GE(file, 0);
  EXPECT_EQ(write(file, object.data(), object.size()), ssize_t(object.size()));
  close(file);
  // Run the disassembler and split its output at function labels.
  std::string command = std::string(TRANSOM_OBJDUMP) +
                        " -d --no-show-raw-insn " + syntax.flags + " " + path;
  std::map<std::string, Code> functions;
  std::string current;
  FILE *pipe = popen(command.c_str(), "r");
  char line[4096];
  while (pipe && fgets(line, sizeof(line), pipe)) {
    std::string text(line);
    size_t open = text.find(" <"), colon = text.find(':');
    if (open != std::string::npos && text.size() > 3 &&
        text.substr(text.size() - 3, 2) == ">:") {
      current = text.substr(open + 2, text.size() - open - 5);
    } else if (!current.empty() && colon != std::string::npos &&
               text[0] == ' ') {
      functions[current].push_back(
          {strtoull(text.c_str(), nullptr, 16), text.substr(colon + 1)});
    }
  }
  if (pipe)
    EXPECT_EQ(pclose(pipe), 0);
  unlink(path.c_str());
  return functions;
}

std::vector<Code> test::innermostLoops(const Code &code, const Syntax &syntax) {
  std::vector<std::pair<size_t, size_t>> loops;
  // A backward jump ends a loop.
  for (size_t i = 0; i < code.size(); ++i) {
    std::smatch match;
    std::string line = code[i].text.substr(0, code[i].text.find('\n'));
    if (!std::regex_match(line, match, syntax.jump))
      continue;
    uint64_t target = strtoull(match[1].str().c_str(), nullptr, 16);
    if (target > code[i].address)
      continue;
    for (size_t from = i;; --from) {
      if (code[from].address == target)
        loops.push_back({from, i});
      if (from == 0 || code[from].address <= target)
        break;
    }
  }
  // Innermost loops contain no other one.
  std::vector<Code> bodies;
  for (auto [from, to] : loops) {
    bool inner = true;
    for (auto [otherFrom, otherTo] : loops)
      inner &= (otherFrom == from && otherTo == to) ||
               !(from <= otherFrom && otherTo <= to);
    if (inner)
      bodies.emplace_back(code.begin() + from, code.begin() + to + 1);
  }
  return bodies;
}

int64_t test::countMatches(const Code &code,
                           const std::vector<std::string> &words) {
  return std::count_if(code.begin(), code.end(), [&](const Instruction &i) {
    return std::any_of(words.begin(), words.end(), [&](const std::string &w) {
      return i.text.find(w) != std::string::npos;
    });
  });
}

int64_t test::countAccumulators(const Code &code, const Syntax &syntax) {
  std::set<std::string> registers;
  for (const Instruction &i : code)
    for (const std::string &word : syntax.multiplyAdd)
      if (size_t at = i.text.find(word); at != std::string::npos) {
        std::string operands = i.text.substr(i.text.find('\t', at) + 1);
        registers.insert(operands.substr(0, operands.find(',')));
      }
  return registers.size();
}
