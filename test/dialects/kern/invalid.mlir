// One case for each rule of the dialect.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
// expected-error @below {{buffer of 'i4'; supported: i1, integers and floats of whole bytes}}
func.func private @f(!kern.buffer<[4] x i4>)

// -----

// expected-error @below {{stride 4 of a buffer whose last size is '8'}}
func.func private @f(!kern.buffer<[rows, 8] x f32, stride 4>)

// -----

// expected-error @below {{stride 16 of a buffer whose last size is 'seq'}}
func.func private @f(!kern.buffer<[rows, seq] x f32, stride 16>)

// -----

// expected-error @below {{key panels must be f32 or bf16 of rank 2 without stride}}
func.func private @f(!kern.buffer<[rows, 2, 8] x f32, key_panels>)

// -----

// expected-error @below {{unknown layout 'tiles'; supported: unset, rows, panels32, padded32}}
func.func private @f(!kern.weight<[8] x f32, tiles>)

// -----

// expected-error @below {{key panels of bf16 with an odd or unknown number of columns '7'}}
func.func private @f(!kern.buffer<[keys, 7] x bf16, key_panels>)

// -----

// expected-error @below {{weight of 'f16'; supported: f32, bf16}}
func.func private @f(!kern.weight<[8] x f16, rows>)

// -----

// expected-error @below {{layout 'padded32' of a weight of 'bf16'}}
func.func private @f(!kern.weight<[8] x bf16, padded32>)

// -----

// expected-error @below {{weight with the size -8}}
func.func private @f(!kern.weight<[-8] x f32, rows>)

// -----

// expected-error @below {{weight with a split of 0}}
func.func private @f(!kern.weight<[8, 8] x f32, rows, splits [8, 0]>)

// -----

// expected-error @below {{splits add up to 12, the first size is 8}}
func.func private @f(!kern.weight<[8, 8] x f32, rows, splits [8, 4]>)

// -----

// expected-error @below {{layout 'panels32' of a weight of rank 1}}
func.func private @f(!kern.weight<[8] x f32, panels32>)

// -----

// expected-error @below {{layout 'padded32' of a weight of rank 2}}
func.func private @f(!kern.weight<[8, 8] x f32, padded32>)

// -----

// expected-error @below {{expects a weight type, got 'f32'}}
kern.weight @w : f32 = "file(\"w\")"

// -----

// expected-error @below {{expects a weight expression, got 'file('}}
kern.weight @w : !kern.weight<[8] x f32, rows> = "file("

// -----

// expected-error @below {{expects an offset that is a multiple of 4, got 6}}
kern.weight @w : !kern.weight<[8] x f32, rows> = "file(\"w\")" {offset = 6 : i64}

// -----

func.func @f() {
  // expected-error @below {{expects a weight, got 'f'}}
  %w = kern.get_weight @f : !kern.weight<[8] x f32, rows>
  return
}

// -----

kern.weight @w : !kern.weight<[8] x f32, rows> = "file(\"w\")"
func.func @f() {
  // expected-error @below {{expects the weight's type '!kern.weight<[8] x f32, rows>', got '!kern.weight<[8] x f32, unset>'}}
  %w = kern.get_weight @w : !kern.weight<[8] x f32, unset>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expects a slot that is not negative, got -1}}
  %a = kern.alloc {slot = -1 : i64} : !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects source and result of one element type, got 'f32' and 'i64'}}
  %v = kern.view %x : !kern.buffer<[rows, 8] x f32> -> !kern.buffer<[rows, 8] x i64>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects equally many elements, got [rows, 8] and [rows, 2, 3]}}
  %v = kern.view %x : !kern.buffer<[rows, 8] x f32> -> !kern.buffer<[rows, 2, 3] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32, stride 24>) {
  // expected-error @below {{expects dense buffers}}
  %v = kern.view %x : !kern.buffer<[rows, 8] x f32, stride 24> -> !kern.buffer<[rows, 2, 4] x f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expects a size as 'batch', got 'batch*'}}
  %s = kern.ragged_batch {batch = "batch*", columns = "seq", rows = "r", keys = "k"} : !kern.ragged<0>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expects a mask beside 'keep_first'}}
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "r", keys = "k", keep_first} : !kern.ragged<0>
  return
}

