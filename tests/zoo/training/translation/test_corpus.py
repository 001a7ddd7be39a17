"""What is read from files, what is left out and counted, and a sentence for each file that cannot be used."""

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.errors import ZooError
from zoo.training.translation.corpus import Corpus, Pair, Report, limited, read_aligned, read_lines, read_tsv


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


class TestAligned:
    def test_line_n_of_one_goes_with_line_n_of_the_other(self, tmp_path: Path) -> None:
        src = written(tmp_path / "a.de", "Ein Hund.\nZwei Männer!\n".encode())
        tgt = written(tmp_path / "a.en", b"A dog.\nTwo men!\n")
        corpus = read_aligned(src, tgt)
        assert corpus.pairs == (Pair("Ein Hund.", "A dog."), Pair("Zwei Männer!", "Two men!"))
        assert str(corpus.report) == "2 pairs read, none left out."
        assert len(corpus) == 2

    def test_an_empty_side_leaves_the_pair_out_and_is_counted(self, tmp_path: Path) -> None:
        src = written(tmp_path / "src", b"one\n\ntwo\nthree\n \t\n")
        tgt = written(tmp_path / "tgt", "eins\nnichts\n\u3000\ndrei\nleer\n".encode())
        corpus = read_aligned(src, tgt)
        assert corpus.pairs == (Pair("one", "eins"), Pair("three", "drei"))
        assert corpus.report == Report(read=5, empty=3)
        assert str(corpus.report) == "5 pairs read, 3 left out: 3 with an empty side."

    def test_files_of_different_length_are_refused_with_both_counts(self, tmp_path: Path) -> None:
        src, tgt = written(tmp_path / "src", b"a\nb\nc\n"), written(tmp_path / "tgt", b"a\n")
        with pytest.raises(ZooError, match=r"src' has 3 lines and '.*tgt' has 1\. .*same number of lines"):
            read_aligned(src, tgt)

    def test_a_blank_line_at_the_end_counts(self, tmp_path: Path) -> None:
        src, tgt = written(tmp_path / "src", b"a\n\n"), written(tmp_path / "tgt", b"a\n")
        with pytest.raises(ZooError, match="has 2 lines and"):
            read_aligned(src, tgt)

    @pytest.mark.parametrize("data", [b"", b"\n", b"\r\n \r\n", "\ufeff".encode()])
    def test_files_without_a_pair_are_refused(self, tmp_path: Path, data: bytes) -> None:
        src, tgt = written(tmp_path / "src", data), written(tmp_path / "tgt", data)
        with pytest.raises(ZooError, match="no sentence pair"):
            read_aligned(src, tgt)


