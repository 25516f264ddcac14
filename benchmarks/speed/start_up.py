"""How long commands take before they do anything, and whether they load torch.

python benchmarks/speed/start_up.py [-o build/speed-start-up.json]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from peers import save, show

_CODE = {
    "python -c pass": "pass",
    "import kgnn": "import kgnn",
    "import kgnn; kgnn.KGNN": "import kgnn; kgnn.KGNN",
}
_COMMANDS = (
    "kgnn --help",
    "kgnn methods",
    "kgnn predict MODEL missing.csv",
    "kgnn predict MODEL twenty.csv",
)
REPEATS = 5


def codes(folder: Path) -> dict[str, str]:
    """Return what to measure as Python: what a user types, and what a program does."""
    model, twenty = folder / "model", folder / "twenty.csv"
    fit(model, twenty)
    found = dict(_CODE)
    for command in _COMMANDS:
        words = command.replace("MODEL", str(model)).replace("twenty.csv", str(twenty)).split()
        found[command] = f"import sys; sys.argv = {words}; import kgnn.cli.main as m; m.main()"
    return found


def fit(model: Path, twenty: Path) -> None:
    """Save a KGNN of ethers and alcohols, and a table of twenty others."""
    import kgnn

    pairs = [(a, b) for a in range(1, 10) for b in range(1, a + 1)]
    smiles = [f"{'C' * a}{middle}{'C' * b}" for a, b in pairs for middle in ("O", "C(O)")]
    graphs = kgnn.from_smiles(smiles[:60], targets=["ether", "alcohol"] * 30)
    kgnn.KGNN(epochs=2, rounds=1).fit(graphs).save(model)
    twenty.write_text("\n".join(["id,smiles", *(f"{n},{s}" for n, s in enumerate(smiles[60:80]))]))


def measure(command: str, code: str) -> dict[str, Any]:
    """Return the least CPU time of several starts."""
    seconds = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    asked = f"import atexit, sys; atexit.register(lambda: print('torch' in sys.modules))\n{code}"
    output = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=False).stdout
    return {
        "command": command,
        "CPU (ms)": round(1000 * min(seconds)),
        "loads torch": output.decode().split()[-1] == "True",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("build/speed-start-up.json"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(command, code) for command, code in codes(Path(folder)).items()]
    show("Start-up", rows)
    save(chosen.output, {"start-up": rows})


if __name__ == "__main__":
    main()
