"""Optional CPU optimizations: `accelerate(model)`, `restore(model)`.

The other packages are plain torch. Measurements are in tests/bench.
"""

from zoo.accelerate.swap import AccelerateError as AccelerateError
from zoo.accelerate.swap import accelerate as accelerate
from zoo.accelerate.swap import restore as restore
from zoo.accelerate.swap import tricks as tricks
