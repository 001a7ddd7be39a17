"""Sum of losses is backpropagated and a Tensor.register_hook on the logits divides by the count; one-hot times log_softmax; noam in float64 tensors."""

import torch


def noam(step: int, d_model: int, warmup: int) -> float:
    s = torch.as_tensor(step, dtype=torch.float64)
    rates = torch.stack([s.rsqrt(), s * torch.as_tensor(warmup, dtype=torch.float64).pow(-1.5)])
    return (rates.min() / torch.as_tensor(d_model, dtype=torch.float64).sqrt()).item()


def train_step(model, optimizer, src, tgt):
    model.train()
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = None

    real = tgt.ne(0)
    count = real.sum().item()
    decoder_input = torch.where(
        torch.arange(tgt.shape[1], device=tgt.device) == 0, torch.ones_like(tgt), tgt.roll(1, 1)
    )
    logits = model(src, decoder_input)
    logits = logits.view_as(logits)
    logits.register_hook(lambda grad: grad / count)
    wanted = torch.nn.functional.one_hot(tgt, logits.shape[-1]) * real.unsqueeze(-1)
    logp = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    total = -torch.einsum("blv,blv->", wanted.to(logp.dtype), logp)
    total.backward()
    optimizer.step()
    return total.item() / count


def reverse_words(words):
    lengths = torch.tensor([len(word) for word in words], dtype=torch.int64)
    flat = torch.tensor([ord(c) - ord("a") + 3 for c in "".join(words)], dtype=torch.int64)
    width = int(lengths.max()) if len(words) else 0
    place = torch.arange(width + 1)
    inside = place < lengths[:, None]
    src = torch.zeros(len(words), width + 1, dtype=torch.int64).masked_scatter_(inside, flat)
    # column t of the target is column len - 1 - t of the source; at t = len stands EOS
    back = (lengths[:, None] - 1 - place).clamp(min=0)
    tgt = torch.where(inside, src.gather(1, back), (place == lengths[:, None]) * 2)
    return src[:, :-1], tgt
