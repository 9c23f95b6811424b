// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts file tensors.
#include "compiler/evaluator/ReadTensors.h"
#include "compiler/safetensors/Safetensors.h"

namespace transom {

static Result<Tensor> readTensor(const SafetensorsFile &file,
                                 const SafetensorsTensor &entry) {
  std::string_view bytes = file.data(entry);
  const auto count = static_cast<size_t>(getNumElements(entry.shape));
  if (isFloat(entry.dtype)) {
    std::vector<float> values(count);
    if (!convertToF32(entry.dtype, bytes.data(), count, values.data()))
      return unsupported("tensor '" + entry.name + "' has another type");
    return Tensor::of(entry.shape,
                      std::vector<double>(values.begin(), values.end()));
  }
  std::vector<int64_t> values(count);
  if (!convertToI64(entry.dtype, bytes.data(), count, values.data()))
    return unsupported("tensor '" + entry.name + "' has another type");
  return Tensor::of(entry.shape, std::move(values));
}

Result<std::vector<NamedTensor>> readTensors(const std::string &path) {
  TRANSOM_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
  std::vector<NamedTensor> tensors;
  for (const SafetensorsTensor &entry : file.tensors()) {
    TRANSOM_ASSIGN(Tensor tensor, readTensor(file, entry));
    tensors.push_back({entry.name, std::move(tensor)});
  }
  return tensors;
}

} // namespace transom
