#include "cli/commands/serve/page.hpp"

namespace ddl {

const std::string_view progress_script = R"js(
// While a search runs, the page says that the answer below belongs to the previous question.
function searching(answer, own, wanted, begin) {
  const banner = document.createElement("div"), words = document.createElement("span");
  const bar = document.createElement("progress");
  banner.className = "old";
  bar.setAttribute("aria-label", "Progress of the search");
  banner.append("Searching. The answer below belongs to the previous question. ", bar, " ", words);
  const show = setTimeout(() => answer.prepend(banner), 300);
  const poll = setInterval(async () => {
    const got = await fetch("/progress?" + wanted, {signal: own.signal}).then((got) => got.json()).catch(() => ({}));
    const seconds = Math.round((performance.now() - begin) / 1000) + " s";
    if (got.of) {
      bar.max = got.of;
      bar.value = got.done;
    }
    words.textContent = got.what ? got.what + " (" + seconds + ")" : seconds;
  }, 500);
  return () => {
    clearTimeout(show);
    clearInterval(poll);
    banner.remove();
  };
}
)js";

const std::string_view page_script = R"js(
if (document.getElementById("question")) {
  const form = document.getElementById("question"), answer = document.getElementById("answer");
  const told = document.getElementById("told"), saves = [...document.querySelectorAll("[data-report]")];
  const link = document.getElementById("link"), keep = document.getElementById("keep");
  let asking = null, timer = 0, before = location.search;
  const query = () => {
    const said = [...new FormData(form)].filter(([, value]) => value.trim() !== "");
    return said.map(([key, value]) => key + "=" + encodeURIComponent(value.trim())).join("&");
  };
  const ask = async (keeps) => {
    clearTimeout(timer);
    if (asking) asking.abort();
    const wanted = query(), own = new AbortController(), begin = performance.now();
    asking = own;
    answer.setAttribute("aria-busy", "true");
    told.textContent = "Searching …";
    const end = searching(answer, own, wanted, begin);
    try {
      const got = await fetch("/answer?" + wanted, {signal: own.signal}), text = await got.text();
      if (asking !== own) return;
      if (got.ok) {
        answer.innerHTML = text;
        bringToLife(answer);
        const first = answer.querySelector(".answer");
        if (first) document.title = first.textContent;
        told.textContent = "Answered in " + Math.round(performance.now() - begin) + " ms.";
        for (const save of saves) save.href = "/report." + save.dataset.report + "?" + wanted;
        link.href = "/?" + wanted;
        offer(wanted);
        if (location.search !== "?" + wanted) history[keeps ? "pushState" : "replaceState"](null, "", "/?" + wanted);
        before = location.search;
      } else {
        told.textContent = text.trim();
      }
    } catch (problem) {
      if (asking !== own) return;
      told.textContent = "The server does not answer: ddl-oracle serve has ended, or cannot be reached.";
    } finally {
      end();
    }
    answer.removeAttribute("aria-busy");
    asking = null;
  };
  // The first click keeps the answer; from then on, the link compares the kept answer with the answer that is shown.
  let kept = "";
  const offer = (wanted) => {
    const a = kept || wanted;
    keep.href = "/compare?a=" + encodeURIComponent(a) + (kept && kept !== wanted ? "&b=" + encodeURIComponent(wanted) : "");
    keep.textContent = !kept ? "Compare with another" : kept === wanted ? "Kept: now change the question" : "Compare with the kept answer";
  };
  keep.addEventListener("click", (event) => {
    const wanted = location.search.slice(1) || query();
    if (kept && kept !== wanted) return;
    event.preventDefault();
    kept = wanted;
    offer(wanted);
  });
  new ResizeObserver(() => {
    const sticks = getComputedStyle(form).position === "sticky";
    document.documentElement.style.setProperty("--top", (sticks ? form.offsetHeight : 0) + "px");
  }).observe(form);
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => ask(false), 150);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(true);
  });
  addEventListener("popstate", () => {
    if (location.search === before) return;  // a link to a section
    before = location.search;
    const said = new URLSearchParams(location.search);
    for (const control of form.elements) if (control.name) control.value = said.get(control.name) || "";
    ask(false);
  });
}
)js";

}  // namespace ddl