// -----

func.func @f(%m: !kern.buffer<[batch, seq] x f32>) {
  // expected-error @below {{expects a mask [batch, columns] of i64 or i1, got '!kern.buffer<[batch, seq] x f32>'}}
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x f32> {batch = "", columns = "", rows = "r", keys = "k"} : !kern.ragged<0>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expects names for 'rows' and 'keys'}}
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "", keys = "k"} : !kern.ragged<0>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 7] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects a weight [n, k] and an input [.., k], got [16, 8] and [rows, 7]}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 7] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects the weight in 'panels32', got 'rows'}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 16] x f32>, %z: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects an out for each of 1 splits of the weight, got 2}}
  kern.gemm %x, %w  outs(%y, %z) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 15] x f32>) {
  // expected-error @below {{expects an out of f32 or bf16 with 16 columns, got '!kern.buffer<[rows, 15] x f32>'}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 15] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{expects outs with the rows of the input, got [n, 16] and [rows, 8]}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %b: !kern.weight<[15] x f32, padded32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects a bias of size [16], got [15]}}
  kern.gemm %x, %w bias %b outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[15] x f32, padded32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %b: !kern.weight<[16] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects a bias in 'padded32', got 'rows'}}
  kern.gemm %x, %w bias %b outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, %b: !kern.weight<[16] x f32, padded32>, %y: !kern.buffer<[rows, 8] x f32>, %z: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects weight and bias with equal splits}}
  kern.gemm %x, %w bias %b outs(%y, %z) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, !kern.weight<[16] x f32, padded32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[keys, 16] x f32, key_panels>) {
  // expected-error @below {{expects ragged exactly where an out is key panels}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[keys, 16] x f32, key_panels>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects ragged exactly where an out is key panels}}
  kern.gemm %x, %w ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.ragged<0>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %s: !kern.ragged<0>, %y: !kern.buffer<[keys, 16] x f32, key_panels>) {
  // expected-error @below {{expects no activation, residual or norm beside key panels}}
  kern.gemm %x, %w ragged %s outs(%y) epilogue <relu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.ragged<0>, !kern.buffer<[keys, 16] x f32, key_panels>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %r: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects out and residual of equal sizes, got [rows, 16] and [rows, 8]}}
  kern.gemm %x, %w residual %r outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, %r: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %z: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a single out beside a residual, got 2}}
  kern.gemm %x, %w residual %r outs(%y, %z) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[16] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects 'norm_gamma', 'norm_out' or 'norm_out_bf16', 'norm_counters' and a norm in the epilogue together}}
  kern.gemm %x, %w norm %g outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[16] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects no beta without a norm}}
  kern.gemm %x, %w beta %g outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[8] x f32, rows>, %z: !kern.buffer<[rows, 16] x f32>, %c: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects gamma of size [16], got [8]}}
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[16] x f32, rows>, %z: !kern.buffer<[rows, 8] x f32>, %c: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects out and 'norm_out' of equal sizes, got [rows, 16] and [rows, 8]}}
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[16] x f32, rows>, %z: !kern.buffer<[rows, 16] x f32>, %c: !kern.buffer<[rows] x f32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects an i64 counter for each row, got '!kern.buffer<[rows] x f32>'}}
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{unsupported activation 'swish'; supported: relu, gelu,}}
  kern.gemm %x, %w  outs(%y) epilogue <swish> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>) {
  // expected-error @below {{expects outs in other memory than the input}}
  kern.gemm %x, %w outs(%x) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a residual in other memory than the out with an activation or k above 4096}}
  kern.gemm %x, %w residual %y outs(%y) epilogue <relu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 4100] x f32>, %w: !kern.weight<[8, 4100] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a residual in other memory than the out with an activation or k above 4096}}
  kern.gemm %x, %w residual %y outs(%y) : !kern.buffer<[rows, 4100] x f32>, !kern.weight<[8, 4100] x f32, panels32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%a: !kern.buffer<[n] x f32>, %b: !kern.buffer<[n, 4] x f32>, %y: !kern.buffer<[n, 4] x f32>) {
  // expected-error @below {{expects operands of rank 2 at least, got '!kern.buffer<[n] x f32>'}}
  kern.batch_matmul %a, %b outs(%y) : !kern.buffer<[n] x f32>, !kern.buffer<[n, 4] x f32>, !kern.buffer<[n, 4] x f32>
  return
}

