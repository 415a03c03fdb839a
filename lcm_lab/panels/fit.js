// A plotly figure draws itself before it stands in the page, 700 pixels wide, and later listens to the window alone.
// This looks at the figures of the box around it whenever one is drawn or the box gets another width (it is shown, its
// tab is, a column moves), and tells the window where one does not fit.
export default {
  render({ el }) {
    el.style.display = "none";
    let waiting = 0;
    let told = "";
    let box = null;
    const look = () => {
      for (const plot of box.querySelectorAll(".js-plotly-plot")) {
        const drawn = plot.querySelector(".main-svg");
        if (!drawn || !plot.clientWidth) continue;
        const now = `${plot.clientWidth} ${drawn.clientWidth}`;
        // Told once for each pair of widths: a figure that will not fit must not keep the page busy.
        if (Math.abs(plot.clientWidth - drawn.clientWidth) > 1 && now !== told) {
          told = now;
          window.dispatchEvent(new Event("resize"));
        }
      }
    };
    const later = () => {
      clearTimeout(waiting);
      waiting = setTimeout(look, 80);
    };
    const sizes = new ResizeObserver(later);
    const drawings = new MutationObserver(later);
    // The element is put into the page after this; then the box is the nearest one of the panel's.
    const find = () => {
      box = el.closest(".lcm-live");
      if (!box) {
        waiting = setTimeout(find, 100);
        return;
      }
      sizes.observe(box);
      drawings.observe(box, { childList: true, subtree: true });
      later();
    };
    find();
    return () => {
      clearTimeout(waiting);
      sizes.disconnect();
      drawings.disconnect();
    };
  },
};
