// A click on a frame makes it, and all above it, as wide as the picture. Those beside it are hidden.
"use strict";
const charWidth = 6.6, margin = 10;
const frames = [...document.querySelectorAll(".frame")].map((g) => {
  const [title, rect, text] = g.children, of = (name) => Number(rect.getAttribute(name));
  return { g, rect, text, name: title.textContent.split(" · ")[0], x: of("x"), width: of("width"), y: of("y") };
});
const full = frames[0]?.width;
for (const zoomed of frames) {
  zoomed.g.style.cursor = "pointer";
  zoomed.g.addEventListener("click", () => {
    const scale = full / zoomed.width, end = zoomed.x + zoomed.width;
    for (const f of frames) {
      const outer = f.y < zoomed.y && f.x <= zoomed.x + 0.1 && f.x + f.width >= end - 0.6;
      const inner = f.y >= zoomed.y && f.x >= zoomed.x - 0.1 && f.x + f.width <= end + 0.6;
      f.g.style.display = outer || inner ? "" : "none";
      f.g.style.opacity = outer ? 0.6 : 1;
      const x = outer ? margin : margin + (f.x - zoomed.x) * scale, width = outer ? full : f.width * scale;
      const fits = Math.floor((width - 6) / charWidth);
      f.rect.setAttribute("x", x);
      f.rect.setAttribute("width", width);
      f.text.setAttribute("x", x + 3);
      f.text.textContent = fits < 3 ? "" : f.name.length > fits ? f.name.slice(0, fits - 1) + "…" : f.name;
    }
  });
}
