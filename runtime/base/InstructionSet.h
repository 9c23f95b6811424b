// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registry of instruction sets that an artifact can have code for. The
// compiler, the runtime, tests and benchmarks read this one table; adding an
// instruction set of a known machine takes an entry and a CPU test in
// InstructionSet.cpp.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// The types of numbers of a model beside f32.
struct ModelTypes {
  bool bf16 = false;
  bool int8 = false; ///< weights of products that are whole numbers
};

/// An instruction set with code of its own in an artifact. All generated code
/// works on vectors of 16 lanes; narrower registers hold a half or quarter of
/// one, so sums have one order everywhere.
struct InstructionSet {
  const char *name;   ///< in manifests and TRANSOM_FORCE_ISA: `avx2`
  const char *target; ///< of `--target`; several can have the same one
  /// Where one of these is set: makes a difference to such models only.
  bool isForBf16; ///< numbers of bf16
  bool isForInt8; ///< weights that are whole numbers

  // LLVM's names.
  const char *triple;   ///< machine and system
  const char *cpu;      ///< the CPU
  const char *features; ///< features beyond the CPU's

  // Micro-kernels. MR is the number of rows of the largest register tile.
  int64_t vectorBits;  ///< preferred width of vectors
  int64_t tileRows;    ///< MR of f32
  int64_t tileVectors; ///< NR, in vectors of 16 lanes
  int64_t bf16Rows;    ///< MR of bf16
  int64_t int8Rows;    ///< MR of int8
  bool dotBf16;        ///< multiplies pairs of bf16 in one instruction
  bool dotInt8;        ///< multiplies four bytes in one instruction
  bool amx;            ///< multiplies bf16 and bytes in tiles of AMX

  /// True if this CPU and its operating system run it.
  bool (*runsHere)();

  /// False if it makes no difference to models of these types.
  bool isFor(ModelTypes types) const {
    return (types.bf16 && isForBf16) || (types.int8 && isForInt8) ||
           !(isForBf16 || isForInt8);
  }
};

/// Rows of the left operand that a micro-kernel with AMX multiplies: two tiles.
constexpr int64_t amxRows = 32;
/// Numbers of k that an instruction of AMX multiplies in bf16.
constexpr int64_t amxBf16Depth = 32;
/// The same of bytes, where a group has as many.
constexpr int64_t amxInt8Depth = 64;

/// All instruction sets; those of one machine are ordered from weakest to
/// strongest.
const std::vector<InstructionSet> &getInstructionSets();

/// The names of all instruction sets, in the order of the table.
std::vector<std::string> getInstructionSetNames();

/// The instruction set of that name, or null.
const InstructionSet *findInstructionSet(std::string_view name);

/// The instruction set of that name; the error lists the supported ones.
Result<const InstructionSet *> getInstructionSet(const std::string &name);

/// The instruction sets that run here, strongest first.
const std::vector<const InstructionSet *> &getRunnableInstructionSets();

} // namespace transom
