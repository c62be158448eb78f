"""The static site: every link leads somewhere, nothing leaves it, nothing in it is taken for markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from lakelogic.actions.look.estate import EstateRequest
from lakelogic.actions.look.site import build_site
from lakelogic.actions.look.site_html import share, slug
from lakelogic.errors import UsageError
from lakelogic.run.surroundings import Surroundings

EVIL = "<script>alert(1)</script>\\\"'&"
CONTRACT = f"""
info:
  dataset: silver_people
  target_layer: silver
  domain: "{EVIL}"
  title: "{EVIL}"
  description: "{EVIL}"
  owner: "{EVIL}"
source: {{path: data/people.csv}}
primary_key: [id]
model:
  fields:
    - {{name: id, type: int, required: true, description: "{EVIL}"}}
    - {{name: email, masking: redact}}
    - {{name: age, type: int, min: 0}}
quality: {{row_rules: [{{name: adult, sql: "age < 200 OR email = '</td>'"}}]}}
service_levels: {{freshness: 24h}}
materialization: {{strategy: merge, target_path: people.silver.people}}
"""
DATA = "id,email,age\n1,ada@example.com,36\n2,bob@example.com,-4\n"


class Seen(HTMLParser):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.targets: list[str] = []
        self.handlers: list[str] = []
        self.open: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        given = dict(attrs)
        self.targets += [given[name] for name in ("href", "src") if given.get(name)]
        self.handlers += [name for name in given if name.startswith("on")]
        if tag not in ("meta", "link", "br", "rect", "path"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        if tag not in ("meta", "link", "br", "rect", "path"):
            assert self.open.pop() == tag


@pytest.fixture
def site(estate, workspace) -> Path:
    estate({"people.yaml": CONTRACT}, {"people.csv": DATA})
    done = build_site(Surroundings.here(), EstateRequest(("contracts",)), "out/site")
    assert (done.pages, done.datasets) == (6, 1)
    return workspace / "out/site"


def test_every_page_is_whole_and_its_links_lead_to_files_of_the_site(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) == 6
    for page in pages:
        seen = Seen(page)
        assert seen.open == []
        assert {"h1", "main", "nav", "footer"} <= seen.tags
        assert seen.handlers == []
        assert not seen.tags & {"script", "iframe", "object", "img", "form"}
        for target in seen.targets:
            assert "://" not in target
            if not target.startswith("#"):
                assert (page.parent / target).resolve().is_file()


def test_no_row_and_no_markup_of_the_data_is_in_it(site):
    text = "".join(page.read_text() for page in site.rglob("*.html"))
    assert "example.com" not in text
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_a_dataset_tells_its_columns_rules_promises_and_history(site):
    text = (site / "datasets/silver_people.html").read_text()
    for wanted in ("redact", "data/people.csv", "adult", "at most 24 hours", "age_min", "succeeded", "50.0\u2009%"):
        assert wanted in text


def test_a_run_that_found_nothing_new_is_neither_good_nor_the_judge_of_the_data(site, run_again):
    assert run_again("people.yaml").status == "no_new_data"
    build_site(Surroundings.here(), EstateRequest(("contracts",)), "out/site")
    text = (site / "index.html").read_text()
    assert 'class="mark none">no new data<' in text
    assert "50.0\u2009%" in text


def test_a_site_is_made_again_as_a_whole_and_a_folder_of_others_is_left_alone(site, workspace):
    (site / "datasets/gone.html").write_text("of a dataset that is not there any more")
    build_site(Surroundings.here(), EstateRequest(("contracts",)), "out/site")
    assert not (site / "datasets/gone.html").exists()
    (workspace / "mine").mkdir()
    (workspace / "mine/letter.txt").write_text("keep me")
    with pytest.raises(UsageError, match="no site of ours"):
        build_site(Surroundings.here(), EstateRequest(("contracts",)), "mine")
    assert (workspace / "mine/letter.txt").read_text() == "keep me"
    assert sorted(path.name for path in (workspace / "out").iterdir()) == ["site"]


def test_names_of_files_differ_where_names_differ_and_shares_are_not_rounded_into_a_lie():
    assert slug("silver_orders") == "silver_orders"
    assert len({slug(name) for name in ("A b", "a b", "a-b", "../a", "ä", "ö")}) == 6
    assert "/" not in slug("../../etc/passwd")
    assert [share(value) for value in (None, 0, 1, 0.99997, 0.00001, 0.5)] == [
        "–", "0\u2009%", "100\u2009%", ">99.99\u2009%", "<0.1\u2009%", "50.0\u2009%",
    ]  # fmt: skip
