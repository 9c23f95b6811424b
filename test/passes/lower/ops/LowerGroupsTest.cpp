// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token groups against plain loops: the sort alone, with every table between
// inaccessible pages, and a planned function in which one phase writes the
// table and its size and the next ones use them.
#include "compiler/pipeline/Register.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/kernel/Passes.h"
#include "test/passes/lower/PhaseText.h"
#include "test/support/KernelHarness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace transom::test;

namespace {

constexpr int64_t kWidth = 37;

/// A table [rows, choices] with group numbers, and the expected results.
struct Groups {
  int64_t rows, choices, numGroups;
  std::vector<int64_t> groups;
  std::vector<int64_t> tokens, offsets, positions;

  /// Sorts by plain loops.
  void sort() {
    positions.assign(groups.size(), -1);
    offsets = {0};
    for (int64_t group = 0; group < numGroups; ++group) {
      for (size_t i = 0; i < groups.size(); ++i)
        if (groups[i] == group) {
          positions[i] = int64_t(tokens.size());
          tokens.push_back(int64_t(i) / choices);
        }
      offsets.push_back(int64_t(tokens.size()));
    }
  }
};

/// Tables with some sizes: random groups, some missing or too large; one group
/// for all; no group for any.
std::vector<Groups> makeTables(int64_t choices, int64_t numGroups) {
  std::vector<Groups> tables;
  Random random(uint64_t(choices * 100 + numGroups));
  for (int64_t rows : {0, 1, 5, 70})
    for (int kind : {0, 1, 2}) {
      Groups table{rows, choices, numGroups, {}, {}, {}, {}};
      for (int64_t i = 0; i < rows * choices; ++i)
        table.groups.push_back(kind == 0   ? random.below(numGroups + 2) - 1
                               : kind == 1 ? numGroups - 1
                                           : -1);
      table.sort();
      tables.push_back(std::move(table));
    }
  return tables;
}

/// Runs a function on each instruction set with several worker counts.
void runOnAll(KernelHarness &harness, const std::string &function,
              const PhaseCall &call,
              const std::function<void(const PhaseCall &)> &check) {
  for (const std::string &isa : harness.isas())
    for (int64_t numWorkers : {1, 2, 3, 5, 12}) {
      SCOPED_TRACE(isa + " " + function + " workers " +
                   std::to_string(numWorkers));
      PhaseCall run = call;
      run.numWorkers = numWorkers;
      harness.runFunction(isa, function, run, numWorkers % 2 == 0);
      check(run);
    }
}

/// The module after the passes that form phases and plan memory.
std::string plan(const std::string &text) {
  mlir::DialectRegistry registry;
  transom::registerTransomDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager passes(&context);
  passes.addPass(transom::createFormPhasesPass());
  passes.addPass(transom::createPlanMemoryPass());
  if (!module || mlir::failed(passes.run(*module))) {
    ADD_FAILURE() << "the module is not planned";
    return {};
  }
  std::string planned;
  llvm::raw_string_ostream stream(planned);
  module->print(stream);
  return planned;
}

} // namespace

