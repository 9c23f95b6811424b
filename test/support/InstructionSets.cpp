// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the instruction sets that run on this host, one per line, for test
// scripts.
#include "runtime/base/InstructionSet.h"
#include <cstdio>

int main() {
  for (const transom::InstructionSet *isa :
       transom::getRunnableInstructionSets())
    puts(isa->name);
}
