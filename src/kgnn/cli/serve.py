"""``kgnn serve``: a saved model as a web service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from kgnn.cli.own_graphs import ThreadsOption
from kgnn.cli.show import progress_bars, say


def serve(
    model: Annotated[Path, typer.Argument(help="A saved model.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine requires a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 8000,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Another host name of the server, with its port."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    threads: ThreadsOption = 1,
    max_bytes: Annotated[int, typer.Option(min=1000, help="Largest request.")] = 4 << 20,
    max_graphs: Annotated[int, typer.Option(min=1, help="Most graphs in a request.")] = 1000,
    max_nodes: Annotated[
        int, typer.Option(min=1, help="Most nodes in a request, over all its graphs.")
    ] = 100_000,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit for a response.")] = 30.0,
    waiting: Annotated[
        int, typer.Option(min=1, help="Requests that may wait per worker; more get status 429.")
    ] = 256,
) -> None:
    """Serve the predictions of a saved MODEL over HTTP.

    For example: kgnn serve model --port 8000
    """
    from kgnn.web.running import listen, require_uvicorn, run, run_workers

    require_uvicorn()
    place, opened = listen(host, port)
    with opened:
        with progress_bars() as bars:
            bars.add_task("opening the model", total=None)
            from kgnn.web.serving import ENVIRONMENT, Settings, guarded

            settings = Settings(
                str(model.resolve()), tuple(place.hosts(name or ())), place.token,
                max_bytes, max_graphs, max_nodes, seconds, waiting, threads,
            )  # fmt: skip
            app = guarded(settings)

        def tell() -> None:
            say(f"Serving {model} at {place.address} (Ctrl-C stops after open requests).")

        if workers == 1:
            run(app, opened, on_start=tell)
            return
        os.environ[ENVIRONMENT] = settings.write()
        tell()
        run_workers("kgnn.web.serving:app_from_environment", place, opened, workers)
