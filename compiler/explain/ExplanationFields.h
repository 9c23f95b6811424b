// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The explanation fields: JSON key, member and description. The writer, the
// reader and the published schema all visit this list, so a new field is a
// member in Explanation.h and a line here.
#pragma once
#include "compiler/explain/Explanation.h"

namespace transom {

template <typename Self, typename Visitor>
void Amount::visitFields(Self &self, Visitor &visit) {
  visit.field("formula", self.formula,
              "polynomial with integer coefficients in the symbols of the "
              "entry, such as 3072*rows");
  visit.field("value", self.value,
              "the formula's value in the example call of the entry; null if "
              "it is not known");
}

template <typename Self, typename Visitor>
void ModelPlace::visitFields(Self &self, Visitor &visit) {
  visit.field("location", self.location,
              "module path of the model, such as "
              "encoder.layer.{0-11}.attention.self; empty if it is not known");
  visit.field("file", self.file,
              "file of the model that describes it; empty if it is not known");
  visit.field("pointer", self.pointer, "JSON pointer (RFC 6901) in that file");
}

template <typename Self, typename Visitor>
void ExplainedArgument::visitFields(Self &self, Visitor &visit) {
  visit.field("key", self.key, "name of the value");
  visit.field("value", self.value, "the value as text");
}

template <typename Self, typename Visitor>
void ExplainedRemark::visitFields(Self &self, Visitor &visit) {
  visit.field("kind", self.kind,
              "passed: the pass did it; missed: the pass did not do it, and "
              "why; failure: it had to do it and could not; analysis: what it "
              "found or chose");
  visit.field("category", self.category,
              "the pass, as --disable-pass names it");
  visit.field("name", self.name,
              "id of the reason, unique among those of the pass");
  visit.field("function", self.function,
              "function of the IR that the operation was in");
  visit.field("place", self.place, "where in the model it comes from");
  visit.field("args", self.args,
              "the values that the message compares, in its order");
  visit.field("message", self.message, "the reason as a sentence");
  visit.field("help", self.help,
              "what it means, and what to change in the model; may be empty");
}

template <typename Self, typename Visitor>
void EntryCost::visitFields(Self &self, Visitor &visit) {
  visit.field("entry", self.entry, "name of the entry");
  visit.field("flops", self.flops,
              "floating-point operations of products and attention in one "
              "call; a multiply-add counts two");
  visit.field("buffers", self.buffers,
              "buffers of the arena; 0 before tensors become buffers");
  visit.field("buffer_bytes", self.bufferBytes,
              "bytes of all buffers if none shared memory with another");
  visit.field("phases", self.phases, "functions of generated code");
  visit.field("barriers", self.barriers,
              "how often in one call all threads wait for each other: once "
              "after each run of a phase");
}

template <typename Self, typename Visitor>
void ModuleSummary::visitFields(Self &self, Visitor &visit) {
  visit.field("operations", self.operations,
              "number of operations by name; a layer body counts once, however "
              "many layers run it");
  visit.field("functions", self.functions,
              "functions: entries and layer bodies");
  visit.field("computing_operations", self.computing,
              "operations that compute something, without definitions of "
              "weights, buffers and views");
  visit.field("weights", self.weights, "weights that the module defines");
  visit.field("weight_bytes", self.weightBytes,
              "bytes of these weights as they are stored");
  visit.field("entries", self.entries, "what a call of each entry costs");
}

template <typename Self, typename Visitor>
void IrOperation::visitFields(Self &self, Visitor &visit) {
  visit.field("line", self.line, "the first of its lines in the text, from 0");
  visit.field("name", self.name, "index in names");
  visit.field("location", self.location, "index in locations");
  visit.field("origins", self.origins, "indices in origins");
  visit.field("parent", self.parent,
              "index of the operation around it; -1 for the module");
  visit.field("operands", self.operands,
              "indices of the operations whose results it reads; what reads a "
              "buffer depends on the operation that wrote it last");
}

template <typename Self, typename Visitor>
void IrListing::visitFields(Self &self, Visitor &visit) {
  visit.field("text", self.text, "the module without locations and remarks");
  visit.field("names", self.names, "names of operations");
  visit.field("locations", self.locations,
              "module paths of the model; they link an operation to those of "
              "other listings, to remarks and to phases");
  visit.field("origins", self.origins,
              "files and JSON pointers, such as config.json: /hidden_size");
  visit.field("operations", self.operations, "in the order of the text");
}

template <typename Self, typename Visitor>
void ExplainedPass::visitFields(Self &self, Visitor &visit) {
  visit.field("stage", self.stage, "stage of the compile, as --emit names it");
  visit.field("pass", self.pass, "flag of the pass");
  visit.field("name", self.name,
              "what --start-at and --stop-after of transom-opt call this run: "
              "the flag, with a number where the pass runs several times");
  visit.field("isa", self.isa,
              "instruction set that the code is lowered for; empty before the "
              "stage llvm-ir");
  visit.field("summary", self.summary, "what the pass is for, in one line");
  visit.field("changed", self.changed, "whether the pass changed the module");
  visit.field("verdict", self.verdict,
              "equal: after the pass each result is the same function of "
              "weights and inputs as before it; different: one is not; "
              "unchanged: there was nothing to compare; not run: passes after "
              "a difference, and those that lower code, which is checked as a "
              "whole. Empty without a verification");
  visit.field("after", self.after, "the module after the pass");
  visit.field("remarks", self.remarks,
              "indices of the remarks that the pass made");
  visit.field("ir", self.ir,
              "the IR after the pass; null unless it was asked for and the "
              "pass changed the module");
}

template <typename Self, typename Visitor>
void ExampleCall::visitFields(Self &self, Visitor &visit) {
  visit.field("batch", self.batch, "sequences");
  visit.field("length", self.length, "new tokens of each sequence");
  visit.field(
      "past", self.past,
      "tokens of each sequence before the new ones, which are in the cache");
  visit.field("workers", self.workers, "threads");
}

template <typename Self, typename Visitor>
void ExplainedTensor::visitFields(Self &self, Visitor &visit) {
  visit.field("name", self.name, "name of the input or output");
  visit.field("dtype", self.dtype, "type of its elements");
  visit.field("shape", self.shape, "its sizes, each a polynomial");
}

template <typename Self, typename Visitor>
void ExplainedError::visitFields(Self &self, Visitor &visit) {
  visit.field("isa", self.isa, "instruction set whose code ran");
  visit.field("absolute", self.absolute,
              "largest |bits - float64| of the operation's results, where bits "
              "are what the machine code leaves and float64 is the phase "
              "evaluated from the same inputs; null if one of both is no "
              "number");
  visit.field("relative", self.relative,
              "the same as a part of the largest |float64| of the result");
  visit.field("numbers", self.numbers,
              "numbers that were compared, in all layers and calls");
  visit.field("call", self.call,
              "the call with the largest relative error, in words");
}

template <typename Self, typename Visitor>
void PhaseOperation::visitFields(Self &self, Visitor &visit) {
  // The operation and its origin.
  visit.field("name", self.name, "operation of the kern dialect");
  visit.field("detail", self.detail, "what it computes, in words");
  visit.field("place", self.place, "where in the model it comes from");
  visit.field("joined", self.joined,
              "of a product that computes several projections at once: their "
              "names, such as query, key, value; else empty");
  visit.field("split", self.split,
              "how threads share the work: rows (each thread computes rows of "
              "its own) or tiles (threads take parts of the result)");
  // Its cost, weights and padding.
  visit.field("flops", self.flops, "floating-point operations of one run");
  visit.field("bytes", self.bytes,
              "bytes of buffers that one run reads and writes");
  visit.field(
      "weights", self.weights,
      "weights that it reads; in a layer body those of the first layer");
  visit.field("weight_bytes", self.weightBytes,
              "bytes of the weights that one run reads whole");
  visit.field("columns", self.columns,
              "of a product or an attention: columns that the result has in "
              "all; else 0");
  visit.field(
      "padded_columns", self.paddedColumns,
      "columns that are computed for it, since panels and vectors are full");
  visit.field("widths", self.widths,
              "of a product the widths of its slices, of an attention that of "
              "a head: each of them fills tiles or vectors of its own");
  visit.field("errors", self.errors,
              "how far its results are from float64, for each instruction set "
              "that ran; empty without a verification");
}

template <typename Self, typename Visitor>
void ExplainedPhase::visitFields(Self &self, Visitor &visit) {
  visit.field("name", self.name,
              "name of the phase; the symbol of its code begins with "
              "transom.p.ISA.NAME");
  visit.field("place", self.place, "where in the model it comes from");
  visit.field("runs", self.runs,
              "runs in one call: the number of layers that share it");
  visit.field("flops", self.flops,
              "floating-point operations of one run, of all its operations");
  visit.field("bf16_flops", self.bf16Flops, "those of them that multiply bf16");
  visit.field("int8_flops", self.int8Flops,
              "those of them that multiply whole numbers");
  visit.field("bytes", self.bytes,
              "bytes of buffers and caches that one run reads and writes");
  visit.field("weight_bytes", self.weightBytes,
              "bytes of weights that one run reads whole");
  visit.field("schedule", self.schedule,
              "how attention divides its work; empty without attention");
  visit.field("operations", self.operations, "what it computes, in order");
}

template <typename Self, typename Visitor>
void ExplainedBuffer::visitFields(Self &self, Visitor &visit) {
  visit.field("location", self.location, "module path of what is in it");
  visit.field("offset", self.offset, "offset in the arena in bytes");
  visit.field("bytes", self.bytes, "size in bytes");
  visit.field("first", self.first,
              "index in memory_steps from which on it is used");
  visit.field("last", self.last,
              "index in memory_steps up to which it is used");
}

template <typename Self, typename Visitor>
void PaddedCall::visitFields(Self &self, Visitor &visit) {
  visit.field("lengths", self.lengths,
              "tokens of each sequence; the batch is padded to the longest");
  visit.field("flops", self.flops,
              "floating-point operations of the call; null if not known");
  visit.field("flops_alone", self.flopsAlone,
              "those of calls of each sequence alone: what the call takes more "
              "is for padding");
  visit.field("bytes", self.bytes,
              "bytes of weights and buffers that all runs of phases read and "
              "write");
  visit.field("arena_bytes", self.arenaBytes,
              "memory of the call besides weights and caches");
}

template <typename Self, typename Visitor>
void ExplainedEntry::visitFields(Self &self, Visitor &visit) {
  // The call.
  visit.field("name", self.name, "name of the function that applications call");
  visit.field("kind", self.kind,
              "what it computes: run, encode, step or source");
  visit.field("example", self.example,
              "sizes of the call for which values are given");
  visit.field("padded", self.padded,
              "a call of two sequences of different lengths; null where "
              "batches have no padding");
  visit.field("inputs", self.inputs, "what a call takes");
  visit.field("outputs", self.outputs, "what a call gives");
  // Its cost and parallelization.
  visit.field("flops", self.flops, "floating-point operations of a call");
  visit.field("bf16_flops", self.bf16Flops, "those of them that multiply bf16");
  visit.field("int8_flops", self.int8Flops,
              "those of them that multiply whole numbers");
  visit.field("layers", self.layers, "layers that run bodies which they share");
  visit.field("streamed_bytes", self.streamedBytes,
              "bytes of weights that a call reads whole, each once");
  visit.field("barriers", self.barriers,
              "how often in one call all threads wait for each other");
  visit.field("min_barriers", self.minBarriers,
              "the same of one sequence with few tokens, whose heads the "
              "threads divide evenly");
  visit.field("phases", self.phases, "phases, each once");
  visit.field("order", self.order,
              "for each run of a phase in a call, its index in phases");
  // Its memory.
  visit.field("arena_bytes", self.arenaBytes,
              "memory of a call besides weights and caches");
  visit.field("arena_lower_bound", self.arenaLowerBound,
              "bytes that live at the fullest step: no plan takes less");
  visit.field("buffers", self.buffers, "planned buffers");
  visit.field("memory_steps", self.memorySteps,
              "steps in which lifetimes are counted: names of phases; empty "
              "where layers begin and end");
}

template <typename Self, typename Visitor>
void ExplainedKernel::visitFields(Self &self, Visitor &visit) {
  visit.field("isa", self.isa, "instruction set");
  visit.field("symbol", self.symbol,
              "symbol of the kernel with the most rows; those with fewer rows "
              "differ in the number only");
  visit.field("rows", self.rows,
              "rows of its register tile (MR); there is a kernel for each "
              "number up to it");
  visit.field("columns", self.columns, "columns of its register tile (NR)");
  visit.field(
      "phases", self.phases,
      "phases that call it, themselves or through code that they share");
}

template <typename Self, typename Visitor>
void LoweredCode::visitFields(Self &self, Visitor &visit) {
  visit.field("isa", self.isa, "instruction set");
  visit.field("text", self.text,
              "the module in the LLVM dialect, without locations and remarks");
}

template <typename Self, typename Visitor>
void ExplainedWeight::visitFields(Self &self, Visitor &visit) {
  visit.field("name", self.name, "name of the weight");
  visit.field("layout", self.layout,
              "how it is stored: rows, or panels of 32 columns");
  visit.field("dtype", self.dtype, "type of its elements");
  visit.field("shape", self.shape, "its sizes");
  visit.field("offset", self.offset, "offset in the packed weights in bytes");
  visit.field("bytes", self.bytes, "bytes with padding");
}

template <typename Self, typename Visitor>
void ExplainedModel::visitFields(Self &self, Visitor &visit) {
  visit.field("name", self.name, "name of the model");
  visit.field("family", self.family, "model_type, or graph");
  visit.field("architecture", self.architecture,
              "class of the model as its config names it");
  visit.field(
      "head", self.head,
      "what the model computes after its last layer; none for a bare model");
  visit.field("file", self.file, "config.json, or the name of the graph");
  visit.field("parameters", self.parameters,
              "numbers in the tensors that it uses");
  visit.field("has_weights", self.hasWeights,
              "false if a config.json alone was explained");
}

template <typename Self, typename Visitor>
void DisabledPass::visitFields(Self &self, Visitor &visit) {
  visit.field("pass", self.pass, "flag of the pass");
  visit.field("summary", self.summary, "what the pass is for, in one line");
}

template <typename Self, typename Visitor>
void ExplainedCompile::visitFields(Self &self, Visitor &visit) {
  visit.field("transom", self.transom, "version of the compiler");
  visit.field("dtype", self.dtype, "type of weights and of what products read");
  visit.field("kv_dtype", self.kvDtype,
              "type of cached keys and values; empty if the model has none");
  visit.field("backend", self.backend,
              "what computes products, softmax and norms");
  visit.field("isas", self.isas, "instruction sets that code is made for");
  visit.field("options", self.options, "options that change the result");
  visit.field("disabled_passes", self.disabledPasses,
              "passes that were left out");
}

template <typename Self, typename Visitor>
void ExplainedDifference::visitFields(Self &self, Visitor &visit) {
  visit.field("pass", self.pass, "flag of the pass");
  visit.field("message", self.message, "what differs, in one line");
  visit.field("location", self.location,
              "module path of the first operation that computes a number which "
              "nothing computed before; empty without one");
  visit.field("operation", self.operation, "name of that operation");
  visit.field("before", self.before,
              "operations of this place before the pass, as lines of IR");
  visit.field("after", self.after, "that operation as a line of IR");
  visit.field("replay", self.replay, "a command that runs the pass again");
}

template <typename Self, typename Visitor>
void VerifiedCode::visitFields(Self &self, Visitor &visit) {
  visit.field("isa", self.isa, "instruction set whose code ran");
  visit.field("entry", self.entry, "name of the entry");
  visit.field("calls", self.calls, "calls that ran");
  visit.field("dispatches", self.dispatches, "runs of phases in them");
  visit.field("numbers", self.numbers, "numbers whose bits were compared");
  visit.field("differences", self.differences,
              "runs of phases that leave other bits than the kern module");
}

template <typename Self, typename Visitor>
void ExplainedVerification::visitFields(Self &self, Visitor &visit) {
  visit.field("verdict", self.verdict,
              "of all passes together: equal or different");
  visit.field("message", self.message,
              "the verdict as a sentence, with the chance of a miss");
  visit.field("calls", self.calls, "calls that ran after each pass");
  visit.field("end_calls", self.endCalls,
              "calls that ran after all passes, and compare with the imported "
              "model");
  visit.field("difference", self.difference,
              "the first difference; null without one");
  visit.field("code", self.code,
              "machine code compared with the kern module, bit by bit");
  visit.field("code_difference", self.codeDifference,
              "the first difference of machine code; empty without one");
  visit.field("not_run", self.notRun,
              "what was not checked here, and why, as sentences");
}

template <typename Self, typename Visitor>
void ExplainedFailure::visitFields(Self &self, Visitor &visit) {
  visit.field("pass", self.pass,
              "flag of the pass that failed; empty if none did");
  visit.field("isa", self.isa,
              "instruction set that the code was lowered for; empty before the "
              "stage llvm-ir");
  visit.field("status", self.status, "exit code of the tool");
  visit.field("message", self.message, "the error in one line");
  visit.field("notes", self.notes, "more about it");
}

template <typename Self, typename Visitor>
void Explanation::visitFields(Self &self, Visitor &visit) {
  visit.field("format", self.format, "version of this form");
  visit.field("model", self.model, "the model");
  visit.field("compile", self.compile, "how it was compiled");
  visit.field("imported", self.imported, "the module before the first pass");
  visit.field("imported_ir", self.importedIr,
              "the IR of that module; null unless it was asked for");
  visit.field("passes", self.passes, "runs of passes, in order");
  visit.field("remarks", self.remarks,
              "what passes did, did not do and found, in order");
  visit.field("entries", self.entries, "the functions that applications call");
  visit.field("kernels", self.kernels, "micro-kernels");
  visit.field("code", self.code,
              "what the last pass left of each instruction set; empty unless "
              "the IR was asked for");
  visit.field("weights", self.weights, "packed weights");
  visit.field("weight_bytes", self.weightBytes, "bytes of all packed weights");
  visit.field("notes", self.notes, "what the importer wants users to know");
  visit.field("failure", self.failure,
              "why the compile did not come to its end; null if it did. What "
              "would have followed is missing then");
  visit.field("verification", self.verification,
              "what checks of the passes and of the machine code found; null "
              "unless they were asked for");
}

} // namespace transom
