"""Finds faults of a page that a browser shows: cut or overlapping texts, weak contrasts, missing names, and the order of the focus."""

# Contrasts: 4.5 for text, 3 for large text [WCAG 2.2, success criterion 1.4.3].
FAULTS = r"""
(() => {
  const faults = [], root = document.documentElement;
  const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const light = (color) => {
    const [r, g, b] = color.map((each) => {
      const share = each / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y);
    return (bright + 0.05) / (dark + 0.05);
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = rgb(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color.slice(0, 3);
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
  };
  const told = (element) => element.tagName + "." + (element.getAttribute("class") || "") + " '" + element.textContent.trim().slice(0, 40) + "'";
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && element.checkVisibility();
  };
  if (root.scrollWidth > innerWidth) faults.push("the page is " + root.scrollWidth + " pixels wide");
  if (!root.lang || !document.title.trim()) faults.push("no language or no title");
  if (document.querySelectorAll("main").length !== 1 || document.querySelectorAll("h1").length !== 1) faults.push("not one main and one h1");
  let level = 1;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) faults.push("a level is left out before " + told(heading));
    level = own;
  }
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  if (new Set(ids).size !== ids.length) faults.push("an id occurs twice");
  for (const link of document.querySelectorAll('a[href^="#"]'))
    if (!document.getElementById(link.hash.slice(1))) faults.push("no target of " + told(link));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), holders = new Set();
  while (walker.nextNode()) if (walker.currentNode.data.trim()) holders.add(walker.currentNode.parentElement);
  for (const element of holders) {
    if (["SCRIPT", "STYLE", "TITLE", "title", "OPTION"].includes(element.tagName) || !shown(element)) continue;
    const style = getComputedStyle(element), drawn = element.namespaceURI.endsWith("svg");
    const back = ground(element), color = rgb(drawn ? style.fill : style.color).slice(0, 3);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    let weak = contrast(color, back);
    if (element.classList.contains("in")) {
      const tone = "t" + [...element.classList].find((each) => /^o\d/.test(each)).slice(1);
      const probe = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      probe.setAttribute("class", tone);
      element.parentElement.append(probe);
      weak = contrast(color, rgb(getComputedStyle(probe).fill).slice(0, 3));
      probe.remove();
    }
    // Opacity of an ancestor is used only while an old answer is shown.
    if (weak < (large ? 3 : 4.49)) faults.push("contrast " + weak.toFixed(2) + " of " + told(element));
    const box = element.getBoundingClientRect();
    if (!element.closest(".scroll, pre, .contents") && (box.left < -1 || box.right > innerWidth + 1))
      faults.push("cut at " + Math.round(box.left) + " to " + Math.round(box.right) + ": " + told(element));
  }
  for (const drawing of document.querySelectorAll("svg")) {
    if (drawing.parentElement.closest("svg")) continue;
    const texts = [...drawing.querySelectorAll("text")].filter(shown).map((each) => [each, each.getBoundingClientRect()]);
    for (let i = 0; i < texts.length; ++i) for (let j = i + 1; j < texts.length; ++j) {
      const [a, one] = texts[i], [b, other] = texts[j];
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (wide > 2 && high > 4) faults.push("overlapping: " + told(a) + " and " + told(b));
    }
  }
  return [...new Set(faults)];
})()
"""

# The element that has the focus: its position in the document, and whether the focus can be seen.
FOCUS = r"""
(() => {
  const element = document.activeElement, style = getComputedStyle(element);
  const all = [...document.querySelectorAll("*")];
  return {place: element === document.body ? -1 : all.indexOf(element), name: element.outerHTML.slice(0, 80),
          seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0};
})()
"""


def faults(browser):
    """Returns the faults of the page that the browser shows, each as a sentence."""
    found = list(browser.evaluate(FAULTS))
    found += [f"a {role} has no name" for role, name in browser.controls() if not name.strip()]
    return found


def press_tab(browser):
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)


def focus_faults(browser, most=60):
    """Presses the Tab key, and returns the elements that get the focus out of the document's order, or without a visible mark."""
    found, before, first = [], -1, None
    for _ in range(most):
        press_tab(browser)
        focus = browser.evaluate(FOCUS)
        first = focus["place"] if first is None else first
        if focus["place"] < 0 or (before >= 0 and focus["place"] == first):
            break  # after the last element, the focus leaves the page or begins again
        if focus["place"] < before:
            found.append(f"the focus goes back to {focus['name']}")
        if not focus["seen"]:
            found.append(f"the focus cannot be seen on {focus['name']}")
        before = focus["place"]
    return found
