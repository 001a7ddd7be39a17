"""A beginner's copy and paste: two forwards behind an if, asserts and prints, intermediate results kept in variables with numbers."""
import torch
import torch.nn as nn

print("torch version:", torch.__version__)
torch.manual_seed(1234)


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.masked_mha = self_attention
        self.mha = cross_attention
        self.ffn = feed_forward
        self.layernorm1 = nn.LayerNorm(d_model)
        self.layernorm2 = nn.LayerNorm(d_model)
        self.layernorm3 = nn.LayerNorm(d_model)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.dropout3 = nn.Dropout(dropout)
        self.norm = norm

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        assert x.dim() == 3 and memory.dim() == 3
        assert x.shape[0] == memory.shape[0]
        if self.norm == "pre":
            n1 = self.layernorm1(x)
            if tgt_mask is None:
                a1 = self.masked_mha(n1, n1, n1)
            else:
                a1 = self.masked_mha(n1, n1, n1, tgt_mask)
            x1 = x + self.dropout1(a1)
            n2 = self.layernorm2(x1)
            if src_mask is None:
                a2 = self.mha(n2, memory, memory)
            else:
                a2 = self.mha(n2, memory, memory, src_mask)
            x2 = x1 + self.dropout2(a2)
            n3 = self.layernorm3(x2)
            f = self.ffn(n3)
            x3 = x2 + self.dropout3(f)
        else:
            if tgt_mask is None:
                a1 = self.masked_mha(x, x, x)
            else:
                a1 = self.masked_mha(x, x, x, tgt_mask)
            x1 = self.layernorm1(x + self.dropout1(a1))
            if src_mask is None:
                a2 = self.mha(x1, memory, memory)
            else:
                a2 = self.mha(x1, memory, memory, src_mask)
            x2 = self.layernorm2(x1 + self.dropout2(a2))
            f = self.ffn(x2)
            x3 = self.layernorm3(x2 + self.dropout3(f))
        return x3


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        layer_list = []
        for i in range(num_layers):
            layer = make_layer()
            layer_list.append(layer)
            setattr(self, "dec_layer_" + str(i), layer)
        self.layer_list = layer_list  # plain list, but each layer is registered above
        self.norm = norm
        if norm == "pre":
            self.last_norm = nn.LayerNorm(d_model)
        print("decoder with", num_layers, "layers, norm =", norm)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        out = x
        for i in range(len(self.layer_list)):
            out = getattr(self, "dec_layer_" + str(i))(out, memory, src_mask, tgt_mask)
        if self.norm == "pre":
            out = self.last_norm(out)
        return out
