// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts evaluator tensors to C API tensors and back.
#include "test/e2e/random/CompiledModel.h"
#include "runtime/base/InstructionSet.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>

using llvm::ArrayRef;

namespace transom::testing {

namespace {

/// A buffer for one C API tensor.
struct Buffer {
  std::vector<float> real;
  std::vector<int64_t> whole;
};

} // namespace

CompiledModel::~CompiledModel() {
  transom_session_free(session);
  transom_model_free(model);
}

bool CompiledModel::runsHere(const std::string &isa) {
  const transom::InstructionSet *known = transom::findInstructionSet(isa);
  bool runs = known && known->runsHere();
  if (!runs)
    std::printf("skipped: this CPU lacks %s\n", isa.c_str());
  return runs;
}

std::string CompiledModel::load(const std::string &path, const std::string &isa,
                                unsigned threads) {
  ::setenv("TRANSOM_FORCE_ISA", isa.c_str(), 1);
  transom_status status = transom_model_load(path.c_str(), nullptr, &model);
  ::unsetenv("TRANSOM_FORCE_ISA");
  if (status != TRANSOM_STATUS_OK)
    return std::string("load: ") + transom_last_error();
  transom_session_options options = transom_session_options_default();
  options.threads = threads;
  options.max_batch = 4;
  options.max_tokens = 1024;
  if (transom_session_create(model, &options, &session) != TRANSOM_STATUS_OK)
    return std::string("session: ") + transom_last_error();
  return {};
}

/// Describes a tensor and its buffer to the C API.
static transom_tensor describe(const NamedTensor &named, Buffer &buffer) {
  transom_tensor tensor = {};
  tensor.name = named.name.c_str();
  tensor.dtype = named.tensor.isFloat ? TRANSOM_DTYPE_F32 : TRANSOM_DTYPE_I64;
  tensor.rank = static_cast<int32_t>(named.tensor.rank());
  for (int64_t d = 0; d < named.tensor.rank(); ++d)
    tensor.shape[d] = named.tensor.sizes[d];
  tensor.data = named.tensor.isFloat ? static_cast<void *>(buffer.real.data())
                                     : buffer.whole.data();
  tensor.capacity = named.tensor.isFloat
                        ? buffer.real.size() * sizeof(float)
                        : buffer.whole.size() * sizeof(int64_t);
  return tensor;
}

Result<std::vector<NamedTensor>>
CompiledModel::run(const std::string &entry, ArrayRef<NamedTensor> inputs,
                   ArrayRef<NamedTensor> like) {
  std::vector<Buffer> in(inputs.size()), out(like.size());
  std::vector<transom_tensor> arguments, results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (double x : inputs[i].tensor.getReals())
      in[i].real.push_back(static_cast<float>(x));
    in[i].whole = inputs[i].tensor.whole;
    arguments.push_back(describe(inputs[i], in[i]));
  }
  for (size_t i = 0; i < like.size(); ++i) {
    out[i].real.assign(like[i].tensor.real.size(), NAN);
    results.push_back(describe(like[i], out[i]));
  }
  transom_status status =
      transom_session_run(session, entry.c_str(), arguments.data(),
                          arguments.size(), results.data(), results.size());
  if (status != TRANSOM_STATUS_OK)
    return Error{static_cast<Status>(status), transom_last_error(), {}};
  std::vector<NamedTensor> got;
  for (size_t i = 0; i < like.size(); ++i)
    got.push_back(
        {like[i].name, Tensor::of(like[i].tensor.sizes,
                                  std::vector<double>(out[i].real.begin(),
                                                      out[i].real.end()))});
  return got;
}

} // namespace transom::testing
