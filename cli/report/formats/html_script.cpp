#include "cli/report/formats/html.hpp"

namespace ddl {

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
  const links = new Map([...root.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const [id, link] of links) {
        if (id === entry.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  }, {rootMargin: "-15% 0px -75% 0px"});
  for (const section of root.querySelectorAll("section[id]")) seen.observe(section);
}
// A link to a folded section opens the section.
document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest('.contents a');
  const folded = link && document.querySelector(link.hash + " > details");
  if (folded) folded.open = true;
});
// Browsers without ::details-content only print what is open.
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll(".long:not([open])")) each.open = each.dataset.printed = true;
});
addEventListener("afterprint", () => {
  for (const each of document.querySelectorAll(".long[data-printed]")) {
    each.open = false;
    delete each.dataset.printed;
  }
});
bringToLife(document);
)js";

}  // namespace ddl
