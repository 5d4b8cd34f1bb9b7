"""Compile our own numba kernels for the browser: `python tools/wasm.py [--all | --check]`.

Each entry of `csc_nb.play.ENTRIES` is an exported njit function and the types of its
arguments. Numba's optimised
LLVM text is given the target of WebAssembly, llvmlite emits the object, the linker of the
PyPI wheel `ziglang`
(docs extra) makes a module of a few kilobytes in `csc_nb/static/live/`. `--check` fails
when a module is older
than its kernels.
"""

import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# x86 vectors would be unrolled into scalars; and no compiled function of this machine may
# be reused
os.environ |= {
    "NUMBA_LOOP_VECTORIZE": "0",
    "NUMBA_SLP_VECTORIZE": "0",
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_CACHE_DIR": tempfile.mkdtemp(prefix="csc_wasm_"),
}
ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "csc_nb" / "static" / "live"
TRIPLE = "wasm32-unknown-unknown"
LAYOUT = "e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20"
TYPES = {"f8": "float64", "i4": "int32"}
SUBTRACT = "llvm.x86.atomic.sub.cc.i64"  # numba's reference counts; the one x86 intrinsic


def wrapper(name, spec):
    "Source of a function of pointers and sizes that calls the kernel on arrays."
    sizes = dict.fromkeys(s for _, _, shape in spec for s in shape)
    scalars = [a for a, _, shape in spec if not shape]
    names = [a for a, _, _ in spec] + [s for s in sizes if s not in scalars]
    shown = [f"carray({a}, ({', '.join(shape)},))" if shape else a for a, _, shape in spec]
    return (
        names,
        f"def wrapped({', '.join(names)}):\n    return kernel({', '.join(shown)})\n",
    )


def signature(names, spec):
    "Numba's types of the wrapper's arguments."
    from numba import types

    kinds = {a: (t, shape) for a, t, shape in spec}
    out = []
    for n in names:
        kind, shape = kinds.get(n, ("i4", ()))
        scalar = getattr(types, TYPES[kind])
        out.append(types.CPointer(scalar) if shape else scalar)
    return types.int32(*out)


def llvm_text(name, kernel, spec):
    """The optimised LLVM text of one entry, its inner function exported under the
    entry's name."""
    from numba import carray, cfunc
    from numba.core.codegen import CPUCodeLibrary

    names, source = wrapper(name, spec)
    space = {"kernel": kernel, "carray": carray}
    exec(compile(source, f"<{name}>", "exec"), space)
    texts, finish = [], CPUCodeLibrary._finalize_final_module

    def keep(library):
        finish(library)
        texts.append(str(library._final_module))

    CPUCodeLibrary._finalize_final_module = keep
    try:
        compiled = cfunc(signature(names, spec))(space["wrapped"])
    finally:
        CPUCodeLibrary._finalize_final_module = finish
    inner = compiled.native_name.removeprefix("cfunc.")
    return rewritten(texts[-1], inner, name), names


def rewritten(text, inner, name):
    "The text for another machine: target, no x86 intrinsic, one exported function."
    text = re.sub(
        r'^target datalayout = ".*"$', f'target datalayout = "{LAYOUT}"', text, flags=re.M
    )
    text = re.sub(
        r'^target triple = ".*"$', f'target triple = "{TRIPLE}"', text, flags=re.M
    )
    text = re.sub(r'"target-(cpu|features)"="[^"]*"', "", text)
    text = re.sub(
        rf"(%\S+) = tail call i8 @{re.escape(SUBTRACT)}\(ptr nonnull (%\S+), i64 1, i32 "
        r"4\)",
        r"\1.old = atomicrmw sub ptr \2, i64 1 monotonic\n"
        r"  \1.gone = icmp eq i64 \1.old, 1\n  \1 = zext i1 \1.gone to i8",
        text,
    )
    text = re.sub(rf"^declare i8 @{re.escape(SUBTRACT)}.*$", "", text, flags=re.M)
    text = re.sub(r"%(\d+)\.(old|gone)\b", r"%n\1.\2", text)
    text = text.replace("= common ", "= weak ")
    text = drop_function(text, f"cfunc.{inner}")
    text = re.sub(rf'@"?{re.escape(inner)}"?(?=\()', f"@{name}", text)
    return text


def drop_function(text, name):
    "Without the wrapper that turns errors into Python's."
    found = re.search(rf'^define [^\n]*@"?{re.escape(name)}"?\(.*?^}}$', text, re.M | re.S)
    return text.replace(found[0], "") if found else text


def emit(text):
    "The object code of an LLVM text."
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(opt=3, features="+bulk-memory", reloc="static")
    return machine.emit_object(module)


def link(objects, names):
    "One WebAssembly module of several objects."
    with tempfile.TemporaryDirectory() as tmp:
        files = []
        for i, code in enumerate(objects):
            files.append(f"{tmp}/{i}.o")
            Path(files[-1]).write_bytes(code)
        exports = [f"--export={n}" for n in names]
        how = ["--no-entry", "--allow-undefined", "--gc-sections", "--strip-all"]
        out = f"{tmp}/out.wasm"
        tail = ["-z", "stack-size=65536", "--export=__heap_base", "-o", out]
        cmd = [sys.executable, "-m", "ziglang", "wasm-ld", *how, *exports, *files, *tail]
        done = subprocess.run(cmd, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"wasm-ld failed: {done.stderr[-2000:]}")
        return Path(out).read_bytes()


def fingerprint(entries):
    "What a module depends on: the sources of its kernels' modules, and this program."
    parts = [Path(__file__).read_text(encoding="utf-8")]
    for _, kernel, spec in entries:
        parts += [inspect.getsource(f) for f in reached(kernel)] + [repr(spec)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def reached(kernel, seen=None):
    "A compiled function and the compiled functions of ours that it calls."
    from numba.core.registry import CPUDispatcher

    seen = [] if seen is None else seen
    plain = kernel.py_func
    if plain in seen:
        return seen
    seen.append(plain)
    for n in plain.__code__.co_names:
        other = plain.__globals__.get(n)
        if isinstance(other, CPUDispatcher):
            reached(other, seen)
    return seen


def build(name, entries):
    "Write one module and what JavaScript must know of it."
    objects, about = [], {}
    for entry, kernel, spec in entries:
        text, names = llvm_text(entry, kernel, spec)
        objects.append(emit(text))
        about[entry] = {
            "args": [[a, t, list(shape)] for a, t, shape in spec],
            "order": names,
        }
    code = link(objects, list(about))
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.wasm").write_bytes(code)
    facts = {"fingerprint": fingerprint(entries), "entries": about}
    (OUT / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return len(code)


def stale():
    "Modules that are missing or older than their kernels."
    from csc_nb.play import ENTRIES

    for name, entries in ENTRIES.items():
        about = OUT / f"{name}.json"
        fresh = about.exists() and (OUT / f"{name}.wasm").exists()
        if not fresh or json.loads(about.read_text())["fingerprint"] != fingerprint(
            entries
        ):
            yield name


def main():
    sys.path.insert(0, str(ROOT))
    from csc_nb.play import ENTRIES

    old = list(stale())
    if "--check" in sys.argv:
        sys.exit(
            f"older than their kernels: {', '.join(old)}: run `make live`" if old else 0
        )
    for name in ENTRIES if "--all" in sys.argv else old:
        print(f"{name}.wasm: {build(name, ENTRIES[name])} bytes")


if __name__ == "__main__":
    main()
