// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First chooses weight formats: the file's format for pre-quantized weights,
// otherwise the option's format. Then quantizes the inputs of their GEMMs.
#include "passes/kernel/Quantizer.h"
#include "dialects/weights/StoredGroups.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/CastFuser.h"
#include "passes/kernel/OutputHead.h"

#define DEBUG_TYPE "kern-choose-precision"

using namespace mlir;
using namespace transom;

namespace {

/// A buffer's quantized values and their scales.
struct Quantized {
  Value numbers, scales;
};

/// Group size along K if pre-quantized weights are rounded to another format.
constexpr int64_t kRoundedGroup = 32;

/// The format of a pre-quantized weight.
struct StoredWeight {
  OperandFormat format;
  bool isExact = true; ///< represents all definitions exactly
};

class Quantizer {
public:
  Quantizer(ModuleOp module, const QuantizeOptions &options, Remarks &remarks)
      : module(module), options(options), remarks(remarks) {}

  int64_t run() {
    WeightUses uses(module);
    heads = findOutputHeads(module, uses);
    module.walk(
        [&](kern::WeightProductOp product) { chooseWeight(product, uses); });
    module.walk([&](kern::EmbeddingOp embedding) {
      for (Value table : embedding.getTables())
        chooseTable(embedding, table, uses);
    });
    if (!options.keepsInputs)
      for (auto function : module.getOps<func::FuncOp>())
        quantizeInputs(function);
    return products;
  }

private:
  /// The common format for all definitions of a weight; nullopt if none of them
  /// is pre-quantized.
  std::optional<StoredWeight> getStored(Value weight, const WeightUses &uses) {
    bool isStored = false;
    std::optional<StoredWeight> found;
    const StoredWeight rounded = {
        OperandFormat::getQuantized(StorageType::I8, kRoundedGroup), false};
    for (kern::WeightOp definition : uses.definitions(weight)) {
      const WeightExpr expr = definition.getExpr().getExpr();
      isStored |= readsStored(expr);
      std::optional<StoredExpr> stored = splitStored(expr);
      std::optional<OperandFormat> format =
          stored ? stored->groups.getFormat() : std::nullopt;
      const StoredWeight own = format ? StoredWeight{*format} : rounded;
      if (!found)
        found = own;
      else if (found->format == own.format)
        found->isExact &= own.isExact;
      else
        found = rounded;
    }
    return isStored ? found : std::nullopt;
  }

  /// The option for weights that are floats in files.
  const QuantizeOption &getOption(kern::WeightProductOp product,
                                  const WeightUses &uses) {
    const bool isHead = llvm::any_of(
        uses.definitions(product.getWeight()),
        [&](kern::WeightOp weight) { return heads.contains(weight); });
    return isHead ? options.head : options.products;
  }

  void chooseWeight(kern::WeightProductOp product, WeightUses &uses) {
    // Determine the format.
    const QuantizeOption &option = getOption(product, uses);
    if (option.isFloat) {
      remarks.report(product, RemarkId::HeadKeepsFloats);
      return;
    }
    const std::optional<StoredWeight> given =
        getStored(product.getWeight(), uses);
    if (!given && !option.format)
      return;
    const OperandFormat stored = given ? given->format : *option.format;
    // Check that the depth and all readers accept it.
    const int64_t k = product.getWeightType().getShape()[1];
    if (k % stored.interleave) {
      remarks.report(product, {RemarkId::ProductDepthUnsupported,
                               {{"k", k}, {"multiple", stored.interleave}}});
      return;
    }
    if (Operation *reader = uses.setFormat(product.getWeight(), stored)) {
      remarks.report(product,
                     {RemarkId::WeightIsReadInF32, {{"reader", reader}}});
      return;
    }
    ++products;
    remarks.report(
        product,
        {!given           ? RemarkId::ProductQuantized
         : given->isExact ? RemarkId::ProductKeepsWholeNumbers
                          : RemarkId::ProductRoundsWholeNumbers,
         {{"type", getStorageName(stored.element)}, {"group", stored.group}}});
  }

  /// True for a table that is also a GEMM weight.
  static bool isReadByProduct(Value table, const WeightUses &uses) {
    for (kern::WeightOp definition : uses.definitions(table))
      for (Value value : uses.getValues(definition))
        for (Operation *user : value.getUsers())
          if (isa<kern::WeightProductOp>(user))
            return true;
    return false;
  }

