"""The runner of snippets notices what it must."""

from __future__ import annotations

import pytest


def test_output_that_is_as_shown_passes(page) -> None:
    page("a.md", "```console\n$ echo one; echo two\none\ntwo\n```\n").run()


def test_output_that_differs_is_noticed(page) -> None:
    with pytest.raises(AssertionError, match="the page shows"):
        page("a.md", "```console\n$ echo one\ntwo\n```\n").run()


def test_output_that_the_page_does_not_show_is_noticed(page) -> None:
    with pytest.raises(AssertionError, match="the page shows"):
        page("a.md", "```console\n$ echo one; echo two\none\n```\n").run()


def test_a_command_that_fails_is_noticed(page) -> None:
    with pytest.raises(AssertionError, match="exit 3, the page says 0"):
        page("a.md", "```console\n$ (exit 3)\n```\n").run()


def test_a_command_may_be_shown_to_fail(page) -> None:
    page("a.md", "```console\n$ (exit 3)  # exit 3\n```\n").run()


def test_variables_and_the_folder_last_to_the_end_of_the_page(page) -> None:
    page(
        "a.md",
        "```console\n$ export A='1 2'\n$ mkdir -p b && cd b\n```\n\ntext\n\n```console\n$ echo $A $(basename $PWD)\n1 2 b\n```\n",
    ).run()


@pytest.mark.parametrize("opening", ['```text title="x.txt"\n', "```text\n# file: x.txt\n"])
def test_a_named_block_becomes_a_file(page, opening: str) -> None:
    page("a.md", f"{opening}hello\n```\n\n```console\n$ tail -n 1 x.txt\nhello\n```\n").run()


def test_python_that_fails_is_noticed(page) -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        page("a.md", "```python\n1 / 0\n```\n").run()


def test_python_with_prompts_is_compared(page) -> None:
    page("a.md", "```python\n>>> 1 + 1\n2\n```\n").run()
    with pytest.raises(AssertionError):
        page("b.md", "```python\n>>> 1 + 1\n3\n```\n").run()


def test_a_block_that_says_why_it_is_not_run_is_left_alone(page, blocks_of) -> None:
    text = "<!-- not run: takes minutes -->\n```console\n$ false\n```\n"
    page("a.md", text).run()
    assert [block.not_run for block in blocks_of(text)] == ["takes minutes"]


@pytest.mark.parametrize(
    ("expected", "actual", "agree"),
    [
        ("[…] INFO  | Wrote 2", "[2026-03-28 12:00:01] INFO  | Wrote 2\n", True),
        ("[…] INFO  | Wrote 2", "[2026-03-28 12:00:01] INFO  | Wrote 3\n", False),
        ("a\n…\nz", "a\nb\nc\nz\n", True),
        ("a\n…\nz", "a\nz\n", True),
        ("a\n…\nz", "a\nb\n", False),
        ("", "", True),
        ("", "surprise\n", False),
        ("1.5", "1x5\n", False),
    ],
)
def test_dots_stand_for_anything_and_everything_else_for_itself(
    output_agrees, expected: str, actual: str, agree: bool
) -> None:
    assert output_agrees(expected, actual) is agree
