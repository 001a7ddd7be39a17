"""Tensors on a fixed device are found, and nothing else is."""

import pytest

from grader.engine.local import LocalSubmission
from grader.worker.device_trace import ASKED_FOR
from grader.worker.operations import Operations
from grader.worker.values import Packer

HEAD = "import torch\nfrom torch import nn\n\nclass Part(nn.Module):\n"
WRONG = {
    "made in forward": "    def forward(self, x):\n        return x + torch.arange(8.0)\n",
    "a mask": "    def forward(self, x):\n        return x.masked_fill(~torch.ones(3, 8).bool().tril(), 0.0)\n",
    "a plain attribute": (
        "    def __init__(self):\n        super().__init__()\n        self.pe = torch.arange(40.0).view(5, 8)\n"
        "    def forward(self, x):\n        return x + self.pe[: x.size(1)]\n"
    ),
    "moved to the CPU": "    def forward(self, x):\n        return x * x.mean(-1, keepdim=True).cpu()\n",
    "a device by name": "    def forward(self, x):\n        return x + torch.zeros(8, device='cpu')\n",
    "a copy on the CPU": "    def forward(self, x):\n        return x + x.cpu()\n",
    "another dtype": "    def forward(self, x):\n        return x + torch.arange(8).to(torch.float32)\n",
    "a type by name": "    def forward(self, x):\n        return x + (x * 2).type('torch.FloatTensor')\n",
    "from numpy": "    def forward(self, x):\n        return x + torch.from_numpy(torch.ones(8).numpy())\n",
    "stacked": "    def forward(self, x):\n        return torch.cat([x, torch.zeros(2, 3, 1)], -1)\n",
}
RIGHT = {
    "device given": "    def forward(self, x):\n        return x + torch.arange(8.0, device=x.device)\n",
    "moved": "    def forward(self, x):\n        return x + torch.arange(8.0).to(x.device)\n",
    "moved like": "    def forward(self, x):\n        return x + torch.arange(8).to(x) + torch.ones(8).type_as(x)\n",
    "a buffer": (
        "    def __init__(self):\n        super().__init__()\n        pe = torch.zeros(5, 8)\n"
        "        pe[:, 0::2] = torch.arange(5.0)[:, None]\n        self.register_buffer('pe', pe)\n"
        "    def forward(self, x):\n        return x + self.pe[: x.size(1)]\n"
    ),
    "with a parameter, in the constructor": (
        "    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.zeros(8))\n"
        "        with torch.no_grad():\n            self.w.copy_(torch.ones(8) * (self.w + 1))\n"
        "    def forward(self, x):\n        return x + self.w + torch.ones(8).to(x).view_as(x[0, 0])\n"
    ),
    "from numpy, to what was made there": (
        "    def __init__(self):\n        super().__init__()\n        self.pe = torch.zeros(0, 8)\n"
        "    def forward(self, x):\n        more = torch.from_numpy(torch.ones(x.size(1), 8).numpy())\n"
        "        self.pe = torch.cat([self.pe, more])\n        return x + self.pe[: x.size(1)].to(x.device)\n"
    ),
    "one number": "    def forward(self, x):\n        return x * torch.tensor(3.0)\n",
    "an index": "    def forward(self, x):\n        return x[:, torch.arange(2)]\n",
    "made alike": "    def forward(self, x):\n        return x + x.new_zeros(8) + torch.ones_like(x)\n",
    "layers": (
        "    def __init__(self):\n        super().__init__()\n"
        "        self.parts = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Dropout(0.5))\n"
        "    def forward(self, x):\n        return self.parts(x)\n"
    ),
    "moved to a device in words": (
        f"    def forward(self, x, device='{ASKED_FOR}'):\n"
        "        return x + torch.ones(3, 8).tril().to(device) + torch.zeros(8).to(device=device, dtype=x.dtype)\n"
    ),
    "lengths on the CPU": (
        "    def forward(self, x):\n        lengths = (x[..., 0] > -9).sum(1)\n"
        "        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True)\n"
        "        return nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)[0]\n"
    ),
    "looked at on the CPU": "    def forward(self, x):\n        return x * len(x.cpu().tolist())\n",
    "from a tensor": "    def forward(self, x):\n        return x + torch.as_tensor(x)\n",
    "a module that goes where its input is": (
        "    def forward(self, x):\n        return nn.Conv1d(3, 3, 1).to(x)(x)\n"
    ),
    "moved where it is elsewhere": (
        "    def __init__(self):\n        super().__init__()\n        self.pe = torch.arange(40.0).view(5, 8)\n"
        "    def forward(self, x):\n        if self.pe.device != x.device:\n"
        "            self.pe = self.pe.to(x.device)\n        return x + self.pe[: x.size(1)]\n"
    ),
    "made anew for another device": (
        "    kept = torch.zeros(0)\n    def __init__(self):\n        super().__init__()\n"
        "        Part.kept = torch.arange(8.0)\n"
        "    def forward(self, x):\n        if Part.kept.device != x.device:\n"
        "            Part.kept = torch.arange(8.0, device=x.device)\n        return x + Part.kept\n"
    ),
    "a type of another": "    def forward(self, x):\n        return x + torch.arange(8).type(x.type())\n",
    "saved and loaded": (
        "    def forward(self, x):\n        import io, pickle\n        file = io.BytesIO()\n"
        "        torch.save(x, file)\n        file.seek(0)\n"
        "        return x + torch.load(file) + pickle.loads(pickle.dumps(x))\n"
    ),
    "asks whether it is on a GPU": (
        "    def forward(self, x):\n        table = torch.arange(8.0)\n        if x.is_cuda:\n"
        "            table = table.cuda(x.get_device())\n        return x + table\n"
    ),
    "sizes only": "    def forward(self, x):\n        return x * torch.ones(3, 4).sum().item()\n",
}


def crossings(body: str) -> list[str]:
    import torch

    submission = LocalSubmission.from_source(HEAD + body, filename="part.py")
    submission.trace(True)
    try:
        part = submission.construct("Part", ())
        outcome = part.call([torch.ones(2, 3, 8)], grad=[0])
        if outcome.handle is not None:
            part.backward(outcome, [torch.ones_like(outcome.value)])
    finally:
        found = submission.trace(False)
    return found


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_a_stray_is_found_with_its_line(body: str) -> None:
    found = crossings(body)
    assert len(found) == 1
    line = next(i for i, text in enumerate((HEAD + body).splitlines(), 1) if "return" in text)
    assert found[0].endswith(f"in line {line}")


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_right_code_has_none(body: str) -> None:
    assert crossings(body) == []


def test_nothing_is_looked_for_unless_asked() -> None:
    submission = LocalSubmission.from_source(HEAD + WRONG["a mask"], filename="part.py")
    assert submission.trace(False) == []


def test_on_a_gpu_nothing_is_followed() -> None:
    """There a tensor on the wrong device raises by itself, and one that said another device would break right code."""
    for device, follows in (("cpu", True), ("cuda", False)):
        operations = Operations(device)
        operations.run({"op": "trace", "on": True, "tensors": []}, bytearray(), Packer())
        assert (operations._device_trace is not None) is follows
