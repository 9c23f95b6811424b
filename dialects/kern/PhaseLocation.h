// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operation a phase is known by: profiles, explanations and the symbol of
// its code name the location of the same one.
#pragma once
#include "dialects/kern/Kern.h"
#include <string>

namespace transom::kern {

/// The operation of a phase that computes most; null if none computes anything.
BufferOp findHeaviestOp(PhaseOp phase);

/// The location of the heaviest operation, else that of the phase.
mlir::Location getPhaseLocation(PhaseOp phase);

/// The symbol of a phase's code for an instruction set.
std::string getPhaseSymbol(llvm::StringRef isa, PhaseOp phase);

} // namespace transom::kern
