"""Calls that right code makes for what they do are tried where right code has them."""

from __future__ import annotations

import ast

from grader.edits.missing_calls import with_calls

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
OWN = """def __init__(self, model):
        self.model = model

    def run(self, x):
        out = self.model(x)"""


def test_a_call_is_put_about_where_right_code_has_it() -> None:
    found = list(with_calls(FILE.encode().splitlines(keepends=True), ast.parse(FILE), ast.parse(RIGHT)))
    texts = [text for _, text in found]
    assert [line for line, _ in found] == [4, 5, 6]  # the first place is that of right code
    assert texts[0].splitlines()[3:5] == ["        model.train()", "        out = model(x)"]
    assert not any("y.backward" in text for text in texts)  # there is no `y` here
    assert not any(text.count("self.log") > 1 for text in texts)  # it is called already
    for text in texts:
        ast.parse(text)


def test_in_a_class_the_call_is_made_of_its_attribute() -> None:
    """`__init__` is no place for it, though it has the name."""
    text = FILE.replace("def step(self, model, x):\n        out = model(x)", OWN)
    assert text != FILE
    found = list(with_calls(text.encode().splitlines(keepends=True), ast.parse(text), ast.parse(RIGHT)))
    added = {line.strip() for _, new in found for line in new.splitlines()} - {
        line.strip() for line in text.splitlines()
    }
    assert added == {"self.model.train()"}
