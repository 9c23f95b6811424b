// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File tensors for runs, and sessions that fit them.
#include "tools/commands/Tensors.h"
#include <algorithm>
#include <cstring>

using namespace transom;
using namespace transom::tools;

static constexpr std::pair<DType, transom_dtype> types[] = {
    {DType::F32, TRANSOM_DTYPE_F32}, {DType::BF16, TRANSOM_DTYPE_BF16},
    {DType::F16, TRANSOM_DTYPE_F16}, {DType::I64, TRANSOM_DTYPE_I64},
    {DType::I32, TRANSOM_DTYPE_I32}, {DType::Bool, TRANSOM_DTYPE_BOOL}};

transom_dtype tools::publicType(DType type) {
  for (auto [ours, theirs] : types)
    if (ours == type)
      return theirs;
  return TRANSOM_DTYPE_NONE;
}

DType tools::fileType(transom_dtype type) {
  for (auto [ours, theirs] : types)
    if (theirs == type)
      return ours;
  return DType::U8;
}

/// Returns a file tensor in C API form; unaligned data is copied.
static Result<transom_tensor>
getView(const SafetensorsFile &file, const SafetensorsTensor &tensor,
        std::vector<std::unique_ptr<char[]>> &copies) {
  transom_tensor view = {};
  view.name = tensor.name.c_str();
  view.dtype = publicType(tensor.dtype);
  if (view.dtype == TRANSOM_DTYPE_NONE)
    return rejected(file.path() + ": tensor '" + tensor.name + "' has dtype " +
                    std::string(safetensorsName(tensor.dtype)) +
                    "; supported: F32, BF16, F16, I64, I32, BOOL");
  if (tensor.shape.size() > TRANSOM_MAX_RANK)
    return rejected(file.path() + ": tensor '" + tensor.name + "' has rank " +
                    std::to_string(tensor.shape.size()) + ", at most " +
                    std::to_string(TRANSOM_MAX_RANK) + " is supported");
  view.rank = static_cast<int32_t>(tensor.shape.size());
  std::copy(tensor.shape.begin(), tensor.shape.end(), view.shape);
  std::string_view bytes = file.data(tensor);
  view.capacity = bytes.size();
  const char *data = bytes.data();
  if (reinterpret_cast<uintptr_t>(data) % transom_dtype_size(view.dtype)) {
    copies.push_back(std::make_unique<char[]>(bytes.size()));
    memcpy(copies.back().get(), data, bytes.size());
    data = copies.back().get();
  }
  view.data = const_cast<char *>(data);
  return view;
}

Result<InputTensors> InputTensors::read(const std::string &path) {
  TRANSOM_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
  InputTensors inputs;
  inputs.file = std::make_unique<SafetensorsFile>(std::move(file));
  for (const SafetensorsTensor &tensor : inputs.file->tensors()) {
    TRANSOM_ASSIGN(transom_tensor view,
                   getView(*inputs.file, tensor, inputs.copies));
    inputs.views.push_back(view);
  }
  return Result<InputTensors>(std::move(inputs));
}

Result<transom_entry_info> tools::getEntry(const transom_model *model,
                                           const std::string &entry) {
  transom_entry_info info = transom_entry_info_default();
  transom_status status = TRANSOM_STATUS_OK;
  for (size_t i = 0; status == TRANSOM_STATUS_OK; ++i) {
    status = transom_model_get_entry(model, i, &info);
    if (status == TRANSOM_STATUS_OK && entry == info.name)
      return info;
  }
  return usageError("the model has no entry '" + entry + "'");
}

Result<transom_argument_info> tools::getArgument(const transom_model *model,
                                                 const std::string &entry,
                                                 size_t index) {
  transom_argument_info info = transom_argument_info_default();
  transom_status status =
      transom_model_get_argument(model, entry.c_str(), index, &info);
  if (status != TRANSOM_STATUS_OK)
    return lastError(status);
  return info;
}

Result<SessionPtr> tools::sessionFor(const transom_model *model,
                                     const std::string &entry,
                                     const std::vector<transom_tensor> &inputs,
                                     unsigned threads) {
  transom_session_options options = transom_session_options_default();
  options.threads = threads;
  TRANSOM_TRY(check(transom_session_options_fit(
      model, entry.c_str(), inputs.data(), inputs.size(), &options)));
  return createSession(model, options);
}

Result<void> OutputTensors::allocate(
    const transom_model *model, const transom_session *session,
    const std::string &entry, const std::vector<transom_tensor> &inputs) {
  TRANSOM_ASSIGN(transom_entry_info info, getEntry(model, entry));
  for (size_t i = 0; i < info.num_outputs; ++i) {
    TRANSOM_ASSIGN(transom_argument_info result,
                   getArgument(model, entry, info.num_inputs + i));
    transom_tensor tensor = {};
    tensor.name = result.name;
    if (Result<void> shaped =
            check(transom_session_shape(session, entry.c_str(), inputs.data(),
                                        inputs.size(), result.name, &tensor));
        !shaped)
      return shaped;
    memory.push_back(
        std::unique_ptr<char[]>(new (std::nothrow) char[tensor.capacity + 1]));
    if (!memory.back())
      return unavailable("cannot take " + std::to_string(tensor.capacity) +
                         " bytes for result '" + result.name + "'");
    tensor.data = memory.back().get();
    views.push_back(tensor);
  }
  return {};
}

Result<void> OutputTensors::write(OutputFile file) const {
  std::vector<TensorView> tensors;
  for (const transom_tensor &view : views)
    tensors.push_back({view.name,
                       fileType(view.dtype),
                       {view.shape, view.shape + view.rank},
                       view.data});
  return writeSafetensors(std::move(file), tensors);
}
