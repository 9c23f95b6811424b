// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One phase on bytes: with its layer's weights, through views and key panels,
// and with sizes that it writes.
#include "compiler/evaluator/kern/EvaluatePhase.h"
#include "test/compiler/verify/SteppedMachine.h"

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// Returns the initial state for a phase in the machine's module.
PhaseState getState(SteppedMachine &machine) {
  PhaseState state;
  state.symbols = {{"parts", 1}, {"rows", SteppedMachine::rows}};
  state.arena = {machine.arena.data(), SteppedMachine::arenaBytes};
  state.offsets = {SteppedMachine::tempOffset};
  for (float *argument : {machine.x, machine.y})
    state.arguments.push_back(
        {reinterpret_cast<const char *>(argument), sizeof machine.x});
  return state;
}

/// The buffer that a phase writes.
const PhaseBuffer &getWritten(const PhaseResult &result) {
  for (const PhaseBuffer &buffer : result.buffers)
    if (!buffer.values.empty())
      return buffer;
  ADD_FAILURE() << "nothing is written";
  return result.buffers[0];
}

} // namespace

TEST(EvaluatePhase, ListsPhasesOfLayersInTheirOrder) {
  SteppedMachine machine;
  PhaseEvaluator evaluator(*machine.module, machine.source);
  std::vector<std::pair<std::string, int64_t>> found;
  for (PhaseSite &site :
       listPhases(evaluator.getSymbols().lookup<func::FuncOp>("run"),
                  evaluator.getSymbols()))
    found.emplace_back(site.phase.getName().str(), site.layerIndex);
  EXPECT_EQ(found,
            (std::vector<std::pair<std::string, int64_t>>{{"run.0.copy", -1},
                                                          {"layer.0.scale", 0},
                                                          {"layer.1.add", 0},
                                                          {"layer.0.scale", 1},
                                                          {"layer.1.add", 1}}));
}

TEST(EvaluatePhase, ReadsTheMachineAndTheWeightsOfTheLayer) {
  SteppedMachine machine;
  for (int64_t i = 0; i < 8; ++i)
    machine.y[i] = static_cast<float>(i) + 0.5F;
  PhaseEvaluator evaluator(*machine.module, machine.source);
  std::vector<PhaseSite> sites =
      listPhases(evaluator.getSymbols().lookup<func::FuncOp>("run"),
                 evaluator.getSymbols());
  for (auto [dispatch, factor] : {std::pair(1, 2.0), std::pair(3, 3.0)}) {
    Result<PhaseResult> result =
        evaluator.evaluate(sites[dispatch], getState(machine), nullptr);
    ASSERT_TRUE(result) << result.error().message;
    const PhaseBuffer &written = getWritten(*result);
    EXPECT_EQ(written.slot, 0);
    EXPECT_EQ(written.offset, SteppedMachine::tempOffset);
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(written.values[i].real(), (double(i) + 0.5) * factor);
    EXPECT_EQ(written.getIndex(6), std::pair(int64_t(1), int64_t(2)));
  }
  EXPECT_EQ(machine.getTemp()[0], *reinterpret_cast<const float *>("aaaa"));
}

TEST(EvaluatePhase, StateOfLayersIsTheBufferOfTheirCaller) {
  SteppedMachine machine;
  for (int64_t i = 0; i < 8; ++i)
    machine.getTemp()[i] = static_cast<float>(i);
  PhaseEvaluator evaluator(*machine.module, machine.source);
  std::vector<PhaseSite> sites =
      listPhases(evaluator.getSymbols().lookup<func::FuncOp>("run"),
                 evaluator.getSymbols());
  Result<PhaseResult> result =
      evaluator.evaluate(sites[4], getState(machine), nullptr);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(getWritten(*result).argument, 1);
  EXPECT_EQ(getWritten(*result).values[7].real(), 8);
  EXPECT_STREQ(getWritten(*result).writer->getName().getStringRef().data(),
               "kern.elementwise");
}

TEST(EvaluatePhase, IndicesOfKeyPanels) {
  MLIRContext context;
  context.loadDialect<kern::KernDialect>();
  PhaseBuffer buffer;
  buffer.columns = 6;
  buffer.type = kern::BufferType::get(
      &context, {Polynomial::symbol("keys"), Polynomial(6)},
      Float32Type::get(&context), 0, true);
  // [1][2][5] of [keys / 32][6][32]
  EXPECT_EQ(buffer.getIndex(6 * 32 + 2 * 32 + 5),
            std::pair(int64_t(37), int64_t(2)));
  buffer.type = kern::BufferType::get(
      &context, {Polynomial::symbol("keys"), Polynomial(6)},
      BFloat16Type::get(&context), 0, true);
  // [1][1][5][1] of [keys / 32][3][32][2]
  EXPECT_EQ(buffer.getIndex(6 * 32 + 64 + 5 * 2 + 1),
            std::pair(int64_t(37), int64_t(3)));
}