class TestTsv:
    def test_two_columns_are_a_pair(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.tsv", b'A "dog".\tEin Hund.\n\nx\ty\n\tz\n')
        corpus = read_tsv(path)
        assert corpus.pairs == (Pair('A "dog".', "Ein Hund."), Pair("x", "y"))
        assert corpus.report == Report(read=4, empty=2)

    @pytest.mark.parametrize(("line", "got"), [("alone", "1 column"), ("a\tb\tc", "3 columns")])
    def test_another_number_of_columns_is_refused_with_its_line(
        self, tmp_path: Path, line: str, got: str
    ) -> None:
        path = written(tmp_path / "a.tsv", f"a\tb\n{line}\n".encode())
        with pytest.raises(ZooError, match=f"line 2: expected two columns.*got {got}"):
            read_tsv(path)


class TestLines:
    def test_only_a_newline_ends_a_line(self, tmp_path: Path) -> None:
        strange = "a\u2028b\x85c\x0bd\x0ce\x1cf\u2029g\rh"
        assert read_lines(written(tmp_path / "a", f"{strange}\r\nnext\n".encode())) == [strange, "next"]

    @pytest.mark.parametrize("name", ["a.gz", "a.txt"])
    def test_a_packed_file_is_told_by_its_content(self, tmp_path: Path, name: str) -> None:
        packed = gzip.compress("Grüße\n".encode()) + gzip.compress(
            "中文\n".encode()
        )  # two members, as of `cat`
        assert read_lines(written(tmp_path / name, packed)) == ["Grüße", "中文"]

    def test_a_plain_file_may_be_named_gz(self, tmp_path: Path) -> None:
        assert read_lines(written(tmp_path / "a.gz", b"plain\n")) == ["plain"]

    @pytest.mark.parametrize("packed", [False, True])
    def test_a_byte_order_mark_is_no_text(self, tmp_path: Path, packed: bool) -> None:
        data = "\ufeffa\n\ufeffb\n".encode()
        lines = read_lines(written(tmp_path / "a", gzip.compress(data) if packed else data))
        assert lines == ["a", "\ufeffb"]

    def test_the_last_line_needs_no_end(self, tmp_path: Path) -> None:
        assert read_lines(written(tmp_path / "a", b"one\ntwo")) == ["one", "two"]

    def test_a_huge_line_is_read_whole(self, tmp_path: Path) -> None:
        assert list(map(len, read_lines(written(tmp_path / "a", b"x" * 5_000_000 + b"\ny\n")))) == [
            5_000_000,
            1,
        ]

    @given(
        st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1))
    )
    def test_lines_come_back_as_they_were_written(self, lines: list[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = written(Path(folder, "a"), "".join(f"{line}\n" for line in ["first", *lines]).encode())
            assert read_lines(path) == ["first", *lines]


class TestFilesThatCannotBeUsed:
    @pytest.mark.parametrize(
        ("data", "line", "byte"),
        [(b"ok\nM\xe4nner\n", 2, "E4"), (b"\xff\xfea\0", 1, "FF"), (b"a\nb\n\xed\xa0\x80\n", 3, "ED")],
        ids=["latin-1", "utf-16", "lone-surrogate"],
    )
    def test_bad_utf8_is_named_with_its_line(self, tmp_path: Path, data: bytes, line: int, byte: str) -> None:
        path = written(tmp_path / "a", data)
        with pytest.raises(ZooError, match=f"a', line {line}: the byte 0x{byte} .*Convert"):
            read_lines(path)

    def test_a_character_that_is_cut_off_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ZooError, match="line 2: the byte 0xE4"):
            read_lines(written(tmp_path / "a", b"ok\n\xe4\xb8"))

    def test_a_nul_is_refused_with_its_line(self, tmp_path: Path) -> None:
        with pytest.raises(ZooError, match=r"line 2: there is a NUL character.*UTF-16"):
            read_lines(written(tmp_path / "a", b"ok\na\0b\0"))

    def test_a_packed_file_that_is_cut_off_is_refused_at_any_place(self, tmp_path: Path) -> None:
        whole = gzip.compress(b"some text\n" * 20)
        for end in range(2, len(whole)):
            with pytest.raises(ZooError, match="damaged or cut off"):
                read_lines(written(tmp_path / "a.gz", whole[:end]))

    def test_a_packed_file_with_a_wrong_byte_is_refused(self, tmp_path: Path) -> None:
        whole = bytearray(gzip.compress(b"some text\n" * 20))
        whole[-6] ^= 1  # in the checksum
        with pytest.raises(ZooError, match="damaged or cut off"):
            read_lines(written(tmp_path / "a.gz", bytes(whole)))

    def test_a_missing_file_is_a_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(ZooError, match=r"nowhere.*cannot be read: there is no such file"):
            read_lines(tmp_path / "nowhere")

    def test_a_directory_is_a_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(ZooError, match="cannot be read: it is a directory"):
            read_lines(tmp_path)

    def test_a_path_through_a_file_is_a_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(ZooError, match="a part of the path is a file"):
            read_lines(written(tmp_path / "a", b"x") / "b")


class TestLimit:
    CORPUS = Corpus((Pair("a", "b"), Pair("c", "d"), Pair("e", "f")), Report(read=4, empty=1))

    def test_long_pairs_are_left_out_and_counted(self) -> None:
        corpus = limited(self.CORPUS, [(5, 3), (6, 1), (1, 6)], 5)
        assert corpus.pairs == (Pair("a", "b"),)
        assert corpus.report == Report(read=4, empty=1, too_long=2)
        assert str(corpus.report) == "4 pairs read, 3 left out: 1 with an empty side, 2 too long."

    def test_a_limit_of_a_limit_counts_both(self) -> None:
        once = limited(self.CORPUS, [(5, 3), (9, 1), (1, 6)], 6)
        assert limited(once, [(5, 3), (1, 6)], 5).report.too_long == 2

    def test_nothing_left_is_refused(self) -> None:
        with pytest.raises(ZooError, match=r"All 3 sentence pairs .* more than 2 tokens"):
            limited(self.CORPUS, [(3, 3)] * 3, 2)

    def test_lengths_must_be_as_many(self) -> None:
        with pytest.raises(ValueError, match="lengths"):
            limited(self.CORPUS, [(1, 1)], 2)
