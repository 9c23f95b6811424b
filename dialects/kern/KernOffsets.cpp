// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that weights in the artifact, caches in their group's blocks, and
// buffers in the arena are in bounds, aligned, and disjoint. Buffers are
// checked for all sizes, by polynomial coefficients.
#include "dialects/kern/KernVerify.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

/// Weight alignment in bytes, in the artifact and in memory.
static constexpr int64_t kWeightAlignment = 64;

namespace {

/// A symbol that occupies bytes in a section.
struct Placed {
  Operation *op;
  int64_t offset, bytes;

  StringRef getName() const { return SymbolTable::getSymbolName(op); }
};

} // namespace

/// Fails if one exceeds the section or begins inside another.
static LogicalResult verifyDisjoint(SmallVector<Placed> all, int64_t bytes) {
  llvm::stable_sort(all, [](const Placed &a, const Placed &b) {
    return a.offset < b.offset;
  });
  const Placed *before = nullptr;
  for (const Placed &placed : all) {
    if (before && placed.offset < before->offset + before->bytes)
      return placed.op->emitOpError("expects an offset from ")
             << before->offset + before->bytes << " on, after '"
             << before->getName() << "', got " << placed.offset;
    if (placed.offset + placed.bytes > bytes)
      return placed.op->emitOpError("expects ")
             << placed.bytes << " bytes within the " << bytes
             << " of its section, got offset " << placed.offset;
    if (placed.bytes > 0)
      before = &placed;
  }
  return success();
}

LogicalResult rules::verifyWeightOffsets(Operation *module, int64_t bytes) {
  SmallVector<Placed> all;
  for (auto weight : module->getRegion(0).getOps<WeightOp>()) {
    auto type = llvm::dyn_cast_or_null<TypeAttr>(weight->getAttr("type"));
    if (!type || !llvm::isa<WeightType>(type.getValue()))
      continue; // reported by the operation's verifier
    std::optional<uint64_t> offset = weight.getOffset();
    if (!offset || *offset % kWeightAlignment)
      return weight.emitOpError("expects an offset that is a multiple of ")
             << kWeightAlignment << " beside 'kern.weight_bytes', got "
             << (offset ? std::to_string(*offset) : "none");
    all.push_back({weight, int64_t(*offset),
                   llvm::cast<WeightType>(type.getValue()).getByteSize()});
  }
  return verifyDisjoint(std::move(all), bytes);
}

/// True if a cache has the group's window, positions and type.
static bool isOfGroup(CacheType cache, DictionaryAttr group) {
  auto positions = group.getAs<IntegerAttr>("positions");
  return cache.getWindow() == group.getAs<IntegerAttr>("window").getInt() &&
         cache.getPositions() == (positions ? positions.getInt() : 0) &&
         cache.getElementType() == group.getAs<TypeAttr>("type").getValue();
}

LogicalResult rules::verifyCacheOffsets(Operation *module, ArrayAttr groups) {
  // Collect the caches by group.
  SmallVector<SmallVector<Placed>> all(groups.size());
  for (auto cache : module->getRegion(0).getOps<CacheOp>()) {
    auto type = llvm::dyn_cast_or_null<TypeAttr>(cache->getAttr("type"));
    if (!type || !llvm::isa<CacheType>(type.getValue()))
      continue; // reported by the operation's verifier
    auto own = llvm::cast<CacheType>(type.getValue());
    std::optional<uint64_t> group = cache.getGroup(),
                            offset = cache.getOffset();
    if (!group || !offset || *group >= groups.size() ||
        !isOfGroup(own, llvm::cast<DictionaryAttr>(groups[*group])))
      return cache.emitOpError(
                 "expects a group of 'kern.cache_groups' with its "
                 "window, positions and type, got ")
             << (group ? std::to_string(*group) : "none");
    all[*group].push_back({cache, int64_t(*offset), own.getByteSize()});
  }
  // Check the layer count, and that caches are disjoint.
  for (auto [placed, entry] : llvm::zip_equal(all, groups)) {
    auto group = llvm::cast<DictionaryAttr>(entry);
    const int64_t layers = group.getAs<IntegerAttr>("layers").getInt();
    if (int64_t(placed.size()) != layers)
      return module->emitOpError("expects ")
             << placed.size() << " layers in the group of caches, got "
             << layers;
    if (failed(verifyDisjoint(std::move(placed),
                              group.getAs<IntegerAttr>("bytes").getInt())))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

namespace {

/// An arena buffer, from its first step to its last.
struct PlacedBuffer {
  size_t slot;
  int64_t first, last;
  Polynomial begin, end;
};

} // namespace

static Polynomial getSize(DictionaryAttr entry, StringRef name) {
  Result<Polynomial> size =
      Polynomial::parse(entry.getAs<StringAttr>(name).getValue().str());
  return size ? *size : Polynomial(); // reported by the table's own rule
}

/// Returns the buffers in a table with lifetimes, ordered by first step.
static SmallVector<PlacedBuffer> getPlacedBuffers(ArrayAttr buffers) {
  SmallVector<PlacedBuffer> all;
  for (auto [slot, attribute] : llvm::enumerate(buffers)) {
    auto entry = llvm::cast<DictionaryAttr>(attribute);
    auto first = entry.getAs<IntegerAttr>("first"),
         last = entry.getAs<IntegerAttr>("last");
    if (!first || !last)
      continue;
    Polynomial offset = getSize(entry, "offset");
    all.push_back({slot, first.getInt(), last.getInt(), offset,
                   offset + getSize(entry, "bytes")});
  }
  llvm::stable_sort(all, [](const PlacedBuffer &a, const PlacedBuffer &b) {
    return a.first < b.first;
  });
  return all;
}

LogicalResult rules::verifyBufferOffsets(Operation *function,
                                         ArrayAttr buffers) {
  auto bytes = function->getAttrOfType<StringAttr>("kern.arena_bytes");
  Result<Polynomial> arena =
      Polynomial::parse(bytes ? bytes.getValue().str() : "");
  SmallVector<PlacedBuffer> alive;
  for (const PlacedBuffer &buffer : getPlacedBuffers(buffers)) {
    if (arena && !arena->coversCoefficients(buffer.end))
      return function->emitOpError("expects buffer ")
             << buffer.slot << " within the arena of " << arena->str()
             << " bytes for all sizes, got its end " << buffer.end.str();
    llvm::erase_if(alive, [&](const PlacedBuffer &other) {
      return other.last < buffer.first;
    });
    for (const PlacedBuffer &other : alive)
      if (!buffer.begin.coversCoefficients(other.end) &&
          !other.begin.coversCoefficients(buffer.end))
        return function->emitOpError("expects buffers ")
               << other.slot << " and " << buffer.slot
               << ", which live in step " << buffer.first
               << ", to be apart for all sizes, got offsets "
               << other.begin.str() << " and " << buffer.begin.str();
    alive.push_back(buffer);
  }
  return success();
}