// -----

func.func @f(%a: !kern.buffer<[rows, 8] x f32>, %b: !kern.buffer<[7, 4] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{expects operands that share k, got [rows, 8] and [7, 4]}}
  kern.batch_matmul %a, %b outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[7, 4] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%a: !kern.buffer<[rows, 8] x f32>, %b: !kern.buffer<[8, 4] x f32>, %y: !kern.buffer<[rows, 5] x f32>) {
  // expected-error @below {{expects outs [.., m, n] of [rows, 8] and [8, 4], got [rows, 5]}}
  kern.batch_matmul %a, %b outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[8, 4] x f32>, !kern.buffer<[rows, 5] x f32>
  return
}

// -----

func.func @f(%a: !kern.buffer<[3, rows, 8] x f32>, %b: !kern.buffer<[8, 4] x f32>, %y: !kern.buffer<[2, rows, 4] x f32>) {
  // expected-error @below {{expects leading sizes that broadcast to [2, rows, 4], got [3, rows, 8]}}
  kern.batch_matmul %a, %b outs(%y) : !kern.buffer<[3, rows, 8] x f32>, !kern.buffer<[8, 4] x f32>, !kern.buffer<[2, rows, 4] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects 'heads' that are a multiple of 'kv_heads', got 3 and 2}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 3 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 15] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects query of f32 or bf16 whose last size is a multiple of 2 heads, got '!kern.buffer<[rows, 15] x f32>'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 15] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 4] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects heads of one size in query and key, and in value and outs, got 8 and 4, 8 and 8}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 4] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects the key in key panels}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[keys, 8] x f32, key_panels>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects only the key in key panels}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[n, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects query and outs of equal rows, got [rows, 16] and [n, 16]}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 100] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects a scratch [parts, 8640] of 'f32', got '!kern.buffer<[parts, 100] x f32>'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 100] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @+1 {{has the unknown schedule 'two-pass:25'; supported: auto, streaming, two-pass, split-kv}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {schedule = "two-pass:25"} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @+1 {{expects partials and counters for 'spread'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {schedule = "split-kv"} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[batch, seq] x i64>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects a mask of f32 or bool of rank 4 at most, got '!kern.buffer<[batch, seq] x i64>'}}
  kern.attention %q, %k, %v ragged %s, %s mask %m scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[batch, seq] x i64>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects a bool mask beside 'mask_value'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {mask_value = -1.0} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{expects a window and a soft cap that are not negative, got -1 and}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {window = -1 : i64} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys", keep_first} : !kern.ragged<0>
  // expected-error @below {{expects ragged without 'keep_first' beside 'causal' or 'window'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {causal} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects key panels as outs, got '!kern.buffer<[rows, 8] x f32>'}}
  kern.pack_keys %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[keys, 8] x f32, key_panels>) {
  // expected-error @below {{expects input and outs of one last size, got [rows, 16] and [keys, 8]}}
  kern.pack_keys %x ragged %s outs(%y) : !kern.buffer<[rows, 16] x f32>, !kern.ragged<0>, !kern.buffer<[keys, 8] x f32, key_panels>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %g: !kern.weight<[8] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects input and outs of equal sizes, got [rows, 8] and [rows, 16]}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, seq] x f32>, %g: !kern.weight<[8] x f32, rows>, %y: !kern.buffer<[rows, seq] x f32>) {
  // expected-error @below {{expects a constant last size, got [rows, seq]}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, seq] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, seq] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %g: !kern.weight<[7] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects gamma of size [8], got [7]}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[7] x f32, rows>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %g: !kern.weight<[8] x f32, padded32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects gamma in 'rows', got 'padded32'}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, padded32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %g: !kern.weight<[8] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects 'eps' that is not negative, got -1}}
  kern.norm %x, %g outs(%y) eps -1.0 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x i64>) {
  // expected-error @below {{expects f32 as outs, got 'i64'}}
  kern.softmax %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x i64>
  return
}

