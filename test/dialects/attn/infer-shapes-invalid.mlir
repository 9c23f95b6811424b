// One case for each constraint on the operations in AttnInferShapes.cpp.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
func.func @f(%a: tensor<4xf32>, %b: tensor<4x4xf32>) {
  // expected-error @below {{'attn.matmul' op (1) expects a float left operand of rank 2 or more, got f32 [4]}}
  %0 = attn.matmul %a, %b : [4] f32, [4, 4] f32
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf64>) {
  // expected-error @below {{'attn.matmul' op (2) expects left and right operand of one element type, got 'f32' and 'f64'}}
  %0 = attn.matmul %a, %b : [4, 4] f32, [4, 4] f64
  return
}

// -----

func.func @f(%a: tensor<4x5xf32>, %b: tensor<4x6xf32>) {
  // expected-error @below {{'attn.matmul' op (3) expects one inner size, got '5' and '4'}}
  %0 = attn.matmul %a, %b : [4, 5] f32, [4, 6] f32
  return
}

// -----

func.func @f(%a: tensor<2x4x5xf32>, %b: tensor<3x5x6xf32>) {
  // expected-error @below {{'attn.matmul' op (4) expects leading dimensions that broadcast, got [2] and [3]}}
  %0 = attn.matmul %a, %b : [2, 4, 5] f32, [3, 5, 6] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'attn.linear' op (1) expects a static weight of rank 2, got f32 [8]}}
  %0 = attn.linear %a, %b : [2, 4] f32, [8] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<8x5xf32>) {
  // expected-error @below {{'attn.linear' op (2) expects input of width '5' as the weight [8, 5], got '4'}}
  %0 = attn.linear %a, %b : [2, 4] f32, [8, 5] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<8x4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{'attn.linear' op (3) expects bias of type 'f32' [8], got f32 [4]}}
  %0 = attn.linear %a, %b, %c : [2, 4] f32, [8, 4] f32, [4] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xi64>, %b: tensor<8x4xf32>) {
  // expected-error @below {{'attn.linear' op (4) expects a float input of rank 1 or more, got i64 [2, 4]}}
  %0 = attn.linear %a, %b : [2, 4] i64, [8, 4] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<8x4xf32>, %i: tensor<3x1xi64>) {
  // expected-error @below {{'attn.linear' op (5) expects columns of i64 and rank 1, got i64 [3, 1]}}
  %0 = attn.linear %a, %b columns(%i : [3, 1] i64) : [2, 4] f32, [8, 4] f32
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xi1>) {
  // expected-error @below {{'attn.add' op (1) expects operands of float or i64, got 'i1'}}
  %0 = attn.add %a, %b : [4] i1
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'attn.and' op (1) expects operands of bool, got 'f32'}}
  %0 = attn.and %a, %b : [4] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'attn.mul' op (2) expects shapes that broadcast, got [2, 4] and [2]}}
  %0 = attn.mul %a, %b : [2, 4] f32, [2] f32
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xi1>) {
  // expected-error @below {{'attn.sub' op (1) expects operands of float or i64, got 'i1'}}
  %0 = attn.sub %a, %b : [4] i1
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xi1>) {
  // expected-error @below {{'attn.mul' op (1) expects operands of float or i64, got 'i1'}}
  %0 = attn.mul %a, %b : [4] i1
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xi1>) {
  // expected-error @below {{'attn.div' op (1) expects operands of float or i64, got 'i1'}}
  %0 = attn.div %a, %b : [4] i1
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'attn.or' op (1) expects operands of bool, got 'f32'}}
  %0 = attn.or %a, %b : [4] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'attn.add' op (2) expects shapes that broadcast, got [2, 4] and [2]}}
  %0 = attn.add %a, %b : [2, 4] f32, [2] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'attn.sub' op (2) expects shapes that broadcast, got [2, 4] and [2]}}
  %0 = attn.sub %a, %b : [2, 4] f32, [2] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'attn.div' op (2) expects shapes that broadcast, got [2, 4] and [2]}}
  %0 = attn.div %a, %b : [2, 4] f32, [2] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xi1>, %b: tensor<2xi1>) {
  // expected-error @below {{'attn.and' op (2) expects shapes that broadcast, got [2, 4] and [2]}}
  %0 = attn.and %a, %b : [2, 4] i1, [2] i1
  return
}

// -----

