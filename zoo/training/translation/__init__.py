"""Translation: sentence pairs, subwords, training, scoring. What stands here imports neither torch nor tokenizers."""
