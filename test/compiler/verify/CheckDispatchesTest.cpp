// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hand-run machine is right, or wrong in one value, one byte that must not
// change, a size or a counter; each fault is found at its phase.
#include "compiler/verify/CheckDispatches.h"
#include "test/compiler/verify/SteppedMachine.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// Runs all dispatches; `change` is called after each.
CodeVerification check(SteppedMachine &machine,
                       const std::function<void(int64_t)> &change) {
  CheckDispatches checker(*machine.module, machine.source, machine.manifest);
  for (int64_t i = 0; i < 5; ++i) {
    checker.willRun(machine.describe(i));
    machine.run(i);
    change(i);
    checker.didRun(machine.describe(i));
  }
  Result<CodeVerification> result = checker.take();
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : CodeVerification();
}

/// Returns the only difference in a machine.
CodeDifference findDifference(SteppedMachine &machine,
                              const std::function<void(int64_t)> &change) {
  CodeVerification result = check(machine, change);
  EXPECT_EQ(result.entries[0].differences, 1);
  EXPECT_EQ(result.differences.size(), 1u);
  return result.differences.empty() ? CodeDifference() : result.differences[0];
}

} // namespace

TEST(CheckDispatches, FindsNothingInARightMachine) {
  SteppedMachine machine;
  CodeVerification result = check(machine, [](int64_t) {});
  ASSERT_EQ(result.entries.size(), 1u);
  EXPECT_EQ(result.entries[0].dispatches, 5);
  EXPECT_EQ(result.entries[0].calls, 1);
  EXPECT_EQ(result.entries[0].numbers, 5 * 8);
  EXPECT_TRUE(result.differences.empty());
  EXPECT_EQ(machine.y[7], (3.5F * 2 + 1) * 3 + 1);
  // By phase, not by dispatch.
  ASSERT_EQ(result.accuracies.size(), 3u);
  EXPECT_EQ(result.accuracies[1].phase, "layer.0.scale");
  EXPECT_EQ(result.accuracies[1].numbers, 16);
  EXPECT_EQ(result.accuracies[1].absolute, 0);
}

TEST(CheckDispatches, FindsAWrongNumber) {
  SteppedMachine machine;
  CodeDifference found = findDifference(machine, [&](int64_t dispatch) {
    if (dispatch == 3)
      machine.getTemp()[6] = std::nextafter(machine.getTemp()[6], 100.0F);
  });
  EXPECT_EQ(found.phase, "layer.0.scale");
  EXPECT_EQ(found.layer, 1);
  EXPECT_EQ(found.operation, "kern.elementwise");
  EXPECT_EQ(found.location, "layers.{0-1}.scale");
  EXPECT_EQ(found.buffer, "buffer 0 (scaled rows)");
  EXPECT_EQ(found.index, "[1, 2]");
  EXPECT_EQ(found.expected, "0x41a80000 (21)");
  EXPECT_EQ(found.found, "0x41a80001 (21.0000019)");
  EXPECT_EQ(found.count, 1);
  EXPECT_EQ(found.numbers, 8);
}

TEST(CheckDispatches, MeasuresAWrongNumber) {
  SteppedMachine machine;
  CodeVerification result = check(machine, [&](int64_t dispatch) {
    if (dispatch == 4)
      machine.y[0] += 0.25F;
  });
  EXPECT_EQ(result.accuracies[2].absolute, 0.25);
  EXPECT_EQ(result.accuracies[2].relative, 0.25 / 25);
  EXPECT_EQ(result.accuracies[2].layer, 1);
  EXPECT_EQ(result.accuracies[2].buffer, "result 'y'");
  ASSERT_EQ(result.accuracies[2].operations.size(), 1u);
  const OperationAccuracy &operation = result.accuracies[2].operations[0];
  EXPECT_EQ(operation.index, 0);
  EXPECT_EQ(operation.operation, "kern.elementwise");
  EXPECT_EQ(operation.absolute, 0.25);
  EXPECT_EQ(operation.call, result.accuracies[2].call);
}

