// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses the newest shim that can be opened. It stays open until the process
// ends, since OpenMP threads may outlive the last session.
#include "runtime/onednn/OneDnn.h"
#include "runtime/base/Activation.h"
#include "runtime/base/File.h"
#include <algorithm>
#include <dlfcn.h>
#include <unistd.h>

using namespace transom;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static Result<OneDnnCall::Operand>
compileOperand(const ManifestOperand &source,
               const std::vector<std::string> &order) {
  OneDnnCall::Operand operand;
  operand.isArgument = source.isArgument;
  operand.index = size_t(source.index);
  for (const Polynomial &dim : source.shape) {
    TRANSOM_ASSIGN(Formula formula, Formula::compile(dim, order));
    operand.dims.push_back(std::move(formula));
  }
  return operand;
}

/// The index of a name, whose existence the manifest reader has checked.
static size_t findName(const std::vector<std::string> &names,
                       const std::string &name) {
  return size_t(std::find(names.begin(), names.end(), name) - names.begin());
}

/// An activation's value in the ABI; an error if oneDNN lacks it.
static Result<transom_onednn_activation>
getOneDnnActivation(const std::string &name) {
  if (name.empty())
    return TRANSOM_ONEDNN_NONE;
  // Look the name up in the activation table.
  std::optional<Activation> kind = parseActivation(name);
  if (!kind)
    return Error{Status::Rejected, "unknown activation '" + name + "'", {}};
  // List the activations in oneDNN.
  switch (*kind) {
  case Activation::Relu:
    return TRANSOM_ONEDNN_RELU;
  case Activation::Gelu:
    return TRANSOM_ONEDNN_GELU;
  case Activation::GeluTanh:
    return TRANSOM_ONEDNN_GELU_TANH;
  case Activation::QuickGelu:
    return TRANSOM_ONEDNN_QUICK_GELU;
  case Activation::Silu:
    return TRANSOM_ONEDNN_SILU;
  case Activation::Tanh:
    return TRANSOM_ONEDNN_TANH;
  case Activation::Sigmoid:
    return TRANSOM_ONEDNN_SIGMOID;
  default:
    return Error{Status::Unsupported,
                 "activation '" + name + "' is not supported by oneDNN",
                 {}};
  }
}

Result<OneDnnCall> OneDnnCall::create(const ManifestCall &source,
                                      const std::vector<std::string> &order) {
  constexpr transom_onednn_primitive primitives[] = {
      TRANSOM_ONEDNN_MATMUL, TRANSOM_ONEDNN_BATCH_MATMUL,
      TRANSOM_ONEDNN_SOFTMAX, TRANSOM_ONEDNN_LAYER_NORM};
  OneDnnCall call;
  call.primitive =
      primitives[findName(ManifestCall::primitives(), source.primitive)];
  TRANSOM_ASSIGN(call.activation, getOneDnnActivation(source.activation));
  call.epsilon = source.epsilon;
  call.weights = source.weights;
  call.bias = source.bias;
  for (auto [from, to] : {std::pair(&source.input, &call.input),
                          std::pair(&source.out, &call.out)}) {
    TRANSOM_ASSIGN(Operand operand, compileOperand(*from, order));
    *to = std::move(operand);
  }
  for (auto [from, to] : {std::pair(&source.rhs, &call.rhs),
                          std::pair(&source.residual, &call.residual)}) {
    if (!*from)
      continue;
    TRANSOM_ASSIGN(Operand operand, compileOperand(**from, order));
    *to = std::move(operand);
  }
  return call;
}

//===----------------------------------------------------------------------===//
// The shim
//===----------------------------------------------------------------------===//

static std::string getFolder(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

/// The folders with this library and the running program, then "" for the
/// dynamic linker's path.
static std::vector<std::string> shimFolders() {
  std::vector<std::string> folders;
  auto add = [&](const std::string &file) {
    if (std::string folder = getFolder(file); !folder.empty())
      for (const char *place : {"", "/../lib"})
        folders.push_back(folder + place);
  };
  Dl_info here;
  if (dladdr(reinterpret_cast<const void *>(&shimFolders), &here) &&
      here.dli_fname)
    add(here.dli_fname);
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length > 0 && size_t(length) < sizeof path)
    add(std::string(path, size_t(length)));
  folders.emplace_back();
  return folders;
}

static std::string shimName(int major) {
  return "libtransom-onednn-" + std::to_string(major) + ".so";
}