// -----

func.func @f(%i: !kern.buffer<[rows] x i64>, %t: !kern.weight<[100, 8] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects an id and a scale for each table, got 1 ids, 1 tables, 2 scales}}
  kern.embedding ids(%i) tables(%t) outs(%y) {scales = array<f64: 1.0, 2.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 8] x f32, rows>), !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[n] x i64>, %t: !kern.weight<[100, 8] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects an i64 id for each row of outs, got '!kern.buffer<[n] x i64>'}}
  kern.embedding ids(%i) tables(%t) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[n] x i64>), (!kern.weight<[100, 8] x f32, rows>), !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[rows] x i64>, %t: !kern.weight<[100, 7] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a table with the width of outs, got [100, 7] and [rows, 8]}}
  kern.embedding ids(%i) tables(%t) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 7] x f32, rows>), !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[rows] x i64>, %t: !kern.weight<[100, 8] x f32, panels32, splits [40, 60]>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a table in panels without splits}}
  kern.embedding ids(%i) tables(%t) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 8] x f32, panels32, splits [40, 60]>), !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.weight<[8] x f32, padded32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects buffers or weights in rows as inputs, got '!kern.weight<[8] x f32, padded32>'}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (!kern.weight<[8] x f32, padded32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects inputs that broadcast to [rows, 8], got [n, 8]}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (!kern.buffer<[n, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a region argument for each input, got 2 and 1}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32, %b: f32):
    kern.yield %a : f32
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a region argument of 'f32', got 'i64'}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: i64):
    %c = arith.constant 1.0 : f32
    kern.yield %c : f32
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a region that yields 'f32'}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    %c = arith.constant 1 : i64
    kern.yield %c : i64
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    // expected-error @below {{cannot be in a region of 'kern.elementwise'}}
    %c = kern.alloc : !kern.buffer<[rows, 8] x f32>
    kern.yield %a : f32
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    // expected-error @below {{unsupported activation 'swish'; supported: relu, gelu,}}
    // expected-error @below {{failed to parse Kern_ActivationAttr parameter 'value'}}
    %c = kern.apply <swish> %a
    kern.yield %c : f32
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[batch, seq] x i64>, %j: !kern.buffer<[batch, seq] x f32>) {
  // expected-error @below {{expects i64, got 'f32'}}
  kern.positions %i outs(%j) pad 1 : !kern.buffer<[batch, seq] x i64>, !kern.buffer<[batch, seq] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[batch, seq] x i64>, %j: !kern.buffer<[batch, n] x i64>) {
  // expected-error @below {{expects ids and outs of equal sizes, got [batch, seq] and [batch, n]}}
  kern.positions %i outs(%j) pad 1 : !kern.buffer<[batch, seq] x i64>, !kern.buffer<[batch, n] x i64>
  return
}

// -----

