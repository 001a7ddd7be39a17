"""The untrusted side: runs a submission in its own process. Imports torch and the standard library only.

Its files import one another relatively, so that the worker process can load this folder by its path,
without the package `grader`. The judge shares the files that both sides must agree on.
"""
