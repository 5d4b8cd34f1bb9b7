// Explorables that compute in the page: our own kernels as WebAssembly, one canvas, no framework, nothing fetched.
(() => {
  if (window.cscLive) return;
  const PALETTE = ["#0072B2", "#E69F00", "#882255", "#56B4E9", "#6F4E1F", "#DDCC77", "#332288", "#CC79A7"];
  const SAME = "#1b8a3a", DIFFERENT = "#c4302b";
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
      this.instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), {env});
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
      this.wide = wide;
      this.high = height;
      this.pen.clearRect(0, 0, wide, height);
      this.pen.font = "13px system-ui, sans-serif";
    }
    line(x, y, u, v, colour, width = 1, dash = []) {
      const p = this.pen;
      p.beginPath(); p.setLineDash(dash); p.moveTo(x, y); p.lineTo(u, v);
      p.strokeStyle = colour; p.lineWidth = width; p.stroke(); p.setLineDash([]);
    }
    disc(x, y, r, fill, edge, width = 1) {
      const p = this.pen;
      p.beginPath(); p.arc(x, y, Math.max(r, 0), 0, 7);
      if (fill) { p.fillStyle = fill; p.fill(); }
      if (edge) { p.strokeStyle = edge; p.lineWidth = width; p.stroke(); }
    }
    bar(x, y, w, h, fill) { this.pen.fillStyle = fill; this.pen.fillRect(x, y, w, h); }
    text(words, x, y, colour = this.ink, align = "left") {
      this.pen.fillStyle = colour; this.pen.textAlign = align; this.pen.fillText(words, x, y);
    }
    cross(x, y, r, colour) {
      this.line(x - r, y - r, x + r, y + r, colour, 2);
      this.line(x - r, y + r, x + r, y - r, colour, 2);
    }
    dot(x, y, k, r = 5) { this.disc(x, y, r, PALETTE[k % 8], k >= 8 ? this.ink : null); }
  }
  const round = (x, n = 2) => Number(x).toFixed(n);

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
      const many = list.length > 150;  // keep the points in sight
      board.pen.globalAlpha = (broken ? 1 : .45) * (many ? .4 : 1);
      board.line(x, y, u, v, colour, (broken ? 2.6 : 1.2) * (many ? .6 : 1), l.value > 0 ? [] : [5, 4]);
      if (l.lie) board.cross((x + u) / 2, (y + v) / 2, many ? 2.5 : 4, board.ink);
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
      const at = s.at = p => [p[0] * size, (1 - p[1]) * size];
      s.scale = size;
      for (let k = 0; k < r.K; k++) {
        const [x, y] = at([r.mu[2 * k], r.mu[2 * k + 1]]);
        board.pen.globalAlpha = .5;
        board.disc(x, y, Math.sqrt(s.values.lam) * size, null, PALETTE[k % 8], 1.2);
        board.pen.globalAlpha = 1;
        board.line(x - 5, y, x + 5, y, PALETTE[k % 8], 2.5);
        board.line(x, y - 5, x, y + 5, PALETTE[k % 8], 2.5);
      }
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
      return `${r.K} ${r.K === 1 ? "cluster" : "clusters"} after ${Math.round(s.values.sweep)} sweeps; ` +
        `${broken.length} of ${r.list.length} answers broken, ${broken.filter(l => l.lie).length} of the ` +
        `${lies} wrong ones among them; ${r.moved} points moved in the last sweep; cost ${round(r.J, 3)}.`;
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
        const at = p => [x0 + p[0] * size, y0 + 22 + (1 - p[1]) * high];
        if (c === 0) { s.at = at; s.high = high; }
        board.text(`${name}${s.truth ? `: ${round(agreement(z, s.truth))}` : ""}`, x0, y0 + 14);
        drawLinks(board, s, r.list, z, at);
        drawPoints(board, s, z, at, 4);
      });
    },
    say(s, r) {
      const how = r.parts.map(([name, z]) => {
        const score = s.truth ? `agreement with the truth ${round(agreement(z, s.truth))}, ` : "";
        return `${name.split(":")[0]}: ${score}${new Set(z).size} clusters, ${brokenBy(z, r.list).length} answers broken`;
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
      return `${r.K} groups; the largest has ${Math.max(...sizes.values())} of ${r.z.length} points; ` +
        `${r.list.filter(l => l.lie).length} of ${r.list.length} answers are lies; ` +
        `${wrong} answers “different” contradict the chains.`;
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
        `${round(r.chance[r.order[0]])}. The sampler made ${r.sweeps} sweeps and saw ${seen} partitions; ` +
        `it spent ${round(r.sweeps ? r.visits[r.order[0]] / r.sweeps : 0)} of them on the likeliest.`;
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
      const warm = at(10 ** v.cold), frozen = at(1e9);
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
      const at = s.at = p => [p[0] * size, (1 - p[1]) * size];
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
      return `γ = ${round(r.gamma, 0)}: ${r.K} ${r.K === 1 ? "cluster" : "clusters"} after ${r.sweeps} sweeps; ` +
        `agreement ${round(r.same)} with the frozen sampler (${r.coldK} clusters)${truth}; ` +
        `the surest place of the ringed point has chance ${round(most)}; ` +
        `${brokenBy(r.z, r.list).length} of ${r.list.length} answers broken.`;
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
      return `${r.K} ${r.K === 1 ? "cluster" : "clusters"}; ${r.broken.length} answers broken (drawn thick). ` +
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
      board.text(round(r.chance), left + 14, low - h - 6, board.ink, "center");
      board.text("confidence", left + 14, size - 8, board.ink, "center");
    },
    say(s, r) {
      const pair = l => `${l.a}–${l.b}`;
      const suspects = r.list.filter((l, e) => r.best[e] !== l.value), lies = r.list.filter(l => l.lie);
      const next = r.next ? ` The next question is ${r.next.join("–")}: sets with a chance of ${round(r.doubt, 3)} say the opposite there.`
        : " No open pair could expose anything.";
      return `${r.sets} of ${2 ** r.list.length} sets are consistent. The likeliest has a chance of ${round(r.chance, 3)}` +
        `${r.ties > 1 ? `, and ${r.ties - 1} more are as likely` : ""}. ` +
        `Lies: ${lies.map(pair).join(", ") || "none"}; suspected: ${suspects.map(pair).join(", ") || "none"}.${next}`;
    },
  };

  // ---------------------------------------------------------------- particles that disagree, and the next question
  const PARTICLES = 60, MOVES = 2;
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
      const list = told(s), n = s.points.length, S = PARTICLES, size = S * 6, m = list.length;
      if (m > 20) throw new Error("at most twenty answers here");
      if (!s.wide) { const more = mulberry(11); s.wide = Float64Array.from({length: 120000}, more); }
      const steps = m * MOVES, tries = 1 + 5 * S;
      const u = new Float64Array(steps * tries);
      for (let i = 0; i < u.length; i++) u[i] = s.wide[(i * 7 + 13) % s.wide.length];
      const out = s.kernels.call("particle_run", {X: flat(s.points), ...linkArrays(list), n, d: 2, eps: s.values.eps,
        lam: .5, tau: s.values.tau, S, D: 3, K: 2, W: normals(s.wide, size, 0),
        V: normals(s.wide, steps * size, 4001), u, steps, size, tries, z: null, Q: null, tree: null, info: null});
      let next = null, most = -1;
      for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++)
        if (out.tree[i] !== out.tree[j] && out.info[i * n + j] > most) { most = out.info[i * n + j]; next = [i, j]; }
      const mean = [0, 1].map(c => s.points.reduce((t, p) => t + p[c] / n, 0));
      const sd = [0, 1].map(c => Math.sqrt(s.points.reduce((t, p) => t + (p[c] - mean[c]) ** 2 / n, 0) + 1e-12));
      return {list, ...out, heard: out.returned, next, bits: Math.max(most, 0) / Math.LN2, mean, sd,
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
      for (let q = 0; q < PARTICLES; q++) {
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
      return `${r.heard} answers heard${cycle ? `, ${cycle} not, since they close a cycle` : ""}; ${PARTICLES} particles. ` +
        (r.next ? `Next question: points ${r.next.join(" and ")}, which promises ${round(r.bits)} bits.` : "Nothing is left to ask.") + score;
    },
  };

  function matched(z, y) {  // the same clusters, numbered like `y` where they share most points
    const shared = new Map(), name = new Map(), taken = new Set();
    z.forEach((k, i) => { const key = k + " " + y[i]; shared.set(key, (shared.get(key) || 0) + 1); });
    for (const [key] of [...shared].sort((a, b) => b[1] - a[1])) {
      const [k, c] = key.split(" ").map(Number);
      if (!name.has(k) && !taken.has(c)) { name.set(k, c); taken.add(c); }
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
  };

  async function inflate(base64) {
    const packed = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  async function mount(root) {
    if (root.dataset.live) return;
    root.dataset.live = "1";
    const config = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    let kernels;
    try { kernels = new Kernels(await inflate(config.wasm), config.entries); }
    catch (problem) { root.classList.add("csc-live-still"); return; }  // the picture stays
    const scene = scenes[config.draw], s = {...config.data, kernels, height: config.height, tool: "move"};
    s.links = s.links || [];
    if (scene.ringed) s.chosen = 0;
    s.values = Object.fromEntries(config.sliders.map(c => [c.name, c.value]));
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
    const board = new Board(canvas), bar = make("div", body, {className: "csc-live-bar"});
    const said = make("p", body, {className: "csc-live-said"});
    said.setAttribute("aria-live", "polite");
    const controls = {};
    for (const c of config.sliders) controls[c.name] = slider(bar, c, v => { s.values[c.name] = v; update(); });
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
    if (scene.points) {
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
    }
    for (const [name, act] of scene.actions || []) button(bar, name, () => { act(s); update(); });
    const begin = JSON.stringify({points: s.points, links: s.links, truth: s.truth});
    button(bar, "Start again", () => {
      Object.assign(s, JSON.parse(begin), {chosen: 0, first: null, edge: 0, lies: 0});
      for (const c of config.sliders) { s.values[c.name] = c.value; controls[c.name](c.value); }
      update();
    });
    if (config.csv) csvReader(bar, points => {
      Object.assign(s, {points, links: [], truth: null, chosen: 0, first: null});
      update();
    }, words => { said.textContent = words; });
    const help = make("details", body, {className: "csc-live-help"});
    help.innerHTML = "<summary>By keyboard</summary>" + (scene.points ?
      "Focus the picture. <kbd>n</kbd>, <kbd>b</kbd>: next, previous point; arrows move it; <kbd>a</kbd> adds, " +
      "<kbd>Del</kbd> removes; <kbd>s</kbd> or <kbd>d</kbd> on one point, then on another: same, different; " +
      "<kbd>f</kbd> flips an answer about the point." :
      "Focus the picture. <kbd>n</kbd>, <kbd>b</kbd>: next, previous edge; <kbd>f</kbd> changes it.");

    function update() {
      try {
        const r = s.result = scene.compute(s);
        board.wide = canvas.clientWidth || 600;
        scene.paint(board, s, r);
        said.textContent = scene.say(s, r);
      } catch (problem) { said.textContent = problem.message; }
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
    function flip(e) {
      const l = s.links[e];
      if (scene.points) { l[2] = -l[2]; l[3] = l[3] === -1 ? 2 : -1; }
      else l[2] = l[2] > 0 ? -1 : l[2] < 0 ? 0 : 1;
    }
    canvas.addEventListener("pointerdown", e => {
      const [x, y] = place(e), i = scene.points ? near(x, y) : -1;
      if (!scene.points || s.tool === "lie") {
        const link = nearLink(x, y);
        if (link >= 0) { s.edge = link; flip(link); }
      } else if (s.tool === "add") { s.points.push(back(x, y)); s.truth = null; }
      else if (i >= 0 && s.tool === "remove") removePoint(i);
      else if (i >= 0 && s.tool === "same") answer(i, 1);
      else if (i >= 0 && s.tool === "different") answer(i, -1);
      else if (i >= 0) { s.chosen = i; s.drag = i; canvas.setPointerCapture(e.pointerId); e.preventDefault(); }
      update();
    });
    canvas.addEventListener("pointermove", e => {
      if (s.drag == null) return;
      s.points[s.drag] = back(...place(e));
      update();
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { s.drag = null; });
    canvas.addEventListener("keydown", e => {
      const n = s.points.length, step = {ArrowLeft: [-.02, 0], ArrowRight: [.02, 0], ArrowUp: [0, .02], ArrowDown: [0, -.02]}[e.key];
      const i = s.chosen ?? 0, on = e.key.toLowerCase();
      if (!scene.points) {
        const m = s.links.length;
        if (on === "n") s.edge = ((s.edge ?? -1) + 1) % m;
        else if (on === "b") s.edge = ((s.edge ?? 1) + m - 1) % m;
        else if (on === "f" && s.edge != null) flip(s.edge);
        else return;
      } else if (step) s.points[i] = s.points[i].map((v, j) => Math.min(1, Math.max(0, v + step[j])));
      else if (on === "n") s.chosen = ((s.chosen ?? -1) + 1) % n;
      else if (on === "b") s.chosen = (i + n - 1) % n;
      else if (on === "a") { s.points.push([.5, .5]); s.truth = null; s.chosen = n; }
      else if (on === "delete") removePoint(i);
      else if (on === "s") answer(i, 1);
      else if (on === "d") answer(i, -1);
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
  window.cscLive = {mount, inflate, Kernels, scenes, agreement};
})();
