// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern evaluator finds the faults in a phase module: a missing barrier, a
// lifetime that ends too early, an omitted write, counters that do not start at
// zero.
#include "compiler/evaluator/Evaluator.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Register.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

constexpr const char *text = R"mlir(
!x = tensor<?x4xf32, #attn.shape<[n, 4]>>
module attributes {attn.name = "m", attn.symbols = {n = {max = -1}}} {
  attn.weight @w : [4, 4] f32 = #weight.expr<fill([4, 4], 0.5)>
  attn.weight @v : [4, 4] f32 = #weight.expr<fill([4, 4], 0.25)>
  func.func @run(%x: !x {attn.name = "x", attn.role = "data"})
      -> (!x {attn.name = "y"}) {
    %w = attn.get_weight @w : [4, 4] f32 loc("first")
    %v = attn.get_weight @v : [4, 4] f32 loc("second")
    %a = attn.linear %x, %w : !x, [4, 4] f32 loc("first")
    %b = attn.softmax %a : !x loc("shares")
    %c = attn.linear %b, %v : !x, [4, 4] f32 loc("second")
    %y = attn.add %c, %a : !x loc("sum")
    return %y : !x
  }
}
)mlir";

/// A GEMM whose rows are normalized by the worker that completes them.
constexpr const char *normText = R"mlir(
!x = tensor<?x4xf32, #attn.shape<[n, 4]>>
module attributes {attn.name = "m", attn.symbols = {n = {max = -1}}} {
  attn.weight @w : [4, 4] f32 = #weight.expr<fill([4, 4], 0.5)>
  attn.weight @v : [4, 4] f32 = #weight.expr<fill([4, 4], 0.25)>
  attn.weight @g : [4] f32 = #weight.expr<fill([4], 1.0)>
  func.func @run(%x: !x {attn.name = "x", attn.role = "data"})
      -> (!x {attn.name = "y"}) {
    %w = attn.get_weight @w : [4, 4] f32 loc("first")
    %v = attn.get_weight @v : [4, 4] f32 loc("second")
    %g = attn.get_weight @g : [4] f32 loc("norm")
    %s = attn.softmax %x : !x loc("shares")
    %a = attn.linear %s, %w : !x, [4, 4] f32 loc("first")
    %b = attn.rms_norm %a, %g eps 1.0e-5 : !x, [4] f32 loc("norm")
    %y = attn.linear %b, %v : !x, [4, 4] f32 loc("second")
    return %y : !x
  }
}
)mlir";

