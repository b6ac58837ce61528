"""Tests that a browser shows light, dark and narrow pages without an error, and that no element is wider than the screen."""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import reports

PROGRAM, CHROMIUM = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
SKIPPED = 77
# The script runs in the page itself, and returns the answer as a console message.
PROBE = """<script>addEventListener("load", () => {
  const root = document.documentElement, zooms = [...document.querySelectorAll("[data-zoom='2']")];
  for (const button of zooms) button.click();
  const wider = [...document.querySelectorAll(".timeline")].filter((each) => {
    return each.getBoundingClientRect().width > each.parentElement.clientWidth;
  });
  console.log("PROBE " + JSON.stringify({
    width: innerWidth, page: root.scrollWidth, dark: matchMedia("(prefers-color-scheme: dark)").matches,
    zooms: zooms.length, wider: wider.length, ground: getComputedStyle(document.body).backgroundColor}));
});</script></body>"""


def console(page, width, dark):
    """Returns the browser's messages for a page in a frame of this width in pixels, which may be narrower than any window."""
    host = page.with_name("host.html")
    host.write_text(f'<!DOCTYPE html><iframe src="{page.name}" style="width: {width}px; height: 800px; border: 0"></iframe>')
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=3000"]
    command += ["--allow-file-access-from-files", "--window-size=1400,900", f"--user-data-dir={page.parent / 'profile'}"]
    command += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", f"--screenshot={page.with_name('shot.png')}"]
    ran = subprocess.run([*command, host.as_uri()], capture_output=True, check=False, timeout=120)
    return [line for line in ran.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]


def main():
    import json

    failures = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        reports.write_files(folder)
        probe = pathlib.Path(folder) / "empty.html"
        probe.write_text("<!DOCTYPE html><body>" + PROBE)
        if not console(probe, 400, False):
            print("not run, the browser does not start here")
            return SKIPPED
        for name in ("ranked", "zero bubble", "explained", "checked", "hostile", "compared", "scaling"):
            page = pathlib.Path(folder) / "page.html"
            text = reports.report(PROGRAM, folder, name, "html")
            assert text.count("</body>") == 1
            page.write_text(text.replace("</body>", PROBE))
            timelines = text.count('class="timeline"')
            for width, dark in ((1280, False), (1280, True), (400, False)):
                lines = console(page, width, dark)
                told = [json.loads(line.split("PROBE ")[1].rsplit("}", 1)[0] + "}") for line in lines if "PROBE" in line]
                where = f"{name}, {width} pixels, {'dark' if dark else 'light'}"
                if len(told) != 1 or len(lines) != 1:
                    failures.append(f"{where}: {lines}")
                    continue
                answer = told[0]
                expected = {"width": width, "dark": dark, "zooms": timelines, "wider": timelines}
                for key, value in expected.items():
                    if answer[key] != value:
                        failures.append(f"{where}: {key} is {answer[key]}, not {value}")
                if answer["page"] > width:
                    failures.append(f"{where}: the page is {answer['page']} pixels wide")
                if (answer["ground"] == "rgb(255, 255, 255)") == dark:
                    failures.append(f"{where}: the ground is {answer['ground']}")
    print("\n".join(failures) or "all pages were shown")
    return 1 if failures else 0


sys.exit(main())
