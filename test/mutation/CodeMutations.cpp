// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of fault kinds, and the location choice.
#include "test/mutation/CodeMutations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <map>
#include <set>

using namespace mlir;

namespace transom::testing {

llvm::ArrayRef<CodeMutationKind> getCodeMutationKinds() {
  static constexpr CodeMutationKind kinds[] = {
      {"offset", shiftAddresses},
      {"stride", changeStrides},
      {"tail", changeTails},
      {"mask", changeMasks},
      {"epilogue order", changeEpilogues},
      {"prefetch writes", writePrefetched},
      {"register block", exchangeRegisters},
      {"stale counter", startStale},
      {"constant", changeNumbersOfCode},
      {"lanes", changeLanes},
      {"rounding", roundTwice},
      {"store left out", leaveOutStores},
      {"position", changePositions},
      {"tile", changeTiles},
  };
  return kinds;
}

static std::string getText(Operation *op) {
  if (!op)
    return "gone";
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, OpPrintingFlags().useLocalScope().skipRegions());
  return text;
}

/// One key in a map with groups.
template <typename MapT> static auto &pickGroup(MapT &groups, Random &random) {
  auto group = groups.begin();
  std::advance(group, random.below(static_cast<int64_t>(groups.size())));
  return *group;
}

namespace {

/// A possible fault location.
struct FaultSite {
  std::string what, function;
  Edit edit;
};

} // namespace

static std::optional<FaultSite> choosePlace(ModuleOp code, const LiveCode &live,
                                            const CodeMutationKind &kind,
                                            Random &random) {
  Edits edits;
  kind.collect(code, live, edits);
  if (edits.empty())
    return std::nullopt;
  // By changed entity, then by function.
  std::map<std::string, std::map<std::string, std::vector<Edit *>>> groups;
  for (Edit &edit : edits)
    groups[edit.op->getName().getStringRef().str() + " " + edit.what]
          [edit.op->getParentOfType<LLVM::LLVMFuncOp>().getName().str()]
              .push_back(&edit);
  auto &[what, functions] = pickGroup(groups, random);
  auto &[function, places] = pickGroup(functions, random);
  return FaultSite{what, function,
                   *places[random.below(static_cast<int64_t>(places.size()))]};
}

std::optional<PlantedFault>
plantFault(ModuleOp code, const CodeMutationKind &kind, Random &random) {
  LiveCode live(code);
  auto place = choosePlace(code, live, kind, random);
  if (!place)
    return std::nullopt;
  Edit &edit = place->edit;
  PlantedFault fault;
  fault.function = place->function;
  auto function = edit.op->getParentOfType<LLVM::LLVMFuncOp>();
  for (Operation *caller : live.getCallers(function))
    fault.phases.insert(cast<LLVM::LLVMFuncOp>(caller).getName().str());
  fault.edit = {place->what, edit.op, getText(edit.op), {}};
  fault.edit.op = edit.apply();
  fault.edit.after = getText(fault.edit.op);
  return fault;
}

void plantTrap(ModuleOp code, const CodeMutationKind &kind, Random &random) {
  LiveCode live(code);
  if (auto place = choosePlace(code, live, kind, random)) {
    OpBuilder b(place->edit.op);
    b.create<LLVM::Trap>(place->edit.op->getLoc());
  }
}

bool plantTrapWhereDifferent(ModuleOp code, const CodeMutationKind &kind,
                             Random &random) {
  LiveCode live(code);
  auto place = choosePlace(code, live, kind, random);
  auto op = place ? dyn_cast<arith::MulIOp>(place->edit.op) : arith::MulIOp();
  if (!op)
    return false;
  Operation *original = OpBuilder(op).clone(*op.getOperation());
  place->edit.apply();
  OpBuilder b(code.getContext());
  b.setInsertionPointAfter(op);
  auto isOther = b.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::ne,
                                         op, original->getResult(0));
  auto choice = b.create<scf::IfOp>(op.getLoc(), isOther);
  choice.getThenBodyBuilder().create<LLVM::Trap>(op.getLoc());
  return true;
}

//===----------------------------------------------------------------------===//
// Values in place of faults
//===----------------------------------------------------------------------===//

/// A constant vector or scalar; for word vectors that hold packed elements, its
/// bits as bf16 in each half, or as int8 in each byte.
static TypedAttr getNumber(Type type, double number) {
  Builder b(type.getContext());
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute;
  if (isa<FloatType>(element)) {
    attribute = b.getFloatAttr(element, number);
  } else {
    const uint64_t half =
        APFloat(static_cast<float>(number)).bitcastToAPInt().getZExtValue() >>
        16;
    attribute = b.getIntegerAttr(
        element, APInt(element.getIntOrFloatBitWidth(), half << 16 | half));
  }
  if (auto vector = dyn_cast<VectorType>(type))
    return DenseElementsAttr::get(vector, attribute);
  return attribute;
}

