"""Static methods of a class handed out as functions, einops, torch.tril_indices, keyword-swallowing **kwargs; views made by expand."""

import torch
from einops import rearrange, repeat


class Masks:
    PAD = 0

    @staticmethod
    def padding(tokens, pad=PAD, **kwargs):
        return rearrange(torch.not_equal(tokens, pad), "b t -> b 1 1 t")

    @staticmethod
    def causal(size, device=None, **kwargs):
        mask = torch.zeros(size, size, dtype=torch.bool, device=device)
        rows, cols = torch.tril_indices(size, size, device=mask.device)
        mask[rows, cols] = True
        return rearrange(mask, "q k -> 1 1 q k")

    @classmethod
    def decoder(cls, tokens, pad=PAD, **kwargs):
        b, t = tokens.shape
        keys = repeat(cls.padding(tokens, pad), "b 1 1 k -> b 1 q k", q=t)
        # a clone, and then the future is crossed out in place on it
        mask = keys.clone()
        return mask.logical_and_(cls.causal(t, device=tokens.device))

    @staticmethod
    def additive(mask, dtype=torch.float32, **kwargs):
        out = mask.new_zeros(mask.shape, dtype=dtype)
        out[~mask] = -torch.inf
        return out


padding_mask, causal_mask, decoder_mask, to_additive = Masks.padding, Masks.causal, Masks.decoder, Masks.additive

if __name__ == "__main__":
    print(decoder_mask(torch.tensor([[0, 5, 8]])))
