// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dispatches computed by oneDNN: the shim is found and opened if a model has
// such dispatches, and each call's sizes and pointers are looked up in the
// frame.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/abi/OneDnn.h"
#include "runtime/execute/Formula.h"
#include "runtime/include/transom/transom.h"
#include "runtime/manifest/Manifest.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// A library call of an entry, with names resolved and polynomials compiled.
struct OneDnnCall {
  struct Operand {
    bool isArgument = false;
    size_t index = 0; ///< in the frame's offsets or arguments
    std::vector<Formula> dims;
  };

  /// `order` names the entry's symbols by index.
  static Result<OneDnnCall> create(const ManifestCall &source,
                                   const std::vector<std::string> &order);

  transom_onednn_primitive primitive = TRANSOM_ONEDNN_MATMUL;
  transom_onednn_activation activation = TRANSOM_ONEDNN_NONE;
  double epsilon = 0;
  Operand input, out;
  std::optional<Operand> rhs, residual;
  std::optional<ManifestCallWeight> weights, bias;
};

/// A model's shim state. Shared by sessions.
class OneDnnModel {
public:
  /// Opens a shim: next to this library or program, then on the dynamic
  /// linker's path. Without one, `Unsupported` with installation advice. `isa`
  /// is the instruction set that generated code uses.
  static Result<std::unique_ptr<OneDnnModel>> open(const std::string &isa);
  ~OneDnnModel();
  OneDnnModel(const OneDnnModel &) = delete;
  OneDnnModel &operator=(const OneDnnModel &) = delete;

  const transom_onednn_api &functions() const { return *api; }
  transom_onednn_model *handle() const { return model; }

private:
  OneDnnModel() = default;
  const transom_onednn_api *api = nullptr;
  transom_onednn_model *model = nullptr;
};

/// A session's shim state; used by one thread at a time.
class OneDnnSession {
public:
  /// `model` outlives the session.
  static Result<std::unique_ptr<OneDnnSession>> create(const OneDnnModel &model,
                                                       unsigned threads);
  ~OneDnnSession();
  OneDnnSession(const OneDnnSession &) = delete;
  OneDnnSession &operator=(const OneDnnSession &) = delete;

  /// Runs a call with the dispatch's layer row (NULL for none); returns false
  /// on failure, with the reason in message().
  bool run(const OneDnnCall &call, const transom_frame &frame,
           const int64_t *row);
  const std::string &message() const { return problem; }

  /// oneDNN's threads, also for the other dispatches; NULL if it does not share
  /// them. The context is handle().
  transom_parallel parallel() const { return owner.functions().parallel; }
  void *handle() const { return session; }

private:
  explicit OneDnnSession(const OneDnnModel &owner) : owner(owner) {}
  const OneDnnModel &owner;
  transom_onednn_session *session = nullptr;
  std::string problem;
};

} // namespace transom
