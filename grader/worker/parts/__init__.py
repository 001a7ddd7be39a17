"""The judge's own parts, which are handed to a submission: an attention for its encoder layer, a model to decode with.

They run beside the submission, so nothing rests on them alone: what they note (`Part.recorded`) helps to name a
mistake, and whether the submission is right is told by the numbers, which depend on weights that only the judge knows.

A worker has none but those that its tests have asked for: the judge sends a module's text with the first one. So a
submission finds no part in its process that is what it should have written.
"""
