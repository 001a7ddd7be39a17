"""Slips, in files as production code and notebooks are written."""

from __future__ import annotations

from tests.mutation.by_hand.case import case

SLIPS = (
    # masks
    case(
        "masks",
        "production",
        "axis counted from the wrong side: the padding mask is [B,1,T,1] and masks queries, not keys",
        ("allowed.unsqueeze(1).unsqueeze(2)", "allowed.unsqueeze(1).unsqueeze(3)"),
    ),
    case(
        "masks",
        "production",
        "pad is not passed on to the request, so the default 0 wins",
        ("tokens=tokens, pad=pad)", "tokens=tokens)"),
    ),
    case(
        "masks",
        "production",
        "copy-paste: decoder_mask asks for CAUSAL twice, padding is missing",
        (
            "build([MaskKind.CAUSAL, MaskKind.PADDING], request)",
            "build([MaskKind.CAUSAL, MaskKind.CAUSAL], request)",
        ),
    ),
    case(
        "masks",
        "production",
        "keys of the causal mask are always made on the CPU (device forgotten)",
        (
            "keys = torch.arange(request.columns, device=request.device)",
            "keys = torch.arange(request.columns)",
        ),
    ),
    case(
        "masks",
        "production",
        (
            "dropped is made without dtype: full_like of a bool mask is True, so masked places become 1.0 "
            "instead of -inf"
        ),
        ("torch.full_like(mask, self.drop, dtype=self.dtype)", "torch.full_like(mask, self.drop)"),
    ),
    case(
        "masks",
        "notebook",
        "shape unpacked in the wrong order (n, b for b, n): raises two lines below unless B == T",
        ("b, n = (tok := tokens).shape", "n, b = (tok := tokens).shape"),
    ),
    case(
        "masks",
        "notebook",
        "expand instead of repeat before an in-place &=: raises at the &= for B > 1",
        (".repeat(b, 1, 1, 1)", ".expand(b, 1, n, n)"),
    ),
    case(
        "masks",
        "notebook",
        "the constant NINF is -1e9, not -inf",
        ('NINF = -float("inf")', "NINF = -1e9"),
    ),
    # attention
    case(
        "attention",
        "production",
        "additive masks are read the wrong way round (0 is blocked); bool masks are right",
        ("return torch.isneginf(mask)", "return mask.eq(0)"),
    ),
    case(
        "attention",
        "production",
        "scale from size(-2), the number of keys, instead of the width",
        ("math.sqrt(key.size(-1))", "math.sqrt(key.size(-2))"),
    ),
    case(
        "attention",
        "production",
        "sizes of the split swapped: head_dim heads of num_heads columns",
        ("(self.num_heads, self.head_dim)", "(self.head_dim, self.num_heads)"),
    ),
    case(
        "attention",
        "production",
        "condition the wrong way: dropout in eval mode and none in train mode",
        ("if not self.training or", "if self.training or"),
    ),
    case(
        "attention",
        "production",
        "arguments of where swapped: after the softmax only blocked weights are kept",
        (
            "torch.where(self._blocked, torch.zeros_like(weights), weights)",
            "torch.where(self._blocked, weights, torch.zeros_like(weights))",
        ),
    ),
    case(
        "attention",
        "notebook",
        (
            "cross-attention path: keys and values use the first 2D rows of the packed weight (q and k) "
            "instead of the last 2D"
        ),
        ("F.linear(k, self.W[D:], self.b[D:])", "F.linear(k, self.W[: 2 * D], self.b[: 2 * D])"),
    ),
    case(
        "attention",
        "notebook",
        "S is the query's length, not the key's: raises at the reshape of k if Tq != Tk",
        ("S, d = k.size(1), D // self.H", "S, d = q.size(1), D // self.H"),
    ),
    case(
        "attention",
        "notebook",
        "w is dropped out but the y computed before is used: dropout has no effect",
        ("y = F.dropout(w, self.p) @ v", "w = F.dropout(w, self.p)"),
    ),
    # positions
    case(
        "positions",
        "production",
        "wrong config field: exponent divided by num_pairs instead of d_model",
        ("(2 * pair / config.d_model)", "(2 * pair / config.num_pairs)"),
    ),
    case(
        "positions",
        "production",
        "num_cosines is one too small for even widths: raises at the second index_copy_",
        ("return self.d_model // 2", "return (self.d_model - 1) // 2"),
    ),
    case(
        "positions",
        "production",
        (
            "unpacked in the wrong order: the batch size is taken as length (raises at expand_as, or "
            "broadcasts one row)"
        ),
        ("_, length, width = x.shape", "length, _, width = x.shape"),
    ),
    case(
        "positions",
        "production",
        "learned rows start at 1 instead of 0",
        (
            "torch.arange(length, device=self.embedding.weight.device)",
            "torch.arange(1, length + 1, device=self.embedding.weight.device)",
        ),
    ),
    case(
        "positions",
        "notebook",
        "the cache's key lacks the length: a second call with another length gets the old table",
        ("key = (x.shape[1], x.device, x.dtype)", "key = (x.device, x.dtype)"),
    ),
    case(
        "positions",
        "notebook",
        "stacked along axis 1, not -1: sines and cosines are two halves, not interleaved",
        ("torch.stack([a.sin(), a.cos()], -1)", "torch.stack([a.sin(), a.cos()], 1)"),
    ),
    case(
        "positions",
        "notebook",
        "y is x itself, not a clone: += changes the input in place",
        ("y = x.clone()", "y = x"),
    ),
    case(
        "positions",
        "notebook",
        "leftover .data: no gradient reaches the learned table",
        ("y += self.w[:, : x.shape[1]]", "y += self.w.data[:, : x.shape[1]]"),
    ),
    # feedforward
    case(
        "feedforward",
        "production",
        "copy-paste: contract has the widths of expand; raises at the assert of Affine.forward",
        ('("contract", self.d_ff, self.d_model)', '("contract", self.d_model, self.d_ff)'),
    ),
    case(
        "feedforward",
        "production",
        "the default activation is gelu, not relu",
        ('field(default="relu")', 'field(default="gelu")'),
    ),
    case(
        "feedforward",
        "production",
        "chunked path: all rows are computed for each piece (stale variable); raises at the unflatten",
        ("[self._apply_rows(piece) for piece in", "[self._apply_rows(rows) for piece in"),
    ),
    case(
        "feedforward",
        "production",
        "the expanded value is returned instead of the activated one: no ReLU",
        ("return self.dropout(activated)", "return self.dropout(expanded)"),
    ),
    case(
        "feedforward",
        "notebook",
        "or for and: dropout in eval mode too",
        ("if self.training and self.p > 0", "if self.training or self.p > 0"),
    ),
    case(
        "feedforward",
        "notebook",
        "kept elements are divided by p instead of 1 - p",
        ("h = h * keep / (1 - self.p)", "h = h * keep / self.p"),
    ),
    case(
        "feedforward",
        "notebook",
        "the dropout mask has one column and broadcasts: whole positions are dropped",
        ("torch.rand_like(h) >= self.p", "torch.rand_like(h[..., :1]) >= self.p"),
    ),
    case(
        "feedforward",
        "notebook",
        "leftover detach: the first bias gets no gradient",
        ("h += self.b1", "h += self.b1.detach()"),
    ),
    # norm
    case(
        "norm",
        "production",
        "var_mean returns (variance, mean); unpacked as mean, variance",
        ("variance, mean = torch.var_mean", "mean, variance = torch.var_mean"),
    ),
    case(
        "norm",
        "production",
        "eps is not passed to the config, so the default 1e-5 wins",
        ("self.config = NormConfig(d_model, eps)", "self.config = NormConfig(d_model)"),
    ),
    case(
        "norm",
        "production",
        "addcmul's arguments in the wrong order: x_hat + bias * gain",
        (
            "torch.addcmul(self.bias.to(wide.dtype), standard, self.gain.to(wide.dtype))",
            "torch.addcmul(standard, self.bias.to(wide.dtype), self.gain.to(wide.dtype))",
        ),
    ),
    case(
        "norm",
        "production",
        "the property bias returns the gain",
        ('return self.affine["bias"]', 'return self.affine["gain"]'),
    ),
    case(
        "norm",
        "production",
        "keyword arguments are not passed to the sublayer",
        ("self.dropout(self.sublayer(x, *args, **kwargs))", "self.dropout(self.sublayer(x, *args))"),
    ),
    case(
        "norm",
        "notebook",
        "no clone: h -= changes the input in place (float32/64)",
        ("h = up(x).clone()", "h = up(x)"),
    ),
    case(
        "norm",
        "notebook",
        (
            "PreNorm: drop's arguments in the wrong order (training as p, p as on): NaN in train mode with "
            "dropout"
        ),
        ("return x + drop(y, self.p, self.training)", "return x + drop(y, self.training, self.p)"),
    ),
    case(
        "norm",
        "production",
        "PostNorm has an __init__ that does not pass dropout to super(): never drops",
        (
            "class PostNorm(ResidualBlock):\n",
            (
                "class PostNorm(ResidualBlock):\n"
                "    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:\n"
                "        super().__init__(norm, sublayer)\n"
                "        self.rate = dropout\n"
                "\n"
            ),
        ),
    ),
    # encoder
    case(
        "encoder",
        "production",
        "property the wrong way: post ends in a norm and pre does not",
        ("return self is Placement.PRE", "return self is Placement.POST"),
    ),
    case(
        "encoder",
        "production",
        "stale variable: every layer gets x, not the output of the layer before",
        ("hidden = layer(hidden, src_mask=src_mask)", "hidden = layer(x, src_mask=src_mask)"),
    ),
    case(
        "encoder",
        "production",
        'copy-paste: the feed-forward uses the residual (norm) of "attention"',
        ('yield self.residuals["feed_forward"], self.parts', 'yield self.residuals["attention"], self.parts'),
    ),
    case(
        "encoder",
        "production",
        "dropout is not passed to the config: the default 0 wins",
        (
            "return cls(d_model=d_model, dropout=dropout, placement=Placement(norm))",
            "return cls(d_model=d_model, placement=Placement(norm))",
        ),
    ),
    case(
        "encoder",
        "production",
        "arguments of residual swapped: raises in Residual.forward",
        ("x = residual(x, sublayer)", "x = residual(sublayer, x)"),
    ),
    case(
        "encoder",
        "notebook",
        "post: x renamed to h in one place only; attention's result is lost",
        ("x = self.n1(x + a)", "h = self.n1(x + a)"),
    ),
    case(
        "encoder",
        "notebook",
        "pre: += changes the layer's input in place",
        ("x = x + self.drop(self.att(h, h, h, m))", "x += self.drop(self.att(h, h, h, m))"),
    ),
    case(
        "encoder",
        "notebook",
        "the loop starts at 1 and skips the first layer",
        ("        i = 0\n", "        i = 1\n"),
    ),
    # decoder
    case(
        "decoder",
        "production",
        "the masks are handed to Context in the wrong order",
        ("Context(memory, src_mask, tgt_mask)", "Context(memory, tgt_mask, src_mask)"),
    ),
    case(
        "decoder",
        "production",
        "order of the sublayers: feed-forward before cross-attention",
        (
            "return self.attend_target, self.attend_source, self.transform",
            "return self.attend_target, self.transform, self.attend_source",
        ),
    ),
    case(
        "decoder",
        "production",
        "the return is inside the loop: only the first layer runs",
        ("        return self.final_norm(state)", "            return self.final_norm(state)"),
    ),
    case(
        "decoder",
        "production",
        "arguments in the wrong order: the pre-norm stack has no final norm",
        ("self._make_final_norm(d_model, norm)", "self._make_final_norm(norm, d_model)"),
    ),
    case(
        "decoder",
        "production",
        "all blocks have the same key: each overwrites the one before, one layer is left",
        ('f"block_{index}"', 'f"block_{num_layers}"'),
    ),
    case(
        "decoder",
        "notebook",
        "zip over norms[1:]: the feed-forward is cut off, and norms are shifted",
        ("in zip(fs, self.ns):", "in zip(fs, self.ns[1:]):"),
    ),
    case(
        "decoder",
        "notebook",
        "the stack passes tgt_mask twice (copy-paste)",
        ("l(h, memory, src_mask, tgt_mask)", "l(h, memory, tgt_mask, tgt_mask)"),
    ),
    case(
        "decoder",
        "notebook",
        "post: dropout is applied after the norm instead of to the sublayer's output",
        ("x = n(x + self.dr(f(x)))", "x = self.dr(n(x + f(x)))"),
    ),
    # transformer
    case(
        "transformer",
        "production",
        "copy-paste: the target side uses src_embed",
        ("self.tgt_input = InputStage(tgt_embed,", "self.tgt_input = InputStage(src_embed,"),
    ),
    case(
        "transformer",
        "production",
        "reset_parameters resets the handed-in Linear layers as well",
        (
            (
                "        nn.init.xavier_uniform_(self.generator.weight)\n"
                "        nn.init.zeros_(self.generator.bias)\n"
            ),
            (
                "        for weight in self.parameters():\n"
                "            if weight.dim() > 1:\n"
                "                nn.init.xavier_uniform_(weight)\n"
                "        nn.init.zeros_(self.generator.bias)\n"
            ),
        ),
    ),
    case(
        "transformer",
        "production",
        "the causal mask has the batch's size, not the length's",
        ("self.past(tgt.size(1), tgt.device)", "self.past(tgt.size(0), tgt.device)"),
    ),
    case(
        "transformer",
        "production",
        "pad is not passed to the config: 0 wins",
        (
            "ModelConfig(d_model=d_model, tgt_vocab=tgt_vocab, pad=pad)",
            "ModelConfig(d_model=d_model, tgt_vocab=tgt_vocab)",
        ),
    ),
    case(
        "transformer",
        "production",
        "forward passes tgt as src: raises at the assert in decode if S != L, else the mask is wrong",
        (
            "return self.decode(tgt, memory=memory, src=src)",
            "return self.decode(tgt, memory=memory, src=tgt)",
        ),
    ),
    case(
        "transformer",
        "notebook",
        "the additive mask is inverted (ok filled with -inf)",
        ("masked_fill_(~ok, -torch.inf)", "masked_fill_(ok, -torch.inf)"),
    ),
    case(
        "transformer",
        "notebook",
        "causal comparison the wrong way: only later keys are allowed",
        ("(i[:, None] >= i)", "(i[:, None] <= i)"),
    ),
    case(
        "transformer",
        "notebook",
        "leftover x = x.detach() in decode: no gradient to the target's embedding",
        (
            "        x = self.emb(self.et, tgt)\n",
            ("        x = self.emb(self.et, tgt)\n        x = x.detach()\n"),
        ),
    ),
    # loss
    case(
        "loss",
        "production",
        "uniform averages over dim 0 instead of 1: with smoothing, raises in __call__ unless N == V",
        ("return -log_probs.mean(dim=1)", "return -log_probs.mean(dim=0)"),
    ),
    case(
        "loss",
        "production",
        "pad is not passed to the config: 0 wins",
        ("config = LossConfig(pad, smoothing)", "config = LossConfig(smoothing=smoothing)"),
    ),
    case(
        "loss",
        "production",
        "mean over all positions: PAD counts in the divisor",
        ("return kept.sum() / self.count", "return kept.mean()"),
    ),
    case(
        "loss",
        "production",
        "the target is copied unshifted behind SOS",
        ("shifted[:, 1:] = target[:, :-1]", "shifted[:, 1:] = target[:, 1:]"),
    ),
    case(
        "loss",
        "production",
        "reshape with swapped sizes mixes vocabulary and positions",
        ("flat_logits = logits.reshape(-1, vocab)", "flat_logits = logits.reshape(vocab, -1).t()"),
    ),
    case(
        "loss",
        "notebook",
        "shift_right shifts its argument in place",
        ("    t = target.roll(1, -1)\n", ("    t = target\n    t[:, 1:] = t[:, :-1].clone()\n")),
    ),
    case(
        "loss",
        "notebook",
        "the smoothing is divided by V twice",
        ("l += smoothing * (lse", "l += smoothing / V * (lse"),
    ),
    case(
        "loss",
        "notebook",
        "the result is not cast back: bfloat16 logits give a float32 loss",
        ("return l.mean().to(dt)", "return l.mean()"),
    ),
    # decoding
    case(
        "decoding",
        "production",
        "the mode is not restored: the model is always left in train mode",
        ("model.train(was_training)", "model.train()"),
    ),
    case(
        "decoding",
        "production",
        "ended is overwritten instead of accumulated: rows go on after EOS",
        ("self.ended = self.ended | tokens.eq(self.ids.eos)", "self.ended = tokens.eq(self.ids.eos)"),
    ),
    case(
        "decoding",
        "notebook",
        "beam: the finished flags are not reordered after pruning (stale end)",
        ("was = end[row]", "was = end"),
    ),
    case(
        "decoding",
        "production",
        "beam: eos and pad in the wrong order for SpecialIds",
        (
            ("    ids = SpecialIds(sos=sos, eos=eos, pad=pad)\n    searcher"),
            ("    ids = SpecialIds(sos, pad, eos)\n    searcher"),
        ),
    ),
    case(
        "decoding",
        "production",
        "beam: the total is overwritten by the last log-probability, not accumulated",
        ("self.total + log_prob, token == eos", "log_prob, token == eos"),
    ),
    case(
        "decoding",
        "notebook",
        "greedy: the last column is cut off",
        ("return out[:, 1:]", "return out[:, 1:max_len]"),
    ),
    case(
        "decoding",
        "notebook",
        (
            "beam: memory is repeated in the wrong order (repeat for repeat_interleave): rows are mixed "
            "for B > 1"
        ),
        ("mem = model.encode(src).repeat_interleave(K, 0)", "mem = model.encode(src).repeat(K, 1, 1)"),
    ),
    # training
    case(
        "training",
        "production",
        "condition the wrong way: rises after warm-up, falls before",
        ("if step < self.warmup:", "if step > self.warmup:"),
    ),
    case(
        "training",
        "production",
        "pad sides swapped: SOS is appended at the end, nothing is shifted",
        ("F.pad(tgt[:, :-1], (1, 0)", "F.pad(tgt[:, :-1], (0, 1)"),
    ),
    case(
        "training",
        "production",
        "rows are padded on the left",
        ("batch[number, : len(row)] =", "batch[number, -len(row) :] ="),
    ),
    case(
        "training",
        "production",
        "the letters are reversed, not the ids: raises in Collator",
        ("[*reversed(ids), VOCABULARY.eos]", "[*reversed(word), VOCABULARY.eos]"),
    ),
    case(
        "training",
        "production",
        "zero_grad after the block: gradients are cleared just before the step",
        (
            ("    optimizer.zero_grad(set_to_none=True)\n    yield\n"),
            ("    yield\n    optimizer.zero_grad(set_to_none=True)\n"),
        ),
    ),
    case(
        "training",
        "notebook",
        "integer division: the rate is 0 during warm-up",
        ("step / warmup / warmup**0.5", "step // warmup / warmup**0.5"),
    ),
    case(
        "training",
        "notebook",
        "counts the tokens of the input, not of the target",
        ("n = (tgt != 0).sum()", "n = (inp != 0).sum()"),
    ),
    case(
        "training",
        "notebook",
        "tgt[:] is a view: shifting it changes the target (and the caller's tensor)",
        ("    inp = tgt.roll(1, 1)\n", ("    inp = tgt[:]\n    inp[:, 1:] = tgt[:, :-1].clone()\n")),
    ),
    # kv_cache
    case(
        "kv_cache",
        "production",
        "copy-paste: past returns the keys as values",
        ("self.values[:, :, : self.length]\n", "self.keys[:, :, : self.length]\n"),
    ),
    case(
        "kv_cache",
        "production",
        "<= for <: no room at the first multiple of the block; raises in store",
        ("if self.length < self.capacity:", "if self.length <= self.capacity:"),
    ),
    case(
        "kv_cache",
        "production",
        "copy-paste: when the cache grows, values are replaced by keys",
        ("self.values = F.pad(self.values,", "self.values = F.pad(self.keys,"),
    ),
    case(
        "kv_cache",
        "production",
        "forgotten permute in _merge: raises in to_output",
        ("heads.permute(0, 2, 1, 3).flatten(start_dim=2)", "heads.flatten(start_dim=2)"),
    ),
    case(
        "kv_cache",
        "notebook",
        "typing slip: values are the keys",
        ('for n in "kv")', 'for n in "kk")'),
    ),
    case(
        "kv_cache",
        "notebook",
        "shallow copy of a module-level dict: sentences share the lists",
        (("\n\nclass CachedAttention"), ('\nEMPTY = {"k": [], "v": []}\n\n\nclass CachedAttention')),
        ('c = cache or {"k": [], "v": []}', "c = cache or dict(EMPTY)"),
    ),
    case(
        "kv_cache",
        "notebook",
        "scale with the square root of d_model instead of the head's size",
        ("/ self.d**0.5", "/ D**0.5"),
    ),
    case(
        "kv_cache",
        "notebook",
        "softmax over the heads (axis 1), not over the keys",
        ("a = s.softmax(-1)", "a = s.softmax(1)"),
    ),
)
