// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registrations live in the compiler's shared library, which a plug-in and the
// program that loads it share.
#include "compiler/pipeline/ExtensionPoints.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/WithColor.h"
#include <mutex>

using namespace mlir;

namespace transom {

llvm::ArrayRef<ExtensionPoint> getExtensionPoints() {
  static constexpr ExtensionPoint points[] = {
      {attnShapedPoint,
       "the imported model, one operation of attn per operation of the model, "
       "with inferred shapes"},
      {attnFusedPoint,
       "attention and projections are fused; entries have batches with "
       "padding, and layers are not outlined"},
      {kernFusedPoint,
       "kernels on buffers, with epilogues, norms and precisions chosen; no "
       "offsets in memory yet"},
  };
  return points;
}

namespace {

/// The builders for all extension points.
struct Registry {
  std::mutex mutex;
  std::vector<std::pair<std::string, ExtensionBuilder>> builders;

  static Registry &get() {
    static Registry registry;
    return registry;
  }
};

/// Runs plug-in passes at one extension point.
class ExtensionPass
    : public PassWrapper<ExtensionPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExtensionPass)

  explicit ExtensionPass(const ExtensionPoint &point) : point(point) {}

  StringRef getArgument() const override { return point.flag; }
  StringRef getDescription() const override { return point.description; }
  StringRef getName() const override { return "ExtensionPass"; }

  void runOnOperation() override {
    OpPassManager passes(ModuleOp::getOperationName());
    Registry &registry = Registry::get();
    {
      std::lock_guard<std::mutex> lock(registry.mutex);
      for (const auto &[flag, builder] : registry.builders)
        if (flag == point.flag)
          builder(passes);
    }
    if (passes.empty())
      return markAllAnalysesPreserved();
    if (failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }

private:
  const ExtensionPoint &point;
};

} // namespace

static const ExtensionPoint *findPoint(StringRef flag) {
  const auto *point =
      llvm::find_if(getExtensionPoints(),
                    [&](const ExtensionPoint &p) { return p.flag == flag; });
  return point == getExtensionPoints().end() ? nullptr : point;
}

bool isExtensionPoint(StringRef flag) { return findPoint(flag) != nullptr; }

LogicalResult registerExtension(StringRef flag, ExtensionBuilder builder) {
  if (!isExtensionPoint(flag)) {
    llvm::WithColor::error(llvm::errs(), "plug-in")
        << "unknown extension point '" << flag << "'; supported: ";
    llvm::interleaveComma(
        getExtensionPoints(), llvm::errs(),
        [](const ExtensionPoint &p) { llvm::errs() << p.flag; });
    llvm::errs() << "\n";
    return failure();
  }
  Registry &registry = Registry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.builders.emplace_back(flag.str(), std::move(builder));
  return success();
}

std::unique_ptr<Pass> createExtensionPass(StringRef flag) {
  const ExtensionPoint *point = findPoint(flag);
  assert(point && "the table of passes names an extension point");
  return std::make_unique<ExtensionPass>(*point);
}

void registerExtensionPasses() {
  for (const ExtensionPoint &point : getExtensionPoints())
    registerPass([&point] { return createExtensionPass(point.flag); });
}

} // namespace transom
