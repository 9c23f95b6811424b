// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of the stages at which a compile can stop. The tool links this without
// the rest of the driver.
#include "compiler/driver/Compile.h"
#include "runtime/base/Suggest.h"

using namespace transom;

static constexpr const char *names[] = {"attn", "attn-opt", "kern", "llvm-ir",
                                        "asm",  "obj",      "so"};

const char *transom::emitStageName(EmitStage stage) {
  return names[static_cast<int>(stage)];
}

std::vector<std::string> transom::emitStageNames() {
  return {std::begin(names), std::end(names)};
}

Result<EmitStage> transom::parseEmitStage(const std::string &name) {
  for (size_t i = 0; i < std::size(names); ++i)
    if (name == names[i])
      return static_cast<EmitStage>(i);
  return usageError("unknown stage '" + name +
                    "'; supported: " + joinNames(emitStageNames()) +
                    suggest(name, emitStageNames()));
}
