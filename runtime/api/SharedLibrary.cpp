// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shared library wraps the static one; CMake requires a source file,
// and this one compiles the header once as an application does.
#include "transom/transom.h"
