#include "cli/commands/serve/page.hpp"

namespace ddl {

const std::string_view page_style = R"css(
.served header { display: flex; align-items: baseline; }
#question { position: sticky; top: 0; z-index: 2; margin: .5rem -1rem 0; padding: .6rem 1rem .7rem; background: var(--ground);
  border-bottom: 1px solid var(--rule); }
#comparison .control { max-width: 50rem; margin: .6rem 0; }
.rare summary { margin: .4rem 0 0; padding: 0; border: 0; font-size: .85rem; color: var(--faint); }
.rare .controls { margin-top: .4rem; }
.proposal { display: inline-block; margin: .15rem .3rem .15rem 0; padding: .1rem .6rem; border: 1px solid var(--edge);
  border-radius: 1rem; text-decoration: none; }
.halves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); gap: 0 1.5rem; }
.half { min-width: 0; padding-top: .5rem; border-top: 1px solid var(--rule); }
.half-name { color: var(--faint); }
.compared th[scope=row] { text-align: left; }
.half .whisker { grid-template-columns: 9rem minmax(0, 1fr) 4.5rem; }
.controls { display: grid; grid-template-columns: repeat(auto-fit, minmax(5.75rem, 1fr)); gap: .5rem .6rem; align-items: end; }
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
.saves { display: flex; flex-wrap: wrap; gap: 0 .4rem; margin: .35rem 0; font-size: .9rem; color: var(--faint); }
.saves a { color: var(--link); }
.old { margin: 0 0 .5rem; padding: .5rem .75rem; background: var(--tie); border-radius: 6px; }
.old { grid-column: 1 / -1; }
#answer[aria-busy] > :not(.old) { opacity: .35; }
.old progress { width: 10rem; vertical-align: middle; }
.notes { padding: .5rem .75rem .5rem 1.75rem; background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; }
@media (max-width: 40rem) { #question { position: static; margin: .5rem -.75rem 0; padding: .5rem .75rem .6rem; }
  .controls { grid-template-columns: 1fr 1fr; } }
@media print { #question, .below, .old { display: none; } }
)css";

}  // namespace ddl
