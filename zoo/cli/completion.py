"""Completion in bash, which splits words at "=" and ":" and replaces only the last piece."""

from __future__ import annotations

from click.shell_completion import BashComplete, CompletionItem, add_completion_class


class SplitBashComplete(BashComplete):
    """bash's completion with the words as they were typed: `--attention=eager:b` is one option and one value."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one to complete, and that word."""
        words, last = super().get_completion_args()
        joined: list[str] = []
        glue = False
        for word in [*words, last]:
            if word == "=":
                joined.append("")  # the value to come, empty so far
            elif (word == ":" and joined) or glue:
                joined[-1] += word
            else:
                joined.append(word)
            glue = word in ("=", ":")
        return joined[:-1], joined[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """Format a completion for bash: only what follows the last colon, where the word has been split."""
        _, last = self.get_completion_args()
        return f"{item.type},{item.value[last.rfind(':') + 1 :]}"


def register() -> None:
    """Let click use it for bash."""
    add_completion_class(SplitBashComplete, "bash")
