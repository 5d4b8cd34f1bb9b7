// A recorded session as a film: everything it needs is in `data`; there is no kernel.
function cscFilm(root, data) {
  const SVG = "http://www.w3.org/2000/svg";
  const make = (name, attrs, ...kids) => {
    const drawing = ["svg", "circle", "line", "title"].includes(name);
    const node = drawing ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attrs || {})) node.setAttribute(key, value);
    node.append(...kids);
    return node;
  };
  const w = data.words;
  const map = make("svg", { class: "csc-map", viewBox: "0 0 460 320", role: "img", "aria-label": w.picture });
  const lines = [];
  const dots = data.points.map(([x, y]) => make("circle", { cx: x, cy: y, r: data.points.length > 300 ? 3 : 5 }));
  map.append(...dots);
  const title = make("h3", {}, data.title);
  const said = make("div", { class: "csc-said", "aria-live": "polite" });
  const cards = make("div", { class: "csc-question" });
  const note = make("div", { class: "csc-note" });
  const facts = make("div", { class: "csc-facts" });
  const play = make("button", { type: "button", class: "csc-main" }, "▶");
  const back = make("button", { type: "button", "aria-label": "previous" }, "‹");
  const next = make("button", { type: "button", "aria-label": "next" }, "›");
  const slider = make("input", { type: "range", min: 0, max: data.frames.length - 1, value: 0, "aria-label": w.film });
  const place = make("span", { class: "csc-note" });
  root.append(
    title,
    make("div", { class: "csc-play" }, play, back, slider, next, place),
    make("div", { class: "csc-two" }, make("div", {}, said, cards), make("div", {}, map, facts, note)),
  );
  let at = 0;
  let timer = null;

  function link(i, j, answer) {
    const kind = { same: "csc-joins", different: "csc-parts" }[answer] || "csc-open";
    const [a, b] = [data.points[i], data.points[j]];
    const attrs = { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: kind };
    if (answer === "different") attrs["stroke-dasharray"] = "4 3";
    return make("line", attrs);
  }

  function draw(k) {
    at = Math.max(0, Math.min(data.frames.length - 1, k));
    const f = data.frames[at];
    dots.forEach((dot, i) => {
      dot.style.setProperty("--cluster", data.colours[f.labels[i] % data.colours.length]);
      dot.classList.toggle("csc-asked", f.rows.includes(i));
    });
    lines.splice(0).forEach((l) => l.remove());
    for (const [i, j, answer] of f.links) lines.push(link(i, j, answer));
    map.prepend(...lines);
    said.textContent = f.said;
    cards.innerHTML = f.cards; // made and escaped by Python
    note.textContent = f.advice;
    facts.replaceChildren(...f.facts.map(([n, name]) => make("span", {}, make("b", {}, `${n}`), ` ${name}`)));
    slider.value = at;
    place.textContent = `${at} / ${data.frames.length - 1}`;
    root.dataset.frame = at;
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "▶";
    play.setAttribute("aria-label", w.play);
  }

  function start() {
    if (at === data.frames.length - 1) draw(0);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", w.pause);
    timer = setInterval(() => {
      draw(at + 1);
      if (at === data.frames.length - 1) stop();
    }, data.pace);
  }

  play.addEventListener("click", () => (timer ? stop() : start()));
  back.addEventListener("click", () => { stop(); draw(at - 1); });
  next.addEventListener("click", () => { stop(); draw(at + 1); });
  slider.addEventListener("input", () => { stop(); draw(Number(slider.value)); });
  stop();
  draw(0);
}
