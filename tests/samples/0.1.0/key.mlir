module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 a982a81c92f6a21eddf5c955cb10ef6aa0a389176706122181e26a92a25a8794", hlograph.format = "1"} {
  func.func public @main(%key: tensor<2xui32> {hlograph.dims = ["2"], hlograph.key = "threefry2x32", hlograph.name = "key"}, %loc: tensor<?xf64> {hlograph.dims = ["n"], hlograph.name = "loc"}) -> (tensor<?xf64> {hlograph.dims = ["n"], hlograph.name = "out0"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<1xf32>
    %0 = call @split(%key) : (tensor<2xui32>) -> tensor<1x2xui32>
    %1 = stablehlo.reshape %0 : (tensor<1x2xui32>) -> tensor<2xui32>
    %2 = call @normal(%1, %loc, %cst) : (tensor<2xui32>, tensor<?xf64>, tensor<1xf32>) -> tensor<?xf64>
    return %2 : tensor<?xf64>
  }
  func.func private @split(%arg0: tensor<2xui32>) -> tensor<1x2xui32> {
    %c = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %c_0 = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_1 = stablehlo.constant dense<466688986> : tensor<ui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %c_3 = stablehlo.constant dense<5> : tensor<i64>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %c_5 = stablehlo.constant dense<32> : tensor<ui32>
    %c_6 = stablehlo.constant dense<32> : tensor<ui64>
    %c_7 = stablehlo.constant dense<1> : tensor<ui64>
    %0 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %1 = stablehlo.reshape %0 : (tensor<1xui32>) -> tensor<ui32>
    %2 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %3 = stablehlo.reshape %2 : (tensor<1xui32>) -> tensor<ui32>
    %4 = stablehlo.iota dim = 0 : tensor<1xui64>
    %5 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<ui64>) -> tensor<1xui64>
    %6 = stablehlo.multiply %5, %4 : tensor<1xui64>
    %7 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<ui64>) -> tensor<1xui64>
    %8 = stablehlo.shift_right_logical %6, %7 : tensor<1xui64>
    %9 = stablehlo.convert %6 : (tensor<1xui64>) -> tensor<1xui32>
    %10 = stablehlo.convert %8 : (tensor<1xui64>) -> tensor<1xui32>
    %11 = stablehlo.xor %1, %3 : tensor<ui32>
    %12 = stablehlo.xor %11, %c_1 : tensor<ui32>
    %13 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %14 = stablehlo.add %10, %13 : tensor<1xui32>
    %15 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %16 = stablehlo.add %9, %15 : tensor<1xui32>
    %17:9 = stablehlo.while(%iterArg = %c_2, %iterArg_8 = %c_2, %iterArg_9 = %14, %iterArg_10 = %16, %iterArg_11 = %3, %iterArg_12 = %12, %iterArg_13 = %1, %iterArg_14 = %c_0, %iterArg_15 = %c) : tensor<i64>, tensor<i64>, tensor<1xui32>, tensor<1xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %21 = stablehlo.compare LT, %iterArg, %c_3, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %21 : tensor<i1>
    } do {
      %21 = stablehlo.add %iterArg_8, %c_4 : tensor<i64>
      %22 = stablehlo.slice %iterArg_14 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
      %23 = stablehlo.reshape %22 : (tensor<1xui32>) -> tensor<ui32>
      %24 = stablehlo.slice %iterArg_14 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
      %25 = stablehlo.reshape %24 : (tensor<1xui32>) -> tensor<ui32>
      %26 = stablehlo.slice %iterArg_14 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
      %27 = stablehlo.reshape %26 : (tensor<1xui32>) -> tensor<ui32>
      %28 = stablehlo.slice %iterArg_14 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
      %29 = stablehlo.reshape %28 : (tensor<1xui32>) -> tensor<ui32>
      %30 = stablehlo.add %iterArg_9, %iterArg_10 : tensor<1xui32>
      %31 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %32 = stablehlo.shift_left %iterArg_10, %31 : tensor<1xui32>
      %33 = stablehlo.subtract %c_5, %23 : tensor<ui32>
      %34 = stablehlo.broadcast_in_dim %33, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %35 = stablehlo.shift_right_logical %iterArg_10, %34 : tensor<1xui32>
      %36 = stablehlo.or %32, %35 : tensor<1xui32>
      %37 = stablehlo.xor %30, %36 : tensor<1xui32>
      %38 = stablehlo.add %30, %37 : tensor<1xui32>
      %39 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %40 = stablehlo.shift_left %37, %39 : tensor<1xui32>
      %41 = stablehlo.subtract %c_5, %25 : tensor<ui32>
      %42 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %43 = stablehlo.shift_right_logical %37, %42 : tensor<1xui32>
      %44 = stablehlo.or %40, %43 : tensor<1xui32>
      %45 = stablehlo.xor %38, %44 : tensor<1xui32>
      %46 = stablehlo.add %38, %45 : tensor<1xui32>
      %47 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %48 = stablehlo.shift_left %45, %47 : tensor<1xui32>
      %49 = stablehlo.subtract %c_5, %27 : tensor<ui32>
      %50 = stablehlo.broadcast_in_dim %49, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %51 = stablehlo.shift_right_logical %45, %50 : tensor<1xui32>
      %52 = stablehlo.or %48, %51 : tensor<1xui32>
      %53 = stablehlo.xor %46, %52 : tensor<1xui32>
      %54 = stablehlo.add %46, %53 : tensor<1xui32>
      %55 = stablehlo.broadcast_in_dim %29, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %56 = stablehlo.shift_left %53, %55 : tensor<1xui32>
      %57 = stablehlo.subtract %c_5, %29 : tensor<ui32>
      %58 = stablehlo.broadcast_in_dim %57, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %59 = stablehlo.shift_right_logical %53, %58 : tensor<1xui32>
      %60 = stablehlo.or %56, %59 : tensor<1xui32>
      %61 = stablehlo.xor %54, %60 : tensor<1xui32>
      %62 = stablehlo.broadcast_in_dim %iterArg_11, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %63 = stablehlo.add %54, %62 : tensor<1xui32>
      %64 = stablehlo.broadcast_in_dim %iterArg_12, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %65 = stablehlo.add %61, %64 : tensor<1xui32>
      %66 = stablehlo.convert %21 : (tensor<i64>) -> tensor<ui32>
      %67 = stablehlo.broadcast_in_dim %66, dims = [] : (tensor<ui32>) -> tensor<1xui32>
      %68 = stablehlo.add %65, %67 : tensor<1xui32>
      %69 = stablehlo.add %iterArg, %c_4 : tensor<i64>
      stablehlo.return %69, %21, %63, %68, %iterArg_12, %iterArg_13, %iterArg_11, %iterArg_15, %iterArg_14 : tensor<i64>, tensor<i64>, tensor<1xui32>, tensor<1xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    }
    %18 = stablehlo.broadcast_in_dim %17#2, dims = [0] : (tensor<1xui32>) -> tensor<1x1xui32>
    %19 = stablehlo.broadcast_in_dim %17#3, dims = [0] : (tensor<1xui32>) -> tensor<1x1xui32>
    %20 = stablehlo.concatenate %18, %19, dim = 1 : (tensor<1x1xui32>, tensor<1x1xui32>) -> tensor<1x2xui32>
    return %20 : tensor<1x2xui32>
  }
  func.func private @normal(%arg0: tensor<2xui32>, %arg1: tensor<?xf64>, %arg2: tensor<1xf32>) -> tensor<?xf64> {
    %c = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %c_0 = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_1 = stablehlo.constant dense<466688986> : tensor<ui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %c_3 = stablehlo.constant dense<5> : tensor<i64>
    %c_4 = stablehlo.constant dense<32> : tensor<ui32>
    %c_5 = stablehlo.constant dense<1> : tensor<ui64>
    %c_6 = stablehlo.constant dense<32> : tensor<ui64>
    %c_7 = stablehlo.constant dense<12> : tensor<ui64>
    %c_8 = stablehlo.constant dense<4607182418800017408> : tensor<ui64>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_9 = stablehlo.constant dense<-0.99999999999999988> : tensor<f64>
    %cst_10 = stablehlo.constant dense<1.4142135623730951> : tensor<f64>
    %cst_11 = stablehlo.constant dense<6.250000e+00> : tensor<f64>
    %cst_12 = stablehlo.constant dense<1.600000e+01> : tensor<f64>
    %cst_13 = stablehlo.constant dense<3.125000e+00> : tensor<f64>
    %cst_14 = stablehlo.constant dense<3.250000e+00> : tensor<f64>
    %cst_15 = stablehlo.constant dense<5.000000e+00> : tensor<f64>
    %cst_16 = stablehlo.constant dense<-3.6444120640178197E-21> : tensor<f64>
    %cst_17 = stablehlo.constant dense<2.2137376921775787E-9> : tensor<f64>
    %cst_18 = stablehlo.constant dense<-2.7109920616438573E-11> : tensor<f64>
    %cst_19 = stablehlo.constant dense<-1.6850591381820166E-19> : tensor<f64>
    %cst_20 = stablehlo.constant dense<9.075656193888539E-8> : tensor<f64>
    %cst_21 = stablehlo.constant dense<-2.5556418169965252E-10> : tensor<f64>
    %cst_22 = stablehlo.constant dense<1.28584807152564E-18> : tensor<f64>
    %cst_23 = stablehlo.constant dense<-2.7517406297064545E-7> : tensor<f64>
    %cst_24 = stablehlo.constant dense<1.5076572693500548E-9> : tensor<f64>
    %cst_25 = stablehlo.constant dense<1.1157877678025181E-17> : tensor<f64>
    %cst_26 = stablehlo.constant dense<1.8239629214389228E-8> : tensor<f64>
    %cst_27 = stablehlo.constant dense<-3.789465440126737E-9> : tensor<f64>
    %cst_28 = stablehlo.constant dense<-1.3331716628546209E-16> : tensor<f64>
    %cst_29 = stablehlo.constant dense<1.5027403968909828E-6> : tensor<f64>
    %cst_30 = stablehlo.constant dense<7.6157012080783394E-9> : tensor<f64>
    %cst_31 = stablehlo.constant dense<2.0972767875968562E-17> : tensor<f64>
    %cst_32 = stablehlo.constant dense<-4.013867526981546E-6> : tensor<f64>
    %cst_33 = stablehlo.constant dense<-1.496002662714924E-8> : tensor<f64>
    %cst_34 = stablehlo.constant dense<6.6376381343583238E-15> : tensor<f64>
    %cst_35 = stablehlo.constant dense<2.9234449089955446E-6> : tensor<f64>
    %cst_36 = stablehlo.constant dense<2.9147953450901081E-8> : tensor<f64>
    %cst_37 = stablehlo.constant dense<-4.0545662729752069E-14> : tensor<f64>
    %cst_38 = stablehlo.constant dense<1.2475304481671779E-5> : tensor<f64>
    %cst_39 = stablehlo.constant dense<-6.7711997758452339E-8> : tensor<f64>
    %cst_40 = stablehlo.constant dense<-8.1519341976054721E-14> : tensor<f64>
    %cst_41 = stablehlo.constant dense<-4.7318229009055734E-5> : tensor<f64>
    %cst_42 = stablehlo.constant dense<2.2900482228026655E-7> : tensor<f64>
    %cst_43 = stablehlo.constant dense<2.6335093153082323E-12> : tensor<f64>
    %cst_44 = stablehlo.constant dense<6.8284851459573175E-5> : tensor<f64>
    %cst_45 = stablehlo.constant dense<-9.9298272942317003E-7> : tensor<f64>
    %cst_46 = stablehlo.constant dense<-1.2975133253453532E-11> : tensor<f64>
    %cst_47 = stablehlo.constant dense<2.4031110387097894E-5> : tensor<f64>
    %cst_48 = stablehlo.constant dense<4.5260625972231537E-6> : tensor<f64>
    %cst_49 = stablehlo.constant dense<-5.4154120542946279E-11> : tensor<f64>
    %cst_50 = stablehlo.constant dense<-3.5503752036284748E-4> : tensor<f64>
    %cst_51 = stablehlo.constant dense<-1.9681778105531671E-5> : tensor<f64>
    %cst_52 = stablehlo.constant dense<1.0512122733215323E-9> : tensor<f64>
    %cst_53 = stablehlo.constant dense<9.5328937973738049E-4> : tensor<f64>
    %cst_54 = stablehlo.constant dense<7.5995277030017761E-5> : tensor<f64>
    %cst_55 = stablehlo.constant dense<-4.1126339803469837E-9> : tensor<f64>
    %cst_56 = stablehlo.constant dense<-0.0016882755560235047> : tensor<f64>
    %cst_57 = stablehlo.constant dense<-2.1503011930044477E-4> : tensor<f64>
    %cst_58 = stablehlo.constant dense<-2.9070369957882005E-8> : tensor<f64>
    %cst_59 = stablehlo.constant dense<0.0024914420961078508> : tensor<f64>
    %cst_60 = stablehlo.constant dense<-1.3871931833623122E-4> : tensor<f64>
    %cst_61 = stablehlo.constant dense<4.2347877827932404E-7> : tensor<f64>
    %cst_62 = stablehlo.constant dense<-0.0037512085075692412> : tensor<f64>
    %cst_63 = stablehlo.constant dense<1.0103004648645344> : tensor<f64>
    %cst_64 = stablehlo.constant dense<-1.3654692000834679E-6> : tensor<f64>
    %cst_65 = stablehlo.constant dense<0.0053709145535900636> : tensor<f64>
    %cst_66 = stablehlo.constant dense<4.8499064014085844> : tensor<f64>
    %cst_67 = stablehlo.constant dense<-1.3882523362786469E-5> : tensor<f64>
    %cst_68 = stablehlo.constant dense<1.0052589676941592> : tensor<f64>
    %cst_69 = stablehlo.constant dense<1.8673420803405714E-4> : tensor<f64>
    %cst_70 = stablehlo.constant dense<3.0838856104922208> : tensor<f64>
    %cst_71 = stablehlo.constant dense<-7.4070253416626698E-4> : tensor<f64>
    %cst_72 = stablehlo.constant dense<-0.0060336708714301491> : tensor<f64>
    %cst_73 = stablehlo.constant dense<0.24015818242558962> : tensor<f64>
    %cst_74 = stablehlo.constant dense<1.6536545626831027> : tensor<f64>
    %cst_75 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %c_76 = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.convert %arg2 : (tensor<1xf32>) -> tensor<1xf64>
    %3 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %5 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %6 = stablehlo.reshape %5 : (tensor<1xui32>) -> tensor<ui32>
    %7 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %8 = stablehlo.reshape %7 : (tensor<1xui32>) -> tensor<ui32>
    %9 = stablehlo.convert %1 : (tensor<i64>) -> tensor<i32>
    %10 = stablehlo.reshape %9 : (tensor<i32>) -> tensor<1xi32>
    %11 = stablehlo.dynamic_iota %10, dim = 0 : (tensor<1xi32>) -> tensor<?xui64>
    %12 = stablehlo.dynamic_broadcast_in_dim %c_5, %10, dims = [] : (tensor<ui64>, tensor<1xi32>) -> tensor<?xui64>
    %13 = stablehlo.multiply %12, %11 : tensor<?xui64>
    %14 = stablehlo.dynamic_broadcast_in_dim %c_6, %10, dims = [] : (tensor<ui64>, tensor<1xi32>) -> tensor<?xui64>
    %15 = stablehlo.shift_right_logical %13, %14 : tensor<?xui64>
    %16 = stablehlo.convert %13 : (tensor<?xui64>) -> tensor<?xui32>
    %17 = stablehlo.convert %15 : (tensor<?xui64>) -> tensor<?xui32>
    %18 = stablehlo.xor %6, %8 : tensor<ui32>
    %19 = stablehlo.xor %18, %c_1 : tensor<ui32>
    %20 = stablehlo.dynamic_broadcast_in_dim %6, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
    %21 = stablehlo.add %17, %20 : tensor<?xui32>
    %22 = stablehlo.dynamic_broadcast_in_dim %8, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
    %23 = stablehlo.add %16, %22 : tensor<?xui32>
    %24:9 = stablehlo.while(%iterArg = %c_2, %iterArg_77 = %c_2, %iterArg_78 = %21, %iterArg_79 = %23, %iterArg_80 = %8, %iterArg_81 = %19, %iterArg_82 = %6, %iterArg_83 = %c_0, %iterArg_84 = %c) : tensor<i64>, tensor<i64>, tensor<?xui32>, tensor<?xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %221 = stablehlo.compare LT, %iterArg, %c_3, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %221 : tensor<i1>
    } do {
      %221 = stablehlo.add %iterArg_77, %c_76 : tensor<i64>
      %222 = stablehlo.slice %iterArg_83 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
      %223 = stablehlo.reshape %222 : (tensor<1xui32>) -> tensor<ui32>
      %224 = stablehlo.slice %iterArg_83 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
      %225 = stablehlo.reshape %224 : (tensor<1xui32>) -> tensor<ui32>
      %226 = stablehlo.slice %iterArg_83 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
      %227 = stablehlo.reshape %226 : (tensor<1xui32>) -> tensor<ui32>
      %228 = stablehlo.slice %iterArg_83 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
      %229 = stablehlo.reshape %228 : (tensor<1xui32>) -> tensor<ui32>
      %230 = stablehlo.add %iterArg_78, %iterArg_79 : tensor<?xui32>
      %231 = stablehlo.dynamic_broadcast_in_dim %223, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %232 = stablehlo.shift_left %iterArg_79, %231 : tensor<?xui32>
      %233 = stablehlo.subtract %c_4, %223 : tensor<ui32>
      %234 = stablehlo.dynamic_broadcast_in_dim %233, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %235 = stablehlo.shift_right_logical %iterArg_79, %234 : tensor<?xui32>
      %236 = stablehlo.or %232, %235 : tensor<?xui32>
      %237 = stablehlo.xor %230, %236 : tensor<?xui32>
      %238 = stablehlo.add %230, %237 : tensor<?xui32>
      %239 = stablehlo.dynamic_broadcast_in_dim %225, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %240 = stablehlo.shift_left %237, %239 : tensor<?xui32>
      %241 = stablehlo.subtract %c_4, %225 : tensor<ui32>
      %242 = stablehlo.dynamic_broadcast_in_dim %241, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %243 = stablehlo.shift_right_logical %237, %242 : tensor<?xui32>
      %244 = stablehlo.or %240, %243 : tensor<?xui32>
      %245 = stablehlo.xor %238, %244 : tensor<?xui32>
      %246 = stablehlo.add %238, %245 : tensor<?xui32>
      %247 = stablehlo.dynamic_broadcast_in_dim %227, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %248 = stablehlo.shift_left %245, %247 : tensor<?xui32>
      %249 = stablehlo.subtract %c_4, %227 : tensor<ui32>
      %250 = stablehlo.dynamic_broadcast_in_dim %249, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %251 = stablehlo.shift_right_logical %245, %250 : tensor<?xui32>
      %252 = stablehlo.or %248, %251 : tensor<?xui32>
      %253 = stablehlo.xor %246, %252 : tensor<?xui32>
      %254 = stablehlo.add %246, %253 : tensor<?xui32>
      %255 = stablehlo.dynamic_broadcast_in_dim %229, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %256 = stablehlo.shift_left %253, %255 : tensor<?xui32>
      %257 = stablehlo.subtract %c_4, %229 : tensor<ui32>
      %258 = stablehlo.dynamic_broadcast_in_dim %257, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %259 = stablehlo.shift_right_logical %253, %258 : tensor<?xui32>
      %260 = stablehlo.or %256, %259 : tensor<?xui32>
      %261 = stablehlo.xor %254, %260 : tensor<?xui32>
      %262 = stablehlo.dynamic_broadcast_in_dim %iterArg_80, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %263 = stablehlo.add %254, %262 : tensor<?xui32>
      %264 = stablehlo.dynamic_broadcast_in_dim %iterArg_81, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %265 = stablehlo.add %261, %264 : tensor<?xui32>
      %266 = stablehlo.convert %221 : (tensor<i64>) -> tensor<ui32>
      %267 = stablehlo.dynamic_broadcast_in_dim %266, %10, dims = [] : (tensor<ui32>, tensor<1xi32>) -> tensor<?xui32>
      %268 = stablehlo.add %265, %267 : tensor<?xui32>
      %269 = stablehlo.add %iterArg, %c_76 : tensor<i64>
      stablehlo.return %269, %221, %263, %268, %iterArg_81, %iterArg_82, %iterArg_80, %iterArg_84, %iterArg_83 : tensor<i64>, tensor<i64>, tensor<?xui32>, tensor<?xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    }
    %25 = stablehlo.convert %24#2 : (tensor<?xui32>) -> tensor<?xui64>
    %26 = stablehlo.convert %24#3 : (tensor<?xui32>) -> tensor<?xui64>
    %27 = stablehlo.shift_left %25, %14 : tensor<?xui64>
    %28 = stablehlo.or %27, %26 : tensor<?xui64>
    %29 = stablehlo.dynamic_broadcast_in_dim %c_7, %10, dims = [] : (tensor<ui64>, tensor<1xi32>) -> tensor<?xui64>
    %30 = stablehlo.shift_right_logical %28, %29 : tensor<?xui64>
    %31 = stablehlo.dynamic_broadcast_in_dim %c_8, %10, dims = [] : (tensor<ui64>, tensor<1xi32>) -> tensor<?xui64>
    %32 = stablehlo.or %30, %31 : tensor<?xui64>
    %33 = stablehlo.bitcast_convert %32 : (tensor<?xui64>) -> tensor<?xf64>
    %34 = stablehlo.dynamic_broadcast_in_dim %cst, %10, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %35 = stablehlo.subtract %33, %34 : tensor<?xf64>
    %36 = stablehlo.subtract %4, %3 : tensor<1xf64>
    %37 = stablehlo.dynamic_broadcast_in_dim %36, %10, dims = [0] : (tensor<1xf64>, tensor<1xi32>) -> tensor<?xf64>
    %38 = stablehlo.multiply %35, %37 : tensor<?xf64>
    %39 = stablehlo.dynamic_broadcast_in_dim %3, %10, dims = [0] : (tensor<1xf64>, tensor<1xi32>) -> tensor<?xf64>
    %40 = stablehlo.add %38, %39 : tensor<?xf64>
    %41 = stablehlo.maximum %39, %40 : tensor<?xf64>
    %42 = stablehlo.negate %41 : tensor<?xf64>
    %43 = stablehlo.multiply %41, %42 : tensor<?xf64>
    %44 = stablehlo.log_plus_one %43 : tensor<?xf64>
    %45 = stablehlo.negate %44 : tensor<?xf64>
    %46 = stablehlo.get_dimension_size %41, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %47 = stablehlo.reshape %46 : (tensor<i32>) -> tensor<1xi32>
    %48 = stablehlo.concatenate %47, dim = 0 : (tensor<1xi32>) -> tensor<1xi32>
    %49 = stablehlo.dynamic_broadcast_in_dim %cst_11, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %50 = stablehlo.compare LT, %45, %49 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
    %51 = stablehlo.dynamic_broadcast_in_dim %cst_12, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %52 = stablehlo.compare LT, %45, %51 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
    %53 = stablehlo.sqrt %45 : tensor<?xf64>
    %54 = stablehlo.dynamic_broadcast_in_dim %cst_13, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %55 = stablehlo.subtract %45, %54 : tensor<?xf64>
    %56 = stablehlo.get_dimension_size %45, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %57 = stablehlo.reshape %56 : (tensor<i32>) -> tensor<1xi32>
    %58 = stablehlo.concatenate %57, dim = 0 : (tensor<1xi32>) -> tensor<1xi32>
    %59 = stablehlo.dynamic_broadcast_in_dim %cst_14, %58, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %60 = stablehlo.dynamic_broadcast_in_dim %cst_15, %58, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %61 = stablehlo.select %52, %59, %60 : tensor<?xi1>, tensor<?xf64>
    %62 = stablehlo.subtract %53, %61 : tensor<?xf64>
    %63 = stablehlo.select %50, %55, %62 : tensor<?xi1>, tensor<?xf64>
    %64 = stablehlo.dynamic_broadcast_in_dim %cst_16, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %65 = stablehlo.dynamic_broadcast_in_dim %cst_17, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %66 = stablehlo.select %50, %64, %65 : tensor<?xi1>, tensor<?xf64>
    %67 = stablehlo.dynamic_broadcast_in_dim %cst_18, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %68 = stablehlo.select %52, %66, %67 : tensor<?xi1>, tensor<?xf64>
    %69 = stablehlo.dynamic_broadcast_in_dim %cst_19, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %70 = stablehlo.dynamic_broadcast_in_dim %cst_20, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %71 = stablehlo.select %50, %69, %70 : tensor<?xi1>, tensor<?xf64>
    %72 = stablehlo.dynamic_broadcast_in_dim %cst_21, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %73 = stablehlo.select %52, %71, %72 : tensor<?xi1>, tensor<?xf64>
    %74 = stablehlo.multiply %68, %63 : tensor<?xf64>
    %75 = stablehlo.add %73, %74 : tensor<?xf64>
    %76 = stablehlo.dynamic_broadcast_in_dim %cst_22, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %77 = stablehlo.dynamic_broadcast_in_dim %cst_23, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %78 = stablehlo.select %50, %76, %77 : tensor<?xi1>, tensor<?xf64>
    %79 = stablehlo.dynamic_broadcast_in_dim %cst_24, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %80 = stablehlo.select %52, %78, %79 : tensor<?xi1>, tensor<?xf64>
    %81 = stablehlo.multiply %75, %63 : tensor<?xf64>
    %82 = stablehlo.add %80, %81 : tensor<?xf64>
    %83 = stablehlo.dynamic_broadcast_in_dim %cst_25, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %84 = stablehlo.dynamic_broadcast_in_dim %cst_26, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %85 = stablehlo.select %50, %83, %84 : tensor<?xi1>, tensor<?xf64>
    %86 = stablehlo.dynamic_broadcast_in_dim %cst_27, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %87 = stablehlo.select %52, %85, %86 : tensor<?xi1>, tensor<?xf64>
    %88 = stablehlo.multiply %82, %63 : tensor<?xf64>
    %89 = stablehlo.add %87, %88 : tensor<?xf64>
    %90 = stablehlo.dynamic_broadcast_in_dim %cst_28, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %91 = stablehlo.dynamic_broadcast_in_dim %cst_29, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %92 = stablehlo.select %50, %90, %91 : tensor<?xi1>, tensor<?xf64>
    %93 = stablehlo.dynamic_broadcast_in_dim %cst_30, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %94 = stablehlo.select %52, %92, %93 : tensor<?xi1>, tensor<?xf64>
    %95 = stablehlo.multiply %89, %63 : tensor<?xf64>
    %96 = stablehlo.add %94, %95 : tensor<?xf64>
    %97 = stablehlo.dynamic_broadcast_in_dim %cst_31, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %98 = stablehlo.dynamic_broadcast_in_dim %cst_32, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %99 = stablehlo.select %50, %97, %98 : tensor<?xi1>, tensor<?xf64>
    %100 = stablehlo.dynamic_broadcast_in_dim %cst_33, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %101 = stablehlo.select %52, %99, %100 : tensor<?xi1>, tensor<?xf64>
    %102 = stablehlo.multiply %96, %63 : tensor<?xf64>
    %103 = stablehlo.add %101, %102 : tensor<?xf64>
    %104 = stablehlo.dynamic_broadcast_in_dim %cst_34, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %105 = stablehlo.dynamic_broadcast_in_dim %cst_35, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %106 = stablehlo.select %50, %104, %105 : tensor<?xi1>, tensor<?xf64>
    %107 = stablehlo.dynamic_broadcast_in_dim %cst_36, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %108 = stablehlo.select %52, %106, %107 : tensor<?xi1>, tensor<?xf64>
    %109 = stablehlo.multiply %103, %63 : tensor<?xf64>
    %110 = stablehlo.add %108, %109 : tensor<?xf64>
    %111 = stablehlo.dynamic_broadcast_in_dim %cst_37, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %112 = stablehlo.dynamic_broadcast_in_dim %cst_38, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %113 = stablehlo.select %50, %111, %112 : tensor<?xi1>, tensor<?xf64>
    %114 = stablehlo.dynamic_broadcast_in_dim %cst_39, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %115 = stablehlo.select %52, %113, %114 : tensor<?xi1>, tensor<?xf64>
    %116 = stablehlo.multiply %110, %63 : tensor<?xf64>
    %117 = stablehlo.add %115, %116 : tensor<?xf64>
    %118 = stablehlo.dynamic_broadcast_in_dim %cst_40, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %119 = stablehlo.dynamic_broadcast_in_dim %cst_41, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %120 = stablehlo.select %50, %118, %119 : tensor<?xi1>, tensor<?xf64>
    %121 = stablehlo.dynamic_broadcast_in_dim %cst_42, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %122 = stablehlo.select %52, %120, %121 : tensor<?xi1>, tensor<?xf64>
    %123 = stablehlo.multiply %117, %63 : tensor<?xf64>
    %124 = stablehlo.add %122, %123 : tensor<?xf64>
    %125 = stablehlo.dynamic_broadcast_in_dim %cst_43, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %126 = stablehlo.dynamic_broadcast_in_dim %cst_44, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %127 = stablehlo.select %50, %125, %126 : tensor<?xi1>, tensor<?xf64>
    %128 = stablehlo.dynamic_broadcast_in_dim %cst_45, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %129 = stablehlo.select %52, %127, %128 : tensor<?xi1>, tensor<?xf64>
    %130 = stablehlo.multiply %124, %63 : tensor<?xf64>
    %131 = stablehlo.add %129, %130 : tensor<?xf64>
    %132 = stablehlo.dynamic_broadcast_in_dim %cst_46, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %133 = stablehlo.dynamic_broadcast_in_dim %cst_47, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %134 = stablehlo.select %50, %132, %133 : tensor<?xi1>, tensor<?xf64>
    %135 = stablehlo.dynamic_broadcast_in_dim %cst_48, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %136 = stablehlo.select %52, %134, %135 : tensor<?xi1>, tensor<?xf64>
    %137 = stablehlo.multiply %131, %63 : tensor<?xf64>
    %138 = stablehlo.add %136, %137 : tensor<?xf64>
    %139 = stablehlo.dynamic_broadcast_in_dim %cst_49, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %140 = stablehlo.dynamic_broadcast_in_dim %cst_50, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %141 = stablehlo.select %50, %139, %140 : tensor<?xi1>, tensor<?xf64>
    %142 = stablehlo.dynamic_broadcast_in_dim %cst_51, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %143 = stablehlo.select %52, %141, %142 : tensor<?xi1>, tensor<?xf64>
    %144 = stablehlo.multiply %138, %63 : tensor<?xf64>
    %145 = stablehlo.add %143, %144 : tensor<?xf64>
    %146 = stablehlo.dynamic_broadcast_in_dim %cst_52, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %147 = stablehlo.dynamic_broadcast_in_dim %cst_53, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %148 = stablehlo.select %50, %146, %147 : tensor<?xi1>, tensor<?xf64>
    %149 = stablehlo.dynamic_broadcast_in_dim %cst_54, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %150 = stablehlo.select %52, %148, %149 : tensor<?xi1>, tensor<?xf64>
    %151 = stablehlo.multiply %145, %63 : tensor<?xf64>
    %152 = stablehlo.add %150, %151 : tensor<?xf64>
    %153 = stablehlo.dynamic_broadcast_in_dim %cst_55, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %154 = stablehlo.dynamic_broadcast_in_dim %cst_56, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %155 = stablehlo.select %50, %153, %154 : tensor<?xi1>, tensor<?xf64>
    %156 = stablehlo.dynamic_broadcast_in_dim %cst_57, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %157 = stablehlo.select %52, %155, %156 : tensor<?xi1>, tensor<?xf64>
    %158 = stablehlo.multiply %152, %63 : tensor<?xf64>
    %159 = stablehlo.add %157, %158 : tensor<?xf64>
    %160 = stablehlo.dynamic_broadcast_in_dim %cst_58, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %161 = stablehlo.dynamic_broadcast_in_dim %cst_59, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %162 = stablehlo.select %50, %160, %161 : tensor<?xi1>, tensor<?xf64>
    %163 = stablehlo.dynamic_broadcast_in_dim %cst_60, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %164 = stablehlo.select %52, %162, %163 : tensor<?xi1>, tensor<?xf64>
    %165 = stablehlo.multiply %159, %63 : tensor<?xf64>
    %166 = stablehlo.add %164, %165 : tensor<?xf64>
    %167 = stablehlo.dynamic_broadcast_in_dim %cst_61, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %168 = stablehlo.dynamic_broadcast_in_dim %cst_62, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %169 = stablehlo.select %50, %167, %168 : tensor<?xi1>, tensor<?xf64>
    %170 = stablehlo.dynamic_broadcast_in_dim %cst_63, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %171 = stablehlo.select %52, %169, %170 : tensor<?xi1>, tensor<?xf64>
    %172 = stablehlo.multiply %166, %63 : tensor<?xf64>
    %173 = stablehlo.add %171, %172 : tensor<?xf64>
    %174 = stablehlo.dynamic_broadcast_in_dim %cst_64, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %175 = stablehlo.dynamic_broadcast_in_dim %cst_65, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %176 = stablehlo.select %50, %174, %175 : tensor<?xi1>, tensor<?xf64>
    %177 = stablehlo.dynamic_broadcast_in_dim %cst_66, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %178 = stablehlo.select %52, %176, %177 : tensor<?xi1>, tensor<?xf64>
    %179 = stablehlo.multiply %173, %63 : tensor<?xf64>
    %180 = stablehlo.add %178, %179 : tensor<?xf64>
    %181 = stablehlo.dynamic_broadcast_in_dim %cst_67, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %182 = stablehlo.dynamic_broadcast_in_dim %cst_68, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %183 = stablehlo.select %50, %181, %182 : tensor<?xi1>, tensor<?xf64>
    %184 = stablehlo.multiply %180, %63 : tensor<?xf64>
    %185 = stablehlo.add %183, %184 : tensor<?xf64>
    %186 = stablehlo.select %52, %185, %180 : tensor<?xi1>, tensor<?xf64>
    %187 = stablehlo.dynamic_broadcast_in_dim %cst_69, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %188 = stablehlo.dynamic_broadcast_in_dim %cst_70, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %189 = stablehlo.select %50, %187, %188 : tensor<?xi1>, tensor<?xf64>
    %190 = stablehlo.multiply %186, %63 : tensor<?xf64>
    %191 = stablehlo.add %189, %190 : tensor<?xf64>
    %192 = stablehlo.select %52, %191, %186 : tensor<?xi1>, tensor<?xf64>
    %193 = stablehlo.dynamic_broadcast_in_dim %cst_71, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %194 = stablehlo.multiply %192, %63 : tensor<?xf64>
    %195 = stablehlo.add %193, %194 : tensor<?xf64>
    %196 = stablehlo.select %50, %195, %192 : tensor<?xi1>, tensor<?xf64>
    %197 = stablehlo.dynamic_broadcast_in_dim %cst_72, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %198 = stablehlo.multiply %196, %63 : tensor<?xf64>
    %199 = stablehlo.add %197, %198 : tensor<?xf64>
    %200 = stablehlo.select %50, %199, %196 : tensor<?xi1>, tensor<?xf64>
    %201 = stablehlo.dynamic_broadcast_in_dim %cst_73, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %202 = stablehlo.multiply %200, %63 : tensor<?xf64>
    %203 = stablehlo.add %201, %202 : tensor<?xf64>
    %204 = stablehlo.select %50, %203, %200 : tensor<?xi1>, tensor<?xf64>
    %205 = stablehlo.dynamic_broadcast_in_dim %cst_74, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %206 = stablehlo.multiply %204, %63 : tensor<?xf64>
    %207 = stablehlo.add %205, %206 : tensor<?xf64>
    %208 = stablehlo.select %50, %207, %204 : tensor<?xi1>, tensor<?xf64>
    %209 = stablehlo.multiply %208, %41 : tensor<?xf64>
    %210 = stablehlo.abs %41 : tensor<?xf64>
    %211 = stablehlo.dynamic_broadcast_in_dim %cst, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %212 = stablehlo.compare EQ, %210, %211 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
    %213 = stablehlo.dynamic_broadcast_in_dim %cst_75, %48, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %214 = stablehlo.multiply %41, %213 : tensor<?xf64>
    %215 = stablehlo.select %212, %214, %209 : tensor<?xi1>, tensor<?xf64>
    %216 = stablehlo.dynamic_broadcast_in_dim %cst_10, %10, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %217 = stablehlo.multiply %216, %215 : tensor<?xf64>
    %218 = stablehlo.dynamic_broadcast_in_dim %2, %10, dims = [0] : (tensor<1xf64>, tensor<1xi32>) -> tensor<?xf64>
    %219 = stablehlo.multiply %218, %217 : tensor<?xf64>
    %220 = stablehlo.add %arg1, %219 : tensor<?xf64>
    return %220 : tensor<?xf64>
  }
}

