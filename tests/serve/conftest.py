"""Model files, and clients of applications in this process."""

import asyncio
import dataclasses

import numpy as np
import pytest

import luce

FEATURES = ("rating", "price", "age")


def lists(seed=1):
    """Judged lists with three named features."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(200, 3))
    labels = np.digitize(features @ [1.0, -0.5, 0.0] + rng.normal(size=200), [0.5, 1.5])
    return luce.Dataset(features, labels, np.arange(0, 201, 10), feature_names=FEATURES)


def saved(path, ranker, seed=1):
    ranker.fit(lists(seed)).save(path)
    return path


@pytest.fixture(scope="session")
def linear(tmp_path_factory):
    return saved(
        tmp_path_factory.mktemp("serve") / "shop.luce", luce.LinearRanker(transforms=("standardize",), n_jobs=1)
    )


class Client:
    """Requests to an application in this process, one after the other."""

    def __init__(self, app):
        self.app = app

    def request(self, method, path, **content):
        import httpx

        async def answer():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                return await client.request(method, path, **content)

        return asyncio.run(answer())

    def get(self, path, **content):
        return self.request("GET", path, **content)

    def post(self, path, **content):
        return self.request("POST", path, **content)


@pytest.fixture
def connect():
    """A client of the service of a model file, and the service."""
    from luce.serve.app import create_app
    from luce.serve.service import Service
    from luce.serve.settings import Settings

    services = []

    def connected(path, **limits):
        service = Service(path, "shop", dataclasses.replace(Settings(threads=1, queue=4), **limits))
        services.append(service)
        return Client(create_app(service)), service

    yield connected
    for service in services:
        service.close()
