# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sources that one test covers together: {test: (reason, sources)}. Source paths are relative to the folder that the test mirrors;
# check-tests.py checks that all of them exist.

SHARED = {
    "test/runtime/base/OutputFileTest.cpp": ("where an output goes, and its locked file", ["OutputPath.cpp", "PartialFile.cpp"]),
    "test/tools/commands/test_outputs.py": ("outputs and standard streams of all commands", ["StandardStreams.cpp", "../../compiler/driver/EmittedFiles.cpp"]),
    "test/runtime/generate/BeamGeneratorTest.cpp": ("the sequences of the beams that it generates with", ["BeamGroup.cpp"]),
    "test/dialects/kern/move-ops-invalid.mlir": ("constraints that many ops share", ["KernVerify.cpp"]),
    "test/passes/graph/row-forms-refused.mlir": ("each reason of an op, as a pass reports it", ["../../dialects/attn/AttnRows.cpp"]),
    "test/passes/graph/pipeline.mlir": ("runs all graph passes, which share it", ["GraphSupport.cpp"]),
    "test/passes/kernel/fuse-epilogues.mlir": ("queries that the fusions share", ["BufferUses.cpp"]),
    "test/passes/kernel/choose-precision.mlir": ("the second step of the pass", ["CastFuser.cpp"]),
    "test/passes/kernel/form-phases.mlir": ("effects decide which ops share a phase", ["../../dialects/kern/KernBufferOp.cpp"]),
    "test/passes/kernel/fuse-norm.mlir": ("joins a norm for two passes", ["NormJoiner.cpp"]),
    "test/passes/lower/attention/LowerAttentionTest.cpp": ("windows and biases by column, against plain loops", ["AttentionPositions.cpp"]),
    "test/passes/lower/ops/LowerGemmTest.cpp": ("products with more rows and a longer K than are computed at a time, of all operands", ["ProductSizes.cpp", "ProductOperands.cpp"]),
    "test/compiler/artifact/ArtifactTest.cpp": ("parts of writing an artifact", [
        "PhaseCost.cpp", "PlanCalls.cpp", "Tables.cpp"]),
    "test/compiler/stages/test_resume_bytes.py": ("what a manifest names is the same from each stage; test_bench_report.py has the names", [
        "../driver/KernelNames.cpp"]),
    "test/compiler/evaluator/bits/BitsTest.cpp": ("single operations; test/e2e/random compares whole models with machine code", [
        "BitsAttention.cpp", "BitsMath.cpp", "../kern/EvaluateKernAttentionBits.cpp"]),
    "test/compiler/evaluator/residues/ResiduesTest.cpp": ("leaves and rounded leaves", ["ResidueLeaves.cpp"]),
    "test/compiler/evaluator/EvaluateProductsTest.cpp": ("norms, softmax and activations of both dialects", ["NormsAndActivations.cpp"]),
    "test/compiler/evaluator/EvaluateShapesTest.cpp": ("the values of all operations", ["Tensor.cpp"]),
    "test/compiler/evaluator/kern/KernMemoryTest.cpp": ("one module on the byte arena; values come from goldens, those of oneDNN from test/e2e/random", [
        "EvaluateKernAttention.cpp", "EvaluateKernControl.cpp", "EvaluateKernElementwise.cpp", "EvaluateKernMoves.cpp",
        "EvaluateKernRows.cpp", "EvaluateOneDnn.cpp", "KernEvaluation.cpp"]),
    "test/compiler/import/gguf/GgufTokenizerTest.cpp": ("parts of a tokenizer.json that all kinds write", ["GgufTokenizerMaker.cpp"]),
    "test/compiler/import/graphjson/GraphSchemaTest.cpp": ("the table that the schema is made from", ["GraphOpTable.cpp"]),
    "test/compiler/import/huggingface/EncoderDecoderTest.cpp": ("the entries that the block is in; numbers come from test/compiler/evaluator", [
        "blocks/CrossAttention.cpp"]),
    "test/compiler/import/huggingface/GoldenImportTest.cpp": ("texts beside encoders", ["TextConfig.cpp"]),
    "test/compiler/import/huggingface/ModelNumbersTest.cpp": ("each block with numbers of another library", [
        "blocks/Attention.cpp", "blocks/BlockContext.cpp", "blocks/Convolution.cpp", "blocks/Embedding.cpp", "blocks/Head.cpp", "blocks/Layer.cpp", "blocks/Mlp.cpp"]),
    "test/compiler/import/tokenizer/regex/RegexTest.cpp": ("the matches of patterns with all constructs", ["RegexAutomaton.cpp", "RegexCode.cpp"]),
    "test/compiler/import/tokenizer/regex/RegexTreeTest.cpp": ("the errors of the parser; RegexTest.cpp has what it takes", ["RegexParser.cpp"]),
    "test/compiler/import/tokenizer/regex/CharSetTest.cpp": ("classes in patterns, with and without case", ["RegexClasses.cpp", "RegexFold.cpp"]),
    "test/compiler/import/tokenizer/ImportPiecesTest.cpp": ("what the classes share", ["PieceImporter.cpp"]),
    "test/compiler/import/tokenizer/classes/ImportMarianTest.cpp": ("pieces with ids of a vocabulary", ["../VocabularyPieces.cpp"]),
    "test/runtime/tokenizer/TokenizerTest.cpp": ("the steps of encoding", ["SequenceEncoder.cpp"]),
    "test/runtime/tokenizer/BpeTest.cpp": ("words that come again", ["WordCache.cpp"]),
    "test/compiler/import/MutationTest.cpp": ("what importers share", ["Emitter.cpp"]),
    "test/tools/commands/attention/test_attention.py": ("align words of translations", ["WordAligner.cpp"]),
    "test/compiler/explain/test_explain.py": ("all that a compile is known to do, checked on examples", ["ExplainEntries.cpp"]),
    "test/compiler/inspect/InspectModelTest.cpp": ("pictures are in test/tools/commands/inspect", ["ReadGraph.cpp"]),
    "test/tools/commands/inspect/GraphLayoutTest.cpp": ("the rows of each group", ["GraphRows.cpp"]),
    "test/tools/commands/inspect/test_inspect.py": ("both forms of an artifact", ["ArtifactJson.cpp", "ArtifactText.cpp"]),
    "test/tools/commands/inspect/test_difference.py": ("what is compared", ["Facts.cpp"]),
    "test/tools/commands/explain/test_comparison.py": ("the comparison and its text", ["ComparisonText.cpp"]),
    "test/tools/commands/verify/BitsEntryTest.cpp": ("the calls that entries are compared by", ["BitsTensors.cpp"]),
    "test/tools/commands/verify/BitsStepsTest.cpp": ("the texts that steps are compared by", ["BitsReader.cpp"]),
    "test/tools/commands/verify/test_verify_code.py": ("the calls of real programs, and their compiles", ["MachineStepper.cpp"]),
    "test/compiler/verify/ShrinkModuleTest.cpp": ("a module of smaller widths from its sizes to its weights", [
        "CollectSizes.cpp", "ShrinkWeights.cpp"]),
    "test/compiler/verify/CheckDispatchesTest.cpp": ("a machine by hand, before and after each dispatch", [
        "CompareMemory.cpp", "MachineSnapshot.cpp"]),
    "test/tools/commands/verify/test_verify.py": ("processes and compiles of the real program", ["BitsElsewhere.cpp"]),
    "test/tools/commands/test_compile.py": ("the command is a thin layer over the driver, which opens in its own library", [
        "CompileFlags.cpp", "Compiler.cpp", "../../compiler/api/SharedLibrary.cpp"]),
    "test/tools/commands/test_fatal_errors.py": ("handlers that end a compile", ["../../compiler/codegen/FatalErrors.cpp"]),
    "test/compiler/driver/test_compile.py": ("errors and hashes of a compile", ["../stages/Diagnostics.cpp", "../stages/Hashes.cpp"]),
}
