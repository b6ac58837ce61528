"""Tests the page of `serve` in a browser: it answers while the user types, and fits dark, light and narrow screens."""

import os
import pathlib
import sys
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "pages")]
import audit
from browser import Browser
from server import SKIPPED, Server, is_built_in

PROGRAM, CHROMIUM = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
QUESTION = "?model=llama3-8b&machine=dgx-h100&gpus=64&batch=128"
# The folder for screenshots, for manual inspection.
PICTURES = os.environ.get("DDL_PICTURES")
SET = "(key, value, event) => {{ const control = document.getElementById('q-' + key); control.value = value; control.dispatchEvent(new Event(event, {{bubbles: true}})); }}"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)
        cls.browser = Browser(CHROMIUM)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.server.__exit__()

    def setUp(self):
        self.browser.events.clear()

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])
        for url in self.browser.requested():
            self.assertTrue(url.startswith(self.server.url) or url == "about:blank", url)

    def show(self, query, **how):
        self.browser.show(self.server.url + query, **how)

    def type(self, key, value, event="input"):
        self.browser.evaluate(f"({SET.format()})('{key}', '{value}', '{event}')")

    def answer(self):
        return self.browser.evaluate("document.querySelector('#answer .answer').textContent")

    def picture(self, name):
        if PICTURES:
            self.browser.screenshot(f"{PICTURES}/{name}.png")

    def test_it_fits_screens(self):
        for query in (QUESTION, "?model=resnet50&machine=dgx-a100&gpus=8..256", "?model=resnet50&machine=dgx-a100,abci&gpus=16", "?model=resnet51", ""):
            for width, dark in ((1280, False), (1280, True), (375, False), (375, True)):
                with self.subTest(f"{query}, {width} pixels, {'dark' if dark else 'light'}"):
                    self.show(query, width=width, dark=dark)
                    self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
                    ground = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
                    self.assertEqual(ground != "rgb(255, 255, 255)", dark)
                    self.assertEqual(self.browser.evaluate("getComputedStyle(document.querySelector('form')).position"), "sticky" if width > 640 else "static")
                    self.picture(f"{'question' if query == QUESTION else 'start' if not query else query.strip('?').replace('&', '_')}-{width}-{'dark' if dark else 'light'}")

    def test_an_answer_follows_what_is_typed(self):
        self.show(QUESTION)
        first = self.answer()
        self.type("batch", "256")
        self.browser.wait("location.search.includes('batch=256')")
        self.assertNotEqual(self.answer(), first)
        self.assertRegex(self.browser.evaluate("document.getElementById('told').textContent"), r"Answered in \d+ ms\.")
        self.assertEqual(self.browser.evaluate("document.title"), self.answer())
        self.assertIn("batch=256", self.browser.evaluate("document.querySelector('[data-report=html]').href"))
        # Timelines of the new answer can be zoomed.
        self.browser.evaluate("document.querySelector('[data-zoom=\"2\"]').click()")
        self.assertGreater(self.browser.evaluate("document.querySelector('.timeline').getBoundingClientRect().width"), 1500)
        # The link leads to the same answer.
        typed = self.answer()
        self.show(self.browser.evaluate("location.search"))
        self.assertEqual(self.answer(), typed)

    def test_what_was_typed_last_is_answered(self):
        self.show(QUESTION)
        for batch in (192, 320, 384, 448, 512):
            self.type("batch", str(batch))
            time.sleep(0.2)
        self.browser.wait("location.search.includes('batch=512') && !document.getElementById('answer').hasAttribute('aria-busy')")
        self.assertIn("global batch 512", self.browser.evaluate("document.getElementById('answer').textContent"))

    def test_back_leads_to_the_question_before(self):
        self.show(QUESTION)
        self.type("gpus", "128")
        self.browser.wait("location.search.includes('gpus=128')")
        self.browser.evaluate("document.getElementById('q-gpus').value = '256'; document.getElementById('question').requestSubmit()")
        self.browser.wait("location.search.includes('gpus=256')")
        self.browser.evaluate("history.back()")
        self.browser.wait("document.getElementById('q-gpus').value === '128'")
        self.browser.wait("document.getElementById('answer').textContent.includes('128 GPUs of')")

    def test_a_mistake_is_told_and_mended(self):
        self.show(QUESTION)
        self.type("model", "llama3-8")
        self.browser.wait("document.querySelector('#answer [role=alert]') !== null")
        self.assertIn("unknown model", self.answer())
        self.type("model", "llama3-70b")
        self.type("gpus", "512")
        self.browser.wait("document.querySelector('#answer [role=alert]') === null && document.getElementById('answer').textContent.includes('llama3-70b on')")

    def test_an_end_of_the_server_is_told(self):
        with Server(PROGRAM) as other:
            self.browser.show(other.url + QUESTION)
        self.type("gpus", "8")
        self.browser.wait("document.getElementById('told').textContent.includes('does not answer')")
        self.browser.events.clear()

    def test_everything_that_can_be_operated_has_a_name(self):
        self.show(QUESTION)
        controls = self.browser.controls()
        self.assertGreater(len(controls), 20)
        for role, name in controls:
            self.assertTrue(name.strip(), (role, controls))
        names = [name for _, name in controls]
        for name in ("Model", "Machine", "GPUs", "Global batch", "Seq. length", "Precision", "Start with", "Tokens to train", "GPU-hour price", "Answer"):
            self.assertIn(name, names)

    def test_keys_alone_reach_every_control(self):
        self.show(QUESTION)
        reached = []
        for _ in range(17):
            audit.press_tab(self.browser)
            reached.append(self.browser.evaluate("(({name, type, dataset, id, tagName}) => name || type || dataset.report || id || tagName)(document.activeElement)"))
        expected = ["model", "machine", "gpus", "batch", "seq", "precision", "for", "tokens", "price", "submit", "SUMMARY"]
        self.assertEqual(reached, [*expected, "html", "md", "json", "csv", "link", "keep"])

    def test_pages_have_no_faults_on_any_screen(self):
        compared = "compare?a=model%3Dresnet50%26machine%3Ddgx-a100%26gpus%3D8&b=model%3Dresnet50%26machine%3Dabci%26gpus%3D8"
        for query in (QUESTION, "?model=llama3-8b&machine=dgx-h100&gpus=8..64&tokens=100B&deadline=5d", "?model=resnet51", "compare", compared):
            for width, dark in ((400, False), (800, True), (1200, False)):
                with self.subTest(f"{query}, {width} pixels"):
                    self.show(query, width=width, dark=dark)
                    self.assertEqual(audit.faults(self.browser), [])
                    self.picture(f"{'compared' if query.startswith('compare?') else query.strip('?')[:30].replace('&', '_')}-{width}")
        self.show(QUESTION)
        self.assertEqual(audit.focus_faults(self.browser), [])

    def test_a_search_says_that_the_answer_below_is_an_older_one(self):
        self.show(QUESTION)
        # A large question that takes longer than the banner waits.
        self.browser.evaluate("document.getElementById('q-model').value = 'deepseek-v3'")
        self.type("gpus", "512")
        self.browser.wait("document.querySelector('#answer .old progress') !== null || document.getElementById('told').textContent.startsWith('Answered')")
        self.browser.wait("document.getElementById('told').textContent.startsWith('Answered')")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.old').length"), 0)
        self.assertIn("deepseek-v3", self.answer())

    def test_two_answers_are_compared(self):
        self.show(QUESTION)
        self.browser.evaluate("document.getElementById('keep').click()")
        self.type("gpus", "128")
        self.browser.wait("location.search.includes('gpus=128')")
        self.browser.evaluate("document.getElementById('keep').click()")
        self.browser.wait("location.pathname === '/compare' && document.readyState === 'complete'")
        table = self.browser.evaluate("document.querySelector('.compared').textContent")
        for words in ("GPUs", "64", "128", "Speed", "90 % interval", "Memory", "Cost", "USD per 1B tokens", "Confidence"):
            self.assertIn(words, table)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.half .cards').length"), 2)


if not is_built_in(PROGRAM):
    print("not run, this program has no server")
    sys.exit(SKIPPED)
try:
    with Browser(CHROMIUM) as probe:
        probe.evaluate("1")
except AssertionError as problem:
    print(f"not run, the browser does not start here: {problem}")
    sys.exit(SKIPPED)
unittest.main(argv=["browser_test.py", *sys.argv[3:]], verbosity=1, warnings="ignore")
