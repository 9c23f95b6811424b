// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses numbers and ranges, separated by commas.
#include "tools/commands/NumberList.h"
#include <set>

using namespace transom;
using namespace transom::tools;

/// Splits a list at commas; an empty list has no items.
static std::vector<std::string> splitItems(const std::string &list) {
  std::vector<std::string> items;
  for (size_t begin = 0; !list.empty() && begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

/// Returns true for a decimal number below 1,000,000.
static bool isNumber(const std::string &text) {
  return !text.empty() && text.size() <= 6 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

Result<std::vector<int64_t>> tools::parseNumberList(const std::string &flag,
                                                    const std::string &list) {
  std::set<int64_t> numbers;
  for (const std::string &item : splitItems(list)) {
    const size_t dash = item.find('-');
    const std::string low = item.substr(0, dash),
                      high = dash == std::string::npos ? low
                                                       : item.substr(dash + 1);
    if (!isNumber(low) || !isNumber(high) || std::stol(low) > std::stol(high))
      return usageError("'" + flag + "': '" + item +
                        "' is not a number or a range; supported: numbers "
                        "below 1000000 and ranges, as in '0,2-5'");
    for (int64_t i = std::stol(low); i <= std::stol(high); ++i)
      numbers.insert(i);
  }
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

Result<std::vector<int64_t>> tools::parseLayerList(const std::string &flag,
                                                   const std::string &list) {
  std::vector<int64_t> layers;
  for (const std::string &item : splitItems(list)) {
    if (!isNumber(item.substr(item.rfind('-', 0) == 0)))
      return usageError("'" + flag + "': '" + item +
                        "' is not a number; supported: numbers of layers, "
                        "from the end on below 0, as in '0,4,-1'");
    layers.push_back(std::stol(item));
  }
  return layers;
}
