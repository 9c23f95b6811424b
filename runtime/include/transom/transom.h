/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C API of transom: includes all its headers. Load a compiled model
 * (model.h), create a session (session.h), then run its entry points on tensors
 * (session.h) or on texts (text.h, tasks.h), decode step by step (decode.h), or
 * generate text (generate.h). base.h contains the API rules and status codes.
 */
#ifndef TRANSOM_TRANSOM_H
#define TRANSOM_TRANSOM_H
#include "transom/base.h"
#include "transom/decode.h"
#include "transom/generate.h"
#include "transom/model.h"
#include "transom/profile.h"
#include "transom/session.h"
#include "transom/tasks.h"
#include "transom/tensor.h"
#include "transom/text.h"
#endif
