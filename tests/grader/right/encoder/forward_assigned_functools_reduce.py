"""self.forward is bound in __init__ to the pre or the post version; the stack is a functools.reduce."""
import functools
import operator

from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.att, self.ffn = self_attention, feed_forward
        # the feed-forward's norm is made first: the order is free
        self.ln_ffn, self.ln_att = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.forward = {"pre": self._pre, "post": self._post}[norm]

    def _attend(self, x, mask):
        return self.drop(self.att(x, x, x, mask))

    def _think(self, x):
        return self.drop(self.ffn(x))

    def _post(self, x, src_mask=None):
        y = self.ln_att(x + self._attend(x, src_mask))
        return self.ln_ffn(y + self._think(y))

    def _pre(self, x, src_mask=None):
        y = x + self._attend(self.ln_att(x), src_mask)
        return y + self._think(self.ln_ffn(y))


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        for number in range(num_layers):
            self.add_module(f"layer_{number}", make_layer())
        self.num_layers = num_layers
        self.end = nn.LayerNorm(d_model) if norm == "pre" else (lambda x: x)

    def forward(self, x, src_mask=None):
        layers = operator.attrgetter(*(f"layer_{n}" for n in range(self.num_layers)))(self)
        layers = layers if isinstance(layers, tuple) else (layers,)
        return self.end(functools.reduce(lambda h, layer: layer(h, src_mask), layers, x))
