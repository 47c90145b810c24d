"""A basic check of a page for those who read it with a keyboard or a screen reader, and for those who are offline."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input", "source", "col"}
NAMED = {"button", "a", "summary", "label", "h1", "h2", "h3", "th", "caption", "title"}


class Checker(HTMLParser):
    """Collects what is wrong with a page in `complaints`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.complaints: list[str] = []
        self.ids: list[str] = []
        self.wanted_ids: list[str] = []
        self.open: list[tuple[str, dict[str, str], list[str]]] = []
        self.headings: list[int] = []
        self.seen: dict[str, int] = {}
        self.feed(text)
        self.close()
        self.finish()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if "id" in given:
            self.ids.append(given["id"])
        for name in ("aria-labelledby", "aria-describedby", "for"):
            self.wanted_ids += given.get(name, "").split()
        if tag == "html" and not given.get("lang"):
            self.complaints.append("html without lang")
        if tag in ("img",) and "alt" not in given:
            self.complaints.append("img without alt")
        if int(given.get("tabindex", "0")) > 0:
            self.complaints.append(f"{tag} with a positive tabindex")
        if "tabindex" in given and tag not in ("button", "a") and not (given.get("role") and given.get("aria-label")):
            self.complaints.append(f"{tag} takes the focus without a role and a name")
        if tag in ("input", "select") and not any(one[0] == "label" for one in self.open):
            self.complaints.append(f"{tag} without a label")
        if tag == "th" and given.get("scope") not in ("col", "row"):
            self.complaints.append("th without scope")
        if given.get("role") == "slider" and not {"aria-valuemin", "aria-valuemax", "aria-valuenow"} <= set(given):
            self.complaints.append("slider without its range")
        for name in ("src", "href"):
            if re.match(r"(https?:)?//", given.get(name, "")):
                self.complaints.append(f"{tag} needs the network: {given[name]}")
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append((tag, given, []))

    def handle_data(self, data: str) -> None:
        for _, given, texts in self.open:
            if given.get("aria-hidden") == "true":
                return
            texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            name, given, texts = self.open.pop()
            if name in NAMED and not "".join(texts).strip() and not given.get("aria-label"):
                self.complaints.append(f"{name} without text")
            if name == "table" and not given.get("caption-seen"):
                self.complaints.append("table without caption")
            if name == "caption" and self.open:
                self.open[-1][1]["caption-seen"] = "yes"
            if name == tag:
                return
            self.complaints.append(f"{name} is not closed before {tag}")

    def finish(self) -> None:
        if self.open:
            self.complaints.append(f"{self.open[-1][0]} is not closed")
        twice = {one for one in self.ids if self.ids.count(one) > 1}
        self.complaints += [f"id {one} occurs twice" for one in sorted(twice)]
        self.complaints += [f"id {one} is referred to and missing" for one in self.wanted_ids if one not in self.ids]
        if self.headings.count(1) != 1:
            self.complaints.append(f"{self.headings.count(1)} headings of the first level")
        for above, below in zip(self.headings, self.headings[1:], strict=False):
            if below > above + 1:
                self.complaints.append(f"a heading of level {below} follows one of level {above}")
        self.complaints += [f"no {tag}" for tag in ("title", "main") if tag not in self.seen]


def complaints(page: str) -> list[str]:
    """What is wrong with a page."""
    return Checker(page).complaints


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, `#rrggbb`, from 1 to 21 (WCAG 2, relative luminance)."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
