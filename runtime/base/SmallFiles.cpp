// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files in a folder, or texts in memory.
#include "runtime/base/SmallFiles.h"
#include "runtime/base/File.h"

namespace transom {

bool SmallFiles::has(const std::string &name) const {
  return texts ? texts->count(name) != 0 : fileExists(getPath(name));
}

Result<std::string> SmallFiles::read(const std::string &name,
                                     uint64_t cap) const {
  if (!texts)
    return readSmallFile(getPath(name), cap);
  auto found = texts->find(name);
  if (found == texts->end())
    return unavailable(getPath(name) + ": no such file");
  if (found->second.size() > cap)
    return rejected(getPath(name) + ": " +
                    std::to_string(found->second.size()) +
                    " bytes are over the limit of " + std::to_string(cap));
  return found->second;
}

std::string SmallFiles::getPath(const std::string &name) const {
  return texts ? where + " (as " + name + ")" : joinPath(where, name);
}

} // namespace transom
