// The labelling screen: draws what Python says, sends what a hand does. It keeps no answers.
const views = (window.cscAskViews = window.cscAskViews || []);

function tag(name, attrs, ...kids) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "html") node.innerHTML = value; // made and escaped by Python
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...kids.flat().filter((k) => k !== null && k !== undefined && k !== false));
  return node;
}

const typing = (node) =>
  node && node.closest && node.closest("input:not([type=checkbox]):not([type=radio]),textarea,select,[contenteditable=true]");

function visible(node) {
  if (!node.isConnected || !node.offsetParent) return false;
  const box = node.getBoundingClientRect();
  return box.bottom > 0 && box.top < window.innerHeight && box.width > 0;
}

// The view that keys belong to: the one with the focus, else the last one used, if it can be seen.
function owner() {
  const inside = views.find((v) => v.root.contains(document.activeElement));
  if (inside) return inside;
  if (document.querySelector(".jp-Dialog, dialog[open]")) return null;
  const seen = views.filter((v) => visible(v.root));
  return seen.sort((a, b) => b.used - a.used)[0] || null;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const view = owner();
  if (!view) return;
  const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const action = pressed === "?" ? "help" : (view.screen().keys || {})[pressed];
  if (!action) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.repeat) return;
  if (action === "help") view.help();
  else view.go(action);
}

