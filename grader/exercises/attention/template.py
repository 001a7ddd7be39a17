"""Attention: every position takes information from other positions, from the relevant ones most.

Write the function and the class below, then run

    zoo grade attention.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch` and `math`.


1. Scaled dot-product attention                         "Attention Is All You Need", section 3.2.1
------------------------------------------------------------------------------------------------------

                                  Q K^T
    Attention(Q, K, V) = softmax( ----------- ) V
                                  sqrt(d_k)

Read it as a soft look-up in a dictionary. Each query (a row of Q) is compared with every key (a row of
K) by a dot product, its score. The softmax turns the scores of a query into weights that sum to 1. The
output is the weighted mean of the values (rows of V). d_k is the size of one query. Dot products grow with
the size; dividing by the root keeps the softmax from giving all the weight to one key, where hardly any
gradient is left to learn from.

Shapes ("..." stands for any number of leading dimensions: none, a batch, a batch and heads):

    query  [..., Tq, Dk]      one row for each position that attends
    key    [..., Tk, Dk]      one row for each position that may be attended to
    value  [..., Tk, Dv]      what each of those positions contributes; Dv may differ from Dk
    mask   broadcasts to [..., Tq, Tk], see below, or None
    returns (output [..., Tq, Dv], weights [..., Tq, Tk])


2. The mask
------------------------------------------------------------------------------------------------------

A mask says which keys (columns) each query (row) may attend to. Your code must accept two forms:

    boolean    True = may be attended to            False = may not
    float      0    = may be attended to            -inf  = may not      (it can be added to the scores)

A masked position has weight 0: its key and value have no effect on the output, however large they are.
A row without any allowed key has no right answer, but output and gradients must be finite.


3. A worked example
------------------------------------------------------------------------------------------------------

One query of width 4, three keys, values of width 1:

    query   [2, 0, 0, 0]             key 1  [ 1, 0, 0, 0]    value 1  [  1]
                                     key 2  [ 0, 1, 0, 0]    value 2  [ 10]
                                     key 3  [-1, 0, 0, 0]    value 3  [100]

    no mask                          weights [0.665, 0.245, 0.090]    output [12.116]
    mask [True, True, False]         weights [0.731, 0.269, 0.000]    output [ 3.420]
    mask [0.0, 0.0, -inf]            the same

Compute it once by hand, with the formula, before you write the code.


4. Multi-head attention                                 "Attention Is All You Need", section 3.2.2
------------------------------------------------------------------------------------------------------

    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O
    head_i             = Attention(Q W_i^Q, K W_i^K, V W_i^V)

A single attention has only one set of weights. So the input is projected and split into `num_heads` heads
of d = d_model / num_heads columns each; attention is computed for each head, and the outputs of the heads
are concatenated and projected again. Head h uses the columns h*d up to (h+1)*d of each projection.

    query  [B, Tq, D]         B sentences, D = d_model
    key    [B, Tk, D]
    value  [B, Tk, D]
    mask   as above, of 2 dimensions [Tq, Tk] or of 4, which broadcast to [B, H, Tq, Tk]; or None
    returns [B, Tq, D]

In self-attention, query, key and value are the same tensor. In cross-attention the query comes from the
decoder, key and value from the encoder, and Tq and Tk differ.


5. Common mistakes
------------------------------------------------------------------------------------------------------

- Over which dimension must the weights sum to 1? Each query has its own weights, one for each key.
- d_k is the size of what is compared. With heads, that is not d_model.
- With several heads, the order of the dimensions matters. A reshape keeps the order of the elements in
  memory; only a transpose changes it. Write the shape after each line.
- Tq == Tk hides many mistakes, and so does a batch of one. Try sizes that all differ.
- A score of 0 does not mean "masked": exp(0) is 1.
- Other libraries use the opposite convention for masks (True = may not). Here, True = may.
- Dropout is for training: a module in eval mode gives the same result every time.

Module and inputs have the same dtype, which is the result's too: float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attention(Q, K, V) and its weights, as in sections 1 and 2 above.

    Args:
        query: [..., Tq, Dk].
        key: [..., Tk, Dk].
        value: [..., Tk, Dv].
        mask: broadcasts to [..., Tq, Tk]; bool with True = may be attended to, or float with 0 = may and
            -inf = may not; None lets every query attend to every key.

    Returns:
        output [..., Tq, Dv] and weights [..., Tq, Tk].
    """
    raise NotImplementedError("attention: scaled_dot_product_attention returns (output, weights)")


class MultiHeadAttention(nn.Module):
    """Multi-head attention, as in section 4 above.

    Args:
        d_model: width D of the input and the output.
        num_heads: number of heads; d_model must be a multiple of it, otherwise ValueError.
        dropout: probability with which a weight is dropped (after the softmax), in training mode only.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        raise NotImplementedError("attention: MultiHeadAttention makes q_proj, k_proj, v_proj and out_proj")

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """query [B, Tq, D], key [B, Tk, D], value [B, Tk, D], mask -> [B, Tq, D]."""
        raise NotImplementedError("attention: MultiHeadAttention.forward returns [B, Tq, D]")


if __name__ == "__main__":
    # Try things out here: `python attention.py`. The grader does not run this part.
    torch.manual_seed(0)
    output, weights = scaled_dot_product_attention(torch.rand(2, 3), torch.rand(4, 3), torch.rand(4, 5))
    print("output", tuple(output.shape), "weights", tuple(weights.shape))
