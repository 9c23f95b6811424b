// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registry of instruction sets that an artifact can have code for. The
// compiler, the runtime, tests and benchmarks read this table; adding an
// instruction set for a known architecture takes an entry and a CPU test in
// InstructionSet.cpp.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// Element types in a model in addition to f32.
struct ModelTypes {
  bool bf16 = false;
  bool int8 = false; ///< quantized GEMM weights
};

/// An instruction set with its own code in an artifact. All generated code
/// works on vectors with 16 lanes; narrower registers hold a half or quarter
/// vector, so sums have the same order everywhere.
struct InstructionSet {
  const char *name;   ///< in manifests and TRANSOM_FORCE_ISA: `avx2`
  const char *target; ///< of `--target`; several can have the same one
  /// If any flag is set, the instruction set matters only to these models.
  bool isForBf16; ///< bf16 values
  bool isForInt8; ///< quantized weights

  // LLVM's names.
  const char *triple;   ///< architecture and system
  const char *cpu;      ///< the CPU
  const char *features; ///< features in addition to the CPU's

  // Micro-kernels. MR is the maximum number of rows in a register tile.
  int64_t vectorBits;  ///< preferred vector width
  int64_t tileRows;    ///< MR for f32
  int64_t tileVectors; ///< NR, in 16-lane vectors
  int64_t bf16Rows;    ///< MR for bf16
  int64_t int8Rows;    ///< MR for int8
  bool dotBf16;        ///< has bf16 pair dot products
  bool dotInt8;        ///< has 4-byte dot products
  bool amx;            ///< multiplies bf16 and bytes in AMX tiles

  /// True if this CPU and its operating system support it.
  bool (*runsHere)();

  /// False if it makes no difference to models with these types.
  bool isFor(ModelTypes types) const {
    return (types.bf16 && isForBf16) || (types.int8 && isForInt8) ||
           !(isForBf16 || isForInt8);
  }
};

/// Left-operand rows that an AMX micro-kernel multiplies: two tiles.
constexpr int64_t amxRows = 32;
/// Bf16 elements along K per AMX instruction.
constexpr int64_t amxBf16Depth = 32;
/// The same for bytes, if the quantization group has at least this size.
constexpr int64_t amxInt8Depth = 64;

/// All instruction sets; within an architecture ordered from weakest to
/// strongest.
const std::vector<InstructionSet> &getInstructionSets();

/// All instruction set names, in table order.
std::vector<std::string> getInstructionSetNames();

/// The instruction set with this name, or null.
const InstructionSet *findInstructionSet(std::string_view name);

/// The instruction set with this name; the error lists the supported names.
Result<const InstructionSet *> getInstructionSet(const std::string &name);

/// The instruction sets supported by this host, strongest first.
const std::vector<const InstructionSet *> &getRunnableInstructionSets();

} // namespace transom
