"""What graders do that have no worker: they run the submission in their own process. The control of every act.

`python naive.py TARGET SECRET`, the source on standard input.

It says, in JSON on standard output, what the act gave; a secret is in its memory, its variables, its environment
and in a file that it has open.
"""

import ctypes
import json
import os
import sys
from pathlib import Path


class Judge:
    """What an honest judge has in memory: the answers."""

    def __init__(self, secret):
        self.secret = secret


def main(secret, source, target):
    kept = Judge(secret)
    buffer = ctypes.create_string_buffer(secret.encode())
    with Path(target["secret"]).open() as opened:
        target |= {"judge": os.getpid(), "address": ctypes.addressof(buffer), "open": opened.fileno()}
        sys.path.append(target["project"])
        namespace = {}
        print("ready", flush=True)
        exec(source, namespace)
        found = namespace["act"](target)
        print(json.dumps(found), flush=True)
    return kept


if __name__ == "__main__":
    ANSWERS = os.environ["SECRET"]
    main(ANSWERS, sys.stdin.read(), json.loads(sys.argv[1]))
