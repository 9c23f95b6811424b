// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Leaves: residues for weights and inputs, which are hashed on each read and
// use no memory. A rounded leaf is also a leaf.
#include "compiler/evaluator/residues/ResidueField.h"
#include "compiler/evaluator/residues/Residues.h"
#include "llvm/ADT/STLExtras.h"

namespace transom {

// A reference is a pool index, or for a leaf one bit, 16 bits for the tensor
// and 33 for the element.
static constexpr uint64_t leafBit = uint64_t(1) << 49;
static constexpr int elementBits = 33, tensorBits = 16;

static uint64_t getLeafElement(uint64_t reference) {
  return reference & ((uint64_t(1) << elementBits) - 1);
}

static uint64_t getLeafTensor(uint64_t reference) {
  return (reference & ~leafBit) >> elementBits;
}

uint64_t Residues::getTensor(const std::string &name) {
  auto [entry, isNew] = tensors.try_emplace(name, leafTensors.size());
  if (isNew)
    leafTensors.push_back({deriveKeys("tensor " + name), ~uint64_t(0)});
  return entry->second;
}

uint64_t Residues::getRoundedTensor(uint64_t tensor, uint64_t mask) {
  if (lastRounded.tensor == tensor && lastRounded.mask == mask)
    return lastRounded.rounded;
  auto [entry, isNew] =
      roundedTensors.try_emplace({tensor, mask}, leafTensors.size());
  if (isNew)
    leafTensors.push_back(
        {leafTensors[tensor].keys, leafTensors[tensor].mask & mask});
  lastRounded = {tensor, mask, entry->second};
  return entry->second;
}

/// Clears residue bits that are not in the mask.
static Residue clearBits(Residue residue, uint64_t mask, int numLanes) {
  for (int i = 0; i < numLanes; ++i) {
    residue.p[i] &= mask;
    if (residue.hasExponent())
      residue.q[i] &= mask;
  }
  return residue;
}

/// Number of cached leaves.
static constexpr size_t numKeptLeaves = size_t(1) << 18;

bool Residues::isLeaf(uint64_t reference) { return reference & leafBit; }

Residue Residues::hashLeaf(uint64_t tensor, uint64_t element) const {
  const LeafTensor &leaf = leafTensors[tensor];
  uint64_t hashes[Residue::maxLanes];
  for (int i = 0; i < numLanes; ++i)
    hashes[i] = mixBits(mixBits(element) ^ leaf.keys[i]);
  return clearBits(fromHashes(hashes, numLanes), leaf.mask, numLanes);
}

Residue Residues::hashLeaf(uint64_t reference) const {
  return hashLeaf(getLeafTensor(reference), getLeafElement(reference));
}

const Residue &Residues::getLeafAt(uint64_t reference) {
  if (leaves.empty())
    leaves.resize(numKeptLeaves);
  const uint64_t element = getLeafElement(reference);
  const uint64_t tensor = getLeafTensor(reference);
  // Adjacent elements stay adjacent.
  KeptLeaf &leaf = leaves[(element + mixBits(tensor)) % numKeptLeaves];
  if (leaf.reference != reference)
    leaf = {reference, hashLeaf(tensor, element)};
  return leaf.residue;
}

Number Residues::getLeaf(uint64_t tensor, int64_t index) {
  if (tensor >> tensorBits || index >> elementBits)
    return put(hashLeaf(tensor, static_cast<uint64_t>(index)));
  return Number::refer(leafBit | tensor << elementBits |
                       static_cast<uint64_t>(index));
}

Number Residues::getLeaf(const std::string &name, int64_t index) {
  return getLeaf(getTensor(name), index);
}

void Residues::getLeaves(const std::string &name,
                         llvm::MutableArrayRef<Number> out) {
  const uint64_t tensor = getTensor(name);
  for (auto [i, number] : llvm::enumerate(out))
    number = getLeaf(tensor, static_cast<int64_t>(i));
}

Number Residues::round(StorageType type, Number x) {
  if (rounding == Rounding::Erased || !x.isReference() ||
      type == StorageType::F32)
    return x;
  // Storage types keep different bits.
  const uint64_t kept = ~uint64_t(0) << (6 + 2 * static_cast<int>(type));
  // A rounded weight is also a leaf.
  const uint64_t reference = x.getReference();
  if (isLeaf(reference))
    return getLeaf(getRoundedTensor(getLeafTensor(reference), kept),
                   static_cast<int64_t>(getLeafElement(reference)));
  return put(clearBits(get(x), kept, numLanes));
}

} // namespace transom