func.func @f(%s: !kern.ragged<0>, %y: !kern.buffer<[rows] x f32>) {
  // expected-error @below {{expects i64, got 'f32'}}
  kern.columns %s outs(%y) : !kern.ragged<0>, !kern.buffer<[rows] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[batch, seq, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 8] x i64>) {
  // expected-error @below {{expects input and outs of one element type, got 'f32' and 'i64'}}
  kern.gather_rows %x ragged %s outs(%y) : !kern.buffer<[batch, seq, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 8] x i64>
  return
}

// -----

func.func @f(%x: !kern.buffer<[batch, seq, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects [batch, columns, ...] and [rows, ...] with equal rests, got [batch, seq, 8] and [rows, 16]}}
  kern.gather_rows %x ragged %s outs(%y) : !kern.buffer<[batch, seq, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[batch, seq, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 8] x f32, stride 24>) {
  // expected-error @below {{expects dense buffers}}
  kern.gather_rows %x ragged %s outs(%y) : !kern.buffer<[batch, seq, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 8] x f32, stride 24>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x i64>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, seq, 8] x f32>) {
  // expected-error @below {{expects input and outs of one element type, got 'f32' and 'i64'}}
  kern.scatter_rows %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x i64>, !kern.ragged<0>, !kern.buffer<[batch, seq, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, seq, 8] x f32>) {
  // expected-error @below {{expects [batch, columns, ...] and [rows, ...] with equal rests, got [batch, seq, 8] and [rows, 16]}}
  kern.scatter_rows %x ragged %s outs(%y) : !kern.buffer<[rows, 16] x f32>, !kern.ragged<0>, !kern.buffer<[batch, seq, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, seq, 8] x f32, stride 24>) {
  // expected-error @below {{expects dense buffers}}
  kern.scatter_rows %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[batch, seq, 8] x f32, stride 24>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, 8] x f32>) {
  // expected-error @below {{unsupported kind 'max'; supported: first, last, mean}}
  kern.pool "max" %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[batch, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, 7] x f32>) {
  // expected-error @below {{expects outs [batch, d] of an input [.., d], got [batch, 7] and [rows, 8]}}
  kern.pool "mean" %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[batch, 7] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %m: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[batch, 8] x f32>) {
  // expected-error @below {{expects a bool mask, got 'i64'}}
  kern.pool "mean" %x ragged %s mask %m outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows] x i64>, !kern.buffer<[batch, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[8, rows] x f32>) {
  // expected-error @below {{expects a permutation of 2 dimensions, got [1, 1]}}
  kern.transpose %x outs(%y) [1, 1] : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[8, rows] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects outs [8, rows], got [rows, 8]}}
  kern.transpose %x outs(%y) [1, 0] : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[8, rows] x i64>) {
  // expected-error @below {{expects input and outs of one element type, got 'f32' and 'i64'}}
  kern.transpose %x outs(%y) [1, 0] : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[8, rows] x i64>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{expects an axis of both buffers, got 2 of [rows, 8] and [rows, 4]}}
  kern.copy %x outs(%y) axis 2 from "4" to "0" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{expects a size as 'to', got 'seq*'}}
  kern.copy %x outs(%y) axis 1 from "4" to "seq*" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[n, 4] x f32>) {
  // expected-error @below {{expects equal sizes but of axis 1, got [rows, 8] and [n, 4]}}
  kern.copy %x outs(%y) axis 1 from "4" to "0" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{expects a block within the input, got 4 from 5 of 8}}
  kern.copy %x outs(%y) axis 1 from "5" to "0" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{expects a block within outs, got 4 from 1 of 4}}
  kern.copy %x outs(%y) axis 1 from "4" to "1" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x i64>) {
  // expected-error @below {{expects input and outs of one element type, got 'f32' and 'i64'}}
  kern.copy %x outs(%y) axis 1 from "4" to "0" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x i64>
  return
}

// -----

