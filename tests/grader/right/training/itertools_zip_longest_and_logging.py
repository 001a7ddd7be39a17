"""itertools: zip_longest makes the columns, str.translate the ids; math.pow, logging; reverse_words returns a list that unpacks in two."""

import itertools
import logging
import math
import string

import torch
import torch.nn as nn

logger = logging.getLogger("reverse")
logger.addHandler(logging.NullHandler())

_TO_ID = str.maketrans({c: chr(i) for i, c in enumerate(string.ascii_lowercase, 3)})
_EOS = chr(2)


def _columns_to_tensor(strings):
    columns = [[ord(c) for c in column] for column in itertools.zip_longest(*strings, fillvalue="\0")]
    return torch.tensor(columns, dtype=torch.int64).reshape(len(columns), len(strings)).t()


def reverse_words(words):
    coded = [word.translate(_TO_ID) for word in words]
    return [_columns_to_tensor(coded), _columns_to_tensor(["".join(reversed(c)) + _EOS for c in coded])]


def noam(step, d_model, warmup):
    arg1 = 1 / math.sqrt(step)
    arg2 = step / math.pow(warmup, 3 / 2)
    return (1 / math.sqrt(d_model)) * (arg1 if arg1 < arg2 else arg2)


def train_step(model, optimizer, src, tgt):
    if not model.training:
        logger.info("model was in eval mode")
    model.train()

    decoder_in = tgt.clone()
    decoder_in[:, 1:] = tgt[:, :-1]
    decoder_in[:, 0] = 1

    output = model(src, decoder_in)
    loss_per_token = nn.CrossEntropyLoss(reduction="none")(output.permute(0, 2, 1), tgt)
    weight = (tgt != 0).type_as(loss_per_token)
    loss = torch.dot(loss_per_token.reshape(-1), weight.reshape(-1)) / weight.sum()

    optimizer.zero_grad()  # gradients of an earlier batch go, just before the new ones come
    loss.backward()
    optimizer.step()
    logger.debug("loss %.4f", loss.item())
    return loss.item()
