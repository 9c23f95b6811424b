// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass names number a flag's entries over the whole pipeline.
#include "compiler/pipeline/PassRange.h"
#include "runtime/base/Suggest.h"

using namespace mlir;

namespace transom {

/// Returns a flag's entries, in order.
static std::vector<const PassInfo *> getEntries(StringRef flag) {
  std::vector<const PassInfo *> entries;
  for (const PassInfo &pass : getPasses())
    if (pass.flag == flag)
      entries.push_back(&pass);
  return entries;
}

std::string getPassName(const PassInfo &pass) {
  const std::vector<const PassInfo *> entries = getEntries(pass.flag);
  if (entries.size() == 1)
    return pass.flag.str();
  const auto position = llvm::find(entries, &pass) - entries.begin();
  return pass.flag.str() + ":" + std::to_string(position + 1);
}

Result<const PassInfo *> findPass(StringRef name) {
  std::vector<std::string> names;
  for (const PassInfo &pass : getPasses()) {
    names.push_back(getPassName(pass));
    if (name == names.back())
      return &pass;
  }

  // The flag lacks a required number, or its number does not exist.
  std::vector<std::string> entries;
  for (const PassInfo *pass : getEntries(name.split(':').first))
    entries.push_back(getPassName(*pass));
  if (!entries.empty())
    return usageError("ambiguous or unknown pass '" + name.str() +
                      "'; supported: " + joinNames(entries));
  return usageError("unknown pass '" + name.str() + "'; supported: " +
                    joinNames(names) + suggest(name.str(), names));
}

Result<void> populateRange(OpPassManager &manager, const PassInfo *first,
                           const PassInfo *last,
                           const PipelineOptions &options) {
  first = first ? first : getPasses().begin();
  last = last ? last : getPasses().end() - 1;
  if (last < first)
    return usageError("pass '" + getPassName(*last) + "' runs before '" +
                      getPassName(*first) + "'");
  for (const PassInfo *pass = first; pass <= last; ++pass)
    if (runsPass(*pass, options))
      manager.addPass(pass->create(options));
  return {};
}

} // namespace transom
