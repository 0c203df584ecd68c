// REFUSED a long transform: a Fourier transform of length (4,) of an array of size (3,)
func.func @main(%x: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
 %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
 return %0 : tensor<3xcomplex<f32>> }
// -----
// REFUSED swapped lengths of a transform: a Fourier transform of length (3, 2) of an array of size (5, 2, 3)
func.func @main(%x: tensor<5x2x3xcomplex<f32>>) -> tensor<5x2x3xcomplex<f32>> {
 %0 = stablehlo.fft %x, type = IFFT, length = [3, 2] : (tensor<5x2x3xcomplex<f32>>) -> tensor<5x2x3xcomplex<f32>>
 return %0 : tensor<5x2x3xcomplex<f32>> }
// -----
// REFUSED dup names: 2 arguments are called 'x'
func.func @main(%x: tensor<f32> {hlograph.name="x"}, %y: tensor<f32> {hlograph.name="x"}) -> tensor<f32> { return %x : tensor<f32> }
// -----
// REFUSED module attr: attribute 'hlograph.nothing' is unknown (known there: digest, format, from,
module attributes {hlograph.nothing=1:i32} { func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> } }
// -----
// RUNS flags ok
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<1xi1> {hlograph.flags=true}) attributes {hlograph.checks=[["AssertionError","m"]]} { %f = stablehlo.constant dense<true> : tensor<1xi1>
 return %x, %f : tensor<f32>, tensor<1xi1> }
// -----
// REFUSED flags long: the last result is tensor<2xi1>, and the flags of 1 checks are bool[1]
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<2xi1> {hlograph.flags=true}) attributes {hlograph.checks=[["AssertionError","m"]]} { %f = stablehlo.constant dense<true> : tensor<2xi1>
 return %x, %f : tensor<f32>, tensor<2xi1> }
// -----
// REFUSED flags place: the last result is tensor<1xi1>, and the flags of 1 checks are int32[1
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<1xi1> {hlograph.flags=true}) attributes {hlograph.checks=[["AssertionError","m","step {}"]]} { %f = stablehlo.constant dense<true> : tensor<1xi1>
 return %x, %f : tensor<f32>, tensor<1xi1> }
// -----
// REFUSED flags empty: hlograph.flags marks the results [1], and the last one alone holds the flag
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<1xi1> {hlograph.flags=true}) attributes {hlograph.checks=[]} { %f = stablehlo.constant dense<true> : tensor<1xi1>
 return %x, %f : tensor<f32>, tensor<1xi1> }
// -----
// REFUSED flags unmarked: hlograph.flags marks the results [], and the last one alone holds the flags
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<1xi1> {}) attributes {hlograph.checks=[["AssertionError","m"]]} { %f = stablehlo.constant dense<true> : tensor<1xi1>
 return %x, %f : tensor<f32>, tensor<1xi1> }
// -----
// RUNS flags odd exc2
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<1xi1> {hlograph.flags=true}) attributes {hlograph.checks=[["hlograph.zzz.Err(BaseException)","m {0.__class__}"]]} { %f = stablehlo.constant dense<false> : tensor<1xi1>
 return %x, %f : tensor<f32>, tensor<1xi1> }
// -----
// RUNS flags keyboard
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<1xi1> {hlograph.flags=true}) attributes {hlograph.checks=[["SystemExit","m"]]} { %f = stablehlo.constant dense<false> : tensor<1xi1>
 return %x, %f : tensor<f32>, tensor<1xi1> }
