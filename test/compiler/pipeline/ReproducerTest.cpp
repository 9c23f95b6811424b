// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reproducers are parsed as they were written, and report how they fail.
#include "compiler/pipeline/Reproducer.h"
#include "compiler/pipeline/Register.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"
#include <cstdio>
#include <fstream>

using namespace mlir;
using namespace transom;

namespace {

class ReproducerTest : public ::testing::Test {
protected:
  ReproducerTest() {
    DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    static const bool registered = [] {
      registerTransomPasses();
      registerCSEPass();
      return true;
    }();
    (void)registered;
  }

  ~ReproducerTest() override { std::remove(path.c_str()); }

  Result<Reproducer> read(const std::string &text) {
    std::ofstream(path) << text;
    return readReproducer(context, path);
  }

  MLIRContext context;
  const std::string path = ::testing::TempDir() + "/reproducer-test.mlir";
};

TEST_F(ReproducerTest, readsWhatItWrites) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  const std::string pipeline = "builtin.module(cse,attn-fuse-attention)";
  const std::string text = printReproducer(*module, pipeline);
  Result<Reproducer> reproducer = read(text);
  ASSERT_TRUE(reproducer) << reproducer.error().message;
  EXPECT_EQ(reproducer->pipeline, pipeline);
  EXPECT_EQ(printReproducer(*reproducer->module, pipeline), text);
  EXPECT_EQ(getFailure(*reproducer->module, pipeline), "");
}

TEST_F(ReproducerTest, saysHowThePipelineFails) {
  const char *text = R"mlir(
    func.func @f(%x: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
      %y = attn.rms_norm %x, %g eps 1.0e-6 : [2, 8] f32, [8] f32
      return %y : tensor<2x8xf32>
    }
    {-# external_resources: { mlir_reproducer: {
      pipeline: "builtin.module(convert-attn-to-kern)" } } #-})mlir";
  Result<Reproducer> reproducer = read(text);
  ASSERT_TRUE(reproducer) << reproducer.error().message;
  EXPECT_EQ(getFailure(*reproducer->module, reproducer->pipeline),
            "'attn.rms_norm' op expects gamma and beta to be weights");
}

TEST_F(ReproducerTest, refusesOtherFiles) {
  auto message = [&](Result<Reproducer> reproducer) {
    EXPECT_FALSE(reproducer);
    return reproducer ? std::string() : reproducer.error().message;
  };
  EXPECT_NE(message(read("func.func")).find("not a module: "),
            std::string::npos);
  EXPECT_NE(message(read("func.func private @f()"))
                .find("the module has no pipeline; expected "),
            std::string::npos);
  EXPECT_NE(message(readReproducer(context, "/no/such/file"))
                .find("cannot read '/no/such/file'"),
            std::string::npos);
}

} // namespace
