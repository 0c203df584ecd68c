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
// REFUSED div zero: (n)//0
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=["n//0"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED div zero res: (n)//0
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {hlograph.dims=["n//0"]})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED mod zero: (n) % 0
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {hlograph.dims=["n%0"]})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED div by n-n: (n)//0
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {hlograph.dims=["n//(n-n)"]})  {
 return %x : tensor<?xf32> }
// -----
// RUNS div by n
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {hlograph.dims=["n//n + n - 1"]})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED 2^62: '2^62', column 2: expected a number, a name or an operator, found '^62
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=["2^62"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// RUNS 2**62 number
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=["4611686018427387904"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED product of sums: constraint n >= {_1: (720*m1*m2*m3*m4*m5*m6 + 120*m1*m2*m3*m4*m5*n + 1
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n >= (n+1*m1)*(n+2*m2)*(n+3*m3)*(n+4*m4)*(n+5*m5)*(n+6*m6)*(n+7*m7)*(n+8*m8)*(n+9*m9)*(n+10*m10)*(n+11*m11)*(n+12*m12)*(n+13*m13)*(n+14*m14)*(n+15*m15)*(n+16*m16)*(n+17*m17)*(n+18*m18)*(n+19*m19)*(n+20*m20)*(n+21*m21)*(n+22*m22)*(n+23*m23)*(n+24*m24)*(n+25*m25)*(n+26*m26)*(n+27*m27)*(n+28*m28)*(n+29*m29)*(n+30*m30)*(n+31*m31)*(n+32*m32)*(n+33*m33)*(n+34*m34)*(n+35*m35)*(n+36*m36)*(n+37*m37)*(n+38*m38)*(n+39*m39)"]]} {
 return %x : tensor<?xf32> }
// -----
// RUNS product of sums one root
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n >= 0 - (n+1)*(n+2)*(n+3)*(n+4)*(n+5)*(n+6)*(n+7)*(n+8)*(n+9)*(n+10)*(n+11)*(n+12)*(n+13)*(n+14)*(n+15)*(n+16)*(n+17)*(n+18)*(n+19)*(n+20)*(n+21)*(n+22)*(n+23)*(n+24)*(n+25)*(n+26)*(n+27)*(n+28)*(n+29)*(n+30)*(n+31)*(n+32)*(n+33)*(n+34)*(n+35)*(n+36)*(n+37)*(n+38)*(n+39)*(n+40)*(n+41)*(n+42)*(n+43)*(n+44)*(n+45)*(n+46)*(n+47)*(n+48)*(n+49)*(n+50)*(n+51)*(n+52)*(n+53)*(n+54)*(n+55)*(n+56)*(n+57)*(n+58)*(n+59)*(n+60)*(n+61)*(n+62)*(n+63)*(n+64)*(n+65)*(n+66)*(n+67)*(n+68)*(n+69)*(n+70)*(n+71)*(n+72)*(n+73)*(n+74)*(n+75)*(n+76)*(n+77)*(n+78)*(n+79)*(n+80)*(n+81)*(n+82)*(n+83)*(n+84)*(n+85)*(n+86)*(n+87)*(n+88)*(n+89)*(n+90)*(n+91)*(n+92)*(n+93)*(n+94)*(n+95)*(n+96)*(n+97)*(n+98)*(n+99)*(n+100)*(n+101)*(n+102)*(n+103)*(n+104)*(n+105)*(n+106)*(n+107)*(n+108)*(n+109)*(n+110)*(n+111)*(n+112)*(n+113)*(n+114)*(n+115)*(n+116)*(n+117)*(n+118)*(n+119)*(n+120)*(n+121)*(n+122)*(n+123)*(n+124)*(n+125)*(n+126)*(n+127)*(n+128)*(n+129)*(n+130)*(n+131)*(n+132)*(n+133)*(n+134)*(n+135)*(n+136)*(n+137)*(n+138)*(n+139)*(n+140)*(n+141)*(n+142)*(n+143)*(n+144)*(n+145)*(n+146)*(n+147)*(n+148)*(n+149)*(n+150)*(n+151)*(n+152)*(n+153)*(n+154)*(n+155)*(n+156)*(n+157)*(n+158)*(n+159)*(n+160)*(n+161)*(n+162)*(n+163)*(n+164)*(n+165)*(n+166)*(n+167)*(n+168)*(n+169)*(n+170)*(n+171)*(n+172)*(n+173)*(n+174)*(n+175)*(n+176)*(n+177)*(n+178)*(n+179)*(n+180)*(n+181)*(n+182)*(n+183)*(n+184)*(n+185)*(n+186)*(n+187)*(n+188)*(n+189)*(n+190)*(n+191)*(n+192)*(n+193)*(n+194)*(n+195)*(n+196)*(n+197)*(n+198)*(n+199)*(n+200)*(n+201)*(n+202)*(n+203)*(n+204)*(n+205)*(n+206)*(n+207)*(n+208)*(n+209)*(n+210)*(n+211)*(n+212)*(n+213)*(n+214)*(n+215)*(n+216)*(n+217)*(n+218)*(n+219)*(n+220)*(n+221)*(n+222)*(n+223)*(n+224)*(n+225)*(n+226)*(n+227)*(n+228)*(n+229)*(n+230)*(n+231)*(n+232)*(n+233)*(n+234)*(n+235)*(n+236)*(n+237)*(n+238)*(n+239)*(n+240)*(n+241)*(n+242)*(n+243)*(n+244)*(n+245)*(n+246)*(n+247)*(n+248)*(n+249)*(n+250)*(n+251)*(n+252)*(n+253)*(n+254)*(n+255)*(n+256)*(n+257)*(n+258)*(n+259)*(n+260)*(n+261)*(n+262)*(n+263)*(n+264)*(n+265)*(n+266)*(n+267)*(n+268)*(n+269)*(n+270)*(n+271)*(n+272)*(n+273)*(n+274)*(n+275)*(n+276)*(n+277)*(n+278)*(n+279)*(n+280)*(n+281)*(n+282)*(n+283)*(n+284)*(n+285)*(n+286)*(n+287)*(n+288)*(n+289)*(n+290)*(n+291)*(n+292)*(n+293)*(n+294)*(n+295)*(n+296)*(n+297)*(n+298)*(n+299)*(n+300)*(n+301)*(n+302)*(n+303)*(n+304)*(n+305)*(n+306)*(n+307)*(n+308)*(n+309)*(n+310)*(n+311)*(n+312)*(n+313)*(n+314)*(n+315)*(n+316)*(n+317)*(n+318)*(n+319)*(n+320)*(n+321)*(n+322)*(n+323)*(n+324)*(n+325)*(n+326)*(n+327)*(n+328)*(n+329)*(n+330)*(n+331)*(n+332)*(n+333)*(n+334)*(n+335)*(n+336)*(n+337)*(n+338)*(n+339)*(n+340)*(n+341)*(n+342)*(n+343)*(n+344)*(n+345)*(n+346)*(n+347)*(n+348)*(n+349)*(n+350)*(n+351)*(n+352)*(n+353)*(n+354)*(n+355)*(n+356)*(n+357)*(n+358)*(n+359)*(n+360)*(n+361)*(n+362)*(n+363)*(n+364)*(n+365)*(n+366)*(n+367)*(n+368)*(n+369)*(n+370)*(n+371)*(n+372)*(n+373)*(n+374)*(n+375)*(n+376)*(n+377)*(n+378)*(n+379)*(n+380)*(n+381)*(n+382)*(n+383)*(n+384)*(n+385)*(n+386)*(n+387)*(n+388)*(n+389)*(n+390)*(n+391)*(n+392)*(n+393)*(n+394)*(n+395)*(n+396)*(n+397)*(n+398)*(n+399)"]]} {
 return %x : tensor<?xf32> }
// -----
// RUNS nested min
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n >= min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,min(1,n))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))"]]} {
 return %x : tensor<?xf32> }
