// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares bits, and formats the matrix as text and JSON.
#include "tools/commands/verify/BitsReport.h"
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include <algorithm>
#include <cinttypes>
#include <cstring>

using namespace transom;
using namespace transom::tools;

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Formats the bits of an element, and its value if it is a float.
static std::string getBitsText(transom_dtype dtype, const char *bytes) {
  char text[64];
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, transom_dtype_size(dtype));
  if (dtype == TRANSOM_DTYPE_F32) {
    float number;
    std::memcpy(&number, bytes, sizeof number);
    snprintf(text, sizeof text, "0x%08" PRIx64 " (%.9g)", bits, double(number));
  } else {
    snprintf(text, sizeof text, "0x%" PRIx64, bits);
  }
  return text;
}

static std::string getIndexText(const std::vector<int64_t> &index) {
  std::string text;
  for (int64_t i : index)
    text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "[" + text + "]";
}

/// Returns the index of the first different element; -1 without one.
static int64_t findNumber(const char *a, const char *b, int64_t count,
                          size_t size) {
  if (std::memcmp(a, b, size_t(count) * size) == 0)
    return -1;
  int64_t i = 0;
  while (std::memcmp(a + size_t(i) * size, b + size_t(i) * size, size) == 0)
    ++i;
  return i;
}

/// Returns the reason why two shapes do not match; empty if they do.
static std::string compareShapes(const BitsTensor &expected,
                                 const BitsTensor &found, int64_t row) {
  bool fits = expected.shape.size() == found.shape.size();
  for (size_t i = 0; fits && i != expected.shape.size(); ++i)
    fits = expected.shape[i] + (i == 0 ? row : 0) <= found.shape[i];
  return fits ? ""
              : "has the shape " + getIndexText(found.shape) + " in place of " +
                    getIndexText(expected.shape);
}

/// Finds the first element of `expected` that differs in the rows of `found`
/// from `row` on, or an element elsewhere in these rows that should be zero.
static std::optional<std::string> findBitsDifference(const BitsTensor &expected,
                                                     const BitsTensor &found,
                                                     int64_t row,
                                                     bool zeroElsewhere) {
  if (std::string why = compareShapes(expected, found, row); !why.empty())
    return why;
  const size_t size = transom_dtype_size(expected.dtype);
  const size_t rank = expected.shape.size();
  const int64_t ownColumns = rank ? expected.shape[rank - 1] : 1;
  const int64_t columns = rank ? found.shape[rank - 1] : 1;
  int64_t lines = 1, linesPerRow = 1;
  for (size_t d = 0; d + 1 < rank; ++d) {
    lines *= d == 0 ? expected.shape[0] : found.shape[d];
    linesPerRow *= d == 0 ? 1 : found.shape[d];
  }
  const std::string zeros(size_t(columns) * size, '\0');
  std::vector<int64_t> index(rank);
  auto describe = [&](int64_t column, const char *given, const char *right) {
    if (rank)
      index[rank - 1] = column;
    return "is " + getBitsText(expected.dtype, given + size_t(column) * size) +
           " in place of " + getBitsText(expected.dtype, right) + " at " +
           getIndexText(index);
  };
  for (int64_t line = 0; line != lines; ++line) {
    // Compute the line's index in `expected` if it is inside.
    int64_t rest = line, place = 0, stride = 1;
    bool inside = true;
    for (size_t d = rank > 0 ? rank - 1 : 0; d-- > 0;) {
      const int64_t dim = d == 0 ? expected.shape[0] : found.shape[d];
      index[d] = rest % dim;
      rest /= dim;
      inside = inside && index[d] < expected.shape[d];
      place += index[d] * stride;
      stride *= expected.shape[d];
    }
    const char *given = found.bytes.data() +
                        size_t((line + row * linesPerRow) * columns) * size;
    const char *right =
        expected.bytes.data() + size_t(place * ownColumns) * size;
    const int64_t own = inside ? ownColumns : 0;
    if (int64_t at = findNumber(given, right, own, size); at >= 0)
      return describe(at, given, right + size_t(at) * size);
    if (!zeroElsewhere)
      continue;
    if (int64_t at = findNumber(given + size_t(own) * size, zeros.data(),
                                columns - own, size);
        at >= 0)
      return describe(own + at, given, zeros.data()) + ", which is padding";
  }
  return std::nullopt;
}

void BitsCell::count(int64_t compared, std::optional<std::string> found) {
  ++comparisons;
  numbers += compared;
  if (!found)
    return;
  verdict = BitsVerdict::Different;
  if (differing++ == 0)
    difference = std::move(*found);
}

void BitsCell::compare(const Entry &of, const BitsResults &expected,
                       const BitsResults &found, int64_t row,
                       const std::string &how, bool zeroElsewhere) {
  for (size_t i = 0; i != expected.size(); ++i) {
    std::optional<std::string> at =
        findBitsDifference(expected[i], found[i], row, zeroElsewhere);
    if (at)
      *at = how + ": result '" + of.outputs[i].name + "' " + *at;
    count(int64_t(expected[i].bytes.size() /
                  transom_dtype_size(expected[i].dtype)),
          std::move(at));
  }
}

