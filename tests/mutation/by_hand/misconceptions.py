"""Misconceptions, in files as students write them."""

from __future__ import annotations

from tests.mutation.by_hand.case import case

MISCONCEPTIONS = (
    # masks
    case(
        "masks",
        "student",
        (
            "decoder_mask also allows every position itself, PAD or not (fear of empty rows): the diagonal "
            "is OR-ed in"
        ),
        (
            "    return torch.logical_and(no_future, no_padding)\n",
            (
                "    both = torch.logical_and(no_future, no_padding)\n"
                "    # a row must not be empty: softmax would give NaN\n"
                "    itself = torch.eye(length, dtype=torch.bool, device=tokens.device)\n"
                "    return both | itself\n"
            ),
        ),
        wrong=("return both | itself", "itself = torch.eye"),
    ),
    case(
        "masks",
        "student",
        (
            "padding_mask takes everything after the first PAD for padding (cumprod): PAD on the left or "
            "in the middle hides tokens"
        ),
        (
            "    is_token = torch.logical_not(torch.eq(tokens, pad))\n",
            (
                "    is_token = torch.logical_not(torch.eq(tokens, pad))\n"
                "    is_token = is_token.int().cumprod(dim=1).bool()  # the sentence ends where padding "
                "begins\n"
            ),
        ),
        wrong=("cumprod",),
    ),
    case(
        "masks",
        "student",
        (
            "to_additive opens rows that allow no key, so that the softmax has something to do: such rows "
            "become all 0 in place of all -inf"
        ),
        (
            "    return torch.where(mask, zero, minus_infinity)\n",
            (
                "    empty = ~mask.any(dim=-1, keepdim=True)\n"
                "    usable = mask | empty  # a row of -inf only would be NaN after the softmax\n"
                "    return torch.where(usable, zero, minus_infinity)\n"
            ),
        ),
        wrong=("empty = ~", "usable = mask"),
    ),
    case(
        "masks",
        "student_functional",
        (
            "causal masks are remembered by size alone: the second call with another device gets the "
            "tensor of the first device"
        ),
        (
            ("import torch\n\n\ndef padding"),
            ("import torch\n\nMADE = {}  # size -> mask, so that it is made only once\n\n\ndef padding"),
        ),
        (
            (
                "    future = torch.full((size, size), 1, dtype=torch.uint8, device=device).triu(1)\n"
                "    return future.eq(0).view(1, 1, size, size)\n"
            ),
            (
                "    if size not in MADE:\n"
                "        future = torch.full((size, size), 1, dtype=torch.uint8, device=device).triu(1)\n"
                "        MADE[size] = future.eq(0).view(1, 1, size, size)\n"
                "    return MADE[size]\n"
            ),
        ),
        wrong=("if size not in MADE", "MADE[size] =", "return MADE[size]"),
    ),
    case(
        "masks",
        "student",
        (
            "causality by position ids that count tokens and are 0 at PAD: a padded query (id 0) sees "
            "nothing, it loses its row"
        ),
        (
            "def decoder_mask(",
            (
                "def token_numbers(tokens, pad):\n"
                '    """1, 2, 3 ... for the tokens; padding has no number."""\n'
                "    real = tokens.ne(pad)\n"
                "    return real.cumsum(dim=1) * real\n"
                "\n"
                "\n"
                "def decoder_mask("
            ),
        ),
        (
            ("    length = tokens.shape[-1]\n    no_future = causal_mask(length, device=tokens.device)\n"),
            (
                "    number = token_numbers(tokens, pad)\n"
                "    no_future = (number[:, None, :] <= number[:, :, None]).unsqueeze(1)\n"
            ),
        ),
        wrong=("return real.cumsum", "number = token", "no_future = (number"),
    ),
    case(
        "masks",
        "student_functional",
        (
            "decoder_mask squeezes all dimensions of size 1 away and puts one back: for one sentence (or T "
            "= 1) the shape is [T, 1, T]"
        ),
        (
            (
                "    keys = tokens.ne(pad)  # [B, T]\n"
                "    table = keys.unsqueeze(1).repeat(1, tokens.size(1), 1)  # a row of keys for each query\n"
                "    return table.tril().unsqueeze(1)\n"
            ),
            (
                "    keys = padding_mask(tokens, pad).squeeze()  # [B, T]\n"
                "    past = causal_mask(tokens.size(1), tokens.device).squeeze()  # [T, T]\n"
                "    table = keys.unsqueeze(-2) & past  # a row of keys for each query\n"
                "    return table.unsqueeze(1)\n"
            ),
        ),
        wrong=(".squeeze()  # [B, T]", ".squeeze()  # [T, T]"),
    ),
    case(
        "masks",
        "student_functional",
        (
            "to_additive adds 1e-9 before the log, 'since log(0) is an error': a blocked key gets -20.7, "
            "not -inf"
        ),
        (
            "    return mask.to(dtype).log()  # log 1 = 0, log 0 = -inf\n",
            "    return torch.log(mask.to(dtype) + 1e-9)  # log(0) is not defined\n",
        ),
    ),
    case(
        "masks",
        "student_functional",
        (
            "decoder_mask moves the padding one position to the right, as the decoder's input is the "
            "shifted target: it masks the wrong keys"
        ),
        (
            "    keys = tokens.ne(pad)  # [B, T]\n",
            (
                "    keys = tokens.ne(pad)  # [B, T]\n"
                "    # the decoder's input is shifted by one, so its mask is, too; SOS is never padding\n"
                "    keys = torch.cat([torch.ones_like(keys[:, :1]), keys[:, :-1]], dim=1)\n"
            ),
        ),
        wrong=("keys = torch.cat",),
    ),
    # attention
    case(
        "attention",
        "student",
        (
            "after dropout the weights are divided by their sum again ('weights must sum to 1'), in place "
            "of the scaling by 1/(1-p)"
        ),
        (
            "        mixed = torch.matmul(self.drop(weights), v)\n",
            (
                "        weights = self.drop(weights)\n"
                "        if self.training and self.drop.p > 0:\n"
                "            # dropping makes the rows smaller than 1\n"
                "            weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)\n"
                "        mixed = torch.matmul(weights, v)\n"
            ),
        ),
        wrong=("weights = weights / weights.sum", "if self.training and"),
    ),
    case(
        "attention",
        "student",
        "a mask of two dimensions is taken for a padding mask [B, Tk] in place of [Tq, Tk]",
        (
            "        q = self.heads(self.to_query(query))\n",
            (
                "        if mask is not None and mask.dim() == 2:\n"
                "            mask = mask[:, None, None, :]  # [B, Tk] -> [B, 1, 1, Tk]\n"
                "        q = self.heads(self.to_query(query))\n"
            ),
        ),
    ),
    case(
        "attention",
        "student_functional",
        (
            "float masks are added and NaN repaired after the softmax (nan_to_num): for a float mask with "
            "an empty row the gradient is NaN"
        ),
        (("def blocked_keys(mask):\n    return ~mask if mask.dtype == torch.bool else mask < 0\n\n\n"), ""),
        (
            (
                "    blocked = blocked_keys(mask)\n"
                '    return scores.masked_fill(blocked, float("-inf")).softmax(-1).masked_fill(blocked, 0.0)\n'
            ),
            (
                "    if mask.dtype == torch.bool:\n"
                '        return scores.masked_fill(~mask, float("-inf")).softmax(-1).masked_fill(~mask, 0.0)\n'
                "    weights = (scores + mask).softmax(-1)\n"
                "    return torch.nan_to_num(weights)  # rows without any key\n"
            ),
        ),
        wrong=("weights = (scores + mask)", "torch.nan_to_num"),
    ),
    case(
        "attention",
        "student_functional",
        (
            "the value argument is not used: in cross-attention both keys and values are projected from "
            "key ('both come from the memory')"
        ),
        (
            "        q, k, v = (self.project(x, i) for i, x in enumerate((query, key, value)))\n",
            (
                "        if query is key:  # self-attention\n"
                "            q, k, v = (self.project(query, i) for i in range(3))\n"
                "        else:  # keys and values come from the memory\n"
                "            q = self.project(query, 0)\n"
                "            k, v = self.project(key, 1), self.project(key, 2)\n"
            ),
        ),
        wrong=("q, k, v = (self.project(query, i)", "k, v = self.project(key, 1)"),
    ),
    case(
        "attention",
        "student_functional",
        (
            "F.softmax without dim: torch then chooses dim 1 for two and four dimensions, 0 for three: "
            "with heads it normalizes over the heads"
        ),
        (
            ("import torch\nfrom torch import nn\n"),
            ("import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"),
        ),
        ("        return scores.softmax(-1)\n", "        return F.softmax(scores)\n"),
        (
            '    return scores.masked_fill(blocked, float("-inf")).softmax(-1).masked_fill(blocked, 0.0)\n',
            (
                '    scores = scores.masked_fill(blocked, float("-inf"))\n'
                "    return F.softmax(scores).masked_fill(blocked, 0.0)\n"
            ),
        ),
        wrong=("F.softmax(scores)",),
    ),
    case(
        "attention",
        "student",
        "keys and values share one projection ('both come from the same source')",
        (
            (
                "        self.to_key = nn.Linear(d_model, d_model)\n"
                "        self.to_value = nn.Linear(d_model, d_model)\n"
            ),
            "        self.to_memory = nn.Linear(d_model, d_model)  # for keys and values\n",
        ),
        ("self.to_key(key)", "self.to_memory(key)"),
        ("self.to_value(value)", "self.to_memory(value)"),
    ),
    case(
        "attention",
        "student",
        (
            "the softmax subtracts the largest score of all keys, masked ones included: a large score at a "
            "masked key makes all other weights underflow to 0"
        ),
        (
            (
                "    if usable is not None:\n"
                "        scores = torch.where(usable, scores, torch.finfo(scores.dtype).min)\n"
            ),
            "",
        ),
        wrong=("top = scores.amax", "exps = torch.exp(scores - top)"),
    ),
    case(
        "attention",
        "student",
        (
            "heads in a loop, each with mask[:, 0]: a mask that differs between heads is used as the first "
            "head's for all"
        ),
        (
            (
                "        _, weights = scaled_dot_product_attention(q, k, v, mask)\n"
                "        mixed = torch.matmul(self.drop(weights), v)\n"
                "        side_by_side = mixed.transpose(1, 2).reshape(query.shape)\n"
                "        return self.to_out(side_by_side)\n"
            ),
            (
                "        if mask is not None and mask.dim() == 4:\n"
                "            mask = mask[:, 0]  # [B, Tq, Tk], as the loop has no dimension for heads\n"
                "        mixed = []\n"
                "        for h in range(self.num_heads):\n"
                "            _, weights = scaled_dot_product_attention(q[:, h], k[:, h], v[:, h], mask)\n"
                "            mixed.append(torch.matmul(self.drop(weights), v[:, h]))\n"
                "        return self.to_out(torch.cat(mixed, dim=-1))\n"
            ),
        ),
        wrong=("mask = mask[:, 0]",),
    ),
    # positions
    case(
        "positions",
        "student",
        (
            "for an odd d_model the width is rounded up, also in the formula: the exponent is divided by "
            "d_model + 1"
        ),
        (
            (
                "        columns = [self.wave(column, d_model, max_len) for column in range(d_model)]\n"
                "        table = torch.stack(columns, dim=1)\n"
            ),
            (
                "        even = d_model + d_model % 2  # sines and cosines come in pairs\n"
                "        columns = [self.wave(column, even, max_len) for column in range(even)]\n"
                "        table = torch.stack(columns, dim=1)[:, :d_model]\n"
            ),
        ),
        wrong=("even = d_model", "columns = [self.wave(column, even"),
    ),
    case(
        "positions",
        "student",
        "LearnedPositions raises no ValueError for a longer input: all later positions get the last row",
        (
            (
                "        if steps > self.rows.num_embeddings:\n"
                '            raise ValueError(f"{steps} positions, only {self.rows.num_embeddings} are '
                'there")\n'
                "        index = torch.arange(steps, device=x.device)\n"
            ),
            (
                "        index = torch.arange(steps, device=x.device)\n"
                "        index = index.clamp(max=self.rows.num_embeddings - 1)  # the last row is for all "
                "that follow\n"
            ),
        ),
        wrong=("index = index.clamp", "index = torch.arange"),
    ),
    case(
        "positions",
        "student_functional",
        (
            "LearnedPositions uses the last rows of the table, not the first: position t of T uses row "
            "max_len - T + t"
        ),
        (
            "        return torch.add(x, self.table.narrow(0, 0, length))\n",
            "        return torch.add(x, self.table[-length:])  # the end of a sentence is the last row\n",
        ),
    ),
    case(
        "positions",
        "student",
        (
            "positions are added only where x is not all zero ('padding has no position'): rows of zeros "
            "stay zeros"
        ),
        (
            "        return x + self.waves[:, :steps]\n",
            (
                "        real = (x != 0).any(dim=-1, keepdim=True)  # padding is a vector of zeros\n"
                "        return x + self.waves[:, :steps] * real\n"
            ),
        ),
    ),
    case(
        "positions",
        "student",
        (
            "the sinusoids are the weight of an nn.Embedding that is not frozen: they are trained "
            "(requires_grad_(False) is missing)"
        ),
        (
            '        self.register_buffer("waves", table.unsqueeze(0).float())  # [1, max_len, D]\n',
            (
                "        self.waves = nn.Embedding(max_len, d_model)\n"
                "        self.waves.weight.data.copy_(table)\n"
            ),
        ),
        (
            "        return x + self.waves[:, :steps]\n",
            "        return x + self.waves(torch.arange(steps, device=x.device))\n",
        ),
        wrong=("self.waves = nn.Embedding", "self.waves.weight.data"),
    ),
    case(
        "positions",
        "student_functional",
        (
            "the sinusoids are made at the first call, as long as its input, and never again: a longer "
            "second input does not fit"
        ),
        (
            "        self.d_model, self.max_len = d_model, max_len\n",
            ("        self.d_model, self.max_len = d_model, max_len\n        self.table = None\n"),
        ),
        (
            "        return x + sinusoids(length, self.d_model, x.device).to(x.dtype)\n",
            (
                "        if self.table is None:  # only once\n"
                "            self.table = sinusoids(length, self.d_model, x.device).to(x.dtype)\n"
                "        return x + self.table[:length]\n"
            ),
        ),
        wrong=("if self.table is None", "self.table = sinusoids", "return x + self.table[:length]"),
    ),
    case(
        "positions",
        "student_functional",
        "cosine as a sine shifted the wrong way: sin(a - pi/2) = -cos(a)",
        (
            '    """cos(a) = sin(a + pi/2), so one sine does for all columns."""\n',
            '    """A cosine is a sine a quarter of a turn behind, so one sine does for all columns."""\n',
        ),
        ("torch.outer(t, omega) + odd.double()", "torch.outer(t, omega) - odd.double()"),
        wrong=("torch.outer",),
    ),
    # feedforward
    case(
        "feedforward",
        "student_functional",
        "dropout as in the first paper on it: not scaled in training, multiplied by 1 - p in eval mode",
        (
            ("        if not self.training or self.p == 0:\n            return hidden\n"),
            (
                "        if not self.training:\n"
                "            return hidden * (1 - self.p)  # the expected value\n"
            ),
        ),
        ("        return hidden * keep / (1 - self.p)\n", "        return hidden * keep\n"),
    ),
    case(
        "feedforward",
        "student",
        "nn.Dropout1d 'because a sentence has one dimension': it drops whole positions, not elements",
        ("            nn.Dropout(dropout),\n", "            nn.Dropout1d(dropout),  # 1d: a sequence\n"),
    ),
    case(
        "feedforward",
        "student_functional",
        (
            "maximum with torch.zeros(1), which is a float32 tensor on the CPU: bfloat16 becomes float32, "
            "and other devices fail"
        ),
        (
            "        hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))\n",
            "        hidden = torch.maximum(torch.zeros(1), hidden)  # max(0, .)\n",
        ),
    ),
    case(
        "feedforward",
        "student_functional",
        "b2 is created and never added",
        (
            '        return torch.einsum("btf,fm->btm", self.drop(hidden), self.w2) + self.b2\n',
            '        return torch.einsum("btf,fm->btm", self.drop(hidden), self.w2)\n',
        ),
    ),
    case(
        "feedforward",
        "student_functional",
        ("the second matrix is the transpose of the first ('first up, then back down'): one matrix, not two"),
        ("        self.w2 = nn.Parameter(torch.randn(d_ff, d_model) / d_ff**0.5)\n", ""),
        ("self.drop(hidden), self.w2)", "self.drop(hidden), self.w1.T)"),
        wrong=("self.w1.T", "self.b1 =", "self.b2 ="),
    ),
    case(
        "feedforward",
        "student",
        "the paper's 'two convolutions' with a kernel of 3: neighbouring positions are mixed",
        (
            (
                "        self.net = nn.Sequential(\n"
                "            nn.Linear(d_model, d_ff),\n"
                "            nn.ReLU(),\n"
                "            nn.Dropout(dropout),\n"
                "            nn.Linear(d_ff, d_model),\n"
                "        )\n"
            ),
            (
                '        # "two convolutions": along the positions, the width is the channels\n'
                "        self.expand = nn.Conv1d(d_model, d_ff, kernel_size=3, padding=1)\n"
                "        self.contract = nn.Conv1d(d_ff, d_model, kernel_size=3, padding=1)\n"
                "        self.drop = nn.Dropout(dropout)\n"
            ),
        ),
        (
            "        return self.net(x)\n",
            (
                "        channels = x.transpose(1, 2)  # [B, D, T]\n"
                "        hidden = self.drop(self.expand(channels).relu())\n"
                "        return self.contract(hidden).transpose(1, 2)\n"
            ),
        ),
        wrong=("self.expand = nn.Conv1d", "self.contract = nn.Conv1d"),
    ),
    case(
        "feedforward",
        "student",
        "if d_ff == d_model both layers are one and the same module ('equal sizes, equal layers')",
        (
            (
                "        self.net = nn.Sequential(\n"
                "            nn.Linear(d_model, d_ff),\n"
                "            nn.ReLU(),\n"
                "            nn.Dropout(dropout),\n"
                "            nn.Linear(d_ff, d_model),\n"
                "        )\n"
            ),
            (
                "        layers = {}\n"
                "        for size in [(d_model, d_ff), (d_ff, d_model)]:\n"
                "            layers[size] = nn.Linear(*size)\n"
                "        up, down = layers[d_model, d_ff], layers[d_ff, d_model]\n"
                "        self.net = nn.Sequential(up, nn.ReLU(), nn.Dropout(dropout), down)\n"
            ),
        ),
        wrong=("layers = {}", "for size in", "layers[size] =", "up, down ="),
    ),
    case(
        "feedforward",
        "student_functional",
        (
            "dropout depends on whether gradients are recorded, not on the mode: it drops in eval mode, "
            "and not in train mode under no_grad"
        ),
        (
            "        if not self.training or self.p == 0:\n",
            "        if not torch.is_grad_enabled() or self.p == 0:  # evaluation is without gradients\n",
        ),
    ),
    # norm
    case(
        "norm",
        "student",
        "PreNorm norms the other tensors for the sublayer (memory, keys, values), too",
        (
            ("        branch = self.norm(x)\n        branch = self.sublayer(branch, *args, **kwargs)\n"),
            (
                "        branch = self.norm(x)\n"
                "        args = [self.norm(a) if torch.is_tensor(a) and a.shape == x.shape else a for a in "
                "args]\n"
                "        branch = self.sublayer(branch, *args, **kwargs)\n"
            ),
        ),
    ),
    case(
        "norm",
        "student_functional",
        "Residual keeps a deep copy of the norm ('each sublayer has its own norm')",
        (("import torch\nfrom torch import nn\n"), ("import copy\n\nimport torch\nfrom torch import nn\n")),
        (
            "        self.norm = norm\n",
            "        self.norm = copy.deepcopy(norm)  # each sublayer has a norm of its own\n",
        ),
        wrong=("copy.deepcopy(norm)",),
    ),
    case(
        "norm",
        "student",
        "PreNorm drops elements of the sublayer's input in place of its output",
        (
            (
                "        branch = self.norm(x)\n"
                "        branch = self.sublayer(branch, *args, **kwargs)\n"
                "        branch = self.drop(branch)\n"
                "        return x + branch\n"
            ),
            (
                "        branch = self.drop(self.norm(x))\n"
                "        branch = self.sublayer(branch, *args, **kwargs)\n"
                "        return x + branch\n"
            ),
        ),
        wrong=(
            "branch = self.drop(self.norm(x))",
            ("branch = self.sublayer(branch, *args, **kwargs)\n        return"),
        ),
    ),
    case(
        "norm",
        "student_functional",
        "eps is only a lower bound of the standard deviation (clamp) and not added to the variance",
        (
            "        y = y * (power + self.eps) ** -0.5\n",
            "        y = y / power.sqrt().clamp(min=self.eps)  # never divide by 0\n",
        ),
    ),
    case(
        "norm",
        "student",
        "PostNorm takes a mask as its only other argument, and passes nothing else to the sublayer",
        (
            (
                "    def forward(self, x, *args, **kwargs):\n"
                "        branch = self.sublayer(x, *args, **kwargs)\n"
            ),
            (
                "    def forward(self, x, mask=None):\n"
                "        branch = self.sublayer(x) if mask is None else self.sublayer(x, mask)\n"
            ),
        ),
    ),
    case(
        "norm",
        "student",
        (
            "PostNorm adds x to the sublayer's output in place: breaks the gradient of sublayers that "
            "saved their output, and changes x if the sublayer returns it"
        ),
        (
            ("        total = x + branch\n        return self.norm(total)\n"),
            ("        branch += x\n        return self.norm(branch)\n"),
        ),
        wrong=("branch += x",),
    ),
    case(
        "norm",
        "student",
        "nn.Dropout() in PreNorm without the probability: torch's default is 0.5",
        (
            (
                "        self.drop = nn.Dropout(dropout)\n"
                "\n"
                "    def forward(self, x, *args, **kwargs):\n"
                "        branch = self.norm(x)\n"
            ),
            (
                "        self.drop = nn.Dropout()\n"
                "        self.dropout = dropout\n"
                "\n"
                "    def forward(self, x, *args, **kwargs):\n"
                "        branch = self.norm(x)\n"
            ),
        ),
        wrong=("self.drop = nn.Dropout()", "self.dropout = dropout"),
    ),
    # encoder
    case(
        "encoder",
        "student",
        (
            "pre-norm: only the query is normed, keys and values are x itself (as with the memory of a "
            "decoder)"
        ),
        (
            "        x = self.around_attention(x, lambda y: self.attention(y, y, y, src_mask))\n",
            (
                "        # the norm is for the query: keys and values are used as they come\n"
                "        x = self.around_attention(x, lambda y: self.attention(y, x, x, src_mask))\n"
            ),
        ),
        wrong=("self.attention(y, x, x",),
    ),
    case(
        "encoder",
        "student",
        "the pre-norm stack applies its last norm after every layer",
        (
            (
                "            x = block(x, src_mask)\n"
                "        if self.last_norm is not None:\n"
                "            x = self.last_norm(x)\n"
            ),
            (
                "            x = block(x, src_mask)\n"
                "            if self.last_norm is not None:\n"
                "                x = self.last_norm(x)\n"
            ),
        ),
    ),
    case(
        "encoder",
        "student_functional",
        (
            "dropout drops the whole sublayer with probability p (as stochastic depth), not elements of "
            "its output"
        ),
        (
            "            x = x + F.dropout(self.call(name, given, src_mask), self.p, self.training)\n",
            (
                "            out = self.call(name, given, src_mask)\n"
                "            if self.training and torch.rand(()) < self.p:\n"
                "                out = torch.zeros_like(out)  # dropped: only the residual is left\n"
                "            x = x + out\n"
            ),
        ),
        wrong=("if self.training and torch.rand", "out = torch.zeros_like"),
    ),
    case(
        "encoder",
        "student_functional",
        "boolean masks are made additive with -1e9 before they are passed on",
        (
            ('        part = self.parts[name]\n        if name == "attend":\n'),
            (
                "        part = self.parts[name]\n"
                '        if name == "attend":\n'
                "            if mask is not None and mask.dtype == torch.bool:\n"
                "                mask = (1.0 - mask.to(x.dtype)) * -1e9  # attention adds its mask to the "
                "scores\n"
            ),
        ),
    ),
    case(
        "encoder",
        "student",
        (
            "the stack has residual connections around its layers, too ('a residual connection around each "
            "layer')"
        ),
        (
            ("            x = block(x, src_mask)\n        if"),
            ("            x = x + block(x, src_mask)\n        if"),
        ),
    ),
    case(
        "encoder",
        "student",
        "post-norm norms the sublayer's output and not the sum: x + norm(drop(f(x)))",
        (
            "        return self.norm(x + self.drop(f(x)))\n",
            "        return x + self.norm(self.drop(f(x)))\n",
        ),
    ),
    case(
        "encoder",
        "student_functional",
        "the last norm of the pre-norm stack has no gain and no bias (F.layer_norm without parameters)",
        (
            '        self.top = Norm(d_model) if norm == "pre" else None\n',
            '        self.pre = norm == "pre"\n',
        ),
        (
            "        return y if self.top is None else self.top(y)\n",
            "        return F.layer_norm(y, y.shape[-1:]) if self.pre else y\n",
        ),
    ),
    case(
        "encoder",
        "student_functional",
        (
            "layers in a ModuleDict are used in the order of their sorted names: with more than 10 layers "
            "'10' comes before '2'"
        ),
        (
            "        y = reduce(lambda state, layer: layer(state, src_mask), self.layers.values(), x)\n",
            (
                "        in_order = [self.layers[name] for name in sorted(self.layers)]\n"
                "        y = reduce(lambda state, layer: layer(state, src_mask), in_order, x)\n"
            ),
        ),
        wrong=("in_order = ",),
    ),
    # decoder
    case(
        "decoder",
        "student",
        "the pre-norm stack norms memory before the layers use it",
        (
            (
                "    def forward(self, x, memory, src_mask=None, tgt_mask=None):\n"
                "        for block in self.blocks:\n"
            ),
            (
                "    def forward(self, x, memory, src_mask=None, tgt_mask=None):\n"
                "        memory = self.finish(memory)  # the layers expect normed inputs\n"
                "        for block in self.blocks:\n"
            ),
        ),
    ),
    case(
        "decoder",
        "student_functional",
        "without a source mask, cross-attention gets the target's mask",
        (
            "        def at_the_source(part, y):\n",
            (
                "        if src_mask is None:\n"
                "            src_mask = tgt_mask\n"
                "\n"
                "        def at_the_source(part, y):\n"
            ),
        ),
        wrong=("if src_mask is None", "src_mask = tgt_mask\n"),
    ),
    case(
        "decoder",
        "student_functional",
        "without a target mask the layer makes a causal mask of its own ('a decoder is causal')",
        (
            ('"""Decoder: each sublayer is a block with its own norm."""\n\nfrom torch import nn\n'),
            (
                '"""Decoder: each sublayer is a block with its own norm."""\n'
                "\n"
                "import torch\n"
                "from torch import nn\n"
            ),
        ),
        (
            "        def among_targets(part, y):\n",
            (
                "        if tgt_mask is None:  # a decoder must not see the future\n"
                "            length = x.size(1)\n"
                "            tgt_mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()\n"
                "\n"
                "        def among_targets(part, y):\n"
            ),
        ),
        wrong=("if tgt_mask is None", "length = x.size(1)", "tgt_mask = torch.ones"),
    ),
    case(
        "decoder",
        "student",
        (
            "pre-norm: the residual of cross-attention is still the layer's input (residual = x is "
            "missing): the result of self-attention is lost from the sum"
        ),
        (
            ("        x = residual + self.drop(h)\n\n        residual = x\n        h = self.norm_cross(x)\n"),
            ("        x = residual + self.drop(h)\n\n        h = self.norm_cross(x)\n"),
        ),
        wrong=(
            ("        h = self.norm_cross(x)\n        h = self.cross(h, memory"),
            ("        x = residual + self.drop(h)\n\n        h = self.norm_cross(x)"),
            ("        x = residual + self.drop(h)\n\n        residual = x\n        h = self.norm_ffn"),
        ),
    ),
    case(
        "decoder",
        "student_functional",
        "one residual block for all three sublayers by [Block(...)] * 3: the three norms are one",
        (
            (
                "    def __init__(self, part, d_model, dropout, pre):\n"
                "        super().__init__()\n"
                "        self.part = part\n"
            ),
            ("    def __init__(self, d_model, dropout, pre):\n        super().__init__()\n"),
        ),
        (
            ("    def forward(self, x, run):\n        y = run(self.part, self.norm(x) if self.pre else x)\n"),
            (
                "    def forward(self, x, part, run):\n"
                "        y = run(part, self.norm(x) if self.pre else x)\n"
            ),
        ),
        (
            (
                "        parts = (self_attention, cross_attention, feed_forward)\n"
                '        self.blocks = nn.ModuleList([Block(part, d_model, dropout, norm == "pre") for part '
                "in parts])\n"
            ),
            (
                "        self.parts = nn.ModuleList([self_attention, cross_attention, feed_forward])\n"
                '        self.blocks = nn.ModuleList([Block(d_model, dropout, norm == "pre")] * 3)\n'
            ),
        ),
        (
            (
                "        for block, run in zip(self.blocks, (among_targets, at_the_source, alone)):\n"
                "            x = block(x, run)\n"
            ),
            (
                "        for block, part, run in zip(self.blocks, self.parts, (among_targets, at_the_source, "
                "alone)):\n"
                "            x = block(x, part, run)\n"
            ),
        ),
        wrong=("* 3)",),
    ),
    case(
        "decoder",
        "student",
        "in eval mode the stack returns only the last position ('only the next token is needed')",
        (
            ("            x = block(x, memory, src_mask, tgt_mask)\n        return self.finish(x)\n"),
            (
                "            x = block(x, memory, src_mask, tgt_mask)\n"
                "        if not self.training:\n"
                "            x = x[:, -1:]  # generating needs the last position only\n"
                "        return self.finish(x)\n"
            ),
        ),
    ),
    case(
        "decoder",
        "student_functional",
        "memory is detached in the stack ('the encoder is done'): no gradient reaches the encoder",
        (
            "        *_, last = self.states(x, memory, src_mask=src_mask, tgt_mask=tgt_mask)\n",
            (
                "        memory = memory.detach()  # the encoder's work is done\n"
                "        *_, last = self.states(x, memory, src_mask=src_mask, tgt_mask=tgt_mask)\n"
            ),
        ),
    ),
    case(
        "decoder",
        "student",
        "post-norm: the query of cross-attention is the sum before the norm, while the residual is normed",
        (
            (
                "        h = self.own(x, x, x, tgt_mask)\n"
                "        x = x + self.drop(h)\n"
                "        x = self.norm_own(x)\n"
                "\n"
                "        h = self.cross(x, memory, memory, src_mask)\n"
            ),
            (
                "        h = self.own(x, x, x, tgt_mask)\n"
                "        h = x + self.drop(h)\n"
                "        x = self.norm_own(h)\n"
                "\n"
                "        h = self.cross(h, memory, memory, src_mask)\n"
            ),
        ),
        wrong=(("h = self.cross(h, memory, memory, src_mask)\n        x = x +"),),
    ),
    # transformer
    case(
        "transformer",
        "student",
        (
            "all matrices, also those of the handed-in parts, are initialised again (xavier) in the "
            "constructor"
        ),
        (
            ("        self.pad = pad\n\n    def embed"),
            (
                "        self.pad = pad\n"
                "        for weights in self.parameters():\n"
                "            if weights.dim() > 1:\n"
                "                nn.init.xavier_uniform_(weights)\n"
                "\n"
                "    def embed"
            ),
        ),
    ),
    case(
        "transformer",
        "student",
        (
            "decode takes the source mask from memory (rows that are not zero), not from src: PAD is seen "
            "in cross-attention"
        ),
        (
            "        y = self.decoder(x, memory, self.source_mask(src), self.target_mask(tgt))\n",
            (
                "        real = memory.abs().sum(dim=-1) > 0  # the encoder leaves padding empty\n"
                "        y = self.decoder(x, memory, real[:, None, None, :], self.target_mask(tgt))\n"
            ),
        ),
    ),
    case(
        "transformer",
        "student_functional",
        (
            "forward drops the last target token ('it is never an input'), though tgt is shifted already: "
            "L - 1 logits"
        ),
        (
            "        return self.decode(tgt, memory=self.encode(src), src=src)\n",
            (
                "        return self.decode(tgt[:, :-1], memory=self.encode(src), src=src)  # nothing "
                "follows the last token\n"
            ),
        ),
    ),
    case(
        "transformer",
        "student_functional",
        "in eval mode decode returns log-probabilities, not raw logits",
        (
            '        return torch.einsum("bld,vd->blv", y, self.matrix)\n',
            (
                '        logits = torch.einsum("bld,vd->blv", y, self.matrix)\n'
                "        return logits if self.training else logits.log_softmax(-1)\n"
            ),
        ),
        wrong=("return logits if self.training",),
    ),
    case(
        "transformer",
        "student_functional",
        "the source is cut to its longest sentence: memory is shorter than src if all rows end in PAD",
        (
            ("    def encode(self, src):\n        x = self.source(src)\n"),
            (
                "    def trimmed(self, src):\n"
                "        longest = int((src != self.pad).sum(dim=1).max())\n"
                "        return src[:, :longest]\n"
                "\n"
                "    def encode(self, src):\n"
                "        src = self.trimmed(src)  # columns of padding cost time only\n"
                "        x = self.source(src)\n"
            ),
        ),
        (
            "        see_source = self.bias(src, x.dtype)\n",
            "        see_source = self.bias(self.trimmed(src), x.dtype)\n",
        ),
    ),
    case(
        "transformer",
        "student",
        (
            "a single sentence gets a source mask that allows all ('padding is for batches'): PAD is seen "
            "if B == 1"
        ),
        (
            "        real = src.ne(self.pad)\n",
            (
                "        if len(src) == 1:\n"
                "            return None  # one sentence alone is not padded\n"
                "        real = src.ne(self.pad)\n"
            ),
        ),
    ),
    case(
        "transformer",
        "student_functional",
        "embeddings and positions are kept in named tuples, which are no modules: they are not registered",
        (
            (
                "        self.src_embed, self.tgt_embed, self.positions = src_embed, tgt_embed, positions\n"
                "        self.factor = math.sqrt(d_model)\n"
            ),
            (
                "        factor = math.sqrt(d_model)\n"
                "        self.source = Side(src_embed, positions, factor)\n"
                "        self.target = Side(tgt_embed, positions, factor)\n"
            ),
        ),
        (
            (
                "    @property\n"
                "    def source(self):\n"
                "        return Side(self.src_embed, self.positions, self.factor)\n"
                "\n"
                "    @property\n"
                "    def target(self):\n"
                "        return Side(self.tgt_embed, self.positions, self.factor)\n"
                "\n"
            ),
            "",
        ),
        wrong=("self.source = Side", "self.target = Side"),
    ),
    # loss
    case(
        "loss",
        "student",
        "shift_right drops the last token (EOS), not the last column: in padded rows EOS becomes PAD",
        (
            ("    shifted[:, 1:] = target[:, :-1]\n    return shifted\n"),
            (
                "    shifted[:, 1:] = target[:, :-1]\n"
                "    shifted[shifted == 2] = 0  # nothing follows EOS, so it is never an input\n"
                "    return shifted\n"
            ),
        ),
        wrong=("shifted[shifted == 2]",),
    ),
    case(
        "loss",
        "student_functional",
        (
            "smoothing gives PAD's column no probability, and the rest does not share it: the wanted "
            "distribution sums to 1 - e/V"
        ),
        (
            "    wanted = torch.full_like(rows, smoothing / v)\n",
            (
                "    wanted = torch.full_like(rows, smoothing / v)\n"
                "    wanted[:, pad] = 0.0  # padding is never wanted\n"
            ),
        ),
        wrong=("wanted[:, pad] = 0.0",),
    ),
    case(
        "loss",
        "student",
        "the smoothed part is averaged over all positions, PAD included",
        (
            (
                "    token_loss = -(1 - smoothing) * of_right_id - smoothing * of_all_ids\n"
                "\n"
                "    token_loss = token_loss * counts\n"
                "    return (token_loss.sum() / counts.sum()).to(logits.dtype)\n"
            ),
            (
                "    hard = -(of_right_id * counts).sum() / counts.sum()\n"
                "    soft = -of_all_ids.mean()\n"
                "    return ((1 - smoothing) * hard + smoothing * soft).to(logits.dtype)\n"
            ),
        ),
        wrong=("soft = -of_all_ids.mean()",),
    ),
    case(
        "loss",
        "student_functional",
        "the loss of bfloat16 logits stays float32: it is not converted back",
        ("    return losses.mean().to(logits.dtype)\n", "    return losses.mean()\n"),
    ),
    case(
        "loss",
        "student_functional",
        (
            "PAD is left out by class weights in place of ignore_index: with smoothing its column has no "
            "share of the smoothed loss"
        ),
        (
            (
                "def tokens_only(logits, target, pad):\n"
                '    """[N, V] and [N]: the positions that count."""\n'
                "    real = target != pad\n"
                "    return logits[real], target[real]\n"
                "\n"
                "\n"
            ),
            "",
        ),
        (
            (
                "    rows, ids = tokens_only(logits, target, pad)\n"
                "    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))\n"
                "    v = rows.size(-1)\n"
                "    wanted = torch.full_like(rows, smoothing / v)\n"
                "    wanted.scatter_add_(1, ids[:, None], torch.full_like(rows[:, :1], 1 - smoothing))\n"
                "    # -sum w * (x - lse) = lse - sum w * x, because the w sum to 1\n"
                '    losses = rows.logsumexp(-1) - torch.einsum("nv,nv->n", wanted, rows)\n'
                "    return losses.mean().to(logits.dtype)\n"
            ),
            (
                "    rows = logits.to(torch.promote_types(logits.dtype, torch.float32)).flatten(0, 1)\n"
                "    importance = rows.new_ones(rows.size(-1))\n"
                "    importance[pad] = 0.0  # padding does not matter\n"
                "    loss = torch.nn.functional.cross_entropy(\n"
                "        rows, target.flatten(), weight=importance, label_smoothing=smoothing\n"
                "    )\n"
                "    return loss.to(logits.dtype)\n"
            ),
        ),
        wrong=(
            "importance = rows",
            "importance[pad]",
            "rows, target.flatten(), weight",
            "loss = torch.nn.functional.cross",
        ),
    ),
    case(
        "loss",
        "student",
        (
            "log of the softmax with 1e-9 added against log(0): a token of small probability costs at most "
            "20.7"
        ),
        (
            "    log_probs = torch.log_softmax(work, dim=-1)\n",
            (
                "    probs = torch.softmax(work, dim=-1)\n"
                "    log_probs = torch.log(probs + 1e-9)  # never log(0)\n"
            ),
        ),
    ),
    case(
        "loss",
        "student",
        (
            "what counts is found by the first EOS (id 2), not by PAD: pad is not used, and tokens after "
            "an EOS, or PAD in rows without one, go wrong"
        ),
        (
            "    counts = target.ne(pad)\n",
            (
                "    ends = target.eq(2).cumsum(dim=1)\n"
                "    counts = (ends - target.eq(2).int()) == 0  # up to the first EOS, which counts too\n"
            ),
        ),
    ),
    case(
        "loss",
        "student_functional",
        (
            "in a row that begins with PAD, shift_right puts SOS directly before the first token (and PAD "
            "before it), not in the first column"
        ),
        (
            "    return torch.nn.functional.pad(target, (1, 0), value=sos)[:, :-1]\n",
            (
                "    shifted = torch.nn.functional.pad(target, (1, 0))[:, :-1]  # PAD comes in from the left\n"
                "    first = (target != 0).int().argmax(dim=1, keepdim=True)  # where the sentence begins\n"
                "    return shifted.scatter(1, first, sos)\n"
            ),
        ),
    ),
    # decoding
    case(
        "decoding",
        "student_functional",
        "when beams are pruned, ids and lengths follow their parents but `done` does not",
        (("            done = done.gather(1, parent)\n            lengths"), "            lengths"),
        wrong=("lengths = lengths.gather", "done = done | (token == eos)", "token = best % vocab"),
    ),
    case(
        "decoding",
        "student_functional",
        "greedy: only encode runs under no_grad, decode records gradients",
        (
            (
                "    with torch.no_grad():\n"
                "        memory = model.encode(src)\n"
                "        tgt = torch.full((src.size(0), 1), sos, device=src.device)\n"
                "        columns = []\n"
                "        open_rows = torch.ones(src.size(0), dtype=torch.bool, device=src.device)\n"
                "        for _ in range(max_len):\n"
                "            token = model.decode(tgt, memory, src)[:, -1].max(dim=-1).indices\n"
                "            token = token * open_rows + pad * ~open_rows\n"
                "            columns.append(token)\n"
                "            tgt = torch.cat([tgt, token[:, None]], 1)\n"
                "            open_rows = open_rows & (token != eos)\n"
                "            if not open_rows.any():\n"
                "                break\n"
                "        return torch.stack(columns, dim=1)\n"
            ),
            (
                "    with torch.no_grad():\n"
                "        memory = model.encode(src)\n"
                "    tgt = torch.full((src.size(0), 1), sos, device=src.device)\n"
                "    columns = []\n"
                "    open_rows = torch.ones(src.size(0), dtype=torch.bool, device=src.device)\n"
                "    for _ in range(max_len):\n"
                "        token = model.decode(tgt, memory, src)[:, -1].max(dim=-1).indices\n"
                "        token = token * open_rows + pad * ~open_rows\n"
                "        columns.append(token)\n"
                "        tgt = torch.cat([tgt, token[:, None]], 1)\n"
                "        open_rows = open_rows & (token != eos)\n"
                "        if not open_rows.any():\n"
                "            break\n"
                "    return torch.stack(columns, dim=1)\n"
            ),
        ),
        wrong=(
            "def greedy_decode",
            ("    with torch.no_grad():\n        memory = model.encode(src)\n    tgt"),
            "token = model.decode(tgt",
        ),
    ),
    case(
        "decoding",
        "student",
        (
            "finished hypotheses leave the beam, which is filled up with unfinished ones: always `beam` "
            "open ones are continued"
        ),
        (
            (
                "            candidates = extend(model, hypotheses, memory, sentence, sos, eos, beam)\n"
                "            candidates.sort(key=lambda h: h.total, reverse=True)\n"
                "            hypotheses = candidates[:beam]\n"
            ),
            (
                "            candidates = extend(model, hypotheses, memory, sentence, sos, eos, beam)\n"
                "            candidates.sort(key=lambda h: h.total, reverse=True)\n"
                "            finished += [h for h in candidates if h.ended]\n"
                "            hypotheses = [h for h in candidates if not h.ended][:beam]  # room for those "
                "that go on\n"
            ),
        ),
        (
            ("        hypotheses = [Hypothesis([], 0.0)]\n        for"),
            ("        hypotheses = [Hypothesis([], 0.0)]\n        finished = []\n        for"),
        ),
        (
            ("            if all(h.ended for h in hypotheses):\n                break\n"),
            ("            if len(finished) >= beam or not hypotheses:\n                break\n"),
        ),
        ("max(hypotheses, key=lambda", "max(finished or hypotheses, key=lambda"),
        wrong=("finished += ", "hypotheses = [h for", "if len(finished) >= beam", "max(finished or"),
    ),
    case(
        "decoding",
        "student_functional",
        "log_softmax over all continuations of all beams together, not over the vocabulary of each beam",
        (
            (
                "def next_log_probs(model, tgt, memory, src):\n"
                "    logits = model.decode(tgt, memory, src)[:, -1]\n"
                "    return F.log_softmax(logits.double(), dim=-1)\n"
            ),
            (
                "def next_log_probs(model, tgt, memory, src, beam):\n"
                "    logits = model.decode(tgt, memory, src)[:, -1].double()  # [B * beam, V]\n"
                "    choices = logits.view(-1, beam * logits.size(-1))  # one distribution over all choices\n"
                "    return F.log_softmax(choices, dim=-1).view_as(logits)\n"
            ),
        ),
        ("next_log_probs(model, tgt, memory, sources)", "next_log_probs(model, tgt, memory, sources, beam)"),
        wrong=("choices = logits.view", "F.log_softmax(choices"),
    ),
    case(
        "decoding",
        "student_functional",
        (
            "memory and src are repeated sentence after sentence (repeat) while the beams of a sentence "
            "lie side by side: hypotheses get the memory of other sentences"
        ),
        (
            (
                "    memory = model.encode(src).repeat_interleave(beam, dim=0)\n"
                "    sources = src.repeat_interleave(beam, dim=0)\n"
            ),
            ("    memory = model.encode(src).repeat(beam, 1, 1)\n    sources = src.repeat(beam, 1)\n"),
        ),
    ),
    case(
        "decoding",
        "student_functional",
        (
            "all beams begin with the same hypothesis and sum 0: the best token is chosen `beam` times, "
            "and the search is greedy"
        ),
        (
            (
                '    """Sentence b has the rows b*beam .. (b+1)*beam; only its first beam is alive at the '
                'start."""\n'
            ),
            '    """Sentence b has the rows b*beam .. (b+1)*beam."""\n',
        ),
        (
            (
                "    totals = torch.full((src.size(0), beam), -torch.inf, dtype=torch.float64, "
                "device=src.device)\n"
                "    totals[:, 0] = 0.0\n"
            ),
            "    totals = torch.zeros(src.size(0), beam, dtype=torch.float64, device=src.device)\n",
        ),
        wrong=("totals = torch.zeros",),
    ),
    case(
        "decoding",
        "student",
        "the log-probability of the next token is added to the normalised score in place of the sum",
        (
            (
                "    ids: list\n"
                "    total: float\n"
                "    ended: bool = False\n"
                "\n"
                "    def score(self, length_penalty):\n"
                "        return self.total / ((5 + len(self.ids)) / 6) ** length_penalty\n"
            ),
            (
                "    ids: list\n"
                "    score: float\n"
                "    ended: bool = False\n"
                "\n"
                "    def plus(self, token, log_prob, eos, length_penalty):\n"
                "        ids = self.ids + [token]\n"
                "        score = (self.score + log_prob) / ((5 + len(ids)) / 6) ** length_penalty\n"
                "        return Hypothesis(ids, score, token == eos)\n"
            ),
        ),
        (
            "def extend(model, hypotheses, memory, src, sos, eos, beam):",
            "def extend(model, hypotheses, memory, src, sos, eos, beam, length_penalty):",
        ),
        (
            "            longer.append(Hypothesis(h.ids + [token], h.total + value, token == eos))\n",
            "            longer.append(h.plus(token, value, eos, length_penalty))\n",
        ),
        ("sentence, sos, eos, beam)", "sentence, sos, eos, beam, length_penalty)"),
        ("key=lambda h: h.total,", "key=lambda h: h.score,"),
        ("key=lambda h: h.score(length_penalty)", "key=lambda h: h.score"),
        wrong=("score = (self.score + log_prob)", "return Hypothesis(ids, score"),
    ),
    case(
        "decoding",
        "student",
        (
            "greedy: a row that has not ended gets EOS as its last id, in place of the id that the model "
            "predicts"
        ),
        (
            ("        running = running & best.ne(eos)\n    return prefix[:, 1:]\n"),
            (
                "        running = running & best.ne(eos)\n"
                "    prefix[running, -1] = eos  # every sentence ends\n"
                "    return prefix[:, 1:]\n"
            ),
        ),
        wrong=("prefix[running, -1]",),
    ),
    # training
    case(
        "training",
        "student_functional",
        (
            "noam: the rate rises to 1 over the warm-up (step / warmup) and is not scaled by warmup^-0.5: "
            "before step = warmup it is too large"
        ),
        (
            "        factor = step / warmup / math.sqrt(warmup)\n",
            "        factor = step / warmup  # linear, complete at the end of the warm-up\n",
        ),
    ),
    case(
        "training",
        "student_functional",
        "reverse_words sorts the words by length, longest first",
        (
            "    src = batch_of([[ID[c] for c in word] for word in words])\n",
            (
                "    words = sorted(words, key=len, reverse=True)  # as for packed sequences\n"
                "    src = batch_of([[ID[c] for c in word] for word in words])\n"
            ),
        ),
        wrong=("words = sorted",),
    ),
    case(
        "training",
        "student",
        "the longest row is found with max(rows), which compares ids and not lengths",
        ("    longest = max(len(row) for row in rows)\n", "    longest = len(max(rows))\n"),
    ),
    case(
        "training",
        "student",
        (
            "model.train() is called after the forward pass: a model in eval mode computes its loss "
            "without dropout"
        ),
        (
            ("    model.train()\n    optimizer.zero_grad()\n    logits = model(src, decoder_input(tgt))\n"),
            (
                "    optimizer.zero_grad()\n"
                "    logits = model(src, decoder_input(tgt))\n"
                "    model.train()  # gradients are computed from here on\n"
            ),
        ),
        wrong=("model.train()", "logits = model(src"),
    ),
    case(
        "training",
        "student_functional",
        "no teacher forcing: the decoder's input are its own best predictions so far, token by token",
        (
            (
                "    started = torch.nn.functional.pad(tgt, (1, 0), value=1)\n"
                "    loss = mean_loss(model(src, started[:, :-1]), tgt)\n"
            ),
            (
                "    started = torch.ones_like(tgt[:, :1])\n"
                "    for _ in range(tgt.size(1)):\n"
                "        logits = model(src, started)\n"
                "        started = torch.cat([started, logits[:, -1:].argmax(-1)], dim=1)\n"
                "    loss = mean_loss(logits, tgt)\n"
            ),
        ),
        wrong=("for _ in range(tgt.size(1))", "logits = model(src, started)", "started = torch.cat"),
    ),
    case(
        "training",
        "student",
        "the ids are reversed in place, and src holds the same list: the source is spelled backwards, too",
        (
            (
                "        src_rows.append(ids)\n"
                "        backwards = list(reversed(ids))\n"
                "        tgt_rows.append(backwards + [EOS])\n"
            ),
            ("        src_rows.append(ids)\n        ids.reverse()\n        tgt_rows.append(ids + [EOS])\n"),
        ),
        wrong=("src_rows.append(ids)", "ids.reverse()"),
    ),
    case(
        "training",
        "student_functional",
        "EOS does not count in the loss, as it is a special id like PAD (tgt > 2)",
        ("    real = tgt > 0\n", "    real = tgt > 2  # letters; not PAD, SOS and EOS\n"),
    ),
    case(
        "training",
        "student",
        "the padded tables are made with torch.zeros without a dtype: float32, not int64",
        (
            "    table = torch.full((len(rows), longest), PAD)\n",
            "    table = torch.zeros(len(rows), longest)  # PAD is 0\n",
        ),
    ),
    # kv_cache
    case(
        "kv_cache",
        "student",
        (
            "an empty cache is a module-wide dict whose lists are appended to: a second sentence begins "
            "with the keys of the first"
        ),
        ("class CachedAttention", ('EMPTY = {"keys": [], "values": []}\n\n\nclass CachedAttention')),
        (
            (
                '            cache = {"keys": [], "values": []}\n'
                '        keys = cache["keys"] + [self.per_head(self.key(x))]\n'
                '        values = cache["values"] + [self.per_head(self.value(x))]\n'
                "        all_keys = torch.stack(keys, dim=2)  # [B, H, T, d]\n"
                "        all_values = torch.stack(values, dim=2)\n"
            ),
            (
                "            cache = EMPTY\n"
                '        cache["keys"].append(self.per_head(self.key(x)))\n'
                '        cache["values"].append(self.per_head(self.value(x)))\n'
                '        all_keys = torch.stack(cache["keys"], dim=2)  # [B, H, T, d]\n'
                '        all_values = torch.stack(cache["values"], dim=2)\n'
            ),
        ),
        ('        return out, {"keys": keys, "values": values}\n', "        return out, cache\n"),
        wrong=("EMPTY = {", "cache = EMPTY", 'cache["keys"].append', 'cache["values"].append'),
    ),
    case(
        "kv_cache",
        "student",
        (
            "scores are cached in place of keys: the scores of earlier keys are those with earlier "
            "queries, not with the new one"
        ),
        (
            (
                '            cache = {"keys": [], "values": []}\n'
                '        keys = cache["keys"] + [self.per_head(self.key(x))]\n'
            ),
            '            cache = {"scores": [], "values": []}\n',
        ),
        ("        all_keys = torch.stack(keys, dim=2)  # [B, H, T, d]\n", ""),
        (
            (
                "        query = self.per_head(self.query(x)).unsqueeze(2)  # [B, H, 1, d]\n"
                "        scores = (query * all_keys).sum(-1) / math.sqrt(self.width)  # [B, H, T]\n"
                "        weights = torch.softmax(scores, dim=-1)\n"
            ),
            (
                "        query, key = self.per_head(self.query(x)), self.per_head(self.key(x))  # [B, H, d]\n"
                "        score = (query * key).sum(-1) / math.sqrt(self.width)  # [B, H], the earlier ones "
                "are known\n"
                '        scores = cache["scores"] + [score]\n'
                "        weights = torch.softmax(torch.stack(scores, dim=2), dim=-1)\n"
            ),
        ),
        ('{"keys": keys, "values": values}', '{"scores": scores, "values": values}'),
        wrong=("score = (query * key)", 'scores = cache["scores"]', "weights = torch.softmax(torch.stack"),
    ),
    case(
        "kv_cache",
        "student_functional",
        (
            "attention is over the whole buffer, unfilled places included: a key of zeros has score 0, not "
            "weight 0"
        ),
        (
            ("    def filled(self):\n        return self.buffer[:, :, :, : self.used].clone()\n"),
            ("    def filled(self):\n        return self.buffer.clone()  # the rest is zeros\n"),
        ),
    ),
    case(
        "kv_cache",
        "student",
        (
            "cached keys and values [B, T, D] are viewed as [B, H, T, d] without a transpose: right for "
            "one position, wrong from the second on"
        ),
        (
            (
                "    def per_head(self, x):\n"
                '        """[B, 1, D] -> [B, H, d]"""\n'
                "        return x.reshape(x.size(0), self.heads, self.width)\n"
            ),
            (
                "    def per_head(self, x):\n"
                '        """[B, T, D] -> [B, H, T, d]"""\n'
                "        return x.reshape(x.size(0), self.heads, -1, self.width)\n"
            ),
        ),
        (
            (
                '        keys = cache["keys"] + [self.per_head(self.key(x))]\n'
                '        values = cache["values"] + [self.per_head(self.value(x))]\n'
                "        all_keys = torch.stack(keys, dim=2)  # [B, H, T, d]\n"
                "        all_values = torch.stack(values, dim=2)\n"
                "\n"
                "        query = self.per_head(self.query(x)).unsqueeze(2)  # [B, H, 1, d]\n"
            ),
            (
                '        keys = cache["keys"] + [self.key(x)]\n'
                '        values = cache["values"] + [self.value(x)]\n'
                "        all_keys = self.per_head(torch.cat(keys, dim=1))  # [B, H, T, d]\n"
                "        all_values = self.per_head(torch.cat(values, dim=1))\n"
                "\n"
                "        query = self.per_head(self.query(x))  # [B, H, 1, d]\n"
            ),
        ),
        wrong=(
            "return x.reshape(x.size(0), self.heads, -1",
            "all_keys = self.per_head",
            "all_values = self.per_head",
        ),
    ),
    case(
        "kv_cache",
        "student",
        "d_model that is no multiple of num_heads: an assert (AssertionError), not a ValueError",
        (
            (
                "        if d_model % num_heads:\n"
                '            raise ValueError(f"{d_model} is not a multiple of {num_heads}")\n'
            ),
            '        assert d_model % num_heads == 0, f"{d_model} is not a multiple of {num_heads}"\n',
        ),
    ),
    case(
        "kv_cache",
        "student_functional",
        (
            "how many places are filled is counted in the module, not in the cache: two sentences in "
            "alternation disturb each other"
        ),
        (
            (
                "        self.buffer = like.new_zeros(two, batch, heads, room, width)\n"
                "        self.used = 0\n"
                "\n"
                "    def add(self, pair):\n"
                "        room = self.buffer.size(3)\n"
                "        if self.used == room:\n"
            ),
            (
                "        self.buffer = like.new_zeros(two, batch, heads, room, width)\n"
                "\n"
                "    def add(self, pair, place):\n"
                "        room = self.buffer.size(3)\n"
                "        if place == room:\n"
            ),
        ),
        (
            (
                "        self.buffer[:, :, :, self.used] = pair\n"
                "        self.used += 1\n"
                "\n"
                "    def filled(self):\n"
                "        return self.buffer[:, :, :, : self.used].clone()\n"
            ),
            (
                "        self.buffer[:, :, :, place] = pair\n"
                "\n"
                "    def filled(self, used):\n"
                "        return self.buffer[:, :, :, :used].clone()\n"
            ),
        ),
        (
            (
                '    """Keys and values of earlier positions, [2, B, H, room, d]; `used` of them are '
                'filled."""\n'
            ),
            '    """Keys and values of earlier positions, [2, B, H, room, d]."""\n',
        ),
        (
            (
                "        cache = Cache(now) if cache is None else cache\n"
                "        past = cache.filled()\n"
                "        cache.add(now.detach())\n"
            ),
            (
                "        if cache is None:  # a new sentence\n"
                "            cache = Cache(now)\n"
                "            self.step = 0\n"
                "        past = cache.filled(self.step)\n"
                "        cache.add(now.detach(), self.step)\n"
                "        self.step += 1\n"
            ),
        ),
        wrong=(
            "self.step = 0",
            "cache.filled(self.step)",
            "cache.add(now.detach(), self.step)",
            "self.step += 1",
        ),
    ),
    case(
        "kv_cache",
        "student_functional",
        "when the buffer is full, a larger one replaces it and the old keys and values are not copied",
        (
            (
                "            larger = self.buffer.new_zeros(*self.buffer.shape[:3], 2 * room, "
                "self.buffer.size(4))\n"
                "            larger[:, :, :, :room] = self.buffer\n"
                "            self.buffer = larger\n"
            ),
            (
                "            self.buffer = self.buffer.new_zeros(*self.buffer.shape[:3], 2 * room, "
                "self.buffer.size(4))\n"
            ),
        ),
        wrong=("self.buffer = self.buffer.new_zeros", "if self.used == room:"),
    ),
    case(
        "kv_cache",
        "student_functional",
        (
            "keys and values are detached before attention uses them: no gradient reaches the projections "
            "of keys and values, even of the current step"
        ),
        (
            "        now = torch.stack([k, v])  # [2, B, H, d]\n",
            "        now = torch.stack([k, v]).detach()  # [2, B, H, d]; what is cached needs no gradient\n",
        ),
    ),
)