  /// Chooses the format of a table that no GEMM reads: the file's format if it
  /// is exact, otherwise the option's format.
  void chooseTable(kern::EmbeddingOp embedding, Value table, WeightUses &uses) {
    auto type = cast<kern::WeightType>(table.getType());
    if (options.tables.isFloat || type.isGrouped() ||
        isReadByProduct(table, uses))
      return;
    // Determine the format.
    std::optional<StoredWeight> given = getStored(table, uses);
    if (given && !given->isExact)
      given = std::nullopt;
    if (!given && !options.tables.format)
      return;
    const OperandFormat format = given ? given->format : *options.tables.format;
    // Set it unless the table is too narrow, small, or read as f32.
    RemarkArgument name("table", table);
    if (!given)
      if (std::optional<RemarkReason> reason = findTableObstacle(type, name)) {
        remarks.report(embedding, *reason);
        return;
      }
    if (Operation *reader = uses.setFormat(table, format))
      remarks.report(embedding,
                     {RemarkId::TableIsReadInF32, {name, {"reader", reader}}});
    else
      remarks.report(embedding, {given ? RemarkId::TableKeepsWholeNumbers
                                       : RemarkId::TableQuantized,
                                 {name,
                                  {"type", getStorageName(format.element)},
                                  {"group", format.group}}});
  }

  /// The reason why a float table is not quantized, or nullopt.
  std::optional<RemarkReason> findTableObstacle(kern::WeightType type,
                                                const RemarkArgument &name) {
    const OperandFormat &format = *options.tables.format;
    const int64_t width = type.getShape()[1];
    if (width % format.interleave)
      return RemarkReason(
          RemarkId::TableWidthUnsupported,
          {name, {"width", width}, {"multiple", format.interleave}});
    auto rounded = kern::WeightType::get(
        type.getContext(), type.getShape(),
        kern::OperandFormatAttr::get(type.getContext(), format),
        WeightLayout::Panels32, {});
    if (rounded.getByteSize() >= type.getByteSize())
      return RemarkReason(RemarkId::TableIsSmall,
                          {name,
                           {"rows", type.getShape()[0]},
                           {"bytes", rounded.getByteSize()},
                           {"floats", type.getByteSize()}});
    return std::nullopt;
  }

  void quantizeInputs(func::FuncOp function) {
    DenseMap<std::pair<Value, int64_t>, Quantized> known;
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().front())) {
      auto product = dyn_cast<kern::WeightProductOp>(op);
      if (product && product.getWeightType().isGrouped()) {
        const OperandFormat &format =
            product.getWeightType().getFormat().getStorage();
        Quantized &input = known[{product.getInputRows(), format.group}];
        if (!input.numbers)
          input = quantize(product, format);
        product.getInputMutable().assign(input.numbers);
        product.getInputScalesMutable().assign(input.scales);
      }
      for (auto &[buffer, input] : known)
        if (writes(op, kern::getStorage(buffer.first)))
          input = {};
    }
  }

  /// Quantizes a GEMM's input before the GEMM.
  Quantized quantize(kern::WeightProductOp product,
                     const OperandFormat &format) {
    OpBuilder b(product);
    auto allocate = [&](ArrayRef<Polynomial> dims, Type element) -> Value {
      return b.create<kern::AllocOp>(
          product.getLoc(),
          kern::BufferType::get(b.getContext(), dims, element), IntegerAttr());
    };
    SmallVector<Polynomial> dims =
        getBufferType(product.getInputRows()).getDims();
    Quantized made;
    made.numbers = allocate(dims, b.getI8Type());
    const int64_t k = *dims.back().constant();
    dims.back() = Polynomial(2 * format.getNumGroups(k));
    made.scales = allocate(dims, b.getF32Type());
    b.create<kern::QuantizeOp>(product.getLoc(), product.getInputRows(),
                               made.numbers, made.scales, format.group);
    return made;
  }

  ModuleOp module;
  const QuantizeOptions &options;
  DenseSet<Operation *> heads; ///< weight definitions
  Remarks &remarks;
  int64_t products = 0;
};

} // namespace

QuantizeOptions QuantizeOptions::get(ModuleOp module) {
  auto getOption = [&](StringRef name) {
    Attribute value = module->getAttr(name);
    QuantizeOption option;
    if (auto format = dyn_cast_or_null<kern::OperandFormatAttr>(value))
      option.format = format.getStorage();
    option.isFloat = isa_and_nonnull<StringAttr>(value);
    return option;
  };
  QuantizeOptions options;
  options.products.format = getOption("transom.quantize").format;
  options.head = module->hasAttr("transom.quantize_head")
                     ? getOption("transom.quantize_head")
                     : options.products;
  options.tables = getOption("transom.quantize_embeddings");
  auto activations = module->getAttrOfType<StringAttr>("transom.activations");
  options.keepsInputs = activations && activations.getValue() == "f32";
  return options;
}

bool QuantizeOptions::hasFormats() const {
  return products.format || head.format || tables.format;
}

int64_t transom::quantizeProducts(ModuleOp module,
                                  const QuantizeOptions &options,
                                  Remarks &remarks) {
  return Quantizer(module, options, remarks).run();
}
