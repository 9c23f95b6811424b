// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares buffers by written elements, caches by appended rows, and all other
// bytes in arena, arguments, blocks and counters.
#include "compiler/verify/CompareMemory.h"
#include "dialects/common/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;

namespace transom {

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

CodeDifference MemoryComparison::begin(Operation *op,
                                       std::string buffer) const {
  CodeDifference difference;
  kern::PhaseOp phase = site.phase;
  difference.isa = dispatch.isa;
  difference.entry = dispatch.entry;
  difference.call = dispatch.call;
  difference.phase = phase.getName().str();
  difference.layer = site.layerIndex;
  if (!op)
    op = phase;
  difference.operation = op->getName().getStringRef().str();
  difference.location = getModulePath(op->getLoc());
  difference.buffer = std::move(buffer);
  return difference;
}

/// `0x3f800000 (1)`.
static std::string describe(Type element, const char *bytes) {
  const unsigned width = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  std::string text;
  llvm::raw_string_ostream out(text);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, width);
  out << llvm::format_hex(bits, 2 + 2 * width) << " ("
      << llvm::format("%.9g", decodeElement(element, bytes).real()) << ")";
  return out.str();
}

std::string MemoryComparison::getName(const PhaseBuffer &buffer) const {
  if (buffer.slot >= 0) {
    const std::string &what = entry.buffers[buffer.slot].what;
    return "buffer " + std::to_string(buffer.slot) +
           (what.empty() ? "" : " (" + what + ")");
  }
  const auto argument = static_cast<size_t>(buffer.argument);
  if (argument < entry.inputs.size())
    return "input '" + entry.inputs[argument].name + "'";
  return "result '" + entry.outputs[argument - entry.inputs.size()].name + "'";
}

