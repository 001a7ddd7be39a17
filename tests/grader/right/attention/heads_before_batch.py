''' Attention in the manner of (an early version of) jadore801120/attention-is-all-you-need-pytorch '''
import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    ''' Scaled Dot-Product Attention '''
    temperature = query.size(-1) ** 0.5
    attn = torch.matmul(query / temperature, key.transpose(-2, -1))

    if mask is not None:
        blocked = mask.logical_not() if mask.dtype == torch.bool else mask < 0
        attn = attn.masked_fill(blocked, torch.finfo(attn.dtype).min)

    attn = F.softmax(attn, dim=-1)
    if mask is not None:
        attn = attn.masked_fill(blocked, 0.0)   # a row without any key gives zeros

    if dropout is not None:
        attn = dropout(attn)
    output = torch.matmul(attn, value)

    return output, attn


class MultiHeadAttention(nn.Module):
    ''' Multi-Head Attention module '''

    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()

        if d_model % num_heads != 0:
            raise ValueError(f'd_model {d_model} is not a multiple of num_heads {num_heads}')

        self.n_head = num_heads
        self.d_k = d_model // num_heads
        self.d_v = d_model // num_heads

        self.w_qs = nn.Linear(d_model, num_heads * self.d_k)
        self.w_ks = nn.Linear(d_model, num_heads * self.d_k)
        self.w_vs = nn.Linear(d_model, num_heads * self.d_v)
        nn.init.normal_(self.w_qs.weight, mean=0, std=(2.0 / (d_model + self.d_k)) ** 0.5)
        nn.init.normal_(self.w_ks.weight, mean=0, std=(2.0 / (d_model + self.d_k)) ** 0.5)
        nn.init.normal_(self.w_vs.weight, mean=0, std=(2.0 / (d_model + self.d_v)) ** 0.5)

        self.fc = nn.Linear(num_heads * self.d_v, d_model)
        nn.init.xavier_normal_(self.fc.weight)

        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        d_k, d_v, n_head = self.d_k, self.d_v, self.n_head

        sz_b, len_q, _ = query.size()
        sz_b, len_k, _ = key.size()
        sz_b, len_v, _ = value.size()

        q = self.w_qs(query).view(sz_b, len_q, n_head, d_k)
        k = self.w_ks(key).view(sz_b, len_k, n_head, d_k)
        v = self.w_vs(value).view(sz_b, len_v, n_head, d_v)

        q = q.permute(2, 0, 1, 3).contiguous().view(-1, len_q, d_k)  # (n*b) x lq x dk
        k = k.permute(2, 0, 1, 3).contiguous().view(-1, len_k, d_k)  # (n*b) x lk x dk
        v = v.permute(2, 0, 1, 3).contiguous().view(-1, len_v, d_v)  # (n*b) x lv x dv

        if mask is not None:
            mask = mask.expand(sz_b, n_head, len_q, len_k)
            mask = mask.transpose(0, 1).reshape(-1, len_q, len_k)    # (n*b) x lq x lk

        output, attn = scaled_dot_product_attention(q, k, v, mask=mask, dropout=self.dropout)

        output = output.view(n_head, sz_b, len_q, d_v)
        output = output.permute(1, 2, 0, 3).contiguous().view(sz_b, len_q, -1)  # b x lq x (n*dv)

        output = self.fc(output)
        return output
