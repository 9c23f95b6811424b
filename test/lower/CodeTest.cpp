// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the machine code of a layer such as BERT's, of every instruction set:
// the loops over K hold one fused multiply-add for each vector of the tile, and
// nothing in them touches the stack.
#include "passes/lower/Isa.h"
#include "test/lower/PhaseText.h"
#include "test/support/KernelHarness.h"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <unistd.h>

using namespace transom;
using namespace transom::test;

namespace {

std::string str(int64_t value) { return std::to_string(value); }

/// Products and attention of a layer of hidden size 768.
std::string layerText() {
  auto weight = [](const char *name, int64_t n, int64_t k) {
    return weightDefinition(name, "!kern.weight<[" + str(n) + ", " + str(k) +
                                      "] x f32, panels32>") +
           weightDefinition(std::string(name) + "b",
                            "!kern.weight<[" + str(n) + "] x f32, padded32>");
  };
  auto product = [](const char *name, int64_t n, int64_t k,
                    const std::string &residual,
                    const std::string &attributes) {
    std::string x = bufferType("rows, " + str(k)),
                y = bufferType("rows, " + str(n)),
                w = "!kern.weight<[" + str(n) + ", " + str(k) +
                    "] x f32, panels32>",
                b = "!kern.weight<[" + str(n) + "] x f32, padded32>";
    return phaseFunction({name, "%x: " + x + ", %r: " + y + ", %y: " + y,
                          weightValue("w", std::string(name) + "w", w) +
                              weightValue("b", std::string(name) + "wb", b),
                          "kern.gemm %x, %w bias %b" + residual + " outs(%y)" +
                              attributes + " : " + x + ", " + w + ", " + b +
                              (residual.empty() ? "" : ", " + y) + ", " + y});
  };
  std::string rows = bufferType("rows, 768"),
              keys = bufferType("keys, 768", "f32", ", key_panels"),
              scratch = "!kern.buffer<[n, 10176] x f32>";
  std::string attention =
      "func.func @attention(%q: " + rows + ", %k: " + keys + ", %v: " + rows +
      ", %t: !kern.buffer<[parts, 10176] x f32>, %y: " + rows +
      ") attributes {kern.symbols = [\"batch\", \"keys\", \"parts\", \"rows\", "
      "\"seq\"]} {\n" +
      segmentsDefinition() +
      "  kern.phase \"attention\" {\n    kern.attention %q, %k, %v segments "
      "%s, %s scratch %t outs(%y) heads 12 kv_heads 12 scale 0.125 : " +
      rows + ", " + keys + ", " + rows +
      ", !kern.segments<0>, !kern.segments<0>, !kern.buffer<[parts, 10176] x "
      "f32>, " +
      rows + "\n  }\n  return\n}\n";
  return weight("qkvw", 2304, 768) + weight("densew", 768, 768) +
         weight("upw", 3072, 768) + weight("downw", 768, 3072) +
         product("qkv", 2304, 768, "", "") +
         product("dense", 768, 768, " residual %r", "") +
         product("up", 3072, 768, "", " {activation = \"gelu\"}") +
         product("down", 768, 3072, " residual %r", "") + attention;
}

/// How the disassembler writes what is looked for.
struct Syntax {
  const char *flags; ///< of llvm-objdump
  std::regex jump;   ///< a jump; its first group is the target
  std::vector<std::string> multiplyAdd, stack, call;
};

const Syntax &syntaxOf(llvm::StringRef isa) {
  static const Syntax x86{"--x86-asm-syntax=intel",
                          std::regex("\\s+j[a-z]+\\s+0x([0-9a-f]+).*"),
                          {"vfmadd"},
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

struct Instruction {
  uint64_t address = 0;
  std::string text; ///< name and operands
};

/// The functions of an object file and their instructions.
std::map<std::string, std::vector<Instruction>>
disassemble(const std::string &object, const Syntax &syntax) {
  std::string path = testing::TempDir() + "transom-code-XXXXXX";
  int file = mkstemp(path.data());
  EXPECT_GE(file, 0);
  EXPECT_EQ(write(file, object.data(), object.size()), ssize_t(object.size()));
  close(file);
  std::string command = std::string(TRANSOM_OBJDUMP) +
                        " -d --no-show-raw-insn " + syntax.flags + " " + path;
  std::map<std::string, std::vector<Instruction>> functions;
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

/// The bodies of the innermost loops: from the target of a backward jump to it.
std::vector<std::vector<Instruction>>
innermostLoops(const std::vector<Instruction> &code, const Syntax &syntax) {
  std::vector<std::pair<size_t, size_t>> loops;
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
  std::vector<std::vector<Instruction>> bodies;
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

/// How many of the instructions hold one of the words.
int64_t countOf(const std::vector<Instruction> &code,
                const std::vector<std::string> &words) {
  return std::count_if(code.begin(), code.end(), [&](const Instruction &i) {
    return std::any_of(words.begin(), words.end(), [&](const std::string &w) {
      return i.text.find(w) != std::string::npos;
    });
  });
}

/// How many accumulators a loop has: registers that multiply-adds write. In a
/// polynomial one register takes many of them.
int64_t accumulatorsOf(const std::vector<Instruction> &code,
                       const Syntax &syntax) {
  std::set<std::string> registers;
  for (const Instruction &i : code)
    for (const std::string &word : syntax.multiplyAdd)
      if (size_t at = i.text.find(word); at != std::string::npos) {
        std::string operands = i.text.substr(i.text.find('\t', at) + 1);
        registers.insert(operands.substr(0, operands.find(',')));
      }
  return registers.size();
}

/// Counts of one instruction set.
struct CodeCounts {
  int64_t kernels = 0, loops = 0, bytes = 0;
};

/// Checks the loops over K of one kernel: those with as many multiply-adds as
/// the tile has vectors, each of its own register. The others are of
/// activations.
void checkKernel(const std::string &name, const std::vector<Instruction> &code,
                 int64_t vectors, const Syntax &syntax, CodeCounts &counts) {
  int64_t found = 0;
  for (const std::vector<Instruction> &loop : innermostLoops(code, syntax)) {
    if (countOf(loop, syntax.multiplyAdd) != vectors ||
        accumulatorsOf(loop, syntax) != vectors)
      continue;
    ++found;
    EXPECT_EQ(countOf(loop, syntax.stack), 0) << name;
  }
  EXPECT_GE(found, 1) << name << ": no loop with " << vectors
                      << " multiply-adds";
  ++counts.kernels;
  counts.loops += found;
}

} // namespace

TEST(Code, LoopsOverKStayInRegisters) {
  static const std::regex kernelName(
      "transom\\.k\\.([a-z0-9]+)\\.f32\\.([0-9]+)x([0-9]+)\\..*");
  for (const lower::Isa &isa : lower::allIsas()) {
    if (isa.dotBf16) // the same code as without
      continue;
    KernelHarness harness(layerText(), isa.name.str());
    const std::string &object = harness.object(isa.name.str());
    const Syntax &syntax = syntaxOf(isa.name);
    CodeCounts counts;
    for (const auto &[name, code] : disassemble(object, syntax)) {
      counts.bytes += code.back().address - code.front().address;
      EXPECT_EQ(countOf(code, syntax.call), 0) << name << " calls out";
      std::smatch match;
      if (std::regex_match(name, match, kernelName))
        checkKernel(name, code,
                    std::stoll(match[2]) * std::stoll(match[3]) * 32 /
                        isa.vectorBits,
                    syntax, counts);
    }
    EXPECT_GT(counts.kernels, 0);
    printf("%s: %ld kernels, %ld loops over K, %ld KiB of code, object of %zu "
           "KiB\n",
           isa.name.str().c_str(), long(counts.kernels), long(counts.loops),
           long(counts.bytes / 1024), object.size() / 1024);
  }
}