const char *MemoryComparison::getAfter(const PhaseBuffer &buffer) const {
  if (buffer.slot >= 0)
    return dispatch.frame->arena + buffer.offset;
  return static_cast<const char *>(dispatch.frame->args[buffer.argument]);
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static bool isNan(Type element, const char *bytes) {
  return isa<FloatType>(element) &&
         std::isnan(decodeElement(element, bytes).real());
}

/// True for equal bits; all NaN bit patterns are equal.
static bool isEqual(Type element, const char *a, const char *b, size_t width) {
  return std::memcmp(a, b, width) == 0 ||
         (isNan(element, a) && isNan(element, b));
}

void MemoryComparison::compareBuffer(const PhaseBuffer &buffer,
                                     CodeDifference &difference) const {
  const char *after = getAfter(buffer);
  const Type element = buffer.type.getElementType();
  for (size_t i = 0; i != buffer.written.size(); ++i) {
    if (!buffer.written[i])
      continue;
    char expected[8] = {};
    encodeElement(element, buffer.values[i], expected);
    const char *found = after + int64_t(i) * buffer.width;
    ++difference.numbers;
    if (isEqual(element, expected, found, size_t(buffer.width)) ||
        difference.count++)
      continue;
    auto [row, column] = buffer.getIndex(int64_t(i));
    difference.index =
        "[" + std::to_string(row) + ", " + std::to_string(column) + "]";
    difference.expected = describe(element, expected);
    difference.found = describe(element, found);
  }
}

kern::AppendOp MemoryComparison::findAppend(StringRef cache) const {
  kern::PhaseOp phase = site.phase;
  for (auto op : phase.getBody().getOps<kern::AppendOp>())
    if (getCacheSymbol(site, op.getCache()) == cache)
      return op;
  return {};
}

CachePlace
MemoryComparison::findPlace(const KernEvaluation::Appended &row) const {
  kern::AppendOp append = findAppend(row.cache);
  const int64_t table =
      cast<kern::RaggedType>(append.getRagged().getType()).getIndex();
  return state.findPlace(symbols.lookup<kern::CacheOp>(row.cache), table,
                         row.sequence, row.position);
}

void MemoryComparison::compareAppended(
    const PhaseResult &result, int64_t &numbers,
    std::vector<CodeDifference> &found) const {
  CodeDifference *difference = nullptr;
  for (const KernEvaluation::Appended &row : result.appended) {
    // The expected bytes.
    kern::AppendOp append = findAppend(row.cache);
    kern::CacheType type = append.getCache().getType();
    const CachePlace place = findPlace(row);
    CacheBytes bytes(type, place.position);
    std::string expected(static_cast<size_t>(type.getByteSize()), 0);
    bytes.encode({row.key, row.value}, expected.data());
    // The first difference is described, the others are counted.
    bytes.forEachPart([&](int64_t offset, int64_t width) {
      ++numbers;
      if (std::memcmp(expected.data() + offset, place.layer + offset,
                      size_t(width)) == 0)
        return;
      if (!difference) {
        found.push_back(begin(append, "cache '" + row.cache + "'"));
        difference = &found.back();
        difference->index = "sequence " + std::to_string(row.sequence) +
                            ", position " + std::to_string(row.position) +
                            ", byte " + std::to_string(offset);
        auto getBits = [&](const char *at) {
          return "0x" + llvm::toHex(llvm::StringRef(at + offset, width), true);
        };
        difference->expected = getBits(expected.data());
        difference->found = getBits(place.layer);
      }
      ++difference->count;
    });
  }
  if (difference)
    difference->numbers = numbers;
}

void MemoryComparison::compareSizes(const PhaseResult &result, int64_t &numbers,
                                    std::vector<CodeDifference> &found) const {
  for (size_t i = 0; i != entry.symbolOrder.size(); ++i) {
    const std::string &name = entry.symbolOrder[i];
    auto written = result.sizes.find(name);
    const int64_t expected =
        written == result.sizes.end() ? before.symbols[i] : written->second;
    numbers += written != result.sizes.end();
    if (dispatch.frame->symbols[i] == expected)
      continue;
    found.push_back(begin(nullptr, "size '" + name + "'"));
    found.back().expected = std::to_string(expected);
    found.back().found = std::to_string(dispatch.frame->symbols[i]);
    found.back().count = found.back().numbers = 1;
  }
}

std::vector<CodeDifference>
MemoryComparison::compareBits(const PhaseResult &result,
                              int64_t &numbers) const {
  std::vector<CodeDifference> found;
  for (const PhaseBuffer &buffer : result.buffers) {
    if (buffer.values.empty() || !buffer.before.data)
      continue;
    CodeDifference difference = begin(buffer.writer, getName(buffer));
    compareBuffer(buffer, difference);
    numbers += difference.numbers;
    if (difference.count)
      found.push_back(std::move(difference));
  }
  compareAppended(result, numbers, found);
  compareSizes(result, numbers, found);
  return found;
}

//===----------------------------------------------------------------------===//
// Bytes that stay
//===----------------------------------------------------------------------===//

void MemoryComparison::findStrays(const char *from, const char *to,
                                  std::vector<bool> &allowed,
                                  const std::string &name,
                                  std::vector<CodeDifference> &found) const {
  CodeDifference difference = begin(nullptr, name);
  constexpr size_t step = 256;
  for (size_t at = 0; at < allowed.size(); at += step) {
    const size_t end = std::min(allowed.size(), at + step);
    if (std::memcmp(from + at, to + at, end - at) == 0)
      continue;
    for (size_t i = at; i < end; ++i) {
      if (allowed[i] || from[i] == to[i] || difference.count++)
        continue;
      auto getBits = [](const char *byte) {
        return "0x" + llvm::toHex(llvm::StringRef(byte, 1), true);
      };
      difference.index =
          "byte " + std::to_string(i) + ", which the phase does not write";
      difference.expected = getBits(from + i);
      difference.found = getBits(to + i);
    }
  }
  difference.numbers = static_cast<int64_t>(allowed.size());
  if (difference.count)
    found.push_back(std::move(difference));
}

/// Marks the bytes in a buffer that a phase may change; `offset` is the first.
/// Key panels are marked as a whole: positions without a key are undefined.
static void allow(const PhaseBuffer &buffer, int64_t offset,
                  std::vector<bool> &allowed) {
  if (!buffer.before.data)
    return; // in separate memory, or omitted
  auto mark = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      allowed[size_t(offset + i)] = true;
  };
  if (buffer.isScratch ||
      (buffer.type.getKeyPanels() && !buffer.values.empty()))
    return mark(0, buffer.before.size);
  for (size_t i = 0; i != buffer.written.size(); ++i)
    if (buffer.written[i])
      mark(int64_t(i) * buffer.width, int64_t(i + 1) * buffer.width);
}

void MemoryComparison::checkCounters(std::vector<CodeDifference> &found) const {
  for (int64_t i = 0; i < entry.counters; ++i)
    if (dispatch.frame->counters[i] != 0) {
      found.push_back(begin(nullptr, "counters"));
      found.back().index = "[" + std::to_string(i) + "]";
      found.back().expected = "0";
      found.back().found = std::to_string(dispatch.frame->counters[i]);
      found.back().count = found.back().numbers = 1;
      return;
    }
}

