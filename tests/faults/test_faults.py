"""The seeded faults fit the code: whether the tests find them is for `python -m tests.faults` to say."""

from __future__ import annotations

from tests import ROOT
from tests.faults.faults import FAULTS


def test_names_differ() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_each_fault_can_be_applied() -> None:
    """Its old text occurs once in its file, and the file still compiles with the new one."""
    sources = {file: (ROOT / file).read_text(encoding="utf-8") for file in {fault.file for fault in FAULTS}}
    unfit = [fault.name for fault in FAULTS if sources[fault.file].count(fault.old) != 1]
    assert unfit == []
    for fault in FAULTS:
        assert fault.new != fault.old, fault.name
        compile(sources[fault.file].replace(fault.old, fault.new), fault.name, "exec")
