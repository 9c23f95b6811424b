// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the hand-written artifact with its manifest, for tests in other
// languages than C++: make-fake-model OUT.
#include "test/support/fake/Fake.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  transom::test::writeFile(
      argv[1], transom::test::fakeFile(transom::test::fakeManifest()));
  return 0;
}