TEST(CheckDispatches, FindsWhatIsWrittenElsewhere) {
  SteppedMachine machine;
  CodeDifference found = findDifference(machine, [&](int64_t dispatch) {
    if (dispatch == 2)
      machine.arena[SteppedMachine::tempOffset + 32] = 'b';
  });
  EXPECT_EQ(found.phase, "layer.1.add");
  EXPECT_EQ(found.layer, 0);
  EXPECT_EQ(found.buffer, "arena");
  EXPECT_EQ(found.index, "byte 96, which the phase does not write");
  EXPECT_EQ(found.expected, "0x61");
  EXPECT_EQ(found.found, "0x62");
}

TEST(CheckDispatches, FindsAnInputThatChanges) {
  SteppedMachine machine;
  CodeDifference found = findDifference(machine, [&](int64_t dispatch) {
    if (dispatch == 1)
      machine.x[3] = -machine.x[3];
  });
  EXPECT_EQ(found.buffer, "input 'x'");
  EXPECT_EQ(found.index, "byte 15, which the phase does not write");
}

TEST(CheckDispatches, FindsAResultThatIsMissing) {
  SteppedMachine machine;
  CodeDifference found = findDifference(machine, [&](int64_t dispatch) {
    if (dispatch == 0)
      for (float &number : machine.y)
        number = 0;
  });
  EXPECT_EQ(found.phase, "run.0.copy");
  EXPECT_EQ(found.layer, -1);
  EXPECT_EQ(found.count, 7); // x[0] is zero
}

TEST(CheckDispatches, FindsASizeAndACounterThatChange) {
  SteppedMachine machine;
  CodeDifference found = findDifference(machine, [&](int64_t dispatch) {
    if (dispatch == 1)
      machine.symbols[0] = 7;
  });
  EXPECT_EQ(found.buffer, "size 'parts'");
  SteppedMachine other;
  found = findDifference(
      other, [&](int64_t dispatch) { other.counter = dispatch == 3; });
  EXPECT_EQ(found.buffer, "counters");
  EXPECT_EQ(found.phase, "layer.0.scale");
}

/// oneDNN's possible softmax results for rows with equal values.
static CodeVerification checkLibrary(float number) {
  SteppedMachine machine(R"mlir(
!x = !kern.buffer<[rows, 4] x f32>
func.func @run(%x: !x {attn.name = "x"}, %y: !x {attn.name = "y"})
    attributes {kern.inputs = 1 : i64, kern.symbols = ["parts", "rows"]} {
  kern.phase "run.0.onednn_softmax" {
    kern.onednn <softmax> %x outs(%y) : !x, !x
  }
  return
}
)mlir");
  std::fill(std::begin(machine.x), std::end(machine.x), 1.0F);
  CheckDispatches checker(*machine.module, machine.source, machine.manifest);
  checker.willRun(machine.describe(0));
  std::fill(std::begin(machine.y), std::end(machine.y), number);
  checker.didRun(machine.describe(0));
  Result<CodeVerification> result = checker.take();
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : CodeVerification();
}

TEST(CheckDispatches, LetsALibraryRoundInItsOwnWay) {
  CodeVerification result = checkLibrary(0.25001F);
  EXPECT_NE(result.whyNotBits, "");
  EXPECT_TRUE(result.differences.empty());
}

TEST(CheckDispatches, FindsALargeErrorOfALibrary) {
  CodeVerification result = checkLibrary(0.2510F);
  ASSERT_EQ(result.differences.size(), 1u);
  EXPECT_EQ(result.differences[0].operation, "kern.onednn");
  EXPECT_EQ(result.differences[0].buffer, "result 'y'");
  EXPECT_EQ(result.differences[0].index, "the largest error");
  EXPECT_EQ(checkLibrary(NAN).differences.size(), 1u);
}

TEST(CheckDispatches, TellsWhatCannotBeEvaluated) {
  SteppedMachine machine;
  machine.offset = SteppedMachine::arenaBytes;
  CheckDispatches checker(*machine.module, machine.source, machine.manifest);
  checker.willRun(machine.describe(1));
  checker.didRun(machine.describe(1));
  EXPECT_TRUE(checker.hasFailed());
  Result<CodeVerification> result = checker.take();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "entry 'run', 2 rows, phase 'layer.0.scale': a buffer of 32 bytes "
            "at 128 leaves an arena of 128");
}
