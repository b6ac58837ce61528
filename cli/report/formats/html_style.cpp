#include "cli/report/formats/html.hpp"

namespace ddl {

// Colors that color-blind readers can distinguish [Okabe and Ito, Color Universal Design, 2008].
// The colors for dark backgrounds are paler and brighter. Waiting (t9) and the bubble (t8) differ in brightness. The test
// pages_in_browser checks the contrasts [WCAG 2.2, 1.4.3 and 1.4.11].
const std::string_view html_style = R"css(
:root { color-scheme: light dark; --ground: #fff; --panel: #f5f7f9; --ink: #1b1f24; --faint: #57606a; --rule: #d0d7de;
  --track: #e1e6eb; --good: #1a7f37; --risk: #8a5a00; --bad: #b3261e; --link: #0550ae; --tie: #cfe3f7;
  --t0: #7cc4ee; --t1: #0072b2; --t2: #009e73; --t3: #d55e00; --t4: #e69f00; --t5: #f0e442; --t6: #cc79a7; --t7: #8c6d31;
  --t8: #c3cad1; --t9: #3d444d; --t10: #f6c9ae; }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --panel: #161b22; --ink: #e6edf3; --faint: #9aa5b1;
  --rule: #30363d; --track: #2a313a; --good: #56d364; --risk: #e3b341; --bad: #ff7b72; --link: #79c0ff; --tie: #1d3a5c;
  --t0: #8fd0f5; --t1: #3d9bd6; --t2: #2bb68c; --t3: #ec7a2c; --t4: #f0b429; --t5: #f0e442; --t6: #dc93bd; --t7: #b08d4c;
  --t8: #4d5660; --t9: #d7dde4; --t10: #6e3a17; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 84rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif; overflow-wrap: break-word; }
h1 { margin: 0; font-size: 1rem; font-weight: 600; color: var(--faint); }
h2 { display: inline; margin: 0; font-size: 1.15rem; line-height: 1.3; }
h2 small { font-size: .95rem; font-weight: 400; color: var(--faint); }
p { margin: .35rem 0; }
ul { margin: .35rem 0; padding-left: 1.2rem; }
a { color: var(--link); }
.answer { margin: .75rem 0; font-size: 1.2rem; line-height: 1.35; }
.note { color: var(--faint); font-size: .9rem; }
.verdict { font-weight: 700; white-space: nowrap; }
.fits { color: var(--good); } .risk { color: var(--risk); } .bad { color: var(--bad); }
:is(.scroll, button, a, summary, input, .contents):focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }

.report { min-width: 0; }
.contents { position: sticky; top: var(--top, 0px); z-index: 1; margin: 0 -1rem; padding: .35rem 1rem; overflow-x: auto;
  background: var(--ground); border-bottom: 1px solid var(--rule); font-size: .875rem; }
.contents ul { display: flex; gap: .2rem .9rem; margin: 0; padding: 0; list-style: none; white-space: nowrap; }
.contents a { display: block; padding: .15rem 0; color: var(--faint); text-decoration: none; }
.contents a:hover, .contents a[aria-current] { color: var(--link); }
.contents a[aria-current] { font-weight: 600; }
section, .report { scroll-margin-top: calc(var(--top, 0px) + 2.6rem); }
@media (min-width: 64rem) {
  main:has(> .contents) { display: grid; grid-template-columns: 11rem minmax(0, 1fr); column-gap: 2rem; align-items: start; }
  main > .notes { grid-column: 1 / -1; }
  .contents { top: calc(var(--top, 0px) + .75rem); margin: .75rem 0 0; padding: 0; max-height: calc(100vh - 5rem); border: 0; }
  .contents ul { display: block; white-space: normal; }
  .contents a { padding: .2rem .6rem; border-left: 2px solid var(--rule); }
  .contents a[aria-current] { border-color: var(--link); }
  section, .report { scroll-margin-top: calc(var(--top, 0px) + .5rem); } }
summary { margin-top: .9rem; padding: .5rem 0; border-top: 1px solid var(--rule); cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "▸" / ""; display: inline-block; width: 1.1rem; color: var(--faint); }
details[open] > summary::before { content: "▾" / ""; }

.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); gap: .75rem; margin: .75rem 0 1rem;
  padding: 0; list-style: none; }
