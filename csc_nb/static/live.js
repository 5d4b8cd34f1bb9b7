// Explorables that compute in the page: our own kernels as WebAssembly, one canvas, no framework, nothing fetched.
(() => {
  if (window.cscLive) return;
  const PALETTE = ["#0072B2", "#E69F00", "#882255", "#56B4E9", "#6F4E1F", "#DDCC77", "#332288", "#CC79A7"];
  const SAME = "#1b8a3a", DIFFERENT = "#c4302b";
  const LIGHT = {"#0072B2": "#4da3e0", "#882255": "#d873a6", "#332288": "#9a8cf0", "#6F4E1F": "#bf9250", [SAME]: "#3fbf63", [DIFFERENT]: "#ff6b62", "#fff": "#111"};  // on dark pages
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  // ---------------------------------------------------------------- kernels
  // Arrays are copied in, the kernel runs, arrays are copied out. Memory starts anew at every call.
  class Kernels {
    constructor(bytes, entries) {
      const take = (size, align) => this.take(Number(size), align);
      const env = {
        NRT_MemInfo_alloc_aligned: (size, align) => {
          const head = this.take(48, 16), data = take(size, align);
          const view = new DataView(this.memory.buffer);
          view.setBigInt64(head, 1n, true);
          for (const at of [16, 24]) view.setUint32(head + at, data, true);
          return head;
        },
        NRT_MemInfo_alloc: size => env.NRT_MemInfo_alloc_aligned(size, 16),
        NRT_MemInfo_new_varsize_dtor: size => {  // a list
          const head = env.NRT_MemInfo_alloc_aligned(size, 16);
          new DataView(this.memory.buffer).setBigInt64(head + 32, BigInt(size), true);
          return head;
        },
        NRT_MemInfo_varsize_realloc: (head, size) => {
          const data = take(size, 16), view = new DataView(this.memory.buffer), bytes = new Uint8Array(this.memory.buffer);
          const old = view.getUint32(head + 24, true), had = Number(view.getBigInt64(head + 32, true));
          bytes.copyWithin(data, old, old + Math.min(had, Number(size)));
          for (const at of [16, 24]) view.setUint32(head + at, data, true);
          view.setBigInt64(head + 32, BigInt(size), true);
          return data;
        },
        NRT_MemInfo_call_dtor: () => {},
        numba_attempt_nocopy_reshape: (nd, dims, strides, newnd, newdims, newstrides, item) => {
          const view = new DataView(this.memory.buffer);  // our arrays are contiguous
          let step = BigInt(item);
          for (let i = Number(newnd) - 1; i >= 0; i--) {
            view.setBigInt64(newstrides + 8 * i, step, true);
            step *= view.getBigInt64(newdims + 8 * i, true);
          }
          return 1;
        },
        NRT_Allocate: size => take(size, 16),
        NRT_Free: () => {},
      };
      for (const f of ["log", "exp", "log1p", "sqrt", "pow", "sin", "cos"]) env[f] = Math[f];
      env.lgamma = lgamma;
      env.__multi3 = (out, aLow, aHigh, bLow, bHigh) => {  // product of two 128-bit integers
        const whole = (low, high) => (high << 64n) | BigInt.asUintN(64, low);
        const product = whole(aLow, aHigh) * whole(bLow, bHigh);
        const view = new DataView(this.memory.buffer);
        view.setBigInt64(out, BigInt.asIntN(64, product), true);
        view.setBigInt64(out + 8, BigInt.asIntN(64, product >> 64n), true);
      };
      const module = new WebAssembly.Module(bytes);
      for (const {name} of WebAssembly.Module.imports(module))
        env[name] = env[name] || (() => { throw new Error(`the kernel wants ${name}, which a page does not have`); });
      this.instance = new WebAssembly.Instance(module, {env});
      this.memory = this.instance.exports.memory;
      this.entries = entries;
    }
    take(size, align = 16) {
      const at = Math.ceil(this.top / align) * align;
      this.top = at + size;
      const missing = this.top - this.memory.buffer.byteLength;
      if (missing > 0) this.memory.grow(Math.ceil(missing / 65536) + 16);
      return at;
    }
    call(name, values) {
      const {args, order} = this.entries[name];
      this.top = Number(this.instance.exports.__heap_base.value);
      const result = this.take(8), error = this.take(8), where = {};
      for (const [arg, type, shape] of args) {
        if (!shape.length) continue;
        const size = shape.reduce((n, s) => n * values[s], 1);
        where[arg] = [this.take(size * (type === "f8" ? 8 : 4) + 8), size, type];
      }
      const look = (at, n, type) =>
        new (type === "f8" ? Float64Array : Int32Array)(this.memory.buffer, at, n);
      for (const [arg, [at, n, type]] of Object.entries(where)) {
        const given = values[arg];
        if (given) look(at, n, type).set(given);
        else look(at, n, type).fill(0);
      }
      const given = order.map(a => where[a] ? where[a][0] : values[a]);
      const status = this.instance.exports[name](result, error, ...given);
      if (status) throw new Error(`kernel ${name} failed with status ${status}`);
      const out = {returned: look(result, 1, "i4")[0]};
      for (const [arg, [at, n, type]] of Object.entries(where)) out[arg] = look(at, n, type).slice();
      return out;
    }
  }
  function lgamma(x) {  // Lanczos; good to 1e-13
    const c = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
      -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
      1.5056327351493116e-7];
    if (x < .5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - lgamma(1 - x);
    x -= 1;
    let a = c[0];
    for (let i = 1; i < 9; i++) a += c[i] / (x + i);
    const t = x + 7.5;
    return .5 * Math.log(2 * Math.PI) + (x + .5) * Math.log(t) - t + Math.log(a);
  }

  // ---------------------------------------------------------------- drawing
  class Board {
    constructor(canvas) { this.canvas = canvas; this.pen = canvas.getContext("2d"); }
    begin(height) {
      const wide = this.canvas.clientWidth || 600, dense = window.devicePixelRatio || 1;
      this.canvas.style.height = height + "px";
      this.canvas.width = wide * dense;
      this.canvas.height = height * dense;
      this.pen.setTransform(dense, 0, 0, dense, 0, 0);
      const style = getComputedStyle(this.canvas);
      this.ink = style.color;
      this.soft = style.getPropertyValue("--csc-soft").trim() || "#888";
      this.dark = Math.max(...(this.ink.match(/\d+/g) || [0]).slice(0, 3)) > 150;
      this.paper = this.dark ? "#1f1f1f" : "#ffffff";
      this.wide = wide;
      this.high = height;
      this.pen.clearRect(0, 0, wide, height);
      this.pen.font = "13px system-ui, sans-serif";
    }
    shade(colour) { return this.dark && LIGHT[colour] || colour; }
    line(x, y, u, v, colour, width = 1, dash = []) {
      const p = this.pen;
      p.beginPath(); p.setLineDash(dash); p.moveTo(x, y); p.lineTo(u, v);
      p.strokeStyle = this.shade(colour); p.lineWidth = width; p.stroke(); p.setLineDash([]);
    }
    bend(x, y, u, v, bow, colour, width, dash) {
      const p = this.pen;
      p.beginPath(); p.setLineDash(dash); p.moveTo(x, y); p.quadraticCurveTo((x + u) / 2, (y + v) / 2 + 2 * bow, u, v);
      p.strokeStyle = this.shade(colour); p.lineWidth = width; p.stroke(); p.setLineDash([]);
    }
    disc(x, y, r, fill, edge, width = 1) {
      const p = this.pen;
      p.beginPath(); p.arc(x, y, Math.max(r, 0), 0, 7);
      if (fill) { p.fillStyle = this.shade(fill); p.fill(); }
      if (edge) { p.strokeStyle = this.shade(edge); p.lineWidth = width; p.stroke(); }
    }
    bar(x, y, w, h, fill) { this.pen.fillStyle = this.shade(fill); this.pen.fillRect(x, y, w, h); }
    name(words, x, y) {  // readable over lines
      this.pen.lineJoin = "round"; this.pen.lineWidth = 4; this.pen.strokeStyle = this.paper; this.pen.textAlign = "left";
      this.pen.strokeText(words, x, y); this.text(words, x, y);
    }
    text(words, x, y, colour = this.ink, align = "left") {
      this.pen.fillStyle = this.shade(colour); this.pen.textAlign = align; this.pen.fillText(words, x, y);
    }
    within(wide, high, draw) {
      this.pen.save(); this.pen.beginPath(); this.pen.rect(0, 0, wide, high); this.pen.clip();
      draw();
      this.pen.restore();
    }
    cross(x, y, r, colour) {
      this.line(x - r, y - r, x + r, y + r, colour, 2);
      this.line(x - r, y + r, x + r, y - r, colour, 2);
    }
    dot(x, y, k, r = 5) { this.disc(x, y, r, PALETTE[k % 8], k >= 8 ? this.ink : null); }
  }
  const round = (x, n = 2) => { const t = Number(x).toFixed(n); return t.replace("-", +t ? "−" : ""); };
  const many = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const box = size => p => [9 + p[0] * (size - 18), 9 + (1 - p[1]) * (size - 18)];  // no dot is cut at the edge

  // ---------------------------------------------------------------- scenes on points
  // Points live in a box [0, 1] x [0, 1]; answers are [a, b, value, luck]: an answer lies when luck < p.
  const answers = s => s.links.map(([a, b, value, luck]) => {
    const lie = luck >= 0 && luck < (s.values.p || 0);  // −1: the reader flipped it
    return {a, b, value: lie ? -value : value, lie: lie || luck === -1};
  });
  const linkArrays = list => ({
    a: list.map(l => l.a), b: list.map(l => l.b), value: list.map(l => l.value), m: list.length,
  });
  function drawLinks(board, s, list, z, at) {
    for (const l of list) {
      const [x, y] = at(s.points[l.a]), [u, v] = at(s.points[l.b]);
      const broken = z && (z[l.a] === z[l.b]) !== (l.value > 0);
      const colour = l.value > 0 ? SAME : DIFFERENT;
      const crowd = list.length > 150;  // keep the points in sight
      board.pen.globalAlpha = (broken ? 1 : .45) * (crowd ? .4 : 1);
      const dash = s.coarse ? [] : crowd ? [13, 9] : [5, 4];  // every dash costs time
      board.line(x, y, u, v, colour, (broken ? 2.6 : 1.2) * (crowd ? .6 : 1), l.value > 0 ? [] : dash);
      if (l.lie && !s.coarse) board.cross((x + u) / 2, (y + v) / 2, crowd ? 2.5 : 4, board.ink);
      board.pen.globalAlpha = 1;
    }
  }
  function drawPoints(board, s, z, at, r = 5) {
    s.points.forEach((p, i) => {
      const [x, y] = at(p);
      board.dot(x, y, z[i], r);
      if (i === s.chosen) board.disc(x, y, r + 4, null, board.ink, 2);
      if (i === s.first) board.disc(x, y, r + 7, null, SAME, 2);
    });
  }
  const flat = points => Float64Array.from(points.flat());
  const brokenBy = (z, list) => list.filter(l => (z[l.a] === z[l.b]) !== (l.value > 0));

  function runRdp(s, sweeps) {
    const list = answers(s), n = s.points.length, room = n + 2;
    const out = s.kernels.call("rdp_run", {
      X: flat(s.points), ...linkArrays(list), order: s.order.filter(i => i < n), n, d: 2,
      lam: s.values.lam, xi0: s.values.xi / 2 ** 8, rate: 2, sweeps, room, z: null, mu: null, price: null,
      chosen: Math.min(s.chosen ?? 0, n - 1), two: 2, tally: null,
    });
    return {list, z: out.z, K: out.returned, mu: out.mu, price: out.price, moved: out.tally[0], J: out.tally[1]};
  }

  const scenes = {};
  scenes.rdp = {
    points: true, ringed: true,
    compute: s => runRdp(s, Math.round(s.values.sweep)),
    paint(board, s, r) {
      const narrow = board.wide < 560, side = narrow ? 0 : 190;
      const size = Math.min(board.wide - side, s.height);
      board.begin(narrow ? size + 150 : size);
      const at = s.at = box(size);
      s.scale = size;
      board.within(size, size, () => {
        for (let k = 0; k < r.K; k++) {
          const [x, y] = at([r.mu[2 * k], r.mu[2 * k + 1]]);
          board.pen.globalAlpha = .5;
          board.disc(x, y, Math.sqrt(s.values.lam) * (size - 18), null, PALETTE[k % 8], 1.2);
          board.pen.globalAlpha = 1;
          board.line(x - 5, y, x + 5, y, PALETTE[k % 8], 2.5);
          board.line(x, y - 5, x, y + 5, PALETTE[k % 8], 2.5);
        }
      });
      drawLinks(board, s, r.list, r.z, at);
      drawPoints(board, s, r.z, at);
      const left = narrow ? 10 : size + 16, top = narrow ? size + 8 : 8;
      const wide = narrow ? board.wide - 20 : side - 24, high = 118;
      const prices = Array.from(r.price.slice(0, r.K));
      const most = Math.max(s.values.lam * 1.3, ...prices.map(Math.abs), 1e-9);
      const zero = top + 24 + high * .8;
      board.text("prices of the ringed point", left, top + 12, board.ink);
      prices.forEach((price, k) => {
        const h = price / most * high * .75, w = Math.min(22, wide / (r.K + 1) - 4);
        board.bar(left + k * (w + 4), zero - Math.max(h, 0), w, Math.abs(h) + 1, PALETTE[k % 8]);
      });
      const line = zero - s.values.lam / most * high * .75;
      board.line(left, line, left + wide, line, board.ink, 1.5, [4, 3]);
      board.text("dashed: λ, a new cluster", left, zero + 20, board.ink);
    },
    say(s, r) {
      const broken = brokenBy(r.z, r.list), lies = r.list.filter(l => l.lie).length;
      return `${many(r.K, "cluster")} after ${many(Math.round(s.values.sweep), "sweep")}; ` +
        `${broken.length} of ${many(r.list.length, "answer")} broken, ${broken.filter(l => l.lie).length} of the ` +
        `${lies} wrong ones among them; ${many(r.moved, "point")} moved in the last sweep; cost ${round(r.J, 3)}.`;
    },
  };

  scenes.obey = {
    points: true,
    compute(s) {
      const list = answers(s), n = s.points.length, k = Math.min(Math.round(s.values.k), n);
      const out = s.kernels.call("obey_run", {
        X: flat(s.points), ...linkArrays(list), n, d: 2, k, draws: s.draws.slice(0, 5 * k), starts: 5,
        plain: null, hard: null,
      });
      const ours = runRdp(s, 9);
      const like = s.truth || out.plain;
      const parts = [["k-means: hears nothing", out.plain], ["obeys every “same”", out.hard],
        ["RDP-means: weighs", ours.z]];
      return {list, parts: parts.map(([name, z]) => [name, matched(z, like)])};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, cols = narrow ? 1 : 3;
      const size = board.wide / cols - 8;
      const high = Math.min(size, s.height);
      board.begin(narrow ? (high + 26) * 3 : high + 26);
      s.scale = size;
      r.parts.forEach(([name, z], c) => {
        const x0 = narrow ? 0 : c * (size + 10), y0 = narrow ? c * (high + 26) : 0;
        const at = p => [x0 + 6 + p[0] * (size - 12), y0 + 22 + (1 - p[1]) * (high - 6)];
        if (c === 0) { s.at = at; s.high = high; }
        board.text(`${name}${s.truth ? `: ${round(agreement(z, s.truth))}` : ""}`, x0, y0 + 14);
        drawLinks(board, s, r.list, z, at);
        drawPoints(board, s, z, at, 4);
      });
    },
    say(s, r) {
      const how = r.parts.map(([name, z]) => {
        const score = s.truth ? `agreement with the truth ${round(agreement(z, s.truth))}, ` : "";
        return `${name.split(":")[0]}: ${score}${many(new Set(z).size, "cluster")}, ${many(brokenBy(z, r.list).length, "answer")} broken`;
      });
      return how.join("; ") + ".";
    },
  };

  scenes.chain = {
    points: true,
    compute(s) {
      const list = answers(s), n = s.points.length;
      const out = s.kernels.call("obey_run", {
        X: flat(s.points), ...linkArrays(list), n, d: 2, k: 1, draws: [.5], starts: 1, plain: null, hard: null,
      });
      const blocks = s.kernels.call("blocks", {...linkArrays(list), n, z: null});
      return {list, z: blocks.z, K: blocks.returned, out};
    },
    paint(board, s, r) {
      board.begin(s.height);
      s.scale = board.wide;
      s.high = s.height;
      const at = s.at = p => [p[0] * board.wide, (1 - p[1]) * s.height];
      drawLinks(board, s, r.list, null, at);
      drawPoints(board, s, r.z, at, 6);
    },
    say(s, r) {
      const sizes = new Map();
      for (const k of r.z) sizes.set(k, (sizes.get(k) || 0) + 1);
      const wrong = r.list.filter(l => l.value < 0 && r.z[l.a] === r.z[l.b]).length;
      const lies = r.list.filter(l => l.lie).length;
      return `${many(r.K, "group")}; the largest has ${Math.max(...sizes.values())} of ${r.z.length} points; ` +
        `${lies} of ${many(r.list.length, "answer")} ${lies === 1 ? "is a lie" : "are lies"}; ` +
        `${many(wrong, "answer")} “different” ${wrong === 1 ? "contradicts" : "contradict"} the chains.`;
    },
  };

  // ---------------------------------------------------------------- the posterior over all partitions
  const letter = i => String.fromCharCode(97 + i);
  const written = z => {  // "ab|cdef"
    const groups = new Map();
    z.forEach((k, i) => groups.set(k, (groups.get(k) || "") + letter(i)));
    return [...groups.values()].join("|");
  };
  scenes.posterior = {
    points: true,
    compute(s) {
      const list = answers(s), n = s.points.length;
      if (n > 7) throw new Error("at most seven points: Bell's numbers grow fast");
      const bell = [1, 1, 2, 5, 15, 52, 203, 877][n], v = s.values;
      const common = {X: flat(s.points), ...linkArrays(list), n, d: 2, alpha: v.alpha, p: v.same, q: v.diff,
        s2: s.s2 ?? .01, w0: s.w0 ?? .05};
      const all = s.kernels.call("posterior", {...common, N: bell, Z: null, logp: null});
      const sweeps = Math.round(v.sweep || 0);
      const walk = s.kernels.call("gibbs_walk", {...common, sweeps: Math.max(sweeps, 1),
        u: s.luck.slice(0, Math.max(sweeps, 1) * n), path: null, room: n + 2});
      const top = Math.max(...all.logp), weight = Array.from(all.logp, l => Math.exp(l - top));
      const sum = weight.reduce((x, y) => x + y, 0), chance = weight.map(w => w / sum);
      const key = z => { const m = new Map(); return Array.from(z, k => (m.has(k) || m.set(k, m.size), m.get(k))).join(""); };
      const name = new Map(), visits = new Array(bell).fill(0);
      for (let i = 0; i < bell; i++) name.set(key(all.Z.slice(i * n, i * n + n)), i);
      for (let t = 0; t < sweeps; t++) visits[name.get(key(walk.path.slice(t * n, t * n + n)))]++;
      const order = chance.map((c, i) => i).sort((i, j) => chance[j] - chance[i]);
      const best = order[0];
      const now = sweeps ? walk.path.slice((sweeps - 1) * n, sweeps * n) : all.Z.slice(best * n, best * n + n);
      const here = sweeps ? name.get(key(now)) : -1;
      return {list, chance, visits, order, sweeps, bell, z: now, here, best: all.Z.slice(best * n, best * n + n)};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, size = narrow ? Math.min(board.wide, 240) : Math.min(s.height, board.wide * .4);
      board.begin(narrow ? size + 170 : Math.max(size, 200));
      const at = s.at = p => [p[0] * size, (1 - p[1]) * size];
      s.scale = size;
      drawLinks(board, s, r.list, r.z, at);
      drawPoints(board, s, r.z, at, 7);
      s.points.forEach((p, i) => board.text(letter(i), at(p)[0] + 10, at(p)[1] - 8));
      const left = narrow ? 0 : size + 24, top = narrow ? size + 34 : 34;
      const wide = board.wide - left - 4, high = (narrow ? 106 : Math.max(size, 200) - 64);
      const shown = Math.min(r.bell, 40), w = wide / shown, most = r.chance[r.order[0]];
      board.text(`chance of the ${shown} likeliest of ${r.bell} partitions; line: visits`, left, top - 20);
      r.order.slice(0, shown).forEach((i, c) => {
        const h = r.chance[i] / most * high;
        board.bar(left + c * w + 1, top + high - h, Math.max(w - 2, 1), h, PALETTE[0]);
        if (r.sweeps) {
          const v = Math.min(r.visits[i] / r.sweeps / most * high, high * 1.1);
          board.line(left + c * w, top + high - v, left + (c + 1) * w, top + high - v, PALETTE[1], 2.5);
        }
        if (i === r.here) board.disc(left + (c + .5) * w, top + high + 8, 4, board.ink);
      });
      const here = r.sweeps ? `; dot: the sampler, now at ${written(r.z)}` : "";
      board.text(`first bar: ${written(r.best)}${here}`, left, top + high + 28);
    },
    say(s, r) {
      const seen = r.visits.filter(v => v).length;
      return `The likeliest of ${r.bell} partitions is ${written(r.best)} with chance ` +
        `${round(r.chance[r.order[0]])}. ` + (r.sweeps ? `The sampler made ${many(r.sweeps, "sweep")} and saw ${many(seen, "partition")}; ` +
        `it spent ${round(r.visits[r.order[0]] / r.sweeps)} of them on the likeliest.` : "The sampler has not moved yet.");
    },
  };

  // ---------------------------------------------------------------- the sampler at a temperature
  scenes.temperature = {
    points: true, ringed: true,
    compute(s) {
      const list = answers(s), n = s.points.length, v = s.values, sweeps = Math.round(v.sweep);
      const given = {X: flat(s.points), ...linkArrays(list), n, d: 2, lam: v.lam, xi: v.xi, v0: 1, room: n + 2,
        sweeps, u: s.luck.slice(0, sweeps * n), chosen: Math.min(s.chosen ?? 0, n - 1), z: null, share: null};
      if (sweeps * n > s.luck.length) throw new Error("too many points for so many sweeps");
      const at = gamma => s.kernels.call("frozen_walk", {...given, gamma});
      const warm = at(10 ** v.cold), key = JSON.stringify([s.points, list, v.lam, v.xi, sweeps]);
      if (!s.frozen || s.frozen.key !== key) s.frozen = {key, ...at(1e9)};  // the same at every temperature
      const frozen = s.frozen;
      const like = s.truth || Array.from(frozen.z);
      const z = matched(warm.z, like), colour = new Map();
      z.forEach((k, i) => colour.set(warm.z[i], k));
      const bars = [];
      warm.share.forEach((c, k) => { if (k && (colour.has(k))) bars.push([colour.get(k), c]); });
      bars.sort((a, b) => a[0] - b[0]);
      return {list, z, K: warm.returned, frozen: frozen.z, coldK: frozen.returned, bars, fresh: warm.share[0],
        gamma: 10 ** v.cold, same: agreement(z, Array.from(frozen.z)), sweeps};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, side = narrow ? 0 : 200;
      const size = Math.min(board.wide - side, s.height);
      board.begin(narrow ? size + 170 : size);
      const at = s.at = box(size);
      s.scale = size;
      drawLinks(board, s, r.list, r.z, at);
      drawPoints(board, s, r.z, at);
      const left = narrow ? 10 : size + 16, top = narrow ? size + 8 : 8, high = 110;
      const bars = [...r.bars.slice(0, 11), [-1, r.fresh]], wide = narrow ? board.wide - 20 : side - 20;
      board.text("where the ringed point goes", left, top + 12);
      bars.forEach(([k, c], i) => {
        const w = Math.min(24, wide / bars.length - 4), x = left + i * (w + 4), h = c * high;
        board.bar(x, top + 24 + high - h, w, h + 1, k < 0 ? board.soft : PALETTE[k % 8]);
      });
      board.text("last, grey: a new cluster", left, top + high + 44);
      board.text(`γ = ${r.gamma < 100 ? round(r.gamma, 1) : Math.round(r.gamma)}`, left, top + high + 64);
    },
    say(s, r) {
      const most = Math.max(r.fresh, ...r.bars.map(b => b[1]));
      const truth = s.truth ? ` and ${round(agreement(r.z, s.truth))} with the truth` : "";
      return `γ = ${round(r.gamma, 0)}: ${many(r.K, "cluster")} after ${many(r.sweeps, "sweep")}; ` +
        `agreement ${round(r.same)} with the frozen sampler (${many(r.coldK, "cluster")})${truth}; ` +
        `the surest place of the ringed point has chance ${round(most)}; ` +
        `${brokenBy(r.z, r.list).length} of ${many(r.list.length, "answer")} broken.`;
    },
  };

  // ---------------------------------------------------------------- a signed graph
  scenes.signed = {
    compute(s) {
      const n = s.points.length, W = new Float64Array(n * n);
      for (const [a, b, value] of s.links) W[a * n + b] = W[b * n + a] = value;
      const out = s.kernels.call("signed_best", {W, n, z: null});
      const broken = s.links.filter(([a, b, v]) => v && (out.z[a] === out.z[b]) !== (v > 0));
      return {z: out.z, K: new Set(out.z).size, broken};
    },
    paint(board, s, r) {
      const size = Math.min(board.wide, s.height);
      board.begin(size);
      s.scale = size;
      const at = s.at = p => [board.wide / 2 + (p[0] - .5) * size, (1 - p[1]) * size];
      s.links.forEach(([a, b, v], e) => {
        const [x, y] = at(s.points[a]), [u, w] = at(s.points[b]);
        const broken = v && (r.z[a] === r.z[b]) !== (v > 0);
        const colour = v > 0 ? SAME : v < 0 ? DIFFERENT : board.soft;
        board.pen.globalAlpha = v ? 1 : .35;
        board.line(x, y, u, w, colour, broken ? 4.5 : 1.6, v < 0 ? [6, 5] : v ? [] : [1, 5]);
        board.pen.globalAlpha = 1;
        if (e === s.edge) board.disc((x + u) / 2, (y + w) / 2, 9, null, board.ink, 2);
      });
      s.points.forEach((p, i) => {
        const [x, y] = at(p);
        board.dot(x, y, r.z[i], 12);
        board.text(String.fromCharCode(65 + i), x, y + 5, "#fff", "center");
      });
    },
    say(s, r) {
      const bell = [1, 1, 2, 5, 15, 52, 203, 877, 4140][s.points.length];
      return `${many(r.K, "cluster")}; ${many(r.broken.length, "answer")} broken (drawn thick). ` +
        `No other of the ${bell} partitions breaks less: proved by looking at all that could.`;
    },
  };

  // ---------------------------------------------------------------- a graph of answers, all consistent sets listed
  const MOST_ANSWERS = 14;
  const told = s => s.links.map(([a, b, value]) => ({a, b, value, lie: s.truth ? (s.truth[a] === s.truth[b]) !== (value > 0) : false}));
  scenes.answers = {
    points: true,
    actions: [
      ["Lie now", s => {
        const right = told(s).map((l, e) => l.lie ? -1 : e).filter(e => e >= 0);
        if (!right.length) return;
        s.lies = (s.lies || 0) + 1;
        const planned = (s.plan || []).find(e => right.includes(e));
        const e = planned ?? right[Math.floor(s.luck[s.lies * 3] * right.length)];
        s.links[e][2] = -s.links[e][2];
      }],
      ["Ask the next question", s => {
        const q = s.result && s.result.next;
        if (q && s.links.length < MOST_ANSWERS) s.links.push([q[0], q[1], s.truth[q[0]] === s.truth[q[1]] ? 1 : -1, 2]);
      }],
    ],
    compute(s) {
      const list = told(s), n = s.points.length;
      if (list.length > MOST_ANSWERS) throw new Error(`at most ${MOST_ANSWERS} answers: ${2 ** MOST_ANSWERS} sets are listed`);
      const out = s.kernels.call("answer_sets", {...linkArrays(list), n, nu: s.values.nu, three: 3,
        best: null, wrong: null, tally: null, says: null, against: null});
      const asked = new Set(list.map(l => Math.min(l.a, l.b) * n + Math.max(l.a, l.b)));
      let next = null, most = 1e-6;
      for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++)
        if (!asked.has(i * n + j) && out.against[i * n + j] > most + 1e-12) { most = out.against[i * n + j]; next = [i, j]; }
      return {list, ...out, sets: out.returned, chance: out.tally[0], ties: out.tally[1], flips: out.tally[2],
        next, doubt: next ? most : 0};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, side = narrow ? 70 : 120;
      const size = Math.min(board.wide - side, s.height);
      board.begin(size);
      s.scale = size;
      const at = s.at = p => [p[0] * size, (1 - p[1]) * size];
      r.list.forEach((l, e) => {
        const [x, y] = at(s.points[l.a]), [u, v] = at(s.points[l.b]);
        if (r.best[e] !== l.value) board.line(x, y, u, v, "#E69F00", 11);
        board.pen.globalAlpha = Math.max(.12, 1 - r.wrong[e]);
        board.line(x, y, u, v, l.value > 0 ? SAME : DIFFERENT, 2.4, l.value > 0 ? [] : [6, 5]);
        board.pen.globalAlpha = 1;
        if (l.lie) board.cross((x + u) / 2, (y + v) / 2, 6, board.ink);
      });
      if (r.next) {
        const [x, y] = at(s.points[r.next[0]]), [u, v] = at(s.points[r.next[1]]);
        board.line(x, y, u, v, board.ink, 1.6, [2, 4]);
      }
      s.points.forEach((p, i) => {
        const [x, y] = at(p);
        board.dot(x, y, s.truth ? s.truth[i] : 0, 12);
        board.text(String(i), x, y + 5, "#fff", "center");
        if (i === s.chosen) board.disc(x, y, 16, null, board.ink, 2);
        if (i === s.first) board.disc(x, y, 19, null, SAME, 2);
      });
      const left = size + side / 2 - 14, high = size - 60, low = size - 26, h = r.chance * high;
      board.bar(left, low - h, 28, h, r.chance >= s.values.alpha ? SAME : "#D55E00");
      board.line(left - 8, low, left + 36, low, board.ink);
      const line = low - s.values.alpha * high;
      board.line(left - 8, line, left + 36, line, board.ink, 1.5, [4, 3]);
      board.text("α", left + 40, line + 4);
      const over = Math.abs(low - h - 10 - line) < 14;  // the number would cross the line of α
      board.text(round(r.chance), left + 14, over ? low - h + 16 : low - h - 6, over ? "#fff" : board.ink, "center");
      board.text("confidence", left + 14, size - 8, board.ink, "center");
    },
    say(s, r) {
      const pair = l => `${l.a}–${l.b}`;
      const suspects = r.list.filter((l, e) => r.best[e] !== l.value), lies = r.list.filter(l => l.lie);
      const next = r.next ? ` The next question is ${r.next.join("–")}: sets with a chance of ${round(r.doubt, 3)} say the opposite there.`
        : " No open pair could expose anything.";
      return `${r.sets} of ${2 ** r.list.length} sets of answers ${r.sets === 1 ? "is" : "are"} consistent. The likeliest has a chance of ${round(r.chance, 3)}` +
        `${r.ties > 1 ? `, and ${r.ties - 1} more ${r.ties === 2 ? "is" : "are"} as likely` : ""}. ` +
        `Lies: ${lies.map(pair).join(", ") || "none"}; suspected: ${suspects.map(pair).join(", ") || "none"}.${next}`;
    },
  };

  // ---------------------------------------------------------------- particles that disagree, and the next question
  const PARTICLES = 60, FEW = 10, MOVES = 2;  // few while a slider moves over many points
  function normals(u, n, from) {  // Box and Muller
    const out = new Float64Array(n);
    for (let i = 0; i < n; i += 2) {
      const r = Math.sqrt(-2 * Math.log(1 - u[(from + i) % u.length])), t = 2 * Math.PI * u[(from + i + 1) % u.length];
      out[i] = r * Math.cos(t);
      if (i + 1 < n) out[i + 1] = r * Math.sin(t);
    }
    return out;
  }
  scenes.particles = {
    points: true,
    actions: [
      ["Answer: same", s => s.result && s.result.next && s.links.push([...s.result.next, 1, 2])],
      ["Answer: different", s => s.result && s.result.next && s.links.push([...s.result.next, -1, 2])],
      ["Answer truly", s => {
        const q = s.result && s.result.next;
        if (q && s.truth) s.links.push([...q, s.truth[q[0]] === s.truth[q[1]] ? 1 : -1, 2]);
      }],
      ["Undo", s => { s.links.pop(); }],
    ],
    compute(s) {
      const list = told(s), n = s.points.length, S = s.coarse ? FEW : PARTICLES, size = S * 6, m = list.length;
      if (m > 20) throw new Error("at most twenty answers here");
      if (!s.wide) { const more = mulberry(11); s.wide = Float64Array.from({length: 120000}, more); }
      const steps = m * MOVES, tries = 1 + 5 * S;
      const u = new Float64Array(steps * tries);
      for (let i = 0; i < u.length; i++) u[i] = s.wide[(i * 7 + 13) % s.wide.length];
      const out = s.kernels.call("particle_run", {X: flat(s.points), ...linkArrays(list), n, d: 2, eps: s.values.eps,
        lam: .5, tau: s.values.tau, S, D: 3, K: 2, W: normals(s.wide, size, 0),
        V: normals(s.wide, steps * size, 4001), u, steps, size, tries, z: null, Q: null, tree: null, pair: null, bits: null, one: 1, two: 2});
      const next = out.pair[0] < 0 ? null : Array.from(out.pair), most = out.bits[0];
      const mean = [0, 1].map(c => s.points.reduce((t, p) => t + p[c] / n, 0));
      const sd = [0, 1].map(c => Math.sqrt(s.points.reduce((t, p) => t + (p[c] - mean[c]) ** 2 / n, 0) + 1e-12));
      return {list, ...out, S, heard: out.returned, next, bits: Math.max(most, 0) / Math.LN2, mean, sd,
        z: s.truth ? matched(Array.from(out.z), s.truth) : Array.from(out.z)};
    },
    paint(board, s, r) {
      const high = Math.min(s.height, board.wide * .75);
      board.begin(high);
      s.scale = board.wide;
      const at = s.at = p => [p[0] * board.wide, (1 - p[1]) * high];
      board.pen.save();
      board.pen.beginPath(); board.pen.rect(0, 0, board.wide, high); board.pen.clip();
      board.pen.globalAlpha = .45;
      for (let q = 0; q < r.S; q++) {
        const w = [0, 1, 2].map(j => r.W[q * 6 + 2 * j] - r.W[q * 6 + 2 * j + 1]);
        const f = [w[0] / r.sd[0], w[1] / r.sd[1]], c = w[2] - f[0] * r.mean[0] - f[1] * r.mean[1];
        const ends = Math.abs(f[1]) > Math.abs(f[0])
          ? [[-1, (f[0] - c) / f[1]], [2, (-2 * f[0] - c) / f[1]]] : [[(f[1] - c) / f[0], -1], [(-2 * f[1] - c) / f[0], 2]];
        board.line(...at(ends[0]), ...at(ends[1]), board.soft, 1);
      }
      board.pen.globalAlpha = 1;
      board.pen.restore();
      drawLinks(board, s, r.list, null, at);
      drawPoints(board, s, r.z, at, 5);
      if (r.next) {
        const ends = r.next.map(i => at(s.points[i]));
        board.line(...ends[0], ...ends[1], board.ink, 1.6, [3, 4]);
        for (const [x, y] of ends) board.disc(x, y, 10, null, board.ink, 2.4);
      }
    },
    say(s, r) {
      const score = s.truth ? ` Agreement with the truth: ${round(agreement(r.z, s.truth))}.` : "";
      const cycle = r.list.length - r.heard;
      return `${many(r.heard, "answer")} heard${cycle ? `, ${cycle} not, since they close a cycle` : ""}; ${r.S} particles. ` +
        (r.next ? `Next question: points ${r.next.join(" and ")}, which promises ${round(r.bits)} bits.` : "Nothing is left to ask.") + score;
    },
  };

  // ---------------------------------------------------------------- k-means, obeying and weighing, as answers get worse
  const RACE = ["k-means: hears nothing", "COP-KMeans: obeys", "RDP-means: weighs"], RACERS = [PALETTE[7], PALETTE[1], PALETTE[0]];
  function raceAt(s, p) {
    const values = s.values, n = s.points.length, k = Math.min(Math.round(values.k), n);
    s.values = {...values, p};
    const list = answers(s), common = {X: flat(s.points), n, d: 2, k, draws: s.draws.slice(0, 5 * k), starts: 5, three: 3, z: null, tally: null};
    const plain = s.kernels.call("cop_run", {...common, ...linkArrays([])});
    const cop = s.kernels.call("cop_run", {...common, ...linkArrays(list)});
    const ours = runRdp(s, 9);
    s.values = values;
    return {list, zs: [plain.z, cop.z, ours.z], kept: cop.tally[0] > 0, wrong: cop.tally[1]};
  }
  const BRUSH = k => [`Draw group ${k + 1}`, s => { s.brush = k; s.pick("add"); }];
  scenes.race = {
    points: true,
    actions: [BRUSH(0), BRUSH(1), BRUSH(2), ["Empty the picture", s => { s.points = []; s.links = []; s.truth = []; s.chosen = s.first = null; s.brush = 0; s.pick("add"); }]],
    added(s) {  // a new point belongs to the chosen group and brings three answers
      if (!s.truth) return;
      const i = s.points.length - 1;
      let like = s.brush;
      if (like == null) s.points.slice(0, i).reduce((least, q, j) => {
        const gap = Math.hypot(q[0] - s.points[i][0], q[1] - s.points[i][1]);
        if (gap < least) { like = s.truth[j]; return gap; }
        return least;
      }, 9);
      s.truth.push(like || 0);
      for (let t = 0; t < 3 && i > 0; t++) {
        const j = Math.floor(s.luck[(i * 7 + t * 131) % 4000] * i);
        s.links.push([j, i, s.truth[i] === s.truth[j] ? 1 : -1, s.luck[(i * 11 + t * 17 + 4000) % 8000]]);
      }
    },
    compute(s) {
      const n = s.points.length;
      if (n < 3) { s.at = s.at || (p => p); throw new Error(`${n} points: draw at least three. Choose a group, then click in the picture, or press a.`); }
      const now = raceAt(s, s.values.p), truth = s.truth && s.truth.length === n ? s.truth : null;
      const parts = now.zs.map(z => matched(z, truth || Array.from(now.zs[0])));
      const {p, ...rest} = s.values, key = JSON.stringify([s.points, s.links, rest]);
      if (truth && s.curveKey !== key) {  // the whole curve, when the hand rests
        s.curve = null;
        clearTimeout(s.curveTimer);
        s.curveTimer = setTimeout(() => {
          s.curve = Array.from({length: 11}, (_, i) => raceAt(s, i / 20).zs.map(z => agreement(z, s.truth)));
          s.curveKey = key;
          s.update();
        }, s.curveKey ? 250 : 0);
      }
      return {...now, parts, truth};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, gap = 10, cols = narrow ? 1 : 3, size = (board.wide - gap * (cols - 1)) / cols;
      const high = Math.min(size, narrow ? 230 : s.height), low = narrow ? (high + 26) * 3 : high + 26;
      board.begin(low + (r.truth ? 160 : 0));
      s.scale = size;
      r.parts.forEach((z, c) => {
        const x0 = narrow ? 0 : c * (size + gap), y0 = narrow ? c * (high + 26) : 0;
        const at = p => [x0 + 6 + p[0] * (size - 12), y0 + 22 + (1 - p[1]) * (high - 6)];
        if (c === 0) s.at = at;
        board.text(`${RACE[c]}${r.truth ? `: ${round(agreement(z, r.truth))}` : ""}`, x0, y0 + 14);
        drawLinks(board, s, r.list, z, at);
        drawPoints(board, s, z, at, 4);
      });
      if (!r.truth) return;
      const left = narrow ? 26 : 34, right = board.wide - 12, top = low + 22, bottom = low + 118;
      const x = p => left + p / .5 * (right - left), y = v => bottom - Math.max(v, 0) * (bottom - top);
      board.text(narrow ? "agreement with the truth, by share of lies" : "agreement with the truth as answers get worse", left, low + 12);
      for (const v of [0, .5, 1]) { board.line(left, y(v), right, y(v), board.soft, .6); board.text(String(v), left - 6, y(v) + 4, board.ink, "right"); }
      for (const p of [0, .1, .2, .3, .4, .5]) board.text(String(p), x(p), bottom + 18, board.ink, "center");
      board.line(x(s.values.p), top, x(s.values.p), bottom, board.ink, 1, [4, 3]);
      if (s.curve) [0, 1, 2].forEach(c => {
        for (let i = 0; i < 10; i++) board.line(x(i / 20), y(s.curve[i][c]), x((i + 1) / 20), y(s.curve[i + 1][c]), RACERS[c], 2, [[2, 3], [7, 4], []][c]);
      });
      let at = left;
      RACE.forEach((name, c) => {
        const word = name.split(":")[0];
        board.line(at, bottom + 30, at + 16, bottom + 30, RACERS[c], 2.5, [[2, 3], [7, 4], []][c]);
        board.text(word, at + 20, bottom + 34);
        at += 20 + board.pen.measureText(word).width + (narrow ? 6 : 18);
      });
    },
    say(s, r) {
      const lies = r.list.filter(l => l.lie).length;
      const how = r.parts.map((z, c) => {
        const score = r.truth ? `agreement with the truth ${round(agreement(z, r.truth))}, ` : "";
        return `${RACE[c].split(":")[0]}: ${score}${many(brokenBy(z, r.list).length, "answer")} broken`;
      });
      return `${many(r.list.length, "answer")}, ${lies} of them ${lies === 1 ? "a lie" : "lies"}. ${how.join("; ")}. ` +
        (r.kept ? "All answers could be obeyed." : `They contradict each other: no clustering obeys all; COP-KMeans breaks ${r.wrong} “different”.`);
    },
  };

  // ---------------------------------------------------------------- bits of a pair and of a triplet
  scenes.bits = {
    points: true, asks: true,
    actions: [
      ["Take the best questions", s => { if (s.result.best) s.ask = Array.from(s.result.best); }],
      ["Answer the pair: same", s => { s.links.push([s.ask[0], s.ask[1], 1, 2]); }],
      ["Answer the pair: different", s => { s.links.push([s.ask[0], s.ask[1], -1, 2]); }],
      ["Undo", s => { s.links.pop(); }],
    ],
    compute(s) {
      const n = s.points.length, list = answers(s);
      s.ask = (s.ask || [0, 1, 2]).map(i => Math.min(i, n - 1));
      if (new Set(s.ask).size < 3) s.ask = [0, 1, 2];
      const out = s.kernels.call("question_bits", {X: flat(s.points), ...linkArrays(list), n, d: 2, C: flat(s.middles), k: s.middles.length,
        width: s.values.width, eps: s.values.eps, eps3: s.values.eps3, ask: s.ask, Q: null, odds: null, bits: null, best: null, three: 3, six: 6, four: 4});
      const k = s.middles.length, z = s.points.map((_, i) => { let b = 0; for (let c = 1; c < k; c++) if (out.Q[i * k + c] > out.Q[i * k + b]) b = c; return b; });
      return {list, ...out, z, k};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, side = narrow ? 0 : 250, size = Math.min(board.wide - side, s.height);
      board.begin(narrow ? size + 210 : size);
      s.scale = size;
      const at = s.at = box(size);
      drawLinks(board, s, r.list, null, at);
      board.within(size, size, () => s.middles.forEach((c, k) => {
        const [x, y] = at(c);
        board.disc(x, y, s.values.width * (size - 18), null, PALETTE[k], 1);
      }));
      s.points.forEach((p, i) => {
        const [x, y] = at(p), sure = Math.max(...r.Q.slice(i * r.k, i * r.k + r.k));
        board.pen.globalAlpha = .25 + .75 * Math.max(0, (sure - 1 / r.k) / (1 - 1 / r.k));
        board.dot(x, y, r.z[i], 5);
        board.pen.globalAlpha = 1;
        if (i === s.chosen) board.disc(x, y, 9, null, board.ink, 1);
        if (i === s.first) board.disc(x, y, 12, null, SAME, 2);
      });
      const [a, b, c] = s.ask.map(i => at(s.points[i]));
      board.line(...a, ...b, board.ink, 2);
      board.line(...a, ...c, board.ink, 1, [3, 3]);
      board.line(...b, ...c, board.ink, 1, [3, 3]);
      [a, b, c].forEach(([x, y], i) => { board.disc(x, y, 9, null, board.ink, 2.5); });
      [a, b, c].forEach(([x, y], i) => board.name("abc"[i], x + 9, y - 10));
      const left = narrow ? 4 : size + 22, top = narrow ? size + 10 : 6, wide = (narrow ? board.wide - 12 : side - 30);
      const rows = [["pair a b", r.bits[0], 0], ["triplet a b c", r.bits[1], 5], ["best pair of all", r.bits[2], 0], ["with its best third", r.bits[3], 5]];
      board.text("bits that the answer promises", left, top + 12);
      rows.forEach(([name, v, k], i) => {
        const y = top + 24 + i * 24;
        board.text(name, left, y + 12);
        board.bar(left + 118, y + 2, v / 2 * (wide - 118), 12, PALETTE[k === 0 ? 0 : 1]);
        board.text(round(v), left + 122 + v / 2 * (wide - 118), y + 12);
      });
      board.text("chance of each truth", left, top + 140);
      const words = ["different", "same", "none", "a b", "a c", "b c"];
      words.forEach((word, i) => {
        const x = left + (i % 2) * (wide / 2), y = top + 156 + Math.floor(i / 2) * 16;
        const w = i < 2 ? [0, 1][i] : i;
        board.text(`${word} ${round(r.odds[w])}`, x, y, board.ink);
      });
    },
    say(s, r) {
      const gap = r.bits[1] - r.bits[0];
      const more = Math.abs(gap) < .005 ? "as much" : `the ${gap > 0 ? "triplet" : "pair"} tells more`;
      return `Pair ${s.ask.slice(0, 2).join("–")} promises ${round(r.bits[0])} bits, triplet ${s.ask.join("–")} ${round(r.bits[1])}: ${more}. ` +
        `The best pair is ${r.best[0]}–${r.best[1]} with ${round(r.bits[2])} bits; with point ${r.best[2]} as third it becomes a triplet of ${round(r.bits[3])} bits. ` +
        `${many(r.list.length, "answer")} heard.`;
    },
  };

  // ---------------------------------------------------------------- three experts
  const TEAM = ["Ann", "Ben", "Cem"], SOME_ROUNDS = 8;  // while a slider moves over many points
  scenes.experts = {
    points: true,
    compute(s) {
      const n = s.points.length, v = s.values, truth = [v.acc1, v.acc2, v.acc3];
      const list = s.links.map(([a, b, value, luck, who]) => {
        const lie = luck === -1 || luck >= truth[who];
        return {a, b, who, value: lie ? -value : value, lie};
      });
      const rounds = Math.min(Math.round(v.sweep), s.coarse ? SOME_ROUNDS : Infinity);
      const K = s.groups || 3, out = s.kernels.call("expert_run", {X: flat(s.points), ...linkArrays(list), who: list.map(l => l.who), n, d: 2, k: K,
        draws: s.draws.slice(0, 5 * K), starts: 5, rounds, R: null, alpha: null, beta: null, M: 3, z: null});
      const told = truth.map((_, m) => list.filter(l => l.who === m));
      const real = told.map(l => l.filter(x => !x.lie).length / Math.max(l.length, 1));
      const found = [0, 1, 2].map(m => {  // shares of right answers, as the beliefs have it
        const same = told[m].filter(l => l.value > 0).length / Math.max(told[m].length, 1);
        return [out.alpha[m], out.beta[m], same];
      });
      return {list, truth, real, found, rounds, z: s.truth ? matched(out.z, s.truth) : Array.from(out.z), alpha: out.alpha, beta: out.beta};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, side = narrow ? 0 : 260, size = Math.min(board.wide - side, s.height);
      board.begin(narrow ? size + 190 : size);
      s.scale = size;
      const at = s.at = box(size);
      drawLinks(board, s, r.list, null, at);
      drawPoints(board, s, r.z, at, 5);
      const left = narrow ? 8 : size + 20, top = narrow ? size + 8 : 10, wide = narrow ? board.wide - 24 : side - 32;
      const x = v => left + 40 + v * (wide - 40);
      board.text("right when true: “same” ●, “different” ■", left, top + 10);
      board.text("open circle: what it really is", left, top + 28);
      for (const v of [0, .5, 1]) { board.line(x(v), top + 38, x(v), top + 160, board.soft, .6); board.text(String(v), x(v), top + 176, board.ink, "center"); }
      r.truth.forEach((t, m) => {
        const y = top + 58 + m * 38;
        board.text(TEAM[m], left, y + 4);
        board.line(x(0), y, x(1), y, board.soft, 1);
        board.disc(x(r.alpha[m]), y, 6, PALETTE[m]);
        board.bar(x(r.beta[m]) - 5, y - 5, 10, 10, PALETTE[m]);
        board.disc(x(r.real[m]), y, 9, null, board.ink, 2);
      });
    },
    say(s, r) {
      const each = TEAM.map((name, m) => `${name}: found ${round(r.alpha[m])} for “same” and ${round(r.beta[m])} for “different”, really right in ${round(r.real[m])}`);
      return `After ${many(r.rounds, "round")}. ${each.join("; ")}. ` +
        (s.truth ? `Agreement with the truth ${round(agreement(r.z, s.truth))}.` : "");
    },
  };

  // ---------------------------------------------------------------- bags
  scenes.bags = {
    points: true, items: "a bag: it speaks or is silent",
    compute(s) {
      const n = s.points.length, K = s.groups, M = s.sets.length, silent = s.silent = s.silent || [];
      const speaks = s.sets.map((_, g) => silent[g] == null ? s.luck[g * 5 + 3] >= s.values.hide : !silent[g]);
      const Y = new Float64Array(M * K);
      s.sets.forEach((set, g) => { if (speaks[g]) for (const t of set) Y[g * K + t] = 1; });
      const V = Float64Array.from({length: n * K}, (_, i) => s.luck[(i * 13 + 7) % 8000] - .5);
      const out = s.kernels.call("bag_run", {X: flat(s.points), bag: s.bag, Y, n, d: 2, M, L: K, k: K, sigma: s.values.sigma ?? .1, alpha: s.values.alpha,
        draws: s.draws.slice(0, 5 * K), starts: 5, V, z: null});
      return {list: [], speaks, z: matched(out.z, s.truth), known: out.returned};
    },
    paint(board, s, r) {
      const size = Math.min(board.wide, s.height), wide = board.wide;
      board.begin(size + 22);
      s.scale = size;
      const at = s.at = p => [10 + p[0] * (wide - 20), 16 + (1 - p[1]) * size];
      const middle = s.sets.map((_, g) => {
        const inside = s.points.filter((_, i) => s.bag[i] === g);
        return at([0, 1].map(c => inside.reduce((t, p) => t + p[c], 0) / Math.max(inside.length, 1)));
      });
      for (let t = 0; t < 60; t++) middle.forEach((p, g) => middle.forEach((q, h) => {  // boxes make room
        const dx = q[0] - p[0], dy = q[1] - p[1];
        if (g >= h || Math.abs(dx) > 40 || Math.abs(dy) > 20) return;
        const push = (20 - Math.abs(dy)) / 4 + .5, way = dy < 0 || dy === 0 && g % 2 ? -1 : 1;
        p[1] -= way * push; q[1] += way * push;
      }));
      board.pen.globalAlpha = .5;
      s.points.forEach((p, i) => board.line(...at(p), ...middle[s.bag[i]], board.soft, 1));
      board.pen.globalAlpha = 1;
      drawPoints(board, s, r.z, at, 5);
      s.points.forEach((p, i) => { if (r.z[i] !== s.truth[i]) { const [x, y] = at(p); board.cross(x, y, 4, board.ink); } });
      s.items = middle.map(([x, y], g) => ({x, y, name: `bag ${g}`, act: () => { s.silent[g] = r.speaks[g]; }}));
      s.sets.forEach((set, g) => {
        const [x, y] = middle[g], w = 11, left = x - set.length * w / 2;
        board.bar(left - 2, y - 8, set.length * w + 4, 15, board.paper);
        if (r.speaks[g]) set.forEach((t, i) => board.bar(left + i * w, y - 6, w - 2, 11, PALETTE[t]));
        else { board.line(left, y, left + set.length * w, y, board.ink, 2); }
        board.pen.strokeStyle = board.ink; board.pen.lineWidth = 1; board.pen.strokeRect(left - 2, y - 8, set.length * w + 4, 15);
      });
    },
    say(s, r) {
      const wrong = r.z.filter((k, i) => k !== s.truth[i]).length;
      return `${r.known} of ${s.sets.length} bags say which classes they hold; strength ${round(s.values.alpha)}. ` +
        `${wrong} of ${r.z.length} instances ${wrong === 1 ? "is" : "are"} in a wrong cluster (crossed); agreement with the truth ${round(agreement(r.z, s.truth))}.`;
    },
  };

  // ---------------------------------------------------------------- arrow and shadow
  scenes.shadow = {
    points: true,
    actions: [["One step downhill", s => {
      const far = Math.max(-12, Math.min(12, -s.result.slope * 40));
      s.set("theta", Math.max(0, Math.min(180, s.values.theta + far + (s.values.theta + far < 0 ? 180 : s.values.theta + far > 180 ? -180 : 0))));
    }], ["Straight to the best", s => s.set("theta", s.result.best)]],
    compute(s) {
      const n = s.points.length, v = s.values, steps = n > 150 ? 13 : 61, rad = t => t * Math.PI / 180;
      if (!s.gauss) s.gauss = normals(s.luck, 3000, 17);
      const score = s.points.map((p, i) => 4 * (p[1] + .5 * p[0]) + v.noise * s.gauss[i % 3000]);
      const wide = spreadOf(score), given = {X: flat(s.points), score, n, d: 2, sigma: .16, wide, mu: v.mu, draws: s.draws.slice(0, 10), starts: 5, k: 2, one: 1,
        start: s.luck.slice(100, 100 + n).map(u => u - .5), J1: null, J2: null, slope: null, foot: null, z: null};
      const key = JSON.stringify([s.points, v.noise]);
      if (s.key !== key) {  // all directions, once for these points
        s.all = s.kernels.call("shadow_run", {...given, angles: Array.from({length: steps}, (_, i) => rad(i * 180 / (steps - 1))), steps});
        s.key = key;
      }
      const out = s.kernels.call("shadow_run", {...given, angles: [rad(v.theta)], steps: 1});
      const F = Array.from(s.all.J1, (j, i) => j - v.mu * s.all.J2[i]);
      return {list: [], z: Array.from(out.z), score, foot: out.foot, J1: out.J1[0], J2: out.J2[0], slope: out.slope[0], F, steps,
        best: lowest(F) * 180 / (steps - 1)};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, size = Math.min(narrow ? board.wide : board.wide * .5, s.height);
      board.begin(narrow ? size + 200 : size);
      s.scale = size;
      const at = s.at = p => [size * (.19 + .62 * p[0]), size * (.19 + .62 * (1 - p[1]))];
      const t = s.values.theta * Math.PI / 180, w = [Math.cos(t), -Math.sin(t)], side = [w[1], -w[0]];
      const c = [size / 2, size / 2], far = size * .36, one = size * .62;
      const low = Math.min(...r.score), high = Math.max(...r.score);
      s.points.forEach((p, i) => {
        const [x, y] = at(p);
        board.dot(x, y, r.z[i], 3 + 5 * (r.score[i] - low) / (high - low || 1));
        if (i === s.chosen) board.disc(x, y, 12, null, board.ink, 2);
        const lane = far + (i % 7) * 2, u = r.foot[i] * one;
        board.dot(c[0] + w[0] * u + side[0] * lane, c[1] + w[1] * u + side[1] * lane, r.z[i], 2);
      });
      const tip = s.tip = [c[0] + w[0] * size * .33, c[1] + w[1] * size * .33];
      board.line(c[0] - w[0] * size * .1, c[1] - w[1] * size * .1, ...tip, board.ink, 3);
      for (const d of [2.6, -2.6]) board.line(...tip, tip[0] + 12 * Math.cos(Math.atan2(w[1], w[0]) + d), tip[1] + 12 * Math.sin(Math.atan2(w[1], w[0]) + d), board.ink, 3);
      board.disc(...tip, 11, null, board.soft, 1);
      const left = narrow ? 30 : size + 40, right = board.wide - 20, top = narrow ? size + 34 : 34, bottom = narrow ? size + 165 : size - 40;
      const x = a => left + a / 180 * (right - left), curves = [[Array.from(s.all.J1), PALETTE[0], "quality J₁"], [Array.from(s.all.J2), PALETTE[1], "usefulness J₂"], [r.F, board.ink, "F = J₁ − μJ₂"]];
      const all = curves.flatMap(q => q[0]), least = Math.min(...all, 0), most = Math.max(...all), y = v => bottom - (v - least) / (most - least || 1) * (bottom - top);
      board.line(left, y(0), right, y(0), board.soft, .8);
      for (const q of [2, 0, 1]) {  // F lies under the others: it is J₁ itself while μ is 0
        const [v, colour] = curves[q], a = i => i * 180 / (r.steps - 1);
        for (let i = 1; i < r.steps; i++) board.line(x(a(i - 1)), y(v[i - 1]), x(a(i)), y(v[i]), colour, q === 2 ? 5 : 2, q === 1 ? [6, 4] : []);
      }
      board.line(x(s.values.theta), top - 6, x(s.values.theta), bottom, board.ink, 1, [3, 3]);
      board.disc(x(s.values.theta), y(r.J1 - s.values.mu * r.J2), 5, board.ink);
      for (const a of [0, 45, 90, 135, 180]) board.text(`${a}°`, x(a), bottom + 18, board.ink, "center");
      let from = left;
      curves.forEach(([, colour, name]) => { board.text(name, from, top - 14, colour); from += board.pen.measureText(name).width + 14; });
    },
    grab: (s, x, y) => s.tip && Math.hypot(x - s.tip[0], y - s.tip[1]) < 22 ? (u, v) => {
      const a = Math.atan2(s.scale / 2 - v, u - s.scale / 2) * 180 / Math.PI;
      s.set("theta", Math.round((a + 360) % 180));
    } : null,
    say(s, r) {
      return `Arrow at ${Math.round(s.values.theta)}°: quality ${round(r.J1, 3)}, usefulness ${round(r.J2, 3)}, F ${round(r.J1 - s.values.mu * r.J2, 3)}. ` +
        `F ${Math.abs(r.slope) < .005 ? "is flat here" : `falls when the arrow turns ${r.slope > 0 ? "clockwise" : "counter-clockwise"}`}. The best direction is ${Math.round(r.best)}°.`;
    },
  };
  function lowest(F) {  // where a closed curve is lowest, between its places too: the vertex through three of them
    const m = F.length - 1, at = F.indexOf(Math.min(...F.slice(0, m)));  // the last place is the first again
    const [a, b, c] = [F[(at + m - 1) % m], F[at], F[(at + 1) % m]], bend = a - 2 * b + c;
    return (at + (bend > 0 ? (a - c) / (2 * bend) : 0) + m) % m;
  }
  function spreadOf(v) {  // the median distance
    const some = v.slice(0, 80), gaps = [];
    some.forEach((p, i) => { for (let j = 0; j < i; j++) gaps.push(Math.abs(p - some[j])); });
    return gaps.sort((p, q) => p - q)[gaps.length >> 1] || 1;
  }

  // ---------------------------------------------------------------- parts, who speaks for them, and what they said
  scenes.cobras = {
    points: true,
    actions: [
      ["Ask the next question", s => { const q = s.result && s.result.next; if (q && s.links.length < MOST_ANSWERS) s.links.push([...q, s.truth[q[0]] === s.truth[q[1]] ? 1 : -1, 2]); }],
      ["Lie now", s => {
        const right = told(s).map((l, e) => l.lie ? -1 : e).filter(e => e >= 0);
        if (right.length) { s.lies = (s.lies || 0) + 1; const e = right[Math.floor(s.luck[s.lies * 3] * right.length)]; s.links[e][2] = -s.links[e][2]; }
      }],
      ["Undo", s => { s.links.pop(); }],
    ],
    compute(s) {
      const n = s.points.length, k = Math.min(Math.round(s.values.parts), n);
      const cut = s.kernels.call("parts_run", {X: flat(s.points), n, d: 2, k, draws: s.draws.slice(0, 10 * k), starts: 10, z: null, rep: null});
      if (s.cut != null && s.cut !== k) s.links = [];  // other parts, other speakers
      s.cut = k;
      const list = told(s), used = list.map(l => ({...l, a: cut.z[l.a], b: cut.z[l.b]})).map((l, e) => ({...l, e})).filter(l => l.a !== l.b);
      if (used.length > MOST_ANSWERS) throw new Error(`at most ${MOST_ANSWERS} answers: ${2 ** MOST_ANSWERS} sets are listed`);
      const out = s.kernels.call("answer_sets", {...linkArrays(used), n: k, nu: s.values.nu, three: 3, best: null, wrong: null, tally: null, says: null, against: null});
      const group = Array.from({length: k}, (_, i) => { for (let j = 0; j < i; j++) if (out.says[i * k + j] === 1) return j; return i; });
      const asked = new Set(used.map(l => Math.min(l.a, l.b) * k + Math.max(l.a, l.b)));
      let next = null, why = "nearest", least = 9, most = 1e-6;
      for (let i = 0; i < k; i++) for (let j = i + 1; j < k; j++) {
        if (out.says[i * k + j] !== 0 || asked.has(i * k + j)) continue;
        const [p, q] = [s.points[cut.rep[i]], s.points[cut.rep[j]]], gap = Math.hypot(p[0] - q[0], p[1] - q[1]);
        if (gap < least) { least = gap; next = [cut.rep[i], cut.rep[j]]; }
      }
      if (!next) for (let i = 0; i < k; i++) for (let j = i + 1; j < k; j++)
        if (!asked.has(i * k + j) && out.against[i * k + j] > most + 1e-12) { most = out.against[i * k + j]; next = [cut.rep[i], cut.rep[j]]; why = "most doubtful"; }
      const z = matched(Array.from(cut.z, p => group[p]), s.truth), wrong = list.map(() => 0), flipped = list.map(() => false);
      used.forEach((l, i) => { wrong[l.e] = out.wrong[i]; flipped[l.e] = out.best[i] !== l.value; });
      return {list, cut, k, group, z, next, why, wrong, flipped, sets: out.returned, heard: used.length, chance: out.tally[0], ties: out.tally[1]};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, side = narrow ? 60 : 110, size = Math.min(board.wide - side, s.height);
      board.begin(Math.max(size, 240));
      s.scale = size;
      const wide = board.wide - side, at = s.at = p => [8 + p[0] * (wide - 16), 8 + (1 - p[1]) * (size - 16)];
      const speaker = i => at(s.points[r.cut.rep[r.cut.z[i]]]);
      board.pen.globalAlpha = .35;
      s.points.forEach((p, i) => board.line(...at(p), ...speaker(i), board.soft, 1));
      board.pen.globalAlpha = 1;
      drawPoints(board, s, r.z, at, 4);
      r.list.forEach((l, e) => {
        const [x, y] = at(s.points[l.a]), [u, v] = at(s.points[l.b]);
        if (r.flipped[e]) board.line(x, y, u, v, "#E69F00", 11);
        board.pen.globalAlpha = Math.max(.15, 1 - r.wrong[e]);
        board.line(x, y, u, v, l.value > 0 ? SAME : DIFFERENT, 2.6, l.value > 0 ? [] : [6, 5]);
        board.pen.globalAlpha = 1;
        if (l.lie) board.cross((x + u) / 2, (y + v) / 2, 6, board.ink);
      });
      if (r.next) { const [p, q] = r.next.map(i => at(s.points[i])); board.line(...p, ...q, board.ink, 1.6, [2, 4]); }
      for (let p = 0; p < r.k; p++) {
        const [x, y] = at(s.points[r.cut.rep[p]]);
        board.dot(x, y, r.z[r.cut.rep[p]], 9);
        board.disc(x, y, 9, null, board.ink, 1.5);
      }
      const left = board.wide - side / 2 - 14, high = Math.max(size, 240) - 60, low = Math.max(size, 240) - 26, h = r.chance * high;
      board.bar(left, low - h, 28, h, r.chance > .85 ? SAME : "#D55E00");
      board.line(left - 8, low, left + 36, low, board.ink);
      board.text(round(r.chance), left + 14, low - h - 6, board.ink, "center");
      board.text("confidence", board.wide - 2, low + 18, board.ink, "right");
    },
    say(s, r) {
      const K = new Set(r.group).size, lies = r.list.filter(l => l.lie).length;
      const next = r.next ? ` The next question is about points ${r.next.join(" and ")} (the ${r.why} pair).` : " Nothing is left to ask.";
      return `${many(r.k, "part")}, ${many(r.heard, "answer")}, ${lies} of them ${lies === 1 ? "a lie" : "lies"}: ${many(K, "cluster")}, agreement with the truth ${round(agreement(r.z, s.truth))}. ` +
        `${r.sets} of ${2 ** r.heard} sets of answers ${r.sets === 1 ? "is" : "are"} consistent; the likeliest has a chance of ${round(r.chance, 3)}${r.ties > 1 ? `, and ${r.ties - 1} more ${r.ties === 2 ? "is" : "are"} as likely` : ""}.${next}`;
    },
  };

  // ---------------------------------------------------------------- a tree while its labels fade
  scenes.tree = {
    items: "a label: recorded as the others, or hardly ever",
    compute(s) {
      const K = s.names.length, n = Math.min(Math.round(s.values.rows), s.rows.length), off = s.off = s.off || [];
      const Z = new Int32Array(n * K);
      for (let i = 0; i < n; i++) for (let c = 0; c < K; c++)
        if (s.rows[i][c] === "1") Z[i * K + c] = +(s.luck[(i * K + c) % 8000] >= (off[c] ? .95 : s.values.fade));
      const out = s.kernels.call("tree_run", {Z, n, K, eps: .005, rounds: Math.round(s.values.sweep), rate: [.2], one: 1, parents: null, m: null, together: null});
      const seen = Array.from({length: K}, (_, c) => { let t = 0; for (let i = 0; i < n; i++) t += Z[i * K + c]; return t; });
      const share = Array.from({length: K * K}, (_, at) => {
        const p = Math.floor(at / K), c = at % K;
        let both = 0;
        for (let i = 0; i < n; i++) both += Z[i * K + p] * Z[i * K + c];
        return seen[c] ? both / seen[c] : 0;
      });
      const wrong = s.parents.filter((p, c) => p !== out.parents[c]).length;
      return {n, K, found: Array.from(out.parents), rate: out.rate[0], wrong, share, seen, recorded: out.returned};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, K = r.K, wide = narrow ? board.wide : board.wide * .6, high = 230;
      const cell = narrow ? Math.min(18, (board.wide - 40) / K) : Math.min(20, (board.wide - wide - 50) / K);
      board.begin(narrow ? high + cell * K + 60 : Math.max(high, cell * K + 60));
      const depth = c => s.parents[c] < 0 ? 1 : 1 + depth(s.parents[c]), leaves = s.parents.map((_, c) => c).filter(c => !s.parents.includes(c));
      const x = c => { const i = leaves.indexOf(c); if (i >= 0) return (i + .5) / leaves.length * (wide - 16) + 8;
        const kids = s.parents.map((p, k) => p === c ? x(k) : null).filter(v => v != null); return kids.reduce((t, v) => t + v, 0) / kids.length; };
      const place = c => c < 0 ? [wide / 2, 26] : [x(c), 26 + depth(c) * 78];
      s.parents.forEach((p, c) => board.line(...place(p), ...place(c), board.soft, 5));
      r.found.forEach((p, c) => {
        const [x, y] = place(p), [u, v] = place(c);
        if (p === s.parents[c]) return board.line(x, y, u, v, SAME, 2.4);
        const bow = y === v ? Math.min(40, 16 + Math.abs(u - x) * .18) : 0;  // not through the labels between them
        board.bend(x, y, u, v, bow, DIFFERENT, 2.4, [6, 4]);
      });
      board.disc(...place(-1), 5, board.ink);
      s.items = s.names.map((name, c) => ({x: place(c)[0], y: place(c)[1], name, act: () => { s.off[c] = !s.off[c]; }}));
      s.names.forEach((name, c) => {
        const [u, v] = place(c);
        board.disc(u, v, 14, s.off[c] ? board.paper : PALETTE[0], board.ink, 1);
        board.text(name, u, v + 5, s.off[c] ? board.ink : "#fff", "center");
      });
      const left = narrow ? 34 : wide + 40, top = narrow ? high + 44 : 44;
      board.text("recorded: chance of row, given column", narrow ? 0 : left - 26, top - 26);
      for (let p = 0; p < K; p++) {
        board.text(s.names[p], left - 6, top + p * cell + cell * .75, board.ink, "right");
        for (let c = 0; c < K; c++) {
          board.pen.globalAlpha = Math.min(1, .04 + .96 * r.share[p * K + c]);
          board.bar(left + c * cell, top + p * cell, cell - 1, cell - 1, PALETTE[0]);
          board.pen.globalAlpha = 1;
          if (s.parents[c] === p) { board.pen.strokeStyle = board.ink; board.pen.lineWidth = 1; board.pen.strokeRect(left + c * cell, top + p * cell, cell - 1, cell - 1); }
        }
      }
    },
    say(s, r) {
      const off = s.names.filter((_, c) => s.off[c]);
      return `${r.n} rows, ${r.recorded} recorded labels; ${round(100 * s.values.fade, 0)} % of the true ones faded, the tree’s EM says ${round(100 * r.rate, 0)} %. ` +
        `${r.K - r.wrong} of ${r.K} labels hang in their right place${r.wrong ? "; wrong: " + s.names.filter((_, c) => s.parents[c] !== r.found[c]).join(", ") : ""}.` +
        (off.length ? ` Hardly ever recorded: ${off.join(", ")}.` : "");
    },
  };

  // ---------------------------------------------------------------- two groups and a shared error
  scenes.voices = {
    items: "a person: same, different, silent",
    compute(s) {
      const steps = 41, m = s.group.length, errors = [s.values.shared, ...Array.from({length: steps - 1}, (_, i) => i / (steps - 2) * .6)];
      s.said = s.said || Array(m).fill(1);
      const out = s.kernels.call("voices_run", {group: s.group, said: s.said, m, noise: s.values.noise, looks: s.values.looks, errors, steps, model: null, alone: null});
      return {errors, model: out.model, alone: out.alone, spoke: out.returned};
    },
    paint(board, s, r) {
      const narrow = board.wide < 560, wide = narrow ? board.wide : 300, high = narrow ? 190 : 270;
      board.begin(narrow ? high + 248 : 270);
      const groups = [...new Set(s.group)];
      s.items = [];
      groups.forEach((g, row) => {
        const inside = s.group.map((h, e) => h === g ? e : -1).filter(e => e >= 0), y = 50 + row * (high - 60) * .62;
        board.text(s.names[g], 6, y - 28);
        board.pen.strokeStyle = board.soft; board.pen.lineWidth = 1; board.pen.strokeRect(4, y - 22, wide - 12, 50);
        inside.forEach((e, i) => {
          const x = 30 + i * Math.min(64, (wide - 50) / Math.max(inside.length, 1)), said = s.said[e];
          board.disc(x, y + 3, 16, said === 1 ? SAME : said === 0 ? DIFFERENT : board.paper, board.ink, 1.2);
          board.text(said === 1 ? "S" : said === 0 ? "D" : "–", x, y + 8, said < 0 ? board.ink : "#fff", "center");
          s.items.push({x, y: y + 3, name: `${s.names[g]} ${i + 1}`, act: () => { s.said[e] = said === 1 ? 0 : said === 0 ? -1 : 1; }});
        });
      });
      board.text("S same, D different, – silent", 6, high - 8);
      const left = narrow ? 34 : wide + 44, right = board.wide - 12, top = narrow ? high + 30 : 34, bottom = narrow ? high + 180 : 226;
      const x = v => left + v / .6 * (right - left), y = v => bottom - v * (bottom - top);
      for (const v of [0, .5, 1]) { board.line(left, y(v), right, y(v), board.soft, .6); board.text(String(v), left - 6, y(v) + 4, board.ink, "right"); }
      for (const v of [0, .2, .4, .6]) board.text(String(v), x(v), bottom + 18, board.ink, "center");
      board.text("chance of same, against the shared error", left, top - 14);
      for (let i = 2; i < r.errors.length; i++) for (const [v, colour, dash] of [[r.alone, PALETTE[2], [6, 4]], [r.model, PALETTE[0], []]])
        board.line(x(r.errors[i - 1]), y(v[i - 1]), x(r.errors[i]), y(v[i]), colour, 2.4, dash);
      board.line(x(s.values.shared), top, x(s.values.shared), bottom, board.ink, 1, [3, 3]);
      board.disc(x(s.values.shared), y(r.alone[0]), 5, PALETTE[2]);
      board.disc(x(s.values.shared), y(r.model[0]), 5, PALETTE[0]);
      board.text("one opinion a group", left, bottom + 38, PALETTE[0]);
      board.text("everybody errs alone (dashed)", left + (narrow ? 0 : 140), bottom + (narrow ? 56 : 38), PALETTE[2]);
    },
    say(s, r) {
      const words = s.said.map(v => v === 1 ? "same" : v === 0 ? "different" : "silent");
      const each = [...new Set(s.group)].map(g => `${s.names[g]}: ${words.filter((_, e) => s.group[e] === g).join(", ")}`);
      return `${each.join("; ")}. With a shared error of ${round(s.values.shared)} the chance of “same” is ${round(r.model[0], 3)} when a group errs together, ` +
        `${round(r.alone[0], 3)} if everybody erred alone.`;
    },
  };

  function matched(z, y) {  // the same clusters, numbered like `y` so that most points agree
    const shared = new Map(), name = new Map(), taken = new Set();
    z.forEach((k, i) => { const key = k + " " + y[i]; shared.set(key, (shared.get(key) || 0) + 1); });
    const give = (k, c) => { name.set(k, c); taken.add(c); };
    const zs = [...new Set(z)], ys = [...new Set(y)], common = (k, c) => shared.get(k + " " + c) || 0;
    if (ys.length <= 8) {  // the best of all ways: `best[used]` over the names that are used, cluster by cluster
      let best = new Map([[0, [0, []]]]);
      for (const k of zs) {
        const next = new Map();
        for (const [used, [points, pairs]] of best)
          for (let c = -1; c < ys.length; c++) {
            if (c >= 0 && (used >> c & 1 || !common(k, ys[c]))) continue;
            const now = c < 0 ? used : used | 1 << c, more = points + (c < 0 ? 0 : common(k, ys[c]));
            if (!next.has(now) || next.get(now)[0] < more) next.set(now, [more, c < 0 ? pairs : [...pairs, [k, ys[c]]]]);
          }
        best = next;
      }
      const [, pairs] = [...best.values()].reduce((a, b) => b[0] > a[0] ? b : a);
      for (const [k, c] of pairs) give(k, c);
    } else for (const [key] of [...shared].sort((a, b) => b[1] - a[1])) {
      const [k, c] = key.split(" ").map(Number);
      if (!name.has(k) && !taken.has(c)) give(k, c);
    }
    let next = 0;
    for (const k of new Set(z)) if (!name.has(k)) {
      while (taken.has(next) || y.includes(next)) next++;
      name.set(k, next); taken.add(next);
    }
    return Array.from(z, k => name.get(k));
  }

  function agreement(z, y) {  // adjusted Rand index
    const n = z.length, count = m => { const c = new Map(); m.forEach(k => c.set(k, (c.get(k) || 0) + 1)); return c; };
    const two = c => [...c.values()].reduce((s, v) => s + v * (v - 1) / 2, 0);
    const both = two(count(Array.from(z, (k, i) => k * 1000 + y[i])));
    const a = two(count(Array.from(z))), b = two(count(y)), all = n * (n - 1) / 2;
    const chance = a * b / all, most = (a + b) / 2;
    return most === chance ? 1 : (both - chance) / (most - chance);
  }

  // ---------------------------------------------------------------- one explorable
  const TOOLS = {
    move: ["Move", "drag a point"],
    add: ["Add", "click where a new point shall be"],
    remove: ["Remove", "click a point"],
    same: ["Same", "click two points: they belong together"],
    different: ["Different", "click two points: they do not"],
    lie: ["Flip", "click an answer: it becomes its opposite"],
    ask: ["Ask about", "click points: the last three are a, b and c"],
  };

  let mounted = 0;
  async function inflate(base64) {
    const packed = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  // A module stands once on a page; an explorable without one takes that of another, which may come later.
  const shelf = {};
  function moduleOf(config) {
    const place = shelf[config.kernel] = shelf[config.kernel] || {};
    place.bytes = place.bytes || new Promise(resolve => { place.give = resolve; });
    if (config.wasm) place.give(inflate(config.wasm));
    const late = new Promise((_, refuse) => setTimeout(() => refuse(new Error("its module is not on this page")), 20000));
    return Promise.race([place.bytes, late]);
  }

  // Where WebAssembly is missing: pictures taken beforehand, and a slider over them.
  function still(root, problem) {
    root.classList.add("csc-live-still");
    root.dataset.problem = problem.message;
    const box = root.querySelector(".csc-live-still-picture"), data = box && box.querySelector("script");
    if (!data) return;
    const {label, shots} = JSON.parse(data.textContent), picture = box.querySelector("img");
    const bar = make("div", box, {className: "csc-live-bar"}), said = make("p", box, {className: "csc-live-said"});
    said.setAttribute("aria-live", "polite");
    const show = i => {
      picture.src = `data:image/webp;base64,${shots[i].img || picture.dataset.first}`;
      said.textContent = picture.alt = shots[i].said;
    };
    picture.dataset.first = picture.src.split("base64,")[1];
    if (shots.length > 1) {
      const at = make("label", bar), shown = make("span", at, {textContent: `${label}: `}), value = make("b", shown);
      const input = make("input", at, {type: "range", min: 0, max: shots.length - 1, step: 1, value: 0});
      const move = () => { value.textContent = shots[input.value].at; input.setAttribute("aria-valuetext", shots[input.value].at); show(+input.value); };
      input.setAttribute("aria-label", label);
      input.addEventListener("input", move);
      move();
    } else show(0);
    make("p", box, {className: "csc-live-help", textContent: "This browser has no WebAssembly: pictures taken beforehand, nothing can be dragged."});
  }

  async function mount(root, changed) {
    if (root.dataset.live) return;
    root.dataset.live = "1";
    const config = JSON.parse(root.querySelector(':scope > script[type="application/json"]').textContent);
    let kernels;
    try { kernels = new Kernels(await moduleOf(config), config.entries); }
    catch (problem) { still(root, problem); return; }
    const scene = scenes[config.draw], s = {...structuredClone(config.data), kernels, height: config.height, tool: scene.asks ? "ask" : "move"};
    if (!scene.asks) config.tools = config.tools.filter(t => t !== "ask");
    s.links = s.links || [];
    s.points = s.points || [];
    if (scene.ringed) s.chosen = 0;
    s.values = Object.fromEntries(config.sliders.map(c => [c.name, c.value]));
    s.set = (name, v) => { const c = config.sliders.find(q => q.name === name); s.values[name] = Math.min(c.max, Math.max(c.min, v)); controls[name](s.values[name]); };
    s.update = () => update();
    const random = mulberry(7);
    s.order = s.order || Array.from({length: 2000}, (_, i) => i).sort(() => random() - .5);
    s.draws = Array.from({length: 200}, random);
    s.luck = Array.from({length: 8000}, random);
    const body = document.createElement("div");
    body.className = "csc-live-body";
    root.querySelector(".csc-live-still-picture")?.remove();
    root.append(body);
    const canvas = make("canvas", body, {tabIndex: 0, role: "application"});
    canvas.setAttribute("aria-label", config.alt);
    canvas.setAttribute("aria-roledescription", "explorable picture");
    const board = new Board(canvas), bar = make("div", body, {className: "csc-live-bar"});
    const said = make("p", body, {className: "csc-live-said"});
    said.setAttribute("aria-live", "polite");
    said.id = `csc-live-${++mounted}`;
    canvas.setAttribute("aria-describedby", said.id);
    const controls = {};
    for (const c of config.sliders) controls[c.name] = slider(bar, c, v => { s.values[c.name] = v; drag(); });
    if (controls.sweep) {
      const c = config.sliders.find(c => c.name === "sweep");
      const go = v => { controls.sweep(v); s.values.sweep = v; update(); };
      button(bar, "Step", () => go(Math.min(s.values.sweep + c.step, c.max)));
      const play = button(bar, "Play", () => {
        if (calm.matches) return go(c.max);
        if (s.timer) return stop();
        if (s.values.sweep >= c.max) go(c.min);
        play.textContent = "Pause";
        s.timer = setInterval(() => s.values.sweep >= c.max ? stop() : go(s.values.sweep + c.step), c.pace || 500);
      });
      const stop = () => { clearInterval(s.timer); s.timer = null; play.textContent = "Play"; };
    }
    if (scene.points && config.tools.length > 1) {
      const group = make("div", bar, {className: "csc-live-tools", role: "radiogroup"});
      group.setAttribute("aria-label", "what a click does");
      for (const t of config.tools) {
        const [name, title] = TOOLS[t];
        const b = button(group, name, () => { s.tool = t; s.first = null; mark(); update(); });
        b.title = title;
        b.setAttribute("role", "radio");
        b.dataset.tool = t;
      }
      const mark = () => group.querySelectorAll("button").forEach(b =>
        b.setAttribute("aria-checked", b.dataset.tool === s.tool));
      mark();
      s.pick = t => { s.tool = config.tools.includes(t) ? t : s.tool; s.first = null; mark(); };
    } else s.pick = () => {};
    for (const [name, act] of scene.actions || []) button(bar, name, () => { act(s); update(); });
    const begin = JSON.stringify({...config.data, links: s.links});
    button(bar, "Start again", () => {
      Object.assign(s, {off: null, silent: null, said: null, ask: null, brush: null, cut: null, item: null}, JSON.parse(begin), {chosen: scene.ringed ? 0 : null, first: null, edge: 0, lies: 0});
      for (const c of config.sliders) { s.values[c.name] = c.value; controls[c.name](c.value); }
      update();
    });
    if (config.csv) csvReader(bar, points => {
      Object.assign(s, {points, links: [], truth: null, chosen: 0, first: null});
      update();
    }, words => { said.textContent = words; });
    const help = make("details", body, {className: "csc-live-help"}), can = t => config.tools.includes(t);
    const keys = [];
    if (scene.points) {
      keys.push("<kbd>n</kbd>, <kbd>b</kbd>: next, previous point" + (can("move") ? "; arrows move it" : ""));
      if (can("add")) keys.push("<kbd>a</kbd> adds one");
      if (can("remove")) keys.push("<kbd>Del</kbd> removes it");
      if (can("same")) keys.push("<kbd>s</kbd> or <kbd>d</kbd> on one point, then on another: same, different");
      if (can("lie")) keys.push("<kbd>f</kbd> flips an answer about the point");
      if (can("ask")) keys.push("<kbd>q</kbd> makes it one of the three that are asked about");
    } else if (!scene.items) keys.push("<kbd>n</kbd>, <kbd>b</kbd>: next, previous edge; <kbd>f</kbd> changes it");
    if (scene.items) keys.push(`<kbd>i</kbd>, <kbd>u</kbd>: next, previous; <kbd>Enter</kbd> changes ${scene.items}`);
    help.innerHTML = `<summary>By keyboard</summary>Focus the picture. ${keys.join("; ")}. Sliders and buttons follow with <kbd>Tab</kbd>.`;

    function drag() {  // over many points it is drawn coarsely, and in full when the slider rests
      s.coarse = s.points.length > 150;
      update();
      clearTimeout(s.rest);
      if (s.coarse) s.rest = setTimeout(update, 150);
      s.coarse = false;
    }
    function update() {
      try {
        const r = s.result = scene.compute(s);
        board.wide = canvas.clientWidth || 600;
        scene.paint(board, s, r);
        if (s.items && s.item != null && s.items[s.item]) board.disc(s.items[s.item].x, s.items[s.item].y, 20, null, board.ink, 2.5);
        said.textContent = scene.say(s, r);
        if (changed) changed({values: s.values, points: s.points, links: s.links, said: said.textContent});
      } catch (problem) {
        said.textContent = problem.message;
        if (!s.points.length) board.begin(s.height);
      }
    }
    const near = (x, y) => {
      let best = -1, least = 400;
      s.points.forEach((p, i) => {
        const [u, v] = s.at(p), gap = (u - x) ** 2 + (v - y) ** 2;
        if (gap < least) { least = gap; best = i; }
      });
      return best;
    };
    const nearLink = (x, y) => {
      let best = -1, least = 14;
      s.links.forEach(([a, b], e) => {
        const [p, q] = s.at(s.points[a]), [u, v] = s.at(s.points[b]);
        const l2 = (u - p) ** 2 + (v - q) ** 2 || 1;
        const t = Math.min(.85, Math.max(.15, ((x - p) * (u - p) + (y - q) * (v - q)) / l2));
        const gap = Math.hypot(x - p - t * (u - p), y - q - t * (v - q));
        if (gap < least) { least = gap; best = e; }
      });
      return best;
    };
    const back = (x, y) => {
      const [x0, y1] = s.at([0, 0]), [x1, y0] = s.at([1, 1]);
      const keep = v => Math.min(1, Math.max(0, v));
      return [keep((x - x0) / (x1 - x0)), keep((y1 - y) / (y1 - y0))];
    };
    const place = e => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
    function answer(i, value) {
      if (s.first == null || s.first === i) { s.first = s.first === i ? null : i; s.chosen = i; return; }
      s.links.push([s.first, i, value, 2]);
      s.first = null;
    }
    function removePoint(i) {
      if (s.points.length < 3) return;
      s.points.splice(i, 1);
      if (s.truth) s.truth.splice(i, 1);
      s.links = s.links.filter(l => l[0] !== i && l[1] !== i)
        .map(([a, b, ...rest]) => [a - (a > i), b - (b > i), ...rest]);
      s.chosen = s.first = null;
    }
    function grow(p) {
      s.points.push(p);
      if (scene.added) scene.added(s);
      else s.truth = null;
    }
    function asked(i) {  // the oldest of the three makes room
      if (!s.ask.includes(i)) s.ask = [...s.ask.slice(1), i];
    }
    function flip(e) {
      const l = s.links[e];
      if (scene.points) { l[2] = -l[2]; l[3] = l[3] === -1 ? 2 : -1; }
      else l[2] = l[2] > 0 ? -1 : l[2] < 0 ? 0 : 1;
    }
    const nearItem = (x, y) => (s.items || []).findIndex(q => Math.hypot(q.x - x, q.y - y) < 18);
    canvas.addEventListener("pointerdown", e => {
      const [x, y] = place(e), i = scene.points ? near(x, y) : -1, item = scene.items ? nearItem(x, y) : -1;
      s.hold = scene.grab && scene.grab(s, x, y);
      if (s.hold) { canvas.setPointerCapture(e.pointerId); e.preventDefault(); return; }
      if (item >= 0) { s.item = item; s.items[item].act(); }
      else if (scene.items && !scene.points) return;
      else if (!scene.points || s.tool === "lie") {
        const link = nearLink(x, y);
        if (link >= 0) { s.edge = link; flip(link); }
      } else if (s.tool === "add") grow(back(x, y));
      else if (i >= 0 && s.tool === "ask") asked(i);
      else if (i >= 0 && s.tool === "remove") removePoint(i);
      else if (i >= 0 && s.tool === "same") answer(i, 1);
      else if (i >= 0 && s.tool === "different") answer(i, -1);
      else if (i >= 0) { s.chosen = i; s.drag = i; canvas.setPointerCapture(e.pointerId); e.preventDefault(); }
      update();
    });
    canvas.addEventListener("touchstart", e => {  // a finger on a point drags it; elsewhere it scrolls the page
      const r = canvas.getBoundingClientRect(), x = e.touches[0].clientX - r.left, y = e.touches[0].clientY - r.top;
      if (scene.grab && scene.grab(s, x, y) || scene.points && s.tool === "move" && near(x, y) >= 0) e.preventDefault();
    }, {passive: false});
    canvas.addEventListener("pointermove", e => {
      if (s.hold) { s.hold(...place(e)); return update(); }
      if (s.drag == null) return;
      s.points[s.drag] = back(...place(e));
      update();
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { s.drag = s.hold = null; });
    canvas.addEventListener("keydown", e => {
      const n = s.points ? s.points.length : 0, step = {ArrowLeft: [-.02, 0], ArrowRight: [.02, 0], ArrowUp: [0, .02], ArrowDown: [0, -.02]}[e.key];
      const i = s.chosen ?? 0, on = e.key.toLowerCase();
      if (scene.items && s.items && (on === "i" || on === "u" || !scene.points && (on === "n" || on === "b"))) {
        const m = s.items.length, ahead = on === "i" || on === "n";
        s.item = s.item == null ? (ahead ? 0 : m - 1) : (s.item + (ahead ? 1 : m - 1)) % m;
      } else if (scene.items && on === "enter" && s.item != null) s.items[s.item].act();
      else if (!scene.points) {
        const m = s.links.length;
        if (!m) return;
        if (on === "n") s.edge = ((s.edge ?? -1) + 1) % m;
        else if (on === "b") s.edge = ((s.edge ?? 1) + m - 1) % m;
        else if (on === "f" && s.edge != null) flip(s.edge);
        else return;
      } else if (step && !config.tools.includes("move")) return;
      else if (on === "q" && config.tools.includes("ask")) asked(i);
      else if (step && s.points[i]) s.points[i] = s.points[i].map((v, j) => Math.min(1, Math.max(0, v + step[j])));
      else if (on === "n") s.chosen = ((s.chosen ?? -1) + 1) % n;
      else if (on === "b") s.chosen = (i + n - 1) % n;
      else if (on === "a" && config.tools.includes("add")) { grow([.5 + .3 * (s.luck[n * 3] - .5), .5 + .3 * (s.luck[n * 3 + 1] - .5)]); s.chosen = n; }
      else if (on === "delete" && config.tools.includes("remove")) removePoint(i);
      else if (on === "s" && config.tools.includes("same")) answer(i, 1);
      else if (on === "d" && config.tools.includes("different")) answer(i, -1);
      else if (on === "f") { const e2 = s.links.findIndex(l => l[0] === i || l[1] === i); if (e2 >= 0) flip(e2); }
      else return;
      e.preventDefault();
      update();
    });
    new ResizeObserver(() => { if (board.wide !== canvas.clientWidth) update(); }).observe(canvas);
    new MutationObserver(update).observe(document.documentElement, {attributeFilter: ["data-theme"]});
    root.cscState = s;
    root.cscUpdate = update;
    update();
  }

  // A file of the reader's own: read here, sent nowhere.
  function csvReader(parent, use, say) {
    const label = make("label", parent, {textContent: "CSV file "});
    const file = make("input", label, {type: "file", accept: ".csv,.tsv,.txt"});
    const choice = make("span", parent), most = 400;
    file.addEventListener("change", async () => {
      const text = (await file.files[0].text()).replace(/^\ufeff/, "");
      const lines = text.split(/\r?\n/).filter(l => l.trim());
      if (lines.length < 4) return say("That file has fewer than three rows.");
      const mark = ["\t", ";", ","].sort((a, b) => lines[0].split(b).length - lines[0].split(a).length)[0];
      const rows = lines.map(l => l.split(mark).map(c => c.trim().replace(/^"|"$/g, "")));
      const number = c => Number(mark === ";" ? c.replace(",", ".") : c);
      const columns = rows[0].map((name, j) => ({name, j, ok: rows.slice(1).filter(r => r[j] !== "" && Number.isFinite(number(r[j] ?? "x"))).length}))
        .filter(c => c.ok > rows.length / 2);
      if (columns.length < 2) return say("Two columns of numbers are needed; this file has " + columns.length + ".");
      choice.textContent = "";
      const pick = k => {
        const menu = make("select", choice);
        menu.setAttribute("aria-label", ["horizontal column", "vertical column"][k]);
        columns.forEach((c, i) => make("option", menu, {value: c.j, textContent: c.name, selected: i === k}));
        menu.addEventListener("change", show);
        return menu;
      };
      const menus = [pick(0), pick(1)];
      function show() {
        const [j, k] = menus.map(m => +m.value);
        const all = rows.slice(1).map(r => [number(r[j] || "x"), number(r[k] || "x")]);
        const good = all.filter(p => p.every(Number.isFinite)), some = good.slice(0, most);
        const low = [0, 1].map(c => Math.min(...some.map(p => p[c])));
        const wide = [0, 1].map(c => Math.max(...some.map(p => p[c])) - low[c] || 1);
        use(some.map(p => p.map((v, c) => .04 + .92 * (v - low[c]) / wide[c])));
        if (good.length < all.length || good.length > most)
          say(`${some.length} of ${all.length} rows shown; ${all.length - good.length} have no number in these columns.`);
      }
      show();
    });
  }

  function make(tag, parent, props = {}) {
    const e = Object.assign(document.createElement(tag), props);
    if (props.role) e.setAttribute("role", props.role);
    parent.append(e);
    return e;
  }
  function button(parent, name, act) {
    const b = make("button", parent, {type: "button", textContent: name});
    b.addEventListener("click", act);
    return b;
  }
  function slider(parent, c, changed) {
    const label = make("label", parent), shown = make("span", label, {textContent: `${c.label}: `});
    const value = make("b", shown);
    const input = make("input", label, {type: "range", min: c.min, max: c.max, step: c.step, value: c.value});
    const show = v => { value.textContent = +Number(v).toFixed(4); };
    input.addEventListener("input", () => { show(input.value); changed(+input.value); });
    input.setAttribute("aria-label", c.label);
    show(c.value);
    return v => { input.value = v; show(v); };
  }
  function mulberry(a) {
    return () => {
      a = a + 0x6D2B79F5 | 0;
      let t = Math.imul(a ^ a >>> 15, 1 | a);
      t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
      return ((t ^ t >>> 14) >>> 0) / 4294967296;
    };
  }
  window.cscLive = {mount, inflate, Kernels, scenes, agreement, matched};
})();