TEST(LowerGroups, SortsStably) {
  for (auto [choices, numGroups] :
       {std::pair<int64_t, int64_t>{1, 1}, {2, 5}, {3, 9}}) {
    std::string table = std::to_string(choices),
                count = std::to_string(numGroups + 1);
    // One function for each id type.
    auto function = [&](const char *name, const char *element) {
      std::string groups = bufferType("rows, " + table, element),
                  positions = bufferType("rows, " + table, "i64"),
                  tokens = bufferType("n", "i64"),
                  offsets = bufferType(count, "i64");
      return phaseFunction(
          {name,
           "%g: " + groups + ", %t: " + tokens + ", %o: " + offsets +
               ", %p: " + positions,
           "",
           "kern.group_tokens %g outs(%t, %o, %p) size @n : " + groups + ", " +
               tokens + ", " + offsets + ", " + positions});
    };
    KernelHarness harness("kern.bounded_size @n bound \"" + table +
                          "*rows\"\n" + function("wide", "i64") +
                          function("narrow", "i32"));
    // Sort each table and overwrite the results before the next run.
    for (const Groups &table : makeTables(choices, numGroups)) {
      Guarded<int64_t> wide(table.groups), tokens(table.tokens.size()),
          offsets(table.offsets.size()), positions(table.positions.size());
      Guarded<int32_t> narrow(
          std::vector<int32_t>(table.groups.begin(), table.groups.end()));
      for (bool isWide : {true, false})
        runOnAll(harness, isWide ? "wide" : "narrow",
                 {{{"rows", table.rows}},
                  {isWide ? static_cast<void *>(wide.data()) : narrow.data(),
                   tokens.data(), offsets.data(), positions.data()},
                  {}},
                 [&](const PhaseCall &call) {
                   EXPECT_EQ(tokens.copy(), table.tokens);
                   EXPECT_EQ(offsets.copy(), table.offsets);
                   EXPECT_EQ(positions.copy(), table.positions);
                   EXPECT_EQ(call.symbols.at("n"),
                             int64_t(table.tokens.size()));
                   std::fill(tokens.begin(), tokens.end(), -7);
                   std::fill(offsets.begin(), offsets.end(), -7);
                   std::fill(positions.begin(), positions.end(), -7);
                 });
    }
  }
}

// One phase writes the table and the next ones use it. It is entirely in an
// arena that is planned by the size's bound.
TEST(LowerGroups, PhasesUseWhatAPhaseWrites) {
  const char *text = R"mlir(
!groups = !kern.buffer<[rows, 3] x i64>
!scales = !kern.buffer<[rows, 3] x f32>
!tokens = !kern.buffer<[n] x i64>
!offsets = !kern.buffer<[6] x i64>
!x = !kern.buffer<[rows, 37] x f32>
!packed = !kern.buffer<[n, 37] x f32>
kern.bounded_size @n bound "3*rows"
func.func @run(%g: !groups, %s: !scales, %x: !x, %y: !x)
    attributes {kern.symbols = ["n", "rows"]} {
  %t = kern.alloc : !tokens
  %o = kern.alloc : !offsets
  %p = kern.alloc : !groups
  kern.group_tokens %g outs(%t, %o, %p) size @n : !groups, !tokens, !offsets, !groups
  %r = kern.alloc : !packed
  kern.gather %x, %t outs(%r) : !x, !tokens, !packed
  %q = kern.alloc : !packed
  kern.elementwise ins(%r) outs(%q) {
  ^bb0(%a: f32):
    %b = kern.apply <relu> %a
    kern.yield %b : f32
  } : (!packed) -> !packed
  kern.combine_groups %q, %p, %s outs(%y) : !packed, !groups, !scales, !x
  return
}
)mlir";
  KernelHarness harness(plan(text));
  Random random(3);
  for (const Groups &table : makeTables(3, 5)) {
    Guarded<int64_t> groups(table.groups);
    Guarded<float> scales(random.numbers(table.groups.size())),
        x(random.numbers(table.rows * kWidth)), y(table.rows * kWidth);
    runOnAll(harness, "run",
             {{{"rows", table.rows}},
              {groups.data(), scales.data(), x.data(), y.data()},
              {}},
             [&](const PhaseCall &call) {
               EXPECT_EQ(call.symbols.at("n"), int64_t(table.tokens.size()));
               for (int64_t i = 0; i < table.rows * kWidth; ++i) {
                 float sum = 0;
                 for (int64_t c = 0; c < 3; ++c) {
                   int64_t element = i / kWidth * 3 + c;
                   if (table.positions[element] >= 0)
                     sum = std::fma(scales[element], std::max(x[i], 0.0f), sum);
                 }
                 EXPECT_EQ(y[i], sum) << "element " << i;
               }
               std::fill(y.begin(), y.end(), -7.0f);
             });
  }
}