func.func @f(%a: tensor<2x4xi1>, %b: tensor<2xi1>) {
  // expected-error @below {{'attn.or' op (2) expects shapes that broadcast, got [2, 4] and [2]}}
  %0 = attn.or %a, %b : [2, 4] i1, [2] i1
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.not' op (1) expects bool input, got f32 [4]}}
  %0 = attn.not %a : [4] f32
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.cast' op (1) expects to cast to a float, integer or bool, got 'none'}}
  %0 = attn.cast %a to none : [4] f32
  return
}

// -----

func.func @f(%a: tensor<4xi64>) {
  // expected-error @below {{'attn.scale' op (1) expects a float input of rank 0 or more, got i64 [4]}}
  %0 = attn.scale %a by 2.0 : [4] i64
  return
}

// -----

func.func @f(%a: tensor<4xi64>) {
  // expected-error @below {{'attn.activation' op (1) expects a float input of rank 0 or more, got i64 [4]}}
  %0 = attn.activation <relu> %a : [4] i64
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{'attn.where' op (1) expects a bool condition, got f32 [4]}}
  %0 = attn.where %a, %b, %c : [4] f32
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{'attn.where' op (2) expects first and second value of one element type, got 'f32' and 'i64'}}
  %0 = attn.where %a, %b, %c : [4] i1, [4] f32, [4] i64
  return
}

// -----

func.func @f(%a: tensor<3xi1>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{'attn.where' op (3) expects shapes that broadcast, got [3], [4] and [4]}}
  %0 = attn.where %a, %b, %c : [3] i1, [4] f32, [4] f32
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'attn.mask' op (1) expects a bool mask, got f32 [4]}}
  %0 = attn.mask %a, %b with 0.0 : [4] f32
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<2x4xi1>) {
  // expected-error @below {{'attn.mask' op (2) expects a mask that broadcasts to [4], got [2, 4]}}
  %0 = attn.mask %a, %b with 0.0 : [4] f32, [2, 4] i1
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @below {{'attn.transpose' op (1) expects a permutation of 2 dimensions, got [0, 0]}}
  %0 = attn.transpose %a [0, 0] : [2, 3] f32
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[seq, 8]>>) {
  // expected-error @below {{'attn.reshape' op (1) expects as many elements in [2, 4] as in [seq, 8], got '8' and '8*seq'}}
  %0 = attn.reshape %a to <[2, 4]> : [seq, 8] f32
  return
}

// -----

func.func @f() {
  // expected-error @below {{'attn.concat' op (1) expects at least one input}}
  %0 = "attn.concat"() {axis = 0 : i64} : () -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'attn.concat' op (2) expects an axis below 1, got 1}}
  %0 = attn.concat %a, %b axis 1 : [2] f32, [2] f32
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>) {
  // expected-error @below {{'attn.concat' op (3) expects inputs of one element type and rank, got f32 [2] and i64 [2]}}
  %0 = attn.concat %a, %b axis 0 : [2] f32, [2] i64
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) {
  // expected-error @below {{'attn.concat' op (4) expects inputs that differ in axis 1 only, got [2, 3] and [3, 3]}}
  %0 = attn.concat %a, %b axis 1 : [2, 3] f32, [3, 3] f32
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @below {{'attn.slice' op (1) expects an axis below 2, got 2}}
  %0 = attn.slice %a axis 2 from 0 size 1 : [2, 3] f32
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @below {{'attn.slice' op (2) expects a range in '3', got '2' from 2}}
  %0 = attn.slice %a axis 1 from 2 size 2 : [2, 3] f32
  return
}

// -----

func.func @f(%a: tensor<f32>, %b: tensor<2xi64>) {
  // expected-error @below {{'attn.gather' op (1) expects a table of rank 1 or more, got f32 []}}
  %0 = attn.gather %a, %b : [] f32, [2] i64
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'attn.gather' op (2) expects i64 indices, got i32 [2]}}
  %0 = attn.gather %a, %b : [4] f32, [2] i32
  return
}

// -----

func.func @f(%a: tensor<2xi64>, %b: tensor<4xf32>) {
  // expected-error @below {{'attn.embedding' op (1) expects a static float table of rank 2, got f32 [4]}}
  %0 = attn.embedding %a, %b : [2] i64, [4] f32
  return
}

// -----