func.func @f(%t: !kern.buffer<[rows, 8] x f32>, %i: !kern.buffer<[n] x f32>, %y: !kern.buffer<[n, 8] x f32>) {
  // expected-error @below {{expects i64 indices, got 'f32'}}
  kern.gather %t, %i outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n] x f32>, !kern.buffer<[n, 8] x f32>
  return
}

// -----

func.func @f(%t: !kern.buffer<[rows, 8] x f32>, %i: !kern.buffer<[n] x i64>, %y: !kern.buffer<[n, 7] x f32>) {
  // expected-error @below {{expects outs [n, 8], got [n, 7]}}
  kern.gather %t, %i outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n] x i64>, !kern.buffer<[n, 7] x f32>
  return
}

// -----

func.func @f(%t: !kern.buffer<[rows, 8] x f32>, %i: !kern.buffer<[n] x i64>, %y: !kern.buffer<[n, 8] x i64>) {
  // expected-error @below {{expects table and outs of one element type, got 'f32' and 'i64'}}
  kern.gather %t, %i outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n] x i64>, !kern.buffer<[n, 8] x i64>
  return
}

// -----

func.func @f(%t: !kern.buffer<[rows] x f32>, %i: !kern.buffer<[n, 8] x i64>, %y: !kern.buffer<[n, 8] x f32, stride 24>) {
  // expected-error @below {{expects dense buffers}}
  kern.gather %t, %i outs(%y) : !kern.buffer<[rows] x f32>, !kern.buffer<[n, 8] x i64>, !kern.buffer<[n, 8] x f32, stride 24>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects rows that are lists of symbols, got ["layer"]}}
  kern.layers %x [["layer"]] : !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a function without results as body, got 'layer'}}
  kern.layers %x [[@layer]] : !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func private @layer(%x: !kern.buffer<[rows, 8] x f32>) {
  return
}
func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a weight or cache, got 'layer'}}
  kern.layers %x [[@layer, @layer]] : !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func private @layer(%x: !kern.buffer<[rows, 16] x f32>) {
  return
}
func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a body that takes the state, the invariants and the row's weights and caches; 'layer' does not}}
  kern.layers %x [[@layer]] : !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a name}}
  kern.phase "" {
    kern.softmax %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  }
  return
}

// -----

func.func @f() {
  kern.phase "f.0" {
    // expected-error @below {{is no operation on buffers and cannot be in a phase}}
    %a = kern.alloc : !kern.buffer<[rows, 8] x f32>
  }
  return
}

// -----

kern.weight @w : !kern.weight<[8, 8] x bf16, panels32> = "file(\"w\")"
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  %w = kern.get_weight @w : !kern.weight<[8, 8] x bf16, panels32>
  // expected-error @below {{expects input and weight of one type, got 'f32' and 'bf16'}}
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x bf16, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

kern.weight @w : !kern.weight<[8, 9000] x bf16, panels32> = "file(\"w\")"
func.func @f(%x: !kern.buffer<[rows, 9000] x bf16>, %y: !kern.buffer<[rows, 8] x bf16>) {
  %w = kern.get_weight @w : !kern.weight<[8, 9000] x bf16, panels32>
  // expected-error @below {{expects outs of f32 with k above 8192}}
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 9000] x bf16>, !kern.weight<[8, 9000] x bf16, panels32>, !kern.buffer<[rows, 8] x bf16>
  return
}

// -----

kern.weight @w : !kern.weight<[8, 8] x f32, panels32> = "file(\"w\")"
kern.weight @g : !kern.weight<[8] x f32, rows> = "file(\"g\")"
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x bf16>, %z: !kern.buffer<[rows, 8] x f32>, %c: !kern.buffer<[rows] x i64>) {
  %w = kern.get_weight @w : !kern.weight<[8, 8] x f32, panels32>
  %g = kern.get_weight @g : !kern.weight<[8] x f32, rows>
  // expected-error @below {{expects f32 as the out beside a norm, got 'bf16'}}
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x bf16>
  return
}

