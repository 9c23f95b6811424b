// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selected GEMM columns have the same bits as the whole GEMM, in each format
// and on each instruction set, whatever columns the previous calls selected.
#include "runtime/abi/Layout.h"
#include "runtime/base/OperandFormat.h"
#include "test/passes/lower/PhaseText.h"
#include "test/support/KernelHarness.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

struct ListedProduct {
  std::string name;
  OperandFormat format;
  int64_t k, n;
  bool bias = false, floatRows = false;

  /// Quantized rows have scales.
  bool hasScales() const { return format.isGrouped() && !floatRows; }
  std::string getElement() const {
    return hasScales()                           ? "i8"
           : format.element == StorageType::BF16 ? "bf16"
                                                 : "f32";
  }
  int64_t getElementBytes() const {
    return hasScales() ? 1 : format.element == StorageType::BF16 ? 2 : 4;
  }
  /// Bytes in a column panel, which the kern.gemm verifier checks.
  int64_t getPanelBytes() const {
    return (format.getPanelBytes(k) + 63) / 64 * 64 + (bias ? 128 : 0) + 256;
  }
  int64_t getNumPanels() const { return (n + panelWidth - 1) / panelWidth; }

  std::string getFunction(const std::string &function, bool isListed) const {
    auto str = [](int64_t number) { return std::to_string(number); };
    const std::string input = bufferType("rows, " + str(k), getElement()),
                      scales = bufferType("rows, " +
                                          str(2 * format.getNumGroups(k))),
                      weight = getWeightType(),
                      vector = "!kern.weight<[" + str(n) + "] x f32, padded32>",
                      out = bufferType("rows, " + (isListed ? "n" : str(n))),
                      columns = bufferType("n", "i64"),
                      panels = bufferType(str(getNumPanels()) + ", " +
                                              str(getPanelBytes()),
                                          "i8");
    std::string values = weightValue("w", "w", weight), args = "%x: " + input,
                op = "kern.gemm %x, %w", types = input + ", " + weight;
    // Optional operands extend arguments, operation and types alike.
    if (hasScales()) {
      args += ", %s: " + scales;
      op += " scales %s";
      types += ", " + scales;
    }
    if (bias) {
      values += weightValue("b", "b", vector);
      op += " bias %b";
      types += ", " + vector;
    }
    args += ", %y: " + out;
    op += " outs(%y)";
    types += ", " + out;
    if (isListed) {
      args += ", %i: " + columns + ", %p: " + panels;
      op += " columns(%i) panels(%p)";
      types += ", " + columns + ", " + panels;
    }
    return phaseFunction({function, args, values, op + " : " + types});
  }
  std::string getWeightType() const {
    return "!kern.weight<[" + std::to_string(n) + ", " + std::to_string(k) +
           "] x #kern.format<" + format.str() + ">, panels32>";
  }
  std::string getText() const {
    return weightDefinition("w", getWeightType()) +
           (bias ? weightDefinition("b", "!kern.weight<[" + std::to_string(n) +
                                             "] x f32, padded32>")
                 : "") +
           getFunction("whole", false) + getFunction("listed", true);
  }
};

/// One GEMM with memory for its panels.
class Products {
public:
  explicit Products(const ListedProduct &p)
      : p(p), harness(p.getText()), random(7) {
    const PanelCodec &codec = *findPanelCodec(p.format);
    char *to = reinterpret_cast<char *>(harness.weight("w"));
    std::memset(to, 0, harness.weightBytes("w"));
    for (int64_t first = 0; first < p.n; first += panelWidth) {
      const int64_t count = std::min(panelWidth, p.n - first);
      codec.pack(random.numbers(count * p.k).data(), count, p.k, to);
      to += p.format.getPanelBytes(p.k);
    }
    if (!p.bias)
      return;
    const std::vector<float> bias = random.numbers(p.n);
    std::memset(harness.weight("b"), 0, harness.weightBytes("b"));
    std::memcpy(harness.weight("b"), bias.data(), bias.size() * 4);
  }

