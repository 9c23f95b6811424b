// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers and ranges, separated by commas.
#include "tools/commands/NumberList.h"
#include <set>

using namespace transom;
using namespace transom::tools;

Result<std::vector<int64_t>> tools::parseNumberList(const std::string &flag,
                                                    const std::string &list) {
  std::set<int64_t> numbers;
  if (list.empty())
    return std::vector<int64_t>();
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string item = list.substr(begin, end - begin);
    const size_t dash = item.find('-');
    const std::string low = item.substr(0, dash),
                      high = dash == std::string::npos ? low
                                                       : item.substr(dash + 1);
    auto isNumber = [](const std::string &text) {
      return !text.empty() && text.size() <= 6 &&
             text.find_first_not_of("0123456789") == std::string::npos;
    };
    if (!isNumber(low) || !isNumber(high) || std::stol(low) > std::stol(high))
      return usageError("'" + flag + "': '" + item +
                        "' is not a number or a range; supported: numbers "
                        "below 1000000 and ranges, as in '0,2-5'");
    for (int64_t i = std::stol(low); i <= std::stol(high); ++i)
      numbers.insert(i);
    begin = end + 1;
  }
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}
