"""The collection that the themes of this folder fill, and what they share."""

from __future__ import annotations

from grader.api import Collection
from grader.exercises.loss.reference import Steps

mistake: Collection[Steps] = Collection()
SHIFT = "shift_right(target) = SOS, then all of target but its last column"
TOKEN = "loss of one token = - log softmax(logits)[right id]"
MEAN = "sequence_loss = mean over all tokens of the batch that are not PAD"
SMOOTH = "wanted = 1 - e on the right id, plus e / V on each of the V ids"
