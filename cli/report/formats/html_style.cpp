#include "cli/report/formats/html_style.hpp"

namespace ddl {

// Colours that colour-blind readers can distinguish [Okabe and Ito, Color Universal Design, 2008].
// The colours for dark backgrounds are paler and brighter.
const std::string_view html_style = R"css(
:root { color-scheme: light dark; --ground: #fff; --panel: #f4f5f7; --ink: #1b1f24; --faint: #59636e; --rule: #d0d7de;
  --good: #1a7f37; --risk: #8a5a00; --bad: #b3261e; --link: #0550ae;
  --t0: #7cc4ee; --t1: #0072b2; --t2: #009e73; --t3: #d55e00; --t4: #e69f00; --t5: #f0e442; --t6: #cc79a7; --t7: #8c6d31;
  --t8: #b8c0c8; --t9: #6e7781; }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --panel: #161b22; --ink: #e6edf3; --faint: #9aa5b1;
  --rule: #30363d; --good: #56d364; --risk: #e3b341; --bad: #ff7b72; --link: #79c0ff;
  --t0: #8fd0f5; --t1: #3d9bd6; --t2: #2bb68c; --t3: #ec7a2c; --t4: #f0b429; --t5: #f0e442; --t6: #dc93bd; --t7: #b08d4c;
  --t8: #59636e; --t9: #8b949e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif; overflow-wrap: break-word; }
h1 { margin: 0; font-size: 1rem; font-weight: 600; color: var(--faint); }
h2 { margin: 2rem 0 .5rem; padding-top: .5rem; border-top: 1px solid var(--rule); font-size: 1.2rem; line-height: 1.3; }
h2 small { font-size: .95rem; font-weight: 400; color: var(--faint); }
p { margin: .35rem 0; }
ul { margin: .35rem 0; padding-left: 1.2rem; }
.answer { margin: .75rem 0; font-size: 1.25rem; line-height: 1.35; }
.note { color: var(--faint); font-size: .9rem; }
.verdict { font-weight: 700; white-space: nowrap; }
.fits { color: var(--good); } .risk { color: var(--risk); } .bad { color: var(--bad); }
.scroll { overflow-x: auto; margin: .5rem 0; }
.scroll:focus-visible, button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .875rem; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { background: var(--panel); white-space: nowrap; font-weight: 600; }
td.f, th.f { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.n { white-space: nowrap; }
td.w { min-width: 20rem; max-width: 40rem; }
pre { padding: .75rem; background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; font: .875rem/1.45 ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace; }
pre.drawn { white-space: pre; overflow-x: auto; }
figure { margin: 1rem 0; }
figcaption { margin-bottom: .4rem; font-weight: 600; }
svg { display: block; fill: currentColor; }
svg text { font-size: 12px; fill: var(--ink); }
.bar-label { margin: .5rem 0 .1rem; font-size: .875rem; }
.limit { fill: var(--t3); }
.legend { display: flex; flex-wrap: wrap; gap: .15rem 1rem; margin: .5rem 0; padding: 0; list-style: none; font-size: .85rem; }
.legend li { display: flex; align-items: center; gap: .35rem; }
.swatch { flex: none; }
.share { display: inline-block; vertical-align: baseline; }
.lanes { display: flex; }
.lane-names { flex: none; padding-right: .5rem; font-size: .8rem; text-align: right; white-space: nowrap; }
.lane-names div { height: 22px; line-height: 22px; }
.lanes .scroll { flex: 1; min-width: 0; margin: 0; }
.timeline { min-width: 100%; overflow: hidden; }
.lane { fill: var(--panel); }
.s { stroke: var(--ground); stroke-width: .5px; vector-effect: non-scaling-stroke; }
.s:hover, .p:hover { opacity: .7; }
.in { font-size: 10px; text-anchor: middle; pointer-events: none; }
svg .o0, svg .o4, svg .o5, svg .o8 { fill: #111; } svg .o1, svg .o2, svg .o3, svg .o6, svg .o7, svg .o9 { fill: #fff; }
@media (prefers-color-scheme: dark) { svg .in { fill: #0b0e13; } svg .o8 { fill: #fff; } }
.tick { font-size: 11px; fill: var(--faint); }
.off { display: none; }
.zoom button { min-width: 2rem; padding: .15rem .5rem; font: inherit; color: inherit; background: var(--panel);
  border: 1px solid var(--rule); border-radius: 6px; cursor: pointer; }
.zoom output { color: var(--faint); font-size: .85rem; }
.plot { width: 100%; min-width: 36rem; max-width: 60rem; }
.grid { stroke: var(--rule); }
.line { fill: none; stroke-width: 2px; } .dashes { stroke-dasharray: 6 4; }
.area { fill-opacity: .3; }
.p { stroke: var(--ground); stroke-width: .75px; fill-opacity: .85; }
.t0 { fill: var(--t0); } .t1 { fill: var(--t1); } .t2 { fill: var(--t2); } .t3 { fill: var(--t3); } .t4 { fill: var(--t4); }
.t5 { fill: var(--t5); } .t6 { fill: var(--t6); } .t7 { fill: var(--t7); } .t8 { fill: var(--t8); } .t9 { fill: var(--t9); }
.t0.line { fill: none; stroke: var(--t0); } .t1.line { fill: none; stroke: var(--t1); }
.t2.line { fill: none; stroke: var(--t2); } .t3.line { fill: none; stroke: var(--t3); }
.t4.line { fill: none; stroke: var(--t4); } .t5.line { fill: none; stroke: var(--t5); }
.t6.line { fill: none; stroke: var(--t6); } .t7.line { fill: none; stroke: var(--t7); }
.t8.line { fill: none; stroke: var(--t8); } .t9.line { fill: none; stroke: var(--t9); }
@media (max-width: 40rem) { body { padding: .75rem; } .answer { font-size: 1.1rem; } th, td { padding: .25rem .4rem; }
  .timeline { min-width: 40rem; } }
@media print { :root { color-scheme: light; } @page { size: A4 landscape; margin: 12mm; }
  body { max-width: none; padding: 0; font-size: 10pt; background: #fff; color: #000; } .zoom { display: none; }
  .scroll { overflow: visible; } .timeline { width: 100% !important; min-width: 0; } .plot { min-width: 0; max-width: 170mm; }
  table { font-size: 7pt; } th, td { padding: 1px 3px; } th, td.n { white-space: normal; } td.w { min-width: 0; }
  figure, tr, pre { break-inside: avoid; } h2 { break-after: avoid; } }
)css";

const std::string_view html_script = R"js(
"use strict";
function bringToLife(root) {
  for (const figure of root.querySelectorAll("figure")) {
    const drawing = figure.querySelector(".timeline"), buttons = figure.querySelector(".zoom");
    if (!drawing || !buttons) continue;
    const scroll = drawing.parentElement, told = buttons.querySelector("output");
    const labels = [...drawing.querySelectorAll("[data-share]")], fine = [...drawing.querySelectorAll(".fine")];
    let zoom = 1;
    const show = () => {
      if (!drawing.isConnected) return removeEventListener("resize", show);
      const width = drawing.getBoundingClientRect().width;
      for (const label of labels)
        label.classList.toggle("off", label.dataset.share * width < 7 * label.textContent.length + 3);
      for (const tick of fine) tick.classList.toggle("off", width < 2400);
      told.textContent = zoom > 1 ? "× " + zoom : "";
    };
    const zoomTo = (wanted, at) => {
      const before = drawing.getBoundingClientRect().width, place = (scroll.scrollLeft + at) / before;
      zoom = Math.min(256, Math.max(1, wanted));
      drawing.style.width = 100 * zoom + "%";
      scroll.scrollLeft = place * drawing.getBoundingClientRect().width - at;
      show();
    };
    buttons.hidden = false;
    buttons.addEventListener("click", (event) => {
      const factor = event.target.dataset.zoom;
      if (factor !== undefined) zoomTo(zoom * factor, scroll.clientWidth / 2);
    });
    scroll.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoomTo(event.deltaY < 0 ? zoom * 2 : zoom / 2, event.clientX - scroll.getBoundingClientRect().left);
    }, {passive: false});
    addEventListener("resize", show);
    show();
  }
}
bringToLife(document);
)js";

}  // namespace ddl
