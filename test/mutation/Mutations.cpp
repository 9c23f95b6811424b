// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of bug kinds, and the location choice.
#include "test/mutation/Mutations.h"
#include "dialects/kern/Kern.h"
#include <map>

using namespace mlir;

namespace transom::testing {

llvm::ArrayRef<MutationKind> getMutationKinds() {
  static constexpr MutationKind kinds[] = {
      {"swap operands", swapOperands},
      {"other operand", takeOtherOperands},
      {"drop operand", dropOperands},
      {"number", changeNumbers},
      {"flag", flipFlags},
      {"enum word", changeWords},
      {"weight expression", changeWeights},
      {"other weight", takeOtherWeights},
      {"layer table", changeLayers},
      {"order", changeOrder},
      {"erase", eraseOperations},
      {"barrier", removeBarriers},
      {"region", changeRegions},
      {"offset", changeOffsets},
      {"counters", spoilCounters},
  };
  return kinds;
}

/// The operation as a string; for a scalar, its region.
static std::string getText(Operation *op) {
  if (!op)
    return "gone";
  if (isa<kern::ElementwiseOp>(op->getParentOp()))
    op = op->getParentOp();
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream,
            OpPrintingFlags().useLocalScope().elideLargeElementsAttrs(8));
  constexpr size_t longest = 1200;
  return text.size() > longest ? text.substr(0, longest) + " ..." : text;
}

std::optional<Planted> plant(ModuleOp module, const MutationKind &kind,
                             const TensorSource &source, Random &random) {
  Edits edits;
  kind.collect(module, source, edits);
  if (edits.empty())
    return std::nullopt;
  std::map<std::string, std::vector<Edit *>> groups;
  for (Edit &edit : edits)
    groups[edit.op->getName().getStringRef().str() + " " + edit.what].push_back(
        &edit);
  auto group = groups.begin();
  std::advance(group, random.below(static_cast<int64_t>(groups.size())));
  auto count = static_cast<int64_t>(group->second.size());
  Edit &edit = *group->second[random.below(count)];
  Planted planted = {group->first, edit.op, getText(edit.op), {}};
  Operation *parent = edit.op->getParentOp();
  planted.op = edit.apply();
  planted.after = getText(planted.op || !isa<kern::ElementwiseOp>(parent)
                              ? planted.op
                              : &parent->getRegion(0).front().back());
  return planted;
}

} // namespace transom::testing
