// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight use assigns a role to its file tensors: gamma or beta of a norm, or
// a matrix that multiplies the norm result. Any other role excludes the
// tensors.
#include "compiler/calibrate/BalanceColumns.h"
#include "dialects/attn/Attn.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace mlir;
using namespace transom;

/// No column is scaled by more than 2^8 in either direction.
static constexpr double mostSteps = 8;

namespace {

/// How a file tensor is used, along one axis, by the norm with this gamma.
struct Role {
  enum Kind { Gamma, Beta, Matrix, Other } kind = Other;
  std::string gamma;
  size_t axis = 0;
  bool operator<(const Role &other) const {
    return std::tie(kind, gamma, axis) <
           std::tie(other.kind, other.gamma, other.axis);
  }
};

/// Finds the norms that can be balanced.
class NormFinder {
public:
  explicit NormFinder(ModuleOp module) : symbols(module) {
    module.walk([&](attn::GetWeightOp get) { addReads(get); });
    module.walk([&](Operation *op) {
      if (isa<attn::RmsNormOp, attn::LayerNormOp>(op))
        addNorm(op);
    });
  }

  /// Returns each norm's tensors with their axes, by gamma.
  std::map<std::string, std::vector<std::pair<std::string, Role>>> take() const;

private:
  WeightExpr getExpression(attn::GetWeightOp get) {
    return symbols.lookup<attn::WeightOp>(get.getWeight()).getExpr().getExpr();
  }
  /// Returns the file tensor's name if the value is that tensor unchanged, else
  /// an empty string.
  std::string getFileTensor(Value value);
  /// Returns the file tensor for a matrix, which may be transposed or a row
  /// range, and its K axis.
  std::optional<std::pair<std::string, size_t>> getMatrix(Value value);
  std::string getGamma(Value normalized);
  Role getRole(OpOperand &use);
  void addReads(attn::GetWeightOp get);
  void addNorm(Operation *norm);

  SymbolTable symbols;
  std::map<std::string, std::set<Role>> roles; ///< by file tensor
  std::set<std::string> refused;               ///< gammas
};

} // namespace

std::string NormFinder::getFileTensor(Value value) {
  auto get = value ? value.getDefiningOp<attn::GetWeightOp>() : nullptr;
  if (!get)
    return {};
  const WeightExpr expression = getExpression(get);
  const std::vector<std::string> files = expression.files();
  return files.size() == 1 &&
                 expression.str() == WeightExpr::file(files[0]).str()
             ? files[0]
             : std::string();
}

std::optional<std::pair<std::string, size_t>>
NormFinder::getMatrix(Value value) {
  auto get = value.getDefiningOp<attn::GetWeightOp>();
  if (!get)
    return std::nullopt;
  const WeightExpr expression = getExpression(get);
  const std::vector<std::string> files = expression.files();
  if (files.size() != 1)
    return std::nullopt;
  const WeightExpr file = WeightExpr::file(files[0]);
  const std::string text = expression.str();
  for (const auto &[whole, axis] :
       {std::pair(file.str(), size_t(1)),
        std::pair(WeightExpr::transpose(file, {1, 0}).str(), size_t(0))})
    if (text == whole || text.rfind("slice(" + whole + ", 0, ", 0) == 0)
      return std::pair(files[0], axis);
  return std::nullopt;
}

/// Returns the gamma if the value is a norm result, else an empty string.
std::string NormFinder::getGamma(Value normalized) {
  if (auto norm = normalized.getDefiningOp<attn::RmsNormOp>())
    return getFileTensor(norm.getGamma());
  if (auto norm = normalized.getDefiningOp<attn::LayerNormOp>())
    return getFileTensor(norm.getGamma());
  return {};
}

