// As torch exports it: no declaration says that the memory appended to the arguments is
// for transients.
func.func @main(%a: !torch.vtensor<[?,2],f32>, %b: !torch.vtensor<[2,2],f32>)
    -> !torch.vtensor<[?,2],f32> attributes {torch.assume_strict_symbolic_shapes} {
  %0 = torch.aten.mm %a, %b : !torch.vtensor<[?,2],f32>, !torch.vtensor<[2,2],f32> -> !torch.vtensor<[?,2],f32>
  %1 = torch.aten.mm %0, %b : !torch.vtensor<[?,2],f32>, !torch.vtensor<[2,2],f32> -> !torch.vtensor<[?,2],f32>
  return %1 : !torch.vtensor<[?,2],f32>
}
