"""Where a learner's parameters hold the weights of query, key, value and output projection.

Any names, packed or split by head, transposed or not, with or without biases. A name that says plainly
what it is decides (so that a matrix used for the wrong input is a mistake, not another layout); where
names are silent, behaviour decides (`layout_labels`). The result is a permutation of elements: exact in
both directions, for values and for gradients alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.core.submission import Instance
from grader.engine.layout_labels import Label, Labels, find_labels
from grader.engine.layout_names import is_bias, role_of, stem
from grader.exercises.attention.reference import ROLES


@dataclass(frozen=True)
class Layout:
    """A map between the learner's parameters and canonical weights.

    Attributes:
        parameters: the learner's parameters, by name, with the values they had when the map was made.
        index: for each canonical weight ("q.weight", [out, in]; "q.bias") the positions of its elements
            in all parameters, flattened and joined in order. Weights that are not there are not in it.
        known: whether behaviour could be asked; False means names, shapes and order alone decided.
        reached: parameters that a gradient arrived at.
        frozen: parameters with requires_grad=False.
    """

    parameters: Mapping[str, Tensor]
    index: Mapping[str, Tensor]
    known: bool = True
    reached: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Canonical names and shapes that are there."""
        return {name: tuple(where.shape) for name, where in self.index.items()}

    def channels_first(self, num_heads: int) -> Layout | None:
        """The other reading of weights that are split by head, [.., d, H]; None if there are none."""
        starts, ends = {}, 0
        for name, own in self.parameters.items():
            starts[name], ends = (ends, ends + own.numel()), ends + own.numel()
        index = dict(self.index)
        for name, where in self.index.items():
            first = int(where.flatten()[0])
            own = next(self.parameters[n] for n, (start, end) in starts.items() if start <= first < end)
            if own.dim() >= (3 if name.endswith("weight") else 2) and num_heads in own.shape:
                dim = 1 if name == "out.weight" else 0
                if name != "out.bias" and where.size(dim) % num_heads == 0:
                    index[name] = (
                        where.unflatten(dim, (-1, num_heads)).transpose(dim, dim + 1).flatten(dim, dim + 1)
                    )
        changed = any(index[name] is not where for name, where in self.index.items())
        return replace(self, index=index) if changed else None

    def trainable(self, name: str) -> bool:
        return name not in self.frozen

    def to_canonical(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """Canonical weights (or gradients) from the learner's; what is None counts as zero."""
        joined = []
        for name, own in self.parameters.items():
            value = values.get(name)
            joined.append((torch.zeros_like(own) if value is None else value.detach()).flatten())
        dtype = next((v.dtype for v in values.values() if v is not None), torch.float32)
        flat = torch.cat([part.to(dtype) for part in joined]) if joined else torch.zeros(0)
        return {name: flat[where] for name, where in self.index.items()}

    def from_canonical(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The learner's parameters that hold these canonical weights; the others keep their values."""
        flat = torch.cat([own.detach().flatten().float() for own in self.parameters.values()])
        for name, where in self.index.items():
            if name in weights:
                flat[where.flatten()] = weights[name].to(flat.dtype).flatten()
        sizes = [own.numel() for own in self.parameters.values()]
        parts = zip(self.parameters.items(), flat.split(sizes), strict=True)
        return {name: part.view(own.shape).to(own.dtype) for (name, own), part in parts}


@dataclass(frozen=True)
class _Element:
    """One element of a weight, and what is known of it."""

    position: int
    column: int | None


class _Reader:
    """Reads one set of parameters: collects elements role by role."""

    def __init__(self, parameters: Mapping[str, Tensor], labels: Labels, d_model: int) -> None:
        self.parameters, self.labels, self.d_model = parameters, labels, d_model
        sizes = [0, *(p.numel() for p in parameters.values())]
        starts = torch.tensor(sizes).cumsum(0).tolist()
        self.start = dict(zip(parameters, starts, strict=False))
        self.matrices = [
            n for n, p in parameters.items() if not (is_bias(n, p.dim()) or self._packed_biases(n))
        ]
        self.biases = [n for n in parameters if n not in self.matrices]
        self.role_of_element: dict[int, str] = {}
        self.whole: dict[str, str | None] = self._whole_roles()

    def _packed_biases(self, name: str) -> bool:
        """Several biases in one tensor: no input column meets it, and only some of it meets one output."""
        labels = self.labels.of[name]
        several = len(labels) in (2 * self.d_model, 3 * self.d_model, 4 * self.d_model)
        inputs = 2 * sum(bool(label and label[0] != "out") for label in labels) > len(labels)
        silent = role_of(name) is None
        return silent and several and name in self.labels.reached and None in labels and not inputs

    def _whole_roles(self) -> dict[str, str | None]:
        """The role of each matrix as a whole; None where its elements have several, or none."""
        roles = {name: role_of(name) for name in self.matrices}
        silent = [name for name in self.matrices if roles[name] is None]
        told = [name for name in silent if any(self._label(name))]
        blind = [name for name in silent if name not in told]
        left = [role for role in ROLES if role not in set(roles.values()) | self._told(told)]
        if len(blind) == len(left):
            roles.update(zip(blind, left, strict=True))
        return roles

    def _told(self, names: list[str]) -> set[str]:
        return {self._role(label) for name in names for label in self._label(name) if label}

    def _label(self, name: str) -> list[Label | None]:
        return self.labels.of[name]

    @staticmethod
    def _role(label: Label) -> str:
        return label[0] if label[0] == "out" else label[0][0]

    def weights(self) -> dict[str, Tensor]:
        """Index of each weight matrix, [out, in]."""
        elements: dict[str, list[_Element]] = {}
        for name in self.matrices:
            for offset, label in enumerate(self._label(name)):
                role = self.whole[name] or (self._role(label) if label else None)
                if role is None:
                    continue
                position = self.start[name] + offset
                fits = label is not None and (label[0] == "out") == (role == "out")
                elements.setdefault(role, []).append(_Element(position, label[1] if label and fits else None))
                self.role_of_element[position] = role
        self._complete(elements)
        found = {f"{r}.weight": self._matrix(r, elements[r]) for r in ROLES if r in elements}
        return {name: index for name, index in found.items() if index is not None}

    def _complete(self, elements: dict[str, list[_Element]]) -> None:
        """Rows of one packed Linear that no gradient tells apart (it is cut before them): q, k, v in order.

        Each unbroken run of such rows is shared evenly by the roles that are missing.
        """
        missing = [role for role in ROLES[:3] if role not in elements]
        for name in self.matrices if missing else ():
            start, shape = self.start[name], self.parameters[name].shape
            if self.whole[name] is not None or len(shape) != 2 or shape[1] != self.d_model:
                continue
            rows = [start + row * shape[1] for row in range(shape[0])]
            blind = [row for row in rows if row not in self.role_of_element]
            if len(blind) == len(rows) or len(blind) != len(missing) * self.d_model:
                continue
            for run in _runs(blind, shape[1]):
                share = len(run) // len(missing)
                for place, row in enumerate(run):
                    role = missing[min(place // max(share, 1), len(missing) - 1)]
                    for column in range(shape[1]):
                        elements.setdefault(role, []).append(_Element(row + column, column))
                        self.role_of_element[row + column] = role

    def _matrix(self, role: str, elements: list[_Element]) -> Tensor | None:
        """Order a role's elements: by column where columns are known, else as a Linear holds them."""
        columns: list[list[int]] = [[] for _ in range(self.d_model)]
        for element in elements:
            if element.column is not None:
                columns[element.column].append(element.position)
        height = len(columns[0])
        if height and all(len(c) == height for c in columns) and height * self.d_model == len(elements):
            by_column = torch.tensor(columns)  # [D, height]
            return by_column if role == "out" else by_column.T
        return self._unlabelled(role, [element.position for element in elements])

    def _unlabelled(self, role: str, positions: list[int]) -> Tensor | None:
        flat = torch.tensor(positions)
        names = [n for n in self.matrices if self.start[n] in self.role_of_element and self.whole[n] == role]
        shape = self.parameters[names[0]].shape if len(names) == 1 else torch.Size()
        if len(shape) == 2:
            square = flat.view(shape)
            return square if names[0].endswith("weight") else square.T
        if len(positions) % self.d_model == 0:
            wide = flat.view(-1, self.d_model)
            return wide.view(self.d_model, -1) if role == "out" else wide
        return None

    def bias_index(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Index of each bias: by its sibling weight, by name, by gradient, by order."""
        found: dict[str, list[int]] = {}
        silent: list[str] = []
        for name in self.biases:
            roles = self._bias_roles(name)
            if roles is None:
                silent.append(name)
                continue
            for offset, role in enumerate(roles):
                found.setdefault(role, []).append(self.start[name] + offset)
        for name in silent:
            self._by_order(name, found, weights)
        height = {role: weights[f"{role}.weight"].size(0) for role in ROLES if f"{role}.weight" in weights}
        return {
            f"{role}.bias": torch.tensor(found[role])
            for role in ROLES
            if role in found and len(found[role]) == height.get(role, -1)
        }

    def _bias_roles(self, name: str) -> list[str] | None:
        """The role of each element of a bias, or None if neither name nor sibling nor gradient tells."""
        size = self.parameters[name].numel()
        labels = self._label(name)
        siblings = [m for m in self.matrices if stem(m) == stem(name) and m != name]
        if role_of(name):
            return [role_of(name) or ""] * size
        if labels and all(label and label[0] == "out" for label in labels):
            return ["out"] * size
        if len(siblings) == 1 and siblings[0].endswith("weight"):
            weight = self.parameters[siblings[0]]
            start, step = self.start[siblings[0]], weight[0].numel()
            if weight.size(0) == size:
                roles = [self.role_of_element.get(start + row * step) for row in range(size)]
                return [role or "" for role in roles]
        return None

    def _by_order(self, name: str, found: dict[str, list[int]], weights: Mapping[str, Tensor]) -> None:
        """A bias that says nothing: what meets one output column is the output's; the rest is q, k, v in order."""
        places = dict(enumerate(self._label(name)))
        outputs = [self.start[name] + o for o, label in places.items() if label and label[0] == "out"]
        if len(outputs) == self.d_model and not found.get("out"):
            found["out"] = outputs
        rest = [
            p
            for p in range(self.start[name], self.start[name] + len(places))
            if p not in found.get("out", [])
        ]
        for role in ROLES:
            height = weights[f"{role}.weight"].size(0) if f"{role}.weight" in weights else 0
            missing = height - len(found.get(role, []))
            if missing > 0 and rest:
                found.setdefault(role, []).extend(rest[:missing])
                rest = rest[missing:]


def _runs(rows: list[int], step: int) -> list[list[int]]:
    """Rows that follow each other, together."""
    runs: list[list[int]] = []
    for row in rows:
        if runs and row - runs[-1][-1] == step:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def find_layout(instance: Instance, d_model: int, seed: int = 0) -> Layout:
    """Find the layout of an instance (its parameter values are overwritten on the way).

    Raises:
        SubmissionError: the submission is gone, or not written.
    """
    infos = instance.parameters()
    parameters = {name: info.value for name, info in infos.items()}
    frozen = frozenset(name for name, info in infos.items() if not info.requires_grad)
    if not parameters:
        return Layout({}, {}, known=False)
    instance.train(False)
    labels = find_labels(instance, parameters, d_model, seed)
    reader = _Reader(parameters, labels, d_model)
    weights = reader.weights()
    index = {**weights, **reader.bias_index(weights)}
    return Layout(parameters, index, labels.known, labels.reached, frozen)