std::vector<CodeDifference>
MemoryComparison::findStrays(const PhaseResult &result) const {
  std::vector<CodeDifference> found;
  std::vector<bool> arena(before.arena.size());
  std::vector<std::vector<bool>> arguments;
  for (const std::string &argument : before.arguments)
    arguments.emplace_back(argument.size());
  for (const PhaseBuffer &buffer : result.buffers)
    if (buffer.slot >= 0)
      allow(buffer, buffer.offset, arena);
    else
      allow(buffer, 0, arguments[size_t(buffer.argument)]);
  findStrays(before.arena.data(), dispatch.frame->arena, arena, "arena", found);
  for (size_t i = 0; i != arguments.size(); ++i)
    if (!before.isLeftOut[i]) {
      PhaseBuffer named;
      named.argument = static_cast<int64_t>(i);
      findStrays(before.arguments[i].data(),
                 static_cast<const char *>(dispatch.frame->args[i]),
                 arguments[i], getName(named), found);
    }

  // Blocks change at appended rows.
  std::vector<bool> blocks(before.blocks.size());
  for (const KernEvaluation::Appended &row : result.appended) {
    const CachePlace place = findPlace(row);
    kern::CacheType type = findAppend(row.cache).getCache().getType();
    CacheBytes(type, place.position)
        .forEachPart([&](int64_t offset, int64_t width) {
          for (int64_t i = 0; i < width; ++i)
            blocks[size_t(place.layer - dispatch.blocks + offset + i)] = true;
        });
  }
  if (dispatch.blocks)
    findStrays(before.blocks.data(), dispatch.blocks, blocks, "KV blocks",
               found);
  checkCounters(found);
  return found;
}

//===----------------------------------------------------------------------===//
// Accuracy
//===----------------------------------------------------------------------===//

static void measure(double machine, double exact, MeasuredError &error) {
  ++error.numbers;
  if (std::isnan(machine) && std::isnan(exact))
    return;
  const double distance = machine == exact ? 0 : std::fabs(machine - exact);
  // A NaN on only one side has infinite distance.
  error.absolute =
      std::max(error.absolute, std::isnan(distance) ? HUGE_VAL : distance);
  if (std::isfinite(exact))
    error.largest = std::max(error.largest, std::fabs(exact));
}

std::vector<MeasuredError>
MemoryComparison::measure(const PhaseResult &result) const {
  std::vector<MeasuredError> errors;
  // Buffers, by their written elements.
  for (const PhaseBuffer &buffer : result.buffers) {
    const Type element = buffer.type.getElementType();
    if (buffer.values.empty() || !buffer.before.data)
      continue;
    MeasuredError error{getName(buffer), buffer.writer,
                        !isa<FloatType>(element)};
    for (size_t i = 0; i != buffer.written.size(); ++i)
      if (buffer.written[i])
        transom::measure(
            decodeElement(element, getAfter(buffer) + int64_t(i) * buffer.width)
                .real(),
            buffer.values[i].real(), error);
    errors.push_back(std::move(error));
  }
  // Appended rows, with one error per append operation.
  for (const KernEvaluation::Appended &row : result.appended) {
    const CachePlace place = findPlace(row);
    kern::AppendOp append = findAppend(row.cache);
    kern::CacheType type = append.getCache().getType();
    if (errors.empty() || errors.back().writer != append)
      errors.push_back({"cache '" + row.cache + "'", append});
    CachedPosition found = CacheBytes(type, place.position).decode(place.layer);
    found.applyScales();
    for (auto [machine, exact] :
         {std::pair(&found.key, &row.key), std::pair(&found.value, &row.value)})
      for (size_t i = 0; i != exact->elements.size(); ++i)
        transom::measure(machine->elements[i].real(), exact->elements[i].real(),
                         errors.back());
  }
  return errors;
}

/// Max error for f32 library results, relative to the largest element.
static constexpr double maxLibraryError = 1e-3;

std::vector<CodeDifference> MemoryComparison::findLargeErrors(
    const std::vector<MeasuredError> &errors) const {
  kern::PhaseOp phase = site.phase;
  std::vector<CodeDifference> found;
  for (const MeasuredError &error : errors) {
    if (error.absolute <= maxLibraryError * error.largest)
      continue;
    CodeDifference difference = begin(phase.getCall(), error.buffer);
    difference.index = "the largest error";
    difference.expected =
        "at most " +
        llvm::formatv("{0:e}", maxLibraryError * error.largest).str();
    difference.found = llvm::formatv("{0:e}", error.absolute).str();
    difference.count = 1;
    difference.numbers = error.numbers;
    found.push_back(std::move(difference));
  }
  return found;
}

} // namespace transom
