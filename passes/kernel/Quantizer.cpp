// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First the weights get their format, then what their products read becomes
// whole numbers.
#include "passes/kernel/Quantizer.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/CastFuser.h"

#define DEBUG_TYPE "kern-choose-precision"

using namespace mlir;
using namespace transom;

namespace {

/// A buffer as whole numbers, and their scales.
struct Quantized {
  Value numbers, scales;
};

class Quantizer {
public:
  Quantizer(ModuleOp module, kern::OperandFormatAttr format, Remarks &remarks)
      : module(module), format(format), remarks(remarks) {}

  int64_t run() {
    WeightUses uses(module);
    module.walk([&](kern::GemmOp gemm) { chooseWeight(gemm, uses); });
    for (auto function : module.getOps<func::FuncOp>())
      quantizeInputs(function);
    return products;
  }

private:
  void chooseWeight(kern::GemmOp gemm, WeightUses &uses) {
    const OperandFormat &stored = format.getStorage();
    const int64_t k = gemm.getWeight().getType().getShape()[1];
    if (k % stored.interleave) {
      remarks.report(gemm, {RemarkId::ProductDepthUnsupported,
                            {{"k", k}, {"multiple", stored.interleave}}});
      return;
    }
    if (Operation *reader = uses.setFormat(gemm.getWeight(), stored)) {
      remarks.report(gemm, {RemarkId::WeightIsReadInF32, {{"reader", reader}}});
      return;
    }
    ++products;
    remarks.report(gemm, {RemarkId::ProductQuantized,
                          {{"type", getStorageName(stored.element)},
                           {"group", stored.group}}});
  }

  void quantizeInputs(func::FuncOp function) {
    DenseMap<Value, Quantized> known;
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().front())) {
      auto gemm = dyn_cast<kern::GemmOp>(op);
      if (gemm && gemm.getWeight().getType().getFormat() == format) {
        Quantized &input = known[gemm.getInput()];
        if (!input.numbers)
          input = quantize(gemm);
        gemm.getInputMutable().assign(input.numbers);
        gemm.getInputScalesMutable().assign(input.scales);
      }
      for (auto &[buffer, input] : known)
        if (writes(op, kern::getStorage(buffer)))
          input = {};
    }
  }

  /// Quantizes the input of a product before it.
  Quantized quantize(kern::GemmOp gemm) {
    OpBuilder b(gemm);
    auto allocate = [&](ArrayRef<Polynomial> dims, Type element) -> Value {
      return b.create<kern::AllocOp>(
          gemm.getLoc(), kern::BufferType::get(b.getContext(), dims, element),
          IntegerAttr());
    };
    SmallVector<Polynomial> dims = getBufferType(gemm.getInput()).getDims();
    Quantized made;
    made.numbers = allocate(dims, b.getI8Type());
    const int64_t k = *dims.back().constant();
    dims.back() = Polynomial(2 * format.getStorage().getNumGroups(k));
    made.scales = allocate(dims, b.getF32Type());
    b.create<kern::QuantizeOp>(gemm.getLoc(), gemm.getInput(), made.numbers,
                               made.scales, format.getStorage().group);
    return made;
  }

  ModuleOp module;
  kern::OperandFormatAttr format;
  Remarks &remarks;
  int64_t products = 0;
};

} // namespace

int64_t transom::quantizeProducts(ModuleOp module,
                                  kern::OperandFormatAttr format,
                                  Remarks &remarks) {
  return Quantizer(module, format, remarks).run();
}