func.func @f(%a: tensor<2xi32>, %b: tensor<4x4xf32>) {
  // expected-error @below {{'attn.embedding' op (2) expects i64 ids, got i32 [2]}}
  %0 = attn.embedding %a, %b : [2] i32, [4, 4] f32
  return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  // expected-error @below {{'attn.position' op (1) expects i64 ids, got i32 [2, 3]}}
  %0 = attn.position <column> %a : [2, 3] i32
  return
}

// -----

func.func @f(%a: tensor<2xi64>) {
  // expected-error @below {{'attn.position' op (2) expects ids of rank 2, got [2]}}
  %0 = attn.position <column> %a : [2] i64
  return
}

// -----

func.func @f(%a: tensor<?xi64, #attn.shape<[rows]>>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.position' op (3) expects kind 'column' with a ragged batch, got 'nonpad_rank'}}
  %0 = attn.position <nonpad_rank> %a ragged(%s : <rows, keys>) : [rows] i64
  return
}

// -----

func.func @f(%a: tensor<f32>) {
  // expected-error @below {{'attn.softmax' op (1) expects a float input of rank 1 or more, got f32 []}}
  %0 = attn.softmax %a : [] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xi64>, %b: tensor<4xi64>) {
  // expected-error @below {{'attn.layer_norm' op (1) expects a float input of rank 1 or more, got i64 [2, 4]}}
  %0 = attn.layer_norm %a, %b eps 0.1 : [2, 4] i64, [4] i64
  return
}

// -----

func.func @f(%a: tensor<2x4xi64>, %b: tensor<4xi64>) {
  // expected-error @below {{'attn.rms_norm' op (1) expects a float input of rank 1 or more, got i64 [2, 4]}}
  %0 = attn.rms_norm %a, %b eps 0.1 : [2, 4] i64, [4] i64
  return
}

// -----

func.func @f(%a: tensor<2x3x8xi64>) {
  // expected-error @below {{'attn.pool' op (3) expects a float input of rank 2 or more, got i64 [2, 3, 8]}}
  %0 = attn.pool <first> %a : [2, 3, 8] i64
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'attn.layer_norm' op (2) expects gamma of type 'f32' [4], got f32 [5]}}
  %0 = attn.layer_norm %a, %b eps 0.1 : [2, 4] f32, [5] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<4xf32>, %c: tensor<2x4xf32>) {
  // expected-error @below {{'attn.layer_norm' op (2) expects beta of type 'f32' [4], got f32 [2, 4]}}
  %0 = attn.layer_norm %a, %b, %c eps 0.1 : [2, 4] f32, [4] f32, [2, 4] f32
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{'attn.rms_norm' op (2) expects gamma of type 'f32' [4], got f64 [4]}}
  %0 = attn.rms_norm %a, %b eps 0.1 : [2, 4] f32, [4] f64
  return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.pool' op (1) expects [tokens, d] with a ragged batch, got [2, 3, 8]}}
  %0 = attn.pool <first> %a ragged(%s : <rows, keys>) : [2, 3, 8] f32
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.pool' op (1) expects 'batch' with a ragged batch}}
  %0 = attn.pool <first> %a ragged(%s : <rows, keys>) : [rows, 8] f32
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %m: tensor<2x3xi1>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.pool' op (1) expects a bool mask [rows], got i1 [2, 3]}}
  %0 = attn.pool <mean> %a mask(%m : [2, 3] i1) ragged(%s : <rows, keys>) batch 2 : [rows, 8] f32
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @below {{'attn.pool' op (2) expects [batch, seq, d], got [2, 8]}}
  %0 = attn.pool <first> %a : [2, 8] f32
  return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<2x4xi1>) {
  // expected-error @below {{'attn.pool' op (2) expects a bool mask [2, 3], got i1 [2, 4]}}
  %0 = attn.pool <mean> %a mask(%b : [2, 4] i1) : [2, 3, 8] f32
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.gather_rows' op (1) expects an input of rank 2 or more, got f32 [4]}}
  %0 = attn.gather_rows %a, %s : [4] f32, <rows, keys>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.scatter_rows' op (1) expects ['rows', ...], got f32 [4]}}
  %0 = attn.scatter_rows %a, %s to 2 x 2 : [4] f32, <rows, keys>
  return
}

// -----

func.func @f(%a: tensor<2x?xf32, #attn.shape<[2, n]>>) {
  // expected-error @below {{'attn.row_summary' op (1) expects a constant last dimension of at least 1, got f32 [2, n]}}
  %0, %1 = attn.row_summary %a : [2, n] f32
  return
}
