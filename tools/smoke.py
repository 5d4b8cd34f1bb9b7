"""What an installed csc_nb must do, wherever it was installed: `python smoke.py FOLDER`."""

import subprocess
import sys
from pathlib import Path

import csc_nb

assert Path(csc_nb.__file__).is_relative_to(sys.argv[1]), csc_nb.__file__
for name in csc_nb.__all__:
    getattr(csc_nb, name)
iris = csc_nb.load("iris")
answers = csc_nb.Constraints.from_labels(iris.target, 60, noise=0.1, random_state=0)
labels = csc_nb.RDPMeans(3, random_state=0).fit(iris.data, constraints=answers).labels_
assert csc_nb.ari(iris.target, labels) > 0.6
assert "Parameters" in csc_nb.RDPMeans.__doc__
version = subprocess.run(
    [sys.executable, "-m", "csc_nb", "--version"], capture_output=True, text=True
)
assert version.stdout.strip() == f"csc-nb {csc_nb.__version__}", version
print(len(csc_nb.__all__), len(csc_nb.methods()), " ".join(csc_nb.__all__))
