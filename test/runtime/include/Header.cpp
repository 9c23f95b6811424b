// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API header as an application in old C++ sees it, and calls through the
// shared library.
#include "transom/transom.h"
#include <cstring>

int main() {
  transom_model *model = nullptr;
  transom_status status = transom_model_load("/no/such/model", nullptr, &model);
  return status == TRANSOM_STATUS_UNAVAILABLE && model == nullptr &&
                 std::strlen(transom_last_error()) > 0
             ? 0
             : 1;
}
