// One case for each rule of the dialect.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
func.func @f(%x: tensor<*xf32>) {
  // expected-error @below {{size '-3' is negative}}
  %0 = attn.reshape %x to <[-3]> : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%x: tensor<*xf32>) {
  // expected-error @below {{expects a symbol or integer in a size}}
  %0 = attn.reshape %x to <[batch*]> : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

// expected-error @below {{tensor of rank 2 has 1 named sizes}}
func.func @f(%x: tensor<?x4xf32, #attn.shape<[batch]>>) {
  return
}

// -----

// expected-error @below {{dimension 0 is '?' but its size is the constant '4'}}
func.func @f(%x: tensor<?x4xf32, #attn.shape<[4, 4]>>) {
  return
}

// -----

// expected-error @below {{dimension 1 is 4 but its size is 'seq'}}
func.func @f(%x: tensor<?x4xf32, #attn.shape<[batch, seq]>>) {
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @below {{'attn.softmax' op expects named sizes, got operand of type 'tensor<?x4xf32>'}}
  %0 = attn.softmax %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'attn.softmax' op expects a result of type 'tensor<2x4xf32>', got 'tensor<2x5xf32>'}}
  %0 = attn.softmax %x : (tensor<2x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'attn.softmax' op expects a result of type 'tensor<2x4xf32>', got 'tensor<*xi64>'}}
  %0 = attn.softmax %x : (tensor<2x4xf32>) -> tensor<*xi64>
  return
}

// -----

// expected-error @below {{'attn.weight' op attribute 'type' failed to satisfy constraint: type attribute of statically shaped tensor of any type values}}
attn.weight @w : tensor<?x4xf32, #attn.shape<[batch, 4]>> = "file(\"a\")"

// -----

// expected-error @below {{'attn.weight' op 'w' has an expression that does not parse: }}
attn.weight @w : tensor<4xf32> = "fill(["

// -----

func.func private @f()
func.func @g() {
  // expected-error @below {{'attn.get_weight' op expects 'f' to be an 'attn.weight'}}
  %0 = attn.get_weight @f : tensor<4xf32>
  return
}

// -----

