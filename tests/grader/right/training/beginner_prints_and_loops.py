"""A beginner's: dictionary written by a loop, recursion to reverse, losses summed token by token, a self-test that runs at import."""

import torch
import torch.nn.functional as F

letter_to_id = {}
next_id = 3
for letter in "abcdefghijklmnopqrstuvwxyz":
    letter_to_id[letter] = next_id
    next_id = next_id + 1


def backwards(word):
    if word == "":
        return ""
    return backwards(word[1:]) + word[0]


def reverse_words(words):
    longest = 0
    for word in words:
        if len(word) > longest:
            longest = len(word)
    src = torch.zeros(len(words), longest).long()
    tgt = torch.zeros(len(words), longest + 1).long()
    for i in range(len(words)):
        word = words[i]
        for j in range(len(word)):
            src[i][j] = letter_to_id[word[j]]
            tgt[i][j] = letter_to_id[backwards(word)[j]]
        tgt[i][len(word)] = 2
    return src, tgt


def noam(step, d_model, warmup):
    a = step ** -0.5
    b = step * warmup ** -1.5
    smallest = a
    if b < a:
        smallest = b
    return float(d_model ** -0.5 * smallest)


def train_step(model, optimizer, src, tgt):
    model.train()
    optimizer.zero_grad()
    B, L = tgt.shape
    decoder_input = torch.ones(B, L).long().to(tgt.device)
    for i in range(1, L):
        decoder_input[:, i] = tgt[:, i - 1]
    logits = model(src, decoder_input)
    losses = []
    for b in range(B):
        for i in range(L):
            if tgt[b][i] != 0:
                losses.append(F.cross_entropy(logits[b, i], tgt[b, i]))
    loss = sum(losses) / len(losses)
    loss.backward()
    optimizer.step()
    return loss.item()


a, b = reverse_words(["cab", "to"])
assert a.tolist() == [[5, 3, 4], [22, 17, 0]]
assert b.tolist() == [[4, 3, 5, 2], [17, 22, 2, 0]]
print("reverse_words works")
