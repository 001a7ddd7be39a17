"""Parts with one thing wrong each; a module an axis, imported for what it adds to `WRONG`."""

import pkgutil
from importlib import import_module

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
