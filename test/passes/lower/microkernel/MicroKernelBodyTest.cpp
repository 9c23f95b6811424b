// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the machine code for a layer as in BERT, for every instruction set and
// type: the loops over K have one multiply-add for each vector in the tile (two
// if bf16 pairs are widened), and none touches the stack.
#include "runtime/base/InstructionSet.h"
#include "runtime/base/OperandFormat.h"
#include "test/passes/lower/PhaseText.h"
#include "test/passes/lower/Products.h"
#include "test/passes/lower/microkernel/Disassembly.h"
#include "gtest/gtest.h"
#include <cstdio>

using namespace transom;
using namespace transom::test;

namespace {

/// The GEMMs in a layer with hidden size 768 and feed-forward size 3072.
std::vector<Product> layerProducts(bool bf16) {
  std::vector<Product> list(4);
  for (Product &p : list) {
    p.k = 768;
    p.bias = true;
    p.bf16 = bf16;
  }
  list[0].name = "qkv";
  list[0].splits = {768, 768, 768};
  list[0].keyPanels = 1;
  list[0].outBf16 = bf16;
  list[1].name = "dense";
  list[1].splits = {768};
  list[1].residual = list[1].norm = true;
  list[2].name = "up";
  list[2].splits = {3072};
  list[2].activation = "gelu";
  list[2].outBf16 = bf16;
  list[3].name = "down";
  list[3].k = 3072;
  list[3].splits = {768};
  list[3].residual = list[3].norm = true;
  return list;
}

/// Attention with 12 heads of size 64.
std::string attentionText(const std::string &dtype) {
  std::string rows = bufferType("rows, 768", dtype),
              keys = bufferType("keys, 768", dtype, ", key_panels"),
              // In bf16 there is room for the values in AMX panels.
      scratch =
          bufferType(dtype == "bf16" ? "parts, 46272" : "parts, 10176", "f32");
  return "func.func @attention(%q: " + rows + ", %k: " + keys +
         ", %v: " + rows + ", %t: " + scratch + ", %y: " + rows +
         ") attributes {kern.symbols = [\"batch\", \"keys\", \"parts\", "
         "\"rows\", \"seq\"]} {\n" +
         raggedDefinition() +
         "  kern.phase \"attention\" {\n    kern.attention %q, %k, %v ragged "
         "%s, %s scratch %t outs(%y) heads 12 kv_heads 12 scale 0.125 : " +
         rows + ", " + keys + ", " + rows +
         ", !kern.ragged<0>, !kern.ragged<0>, " + scratch + ", " + rows +
         "\n  }\n  return\n}\n";
}

/// Counts for one instruction set.
struct CodeCounts {
  int64_t kernels = 0, loops = 0, bytes = 0;
};

/// The required instructions in a kernel's loops over K.
struct LoopShape {
  int64_t accumulators = 0, multiplyAdds = 0;
};

/// Checks one kernel's loops over K, which have this shape. The others belong
/// to activations.
void checkKernel(const std::string &name, const Code &code, LoopShape shape,
                 const Syntax &syntax, CodeCounts &counts) {
  int64_t found = 0;
  for (const Code &loop : innermostLoops(code, syntax)) {
    if (countMatches(loop, syntax.multiplyAdd) != shape.multiplyAdds ||
        countAccumulators(loop, syntax) != shape.accumulators)
      continue;
    ++found;
    EXPECT_EQ(countMatches(loop, syntax.stack), 0) << name;
  }
  EXPECT_GE(found, 1) << name << ": no loop with " << shape.multiplyAdds
                      << " multiply-adds to " << shape.accumulators
                      << " accumulators";
  ++counts.kernels;
  counts.loops += found;
}

/// Checks a layer's code for one instruction set.
void checkLayer(const InstructionSet &isa, const std::string &dtype) {
  static const std::regex kernelName(
      "transom\\.k\\.[a-z0-9]+\\.(f32|bf16)\\.([0-9]+)x([0-9]+)\\..*");
  KernelHarness harness(
      getText(layerProducts(dtype == "bf16")) + attentionText(dtype), isa.name);
  const std::string &object = harness.object(isa.name);
  const Syntax &syntax = getSyntax(isa.name);
  CodeCounts counts;
  for (const auto &[name, code] : disassemble(object, syntax)) {
    counts.bytes += code.back().address - code.front().address;
    EXPECT_EQ(countMatches(code, syntax.call), 0) << name << " calls out";
    std::smatch match;
    if (!std::regex_match(name, match, kernelName))
      continue;
    if (name.find("_amx") != std::string::npos) {
      // A step with one row tile, and one with two: two column tiles each. If
      // rows are stored, both occur again for missing columns, unless no caller
      // has such columns.
      const int64_t products = countMatches(code, {"tdpbf16ps"});
      EXPECT_TRUE(products == 6 || products == 12) << name << ": " << products;
      ++counts.kernels;
      continue;
    }
    LoopShape shape;
    shape.accumulators =
        std::stoll(match[2]) * std::stoll(match[3]) * 32 / isa.vectorBits;
    bool widened = match[1] == "bf16" && !isa.dotBf16;
    shape.multiplyAdds = shape.accumulators * (widened ? 2 : 1);
    checkKernel(name, code, shape, syntax, counts);
  }
  EXPECT_GT(counts.kernels, 0);
  printf("%s %s: %ld kernels, %ld loops over K, %ld KiB of code, object of "
         "%zu KiB\n",
         isa.name, dtype.c_str(), long(counts.kernels), long(counts.loops),
         long(counts.bytes / 1024), object.size() / 1024);
}

/// A matmul between f32 rows and integers.
std::string getDequantizedText(const OperandFormat &format) {
  const std::string rows = bufferType("rows, 768"),
                    weight = "!kern.weight<[768, 768] x #kern.format<" +
                             format.str() + ">, panels32>";
  return weightDefinition("w", weight) +
         phaseFunction({"product", "%x: " + rows + ", %y: " + rows,
                        weightValue("w", "w", weight),
                        "kern.gemm %x, %w outs(%y) : " + rows + ", " + weight +
                            ", " + rows});
}

/// Checks such a matmul's code: an iteration multiplies as many elements in
/// each column as are interleaved. Accumulators change their registers, so they
/// are not counted.
void checkDequantized(const InstructionSet &isa, const OperandFormat &format,
                      int64_t allowedSpills) {
  static const std::regex kernelName(
      "transom\\.k\\.[a-z0-9]+\\.f32\\.([0-9]+)x([0-9]+)\\..*_int.*");
  KernelHarness harness(getDequantizedText(format), isa.name);
  const Syntax &syntax = getSyntax(isa.name);
  int64_t kernels = 0;
  for (const auto &[name, code] :
       disassemble(harness.object(isa.name), syntax)) {
    std::smatch match;
    if (!std::regex_match(name, match, kernelName))
      continue;
    const int64_t multiplyAdds = std::stoll(match[1]) * std::stoll(match[2]) *
                                 32 / isa.vectorBits * format.interleave;
    int64_t found = 0;
    for (const Code &loop : innermostLoops(code, syntax)) {
      if (countMatches(loop, syntax.multiplyAdd) != multiplyAdds)
        continue;
      ++found;
      // Without an activation rbp is a general register.
      EXPECT_LE(countMatches(loop, {"[rsp", "[sp"}), allowedSpills) << name;
    }
    EXPECT_GE(found, 1) << name << ": no loop with " << multiplyAdds
                        << " multiply-adds";
    ++kernels;
  }
  EXPECT_GT(kernels, 0);
}

} // namespace

TEST(Code, LoopsOverDequantizedWeightsStayInRegisters) {
  const OperandFormat bytes = OperandFormat::getQuantized(StorageType::I8, 128)
                                  .withScales(StorageType::F16),
                      nibbles =
                          OperandFormat::getQuantized(StorageType::I4, 32);
  for (const InstructionSet &isa : getInstructionSets())
    if (isa.isFor({})) {
      checkDequantized(isa, bytes, 0);
      checkDequantized(isa, nibbles,
                       1); // a scale that is multiplied from there
    }
}

TEST(Code, LoopsOverKStayInRegisters) {
  for (const InstructionSet &isa : getInstructionSets())
    if (isa.isFor({})) // else the same code as without
      checkLayer(isa, "f32");
}

TEST(Code, LoopsOverPairsStayInRegisters) {
  for (const InstructionSet &isa : getInstructionSets())
    if (isa.isFor({/*bf16=*/true}))
      checkLayer(isa, "bf16");
}
