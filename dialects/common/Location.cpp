// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A location is a fused location whose metadata is the module path and whose
// children are named by a JSON pointer over the file. Paths are merged
// component by component: equal components are kept, integers become ranges,
// other words alternatives.
#include "dialects/common/Location.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace transom {

/// The alternatives in one path component: `{0-2,5}` is 0, 1, 2 and 5.
struct Alternatives {
  void insert(StringRef item) {
    if (seen.insert(item).second)
      items.push_back(item.str());
  }

  llvm::StringSet<> seen;
  SmallVector<std::string> items;
};

/// Exceeds the number of layers in any model; a longer range is kept as
/// written.
static constexpr int64_t maxRange = 8192;

static void addAlternatives(StringRef component, Alternatives &all) {
  if (!component.consume_front("{") || !component.consume_back("}")) {
    all.insert(component);
    return;
  }
  SmallVector<StringRef> items;
  component.split(items, ',');
  for (StringRef item : items) {
    auto [first, last] = item.split('-');
    int64_t begin = 0, end = 0;
    if (first.getAsInteger(10, begin) || last.getAsInteger(10, end) ||
        end < begin || end - begin > maxRange) {
      all.insert(item);
      continue;
    }
    for (int64_t i = begin; i <= end; ++i)
      all.insert(std::to_string(i));
  }
}

/// `{0-2,5}` for integers, `{query,key}` for words.
static std::string printAlternatives(const Alternatives &all) {
  if (all.items.size() == 1)
    return all.items.front();
  SmallVector<int64_t> numbers;
  for (const std::string &item : all.items) {
    int64_t number = 0;
    if (StringRef(item).getAsInteger(10, number))
      return "{" + llvm::join(all.items, ",") + "}";
    numbers.push_back(number);
  }
  llvm::sort(numbers);
  SmallVector<std::string> ranges;
  for (size_t i = 0; i < numbers.size();) {
    size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1)
      ++j;
    ranges.push_back(std::to_string(numbers[i]) +
                     (j > i ? "-" + std::to_string(numbers[j]) : ""));
    i = j + 1;
  }
  return "{" + llvm::join(ranges, ",") + "}";
}

/// The common prefix before the first difference in length or words.
static std::string commonPrefix(ArrayRef<SmallVector<StringRef>> paths) {
  SmallVector<StringRef> prefix(paths.front());
  for (ArrayRef<StringRef> path : paths) {
    size_t length = 0;
    while (length < prefix.size() && length < path.size() &&
           prefix[length] == path[length])
      ++length;
    prefix.resize(length);
  }
  return llvm::join(prefix, ".");
}

/// Merges several paths into one.
static std::string mergePaths(ArrayRef<std::string> paths) {
  llvm::SetVector<StringRef> unique;
  for (const std::string &path : paths)
    if (!path.empty())
      unique.insert(path);
  if (unique.empty())
    return {};
  SmallVector<SmallVector<StringRef>> split;
  bool oneLength = true;
  for (StringRef path : unique) {
    path.split(split.emplace_back(), '.');
    oneLength &= split.back().size() == split.front().size();
  }
  std::string prefix = commonPrefix(split);
  if (!oneLength)
    return prefix.empty() ? "{" + llvm::join(unique, ",") + "}" : prefix;
  SmallVector<std::string> components;
  for (size_t index = 0; index < split.front().size(); ++index) {
    Alternatives all;
    for (ArrayRef<StringRef> path : split)
      addAlternatives(path[index], all);
    components.push_back(printAlternatives(all));
  }
  return llvm::join(components, ".");
}

Location makeLocation(MLIRContext *context, StringRef path, StringRef file,
                      StringRef jsonPointer) {
  Location origin = FileLineColLoc::get(context, file, 0, 0);
  if (!jsonPointer.empty())
    origin = NameLoc::get(StringAttr::get(context, jsonPointer), origin);
  return FusedLoc::get(ArrayRef<Location>(origin),
                       StringAttr::get(context, path), context);
}

std::string getModulePath(Location location) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    if (auto path = dyn_cast_or_null<StringAttr>(fused.getMetadata()))
      return path.getValue().str();
    SmallVector<std::string> paths;
    for (Location fusedLocation : fused.getLocations())
      paths.push_back(getModulePath(fusedLocation));
    return mergePaths(paths);
  }
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return getModulePath(call.getCallee());
  return {};
}

Origin findOrigin(Location location) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location fusedLocation : fused.getLocations())
      if (Origin origin = findOrigin(fusedLocation); !origin.file.empty())
        return origin;
    return {};
  }
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return {file.getFilename().str(), ""};
  if (auto name = dyn_cast<NameLoc>(location)) {
    Origin origin = findOrigin(name.getChildLoc());
    if (!origin.file.empty())
      origin.pointer = name.getName().str();
    return origin;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return findOrigin(call.getCallee());
  return {};
}

std::string getOrigin(Location location) {
  Origin origin = findOrigin(location);
  return origin.pointer.empty() ? origin.file
                                : origin.file + ": " + origin.pointer;
}

/// Collects a location's files and pointers, without the module paths.
static void collectOrigins(Location location,
                           llvm::SetVector<Location> &origins) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location fusedLocation : fused.getLocations())
      collectOrigins(fusedLocation, origins);
    return;
  }
  if (!isa<UnknownLoc>(location))
    origins.insert(location);
}

Location fuseLocations(MLIRContext *context, ArrayRef<Location> locations) {
  llvm::SetVector<Location> origins;
  SmallVector<std::string> paths;
  for (Location location : locations) {
    collectOrigins(location, origins);
    paths.push_back(getModulePath(location));
  }
  std::string path = mergePaths(paths);
  if (path.empty())
    return FusedLoc::get(context, locations);
  return FusedLoc::get(origins.getArrayRef(), StringAttr::get(context, path),
                       context);
}

bool hasModulePath(Location location) {
  return !getModulePath(location).empty();
}

} // namespace transom
