// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of instruction sets.
#include "passes/lower/emit/Isa.h"

using namespace transom::lower;

// A tile of r rows and v vectors needs r*v accumulators, v registers for the
// weights and two for the broadcast value: 6x2 of 16 ymm registers (a 16-lane
// vector takes two), 14x2 of 32 zmm registers, 6x1 of 32 registers of four
// lanes. Where pairs of bf16 have to be widened, the weights take twice their
// registers and each row two more.
static const Isa kIsas[] = {
    {"avx2", 256, 6, 1, 4, false},
    {"avx512", 512, 14, 2, 12, false},
    {"avx512bf16", 512, 14, 2, 14, true},
    {"neon", 128, 6, 1, 4, false},
};

llvm::ArrayRef<Isa> transom::lower::allIsas() { return kIsas; }

const Isa *transom::lower::findIsa(llvm::StringRef name) {
  for (const Isa &isa : kIsas)
    if (isa.name == name)
      return &isa;
  return nullptr;
}
