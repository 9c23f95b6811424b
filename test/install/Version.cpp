// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C++ application that prints the library's version.
#include <cstdio>
#include <transom/transom.h>

int main() {
  std::puts(transom_version());
  return 0;
}
