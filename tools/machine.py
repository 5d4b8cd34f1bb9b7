"""One arithmetic for all machines: the same vector width for BLAS, numpy and our kernels.

A processor with wider vectors adds in another order. The last bit differs, and where a fit
stands on an edge, a printed number does. The saved outputs of the pages are made, compared
and tested with AVX2, which every x86 machine of the last ten years has; elsewhere nothing
is set. Call `plain_arithmetic()` before numpy is imported.
"""

import os
import platform
from pathlib import Path

WIDE = "AVX512_SPR AVX512_ICL X86_V4"
AVX2 = {
    "OPENBLAS_CORETYPE": "Haswell",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt",
}
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def has(flag):
    "Does this processor say that it has it? Unknown counts as no."
    try:
        return f" {flag} " in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def plain_arithmetic():
    "Set the environment of this process and its children; what is set already stays."
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    if platform.machine() not in ("x86_64", "AMD64") or not has("avx2"):
        return
    for name, value in AVX2.items():
        os.environ.setdefault(name, value)
    if has("avx512f"):
        os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", WIDE)
