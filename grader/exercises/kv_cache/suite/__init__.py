"""Hidden tests of `exercises/kv_cache.py`."""
