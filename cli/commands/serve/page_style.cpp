#include "cli/commands/serve/page.hpp"

namespace ddl {

const std::string_view page_style = R"css(
.served header { display: flex; align-items: baseline; }
#question { position: sticky; top: 0; z-index: 1; margin: .5rem -1rem 0; padding: .6rem 1rem .7rem; background: var(--ground);
  border-bottom: 1px solid var(--rule); }
.controls { display: grid; grid-template-columns: repeat(auto-fit, minmax(6rem, 1fr)); gap: .5rem .6rem; align-items: end; }
.control { min-width: 0; }
.control.model, .control.machine { grid-column: span 2; }
.control label { display: block; font-size: .8rem; color: var(--faint); }
.control input, .control select, .control button { width: 100%; min-height: 2.2rem; padding: .3rem .5rem; font: inherit;
  color: inherit; background: var(--panel); border: 1px solid var(--edge); border-radius: 6px; }
.control button { color: #fff; background: #0550ae; border-color: #0550ae; cursor: pointer; }
.control :is(input, select, button):focus-visible, .saves a:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
.control ::placeholder { color: var(--faint); opacity: 1; }
:root { --edge: #818b98; }
@media (prefers-color-scheme: dark) { :root { --edge: #656d76; } }
.below { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; min-height: 1.9rem; }
.saves { margin: .35rem 0; font-size: .9rem; color: var(--faint); }
.saves a { margin-left: .4rem; color: var(--link); }
#answer[aria-busy] { opacity: .55; }
.notes { padding: .5rem .75rem .5rem 1.75rem; background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; }
@media (max-width: 40rem) { #question { position: static; margin: .5rem -.75rem 0; padding: .5rem .75rem .6rem; }
  .controls { grid-template-columns: 1fr 1fr; } }
@media print { #question, .below { display: none; } }
)css";

const std::string_view page_script = R"js(
{
  const form = document.getElementById("question"), answer = document.getElementById("answer");
  const told = document.getElementById("told"), saves = [...document.querySelectorAll("[data-report]")];
  let asking = null, timer = 0;
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
        if (location.search !== "?" + wanted) history[keeps ? "pushState" : "replaceState"](null, "", "/?" + wanted);
      } else {
        told.textContent = text.trim();
      }
    } catch (problem) {
      if (asking !== own) return;
      told.textContent = "The server does not answer: ddl-oracle serve has ended, or cannot be reached.";
    }
    answer.removeAttribute("aria-busy");
    asking = null;
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => ask(false), 150);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(true);
  });
  addEventListener("popstate", () => {
    const said = new URLSearchParams(location.search);
    for (const control of form.elements) if (control.name) control.value = said.get(control.name) || "";
    ask(false);
  });
}
)js";

}  // namespace ddl
