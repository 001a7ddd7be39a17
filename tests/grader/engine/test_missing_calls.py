"""Calls that right code makes for what they do are tried where right code has them."""

from __future__ import annotations

import ast

from grader.engine.missing_calls import with_calls

RIGHT = '''
class Trainer:
    def step(self, model, x):
        """Docstring."""
        model.train()
        y = model(x)
        y.backward()
        self.log(y)
        return y
'''
FILE = """
class Trainer:
    def step(self, model, x):
        out = model(x)
        self.log(out)
        return out

def step(model, x):
    return model(x)
"""


def test_a_call_is_put_about_where_right_code_has_it() -> None:
    found = list(with_calls(FILE.encode().splitlines(keepends=True), ast.parse(FILE), ast.parse(RIGHT)))
    texts = [text for _, text in found]
    assert [line for line, _ in found] == [4, 5, 6]  # the first place is that of right code
    assert texts[0].splitlines()[3:5] == ["        model.train()", "        out = model(x)"]
    assert not any("y.backward" in text for text in texts)  # there is no `y` here
    assert not any(text.count("self.log") > 1 for text in texts)  # it is called already
    for text in texts:
        ast.parse(text)