/// A module after the kernel passes.
class Kern : public ::testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    build(text);
    ASSERT_GE(phases.size(), 3u);
  }

  void build(const char *source) {
    module = parseSourceString<ModuleOp>(source, &context);
    ASSERT_TRUE(module);
    PassManager manager(&context);
    populateStage(manager, Stage::Kern, {});
    ASSERT_TRUE(succeeded(manager.run(*module)));
    function = module->lookupSymbol<func::FuncOp>("run");
    phases = llvm::to_vector(function.getOps<kern::PhaseOp>());
  }

  /// Moves a buffer to another buffer's offset.
  void moveBuffer(kern::AllocOp buffer, kern::AllocOp other) {
    auto table = function->getAttrOfType<ArrayAttr>("kern.buffers");
    SmallVector<Attribute> slots(table.getValue());
    NamedAttrList entry(cast<DictionaryAttr>(slots[*buffer.getSlot()]));
    entry.set("offset",
              cast<DictionaryAttr>(slots[*other.getSlot()]).get("offset"));
    slots[*buffer.getSlot()] = entry.getDictionary(&context);
    function->setAttr("kern.buffers", ArrayAttr::get(&context, slots));
  }

  /// Returns the error from a run, or an empty string.
  std::string getMessage() {
    Tensor x = Tensor::of({2, 4}, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
    auto result = evaluate(*module, "run", {{"x", x}});
    if (result)
      outputs = *result;
    return result ? "" : result.error().message;
  }

  /// Returns true if the error names an operation and contains this string.
  static bool says(const std::string &error, StringRef what) {
    return StringRef(error).contains("'kern.") &&
           StringRef(error).contains(what);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  SmallVector<kern::PhaseOp> phases;
  std::vector<NamedTensor> outputs;
};

TEST_F(Kern, computesTheResult) {
  EXPECT_EQ(getMessage(), "");
  ASSERT_EQ(outputs.size(), 1u);
  // Rows with equal scores: shares of 1/4, so 0.25 comes back, plus 5 and 13.
  EXPECT_EQ(outputs[0].tensor.getReals(),
            (std::vector<double>{5.25, 5.25, 5.25, 5.25, 13.25, 13.25, 13.25,
                                 13.25}));
}

TEST_F(Kern, findsAMissingBarrier) {
  Block &first = phases[0].getBody().front();
  Block &second = phases[1].getBody().front();
  first.getOperations().splice(first.end(), second.getOperations());
  phases[1].erase();
  std::string error = getMessage();
  EXPECT_TRUE(says(error, "another worker of its phase")) << error;
}

TEST_F(Kern, findsBuffersThatShareSpace) {
  Builder builder(&context);
  SmallVector<Attribute> slots;
  for (Attribute slot : function->getAttrOfType<ArrayAttr>("kern.buffers")) {
    NamedAttrList entry(cast<DictionaryAttr>(slot));
    entry.set("offset", builder.getStringAttr("0"));
    slots.push_back(entry.getDictionary(&context));
  }
  ASSERT_GE(slots.size(), 2u);
  function->setAttr("kern.buffers", builder.getArrayAttr(slots));
  std::string error = getMessage();
  EXPECT_TRUE(says(error, "another buffer overwrote")) << error;
}

TEST_F(Kern, findsAnArenaThatIsTooSmall) {
  function->setAttr("kern.arena_bytes", Builder(&context).getStringAttr("8"));
  std::string error = getMessage();
  EXPECT_TRUE(says(error, "leaves an arena of 8")) << error;
}

TEST_F(Kern, findsAWriteThatIsLeftOut) {
  phases[0].erase();
  std::string error = getMessage();
  EXPECT_TRUE(says(error, "reads what nothing wrote")) << error;
}

/// The module with a fused norm.
class KernCounters : public Kern {
protected:
  void SetUp() override {
    Kern::SetUp();
    build(normText);
    function.walk([&](kern::GemmOp op) {
      if (op.getNormCounters())
        gemm = op;
    });
    ASSERT_TRUE(gemm);
    for (Operation *user : gemm.getNormCounters().getUsers())
      if (auto op = dyn_cast<kern::ElementwiseOp>(user))
        clear = op;
    ASSERT_TRUE(clear);
  }

  kern::AllocOp getAlloc(Value buffer) {
    return buffer.getDefiningOp<kern::AllocOp>();
  }

  kern::GemmOp gemm;
  kern::ElementwiseOp clear;
};

TEST_F(KernCounters, areRightAfterThePasses) { EXPECT_EQ(getMessage(), ""); }

TEST_F(KernCounters, beginAtZero) {
  auto zero = *clear.getBody().getOps<arith::ConstantOp>().begin();
  zero->setAttr("value", Builder(&context).getI64IntegerAttr(1));
  std::string error = getMessage();
  EXPECT_TRUE(says(error, "expects its counters to be zero before")) << error;
}

TEST_F(KernCounters, areCleared) {
  clear.erase();
  std::string error = getMessage();
  EXPECT_TRUE(says(error, "reads what nothing wrote")) << error;
}

TEST_F(KernCounters, areClearedBeforeABarrier) {
  clear->moveBefore(gemm);
  std::string error = getMessage();
  EXPECT_TRUE(says(error, "reads what nothing wrote")) << error;
}

TEST_F(KernCounters, shareSpaceWithNoBufferBesides) {
  kern::AllocOp counters = getAlloc(gemm.getNormCounters());
  moveBuffer(counters, getAlloc(gemm.getOuts()[0]));
  std::string error = getMessage();
  EXPECT_TRUE(says(error, "overwrites memory that it works in")) << error;
}

TEST_F(KernCounters, areLeftZero) {
  // A second use in the same phase reads the first one's counters.
  Operation *again = gemm->clone();
  gemm->getBlock()->push_back(again);
  std::string error = getMessage();
  EXPECT_TRUE(says(error, "another worker of its phase")) << error;
  // After a barrier it reads zeros.
  OpBuilder b(gemm->getParentOp());
  auto phase = b.create<kern::PhaseOp>(gemm.getLoc(), b.getStringAttr("again"));
  Block *body = b.createBlock(&phase.getBody());
  again->moveBefore(body, body->end());
  phase->moveAfter(gemm->getParentOp());
  EXPECT_EQ(getMessage(), "");
}

} // namespace
