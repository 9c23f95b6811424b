// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's graph as a picture.
#pragma once
#include "compiler/inspect/ModelGraph.h"

namespace transom::tools {

/// A picture in itself: no fonts, scripts or files from elsewhere; light or
/// dark as the viewer prefers.
std::string drawSvg(const ModelGraph &graph);

/// The language of Graphviz.
std::string drawDot(const ModelGraph &graph);

} // namespace transom::tools
