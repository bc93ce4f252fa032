"""A scoring service over HTTP: the Open Inference Protocol v2, and a ranking of JSON documents.

One process, one model, on Starlette and uvicorn. A request is read, within limits, on the event loop; it is parsed,
scored and answered on one of a few threads, and refused with 503 where too many are waiting for them. A model file is
loaded and warmed up before it takes the place of the one that is served, and a request is answered by one model.
"""

from luce.errors import load_package

for _package in ("starlette", "uvicorn", "prometheus_client", "orjson"):
    load_package(_package, "serve")