void BitsCell::compare(const float *expected, const float *found,
                       int64_t compared, const std::string &what,
                       const std::string &how) {
  std::optional<std::string> at;
  for (int64_t i = 0; i != compared && !at; ++i) {
    const char *right = reinterpret_cast<const char *>(expected + i);
    const char *given = reinterpret_cast<const char *>(found + i);
    if (std::memcmp(right, given, sizeof(float)) != 0)
      at = how + ": number " + std::to_string(i) + " of " + what + " is " +
           getBitsText(TRANSOM_DTYPE_F32, given) + " in place of " +
           getBitsText(TRANSOM_DTYPE_F32, right);
  }
  count(compared, std::move(at));
}

void BitsCell::compareBytes(std::string_view expected, std::string_view found,
                            const std::string &how) {
  std::optional<std::string> at;
  if (expected.size() != found.size()) {
    at = how + ": " + std::to_string(found.size()) + " bytes in place of " +
         std::to_string(expected.size());
  } else if (expected != found) {
    const auto place = size_t(
        std::mismatch(expected.begin(), expected.end(), found.begin()).first -
        expected.begin());
    at = how + ": byte " + std::to_string(place) + " of the file is " +
         std::to_string(uint8_t(found[place])) + " in place of " +
         std::to_string(uint8_t(expected[place]));
  }
  count(int64_t(expected.size()), std::move(at));
}

void BitsCell::setNotApplicable(std::string reason) {
  verdict = BitsVerdict::NotApplicable;
  text = std::move(reason);
}

void BitsCell::setNotRun(std::string reason) {
  verdict = BitsVerdict::NotRun;
  text = std::move(reason);
}

//===----------------------------------------------------------------------===//
// The matrix
//===----------------------------------------------------------------------===//

void BitsReport::add(std::vector<BitsCell> more, const std::string &entry,
                     const std::string &isa) {
  for (BitsCell &cell : more) {
    cell.entry = entry;
    cell.isa = isa;
    cells.push_back(std::move(cell));
  }
}

static const char *getVerdictName(BitsVerdict verdict) {
  switch (verdict) {
  case BitsVerdict::Equal:
    return "equal";
  case BitsVerdict::Different:
    return "different";
  case BitsVerdict::NotApplicable:
    return "not applicable";
  case BitsVerdict::NotRun:
    return "not run";
  }
  return "";
}

Result<void> BitsReport::check() const {
  for (const BitsCell &cell : cells)
    if (cell.verdict == BitsVerdict::Different && cell.isPromised)
      return Error{Status::CheckFailed,
                   path + ": other bits on the axis '" + cell.axis + "'" +
                       (cell.entry.empty() ? "" : " of '" + cell.entry + "'") +
                       (cell.isa.empty() ? "" : " on " + cell.isa) + ": " +
                       cell.difference,
                   {}};
  return {};
}

std::string BitsReport::toText() const {
  // The subject and its inputs.
  std::string text = "bits of " + path + ": " + name + ", " + dtype +
                     (backend == "native" ? "" : ", " + backend) +
                     "; random inputs of seed " + std::to_string(seed) +
                     ", sequences of";
  for (size_t i = 0; i != lengths.size(); ++i)
    text += (i == 0                    ? " "
             : i + 1 == lengths.size() ? " and "
                                       : ", ") +
            std::to_string(lengths[i]);
  text += " tokens, or as many as the model takes\n";
  // One line per cell, below a title for each entry and instruction set.
  std::string group;
  int64_t comparisons = 0, numbers = 0;
  for (const BitsCell &cell : cells) {
    comparisons += cell.comparisons;
    numbers += cell.numbers;
    const std::string of = cell.entry.empty()
                               ? "artifact"
                               : "entry '" + cell.entry + "' on " + cell.isa;
    if (of != group)
      text += "\n" + of + "\n";
    group = of;
    char line[96];
    const std::string verdict =
        std::string(getVerdictName(cell.verdict)) +
        (cell.verdict == BitsVerdict::Different && !cell.isPromised
             ? ", not promised"
             : "");
    snprintf(line, sizeof line, "  %-20s %9" PRId64 "  %-14s  ",
             cell.axis.c_str(), cell.comparisons, verdict.c_str());
    text += line + cell.text + "\n";
    if (cell.differing)
      text += "    " + std::to_string(cell.differing) + " of " +
              std::to_string(cell.comparisons) +
              " differ; first: " + cell.difference + "\n";
  }
  // The summary.
  const bool isSame = static_cast<bool>(check());
  text += "\n" + std::to_string(comparisons) + " comparisons of " +
          std::to_string(numbers) + " numbers: " +
          (isSame ? "the same bits wherever they are promised"
                  : "other bits where the same are promised") +
          "\n";
  return escapeLines(text);
}

std::string BitsReport::toJson() const {
  std::string text;
  JsonWriter json(text, 2);
  json.beginObject();
  // Subject and inputs.
  json.member("file", path);
  json.member("name", name);
  json.member("dtype", dtype);
  json.member("backend", backend);
  json.member("seed", seed);
  json.key("lengths");
  json.array(lengths);
  json.member("equal", static_cast<bool>(check()));
  // Cells.
  json.key("cells");
  json.beginArray();
  for (const BitsCell &cell : cells) {
    json.beginObject();
    json.member("axis", cell.axis);
    if (!cell.entry.empty())
      json.member("entry", cell.entry);
    if (!cell.isa.empty())
      json.member("isa", cell.isa);
    json.member("promised", cell.isPromised);
    json.member("verdict", getVerdictName(cell.verdict));
    json.member("text", cell.text);
    json.member("comparisons", cell.comparisons);
    json.member("numbers", cell.numbers);
    if (cell.differing) {
      json.member("differing", cell.differing);
      json.member("difference", cell.difference);
    }
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return text + "\n";
}