.card { min-width: 0; padding: .75rem 1rem; background: var(--panel); border: 1px solid var(--rule); border-radius: 10px; }
.card p { margin: 0; }
.card .card-label { color: var(--faint); font-size: .8rem; font-weight: 600; }
.card .card-figure { margin: .1rem 0 .3rem; font-size: 1.5rem; line-height: 1.25; }
.card-figure b { font-weight: 650; }
.card-figure small { color: var(--faint); font-size: .9rem; }
.badge { display: inline-block; padding: .1rem .55rem; font-size: .8rem; font-weight: 700; vertical-align: .25em;
  border: 1.5px solid currentColor; border-radius: 1rem; white-space: nowrap; }
.card .card-detail { margin-top: .15rem; font-size: .875rem; }
.gauge { margin: .4rem 0; overflow: visible; }
.gauge .scale { fill: var(--track); } .gauge .used { fill: var(--t1); } .gauge .range { fill: var(--t0); }
.gauge .dot { fill: var(--t1); }
.gauge.risk .used { fill: var(--risk); } .gauge.risk .range { fill: var(--t4); } .gauge.bad .used { fill: var(--bad); }

.whiskers { margin: .25rem 0 0; padding: 0; list-style: none; }
.whisker { display: grid; grid-template-columns: 14.5rem minmax(0, 1fr) 5.5rem; column-gap: .75rem; align-items: center; }
.whisker svg { overflow: visible; }
.whisker .name, .whisker .value { font-size: .875rem; }
.whisker .value { font-variant-numeric: tabular-nums; }
.whisker.chosen :is(.name, .value) { font-weight: 700; }
.whisker.faint :is(.name, .value) { color: var(--faint); }
.whisker .range { stroke: var(--t1); stroke-width: 1.5px; }
.whisker .dot { fill: var(--t1); }
.whisker.chosen .range { stroke-width: 2.5px; }
.whisker.chosen :is(.dot, .range), .chosen-key { fill: var(--t3); stroke: var(--t3); }
.whisker.faint .range { stroke: var(--t9); stroke-dasharray: 3 3; } .whisker.faint .dot { fill: var(--t9); }
.tie { fill: var(--tie); } .range-key { fill: var(--t1); }

