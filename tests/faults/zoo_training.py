"""Faults in `zoo/training`."""

from __future__ import annotations

from tests.faults.fault import Fault

FAULTS = (
    Fault(
        "training-held-out-words-trained",
        "zoo/training/tasks/reverse.py",
        "self.training = tuple(word for word in words if places[word] % HELD_OUT)",
        "self.training = tuple(words)",
        "the held-out words are among those trained on",
    ),
    Fault(
        "training-target-without-eos",
        "zoo/training/tasks/base.py",
        "tgt = [[*self.encode_answer(self.answer(text)), EOS] for text in texts]",
        "tgt = [self.encode_answer(self.answer(text)) for text in texts]",
        "a model never learns to end its answer",
    ),
    Fault(
        "translation-batch-over-limit",
        "zoo/training/translation/batching.py",
        "(len(batches[-1]) + 1) * width > tokens",
        "len(batches[-1]) * width > tokens",
        "a batch has one pair more than its limit of tokens",
    ),
    Fault(
        "translation-eos-not-counted",
        "zoo/training/translation/dataset.py",
        "if max(len(one[0]), len(one[1]) + 1) <= max_len]",
        "if max(len(one[0]), len(one[1])) <= max_len]",
        "a target that has no room for its EOS is kept",
    ),
    Fault(
        "translation-random-state-not-restored",
        "zoo/training/translation/state.py",
        '    torch.set_rng_state(tensors["random.cpu"])\n',
        "",
        "a resumed training draws other dropout than an uninterrupted one",
    ),
    Fault(
        "translation-state-removes-itself",
        "zoo/training/translation/state.py",
        "if STATE.match(path.name) and path.name != keep:",
        "if STATE.match(path.name):",
        "the state that was just saved is removed",
    ),
    Fault(
        "translation-batches-weighted-alike",
        "zoo/training/update.py",
        "share = self.loss(batch) * (count / sum(counts))",
        "share = self.loss(batch) / len(batches)",
        "accumulated batches count alike whatever their number of tokens",
    ),
    Fault(
        "translation-clip-by-value",
        "zoo/training/update.py",
        "torch.nn.utils.clip_grad_norm_(",
        "torch.nn.utils.clip_grad_value_(",
        "gradients are clipped one by one",
    ),
    Fault(
        "translation-worse-epoch-kept",
        "zoo/training/translation/keeper.py",
        "if progress.best_epoch == progress.epoch:",
        "if progress.best_epoch:",
        "the last epoch's weights are saved as the best",
    ),
    Fault(
        "translation-log-keeps-later-rows",
        "zoo/training/log.py",
        "<= after]",
        "<= after + 1]",
        "a log that is taken up again has a row twice",
    ),
    Fault(
        "translation-other-text-not-noticed",
        "zoo/training/translation/sources.py",
        "for corpus in (corpora.train, corpora.valid):",
        "for corpus in (corpora.train,):",
        "a run is resumed with another validation text",
    ),
    Fault(
        "translation-tokenizer-truncates",
        "zoo/training/translation/tokenizer.py",
        "        tokenizer.no_truncation()\n",
        "",
        "a tokenizer file that says so cuts every text",
    ),
    Fault(
        "translation-lines-split-anywhere",
        "zoo/training/translation/corpus.py",
        'lines = text.split("\\n")',
        "lines = text.splitlines()",
        "a sentence with U+2028 becomes two, and pairs no longer fit",
    ),
    Fault(
        "translation-cased-score",
        "zoo/training/translation/scoring.py",
        'BLEU(lowercase=True, tokenize="intl"',
        'BLEU(lowercase=False, tokenize="intl"',
        "the lower-cased BLEU is cased",
    ),
    Fault(
        "translation-long-texts-unreported",
        "zoo/training/translation/translator.py",
        "if len(one) > self.max_len]",
        "if len(one) > self.max_len + 1]",
        "a text that is cut by one token is not reported",
    ),
)
