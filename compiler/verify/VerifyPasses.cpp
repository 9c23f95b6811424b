// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates a module in residues before and after each pass.
#include "compiler/verify/VerifyPasses.h"
#include "dialects/common/Location.h"
#include "runtime/base/Sha256.h"
#include <map>
#include <set>

using namespace mlir;

namespace transom {

/// Values that stay in float inputs: they may hide or select.
static bool isMaskValue(double x) { return x == 0 || x == 1 || x <= -1e30; }

PassVerifier::PassVerifier(const PassVerifierOptions &options,
                           std::vector<VerifyCase> given)
    : options(options),
      domain(options.keyText, options.numLanes, options.rounding),
      cases(std::move(given)) {
  for (VerifyCase &test : cases)
    for (VerifyCall &call : test)
      for (NamedTensor &input : call.inputs)
        for (auto [i, x] : llvm::enumerate(input.tensor.real))
          if (!isMaskValue(x.real()))
            x = domain.getLeaf("input " + input.name, static_cast<int64_t>(i));
}

Result<std::vector<PassVerifier::Outputs>>
PassVerifier::evaluateAll(ModuleOp module, const Observer &observer) {
  // Numbers in residues are reported to the observer.
  EvaluateOptions own;
  own.source = options.source;
  own.domain = &domain;
  if (observer)
    own.observe = [&](Operation *op, ArrayRef<Number> numbers) {
      for (Number number : numbers)
        if (number.isReference())
          observer(op, domain.get(number));
    };
  // Each case has its own caches.
  std::vector<Outputs> all;
  const size_t mark = domain.mark();
  for (const VerifyCase &test : cases) {
    CacheStore caches;
    own.caches = &caches;
    for (const VerifyCall &call : test) {
      own.sequences = call.sequences;
      auto results = evaluate(module, call.entry, call.inputs, own);
      if (!results) {
        domain.release(mark);
        return results.takeError();
      }
      // The results outlive the numbers, so they are copied.
      Outputs &outputs = all.emplace_back();
      for (const NamedTensor &result : *results) {
        auto &output = outputs.outputs.emplace_back();
        output.name = result.name;
        output.sizes = result.tensor.sizes;
        for (int64_t i = 0; i < result.tensor.count(); ++i)
          output.elements.push_back(domain.get(result.tensor.number(i)));
      }
    }
    domain.release(mark);
  }
  return all;
}

Result<void> PassVerifier::start(ModuleOp module) {
  TRANSOM_ASSIGN(expected, evaluateAll(module));
  domain.deriveConstants();
  before = module.clone();
  return {};
}

/// An operation as one line.
static std::string printLine(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, OpPrintingFlags().skipRegions().useLocalScope());
  return text;
}

/// The first few operations with a module path that compute something.
static std::vector<std::string> printPlace(ModuleOp module, StringRef path) {
  constexpr size_t most = 4;
  std::vector<std::string> lines;
  module.walk([&](Operation *op) {
    if (lines.size() < most && op->getNumRegions() == 0 &&
        op->getNumOperands() > 0 && getModulePath(op->getLoc()) == path)
      lines.push_back(printLine(op));
  });
  return lines;
}

/// Records the first operation that computes a new number.
void PassVerifier::locate(ModuleOp module, VerifyDifference &difference) {
  std::set<std::array<uint64_t, Residue::maxLanes>> known;
  auto old = evaluateAll(*before, [&](Operation *, const Residue &number) {
    known.insert(number.p);
  });
  Operation *first = nullptr;
  auto now = evaluateAll(module, [&](Operation *op, const Residue &number) {
    if (!first && !known.count(number.p))
      first = op;
  });
  // An error in the second evaluation is already being reported.
  if (!old || !first)
    return;
  if (!now)
    now.takeError();
  difference.place = getModulePath(first->getLoc());
  difference.operation = first->getName().getStringRef().str();
  difference.after = printLine(first);
  if (!difference.place.empty())
    difference.before = printPlace(*before, difference.place);
}

std::string PassVerifier::getDigest() const {
  Sha256 sha;
  for (const Outputs &call : expected) {
    // Passes may add results in any order.
    std::map<std::string, const std::vector<Residue> *> sorted;
    for (const auto &output : call.outputs)
      sorted[output.name] = &output.elements;
    for (const auto &[name, elements] : sorted) {
      sha.update(name);
      for (const Residue &element : *elements)
        sha.update(element.p.data(),
                   sizeof(uint64_t) * static_cast<size_t>(options.numLanes));
    }
  }
  return sha.hex();
}

std::string PassVerifier::findDifference(ArrayRef<Outputs> got) const {
  for (auto [now, then] : llvm::zip_equal(got, expected))
    for (const auto &output : then.outputs) {
      auto found = llvm::find_if(
          now.outputs, [&](const auto &o) { return o.name == output.name; });
      if (found == now.outputs.end())
        return "'" + output.name + "' is missing";
      if (found->sizes != output.sizes)
        return "'" + output.name + "' has another shape";
      auto differs =
          llvm::count_if(llvm::zip_equal(found->elements, output.elements),
                         [](const auto &pair) {
                           return std::get<0>(pair) != std::get<1>(pair);
                         });
      if (differs > 0)
        return "'" + output.name + "' differs in " + std::to_string(differs) +
               " of " + std::to_string(output.elements.size()) + " elements";
    }
  return {};
}

std::string PassVerifier::findDifference(ModuleOp module) {
  auto got = evaluateAll(module);
  return got ? findDifference(*got) : got.error().message;
}

/// Later passes must also preserve results that a pass adds.
void PassVerifier::noteNewOutputs(ArrayRef<Outputs> got) {
  for (auto [now, then] : llvm::zip_equal(got, expected))
    for (const auto &output : now.outputs)
      if (llvm::none_of(then.outputs, [&](const auto &known) {
            return known.name == output.name;
          }))
        then.outputs.push_back(output);
}

std::optional<VerifyDifference> PassVerifier::check(ModuleOp module,
                                                    StringRef pass) {
  auto got = evaluateAll(module);
  const bool insertsRoundings = pass == "kern-choose-precision";
  if (got && insertsRoundings && options.rounding == Rounding::Opaque)
    expected = *got;
  std::string result = got ? findDifference(*got) : got.error().message;
  if (!result.empty()) {
    VerifyDifference difference;
    difference.pass = pass.str();
    difference.result = result;
    locate(module, difference);
    return difference;
  }
  noteNewOutputs(*got);
  before = module.clone();
  return std::nullopt;
}

} // namespace transom
