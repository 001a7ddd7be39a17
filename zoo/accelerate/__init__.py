"""Tricks that make a model faster on the CPU, for whoever asks for them: `accelerate(model)`, `restore(model)`.

The zoo itself is plain torch. What is here trades some of that for speed; the numbers are in tests/bench.
"""

from zoo.accelerate.swap import AccelerateError as AccelerateError
from zoo.accelerate.swap import accelerate as accelerate
from zoo.accelerate.swap import restore as restore
from zoo.accelerate.swap import tricks as tricks
