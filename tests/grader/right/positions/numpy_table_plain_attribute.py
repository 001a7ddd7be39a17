"""A numpy person: the table is made in numpy float64 and kept as a plain attribute, moved and cast in each forward; the learned one starts from numpy too."""

import numpy as np
import torch
from torch import nn


def get_sinusoid_encoding_table(n_position, d_hid):
    def get_position_angle_vec(position):
        return [position / np.power(10000, 2 * (hid_j // 2) / d_hid) for hid_j in range(d_hid)]

    table = np.array([get_position_angle_vec(pos_i) for pos_i in range(n_position)])
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.from_numpy(table)


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=np.int64(5000)):
        super().__init__()
        self.max_len = int(max_len)
        self.table = get_sinusoid_encoding_table(self.max_len, int(d_model))

    def forward(self, x):
        t = x.shape[1]
        if t > self.max_len:
            raise ValueError("%d positions asked for, %d there" % (t, self.max_len))
        return x + self.table[:t].to(device=x.device, dtype=x.dtype)


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=np.int64(512), seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        start = rng.standard_normal((int(max_len), int(d_model))).astype(np.float32) * np.float32(0.1)
        self.W = nn.Parameter(torch.as_tensor(start).to(torch.get_default_dtype()))

    def forward(self, x):
        n, have = x.shape[1], len(self.W)
        if n > have:
            raise ValueError("%d positions asked for, %d there" % (n, have))
        return torch.add(x, self.W[np.arange(n)])