Role NormFinder::getRole(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto linear = dyn_cast<attn::LinearOp>(op);
      linear && use.get() == linear.getWeight()) {
    auto matrix = getMatrix(use.get());
    const std::string gamma = getGamma(linear.getInput());
    return matrix && !gamma.empty() ? Role{Role::Matrix, gamma, matrix->second}
                                    : Role();
  }
  if (!isa<attn::RmsNormOp, attn::LayerNormOp>(op) ||
      getFileTensor(use.get()).empty())
    return {};
  const std::string gamma = getGamma(op->getResult(0));
  auto norm = dyn_cast<attn::LayerNormOp>(op);
  const bool isBeta = norm && use.get() == norm.getBeta();
  return gamma.empty() ? Role()
                       : Role{isBeta ? Role::Beta : Role::Gamma, gamma, 0};
}

void NormFinder::addReads(attn::GetWeightOp get) {
  for (OpOperand &use : get->getUses()) {
    const Role role = getRole(use);
    for (const std::string &file : getExpression(get).files())
      roles[file].insert(role);
  }
}

/// Excludes the norm if its result has a user other than a GEMM with a separate
/// matrix.
void NormFinder::addNorm(Operation *norm) {
  const std::string gamma = getGamma(norm->getResult(0));
  bool isFit = true;
  if (auto layerNorm = dyn_cast<attn::LayerNormOp>(norm))
    isFit = !layerNorm.getBeta() || !getFileTensor(layerNorm.getBeta()).empty();
  for (OpOperand &use : norm->getUses()) {
    auto linear = dyn_cast<attn::LinearOp>(use.getOwner());
    isFit = isFit && linear && use.get() == linear.getInput() &&
            getMatrix(linear.getWeight());
  }
  if (!isFit)
    refused.insert(gamma);
}

std::map<std::string, std::vector<std::pair<std::string, Role>>>
NormFinder::take() const {
  std::map<std::string, std::vector<std::pair<std::string, Role>>> norms;
  std::set<std::string> unfit = refused;
  for (const auto &[file, of] : roles)
    for (const Role &role : of) {
      if (of.size() > 1 || role.kind == Role::Other)
        unfit.insert(role.gamma);
      else
        norms[role.gamma].emplace_back(file, role);
    }
  for (const std::string &gamma : unfit)
    norms.erase(gamma);
  return norms;
}

BalancedColumns transom::balanceColumns(ModuleOp module,
                                        Importance &importance) {
  BalancedColumns columns;
  for (const auto &[gamma, tensors] : NormFinder(module).take()) {
    auto matrix = llvm::find_if(tensors, [](const auto &tensor) {
      return tensor.second.kind == Role::Matrix;
    });
    const std::vector<float> *squares =
        matrix == tensors.end() ? nullptr : importance.find(matrix->first);
    if (!squares)
      continue;
    // Logarithms of each column's square root magnitude, relative to the mean.
    std::vector<double> logs;
    for (float square : *squares)
      logs.push_back(std::log2(std::max(double(square), 1e-30)) / 4);
    const double mean =
        std::accumulate(logs.begin(), logs.end(), 0.0) / double(logs.size());
    std::vector<float> factors, inverses, balanced;
    for (size_t i = 0; i != logs.size(); ++i) {
      const int step = int(
          std::nearbyint(std::clamp(logs[i] - mean, -mostSteps, mostSteps)));
      factors.push_back(std::ldexp(1.0f, step));
      inverses.push_back(std::ldexp(1.0f, -step));
      balanced.push_back(std::ldexp((*squares)[i], -2 * step));
    }
    for (const auto &[file, role] : tensors) {
      const bool isMatrix = role.kind == Role::Matrix;
      columns[file] = {isMatrix ? factors : inverses, role.axis};
      if (isMatrix)
        importance.set(file, balanced);
    }
  }
  return columns;
}

Result<void> BalancedTensors::read(const std::string &name,
                                   const std::vector<int64_t> &offsets,
                                   const std::vector<int64_t> &sizes,
                                   float *out) const {
  TRANSOM_TRY(files.read(name, offsets, sizes, out));
  auto found = columns.find(name);
  if (found == columns.end())
    return {};
  const auto &[factors, axis] = found->second;
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i != sizes.size(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : sizes[i];
  for (int64_t i = 0; i != outer; ++i)
    for (int64_t k = 0; k != sizes[axis]; ++k)
      for (int64_t j = 0; j != inner; ++j)
        *out++ *= factors[size_t(offsets[axis] + k)];
  return {};
}
