"""How quickly ``kgnn serve`` answers: at a fixed rate, and asked by a thousand clients at once.

    python benchmarks/serving.py model/ --rate 200 --workers 2

The model is one of molecules. Requests are sent when they are due, whether or not earlier ones have
been answered, and their time counts from then: a slow answer does not slow down the questions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np

_SMILES = [
    "CC(=O)Oc1ccccc1C(=O)O", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "CCO",
    "CC(=O)Nc1ccc(O)cc1", "c1ccccc1O", "NCCc1ccc(O)c(O)c1", "CN1CCCC1c1cccnc1", "OC(=O)c1cccnc1",
    "CC(N)Cc1ccccc1", "Clc1ccccc1", "CCN(CC)CCNC(=O)c1ccc(N)cc1", "O=C(O)CCc1ccccc1", "CCOC(C)=O",
]  # fmt: skip


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, n: int) -> int:
    """Ask for a prediction on an open connection, and return the status."""
    body = json.dumps({"smiles": [_SMILES[n % len(_SMILES)]]}).encode()
    host = "127.0.0.1:{}".format(writer.get_extra_info("peername")[1])
    head = (
        f"POST /predict HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
    assert length is not None
    await reader.readexactly(int(length[1]))
    return int(answer[9:12])


async def at_rate(port: int, rate: float, seconds: float, connections: int) -> None:
    """Ask at a fixed rate, and say how long answers took."""
    free: asyncio.Queue = asyncio.Queue()
    for _ in range(connections):
        free.put_nowait(await connect(port))
    took, statuses = [], Counter()
    start = time.perf_counter()

    async def one(n: int) -> None:
        due = start + n / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        connection = await free.get()
        statuses[await ask(*connection, n)] += 1
        free.put_nowait(connection)
        took.append(time.perf_counter() - due)

    n = round(rate * seconds)
    await asyncio.gather(*(one(number) for number in range(n)))
    achieved = n / (time.perf_counter() - start)
    while not free.empty():
        free.get_nowait()[1].close()
    p50, p95, p99 = 1000 * np.quantile(took, (0.5, 0.95, 0.99))
    print(
        f"{n:,} predictions at {rate:g} per second: {achieved:.0f} per second answered, "
        f"p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, "
        f"slowest {1000 * max(took):.0f} ms; {told(statuses)}"
    )


async def at_once(port: int, clients: int) -> None:
    """Let many clients connect and ask at the same time."""
    statuses: Counter = Counter()
    start = time.perf_counter()

    async def one(n: int) -> None:
        try:
            connection = await connect(port)
            statuses[await ask(*connection, n)] += 1
            connection[1].close()
        except (OSError, asyncio.IncompleteReadError) as error:
            statuses[type(error).__name__] += 1

    await asyncio.gather(*(one(n) for n in range(clients)))
    print(f"{clients:,} clients at once: {told(statuses)}, in {time.perf_counter() - start:.1f} s")


def told(statuses: Counter) -> str:
    return ", ".join(f"{n:,} × {status}" for status, n in sorted(statuses.items(), key=str))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--clients", type=int, default=1000)
    asked = parser.parse_args()
    words = ["serve", asked.model, "--port", "0", "--workers", str(asked.workers)]
    server = subprocess.Popen(
        [sys.executable, "-m", "kgnn", *words], stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stderr is not None
        port = int(re.search(r"http://[^/]*:(\d+)/", server.stderr.readline())[1])  # type: ignore[index]
        await ready(port, asked.workers)
        await at_rate(port, asked.rate, 2, asked.connections)  # the first answers load libraries
        await at_rate(port, asked.rate, asked.seconds, asked.connections)
        await at_once(port, asked.clients)
        await at_rate(port, asked.rate, 2, asked.connections)
    finally:
        server.send_signal(signal.SIGTERM)
        print(f"stopped with {server.wait(timeout=30)}")


async def ready(port: int, workers: int) -> None:
    """Wait until all workers answer: each connection goes to one of them."""

    async def one() -> None:
        reader, writer = await connect(port)
        await ask(reader, writer, 0)
        writer.close()

    for _ in range(100):
        try:
            await asyncio.wait_for(asyncio.gather(*(one() for _ in range(8 * workers))), 5)
            return
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.3)
    raise SystemExit("The server does not answer.")


if __name__ == "__main__":
    asyncio.run(main())