function render({ model, el }) {
  const root = tag("div", { class: "csc-ask", tabindex: 0, role: "group" });
  const parts = {};
  for (const name of ["head", "jump", "form", "question", "answers", "more", "message", "tables", "conflict", "panel", "results", "help"]) {
    parts[name] = tag("div", { class: `csc-${name}` });
    root.append(parts[name]);
  }
  parts.answers.classList.add("csc-row");
  parts.more.classList.add("csc-row");
  parts.message.setAttribute("role", "status");
  parts.message.setAttribute("aria-live", "polite");
  el.append(root);

  let since = 0;
  let sent = null; // the turn for which a message is on its way
  const screen = () => model.get("screen") || {};
  const panel = () => model.get("panel") || {};
  const word = (key) => (screen().words || {})[key] || key;

  function go(action, more) {
    const turn = screen().turn;
    if (performance.now() - since < (screen().pause || 0) * 1000 || sent === turn) return;
    sent = turn;
    view.used = Date.now();
    model.send({ action, turn, seconds: (performance.now() - since) / 1000, ...(more || {}) });
  }
  const view = { root, screen, go, used: Date.now(), help: () => drawHelp(!parts.help.hasChildNodes()) };

  function button(b, css) {
    const press = (event) => {
      if (event.detail > 1) return;
      go(b.action, b.more);
      root.focus({ preventScroll: true });
    };
    const key = b.key ? tag("span", { class: "csc-key", "aria-hidden": "true" }, b.key.toUpperCase()) : null;
    const classes = `${css} csc-do-${b.action} ${b.css || ""}`;
    return tag("button", { type: "button", class: classes, title: b.tip, onclick: press }, b.label, key);
  }

  function drawHead(s) {
    const bar = tag("div", { class: "csc-bar", role: "progressbar", "aria-valuenow": s.n, "aria-valuemax": s.goal });
    bar.append(tag("i", { style: `width:${Math.min(100, (100 * s.n) / (s.goal || 1))}%` }));
    parts.head.replaceChildren(
      tag("h3", {}, tag("bdi", { dir: "auto" }, s.title || "")),
      ...(s.goal ? [bar] : []),
      tag("div", { class: "csc-note", html: s.note || "" }),
    );
  }

  function draw() {
    const s = screen();
    root.dir = s.dir || "ltr";
    root.lang = s.lang || "en";
    root.setAttribute("aria-label", word("questions"));
    drawHead(s);
    drawForm(s.form);
    parts.question.innerHTML = s.cards || "";
    parts.answers.replaceChildren(...(s.answers || []).map((b) => button(b, "csc-answer")));
    parts.more.replaceChildren(...(s.more || []).map((b) => button(b, "csc-small")));
    if ((s.answers || []).length) parts.more.append(tag("button", { type: "button", class: "csc-icon", title: word("help"), onclick: view.help }, "?"));
    parts.results.replaceChildren();
    if (s.results) drawResults(s.results);
    drawTables(s.tables || [], s.cases);
    requestAnimationFrame(() => {
      since = performance.now();
      root.dataset.turn = s.turn || "";
    });
  }

  function drawForm(form) {
    parts.form.replaceChildren();
    if (!form) return;
    const box = tag("div", { class: "csc-form" });
    const read = {};
    if (form.columns) {
      const head = form.columns.head.map((t) => tag("th", { scope: "col" }, t));
      const rows = form.columns.rows.map((c) => {
        const choose = tag("select", { "aria-label": `${word("role")}: ${c.name}` });
        for (const [value, label] of form.columns.roles) choose.append(tag("option", { value, selected: value === c.role }, label));
        choose.value = c.role;
        read[`role:${c.name}`] = () => choose.value;
        return tag("tr", {}, tag("td", {}, tag("bdi", {}, c.name)), tag("td", {}, c.kind), tag("td", { class: "csc-example" }, tag("bdi", {}, c.example)), tag("td", {}, choose));
      });
      box.append(tag("div", { class: "csc-scroll" }, tag("table", { class: "csc-columns" }, tag("thead", {}, tag("tr", {}, head)), tag("tbody", {}, rows))));
    }
    for (const f of form.fields || []) {
      const id = `csc-${Math.random().toString(36).slice(2)}`;
      if (f.choices) {
        const name = id;
        box.append(tag("label", {}, f.label));
        const options = f.choices.map(([value, label]) => {
          const input = tag("input", { type: "radio", name, value, checked: value === f.value });
          return [input, tag("label", { class: "csc-choice" }, input, label)];
        });
        box.append(tag("div", { role: "radiogroup", "aria-label": f.label }, options.map((o) => o[1])));
        read[f.name] = () => (options.map((o) => o[0]).find((i) => i.checked) || {}).value || null;
      } else {
        const attrs = { id, type: f.type, placeholder: f.placeholder, min: f.min, max: f.max };
        const input = f.type === "textarea" ? tag("textarea", { id, placeholder: f.placeholder, rows: 3 }) : tag("input", attrs);
        input.value = f.value ?? "";
        box.append(tag("label", { for: id }, f.label), input);
        if (f.hint) box.append(tag("div", { class: "csc-note" }, f.hint));
        if ((f.suggest || []).length) {
          const put = (text) => { input.value = text; };
          const chips = f.suggest.map((text) => tag("button", { type: "button", class: "csc-chip", onclick: () => put(text) }, text));
          box.append(tag("div", { class: "csc-note" }, word("or one of these")), tag("div", { class: "csc-row csc-chips" }, chips));
        }
        read[f.name] = () => input.value;
      }
    }
    const press = () => go(form.action, { form: Object.fromEntries(Object.entries(read).map(([k, f]) => [k, f()])) });
    box.append(tag("div", { class: "csc-row" }, tag("button", { type: "button", class: `csc-main csc-do-${form.action}`, onclick: press }, form.label)));
    parts.form.append(box);
  }

  function drawPanel() {
    const p = panel();
    drawConflict(p.conflict);
    parts.panel.replaceChildren();
    if (p.advice) parts.panel.append(tag("div", { class: p.advice.stop ? "csc-good" : "csc-note" }, p.advice.text));
    if (p.facts) {
      const facts = p.facts.map(([value, name, tip]) => tag("span", { title: tip || null }, tag("b", {}, `${value}`), ` ${name}`));
      parts.panel.append(tag("div", { class: "csc-facts" }, facts));
      if (p.tip) parts.panel.append(tag("div", { class: "csc-note" }, p.tip));
    }
    if (p.picture) parts.panel.append(tag("div", { class: "csc-look" }, tag("img", { src: p.picture, alt: p.alt }), tag("div", { html: p.groups })));
    if (p.old && p.old.length) parts.panel.append(drawOld(p.old));
  }

  function drawOld(old) {
    const open = parts.panel.dataset.open === "yes";
    const list = old.map((a) => {
      const change = a.options.map((o) =>
        tag("button", { type: "button", class: "csc-change", onclick: () => go("change", { k: a.k, value: o.value }) }, o.label));
      return tag("li", {}, tag("span", {}, tag("bdi", {}, a.text)), change);
    });
    const toggle = (event) => { parts.panel.dataset.open = event.target.open ? "yes" : "no"; };
    return tag("details", { open, ontoggle: toggle }, tag("summary", {}, word("old")), tag("ul", { class: "csc-old" }, list));
  }

  function drawConflict(c) {
    parts.conflict.replaceChildren();
    parts.jump.replaceChildren();
    if (!c) return;
    const show = () => parts.conflict.scrollIntoView({ behavior: "smooth", block: "start" });
    parts.jump.append(tag("button", { type: "button", class: "csc-do-jump", style: "border-color:#e69f00", onclick: show }, `⚠ ${c.title} ↓`));
    const box = tag("div", { class: "csc-alert", role: "alert" }, tag("b", {}, c.title), tag("p", { class: "csc-note" }, c.text));
    c.suspects.forEach((s, place) => {
      const fix = tag("button", { type: "button", class: "csc-fix", onclick: () => go("change", { k: s.k, value: s.value }) }, s.fix);
      box.append(tag("div", { class: `csc-suspect ${place ? "" : "csc-first"}` }, tag("p", {}, s.text), tag("div", { html: s.cards }), tag("div", { class: "csc-row" }, fix)));
    });
    box.append(tag("div", { class: "csc-row" }, tag("button", { type: "button", class: "csc-keep", onclick: () => go("keep") }, c.keep)));
    parts.conflict.append(box);
  }

  function drawResults(r) {
    const chosen = () => [...parts.results.querySelectorAll("li input:checked")].map((i) => Number(i.value));
    const clusters = () => [...parts.results.querySelectorAll(".csc-pick:checked")].map((i) => Number(i.value));
    parts.results.append(tag("div", { class: "csc-note" }, word("results hint")));
    for (const c of r.clusters) {
      const name = tag("input", { type: "text", placeholder: word("name"), "aria-label": `${word("name")} ${c.number}`, maxlength: 80 });
      name.value = c.name;
      name.addEventListener("change", () => go("name", { cluster: c.cluster, name: name.value }));
      const pick = tag("input", { type: "checkbox", class: "csc-pick", value: c.cluster, "aria-label": `${word("choose")} ${c.number}` });
      const rows = c.rows.map((m) => tag("li", {}, tag("label", {}, tag("input", { type: "checkbox", value: m.row }), tag("bdi", {}, m.id), m.mark ? ` ${m.mark}` : "")));
      const head = tag("div", { class: "csc-row" }, pick, tag("span", { class: "csc-dot", style: `background:${c.colour}` }), tag("b", {}, `${c.number}`), ` ${c.size}`, name);
      const body = [
        tag("div", { class: "csc-note" }, word("typical")), tag("div", { html: c.typical }),
        ...(c.doubtful ? [tag("div", { class: "csc-note" }, word("doubtful")), tag("div", { html: c.doubtful })] : []),
        tag("details", {}, tag("summary", {}, word("all rows")), tag("ul", {}, rows)),
      ];
      parts.results.append(tag("div", { class: "csc-cluster" }, head, ...body));
    }
    const act = (action, label, more) => tag("button", { type: "button", class: `csc-do-${action}`, onclick: () => go(action, more()) }, label);
    const merge = act("merge", word("merge"), () => ({ clusters: clusters() }));
    const split = act("split", word("split"), () => ({ rows: chosen() }));
    const offer = () => {
      merge.disabled = clusters().length < 2;
      split.disabled = !chosen().length;
    };
    parts.results.append(tag("div", { class: "csc-row csc-bottom" }, merge, split, r.edits ? act("undo-edit", word("undo edit"), () => ({})) : null));
    parts.results.onchange = offer;
    offer();
  }

  function drawCell(value, label) {
    if (value !== null && typeof value === "object") {
      const select = (event) => event.target.select();
      const field = tag("input", { type: "text", readonly: true, "aria-label": word("links"), onfocus: select });
      field.value = value.link;
      return tag("td", { class: "csc-link" }, field);
    }
    return tag("td", { "data-label": label }, tag("bdi", {}, `${value}`));
  }

  function drawTables(tables, cases) {
    const sections = tables.map((t) => {
      const head = tag("tr", {}, t.head.map((h) => tag("th", { scope: "col" }, h)));
      const rows = t.rows.map((r) => tag("tr", {}, r.map((v, k) => drawCell(v, t.head[k]))));
      const grid = tag("table", { class: "csc-columns csc-numbers" }, tag("thead", {}, head), tag("tbody", {}, rows));
      const note = t.note ? tag("div", { class: "csc-note" }, t.note) : null;
      return tag("section", {}, tag("h4", {}, t.title), tag("div", { class: "csc-scroll" }, grid), note);
    });
    if (cases) {
      const boxes = cases.cases.map((c) =>
        tag("div", { class: "csc-suspect" }, tag("p", {}, tag("bdi", {}, c.text)), tag("div", { html: c.cards })));
      sections.push(tag("section", {}, tag("h4", {}, cases.title), ...boxes, tag("div", { class: "csc-note" }, cases.more)));
    }
    parts.tables.replaceChildren(...sections);
  }

  function drawHelp(open) {
    parts.help.replaceChildren();
    if (!open) return;
    const list = tag("dl", {});
    for (const b of [...(screen().answers || []), ...(screen().more || [])]) {
      if (b.key) list.append(tag("dt", {}, tag("span", { class: "csc-key", style: "display:inline-block" }, b.key.toUpperCase())), tag("dd", {}, b.label));
    }
    parts.help.append(tag("div", {}, tag("b", {}, word("help")), list, tag("div", { class: "csc-note" }, word("help text"))));
  }

  const drawMessage = () => { parts.message.innerHTML = model.get("message") || ""; };
  const lab = () => !!el.closest(".jp-NotebookPanel");
  function theme() {
    const themed = document.body.dataset.jpThemeLight;
    const dark = lab() ? themed === "false" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.classList.toggle("csc-lab", lab());
    root.classList.toggle("csc-dark", dark);
    if (!lab() && !document.querySelector(".csc-plain")) {
      document.body.classList.add("csc-page");
      document.body.classList.toggle("csc-page-dark", dark);
      const colour = dark ? "#15171b" : "#ffffff";
      for (let node = el; node; node = node.parentElement) node.style.setProperty("background", colour, "important");
      document.body.style.minHeight = "100vh";
    }
  }

  let tries = 0;
  function attach() {
    if (!root.isConnected) {
      if (tries++ < 200) setTimeout(attach, 50);
      return;
    }
    theme();
    views.push(view);
    if (!window.cscAskKeys) {
      window.cscAskKeys = true;
      window.addEventListener("keydown", onKey, true); // before Lab's own shortcuts
    }
    const at = document.activeElement;
    const empty = at && at.classList.contains("cm-content") && !at.textContent.trim();
    if (empty || !typing(at)) root.focus({ preventScroll: true });
    root.addEventListener("click", () => { view.used = Date.now(); });
    root.addEventListener("dblclick", (e) => e.preventDefault());
    root.dataset.keys = "on";
  }

  model.on("change:screen", draw);
  model.on("change:panel", drawPanel);
  model.on("change:message", drawMessage);
  model.on("change:heard", () => { sent = null; });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
  draw();
  drawPanel();
  drawMessage();
  attach();
  return () => {
    const place = views.indexOf(view);
    if (place >= 0) views.splice(place, 1);
  };
}
export default { render };