  void check(int64_t rows) {
    makeInput(rows);
    for (const std::string &isa : harness.isas()) {
      Guarded<float> whole(rows * p.n);
      harness.run(isa, "whole", getCall(rows, 0, 1, {whole.data()}));
      // The memory is zero before the first call.
      Guarded<int8_t> panels(
          std::vector<int8_t>(p.getNumPanels() * p.getPanelBytes()));
      std::vector<int64_t> columns;
      for (int64_t call = 0; call < 6; ++call) {
        list(columns);
        const auto count = static_cast<int64_t>(columns.size());
        Guarded<int64_t> listed(columns);
        Guarded<float> y(rows * count);
        harness.run(isa, "listed",
                    getCall(rows, count, 1 + call % 3,
                            {y.data(), listed.data(), panels.data()}),
                    call % 2);
        for (int64_t i = 0; i < rows * count; ++i) {
          const float expected = whole[i / count * p.n + columns[i % count]];
          ASSERT_EQ(std::memcmp(&y[i], &expected, 4), 0)
              << p.name << " " << isa << ", call " << call << ", row "
              << i / count << ", column " << columns[i % count] << " of "
              << count << ": " << y[i] << " and " << expected;
        }
      }
    }
  }

private:
  /// Another column count, with some columns from the last call.
  void list(std::vector<int64_t> &columns) {
    columns.resize(1 + random.below(p.n), -1);
    for (int64_t &column : columns)
      if (column < 0 || random.below(3) == 0)
        column = random.below(p.n);
  }

  void makeInput(int64_t rows) {
    input.assign(rows * p.k * p.getElementBytes(), 0);
    for (int64_t i = 0; i < rows * p.k; ++i) {
      char *at = input.data() + i * p.getElementBytes();
      const float x = random.numbers(1)[0];
      uint32_t bits;
      std::memcpy(&bits, &x, 4);
      if (p.hasScales())
        *at = static_cast<char>(random.below(255) - 127);
      else if (p.getElementBytes() == 2)
        std::memcpy(at, reinterpret_cast<const char *>(&bits) + 2, 2);
      else
        std::memcpy(at, &x, 4);
    }
    scales.clear();
    for (int64_t row = 0; p.hasScales() && row < rows; ++row)
      for (int64_t first = 0; first < p.k; first += p.format.group) {
        int64_t sum = 0;
        for (int64_t k = first; k < std::min(p.k, first + p.format.group); ++k)
          sum += static_cast<int8_t>(input[row * p.k + k]);
        scales.push_back(random.numbers(1)[0]);
        scales.push_back(static_cast<float>(sum));
      }
  }

  PhaseCall getCall(int64_t rows, int64_t count, int64_t numWorkers,
                    const std::vector<void *> &results) {
    PhaseCall call{
        {{"rows", rows}, {"n", count}}, {input.data()}, {}, numWorkers};
    if (p.hasScales())
      call.args.push_back(scales.data());
    call.args.insert(call.args.end(), results.begin(), results.end());
    return call;
  }

  const ListedProduct &p;
  KernelHarness harness;
  Random random;
  std::vector<char> input;
  std::vector<float> scales;
};

void check(const ListedProduct &p) {
  Products products(p);
  for (int64_t rows : {1, 3, 17, 40})
    products.check(rows);
}

OperandFormat getQuantized(StorageType type, int64_t group) {
  return OperandFormat::getQuantized(type, group);
}

} // namespace

TEST(LowerGemmColumns, f32) {
  check({"f32", OperandFormat(StorageType::F32), 21, 150, true});
  check({"f32 without a bias", OperandFormat(StorageType::F32), 16, 70});
}

TEST(LowerGemmColumns, several_blocks_of_k) {
  check({"f32 of long k", OperandFormat(StorageType::F32), 4500, 40, true});
}

TEST(LowerGemmColumns, bf16) {
  check({"bf16", OperandFormat(StorageType::BF16), 64, 150, true});
  check({"bf16 of odd k", OperandFormat(StorageType::BF16), 33, 70});
}

TEST(LowerGemmColumns, whole_numbers) {
  check({"i8", getQuantized(StorageType::I8, 64), 192, 150, true});
  check({"i8 with a short group", getQuantized(StorageType::I8, 128), 160, 70});
  check({"i8 with scales of f16",
         getQuantized(StorageType::I8, 32).withScales(StorageType::F16), 96, 90,
         true});
  check({"i4", getQuantized(StorageType::I4, 32), 96, 150, true});
  check({"ui4", getQuantized(StorageType::U4, 32), 64, 70});
}

TEST(LowerGemmColumns, whole_numbers_that_become_f32) {
  check({"i8 of f32", getQuantized(StorageType::I8, 64), 192, 90, true, true});
  check({"ui4 of f32", getQuantized(StorageType::U4, 32), 64, 70, false, true});
}
