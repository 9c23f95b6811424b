/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Weight and cache memory layouts. The compiler, generated code and the
 * runtime share these sizes, which are defined only here.
 */
#ifndef TRANSOM_RUNTIME_ABI_LAYOUT_H
#define TRANSOM_RUNTIME_ABI_LAYOUT_H
#include <stdint.h>

/* Panel width: columns in a packed weight panel, positions in a key panel. */
#define TRANSOM_PANEL_WIDTH 32

/* KV block size in positions, divisible by the panel width. Attention reaches
 * keys and values through one pointer per block. */
#define TRANSOM_KV_BLOCK_SIZE 256

/* Depth alignment: K in bf16 weight panels is padded to it with
 * zeros. */
#define TRANSOM_DEPTH_ALIGNMENT 32

/* Arena buffer and KV block alignment in bytes: a cache line. */
#define TRANSOM_BUFFER_ALIGNMENT 64

/* Up to 64 workers balance GEMM tiles by work stealing; with more workers the
 * tiles are distributed statically. Each worker has 32 tile counters in the
 * frame, a multiple of the cache line size. The counter after them all counts
 * the workers that are done. */
#define TRANSOM_SHARING_WORKERS 64
#define TRANSOM_TILE_COUNTERS 32

/* Minimum number of rows per worker at which workers own GEMM rows: each worker
 * reads all weights, but its rows stay in its CPU caches. With fewer rows each
 * worker owns columns. */
#define TRANSOM_OWN_ROWS 64

#ifdef __cplusplus
namespace transom {

inline constexpr int64_t sharingWorkers = TRANSOM_SHARING_WORKERS;
inline constexpr int64_t tileCounters = TRANSOM_TILE_COUNTERS;
/* Words in `transom_frame.counters` that GEMMs need. */
inline constexpr int64_t productCounters = sharingWorkers * tileCounters + 1;
inline constexpr int64_t ownRows = TRANSOM_OWN_ROWS;
inline constexpr int64_t panelWidth = TRANSOM_PANEL_WIDTH;
inline constexpr int64_t kvBlockSize = TRANSOM_KV_BLOCK_SIZE;
inline constexpr int64_t depthAlignment = TRANSOM_DEPTH_ALIGNMENT;
inline constexpr int64_t bufferAlignment = TRANSOM_BUFFER_ALIGNMENT;

/* Returns `count` rounded up to whole panels. */
constexpr int64_t alignToPanel(int64_t count) {
  return (count + panelWidth - 1) / panelWidth * panelWidth;
}

/* Returns `bytes` rounded up to the buffer alignment. */
constexpr int64_t alignToBuffer(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

/* Returns whether workers own GEMM rows; for integers, or for values in
 * generated code. */
template <typename T> constexpr auto ownsRows(T rows, T numWorkers) {
  return numWorkers * ownRows <= rows;
}

/* Returns the KV block count for `positions` positions. */
constexpr int64_t getNumKvBlocks(int64_t positions) {
  return (positions + kvBlockSize - 1) / kvBlockSize;
}

/* Returns `positions` rounded up to whole KV blocks. */
constexpr int64_t alignToKvBlock(int64_t positions) {
  return getNumKvBlocks(positions) * kvBlockSize;
}

} /* namespace transom */
#endif
#endif
