// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shared library is made of the static one; CMake wants a source of its
// own, and this one lets the header be compiled once as an application sees it.
#include "transom/transom.h"
