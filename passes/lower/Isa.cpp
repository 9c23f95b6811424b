// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of instruction sets.
#include "passes/lower/Isa.h"

using namespace transom::lower;

// A tile of r rows and v vectors needs r*v accumulators, v registers for the
// weights and two for the broadcast value: 6x2 of 16 ymm registers (a 16-lane
// vector takes two), 14x2 of 32 zmm registers.
static const Isa kIsas[] = {
    {"avx2", "x86-64-v3", "", 256, 6, 1},
    {"avx512", "x86-64-v4", "-prefer-256-bit", 512, 14, 2},
};

llvm::ArrayRef<Isa> transom::lower::allIsas() { return kIsas; }

const Isa *transom::lower::findIsa(llvm::StringRef name) {
  for (const Isa &isa : kIsas)
    if (isa.name == name)
      return &isa;
  return nullptr;
}
