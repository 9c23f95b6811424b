// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats one list of named values as Markdown, CSV or JSON.
#include "tools/commands/bench/BenchReport.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <cmath>

using namespace transom;
using namespace transom::tools;

//===----------------------------------------------------------------------===//
// Profile
//===----------------------------------------------------------------------===//

std::vector<ProfileLine> tools::getProfile(const BenchRow &row,
                                           const BenchModel &bench,
                                           const std::vector<BenchRun> &runs,
                                           const MachineLimits &limits) {
  const ManifestEntry &entry = *bench.entry;
  // Sum up the dispatch times for each phase.
  std::vector<ProfileLine> lines(entry.dispatches.size());
  double inDispatches = 0;
  for (size_t i = 0; i < row.dispatchTimes.nanoseconds.size(); ++i) {
    const auto index =
        i < entry.dispatchOrder.size() ? size_t(entry.dispatchOrder[i]) : 0;
    if (index >= lines.size())
      continue;
    const double ms =
        static_cast<double>(row.dispatchTimes.nanoseconds[i]) * 1e-6;
    lines[index].ms += ms;
    ++lines[index].dispatches;
    inDispatches += ms;
  }

  // Relate them to the FLOP and bytes of the phases over all runs.
  for (size_t i = 0; i < lines.size(); ++i) {
    const ManifestDispatch &dispatch = entry.dispatches[i];
    ProfileLine &line = lines[i];
    double flops = 0, bf16 = 0, int8 = 0, bytes = 0;
    for (const BenchRun &run : runs) {
      flops += getValue(dispatch.flops, run.symbols);
      bf16 += getValue(dispatch.bf16Flops, run.symbols);
      int8 += getValue(dispatch.int8Flops, run.symbols);
      bytes += getValue(dispatch.bytes, run.symbols) +
               static_cast<double>(dispatch.weightBytes);
    }
    const double runs = static_cast<double>(dispatch.rows);
    const double seconds = std::max(line.ms * 1e-3, 1e-12);
    line.location = dispatch.location;
    line.phase = dispatch.phase;
    line.share = line.ms / row.times.min;
    line.gflops = flops * runs / seconds * 1e-9;
    line.gbps = bytes * runs / seconds * 1e-9;
    line.peak = limits.getSeconds(flops, bf16, int8) * runs / seconds;
  }

  // Sort, and append the time outside of dispatches.
  std::sort(lines.begin(), lines.end(),
            [](const auto &a, const auto &b) { return a.ms > b.ms; });
  ProfileLine rest;
  rest.location = "outside dispatches";
  rest.ms = std::max(0.0, row.times.min - inDispatches);
  rest.share = rest.ms / row.times.min;
  lines.push_back(rest);
  return lines;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
struct Cell {
  const char *name;
  double number = 0;
  std::string text; ///< replaces the number unless empty
};
using Cells = std::vector<Cell>;
} // namespace

static double rounded(double value) { return std::round(value * 1e4) / 1e4; }

static Cells getCells(const BenchRow &row) {
  // Add columns for every row, then for decoders and comparisons.
  const double seconds = row.times.min * 1e-3;
  const BenchCost &cost = row.cost;
  Cells cells = {{"entry", 0, row.entry},
                 {"batch", double(cost.rows), {}},
                 {"seq", double(cost.columns), {}},
                 {"tokens", double(cost.tokens), {}},
                 {"ms_min", rounded(row.times.min), {}},
                 {"ms_median", rounded(row.times.median), {}},
                 {"tokens_per_s", rounded(double(cost.tokens) / seconds), {}},
                 {"gflops", rounded(cost.flops / seconds * 1e-9), {}},
                 {"gbps", rounded(cost.bytes / seconds * 1e-9), {}},
                 {"limit_share", rounded(row.limitMs / row.times.min), {}},
                 {"ms_limit", rounded(row.limitMs), {}},
                 {"spread", rounded(row.times.spread), {}},
                 {"calls", double(row.calls), {}}};
  if (row.decoder)
    cells.insert(
        cells.end(),
        {{"depth", double(row.decoder->depth), {}},
         {"bytes_per_token", std::round(row.decoder->bytesPerToken), {}},
         {"barriers_per_token", rounded(row.decoder->barriersPerToken), {}}});
  if (row.other)
    cells.insert(cells.end(),
                 {{"other_ms_min", rounded(row.other->min), {}},
                  {"other_ms_median", rounded(row.other->median), {}},
                  {"ratio", rounded(row.ratio), {}},
                  {"ratio_low", rounded(row.ratioLow), {}},
                  {"ratio_high", rounded(row.ratioHigh), {}}});
  return cells;
}

