"""Cross-entropy with smoothed labels."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.loss.smoothing import SmoothedLoss


class LabelSmoothingLoss(SmoothedLoss):
    """-sum over k of q(k) log softmax(logits)[k], mean over labels that are not padding.

    q is the distribution of `SmoothedLoss`: 1 - smoothing on the label, nothing on pad, the rest evenly on all
    other tokens. Vaswani et al. 2017, section 5.4, arXiv:1706.03762, with smoothing=0.1.

    `F.cross_entropy(label_smoothing=s)` spreads s over all V tokens instead: the label has 1 - s + s/V, and
    every other token, pad too, s/V. The loss `kl` has the same gradient, and is 0 at its best.
    """

    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        """Logits [B, L, V], labels [B, L] -> scalar."""
        return self.cross_entropy(output.log_softmax(dim=-1), labels).to(output.dtype)