static Value makeNumber(OpBuilder &b, Location loc, Type type, double number) {
  return b.create<arith::ConstantOp>(loc, getNumber(type, number));
}

/// Floats, and integer vectors that hold elements.
static bool isNumber(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<FloatType>(element) ||
         (isa<VectorType>(type) && element.isIntOrIndex() &&
          element.getIntOrFloatBitWidth() > 1);
}

/// Replaces the value that an operation loads or stores.
static bool replaceAccess(Operation *op, double number) {
  OpBuilder b(op);
  if (isa<LLVM::StoreOp, LLVM::MaskedStoreOp>(op)) {
    Type type = op->getOperand(0).getType();
    if (isNumber(type))
      op->setOperand(0, makeNumber(b, op->getLoc(), type, number));
    return isNumber(type);
  }
  if (!isa<LLVM::LoadOp, LLVM::MaskedLoadOp>(op) ||
      !isNumber(op->getResult(0).getType()))
    return false;
  op->getResult(0).replaceAllUsesWith(
      makeNumber(b, op->getLoc(), op->getResult(0).getType(), number));
  return true;
}

/// Replaces the elements in which two operations' results differ.
static void replaceDifference(Operation *original, Operation *changed,
                              double number) {
  OpBuilder b(changed->getContext());
  b.setInsertionPointAfter(changed);
  Location loc = changed->getLoc();
  Value result = changed->getResult(0);
  Operation *isSame =
      isa<FloatType>(getElementTypeOrSelf(result.getType()))
          ? b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, result,
                                    original->getResult(0))
                .getOperation()
          : b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, result,
                                    original->getResult(0));
  auto replaced =
      b.create<arith::SelectOp>(loc, isSame->getResult(0), result,
                                makeNumber(b, loc, result.getType(), number));
  SmallPtrSet<Operation *, 2> own{isSame, replaced};
  result.replaceAllUsesExcept(replaced, own);
}

/// Replaces a loop's initial values if a fault has changed them.
static bool replaceStart(scf::ForOp loop, Edit &edit, double number) {
  SmallVector<Value> before = llvm::to_vector(loop->getOperands());
  edit.apply();
  for (OpOperand &operand : loop.getInitsMutable()) {
    Type type = operand.get().getType();
    if (operand.get() == before[operand.getOperandNumber()])
      continue;
    OpBuilder b(loop);
    if (isNumber(type))
      operand.set(makeNumber(b, loop.getLoc(), type, number));
    else
      operand.set(b.create<arith::ConstantOp>(
          loop.getLoc(),
          b.getIntegerAttr(type, number > 0 ? 77777777 : -77777777)));
    return true;
  }
  return false;
}

/// Replaces the lanes that a store writes only without or only with a fault;
/// all lanes for other faults.
static bool replaceLanes(LLVM::MaskedStoreOp store, Edit &edit, double number) {
  const Value mask = store.getMask();
  Operation *copy = OpBuilder(store).clone(*store.getOperation());
  auto changed = dyn_cast_or_null<LLVM::MaskedStoreOp>(edit.apply());
  if (!changed || changed.getMask() == mask) {
    if (changed)
      changed.erase();
    return replaceAccess(copy, number);
  }
  copy->erase();
  if (!isNumber(changed.getValue().getType()))
    return false;
  OpBuilder b(changed);
  Location loc = changed.getLoc();
  Value both = b.create<arith::AndIOp>(loc, mask, changed.getMask());
  Value any = b.create<arith::OrIOp>(loc, mask, changed.getMask());
  Value other = makeNumber(b, loc, changed.getValue().getType(), number);
  changed->setOperand(
      0, b.create<arith::SelectOp>(loc, both, changed.getValue(), other));
  changed->setOperand(2, any);
  return true;
}

bool plantNumber(ModuleOp code, const CodeMutationKind &kind, Random &random,
                 double number) {
  LiveCode live(code);
  auto place = choosePlace(code, live, kind, random);
  Operation *op = place ? place->edit.op : nullptr;
  if (!op)
    return false;
  // Memory accesses, loops and tiles have their own replacements.
  if (isa<LLVM::GEPOp>(op))
    return llvm::all_of(llvm::to_vector(op->getUsers()), [&](Operation *user) {
      return replaceAccess(user, number);
    });
  if (auto store = dyn_cast<LLVM::MaskedStoreOp>(op))
    return replaceLanes(store, place->edit, number);
  if (isa<LLVM::StoreOp>(op))
    return replaceAccess(op, number);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return replaceStart(loop, place->edit, number);
  if (auto tile = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return replaceTile(tile, number);
  if (replacePositions(op, number))
    return true;
  // Otherwise replace the elements in which the results differ.
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isNumber(op->getResult(0).getType()))
    return false;
  Operation *original = OpBuilder(op).clone(*op);
  Operation *changed = place->edit.apply();
  if (!changed || changed->getNumResults() != 1)
    return false;
  replaceDifference(original, changed, number);
  return true;
}

} // namespace transom::testing
