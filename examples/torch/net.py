# SPDX-License-Identifier: Apache-2.0
"""A network of PyTorch, trained for a moment and written as ONNX.

    net.py OUT.onnx

Prints what PyTorch itself answers for two points. Works from PyTorch 1.13 on.
"""
import sys

import torch

torch.manual_seed(1)
data = torch.rand(600, 2) * 2 - 1
inside = (data.square().sum(1) < 0.5).long()  # is a point in the circle?
net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16),
                          torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
for _ in range(300):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(data), inside).backward()
    optimizer.step()


class Inside(torch.nn.Module):
    """What callers want: 1 for a point in the circle, 0 for another."""

    def __init__(self):
        super().__init__()
        self.net = net

    def forward(self, points):
        return self.net(points).argmax(1)


model = Inside().eval()
points = torch.tensor([[0.1, 0.2], [0.9, -0.8]])
torch.onnx.export(model, (points,), sys.argv[1], input_names=["points"],
                  output_names=["inside"], dynamic_axes={"points": {0: "n"}, "inside": {0: "n"}})
print(model(points).tolist())
