"""Tests that pages can be read by everybody: contrasts, names, keys, screens of 400, 800 and 1,200 pixels, light and dark, and paper."""

import base64
import itertools
import os
import pathlib
import re
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "serve")]
import audit
import reports
from browser import Browser

PROGRAM, CHROMIUM = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
SKIPPED = 77
PAGES = ("ranked", "zero bubble", "explained", "checked", "hostile", "impossible", "compared", "scaling")
# Tables that are wider than the screen before the reader asks for all columns.
CUT_TABLES = """[...document.querySelectorAll(".scroll:has(> table)")]
  .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) =>
    `a table is cut, ${each.scrollWidth} of ${each.clientWidth} pixels: ` +
    [...each.querySelectorAll("th")].map((head) => head.textContent).join(", ").slice(0, 80))"""
# The folder for screenshots, for manual inspection.
PICTURES = os.environ.get("DDL_PICTURES")
# Simulations of color blindness in linear RGB [Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009, severity 1].
SIGHTS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# The least distance of two colors of a chart in CIELAB. A distance of 2.3 is just noticeable.
LEAST_DISTANCE = 10


def linear(color):
    shares = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]


def lab(color, sight):
    """Returns a color in CIELAB as a person with this sight sees it."""
    r, g, b = (min(1, max(0, sum(weight * part for weight, part in zip(row, linear(color))))) for row in sight)
    curve = lambda share: share ** (1 / 3) if share > 0.008856 else 7.787 * share + 16 / 116
    x = curve((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047)
    y = curve(0.2126 * r + 0.7152 * g + 0.0722 * b)
    z = curve((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def alike_colours(style):
    """Returns the pairs of chart colors that some reader may confuse."""
    found = []
    for theme in re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]:
        tones = dict(re.findall(r"--(t\d+): (#[0-9a-f]{6})", theme))
        assert len(tones) == 11, tones
        for (name, sight), pair in itertools.product(SIGHTS.items(), itertools.combinations(tones.items(), 2)):
            (one, a), (other, b) = pair
            distance = sum((x - y) ** 2 for x, y in zip(lab(a, sight), lab(b, sight))) ** 0.5
            if distance < LEAST_DISTANCE:
                found.append(f"{name}: {one} {a} and {other} {b} differ by {distance:.1f}")
    return found


def show(browser, page, name, width, dark):
    """Returns the faults of a page on one screen."""
    browser.events.clear()
    browser.show(page.as_uri(), width=width, height=900, dark=dark)
    found = audit.faults(browser) + browser.complaints()
    # Folded sections are part of the page, too.
    browser.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    browser.evaluate("for (const each of document.querySelectorAll('input.toggle')) each.checked = true")
    found += audit.faults(browser)
    browser.evaluate("for (const each of document.querySelectorAll('input.toggle')) each.checked = false")
    found += browser.evaluate(CUT_TABLES)
    if PICTURES:
        browser.screenshot(f"{PICTURES}/{name.replace(' ', '-')}-{width}-{'dark' if dark else 'light'}.png")
    return found


def pages_on_paper(browser, page):
    browser.show(page.as_uri(), width=1200)
    paper = base64.b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])
    return len(re.findall(rb"/Type\s*/Page\b", paper))


def main():
    failures = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Browser(CHROMIUM) as browser:
        reports.write_files(folder)
        for name in PAGES:
            text = reports.report(PROGRAM, folder, name, "html")
            failures += [f"{name}: {pair}" for pair in alike_colours(text)]
            if len(text.encode()) > 300_000:
                failures.append(f"{name}: {len(text.encode())} bytes")
            page = pathlib.Path(folder) / "page.html"
            page.write_text(text)
            for width, dark in itertools.product((400, 800, 1200), (False, True)):
                where = f"{name}, {width} pixels, {'dark' if dark else 'light'}"
                failures += [f"{where}: {fault}" for fault in show(browser, page, name, width, dark)]
            browser.show(page.as_uri())
            failures += [f"{name}: {fault}" for fault in audit.focus_faults(browser)]
            paper = pages_on_paper(browser, page)
            if name == "ranked" and paper > 2:
                failures.append(f"{name}: {paper} pages on paper")
    print("\n".join(dict.fromkeys(failures)) or "all pages can be read")
    return 1 if failures else 0


try:
    with Browser(CHROMIUM) as probe:
        probe.evaluate("1")
except AssertionError as problem:
    print(f"not run, the browser does not start here: {problem}")
    sys.exit(SKIPPED)
sys.exit(main())