// -----
// RUNS nested div
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n >= ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((n//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)//2+1)"]]} {
 return %x : tensor<?xf32> }
// -----
// RUNS min product
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n >= 0 - min(n,1)*min(n,2)*min(n,3)*min(n,4)*min(n,5)*min(n,6)*min(n,7)*min(n,8)*min(n,9)*min(n,10)*min(n,11)*min(n,12)*min(n,13)*min(n,14)*min(n,15)*min(n,16)*min(n,17)*min(n,18)*min(n,19)*min(n,20)*min(n,21)*min(n,22)*min(n,23)*min(n,24)*min(n,25)*min(n,26)*min(n,27)*min(n,28)*min(n,29)*min(n,30)*min(n,31)*min(n,32)*min(n,33)*min(n,34)*min(n,35)*min(n,36)*min(n,37)*min(n,38)*min(n,39)*min(n,40)*min(n,41)*min(n,42)*min(n,43)*min(n,44)*min(n,45)*min(n,46)*min(n,47)*min(n,48)*min(n,49)*min(n,50)*min(n,51)*min(n,52)*min(n,53)*min(n,54)*min(n,55)*min(n,56)*min(n,57)*min(n,58)*min(n,59)"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED power by names: 'n >= 0 - {a0: n; a1: a0*a0; a2: a1*a1; a3: a2*a2; a4: a3*a3; a5: a4*a
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n >= 0 - {a0: n; a1: a0*a0; a2: a1*a1; a3: a2*a2; a4: a3*a3; a5: a4*a4; a6: a5*a5; a7: a6*a6; a8: a7*a7; a9: a8*a8; a10: a9*a9; a11: a10*a10; a12: a11*a11; a13: a12*a12; a14: a13*a13; a15: a14*a14; a16: a15*a15; a17: a16*a16; a18: a17*a17; a19: a18*a18; a20: a19*a19; a21: a20*a20; a22: a21*a21; a23: a22*a22; a24: a23*a23; a25: a24*a24; a26: a25*a25; a27: a26*a26; a28: a27*a27; a29: a28*a28; a30: a29*a29; a31: a30*a30; a32: a31*a31; a33: a32*a32; a34: a33*a33; a35: a34*a34; a36: a35*a35; a37: a36*a36; a38: a37*a37; a39: a38*a38; a40: a39*a39; a41: a40*a40; a42: a41*a41; a43: a42*a42; a44: a43*a43; a45: a44*a44; a46: a45*a45; a47: a46*a46; a48: a47*a47; a49: a48*a48; a50: a49*a49; a51: a50*a50; a52: a51*a51; a53: a52*a52; a54: a53*a53; a55: a54*a54; a56: a55*a55; a57: a56*a56; a58: a57*a57; a59: a58*a58} a59"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED doubling names: 'n >= 0 - {a0: n; a1: a0//2+a0; a2: a1//2+a1; a3: a2//2+a2; a4: a3//2+
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n >= 0 - {a0: n; a1: a0//2+a0; a2: a1//2+a1; a3: a2//2+a2; a4: a3//2+a3; a5: a4//2+a4; a6: a5//2+a5; a7: a6//2+a6; a8: a7//2+a7; a9: a8//2+a8; a10: a9//2+a9; a11: a10//2+a10; a12: a11//2+a11; a13: a12//2+a12; a14: a13//2+a13; a15: a14//2+a14; a16: a15//2+a15; a17: a16//2+a16; a18: a17//2+a17; a19: a18//2+a18; a20: a19//2+a19; a21: a20//2+a20; a22: a21//2+a21; a23: a22//2+a22; a24: a23//2+a23; a25: a24//2+a24; a26: a25//2+a25; a27: a26//2+a26; a28: a27//2+a27; a29: a28//2+a28; a30: a29//2+a29; a31: a30//2+a30; a32: a31//2+a31; a33: a32//2+a32; a34: a33//2+a33; a35: a34//2+a34; a36: a35//2+a35; a37: a36//2+a36; a38: a37//2+a37; a39: a38//2+a38; a40: a39//2+a39; a41: a40//2+a40; a42: a41//2+a41; a43: a42//2+a42; a44: a43//2+a43; a45: a44//2+a44; a46: a45//2+a45; a47: a46//2+a46; a48: a47//2+a47; a49: a48//2+a48; a50: a49//2+a49; a51: a50//2+a50; a52: a51//2+a51; a53: a52//2+a52; a54: a53//2+a53; a55: a54//2+a54; a56: a55//2+a55; a57: a56//2+a56; a58: a57//2+a57; a59: a58//2+a58; a60: a59//2+a59; a61: a60//2+a60; a62: a61//2+a61; a63: a62//2+a62; a64: a63//2+a63; a65: a64//2+a64; a66: a65//2+a65; a67: a66//2+a66; a68: a67//2+a67; a69: a68//2+a68; a70: a69//2+a69; a71: a70//2+a70; a72: a71//2+a71; a73: a72//2+a72; a74: a73//2+a73; a75: a74//2+a74; a76: a75//2+a75; a77: a76//2+a76; a78: a77//2+a77; a79: a78//2+a78; a80: a79//2+a79; a81: a80//2+a80; a82: a81//2+a81; a83: a82//2+a82; a84: a83//2+a83; a85: a84//2+a84; a86: a85//2+a85; a87: a86//2+a86; a88: a87//2+a87; a89: a88//2+a88; a90: a89//2+a89; a91: a90//2+a90; a92: a91//2+a91; a93: a92//2+a92; a94: a93//2+a93; a95: a94//2+a94; a96: a95//2+a95; a97: a96//2+a96; a98: a97//2+a97; a99: a98//2+a98; a100: a99//2+a99; a101: a100//2+a100; a102: a101//2+a101; a103: a102//2+a102; a104: a103//2+a103; a105: a104//2+a104; a106: a105//2+a105; a107: a106//2+a106; a108: a107//2+a107; a109: a108//2+a108; a110: a109//2+a109; a111: a110//2+a110; a112: a111//2+a111; a113: a112//2+a112; a114: a113//2+a113; a115: a114//2+a114; a116: a115//2+a115; a117: a116//2+a116; a118: a117//2+a117; a119: a118//2+a118; a120: a119//2+a119; a121: a120//2+a120; a122: a121//2+a121; a123: a122//2+a122; a124: a123//2+a123; a125: a124//2+a124; a126: a125//2+a125; a127: a126//2+a126; a128: a127//2+a127; a129: a128//2+a128; a130: a129//2+a129; a131: a130//2+a130; a132: a131//2+a131; a133: a132//2+a132; a134: a133//2+a133; a135: a134//2+a134; a136: a135//2+a135; a137: a136//2+a136; a138: a137//2+a137; a139: a138//2+a138; a140: a139//2+a139; a141: a140//2+a140; a142: a141//2+a141; a143: a142//2+a142; a144: a143//2+a143; a145: a144//2+a144; a146: a145//2+a145; a147: a146//2+a146; a148: a147//2+a147; a149: a148//2+a148; a150: a149//2+a149; a151: a150//2+a150; a152: a151//2+a151; a153: a152//2+a152; a154: a153//2+a153; a155: a154//2+a154; a156: a155//2+a155; a157: a156//2+a156; a158: a157//2+a157; a159: a158//2+a158; a160: a159//2+a159; a161: a160//2+a160; a162: a161//2+a161; a163: a162//2+a162; a164: a163//2+a163; a165: a164//2+a164; a166: a165//2+a165; a167: a166//2+a166; a168: a167//2+a167; a169: a168//2+a168; a170: a169//2+a169; a171: a170//2+a170; a172: a171//2+a171; a173: a172//2+a172; a174: a173//2+a173; a175: a174//2+a174; a176: a175//2+a175; a177: a176//2+a176; a178: a177//2+a177; a179: a178//2+a178; a180: a179//2+a179; a181: a180//2+a180; a182: a181//2+a181; a183: a182//2+a182; a184: a183//2+a183; a185: a184//2+a184; a186: a185//2+a185; a187: a186//2+a186; a188: a187//2+a187; a189: a188//2+a188; a190: a189//2+a189; a191: a190//2+a190; a192: a191//2+a191; a193: a192//2+a192; a194: a193//2+a193; a195: a194//2+a194; a196: a195//2+a195; a197: a196//2+a196; a198: a197//2+a197; a199: a198//2+a198} a199"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED neg: argument x: float32[-n] has the size 'n', which is no size or value of an a
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=["-n"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED neg const: x: float32[-3] has a negative size
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=["-3"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED only expr: argument x: float32[2*n] has the size 'n', which is no size or value of an 
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=["2*n"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED unknown root res: result result0: float32[q] has the size 'q', which is no size or value
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {hlograph.dims=["q"]})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED res lies static: result result0: float32[5] is declared as tensor<4xf32> in the module
func.func @main(%x: tensor<4xf32> {hlograph.name = "x", hlograph.dims=["4"]}) -> (tensor<4xf32> {hlograph.dims=["5"]})  {
 return %x : tensor<4xf32> }
// -----
// RUNS res lies ?
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {hlograph.dims=["n+1"]})  {
 return %x : tensor<?xf32> }
// -----
// RUNS res lies const
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {hlograph.dims=["3"]})  {
 return %x : tensor<?xf32> }
// -----
// RUNS two roots
func.func @main(%x: tensor<?xf32> {hlograph.dims=["n"]}, %y: tensor<?xf32> {hlograph.dims=["m"]}) -> (tensor<?xf32> {hlograph.dims=["m"]}) { return %x : tensor<?xf32> }
// -----
// REFUSED constraint false: no sizes fulfil its constraints: 0 >= 1 is demanded, and can never hol
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["0 >= 1"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED constraint unsat: no sizes fulfil its constraints: n == n + 1 is demanded, and can never
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n == n + 1"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED constraint relation: 'n < 3', column 3: expected '==', '>=' or '!=', found '< 3'
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n < 3"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED constraint empty: the attributes of @main cannot be read
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[[]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED constraint four: the attributes of @main cannot be read
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n >= 1","a","b","c"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED constraint no lists: attribute 'hlograph.constraints' must be a list of lists of texts, and
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=["n >= 1"]} {
 return %x : tensor<?xf32> }
// -----
// RUNS constraint div n
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["7//n >= 1"]]} {
 return %x : tensor<?xf32> }
// -----
// RUNS constraint mod n
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["7%n == 1"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED constraint unknown: constraint q >= 1 has the size 'q', which is no size or value of an argumen
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["q >= 1"]]} {
 return %x : tensor<?xf32> }
