"""Tests that pages, traces and Markdown contain the content of the JSON report, and that no text of a file becomes markup."""

import collections
import html.parser
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import reports

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
VOID = {"wbr", "meta", "br", "link", "img", "input", "hr"}
# A page may contain these elements, but no image, frame or form. Links lead to parts of the same page.
KNOWN = {"html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2", "small", "p", "b", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "div", "span", "pre", "figure", "figcaption", "button", "output", "script", "svg", "g", "rect", "path", "line", "polyline", "polygon", "circle", "text", "details", "summary", "nav", "a", "ol", "input", "label", "wbr"}


class Page(html.parser.HTMLParser):
    """Returns the elements of a page, with their attributes. Each element must be closed in the element where it was opened."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.texts = [], [], collections.defaultdict(str)
        self.svgs = []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        if tag == "wbr":  # may break a word, which stays one word
            self.texts[self.open[-1]] = self.texts[self.open[-1]].removesuffix("\n")
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"an attribute twice: {tag} {names}"
        element = {"tag": tag, "parents": list(self.open), **dict(attributes)}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]] += data + "\n"


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        reports.write_files(cls.folder)
        cls.texts = {name: reports.report(PROGRAM, cls.folder, name, "html") for name in reports.COMMANDS}
        cls.pages = {name: Page(text) for name, text in cls.texts.items()}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def each_page(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                yield name, page

    def test_pages_have_no_element_that_loads_or_sends(self):
        for name, page in self.each_page():
            self.assertLessEqual({element["tag"] for element in page.elements}, KNOWN)
            for element in page.elements:
                for attribute, value in element.items():
                    if attribute == "href":
                        self.assertEqual((element["tag"], value[0]), ("a", "#"))
                    self.assertNotIn(attribute, ("src", "xlink:href", "action", "srcset", "style"))
                    self.assertFalse(attribute.startswith("on"), element)
                    if attribute not in ("content", "parents", "aria-label"):
                        self.assertNotIn("http", str(value).lower(), element)
            self.assertEqual([element for element in page.elements if element["tag"] == "script"].__len__(), 1)
            self.assertNotIn("url(", page.texts["style"])
            self.assertNotIn("@import", page.texts["style"])
            self.assertIn("default-src 'none'", self.texts[name])

    def test_ids_are_unique_and_names_refer_to_them(self):
        for _, page in self.each_page():
            ids = [element["id"] for element in page.elements if "id" in element]
            self.assertEqual(len(ids), len(set(ids)))
            for element in page.elements:
                if "aria-labelledby" in element:
                    self.assertIn(element["aria-labelledby"], ids)
                if element["tag"] == "button":
                    self.assertIn("type", element)
                if element.get("role") == "region":
                    self.assertTrue(element["aria-label"])

    def test_drawings_are_xml_and_have_titles(self):
        drawings = 0
        for name, page in self.each_page():
            body = self.texts[name].split("<body>")[1]
            depth, start = 0, 0
            for found in re.finditer(r"<svg\b|</svg>", body):
                if found.group() == "<svg":
                    start = found.start() if depth == 0 else start
                    depth += 1
                    continue
                depth -= 1
                if depth > 0:
                    continue
                root = tree.fromstring(body[start : found.end()])
                drawings += 1
                if root.get("aria-hidden") == "true":
                    continue
                self.assertEqual(root.get("role"), "img")
                title = root.find("title")
                self.assertEqual(title.get("id"), root.get("aria-labelledby"))
                self.assertTrue(title.text.strip())
                for element in root.iter():
                    for attribute in ("x", "y", "width", "height", "cx", "cy"):
                        value = element.get(attribute, "0").rstrip("%")
                        self.assertTrue(math.isfinite(float(value)), tree.tostring(element))
                        if attribute in ("width", "height"):
                            self.assertGreaterEqual(float(value), 0)
            self.assertEqual(depth, 0)
        self.assertGreater(drawings, 100)

    def bars(self, name):
        """Returns the bars of times in order: for each bar, the printed sum and its parts."""
        body = self.texts[name].split("<body>")[1]
        bars = []
        for found in re.finditer(r'<svg[^>]*data-unit="s" data-sum="([^"]*)".*?</svg>', body, re.DOTALL):
            bars.append((float(found.group(1)), [float(each) for each in re.findall(r'data-value="([^"]*)"', found.group())]))
        return bars

    def test_the_parts_of_a_bar_add_up_to_the_iteration(self):
        for name in ("ranked", "images", "one plan", "zero bubble", "input", "hostile"):
            with self.subTest(name):
                answer = reports.as_json(PROGRAM, self.folder, name)
                plans = [plan for plan in answer["plans"] if plan["time"]]
                longest = 5 * plans[0]["time"]["iteration_s"]
                order = answer.get("table_order") or []
                plans.sort(key=lambda plan: order.index(plan["rank"]) if plan["rank"] in order else len(order))
                plans = [plan for plan in plans if plan["rank"] is None or plan["time"]["iteration_s"] <= longest]
                bars = self.bars(name)
                self.assertGreaterEqual(len(bars), 1)
                for (total, parts), plan in zip(bars, plans):
                    self.assertAlmostEqual(total / plan["time"]["iteration_s"], 1, delta=1e-9)
                    self.assertAlmostEqual(sum(parts) / total, 1, delta=1e-9)
        for name, key in (("explained", None), ("checked", "jobs")):
            with self.subTest(name):
                answer = reports.as_json(PROGRAM, self.folder, name)
                plans = [job["plan"] for job in answer[key]] if key else [answer["plan"]]
                self.assertEqual(len(self.bars(name)), len(plans))
                for (total, parts), plan in zip(self.bars(name), plans):
                    self.assertAlmostEqual(total / plan["time"]["iteration_s"], 1, delta=1e-9)
                    self.assertAlmostEqual(sum(parts) / total, 1, delta=1e-9)

    def test_timelines_end_with_the_iteration(self):
        for name, page in self.each_page():
            if name in reports.WITHOUT_STEP or name == "checked":
                continue
            ends = [float(element["data-end"]) for element in page.elements if "data-end" in element]
            order = reports.as_json(PROGRAM, self.folder, name).get("table_order") or [1]
            recommended = self.bars(name)[order.index(1)][0]
            self.assertAlmostEqual(max(ends) / recommended, 1, delta=1e-9)

    def test_names_of_files_are_no_markup(self):
        for name in ("checked", "hostile"):
            text = self.texts[name]
            self.assertNotIn("<img", text)
            self.assertNotIn("<script>alert", text)
        self.assertIn("&lt;img src=x onerror=alert(1)&gt;", self.texts["checked"])

    def test_pages_say_how_to_reproduce_them(self):
        for name, page in self.each_page():
            self.assertIn("How to reproduce this answer", page.texts["h2"])
            self.assertIn("ddl-oracle " + reports.COMMANDS[name][0], page.texts["pre"])
        self.assertIn("'<img src=x onerror=alert(1)>'\\''\"&|`_x_.yaml'", self.pages["checked"].texts["pre"])

    def test_verdicts_stand_out(self):
        classes = lambda name: [each.get("class") for each in self.pages[name].elements]
        self.assertIn("badge fits", classes("ranked"))
        self.assertIn("verdict fits", classes("ranked"))
        self.assertIn("verdict bad", classes("checked"))

    def test_the_first_screen_has_the_answer_and_the_intervals(self):
        answer = reports.as_json(PROGRAM, self.folder, "ranked")
        first = self.texts["ranked"].split("<table>")[0]
        for label in ("Plan", "Speed", "Memory", "Cost", "Confidence", "Start"):
            self.assertIn(f'<p class="card-label">{label}</p>', first)
        self.assertIn(answer["best"]["plan"], first)
        rows = re.findall(r'<li class="whisker[^"]*"><span class="name">\d+  ([^<]+)</span>(.*?)</li>', first, re.DOTALL)
        order = answer["table_order"]
        drawn = [answer["plans"][rank - 1] for rank in order]
        self.assertEqual([name for name, _ in rows], [plan["plan"] for plan in drawn][: len(rows)])
        self.assertGreater(len(rows), 2)
        # The dots and the ends of the intervals have the scale of the times.
        dots = [float(re.search(r'class="dot" cx="([\d.]+)%', row).group(1)) for _, row in rows]
        ends = [[float(x) for x in re.search(r'class="range" x1="([\d.]+)%" x2="([\d.]+)%"', row).groups()] for _, row in rows]
        scale = (dots[-1] - dots[0]) / (drawn[len(rows) - 1]["time"]["iteration_s"] - drawn[0]["time"]["iteration_s"])
        for dot, (low, high), plan in zip(dots, ends, drawn):
            time = plan["time"]["iteration_s"]
            self.assertAlmostEqual(dot - dots[0], scale * (time - drawn[0]["time"]["iteration_s"]), delta=0.5)
            self.assertAlmostEqual(low - dot, scale * (plan["interval"]["iteration_low_s"] - time), delta=1.5)
            self.assertAlmostEqual(high - dot, scale * (plan["interval"]["iteration_high_s"] - time), delta=1.5)

    def test_the_first_screen_of_a_check_has_its_verdict_and_the_sizes_that_fit(self):
        first = self.texts["checked"].split("<table>")[0]
        for label in ("Memory", "Speed", "Largest batch", "Fewest GPUs"):
            self.assertIn(f'<p class="card-label">{label}</p>', first)
        self.assertIn('<p class="card-label">Would fit</p>', self.texts["checked"])

    def test_long_tables_are_folded_and_names_break_on_narrow_screens(self):
        self.assertRegex(self.texts["deep"], r'<details class="long"><summary>all \d+ rows</summary>')
        self.assertNotIn("<summary>all ", self.texts["ranked"])
        self.assertIn("details:not([open], .long)", self.texts["deep"])
        self.assertIn("layer0.<wbr>attention1", self.texts["deep"])

    def test_sections_have_links_and_rare_ones_are_folded(self):
        for name, page in self.each_page():
            ids = [each["id"] for each in page.elements if each["tag"] == "section"]
            links = [each["href"][1:] for each in page.elements if each["tag"] == "a"]
            if len(ids) >= 3:
                self.assertEqual(links, ["top", *ids])
        self.assertIn("<details><summary><h2 id=\"", self.texts["ranked"])

    def test_hidden_communication_is_drawn(self):
        self.assertIn("communication hidden behind compute", self.texts["ranked"])
        self.assertIn("bubble", self.texts["one plan"])

    def test_traces_are_sorted_and_end_with_the_iteration(self):
        for name in reports.COMMANDS:
            if name in reports.WITHOUT_STEP:
                continue
            with self.subTest(name):
                trace = json.loads(reports.report(PROGRAM, self.folder, name, "trace"))
                slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
                self.assertEqual({event["ph"] for event in trace["traceEvents"]}, {"M", "X"})
                rows = {(event["pid"], event["tid"]) for event in trace["traceEvents"] if event["name"] == "thread_name"}
                free, ends, before = collections.defaultdict(int), collections.defaultdict(int), (0, 0)
                for event in slices:
                    begin, length = round(event["ts"] * 1000), round(event["dur"] * 1000)
                    row = (event["pid"], event["tid"])
                    self.assertIn(row, rows)
                    self.assertGreaterEqual((event["pid"], begin), before)
                    before = (event["pid"], begin)
                    self.assertGreaterEqual(length, 0)
                    self.assertGreaterEqual(begin, free[row])
                    free[row] = begin + length
                    ends[event["pid"]] = max(ends[event["pid"]], begin + length)
                for pid, step in enumerate(trace["otherData"]["steps"], 1):
                    self.assertLessEqual(abs(ends[pid] - round(step["iteration_us"] * 1000)), 2)
                    self.assertTrue(0.5 < step["pace"] < 2)
                works = {event["cat"] for event in slices}
                self.assertLessEqual({"forward", "backward", "weight update"}, works)
        trace = json.loads(reports.report(PROGRAM, self.folder, "one plan", "trace"))
        forwards = [event for event in trace["traceEvents"] if event.get("cat") == "forward"]
        self.assertEqual(len(forwards), 4 * 8)

    def test_reports_without_a_step_have_no_trace(self):
        for name in ("impossible", "compared"):
            ran = subprocess.run([PROGRAM, *reports.COMMANDS[name], "--format", "trace"], cwd=self.folder, check=False, capture_output=True)
            self.assertEqual(ran.returncode, 2)
            self.assertEqual(ran.stdout, b"")
            self.assertIn(b"hint: ", ran.stderr)

    def test_rows_of_markdown_have_as_many_cells_as_their_heading(self):
        tables = 0
        for name in reports.COMMANDS:
            with self.subTest(name):
                lines = reports.report(PROGRAM, self.folder, name, "markdown").splitlines()
                cells = lambda line: len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))
                for i, line in enumerate(lines):
                    if not re.fullmatch(r"\|( -+:? \|)+", line):
                        continue
                    tables += 1
                    self.assertEqual(cells(lines[i - 1]), cells(line))
                    for row in lines[i + 1 :]:
                        if not row.startswith("|"):
                            break
                        self.assertEqual(cells(row), cells(line), row)
        self.assertGreater(tables, 15)
        text = reports.report(PROGRAM, self.folder, "checked", "markdown").split("## How to reproduce this answer")[0]
        self.assertNotRegex(text, r"(?<!\\)<img")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
