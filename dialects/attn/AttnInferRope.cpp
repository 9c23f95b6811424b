// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape rules for rope.
#include "dialects/attn/AttnShapeRules.h"
#include <cmath>

using namespace mlir;

namespace transom::attn {

using namespace rules;

Types RopeTableOp::inferShapes(EmitError emitError) {
  // Check positions, frequencies, factor and limit.
  Shaped positions(getPositions());
  if (!positions.isI64() || positions.rank() < 1)
    return violated(emitError, 1)
           << "expects i64 positions of rank 1 or more, got "
           << text(positions);
  ArrayRef<double> frequencies = getFrequencies();
  if (frequencies.empty())
    return violated(emitError, 2) << "expects at least one frequency";
  for (double frequency : frequencies)
    if (!std::isfinite(frequency))
      return violated(emitError, 2)
             << "expects finite frequencies, got " << frequency;
  if (!getFactor().isFinite())
    return violated(emitError, 3)
           << "expects a finite factor, got " << getFactor().convertToDouble();
  auto limit = static_cast<int64_t>(getLimit());
  if (limit < 1 || limit > INT32_MAX)
    return violated(emitError, 4) << "expects a limit between 1 and "
                                  << INT32_MAX << ", got " << limit;
  // The result has a cosine and a sine per frequency, in f32 unless specified.
  positions.dims.push_back(
      Polynomial(2 * static_cast<int64_t>(frequencies.size())));
  auto type = dyn_cast<TensorType>(getResult().getType());
  Type element = type && isa<FloatType>(type.getElementType())
                     ? type.getElementType()
                     : Type(Float32Type::get(getContext()));
  return oneResult(positions.dims, element);
}

Types RopeOp::inferShapes(EmitError emitError) {
  Shaped input(getInput()), table(getRopeTable());
  if (failed(expectFloat(input, "input", 1, emitError, 1)) ||
      failed(
          expectOneElement(input, table, "input", "rope table", emitError, 1)))
    return failure();
  if (input.rank() != table.rank() ||
      ArrayRef(input.dims).drop_back() != ArrayRef(table.dims).drop_back())
    return violated(emitError, 1)
           << "expects input and rope table of equal leading sizes, "
              "got "
           << text(input.dims) << " and " << text(table.dims);
  auto heads = static_cast<int64_t>(getHeads());
  std::optional<int64_t> width = input.last().constant();
  if (heads < 1 || !width || *width % heads != 0)
    return violated(emitError, 2) << "expects heads that divide the width '"
                                  << input.last().str() << "', got " << heads;
  std::optional<int64_t> rotated = table.last().constant();
  if (!rotated || *rotated % 2 != 0 || *rotated > *width / heads)
    return violated(emitError, 3)
           << "expects a rope table of even width up to the head's "
           << *width / heads << ", got '" << table.last().str() << "'";
  return oneResult(input.dims, input.element);
}

} // namespace transom::attn