// -----
// REFUSED marker no counts: the size 'c' has 1 calls of @hlograph.size and is 0 times in hlograph.
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  { %k = stablehlo.constant dense<2> : tensor<i64>
 %s = stablehlo.custom_call @hlograph.size(%k) {hlograph.dim="c", api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
 return %x : tensor<?xf32> }
// -----
// REFUSED marker self bound: the bound of the size c has the size 'c', which is no size or value of an a
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.counts=[["c","c"]]} { %k = stablehlo.constant dense<2> : tensor<i64>
 %s = stablehlo.custom_call @hlograph.size(%k) {hlograph.dim="c", hlograph.bound="c", api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
 return %x : tensor<?xf32> }
// -----
// REFUSED marker div: attribute 'hlograph.bound' is no size: (n)//0, on stablehlo.custom_cal
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.counts=[["c","n"]]} { %k = stablehlo.constant dense<2> : tensor<i64>
 %s = stablehlo.custom_call @hlograph.size(%k) {hlograph.dim="c", hlograph.bound="n//0", api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
 return %x : tensor<?xf32> }
// -----
// RUNS marker ok
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.counts=[["c",""]]} { %k = stablehlo.constant dense<2> : tensor<i64>
 %s = stablehlo.custom_call @hlograph.size(%k) {hlograph.dim="c", api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
 return %x : tensor<?xf32> }
// -----
// REFUSED marker twice: the size 'c' has 2 calls of @hlograph.size and is 1 times in hlograph.
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.counts=[["c",""]]} { %k = stablehlo.constant dense<2> : tensor<i64>
 %s = stablehlo.custom_call @hlograph.size(%k) {hlograph.dim="c", api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
%k2 = stablehlo.constant dense<2> : tensor<i64>
 %s2 = stablehlo.custom_call @hlograph.size(%k2) {hlograph.dim="c", api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
 return %x : tensor<?xf32> }
// -----
// REFUSED marker no dim: custom call 'hlograph.size' does not fit what runs under this name: it
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  { %k = stablehlo.constant dense<2> : tensor<i64>
 %s = stablehlo.custom_call @hlograph.size(%k) {api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
 return %x : tensor<?xf32> }
// -----
// REFUSED op value: attribute 'hlograph.value' is no size: (n)//0, on stablehlo.constant
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  { %a = stablehlo.constant {hlograph.value = "n//0"} dense<1> : tensor<i64>
 return %x : tensor<?xf32> }
// -----
// RUNS op value lies
func.func @main(%x: tensor<?xf32> {hlograph.dims=["n"]}) -> (tensor<?xf32> {hlograph.dims=["n-1"]}) { %d = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
 %s = stablehlo.reshape %d {hlograph.value="n-1"} : (tensor<i32>) -> tensor<1xi32>
 %z = stablehlo.constant dense<0> : tensor<1xi32>
 %o = stablehlo.constant dense<1> : tensor<1xi32>
 %y = stablehlo.real_dynamic_slice %x, %z, %s, %o : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
 return %y : tensor<?xf32> }
// -----
// REFUSED op live: attribute 'hlograph.live' is no size: (n)//0, on stablehlo.add
func.func @main(%x: tensor<f32> {hlograph.name = "x"}) -> (tensor<f32> {})  { %a = stablehlo.add %x, %x {hlograph.live=["n//0"]} : tensor<f32>
 return %x : tensor<f32> }
// -----
// RUNS pullback hlograph.of=["0"], hlograph.from=["0"]
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {hlograph.of=["0"], hlograph.from=["0"]} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED pullback hlograph.of=["0"]: has the op builtin.module, which is not StableHLO
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {hlograph.of=["0"]} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED pullback hlograph.of=["1"], hlograph.from=["0"]: @pullback is not the pullback of (arg0: float32[]) -> (result0: float3
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {hlograph.of=["1"], hlograph.from=["0"]} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED pullback hlograph.of=["x"], hlograph.from=["0"]: the attributes of @pullback cannot be read: invalid literal for int()
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {hlograph.of=["x"], hlograph.from=["0"]} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED pullback hlograph.of=[0], hlograph.from=[0]: the attributes of @pullback cannot be read
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {hlograph.of=[0], hlograph.from=[0]} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED pullback : has the op builtin.module, which is not StableHLO
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED no main: has no function @main (functions: "f")
func.func private @f() { return }
// -----
// REFUSED tuple: the attributes of @main cannot be read
func.func @main(%x: tuple<tensor<f32>>) -> tuple<tensor<f32>> { return %x : tuple<tensor<f32>> }
// -----
// REFUSED quant: `!"quant"<"uniform<i8:f32, 0.1>">` type created with unregistered dial
func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.1>>) -> tensor<4x!quant.uniform<i8:f32, 0.1>> { return %x : tensor<4x!quant.uniform<i8:f32, 0.1>> }
// -----
// REFUSED index: element type index has no numpy dtype
func.func @main(%x: tensor<4xindex>) -> tensor<4xindex> { return %x : tensor<4xindex> }
// -----
// REFUSED unranked: the attributes of @main cannot be read
func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> { return %x : tensor<*xf32> }
// -----
// REFUSED i7: has no numpy dtype
func.func @main(%x: tensor<4xi7>) -> tensor<4xi7> { return %x : tensor<4xi7> }
// -----
// REFUSED broadcast transposed dot: result 0 is tensor<1000000x1000000xf32> of 4000000000000 bytes, and th
func.func @main(%x: tensor<1000000x1xf32>) -> tensor<1000000x1000000xf32> { %t = stablehlo.transpose %x, dims=[1,0] : (tensor<1000000x1xf32>) -> tensor<1x1000000xf32>
 %d = stablehlo.dot_general %x, %t, contracting_dims=[1]x[0] : (tensor<1000000x1xf32>, tensor<1x1000000xf32>) -> tensor<1000000x1000000xf32>
 return %d : tensor<1000000x1000000xf32> }
// -----
// RUNS sort odd cmp
func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> { %s = "stablehlo.sort"(%x) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %t = stablehlo.constant dense<true> : tensor<i1>
 stablehlo.return %t : tensor<i1> }) {dimension=0:i64, is_stable=false} : (tensor<1000xf32>) -> tensor<1000xf32>
 return %s : tensor<1000xf32> }
// -----
// RUNS reduce_window dilation
func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> { %z = stablehlo.constant dense<0.0> : tensor<f32>
%r = "stablehlo.reduce_window"(%x, %z) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %t = stablehlo.add %a, %b : tensor<f32>
 stablehlo.return %t : tensor<f32> }) {window_dimensions=array<i64: 2>, window_dilations=array<i64: 4611686018427387904>, base_dilations=array<i64: 4611686018427387904>} : (tensor<4xf32>, tensor<f32>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// REFUSED dynreshape lies: output_shape is incompatible with input type of operation: input has 4
func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> { %s = stablehlo.constant dense<[8]> : tensor<1xi64>
 %r = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// REFUSED dynbroadcast neg: output shape [-4] is incompatible with return type of operation 'tenso
func.func @main(%x: tensor<f32>) -> tensor<?xf32> { %s = stablehlo.constant dense<[-4]> : tensor<1xi64>
 %r = stablehlo.dynamic_broadcast_in_dim %x, %s, dims=[] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// RUNS geqrf 0
func.func @main(%x: tensor<0x3xf32>) -> tensor<0x3xf32> { %r:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%x) {mhlo.backend_config={}} : (tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<0xf32>)
 return %r#0 : tensor<0x3xf32> }
// -----
// REFUSED sytrd 0: custom call 'lapack_ssytrd_ffi' does not fit what runs under this name
func.func @main(%x: tensor<0x0xf32>) -> tensor<0x0xf32> { %r:5 = stablehlo.custom_call @lapack_ssytrd_ffi(%x) {mhlo.backend_config={uplo=76:ui8}} : (tensor<0x0xf32>) -> (tensor<0x0xf32>, tensor<0xf32>, tensor<0xf32>, tensor<0xf32>, tensor<i32>)
 return %r#0 : tensor<0x0xf32> }
// -----
// RUNS gesdd 0
func.func @main(%x: tensor<0x3xf32>) -> tensor<0x3xf32> { %r:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%x) {mhlo.backend_config={mode=65:ui8}} : (tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<0xf32>, tensor<0x0xf32>, tensor<3x3xf32>, tensor<i32>)
 return %r#0 : tensor<0x3xf32> }
// -----
// RUNS orgqr k0
func.func @main(%x: tensor<3x3xf32>, %t: tensor<0xf32>) -> tensor<3x3xf32> { %r = stablehlo.custom_call @lapack_sorgqr_ffi(%x,%t) {mhlo.backend_config={}} : (tensor<3x3xf32>, tensor<0xf32>) -> tensor<3x3xf32>
 return %r : tensor<3x3xf32> }
// -----
// RUNS shape_assertion
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %f = stablehlo.constant dense<false> : tensor<i1>
stablehlo.custom_call @shape_assertion(%f) {api_version=2:i32,error_message="no {0} {5}",has_side_effect=true} : (tensor<i1>) -> ()
 return %x : tensor<4xf32> }
// -----
// RUNS dyn red win odd
func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> { %r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x) {api_version=2:i32,called_computations=[]} : (tensor<4xf32>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// RUNS dyn topk odd
func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> { %r:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x) {api_version=2:i32} : (tensor<4xf32>) -> (tensor<?xf32>, tensor<?xi32>)
 return %r#0 : tensor<?xf32> }
// -----
// RUNS dyn rng odd
func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> { %r = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%x) {api_version=2:i32} : (tensor<4xf32>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// REFUSED dyn approx odd: stablehlo.dynamic_approx_top_k
func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> { %r = stablehlo.custom_call @stablehlo.dynamic_approx_top_k(%x) {api_version=2:i32} : (tensor<4xf32>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// RUNS hlfft odd
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %r = stablehlo.custom_call @hlograph.fft(%x) {api_version=4:i32,backend_config={kind="FFT",rank=1:i64}} : (tensor<4xf32>) -> tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// RUNS hllib odd
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %r = stablehlo.custom_call @hlograph.library(%x) {api_version=4:i32,backend_config={name="eig"}} : (tensor<4xf32>) -> tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// REFUSED frontend small: tells XLA's compiler 'xla_cpu_small_call' on func.call, which can end
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %r = func.call @f(%x) {mhlo.frontend_attributes={xla_cpu_small_call="true",inlineable="false"}} : (tensor<4xf32>) -> tensor<4xf32>
 return %r : tensor<4xf32> } func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> { %k = stablehlo.constant dense<1.0> : tensor<4xf32>
 return %k : tensor<4xf32> }
// -----
// RUNS alias wrong
func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 9 : i32}) -> tensor<4xf32> { %r = stablehlo.add %x, %x : tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// REFUSED function as a value: has the op func.constant, which is not StableHLO
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
 %f = func.constant @g : (tensor<2xf64>) -> tensor<2xf64>
 %r = func.call_indirect %f(%x) : (tensor<2xf64>) -> tensor<2xf64>
 return %r : tensor<2xf64> }
func.func private @g(%x: tensor<2xf64>) -> tensor<2xf64> { return %x : tensor<2xf64> }
