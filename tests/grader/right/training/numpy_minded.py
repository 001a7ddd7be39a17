"""numpy-minded: noam returns np.float64 (a float), words are read as bytes by np.frombuffer, reversed by index arithmetic."""

import numpy as np
import torch


def noam(step, d_model, warmup):
    both = np.array([np.power(float(step), -0.5), float(step) * np.power(float(warmup), -1.5)], dtype=np.float64)
    return np.power(float(d_model), -0.5) * both.min()


def reverse_words(words):
    width = max([len(w) for w in words] + [0])
    n = len(words)
    src = np.zeros((n, width), dtype=np.int64)
    tgt = np.zeros((n, width + 1), dtype=np.int64)
    for i, word in enumerate(words):
        ids = np.frombuffer(word.encode("ascii"), dtype=np.uint8).astype(np.int64) - 97 + 3
        src[i, : ids.size] = ids
        tgt[i, : ids.size] = np.flip(ids)
        tgt[i, ids.size] = 2
    return torch.from_numpy(src), torch.from_numpy(tgt)


def train_step(model, optimizer, src, tgt):
    shifted = np.roll(tgt.cpu().numpy(), 1, axis=1)
    shifted[:, 0] = 1
    decoder_input = torch.from_numpy(shifted).to(tgt.device)

    for module in model.modules():
        module.training = True
    optimizer.zero_grad()
    logits = model(src, decoder_input)
    mask = torch.from_numpy((tgt.cpu().numpy() != 0)).to(tgt.device)
    loss = torch.nn.functional.cross_entropy(logits[mask], tgt[mask])
    loss.backward()
    optimizer.step()
    return float(loss.detach().cpu().double().numpy())


if __name__ == "__main__":
    print(noam(4000, 512, 4000))
    print(reverse_words(["cab", "to"]))
