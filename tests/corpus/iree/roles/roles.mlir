module @roles {
  // The cache is read, then written: a second hal.buffer.assert says so.
  func.func @bump(%x: !torch.vtensor<[4],f32>, %cache: !torch.tensor<[4],f32>)
      -> !torch.vtensor<[4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %one = torch.constant.int 1
    %old = torch.copy.to_vtensor %cache : !torch.vtensor<[4],f32>
    %new = torch.aten.add.Tensor %old, %x, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
    torch.overwrite.tensor.contents %new overwrites %cache : !torch.vtensor<[4],f32>, !torch.tensor<[4],f32>
    %product = torch.aten.mul.Tensor %old, %x : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    return %product : !torch.vtensor<[4],f32>
  }
  // The cache is only written: a copy into its buffer says so.
  func.func @copy(%x: !torch.vtensor<[4],f32>, %cache: !torch.tensor<[4],f32>)
      -> !torch.vtensor<[4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    torch.overwrite.tensor.contents %x overwrites %cache : !torch.vtensor<[4],f32>, !torch.tensor<[4],f32>
    return %x : !torch.vtensor<[4],f32>
  }
  // A row of the cache is written where it lies: nothing says so before a call.
  func.func @put(%row: !torch.vtensor<[1],si64>, %x: !torch.vtensor<[1,4],f32>, %cache: !torch.tensor<[3,4],f32>)
      -> !torch.vtensor<[1,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %false = torch.constant.bool false
    %old = torch.copy.to_vtensor %cache : !torch.vtensor<[3,4],f32>
    %rows = torch.prim.ListConstruct %row : (!torch.vtensor<[1],si64>) -> !torch.list<optional<vtensor>>
    %new = torch.aten.index_put %old, %rows, %x, %false : !torch.vtensor<[3,4],f32>, !torch.list<optional<vtensor>>, !torch.vtensor<[1,4],f32>, !torch.bool -> !torch.vtensor<[3,4],f32>
    torch.overwrite.tensor.contents %new overwrites %cache : !torch.vtensor<[3,4],f32>, !torch.tensor<[3,4],f32>
    return %x : !torch.vtensor<[1,4],f32>
  }
  // The cache is only read.
  func.func @read(%x: !torch.vtensor<[4],f32>, %cache: !torch.tensor<[4],f32>)
      -> !torch.vtensor<[4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %old = torch.copy.to_vtensor %cache : !torch.vtensor<[4],f32>
    %product = torch.aten.mul.Tensor %old, %x : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    return %product : !torch.vtensor<[4],f32>
  }
}
