// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shape rules of rotary positions.
#include "dialects/attn/AttnShapeRules.h"
#include <cmath>

using namespace mlir;

namespace transom::attn {

using namespace rules;

Types RopeTableOp::inferShapes(EmitError emitError) {
  Shaped positions(getPositions());
  if (!positions.isI64() || positions.rank() < 1)
    return emitError() << "expects i64 positions of rank 1 or more, got "
                       << text(positions);
  ArrayRef<double> frequencies = getFrequencies();
  if (frequencies.empty())
    return emitError() << "expects at least one frequency";
  for (double frequency : frequencies)
    if (!std::isfinite(frequency))
      return emitError() << "expects finite frequencies, got " << frequency;
  if (!getFactor().isFinite())
    return emitError() << "expects a finite factor, got "
                       << getFactor().convertToDouble();
  auto limit = static_cast<int64_t>(getLimit());
  if (limit < 1 || limit > INT32_MAX)
    return emitError() << "expects a limit between 1 and " << INT32_MAX
                       << ", got " << limit;
  positions.dims.push_back(
      Polynomial(2 * static_cast<int64_t>(frequencies.size())));
  auto type = dyn_cast<TensorType>(getResult().getType());
  Type element = type && isa<FloatType>(type.getElementType())
                     ? type.getElementType()
                     : Type(Float32Type::get(getContext()));
  return oneResult(positions.dims, element);
}

Types RopeOp::inferShapes(EmitError emitError) {
  Shaped input(getInput()), rotation(getRopeTable());
  if (failed(expectFloat(input, "input", 1, emitError)) ||
      failed(expectOneElement(input, rotation, "input", "rotation", emitError)))
    return failure();
  if (input.rank() != rotation.rank() ||
      ArrayRef(input.dims).drop_back() != ArrayRef(rotation.dims).drop_back())
    return emitError() << "expects input and rotation of equal leading sizes, "
                          "got "
                       << text(input.dims) << " and " << text(rotation.dims);
  auto heads = static_cast<int64_t>(getHeads());
  std::optional<int64_t> width = input.last().constant();
  if (heads < 1 || !width || *width % heads != 0)
    return emitError() << "expects heads that divide the width '"
                       << input.last().str() << "', got " << heads;
  std::optional<int64_t> turned = rotation.last().constant();
  if (!turned || *turned % 2 != 0 || *turned > *width / heads)
    return emitError() << "expects a rotation of even width up to the head's "
                       << *width / heads << ", got '" << rotation.last().str()
                       << "'";
  return oneResult(input.dims, input.element);
}

} // namespace transom::attn