/// Opens the shim for a major version. On failure `problem` is the dynamic
/// linker's message if the file exists.
static void *openShim(int major, std::string &problem) {
  for (const std::string &folder : shimFolders()) {
    const std::string path =
        folder.empty() ? shimName(major) : folder + "/" + shimName(major);
    if (!folder.empty() && !fileExists(path))
      continue;
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    const char *text = dlerror();
    if (!folder.empty() && text)
      problem = text;
  }
  return nullptr;
}

static Error absent(const std::string &problem) {
  if (problem.empty())
    return unsupported(
        "the model was compiled for the backend 'onednn', and there is no " +
        shimName(3) + " or " + shimName(2) +
        " beside transom or on the linker's path; build transom where the "
        "headers of oneDNN are installed (Debian: libdnnl-dev), or compile "
        "the model with '--backend native'");
  return unsupported(
      "the model was compiled for the backend 'onednn', which does not load: " +
      problem +
      "; install oneDNN (Debian: libdnnl2), or compile the model with "
      "'--backend native'");
}

Result<std::unique_ptr<OneDnnModel>> OneDnnModel::open(const std::string &isa) {
  std::string problem;
  void *library = nullptr;
  for (int major : {3, 2})
    if (!library)
      library = openShim(major, problem);
  if (!library)
    return absent(problem);
  auto entry = reinterpret_cast<transom_onednn_entry>(
      dlsym(library, TRANSOM_ONEDNN_SYMBOL));
  const transom_onednn_api *api = entry ? entry() : nullptr;
  if (!api || api->version != TRANSOM_ONEDNN_VERSION)
    return unsupported("the shim of oneDNN has version " +
                       std::to_string(api ? api->version : 0) +
                       ", this runtime needs version " +
                       std::to_string(TRANSOM_ONEDNN_VERSION));
  std::unique_ptr<OneDnnModel> model(new OneDnnModel());
  model->api = api;
  model->model = api->create_model(isa.c_str());
  if (!model->model)
    return unavailable("oneDNN " + std::string(api->library) +
                       " does not start");
  return model;
}

OneDnnModel::~OneDnnModel() {
  if (model)
    api->free_model(model);
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<OneDnnSession>>
OneDnnSession::create(const OneDnnModel &model, unsigned threads) {
  std::unique_ptr<OneDnnSession> made(new OneDnnSession(model));
  made->session =
      model.functions().create_session(model.handle(), int32_t(threads));
  if (!made->session)
    return unavailable("oneDNN " + std::string(model.functions().library) +
                       " refuses a session");
  return made;
}

OneDnnSession::~OneDnnSession() {
  if (session)
    owner.functions().free_session(session);
}

/// Computes an operand's location in this call; false if a size cannot be
/// evaluated.
static bool locate(const OneDnnCall::Operand &operand,
                   const transom_frame &frame, transom_onednn_tensor &tensor) {
  tensor.rank = int64_t(operand.dims.size());
  for (size_t i = 0; i != operand.dims.size(); ++i)
    if (!operand.dims[i].evaluate(frame.symbols, tensor.dims[i]))
      return false;
  char *data = operand.isArgument
                   ? static_cast<char *>(frame.args[operand.index])
                   : frame.arena + frame.offsets[operand.index];
  tensor.data = reinterpret_cast<float *>(data);
  return true;
}

static const float *locate(const std::optional<ManifestCallWeight> &weight,
                           const transom_frame &frame, const int64_t *row) {
  if (!weight)
    return nullptr;
  return reinterpret_cast<const float *>(
      frame.weights + (weight->inRow ? row[weight->at] : weight->at));
}

bool OneDnnSession::run(const OneDnnCall &call, const transom_frame &frame,
                        const int64_t *row) {
  transom_onednn_call now{};
  now.primitive = call.primitive;
  now.activation = call.activation;
  now.epsilon = call.epsilon;
  now.weights = locate(call.weights, frame, row);
  now.bias = locate(call.bias, frame, row);
  if (!locate(call.input, frame, now.input) ||
      !locate(call.out, frame, now.out) ||
      (call.rhs && !locate(*call.rhs, frame, now.rhs)) ||
      (call.residual && !locate(*call.residual, frame, now.residual))) {
    problem = "a size is not to be told";
    return false;
  }
  const char *text = owner.functions().run(session, &now);
  if (text)
    problem = "oneDNN " + std::string(owner.functions().library) + ": " + text;
  return !text;
}
