import torch
import torch.nn as nn

# LayerNorm as in the Annotated Transformer; the wrappers are tensor2tensor's
# layer_preprocess / layer_postprocess with sequences of n (norm), d (dropout), a (add).


class LayerNorm(nn.Module):
    "Construct a layernorm module (See citation for details)."

    def __init__(self, d_model, eps=1e-5):
        super(LayerNorm, self).__init__()
        self.a_2 = nn.Parameter(torch.ones(d_model))
        self.b_2 = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        centered = x - mean
        var = (centered**2).mean(-1, keepdim=True)
        return self.a_2 * centered / torch.sqrt(var + self.eps) + self.b_2


class SublayerConnection(nn.Module):
    preprocess_sequence = ""
    postprocess_sequence = ""

    def __init__(self, norm, sublayer, dropout=0.0):
        super(SublayerConnection, self).__init__()
        self.norm = norm
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)

    def layer_prepostprocess(self, previous_value, x, sequence):
        for c in sequence:
            if c == "a":
                x = previous_value + x
            elif c == "n":
                x = self.norm(x)
            else:
                assert c == "d", "Unknown sequence step %s" % c
                x = self.dropout(x)
        return x

    def forward(self, x, *args, **kwargs):
        y = self.layer_prepostprocess(None, x, self.preprocess_sequence)
        y = self.sublayer(y, *args, **kwargs)
        return self.layer_prepostprocess(x, y, self.postprocess_sequence)


class PreNorm(SublayerConnection):
    preprocess_sequence = "n"
    postprocess_sequence = "da"


class PostNorm(SublayerConnection):
    preprocess_sequence = ""
    postprocess_sequence = "dan"
