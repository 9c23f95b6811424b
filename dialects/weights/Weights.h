// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weight dialect: the attribute `#weight.expr` over dialects/weights.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"

#include "dialects/weights/WeightsDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/weights/WeightsAttrs.h.inc"