.scroll { overflow-x: auto; margin: .5rem 0; }
table { min-width: min(100%, 44rem); border-collapse: collapse; font-size: .875rem; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { background: var(--panel); white-space: nowrap; font-weight: 600; }
td.f, th.f { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.n { white-space: nowrap; }
td.w { min-width: 16rem; max-width: 40rem; }
input.toggle { margin: .25rem .3rem 0 0; vertical-align: -2px; } label.toggle { font-size: .875rem; color: var(--faint); }
.toggle.phone, .more { display: none; }
.toggle:checked + label + .scroll :is(.more, .wide) { display: table-cell; }
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
.lane-names .narrow { height: 12px; line-height: 9px; color: var(--faint); font-size: .68rem; }
.lanes .scroll { flex: 1; min-width: 0; margin: 0; }
.timeline { min-width: 100%; overflow: hidden; }
.lane { fill: var(--panel); }
.s { stroke: var(--ground); stroke-width: .5px; vector-effect: non-scaling-stroke; }
.s:hover, .p:hover { opacity: .7; }
.in { font-size: 10px; text-anchor: middle; pointer-events: none; }
svg .o0, svg .o2, svg .o3, svg .o4, svg .o5, svg .o6, svg .o8 { fill: #111; } svg .o1, svg .o7, svg .o9 { fill: #fff; }
@media (prefers-color-scheme: dark) { svg .in { fill: #0b0e13; } svg .o8 { fill: #fff; } }
.tick { font-size: 11px; fill: var(--faint); }
.off { display: none; }
.zoom button { min-width: 2rem; padding: .15rem .5rem; font: inherit; color: inherit; background: var(--panel);
  border: 1px solid var(--rule); border-radius: 6px; cursor: pointer; }
.zoom output { color: var(--faint); font-size: .85rem; }
.plot { display: flex; padding-right: .75rem; }
.plot > svg { flex: none; } .plot > .plane { flex: 1; min-width: 0; overflow: visible; }
.axis { margin: 0; color: var(--faint); font-size: .8rem; } .below-plot { text-align: center; }
.grid { stroke: var(--rule); }
.line { fill: none; stroke-width: 2px; vector-effect: non-scaling-stroke; } .dashes { stroke-dasharray: 6 4; }
.line.range { stroke-width: 1.5px; stroke-opacity: .7; }
.area { fill-opacity: .3; }
.forbidden { fill: var(--t3); fill-opacity: .18; stroke: var(--t3); stroke-opacity: .5; }
@media (prefers-color-scheme: dark) { .forbidden { fill-opacity: .3; } }
.p { stroke: var(--ground); stroke-width: .75px; fill-opacity: .85; } .p.chosen { stroke: var(--ink); stroke-width: 2px; }
.label { font-size: 11.5px; paint-order: stroke; stroke: var(--ground); stroke-width: 3px; } .label.strong { font-weight: 700; }
.t0 { fill: var(--t0); } .t1 { fill: var(--t1); } .t2 { fill: var(--t2); } .t3 { fill: var(--t3); } .t4 { fill: var(--t4); }
.t5 { fill: var(--t5); } .t6 { fill: var(--t6); } .t7 { fill: var(--t7); } .t8 { fill: var(--t8); } .t9 { fill: var(--t9); }
.t10 { fill: var(--t10); stroke: var(--t3); stroke-width: 1px; vector-effect: non-scaling-stroke; }
.t0.line { fill: none; stroke: var(--t0); } .t1.line { fill: none; stroke: var(--t1); }
.t2.line { fill: none; stroke: var(--t2); } .t3.line { fill: none; stroke: var(--t3); }
.t4.line { fill: none; stroke: var(--t4); } .t5.line { fill: none; stroke: var(--t5); }
.t6.line { fill: none; stroke: var(--t6); } .t7.line { fill: none; stroke: var(--t7); }
.t8.line { fill: none; stroke: var(--t8); } .t9.line { fill: none; stroke: var(--t9); }
@media (max-width: 60rem) { th, th.f, td.n, td.l { white-space: normal; }
  td.n, td.w { min-width: 0; overflow-wrap: break-word; } th, td { padding: .3rem .4rem; } }
@media (max-width: 40rem) { body { padding: .75rem; } .answer { font-size: 1.1rem; } th, td { padding: .25rem .2rem; }
  .contents { margin: 0 -.75rem; padding: .35rem .75rem; } .wide { display: none; } .toggle.phone { display: inline; }
  table { font-size: .75rem; min-width: 100%; } td .verdict { white-space: normal; }
  .contents { scrollbar-width: none; } .card .card-figure { font-size: 1.35rem; }
  .whisker { grid-template: "name value" auto "track track" auto / 1fr auto; margin-bottom: .2rem; }
  .whisker .name { grid-area: name; } .whisker .value { grid-area: value; } .whisker svg { grid-area: track; } }
@media print { :root { color-scheme: light; } @page { size: A4; margin: 11mm; }
  body { max-width: none; padding: 0; font-size: 8pt; line-height: 1.3; background: #fff; color: #000; }
  .zoom, .contents, .toggle, details:not([open], .long) { display: none; } main { display: block !important; }
  .long::details-content { content-visibility: visible; } h2 { font-size: 10pt; } h2 small { font-size: 8pt; }
  .cards { grid-template-columns: repeat(3, 1fr); gap: .4rem; margin: .3rem 0; } .card { padding: .35rem .6rem; }
  .card .card-figure { font-size: 1.1rem; } .card .card-detail { margin: 0; font-size: 7pt; } .gauge { margin: .1rem 0; }
  ul { margin: .1rem 0; } .note { font-size: 7pt; }
  .answer { font-size: 11pt; margin: .2rem 0; } p { margin: .15rem 0; }
  summary { margin-top: .35rem; padding: .2rem 0; } figure { margin: .2rem 0; zoom: .58; }
  .legend { margin: .2rem 0; font-size: 7pt; } figure .legend { font-size: 9pt; } .swatch { height: .7em; width: .7em; }
  .bar { height: 9px; } .bar-label { margin: .05rem 0 0; line-height: 1.2; }
  pre { padding: .3rem .5rem; margin: .3rem 0; font-size: 7pt; }
  .scroll { overflow: visible; margin: .2rem 0; } .timeline { width: 100% !important; min-width: 0; }
  .whisker { grid-template-columns: 21rem minmax(0, 1fr) 6rem; }
  table { font-size: 7pt; line-height: 1.2; } th, td { padding: 0 3px; } th, td.n { white-space: normal; } td.w { min-width: 0; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  figure, tr, pre, .card { break-inside: avoid; } summary { break-after: avoid; } }
)css";

}  // namespace ddl
