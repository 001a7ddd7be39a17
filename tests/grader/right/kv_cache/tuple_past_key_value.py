"""HuggingFace manner: past_key_value is a tuple, _split_heads/_merge_heads, the result is a list of two."""

from typing import List, Optional, Tuple, Union

import torch
from torch import nn

KeyValue = Tuple[torch.Tensor, torch.Tensor]


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, *, initializer_range: float = 0.1, **kwargs) -> None:
        super().__init__()
        self.embed_dim = d_model
        self.num_heads = num_heads
        self.head_dim = self.embed_dim // self.num_heads
        if self.head_dim * self.num_heads != self.embed_dim:
            raise ValueError(f"`embed_dim` must be divisible by num_heads (got {d_model} and {num_heads}).")
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.dense = nn.Linear(d_model, d_model)
        self._range = initializer_range
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            module.weight.data.normal_(mean=0.0, std=self._range)
            module.bias.data.zero_()

    def _split_heads(self, tensor):
        return tensor.view(tensor.size()[:-1] + (self.num_heads, self.head_dim)).permute(0, 2, 1, 3)

    def _merge_heads(self, tensor):
        tensor = tensor.permute(0, 2, 1, 3).contiguous()
        return tensor.view(tensor.size()[:-2] + (self.embed_dim,))

    def forward(self, x: torch.Tensor, cache: Optional[KeyValue]) -> List[Union[torch.Tensor, KeyValue]]:
        query_layer = self._split_heads(self.query(x))
        key_layer = self._split_heads(self.key(x))
        value_layer = self._split_heads(self.value(x))
        past_key, past_value = (None, None) if cache is None else cache
        if past_key is not None:
            key_layer = torch.cat([past_key, key_layer], dim=-2)
            value_layer = torch.cat([past_value, value_layer], dim=-2)
        present = (key_layer, value_layer)
        scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))
        scores = scores / torch.full([], self.head_dim ** 0.5, dtype=scores.dtype, device=scores.device)
        probs = nn.functional.softmax(scores, dim=-1)
        context = self._merge_heads(torch.matmul(probs, value_layer))
        return [self.dense(context), present]
