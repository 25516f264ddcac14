"""How long commands take before they do anything, and whether they load torch.

python benchmarks/speed/start_up.py [-o build/speed-start-up.json]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from peers import save, show

# What a user types, and the same within Python.
COMMANDS = {
    "python -c pass": "pass",
    "import kgnn": "import kgnn",
    "kgnn --help": "import sys; sys.argv = ['', '--help']; import kgnn.cli.main as m; m.main()",
    "kgnn methods": "import sys; sys.argv = ['', 'methods']; import kgnn.cli.main as m; m.main()",
    "import kgnn; kgnn.KGNN": "import kgnn; kgnn.KGNN",
}
REPEATS = 5


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
    rows = [measure(command, code) for command, code in COMMANDS.items()]
    show("Start-up", rows)
    save(chosen.output, {"start-up": rows})


if __name__ == "__main__":
    main()