attn.weight @w : tensor<4xf32> = "fill([4], 1.0)"
func.func @f() {
  // expected-error @below {{'attn.get_weight' op expects weight 'w' to have type 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = attn.get_weight @w : tensor<5xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'attn.constant' op expects a result of type 'tensor<1xf32>', got 'tensor<2xf32>'}}
  %0 = attn.constant dense<1.0> : tensor<1xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4x4xf32>) {
  // expected-error @below {{'attn.matmul' op expects a float left operand of rank 2 or more, got f32 [4]}}
  %0 = attn.matmul %a, %b : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf64>) {
  // expected-error @below {{'attn.matmul' op expects left and right operand of one element type, got 'f32' and 'f64'}}
  %0 = attn.matmul %a, %b : (tensor<4x4xf32>, tensor<4x4xf64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4x5xf32>, %b: tensor<4x6xf32>) {
  // expected-error @below {{'attn.matmul' op expects one inner size, got '5' and '4'}}
  %0 = attn.matmul %a, %b : (tensor<4x5xf32>, tensor<4x6xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x5xf32>, %b: tensor<3x5x6xf32>) {
  // expected-error @below {{'attn.matmul' op expects leading dimensions that broadcast, got [2] and [3]}}
  %0 = attn.matmul %a, %b : (tensor<2x4x5xf32>, tensor<3x5x6xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'attn.linear' op expects a static weight of rank 2, got f32 [8]}}
  %0 = attn.linear %a, %b : (tensor<2x4xf32>, tensor<8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<8x5xf32>) {
  // expected-error @below {{'attn.linear' op expects input of width '5' as the weight [8, 5], got '4'}}
  %0 = attn.linear %a, %b : (tensor<2x4xf32>, tensor<8x5xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<8x4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{'attn.linear' op expects bias of type 'f32' [8], got f32 [4]}}
  %0 = attn.linear %a, %b, %c : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xi64>, %b: tensor<8x4xf32>) {
  // expected-error @below {{'attn.linear' op expects a float input of rank 1 or more, got i64 [2, 4]}}
  %0 = attn.linear %a, %b : (tensor<2x4xi64>, tensor<8x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xi1>) {
  // expected-error @below {{'attn.add' op expects operands of float or i64, got 'i1'}}
  %0 = attn.add %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<*xi1>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'attn.and' op expects operands of bool, got 'f32'}}
  %0 = attn.and %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'attn.mul' op expects shapes that broadcast, got [2, 4] and [2]}}
  %0 = attn.mul %a, %b : (tensor<2x4xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.not' op expects bool input, got f32 [4]}}
  %0 = attn.not %a : (tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.cast' op expects to cast to a float, integer or bool, got 'none'}}
  %0 = attn.cast %a to none : (tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi64>) {
  // expected-error @below {{'attn.scale' op expects a float input of rank 0 or more, got i64 [4]}}
  %0 = attn.scale %a by 2.0 : (tensor<4xi64>) -> tensor<*xi64>
  return
}

// -----

func.func @f(%a: tensor<4xi64>) {
  // expected-error @below {{'attn.activation' op expects a float input of rank 0 or more, got i64 [4]}}
  %0 = attn.activation <relu> %a : (tensor<4xi64>) -> tensor<*xi64>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{'attn.where' op expects a bool condition, got f32 [4]}}
  %0 = attn.where %a, %b, %c : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{'attn.where' op expects first and second value of one element type, got 'f32' and 'i64'}}
  %0 = attn.where %a, %b, %c : (tensor<4xi1>, tensor<4xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<3xi1>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{'attn.where' op expects shapes that broadcast, got [3], [4] and [4]}}
  %0 = attn.where %a, %b, %c : (tensor<3xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'attn.mask' op expects a bool mask, got f32 [4]}}
  %0 = attn.mask %a, %b with 0.0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<2x4xi1>) {
  // expected-error @below {{'attn.mask' op expects a mask that broadcasts to [4], got [2, 4]}}
  %0 = attn.mask %a, %b with 0.0 : (tensor<4xf32>, tensor<2x4xi1>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @below {{'attn.transpose' op expects a permutation of 2 dimensions, got [0, 0]}}
  %0 = attn.transpose %a [0, 0] : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[seq, 8]>>) {
  // expected-error @below {{'attn.reshape' op expects as many elements in [2, 4] as in [seq, 8], got '8' and '8*seq'}}
  %0 = attn.reshape %a to <[2, 4]> : (tensor<?x8xf32, #attn.shape<[seq, 8]>>) -> tensor<*xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'attn.concat' op expects at least one input}}
  %0 = "attn.concat"() {axis = 0 : i64} : () -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'attn.concat' op expects an axis below 1, got 1}}
  %0 = attn.concat %a, %b axis 1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>) {
  // expected-error @below {{'attn.concat' op expects inputs of one element type and rank, got f32 [2] and i64 [2]}}
  %0 = attn.concat %a, %b axis 0 : (tensor<2xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) {
  // expected-error @below {{'attn.concat' op expects inputs that differ in axis 1 only, got [2, 3] and [3, 3]}}
  %0 = attn.concat %a, %b axis 1 : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @below {{'attn.slice' op expects an axis below 2, got 2}}
  %0 = attn.slice %a axis 2 from 0 size "1" : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @below {{'attn.slice' op expects a polynomial as size, got '1+'}}
  %0 = attn.slice %a axis 1 from 0 size "1+" : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @below {{'attn.slice' op expects a range in '3', got '2' from 2}}
  %0 = attn.slice %a axis 1 from 2 size "2" : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<f32>, %b: tensor<2xi64>) {
  // expected-error @below {{'attn.gather' op expects a table of rank 1 or more, got f32 []}}
  %0 = attn.gather %a, %b : (tensor<f32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'attn.gather' op expects i64 indices, got i32 [2]}}
  %0 = attn.gather %a, %b : (tensor<4xf32>, tensor<2xi32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi64>, %b: tensor<4xf32>) {
  // expected-error @below {{'attn.embedding' op expects a static float table of rank 2, got f32 [4]}}
  %0 = attn.embedding %a, %b : (tensor<2xi64>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi32>, %b: tensor<4x4xf32>) {
  // expected-error @below {{'attn.embedding' op expects i64 ids, got i32 [2]}}
  %0 = attn.embedding %a, %b : (tensor<2xi32>, tensor<4x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  // expected-error @below {{'attn.position' op expects i64 ids, got i32 [2, 3]}}
  %0 = attn.position <column> %a : (tensor<2x3xi32>) -> tensor<*xi64>
  return
}

// -----

func.func @f(%a: tensor<2xi64>) {
  // expected-error @below {{'attn.position' op expects ids of rank 2, got [2]}}
  %0 = attn.position <column> %a : (tensor<2xi64>) -> tensor<*xi64>
  return
}

// -----

func.func @f(%a: tensor<?xi64, #attn.shape<[rows]>>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.position' op expects kind 'column' with ragged, got 'nonpad_rank'}}
  %0 = attn.position <nonpad_rank> %a ragged %s : (tensor<?xi64, #attn.shape<[rows]>>, !attn.ragged<rows, keys>) -> tensor<*xi64>
  return
}

// -----

func.func @f(%a: tensor<f32>) {
  // expected-error @below {{'attn.softmax' op expects a float input of rank 1 or more, got f32 []}}
  %0 = attn.softmax %a : (tensor<f32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'attn.layer_norm' op expects gamma of type 'f32' [4], got f32 [5]}}
  %0 = attn.layer_norm %a, %b eps 0.1 : (tensor<2x4xf32>, tensor<5xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<4xf32>, %c: tensor<2x4xf32>) {
  // expected-error @below {{'attn.layer_norm' op expects beta of type 'f32' [4], got f32 [2, 4]}}
  %0 = attn.layer_norm %a, %b, %c eps 0.1 : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{'attn.rms_norm' op expects gamma of type 'f32' [4], got f64 [4]}}
  %0 = attn.rms_norm %a, %b eps 0.1 : (tensor<2x4xf32>, tensor<4xf64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.pool' op expects [rows, d] with ragged, got [2, 3, 8]}}
  %0 = attn.pool <first> %a ragged %s : (tensor<2x3x8xf32>, !attn.ragged<rows, keys>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.pool' op expects 'batch' and no mask with ragged}}
  %0 = attn.pool <first> %a ragged %s : (tensor<?x8xf32, #attn.shape<[rows, 8]>>, !attn.ragged<rows, keys>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.pool' op expects a polynomial as batch, got '+'}}
  %0 = attn.pool <first> %a ragged %s {batch = "+"} : (tensor<?x8xf32, #attn.shape<[rows, 8]>>, !attn.ragged<rows, keys>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @below {{'attn.pool' op expects [batch, seq, d], got [2, 8]}}
  %0 = attn.pool <first> %a : (tensor<2x8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<2x4xi1>) {
  // expected-error @below {{'attn.pool' op expects a bool mask [2, 3], got i1 [2, 4]}}
  %0 = attn.pool <mean> %a mask %b : (tensor<2x3x8xf32>, tensor<2x4xi1>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf64>, %c: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op expects a key of rank 3 and one float type, got f64 [1, 4, 8]}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : (tensor<1x4x8xf32>, tensor<1x4x8xf64>, tensor<1x4x8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op expects a mask and no ragged for mask kind 'keys'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <keys> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>) {
  // expected-error @below {{'attn.sdpa' op expects no mask and ragged for mask kind 'ragged'}}
  %0 = attn.sdpa %a, %a, %a heads 2 kv_heads 2 scale 0.5 <ragged> : (tensor<?x8xf32, #attn.shape<[rows, 8]>>, tensor<?x8xf32, #attn.shape<[rows, 8]>>, tensor<?x8xf32, #attn.shape<[rows, 8]>>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op expects heads to be a positive multiple of kv_heads, got 3 and 2}}
  %0 = attn.sdpa %a, %b, %c heads 3 kv_heads 2 scale 0.5 <none> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x6xf32>, %c: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op expects query and key to be 2 and 2 heads of one size wide, got '8' and '6'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : (tensor<1x4x8xf32>, tensor<1x4x6xf32>, tensor<1x4x8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x7xf32>) {
  // expected-error @below {{'attn.sdpa' op expects value to be 2 heads wide, got '7'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x7xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x128x8xf32>, %c: tensor<1x64x8xf32>) {
  // expected-error @below {{'attn.sdpa' op expects key and value of one length, got '128' and '64'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : (tensor<1x4x8xf32>, tensor<1x128x8xf32>, tensor<1x64x8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<2x4x8xf32>, %c: tensor<2x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op expects query, key and value of one batch, got '1', '2' and '2'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : (tensor<1x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x8xf32>, %d: tensor<1x4xf32>) {
  // expected-error @below {{'attn.sdpa' op expects a bool mask for mask kind 'keys', got f32 [1, 4]}}
  %0 = attn.sdpa %a, %b, %c mask %d heads 2 kv_heads 2 scale 0.5 <keys> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x8xf32>, %d: tensor<3x4xf32>) {
  // expected-error @below {{'attn.sdpa' op expects a mask that broadcasts to [1, 2, 4, 4], got [3, 4]}}
  %0 = attn.sdpa %a, %b, %c mask %d heads 2 kv_heads 2 scale 0.5 <additive> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<3x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error @below {{'attn.ragged_batch' op expects a bool or i64 mask of rank 2, got 'tensor<4xi1>'}}
  %0 = attn.ragged_batch %a : (tensor<4xi1>) -> !attn.ragged<rows, keys>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.gather_rows' op expects an input of rank 2 or more, got f32 [4]}}
  %0 = attn.gather_rows %a, %s : (tensor<4xf32>, !attn.ragged<rows, keys>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.scatter_rows' op expects ['rows', ...], got f32 [4]}}
  %0 = attn.scatter_rows %a, %s to "2" x "2" : (tensor<4xf32>, !attn.ragged<rows, keys>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.scatter_rows' op expects a polynomial as batch, got '+'}}
  %0 = attn.scatter_rows %a, %s to "+" x "2" : (tensor<?x8xf32, #attn.shape<[rows, 8]>>, !attn.ragged<rows, keys>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op expects at least one row}}
  %0 = attn.layers %a [] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op expects rows of '#attn.row', got 1 : i64}}
  %0 = attn.layers %a [1] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op expects body 'none' to be a private 'func.func'}}
  %0 = attn.layers %a [#attn.row<@none>] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.weight @w : tensor<5xf32> = "fill([5], 1.0)"
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op expects body 'body' to have 1 parameters and 1 result, got 2 and 1}}
  %0 = attn.layers %a [#attn.row<@body>] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.weight @w : tensor<5xf32> = "fill([5], 1.0)"
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op expects 'v' to be an 'attn.weight' or 'attn.cache'}}
  %0 = attn.layers %a [#attn.row<@body, [@v]>] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.weight @w : tensor<5xf32> = "fill([5], 1.0)"
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op expects weight 'w' to have type 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = attn.layers %a [#attn.row<@body, [@w]>] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.weight @w : tensor<5xf32> = "fill([5], 1.0)"
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op expects one type for state and result, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = attn.layers %a [#attn.row<@body, [@w]>] : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

// expected-error @below {{expects a cache's heads between 1 and 2147483647, got 0}}
attn.cache @c : !attn.cache<heads 0, key 4, value 4>

// -----

// expected-error @below {{expects a cache's value between 1 and 2147483647, got 2147483648}}
attn.cache @c : !attn.cache<heads 1, key 4, value 2147483648>

// -----

// expected-error @below {{expects at most 2147483647 numbers a position in a cache, got 65536 heads of 32768 and 1}}
attn.cache @c : !attn.cache<heads 65536, key 32768, value 1>

// -----

// expected-error @below {{expects a cache's window between 0 and 2147483647, got -1}}
attn.cache @c : !attn.cache<heads 1, key 4, value 4, window -1>

// -----

attn.weight @w : tensor<4xf32> = "fill([4], 1.0)"
func.func @f() {
  // expected-error @below {{'attn.get_cache' op expects 'w' to be an 'attn.cache'}}
  %0 = attn.get_cache @w : !attn.cache<heads 1, key 4, value 4>
  return
}

// -----

attn.cache @c : !attn.cache<heads 1, key 4, value 4>
func.func @f() {
  // expected-error @below {{'attn.get_cache' op expects cache 'c' to have type '!attn.cache<heads 1, key 4, value 4>', got '!attn.cache<heads 1, key 4, value 8>'}}
  %0 = attn.get_cache @c : !attn.cache<heads 1, key 4, value 8>
  return
}

// -----

func.func @f(%p: tensor<5xf32>) {
  // expected-error @below {{'attn.rope_table' op expects i64 positions of rank 1 or more, got f32 [5]}}
  %0 = attn.rope_table %p {frequencies = array<f64: 1.0>, limit = 4 : i64} : (tensor<5xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op expects at least one frequency}}
  %0 = attn.rope_table %p {frequencies = array<f64>, limit = 4 : i64} : (tensor<5xi64>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op expects finite frequencies, got}}
  %0 = attn.rope_table %p {frequencies = array<f64: 0x7FF0000000000000>, limit = 4 : i64} : (tensor<5xi64>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op expects a finite factor, got}}
  %0 = attn.rope_table %p {frequencies = array<f64: 1.0>, factor = 0x7FF0000000000000 : f64, limit = 4 : i64} : (tensor<5xi64>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op expects a limit between 1 and 2147483647, got 0}}
  %0 = attn.rope_table %p {frequencies = array<f64: 1.0>, limit = 0 : i64} : (tensor<5xi64>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op expects a result of type 'tensor<5x4xf32>', got 'tensor<5x2xf32>'}}
  %0 = attn.rope_table %p {frequencies = array<f64: 1.0, 2.0>, limit = 4 : i64} : (tensor<5xi64>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<5x2xf64>) {
  // expected-error @below {{'attn.rope' op expects input and rotation of one element type, got 'f32' and 'f64'}}
  %0 = attn.rope %x, %r heads 2 : (tensor<5x8xf32>, tensor<5x2xf64>) -> tensor<5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<4x2xf32>) {
  // expected-error @below {{'attn.rope' op expects input and rotation of equal leading sizes, got [5, 8] and [4, 2]}}
  %0 = attn.rope %x, %r heads 2 : (tensor<5x8xf32>, tensor<4x2xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<5x2xf32>) {
  // expected-error @below {{'attn.rope' op expects heads that divide the width '8', got 3}}
  %0 = attn.rope %x, %r heads 3 : (tensor<5x8xf32>, tensor<5x2xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<5x6xf32>) {
  // expected-error @below {{'attn.rope' op expects a rotation of even width up to the head's 4, got '6'}}
  %0 = attn.rope %x, %r heads 2 : (tensor<5x8xf32>, tensor<5x6xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<5x3xf32>) {
  // expected-error @below {{'attn.rope' op expects a rotation of even width up to the head's 4, got '3'}}
  %0 = attn.rope %x, %r heads 2 : (tensor<5x8xf32>, tensor<5x3xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %c: !attn.cache<heads 2, key 4, value 4>) {
  // expected-error @below {{'attn.sdpa' op expects ragged and 'causal' with a cache}}
  %0 = attn.sdpa %x, %x, %x ragged %s cache %c heads 2 kv_heads 2 scale 1.0 <ragged>  : (tensor<?x8xf32, #attn.shape<[rows, 8]>>, tensor<?x8xf32, #attn.shape<[rows, 8]>>, tensor<?x8xf32, #attn.shape<[rows, 8]>>, !attn.ragged<rows, keys>, !attn.cache<heads 2, key 4, value 4>) -> tensor<?x8xf32, #attn.shape<[rows, 8]>>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %c: !attn.cache<heads 2, key 4, value 4>) {
  // expected-error @below {{'attn.sdpa' op expects a cache of type '!attn.cache<heads 2, key 4, value 4, window 8>', got '!attn.cache<heads 2, key 4, value 4>'}}
  %0 = attn.sdpa %x, %x, %x ragged %s cache %c heads 2 kv_heads 2 scale 1.0 <ragged> {causal, window = 8 : i64} : (tensor<?x8xf32, #attn.shape<[rows, 8]>>, tensor<?x8xf32, #attn.shape<[rows, 8]>>, tensor<?x8xf32, #attn.shape<[rows, 8]>>, !attn.ragged<rows, keys>, !attn.cache<heads 2, key 4, value 4>) -> tensor<?x8xf32, #attn.shape<[rows, 8]>>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %c: !attn.cache<heads 1, key 8, value 8>) {
  // expected-error @below {{'attn.sdpa' op expects a cache of type '!attn.cache<heads 2, key 4, value 4>', got '!attn.cache<heads 1, key 8, value 8>'}}
  %0 = attn.sdpa %x, %x, %x ragged %s cache %c heads 2 kv_heads 2 scale 1.0 <ragged> {causal} : (tensor<?x8xf32, #attn.shape<[rows, 8]>>, tensor<?x8xf32, #attn.shape<[rows, 8]>>, tensor<?x8xf32, #attn.shape<[rows, 8]>>, !attn.ragged<rows, keys>, !attn.cache<heads 1, key 8, value 8>) -> tensor<?x8xf32, #attn.shape<[rows, 8]>>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %b: tensor<2x4xf32>) {
  // expected-error @below {{'attn.sdpa' op expects a relative bias [2, an odd number] of the query's type, got f32 [2, 4]}}
  %0 = attn.sdpa %x, %x, %x relative_bias %b heads 2 kv_heads 2 scale 1.0 <none> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<2x4xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %a: tensor<3xf32>) {
  // expected-error @below {{'attn.sdpa' op expects slopes of type 'f32' [2], got f32 [3]}}
  %0 = attn.sdpa %x, %x, %x slopes %a heads 2 kv_heads 2 scale 1.0 <none> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<3xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %c: !attn.cache<heads 1, key 4, value 4>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.cache @c : !attn.cache<heads 1, key 4, value 8>
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op expects cache 'c' to have type '!attn.cache<heads 1, key 4, value 4>', got '!attn.cache<heads 1, key 4, value 8>'}}
  %0 = attn.layers %a [#attn.row<@body, [@c]>] : tensor<4xf32> -> tensor<4xf32>
  return
}
