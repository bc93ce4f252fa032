"""`luce serve`: a model as a service over HTTP."""

import os
from pathlib import Path
from typing import Annotated

import typer

from luce.cli.options import ModelFile
from luce.errors import OptionError

TOKEN = "LUCE_SERVE_TOKEN"

Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is every address of this machine.")]
Port = Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 is any free one, see the log.")]
Name = Annotated[str | None, typer.Option(help="Name of the model in addresses. (default: the name of the file)")]
TokenFile = Annotated[
    Path | None,
    typer.Option(help=f"File with the token that requests need. (default: the environment variable {TOKEN}, if set)"),
]
MaxRows = Annotated[int, typer.Option(min=1, help="Number of rows, or documents, per request.")]
MaxBody = Annotated[float, typer.Option(min=0.001, help="Size of a request in MiB.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Number of requests scored at the same time. (default: all cores)")
]
Queue = Annotated[int, typer.Option(min=0, help="Number of requests that may wait; more are refused with 503.")]
Connections = Annotated[int, typer.Option(min=1, help="Number of open connections.")]
ReadTimeout = Annotated[float, typer.Option(min=0.1, help="Seconds in which a request must have arrived.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds from there to its answer.")]
Drain = Annotated[float, typer.Option(min=0, help="Seconds after SIGTERM in which requests are still answered.")]


def serve(
    model: ModelFile,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    name: Name = None,
    token_file: TokenFile = None,
    max_rows: MaxRows = 10_000,
    max_body: MaxBody = 16,
    threads: Threads = None,
    queue: Queue = 64,
    connections: Connections = 512,
    read_timeout: ReadTimeout = 10,
    timeout: Timeout = 10,
    drain: Drain = 5,
) -> None:
    """Serve a ranker over HTTP: the Open Inference Protocol v2 and /rank, which ranks JSON documents.

    SIGHUP loads the model file again, SIGTERM answers what is in flight and ends. TLS is left to a proxy in front.

    Example: luce serve model.luce

    Example: luce serve model.luce --host 0.0.0.0 --port 8080 --token-file /run/secrets/token --name shop
    """
    from luce.serve.server import run
    from luce.serve.settings import Settings
    from luce.threads import thread_count

    settings = Settings(
        token=_token(token_file),
        max_rows=max_rows,
        max_body=int(max_body * 2**20),
        threads=threads or thread_count(-1),
        queue=queue,
        connections=connections,
        read_timeout=read_timeout,
        timeout=timeout,
        drain=drain,
    )
    run(model, model.stem if name is None else name, host, port, settings)


def _token(file: Path | None) -> str | None:
    given = os.environ.get(TOKEN) if file is None else file.read_text(encoding="utf-8", errors="replace").strip()
    if given is None:
        return None
    if not (given.isascii() and given.isprintable() and given and " " not in given):
        source = TOKEN if file is None else str(file)
        raise OptionError(f"{source} must contain a token: one line of visible ASCII characters, without spaces.")
    return given