// -----
// RUNS constraint kind
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.constraints=[["n >= 9","where","zzz"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED name empty: the name '' is not one: 1 to 1000 printable characters
func.func @main(%x: tensor<?xf32> {hlograph.name = "", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED name newline: the name 'a\nb' is not one: 1 to 1000 printable characters
func.func @main(%x: tensor<?xf32> {hlograph.name = "a\0Ab", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// RUNS name braces
func.func @main(%x: tensor<?xf32> {hlograph.name = "{0} %s {x}", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED dup names: 2 arguments are called 'x'
func.func @main(%x: tensor<f32> {hlograph.name="x"}, %y: tensor<f32> {hlograph.name="x"}) -> tensor<f32> { return %x : tensor<f32> }
// -----
// REFUSED typo dim: attribute 'hlograph.dim' is unknown (did you mean 'hlograph.dims'?), on arg
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dim=["n"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED typo checks: attribute 'hlograph.chekcs' is unknown (did you mean 'hlograph.checks'?), o
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.chekcs=[["AssertionError","m"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED typo prefix: attribute 'hlograpi.checks' is unknown (did you mean 'hlograph.checks'?), o
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograpi.checks=[["AssertionError","m"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED module attr: attribute 'hlograph.nothing' is unknown (did you mean 'hlograph.padding'?),
module attributes {hlograph.nothing=1:i32} { func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> } }
// -----
// REFUSED dims no list: attribute 'hlograph.dims' must be a list of texts, and is "n", on argu
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims="n"}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED dims ints: attribute 'hlograph.dims' must be a list of texts, and is [3], on argu
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=[3]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED dims too many: argument x: float32[n, m] is declared as tensor<?xf32> in the module
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=["n","m"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED dims empty: argument x: float32[] is declared as tensor<?xf32> in the module
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=[]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED dims empty text: '', column 1: expected a number, a name or '(', found ''
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=[""]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED dims reserved: 'min', column 4: expected '(' after min, found ''
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=["min"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED dims 1-dash: 'n m', column 3: expected an operator or the end, found 'm'
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims=["n m"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED shared false: attribute 'hlograph.shared' must be true, and is false, on argument 0
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"], hlograph.shared=false}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }
// -----
// REFUSED values on float: hlograph.values on argument x: float32[]: sizes are integers, in a kno
func.func @main(%x: tensor<f32> {hlograph.name = "x", hlograph.values=["k"]}) -> (tensor<f32> {})  {
 return %x : tensor<f32> }
// -----
// REFUSED values wrong count: hlograph.values on argument x: int64[3] has 2 names for 3 elements
func.func @main(%x: tensor<3xi64> {hlograph.name = "x", hlograph.values=["k","l"]}) -> (tensor<3xi64> {})  {
 return %x : tensor<3xi64> }
// -----
// REFUSED values bad name: hlograph.values on argument x: int64[]: 'k l' cannot name a size
func.func @main(%x: tensor<i64> {hlograph.name = "x", hlograph.values=["k l"]}) -> (tensor<i64> {})  {
 return %x : tensor<i64> }
// -----
// RUNS values unused
func.func @main(%x: tensor<i64> {hlograph.name = "x", hlograph.values=["k"]}) -> (tensor<i64> {})  {
 return %x : tensor<i64> }
// -----
// REFUSED values ?: hlograph.values on argument x: int64[n]: sizes are integers, in a know
func.func @main(%x: tensor<?xi64> {hlograph.name = "x", hlograph.dims=["n"], hlograph.values=["k"]}) -> (tensor<?xi64> {})  {
 return %x : tensor<?xi64> }
// -----
// REFUSED values bool: hlograph.values on argument x: bool[]: sizes are integers, in a known
func.func @main(%x: tensor<i1> {hlograph.name = "x", hlograph.values=["k"]}) -> (tensor<i1> {})  {
 return %x : tensor<i1> }
// -----
// REFUSED values == size: hlograph.values on argument x: int64[n]: sizes are integers, in a know
func.func @main(%x: tensor<?xi64> {hlograph.name = "x", hlograph.dims=["n"], hlograph.values=["n"]}) -> (tensor<?xi64> {})  {
 return %x : tensor<?xi64> }
// -----
// REFUSED key on float: hlograph.key on argument x: float32[2], which is no key: an array of u
func.func @main(%x: tensor<2xf32> {hlograph.name = "x", hlograph.key="threefry2x32"}) -> (tensor<2xf32> {})  {
 return %x : tensor<2xf32> }
// -----
// RUNS key unknown
func.func @main(%x: tensor<2xui32> {hlograph.name = "x", hlograph.key="zzz"}) -> (tensor<2xui32> {})  {
 return %x : tensor<2xui32> }
// -----
// RUNS key wrong size
func.func @main(%x: tensor<3xui32> {hlograph.name = "x", hlograph.key="threefry2x32"}) -> (tensor<3xui32> {})  {
 return %x : tensor<3xui32> }
// -----
// RUNS key empty
func.func @main(%x: tensor<2xui32> {hlograph.name = "x", hlograph.key=""}) -> (tensor<2xui32> {})  {
 return %x : tensor<2xui32> }
// -----
// REFUSED sparse ['W']: hlograph.sparse on x: float32[3] is ['W'], which is no part of a sparse mat
func.func @main(%x: tensor<3xf32> {hlograph.name = "x", hlograph.sparse=["W"]}) -> (tensor<3xf32> {})  {
 return %x : tensor<3xf32> }
// -----
// REFUSED sparse ['W', 'csr']: hlograph.sparse on x: float32[3] is ['W', 'csr'], which is no part of a spa
func.func @main(%x: tensor<3xf32> {hlograph.name = "x", hlograph.sparse=["W", "csr"]}) -> (tensor<3xf32> {})  {
 return %x : tensor<3xf32> }
// -----
// REFUSED sparse ['W', 'coo', 'data']: hlograph.sparse on x: float32[3] is ['W', 'coo', 'data'], which is no part 
func.func @main(%x: tensor<3xf32> {hlograph.name = "x", hlograph.sparse=["W", "coo", "data"]}) -> (tensor<3xf32> {})  {
 return %x : tensor<3xf32> }
// -----
// REFUSED sparse ['W', 'csr', 'indices']: x: float32[3] is a part of the sparse matrix 'W', and does not stand behind
func.func @main(%x: tensor<3xf32> {hlograph.name = "x", hlograph.sparse=["W", "csr", "indices"]}) -> (tensor<3xf32> {})  {
 return %x : tensor<3xf32> }
// -----
// REFUSED sparse ['W', 'csr', 'data']: the sparse matrix 'W' has no columns, indices, indptr, rows
func.func @main(%x: tensor<3xf32> {hlograph.name = "x", hlograph.sparse=["W", "csr", "data"]}) -> (tensor<3xf32> {})  {
 return %x : tensor<3xf32> }
// -----
// REFUSED sparse ['W', 'csr', 'data', 'x']: hlograph.sparse on x: float32[3] is ['W', 'csr', 'data', 'x'], which is no 
func.func @main(%x: tensor<3xf32> {hlograph.name = "x", hlograph.sparse=["W", "csr", "data", "x"]}) -> (tensor<3xf32> {})  {
 return %x : tensor<3xf32> }
// -----
// RUNS sparse []
func.func @main(%x: tensor<3xf32> {hlograph.name = "x", hlograph.sparse=[]}) -> (tensor<3xf32> {})  {
 return %x : tensor<3xf32> }
// -----
// REFUSED checks none: hlograph.flags marks the results [], and the last one alone holds the flags
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.checks=[["AssertionError","m"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED checks float flags: the last result is tensor<?xf32>, and the flags of 1 checks are bool[1
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {hlograph.flags=true}) attributes {hlograph.checks=[["AssertionError","m"]]} {
 return %x : tensor<?xf32> }
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
// REFUSED flags one word: the attributes of @main cannot be read
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<1xi1> {hlograph.flags=true}) attributes {hlograph.checks=[["AssertionError"]]} { %f = stablehlo.constant dense<true> : tensor<1xi1>
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
// RUNS flags odd exc
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<1xi1> {hlograph.flags=true}) attributes {hlograph.checks=[["os.system","m"]]} { %f = stablehlo.constant dense<false> : tensor<1xi1>
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
// RUNS flags kb
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<1xi1> {hlograph.flags=true}) attributes {hlograph.checks=[["KeyboardInterrupt","m"]]} { %f = stablehlo.constant dense<false> : tensor<1xi1>
 return %x, %f : tensor<f32>, tensor<1xi1> }
// -----
// REFUSED counts no marker: the size 'c' has 0 calls of @hlograph.size and is 1 times in hlograph.
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.counts=[["c","n"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED counts one: the attributes of @main cannot be read
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.counts=[["c"]]} {
 return %x : tensor<?xf32> }
// -----
// REFUSED counts three: the attributes of @main cannot be read
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.counts=[["c","",""]]} {
 return %x : tensor<?xf32> }
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
// RUNS marker unknown bound
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.counts=[["c","n"]]} { %k = stablehlo.constant dense<2> : tensor<i64>
 %s = stablehlo.custom_call @hlograph.size(%k) {hlograph.dim="c", hlograph.bound="qq", api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
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
// REFUSED marker in root: the size 'n' of hlograph.counts has two meanings, or is no name of a s
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {}) attributes {hlograph.counts=[["n",""]]} { %k = stablehlo.constant dense<2> : tensor<i64>
 %s = stablehlo.custom_call @hlograph.size(%k) {hlograph.dim="n", api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
 return %x : tensor<?xf32> }
// -----
// REFUSED marker no dim: custom call 'hlograph.size' does not fit what runs under this name: it
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  { %k = stablehlo.constant dense<2> : tensor<i64>
 %s = stablehlo.custom_call @hlograph.size(%k) {api_version=4:i32, backend_config={}} : (tensor<i64>) -> tensor<i64>
 return %x : tensor<?xf32> }
// -----
// REFUSED live bad: argument x: float32[8] has the size 'n', which is no size or value of an ar
func.func @main(%x: tensor<8xf32> {hlograph.name = "x", hlograph.live=["n"]}) -> (tensor<8xf32> {})  {
 return %x : tensor<8xf32> }
// -----
// RUNS live+size
func.func @main(%x: tensor<8xf32> {hlograph.live=["n"]}, %n: tensor<i32> {hlograph.size="n"}) -> (tensor<8xf32> {hlograph.live=["n"]}) { return %x : tensor<8xf32> }
// -----
// RUNS live res lies
func.func @main(%x: tensor<8xf32> {hlograph.live=["n"]}, %n: tensor<i32> {hlograph.size="n"}) -> (tensor<8xf32> {hlograph.live=["n+100"]}) { return %x : tensor<8xf32> }
// -----
// RUNS live res neg
func.func @main(%x: tensor<8xf32> {hlograph.live=["n"]}, %n: tensor<i32> {hlograph.size="n"}) -> (tensor<8xf32> {hlograph.live=["n-100"]}) { return %x : tensor<8xf32> }
// -----
// RUNS live div
func.func @main(%x: tensor<8xf32> {hlograph.live=["n"]}, %n: tensor<i32> {hlograph.size="n"}) -> (tensor<8xf32> {hlograph.live=["8//n"]}) { return %x : tensor<8xf32> }
// -----
// REFUSED size float: hlograph.size on argument arg1: float32[], which is no integer scalar
func.func @main(%x: tensor<8xf32> {hlograph.live=["n"]}, %n: tensor<f32> {hlograph.size="n"}) -> (tensor<8xf32> {hlograph.live=["n"]}) { return %x : tensor<8xf32> }
// -----
// REFUSED live rank: hlograph.live on argument x: float32[8] has 2 sizes for 1 axes
func.func @main(%x: tensor<8xf32> {hlograph.name = "x", hlograph.live=["n","m"]}) -> (tensor<8xf32> {})  {
 return %x : tensor<8xf32> }
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
// RUNS implements
func.func @main(%x: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<?xf32> {})  {
 return %x : tensor<?xf32> }func.func private @f(%a: tensor<f32>) -> tensor<f32> attributes {hlograph.implements="zzz"} { return %a : tensor<f32> }
// -----
// RUNS implements wrong
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { %y = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
 return %y : tensor<3xf32> } func.func private @f(%a: tensor<3xf32>) -> tensor<3xf32> attributes {hlograph.implements="eigh"} { return %a : tensor<3xf32> }
// -----
// RUNS implements lu wrong
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> { %y = call @f(%x) : (tensor<3x3xf32>) -> tensor<3x3xf32>
 return %y : tensor<3x3xf32> } func.func private @f(%a: tensor<3x3xf32>) -> tensor<3x3xf32> attributes {hlograph.implements="lu"} { return %a : tensor<3x3xf32> }
// -----
// RUNS implements svd wrong dtype
func.func @main(%x: tensor<3x3xi32>) -> tensor<3x3xi32> { %y = call @f(%x) : (tensor<3x3xi32>) -> tensor<3x3xi32>
 return %y : tensor<3x3xi32> } func.func private @f(%a: tensor<3x3xi32>) -> tensor<3x3xi32> attributes {hlograph.implements="svd"} { return %a : tensor<3x3xi32> }
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
// REFUSED pullback hlograph.of=["-1"], hlograph.from=["0"]: @pullback is not the pullback of (arg0: float32[]) -> (result0: float3
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {hlograph.of=["-1"], hlograph.from=["0"]} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED pullback hlograph.of=["0","0"], hlograph.from=["0: @pullback is not the pullback of (arg0: float32[]) -> (result0: float3
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {hlograph.of=["0","0"], hlograph.from=["0"]} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED pullback hlograph.of=[0], hlograph.from=[0]: attribute 'hlograph.from' must be a list of texts, and is [0], on a mo
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {hlograph.of=[0], hlograph.from=[0]} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED pullback : has the op builtin.module, which is not StableHLO
module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } module @pullback attributes {} { func.func @main(%x: tensor<f32>, %g: tensor<f32>) -> tensor<f32> { return %g : tensor<f32> } } }
// -----
// REFUSED no main: has no function @main (functions: "f")
func.func private @f() { return }
// -----
// REFUSED two mains: has no function @main (functions: "f", "g")
func.func @f() { return } func.func @g() { return }
// -----
// REFUSED tuple: the attributes of @main cannot be read
func.func @main(%x: tuple<tensor<f32>>) -> tuple<tensor<f32>> { return %x : tuple<tensor<f32>> }
// -----
// REFUSED token: the attributes of @main cannot be read
func.func @main(%x: !stablehlo.token) -> !stablehlo.token { return %x : !stablehlo.token }
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
// REFUSED i7: element type int7 has no numpy dtype
func.func @main(%x: tensor<4xi7>) -> tensor<4xi7> { return %x : tensor<4xi7> }
// -----
// REFUSED i128: element type int128 has no numpy dtype
func.func @main(%x: tensor<4xi128>) -> tensor<4xi128> { return %x : tensor<4xi128> }
// -----
// REFUSED f128: element type f128 has no numpy dtype
func.func @main(%x: tensor<4xf128>) -> tensor<4xf128> { return %x : tensor<4xf128> }
// -----
// REFUSED complex f8: element type complex<f8E4M3FN> has no numpy dtype
func.func @main(%x: tensor<4xcomplex<f8E4M3FN>>) -> tensor<4xcomplex<f8E4M3FN>> { return %x : tensor<4xcomplex<f8E4M3FN>> }
// -----
// REFUSED complex i32: element type complex<i32> has no numpy dtype
func.func @main(%x: tensor<4xcomplex<i32>>) -> tensor<4xcomplex<i32>> { return %x : tensor<4xcomplex<i32>> }
// -----
// RUNS broadcast big slice
func.func @main(%x: tensor<f32>) -> tensor<4xf32> { %i = stablehlo.broadcast_in_dim %x, dims=[] : (tensor<f32>) -> tensor<274877906944xf32>
 %s = stablehlo.slice %i [0:4] : (tensor<274877906944xf32>) -> tensor<4xf32>
 return %s : tensor<4xf32> }
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
// RUNS sort odd cmp stable
func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> { %s = "stablehlo.sort"(%x) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %t = stablehlo.constant dense<true> : tensor<i1>
 stablehlo.return %t : tensor<i1> }) {dimension=0:i64, is_stable=true} : (tensor<1000xf32>) -> tensor<1000xf32>
 return %s : tensor<1000xf32> }
// -----
// REFUSED reduce_window stride0: expects window to have positive stride for 0-th window dimension, but
func.func @main(%x: tensor<4xf32>) -> tensor<3xf32> { %z = stablehlo.constant dense<0.0> : tensor<f32>
%r = "stablehlo.reduce_window"(%x, %z) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %t = stablehlo.add %a, %b : tensor<f32>
 stablehlo.return %t : tensor<f32> }) {window_dimensions=array<i64: 2>, window_strides=array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
 return %r : tensor<3xf32> }
// -----
// RUNS reduce_window dilation
func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> { %z = stablehlo.constant dense<0.0> : tensor<f32>
%r = "stablehlo.reduce_window"(%x, %z) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %t = stablehlo.add %a, %b : tensor<f32>
 stablehlo.return %t : tensor<f32> }) {window_dimensions=array<i64: 2>, window_dilations=array<i64: 4611686018427387904>, base_dilations=array<i64: 4611686018427387904>} : (tensor<4xf32>, tensor<f32>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// RUNS rngbit THREE_FRY 1
func.func @main(%x: tensor<1xui64>) -> tensor<5xui32> { %s, %r = stablehlo.rng_bit_generator %x, algorithm=THREE_FRY : (tensor<1xui64>) -> (tensor<1xui64>, tensor<5xui32>)
 return %r : tensor<5xui32> }
// -----
// RUNS rngbit THREE_FRY 2
func.func @main(%x: tensor<2xui64>) -> tensor<5xui32> { %s, %r = stablehlo.rng_bit_generator %x, algorithm=THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
 return %r : tensor<5xui32> }
// -----
// RUNS rngbit f32
func.func @main(%x: tensor<2xui64>) -> tensor<5xf32> { %s, %r = stablehlo.rng_bit_generator %x, algorithm=DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xf32>)
 return %r : tensor<5xf32> }
// -----
// REFUSED dynreshape neg: output shape [-4] is incompatible with return type of operation 'tenso
func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> { %s = stablehlo.constant dense<[-4]> : tensor<1xi64>
 %r = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// REFUSED dynreshape lies: output_shape is incompatible with input type of operation: input has 4
func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> { %s = stablehlo.constant dense<[8]> : tensor<1xi64>
 %r = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// REFUSED dynreshape static lies: output shape [8] is incompatible with return type of operation 'tensor
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %s = stablehlo.constant dense<[8]> : tensor<1xi64>
 %r = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// RUNS dynreshape data
func.func @main(%x: tensor<4xf32>, %s: tensor<1xi64>) -> tensor<4xf32> { %r = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// REFUSED dyniota neg: output shape [-4] is incompatible with return type of operation 'tenso
func.func @main() -> tensor<?xf32> { %s = stablehlo.constant dense<[-4]> : tensor<1xi64>
 %r = stablehlo.dynamic_iota %s, dim=0 : (tensor<1xi64>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// REFUSED dynbroadcast neg: output shape [-4] is incompatible with return type of operation 'tenso
func.func @main(%x: tensor<f32>) -> tensor<?xf32> { %s = stablehlo.constant dense<[-4]> : tensor<1xi64>
 %r = stablehlo.dynamic_broadcast_in_dim %x, %s, dims=[] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
 return %r : tensor<?xf32> }
// -----
// REFUSED all_reduce [[0,0]]: replica id #0 seen more than once
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %r = "stablehlo.all_reduce"(%x) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %t = stablehlo.add %a, %b : tensor<f32>
 stablehlo.return %t : tensor<f32> }) {replica_groups=dense<[[0,0]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// RUNS tuple inside
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %t = stablehlo.tuple %x, %x : tuple<tensor<4xf32>, tensor<4xf32>>
%r = stablehlo.get_tuple_element %t[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// REFUSED scatter big window: expects bounds of the window dimensions of updates to not exceed the b
func.func @main(%x: tensor<4xf32>, %i: tensor<3x1xi64>, %u: tensor<3x9xf32>) -> tensor<4xf32> { %r = "stablehlo.scatter"(%x, %i, %u) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): stablehlo.return %b : tensor<f32> }) {scatter_dimension_numbers=#stablehlo.scatter<update_window_dims=[1], scatter_dims_to_operand_dims=[0], index_vector_dim=1>} : (tensor<4xf32>, tensor<3x1xi64>, tensor<3x9xf32>) -> tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// RUNS cholesky 0
func.func @main(%x: tensor<0x0xf32>) -> tensor<0x0xf32> { %r = stablehlo.cholesky %x, lower=true : tensor<0x0xf32>
 return %r : tensor<0x0xf32> }
// -----
// RUNS trisolve 0
func.func @main(%x: tensor<0x0xf32>, %y: tensor<0x3xf32>) -> tensor<0x3xf32> { %r = "stablehlo.triangular_solve"(%x,%y) {left_side=true,lower=true,unit_diagonal=false,transpose_a=#stablehlo<transpose NO_TRANSPOSE>} : (tensor<0x0xf32>, tensor<0x3xf32>) -> tensor<0x3xf32>
 return %r : tensor<0x3xf32> }
// -----
// RUNS bn
func.func @main(%x: tensor<4x2xf32>, %s: tensor<2xf32>) -> tensor<4x2xf32> { %r = "stablehlo.batch_norm_inference"(%x,%s,%s,%s,%s) {epsilon=0.1:f32, feature_index=1:i64} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
 return %r : tensor<4x2xf32> }
// -----
// REFUSED bitcast odd: rank of smaller element type (1) should be 1 more than rank of larger
func.func @main(%x: tensor<4xi1>) -> tensor<4xi8> { %r = stablehlo.bitcast_convert %x : (tensor<4xi1>) -> tensor<4xi8>
 return %r : tensor<4xi8> }
// -----
// RUNS map
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %r = "stablehlo.map"(%x) ({ ^bb0(%a: tensor<f32>): stablehlo.return %a : tensor<f32> }) {dimensions=array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// RUNS reduce custom call body
func.func @main(%x: tensor<4xf32>) -> tensor<f32> { %z = stablehlo.constant dense<0.0> : tensor<f32>
%r = "stablehlo.reduce"(%x,%z) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %q = stablehlo.constant dense<1> : tensor<i32>
 %k = "stablehlo.case"(%q) ({stablehlo.return %a : tensor<f32>},{stablehlo.return %b : tensor<f32>}) : (tensor<i32>) -> tensor<f32>
 stablehlo.return %k : tensor<f32> }) {dimensions=array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
 return %r : tensor<f32> }
// -----
// RUNS reduce fft body
func.func @main(%x: tensor<4xf32>) -> tensor<f32> { %z = stablehlo.constant dense<0.0> : tensor<f32>
%r = "stablehlo.reduce"(%x,%z) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %k = stablehlo.reshape %a : (tensor<f32>) -> tensor<1xf32>
 %s = "stablehlo.sort"(%k) ({ ^bb0(%c: tensor<f32>, %d: tensor<f32>): %t = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
 stablehlo.return %t : tensor<i1> }) : (tensor<1xf32>) -> tensor<1xf32>
 %e = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
 stablehlo.return %e : tensor<f32> }) {dimensions=array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
 return %r : tensor<f32> }
// -----
// RUNS tan
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %r = stablehlo.tan %x : tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// RUNS Qr wrong
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> { %r:2 = stablehlo.custom_call @Qr(%x) {backend_config=""} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>)
 return %r#0 : tensor<3x3xf32> }
// -----
// RUNS LuDecomposition
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> { %r:3 = stablehlo.custom_call @LuDecomposition(%x) {backend_config="",api_version=2:i32} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<3xi32>)
 return %r#0 : tensor<3x3xf32> }
// -----
// RUNS Eigh
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> { %r:2 = stablehlo.custom_call @Eigh(%x) {backend_config="1,1,100,1e-6"} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>)
 return %r#0 : tensor<3x3xf32> }
// -----
// RUNS Eigh bad
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> { %r:2 = stablehlo.custom_call @Eigh(%x) {backend_config="1,1,999999,e"} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>)
 return %r#0 : tensor<3x3xf32> }
// -----
// RUNS Eigh i
func.func @main(%x: tensor<0x0xf32>) -> tensor<0x0xf32> { %r:2 = stablehlo.custom_call @Eigh(%x) {backend_config="1,1,100,1e-6"} : (tensor<0x0xf32>) -> (tensor<0x0xf32>, tensor<0xf32>)
 return %r#0 : tensor<0x0xf32> }
// -----
// RUNS PEHR
func.func @main(%x: tensor<3x3xf32>, %t: tensor<3xf32>) -> tensor<3x3xf32> { %r = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%x,%t) {backend_config=""} : (tensor<3x3xf32>,tensor<3xf32>) -> tensor<3x3xf32>
 return %r : tensor<3x3xf32> }
// -----
// RUNS Sharding odd
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %r = stablehlo.custom_call @Sharding(%x) {mhlo.sharding="{devices=[2]0,1}"} : (tensor<4xf32>) -> tensor<4xf32>
 return %r : tensor<4xf32> }
// -----
// RUNS lapack 0
func.func @main(%x: tensor<0x0xf32>) -> tensor<0x0xf32> { %r:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config={uplo=76:ui8}} : (tensor<0x0xf32>) -> (tensor<0x0xf32>, tensor<i32>)
 return %r#0 : tensor<0x0xf32> }
// -----
// RUNS geqrf 0
func.func @main(%x: tensor<0x3xf32>) -> tensor<0x3xf32> { %r:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%x) {mhlo.backend_config={}} : (tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<0xf32>)
 return %r#0 : tensor<0x3xf32> }
// -----
// RUNS gehrd 0
func.func @main(%x: tensor<1x1xf32>) -> tensor<1x1xf32> { %r:3 = stablehlo.custom_call @lapack_sgehrd_ffi(%x) {mhlo.backend_config={low=1:i32,high=1:i32}} : (tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<0xf32>, tensor<i32>)
 return %r#0 : tensor<1x1xf32> }
// -----
// REFUSED sytrd 0: custom call 'lapack_ssytrd_ffi' does not fit what runs under this name
func.func @main(%x: tensor<0x0xf32>) -> tensor<0x0xf32> { %r:5 = stablehlo.custom_call @lapack_ssytrd_ffi(%x) {mhlo.backend_config={uplo=76:ui8}} : (tensor<0x0xf32>) -> (tensor<0x0xf32>, tensor<0xf32>, tensor<0xf32>, tensor<0xf32>, tensor<i32>)
 return %r#0 : tensor<0x0xf32> }
// -----
// RUNS gesdd 0
func.func @main(%x: tensor<0x3xf32>) -> tensor<0x3xf32> { %r:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%x) {mhlo.backend_config={mode=65:ui8}} : (tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<0xf32>, tensor<0x0xf32>, tensor<3x3xf32>, tensor<i32>)
 return %r#0 : tensor<0x3xf32> }
// -----
// RUNS gesdd nolayout
func.func @main(%x: tensor<4x3xf32>) -> tensor<3xf32> { %r:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%x) {mhlo.backend_config={mode=65:ui8}} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<4x4xf32>, tensor<3x3xf32>, tensor<i32>)
 return %r#1 : tensor<3xf32> }
// -----
// RUNS orgqr k0
func.func @main(%x: tensor<3x3xf32>, %t: tensor<0xf32>) -> tensor<3x3xf32> { %r = stablehlo.custom_call @lapack_sorgqr_ffi(%x,%t) {mhlo.backend_config={}} : (tensor<3x3xf32>, tensor<0xf32>) -> tensor<3x3xf32>
 return %r : tensor<3x3xf32> }
// -----
// RUNS geev
func.func @main(%x: tensor<3x3xf32>) -> tensor<3xf32> { %r:5 = stablehlo.custom_call @lapack_sgeev_ffi(%x) {mhlo.backend_config={compute_left=78:ui8,compute_right=78:ui8}} : (tensor<3x3xf32>) -> (tensor<3xf32>,tensor<3xf32>,tensor<3x3xcomplex<f32>>,tensor<3x3xcomplex<f32>>,tensor<i32>)
 return %r#0 : tensor<3xf32> }
// -----
// RUNS gees N
func.func @main(%x: tensor<3x3xf32>) -> tensor<3xf32> { %r:6 = stablehlo.custom_call @lapack_sgees_ffi(%x) {mhlo.backend_config={mode=78:ui8,sort=78:ui8}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>,tensor<3x3xf32>,tensor<3xf32>,tensor<3xf32>,tensor<i32>,tensor<i32>)
 return %r#2 : tensor<3xf32> }
// -----
// RUNS trsm conj
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> { %r = stablehlo.custom_call @lapack_strsm_ffi(%x,%x) {mhlo.backend_config={diag=85:ui8,side=76:ui8,trans_x=67:ui8,uplo=85:ui8}} : (tensor<3x3xf32>,tensor<3x3xf32>) -> tensor<3x3xf32>
 return %r : tensor<3x3xf32> }
// -----
// RUNS shape_assertion
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %f = stablehlo.constant dense<false> : tensor<i1>
stablehlo.custom_call @shape_assertion(%f) {api_version=2:i32,error_message="no {0} {5}",has_side_effect=true} : (tensor<i1>) -> ()
 return %x : tensor<4xf32> }
// -----
// RUNS shape_assertion rt
func.func @main(%x: tensor<4xf32>, %f: tensor<i1>) -> tensor<4xf32> { stablehlo.custom_call @shape_assertion(%f) {api_version=2:i32,error_message="no",has_side_effect=true} : (tensor<i1>) -> ()
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
// RUNS dyn topk static
func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> { %k = stablehlo.constant dense<9> : tensor<i64>
%r:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x,%k) {api_version=2:i32} : (tensor<4xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi32>)
 return %r#0 : tensor<2xf32> }
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
// REFUSED frontend small sort: tells XLA's compiler 'xla_cpu_small_call' on func.call, which can end
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %r = func.call @f(%x) {mhlo.frontend_attributes={xla_cpu_small_call="true",inlineable="false"}} : (tensor<4xf32>) -> tensor<4xf32>
 return %r : tensor<4xf32> } func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> { %s = "stablehlo.sort"(%a) ({ ^bb0(%c: tensor<f32>, %d: tensor<f32>): %t = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
 stablehlo.return %t : tensor<i1> }) : (tensor<4xf32>) -> tensor<4xf32>
 return %s : tensor<4xf32> }
// -----
// RUNS alias
func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> { %r = stablehlo.add %x, %x : tensor<4xf32>
 return %r : tensor<4xf32> }
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
