// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operation that identifies a phase: profiles, explanations and its
// function symbol all use this operation's location.
#pragma once
#include "dialects/kern/Kern.h"
#include <string>

namespace transom::kern {

/// The phase's operation with the most computation; null if none computes
/// anything.
BufferOp findHeaviestOp(PhaseOp phase);

/// The heaviest operation's location, else the phase's.
mlir::Location getPhaseLocation(PhaseOp phase);

/// The symbol of a phase function for an instruction set.
std::string getPhaseSymbol(llvm::StringRef isa, PhaseOp phase);

} // namespace transom::kern
