// Entry and module attributes, one case for each rule.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'func.func' op expects at most 1 as 'kern.inputs', got 2 : i64}}
func.func private @f(!kern.buffer<[rows, 8] x f32>) attributes {kern.inputs = 2 : i64}

// -----

// expected-error @below {{'func.func' op expects a number as 'kern.inputs', got "2"}}
func.func private @f(!kern.buffer<[rows, 8] x f32>) attributes {kern.inputs = "2"}

// -----

// expected-error @below {{'func.func' op expects a list of names as 'kern.symbols', got [1]}}
func.func private @f() attributes {kern.symbols = [1]}

// -----

// expected-error @below {{'func.func' op expects a size as 'kern.arena_bytes', got "rows*"}}
func.func private @f() attributes {kern.arena_bytes = "rows*"}

// -----

// expected-error @below {{'func.func' op expects a size as 'kern.arena_lower_bound', got 64 : i64}}
func.func private @f() attributes {kern.arena_lower_bound = 64}

// -----

// expected-error @below {{'func.func' op expects a list of 'offset', 'bytes' and 'location' as 'kern.buffers', got [{bytes = "64", offset = "rows*"}]}}
func.func private @f() attributes {kern.buffers = [{offset = "rows*", bytes = "64"}]}

// -----

// expected-error @below {{'func.func' op expects a list of 'offset', 'bytes' and 'location' as 'kern.buffers', got [{bytes = "64", first = -1 : i64, location = "x", offset = "0"}]}}
func.func private @f() attributes {kern.buffers = [{offset = "0", bytes = "64", location = "x", first = -1 : i64}]}

// -----

// expected-error @below {{'func.func' op expects a list of names as 'kern.memory_steps', got [1]}}
func.func private @f() attributes {kern.memory_steps = [1]}

// -----

// expected-error @below {{'builtin.module' op expects a number as 'kern.weight_bytes', got -64 : i64}}
module attributes {kern.weight_bytes = -64 : i64} {}

// -----

// expected-error @below {{'builtin.module' op expects a list of 'window', 'type', 'layers' and 'bytes' as 'kern.cache_groups', got [{window = 0 : i64}]}}
module attributes {kern.cache_groups = [{window = 0 : i64}]} {}

// -----

// expected-error @below {{'func.func' op expects 'kern.weight_bytes' on a module}}
func.func private @f() attributes {kern.weight_bytes = 64 : i64}

// -----

// expected-error @below {{'builtin.module' op expects 'kern.symbols' on a function}}
module attributes {kern.symbols = ["rows"]} {}