// -----

kern.weight @w : !kern.weight<[8, 8] x f32, panels32> = "file(\"w\")"
kern.weight @g : !kern.weight<[8] x f32, rows> = "file(\"g\")"
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %z: !kern.buffer<[rows, 8] x f32>, %c: !kern.buffer<[rows] x i64>) {
  %w = kern.get_weight @w : !kern.weight<[8, 8] x f32, panels32>
  %g = kern.get_weight @g : !kern.weight<[8] x f32, rows>
  // expected-error @below {{expects rows of bf16 as 'norm_out_bf16', got '!kern.buffer<[rows, 8] x f32>'}}
  kern.gemm %x, %w norm %g norm_out_bf16 %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

kern.weight @g : !kern.weight<[8] x bf16, rows> = "file(\"g\")"
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  %g = kern.get_weight @g : !kern.weight<[8] x bf16, rows>
  // expected-error @below {{expects gamma of f32, got bf16}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x bf16, rows>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

kern.weight @g : !kern.weight<[8] x f32, rows> = "file(\"g\")"
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  %g = kern.get_weight @g : !kern.weight<[8] x f32, rows>
  // expected-error @below {{expects 'out_bf16' in rows of bf16 beside outs of f32, got '!kern.buffer<[rows, 8] x f32>' and '!kern.buffer<[rows, 8] x f32>'}}
  kern.norm %x, %g outs(%y) out_bf16(%x) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x bf16>, %y: !kern.buffer<[rows, 8] x bf16>) {
  // expected-error @below {{expects f32 as the input, got 'bf16'}}
  kern.cast %x outs(%y) : !kern.buffer<[rows, 8] x bf16>, !kern.buffer<[rows, 8] x bf16>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects rows of bf16 as outs, got '!kern.buffer<[rows, 8] x f32>'}}
  kern.cast %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x bf16>) {
  // expected-error @below {{expects input and outs of equal sizes, got [rows, 8] and [rows, 4]}}
  kern.cast %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x bf16>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x bf16, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %s: !kern.ragged<0>) {
  // expected-error @below {{expects query, key and value of one type, got 'f32', 'bf16' and 'f32'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x bf16, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x bf16>, %k: !kern.buffer<[keys, 8] x bf16, key_panels>, %v: !kern.buffer<[rows, 8] x bf16>, %y: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %s: !kern.ragged<0>) {
  // expected-error @below {{expects heads of an even size in bf16, got 1}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 8 kv_heads 8 scale 1.0 : !kern.buffer<[rows, 8] x bf16>, !kern.buffer<[keys, 8] x bf16, key_panels>, !kern.buffer<[rows, 8] x bf16>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x bf16>, %t: !kern.buffer<[parts, 8640] x f32>, %s: !kern.ragged<0>) {
  // expected-error @below {{expects outs of f32 beside a query of f32}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x bf16>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x bf16>, %y: !kern.buffer<[keys, 8] x f32, key_panels>, %s: !kern.ragged<0>) {
  // expected-error @below {{expects outs of bf16 for an input of bf16}}
  kern.pack_keys %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x bf16>, !kern.ragged<0>, !kern.buffer<[keys, 8] x f32, key_panels>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %g: !kern.weight<[8] x f32, rows>, %c: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a norm in other memory than the input}}
  kern.gemm %x, %w norm %g norm_out %x counters %c outs(%y) epilogue <rms_norm 1.0e-5> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %b: !kern.weight<[2, 4] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{expects a relative bias of f32 of size [2, an odd number]}}
  kern.attention %q, %k, %q ragged %s, %s relative_bias %b scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.weight<[2, 4] x f32, rows>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %b: !kern.weight<[2, 4] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{expects ragged of one table and no cache beside 'by_column'}}
  kern.attention %q, %k, %q ragged %s, %u scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 {by_column} : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<1>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}
