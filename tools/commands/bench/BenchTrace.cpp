// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes an event for each dispatch and worker. Equal layers share a phase, so
// the run index identifies the layer.
#include "tools/commands/bench/BenchTrace.h"
#include "runtime/base/CodeSymbols.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <charconv>

using namespace transom;
using namespace transom::tools;

/// Parses `0-2,5`; empty for other strings or more than `most` numbers.
static std::vector<int64_t> parseRange(std::string_view text, size_t most) {
  std::vector<int64_t> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    int64_t first = 0;
    auto parsed = std::from_chars(at, end, first);
    int64_t last = first;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-')
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc() || last < first ||
        static_cast<uint64_t>(last - first) >= most - numbers.size())
      return {};
    for (int64_t number = first; number <= last; ++number)
      numbers.push_back(number);
    at = parsed.ptr;
    if (at != end && *at++ != ',')
      return {};
  }
  return numbers;
}

RunLocation tools::getRunLocation(const std::string &location, size_t run,
                                  size_t numRuns) {
  for (size_t begin = location.find('{'); begin != std::string::npos;
       begin = location.find('{', begin + 1)) {
    const size_t end = location.find('}', begin);
    if (end == std::string::npos)
      break;
    const std::vector<int64_t> layers = parseRange(
        std::string_view(location).substr(begin + 1, end - begin - 1), numRuns);
    if (numRuns > 1 && layers.size() == numRuns && run < numRuns)
      return {location.substr(0, begin) + std::to_string(layers[run]) +
                  location.substr(end + 1),
              layers[run]};
  }
  return {location};
}

/// Returns the last component in a phase name, its main operation's kind.
static std::string getOperation(const std::string &phase) {
  return phase.substr(phase.rfind('.') + 1);
}

/// Returns the micro-kernels that a phase uses for an instruction set.
static std::vector<std::string> getKernels(const ManifestDispatch &dispatch,
                                           const std::string &isa) {
  const std::string prefix = std::string(kernelSymbolPrefix) + isa + ".";
  std::vector<std::string> kernels;
  for (const std::string &kernel : dispatch.kernels)
    if (kernel.compare(0, prefix.size(), prefix) == 0)
      kernels.push_back(kernel);
  return kernels;
}

static void writeThreadName(JsonWriter &json, size_t worker) {
  json.beginObject();
  json.member("name", "thread_name");
  json.member("ph", "M");
  json.member("pid", int64_t(1));
  json.member("tid", static_cast<int64_t>(worker));
  json.key("args");
  json.beginObject();
  json.member("name", "worker " + std::to_string(worker));
  json.endObject();
  json.endObject();
}

namespace {

/// Writes the events in a call.
class TraceWriter {
public:
  TraceWriter(JsonWriter &json, const BenchModel &bench,
              const SymbolValues &symbols)
      : json(json), bench(bench), entry(*bench.entry), symbols(symbols) {}

  /// Writes one worker's event for dispatch `number` in the call.
  void write(size_t number, size_t worker, double start, double duration);

private:
  void writeArguments(size_t number, const ManifestDispatch &dispatch,
                      const RunLocation &where);
  /// Returns the location for dispatch `number`.
  RunLocation locate(size_t number, const ManifestDispatch &dispatch) const {
    const auto &order = entry.dispatchOrder;
    const auto run =
        std::count(order.begin(), order.begin() + static_cast<int64_t>(number),
                   order[number]);
    return getRunLocation(dispatch.location, static_cast<size_t>(run),
                          static_cast<size_t>(dispatch.rows));
  }

  JsonWriter &json;
  const BenchModel &bench;
  const ManifestEntry &entry;
  const SymbolValues &symbols;
};

} // namespace

void TraceWriter::writeArguments(size_t number,
                                 const ManifestDispatch &dispatch,
                                 const RunLocation &where) {
  json.member("dispatch", static_cast<int64_t>(number));
  json.member("location", where.location);
  if (where.layer)
    json.member("layer", *where.layer);
  json.member("operation", getOperation(dispatch.phase));
  json.member("function",
              getPhaseSymbol(bench.isa, dispatch.phase, dispatch.location));
  if (!dispatch.pointer.empty()) {
    json.member("file", dispatch.file);
    json.member("pointer", dispatch.pointer);
  }
  json.key("kernels");
  json.array(getKernels(dispatch, bench.isa));
  json.member("flops", getValue(dispatch.flops, symbols));
  json.member("bytes", getValue(dispatch.bytes, symbols) +
                           static_cast<double>(dispatch.weightBytes));
}

void TraceWriter::write(size_t number, size_t worker, double start,
                        double duration) {
  const ManifestDispatch *dispatch = nullptr;
  if (number < entry.dispatchOrder.size())
    dispatch =
        &entry.dispatches[static_cast<size_t>(entry.dispatchOrder[number])];
  const RunLocation where =
      dispatch ? locate(number, *dispatch) : RunLocation();
  json.beginObject();
  json.member("name", dispatch ? where.location : std::to_string(number));
  json.member("cat", dispatch ? dispatch->phase : "dispatch");
  json.member("ph", "X");
  json.member("pid", int64_t(1));
  json.member("tid", static_cast<int64_t>(worker));
  json.member("ts", start);
  json.member("dur", duration);
  json.key("args");
  json.beginObject();
  if (dispatch)
    writeArguments(number, *dispatch, where);
  json.endObject();
  json.endObject();
}

std::string tools::getTrace(const BenchRow &row, const BenchModel &bench,
                            const std::vector<BenchRun> &runs) {
  const std::vector<transom_worker_time> &times = row.dispatchTimes.workerTimes;
  const size_t workers = row.dispatchTimes.numWorkers;
  // Trace times are relative to the first begin.
  int64_t origin = times.empty() ? 0 : times.front().begin;
  for (const transom_worker_time &time : times)
    origin = std::min(origin, time.begin);
  std::string text;
  JsonWriter json(text, 0);
  json.beginObject();
  json.member("displayTimeUnit", "ms");
  json.key("traceEvents");
  json.beginArray();
  for (size_t worker = 0; worker < workers; ++worker)
    writeThreadName(json, worker);
  const SymbolValues symbols =
      runs.empty() ? SymbolValues() : runs.back().symbols;
  TraceWriter writer(json, bench, symbols);
  for (size_t i = 0; i < times.size(); ++i)
    writer.write(i / workers, i % workers,
                 static_cast<double>(times[i].begin - origin) * 1e-3,
                 static_cast<double>(times[i].end - times[i].begin) * 1e-3);
  json.endArray();
  json.endObject();
  return text + "\n";
}
