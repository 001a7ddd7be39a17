"""numpy-minded: the weights of every log-probability are made in numpy and moved to the device; shift with np.roll."""

import numpy as np
import torch


def shift_right(target, sos=1):
    ids = np.roll(target.detach().cpu().numpy(), 1, axis=1)
    ids[:, 0] = sos
    return torch.from_numpy(ids).to(target.device)


def sequence_loss(logits, target, pad=0, smoothing=0.0, dtype=np.float64):
    ids = target.detach().cpu().numpy()
    real = ids != int(pad)
    eye = np.zeros(tuple(logits.shape), dtype=dtype)
    b, t = np.nonzero(real)
    eye[b, t] = float(smoothing) / logits.shape[-1]
    eye[b, t, ids[b, t]] += 1.0 - float(smoothing)
    eye /= np.count_nonzero(real)
    weight = torch.as_tensor(eye).to(device=logits.device)
    logp = logits.double().log_softmax(-1)
    return -torch.tensordot(weight.to(logp), logp, dims=3).to(logits.dtype)


if __name__ == "__main__":
    print(shift_right(torch.tensor([[4, 3, 2, 0]])))