static Cells getCells(const ProfileLine &line) {
  return {{"location", 0, line.location},
          {"phase", 0, line.phase.empty() ? "-" : line.phase},
          {"dispatches", double(line.dispatches), {}},
          {"ms", rounded(line.ms), {}},
          {"share", rounded(line.share), {}},
          {"gflops", rounded(line.gflops), {}},
          {"gbps", rounded(line.gbps), {}},
          {"peak_share", rounded(line.peak), {}}};
}

/// The host's limits, which only JSON contains.
static Cells getCells(const MachineLimits &limits) {
  return {{"limit_gflops", rounded(limits.flops * 1e-9), {}},
          {"limit_bf16_gflops", rounded(limits.bf16Flops * 1e-9), {}},
          {"limit_int8_gops", rounded(limits.int8Flops * 1e-9), {}},
          {"limit_gbps", rounded(limits.bandwidth * 1e-9), {}}};
}

static void writeCells(JsonWriter &json, const Cells &cells) {
  for (const Cell &cell : cells) {
    if (!cell.text.empty())
      json.member(cell.name, cell.text);
    else if (cell.number == std::floor(cell.number) &&
             std::abs(cell.number) < 1e15)
      json.member(cell.name, static_cast<int64_t>(cell.number));
    else
      json.member(cell.name, cell.number);
  }
}

std::string BenchTable::json() const {
  std::string text;
  JsonWriter json(text, 2);
  json.beginArray();
  for (size_t i = 0; i < rows.size(); ++i) {
    json.beginObject();
    writeCells(json, getCells(rows[i]));
    writeCells(json, getCells(rows[i].limits));
    if (!profiles[i].empty()) {
      json.key("profile");
      json.beginArray();
      for (const ProfileLine &line : profiles[i]) {
        json.beginObject();
        writeCells(json, getCells(line));
        json.endObject();
      }
      json.endArray();
    }
    json.endObject();
  }
  json.endArray();
  return text + "\n";
}

namespace {
/// Separators in a table format.
struct TableForm {
  const char *begin, *separator, *end;
  bool rule; ///< a line with dashes below the names
};
} // namespace

static constexpr TableForm markdownForm = {"| ", " | ", " |\n", true};
static constexpr TableForm csvForm = {"", ",", "\n", false};

/// Formats a cell. Names come from the model, so control characters are
/// escaped; a CSV cell is quoted if it contains a comma.
static std::string getText(const std::string &name, const TableForm &form) {
  const std::string text = utf8::printable(name, name.max_size());
  const bool quotes = !form.rule && text.find(',') != std::string::npos;
  return quotes ? '"' + text + '"' : text;
}

static void addTable(std::string &text, const std::vector<Cells> &lines,
                     const TableForm &form) {
  std::string header, rule = "|";
  for (const Cell &cell : lines.front()) {
    header +=
        (header.empty() ? form.begin : form.separator) + std::string(cell.name);
    rule += cell.text.empty() ? "---:|" : "---|";
  }
  text += header + form.end + (form.rule ? rule + "\n" : "");
  for (const Cells &cells : lines) {
    std::string line;
    for (const Cell &cell : cells) {
      char number[64];
      snprintf(number, sizeof number, "%.15g", cell.number);
      line += line.empty() ? form.begin : form.separator;
      line += cell.text.empty() ? number : getText(cell.text, form);
    }
    text += line + form.end;
  }
}

/// Formats the row table, then one table for each profile.
static std::string getTables(const BenchTable &table, const TableForm &form) {
  std::vector<Cells> lines;
  for (const BenchRow &row : table.rows)
    lines.push_back(getCells(row));
  std::string text;
  addTable(text, lines, form);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (table.profiles[i].empty())
      continue;
    lines.clear();
    for (const ProfileLine &line : table.profiles[i])
      lines.push_back(getCells(line));
    text += "\n";
    if (form.rule) {
      const BenchRow &row = table.rows[i];
      text += getText(row.entry, form) + " " + std::to_string(row.cost.rows) +
              "x" + std::to_string(row.cost.columns) + ", " +
              std::to_string(row.dispatchTimes.nanoseconds.size()) +
              " barriers a " + (row.decoder ? "step" : "call") + ":\n\n";
    }
    addTable(text, lines, form);
  }
  return text;
}

std::string BenchTable::markdown() const {
  return getTables(*this, markdownForm);
}
std::string BenchTable::csv() const { return getTables(*this, csvForm); }
