// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction sets that kernels are generated for. All generated code
// works on vectors of 16 lanes; an instruction set with narrower registers
// takes them in pieces, so sums have one order everywhere.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace transom::lower {

/// Lanes of the vectors that generated code works on.
constexpr int64_t kLanes = 16;

/// What the generator has to know about an instruction set. What LLVM has to
/// know stands under the same name in compiler/codegen/TargetMachine.
struct Isa {
  llvm::StringRef name; ///< as manifests and `TRANSOM_FORCE_ISA` spell it
  int64_t vectorBits;   ///< width that LLVM shall prefer
  int64_t tileRows;     ///< height of the highest register tile
  int64_t tileVectors;  ///< width of a register tile in 16-lane vectors
  int64_t bf16Rows;     ///< height of the highest register tile of bf16
  bool dotBf16;         ///< multiplies pairs of bf16 in one instruction
};

/// All instruction sets, the plainest first.
llvm::ArrayRef<Isa> allIsas();

/// The instruction set of this name, or null.
const Isa *findIsa(llvm::StringRef name);

} // namespace transom::lower
