"""Where compiled code is cached when neither the package nor a home directory can be written."""

import os
import stat
from pathlib import Path

import numba
import pytest
from numba.core.caching import CacheImpl, UserProvidedCacheLocator

from luce import compiled as module
from luce.errors import LuceWarning

posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="only where files have owners")


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """As on a system where numba finds no folder, unless it is told of one."""
    monkeypatch.setattr(CacheImpl, "_locator_classes", [UserProvidedCacheLocator])
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    module._use_temporary_cache.cache_clear()
    yield tmp_path
    module._use_temporary_cache.cache_clear()


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


@posix
def test_a_private_folder_is_used_and_said_once(read_only):
    with pytest.warns(LuceWarning, match="It is cached in .* Set NUMBA_CACHE_DIR") as said:
        kernels = module.compiled(double), module.summing(triple)
    assert len(said) == 1
    assert [kernel(2) for kernel in kernels] == [4, 6]
    (folder,) = read_only.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(list(folder.rglob("*.nbi"))) == 2
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)  # what is started from here finds it too


@posix
def test_a_folder_that_others_can_write_to_is_not_used(read_only):
    folder = read_only / f"luce-numba-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o770)
    with pytest.warns(LuceWarning, match="Every run compiles again") as said:
        kernels = module.compiled(double), module.summing(triple)
    assert len(said) == 1
    assert [kernel(2) for kernel in kernels] == [4, 6]
    assert not list(folder.iterdir())


@posix
def test_which_folders_are_private(tmp_path, monkeypatch):
    folder = tmp_path / f"luce-numba-{os.getuid()}"
    assert module._private_folder(tmp_path) == module._private_folder(tmp_path) == folder
    assert module._private_folder(tmp_path / "none") is None
    tmp_path.chmod(0o777)  # where anyone may move the folder and put another in its place
    assert module._private_folder(tmp_path) is None
    tmp_path.chmod(0o1777)
    assert module._private_folder(tmp_path) == folder
    folder.rmdir()
    folder.symlink_to(tmp_path)
    assert module._private_folder(tmp_path) is None
    folder.unlink()
    folder.mkdir(mode=0o700)
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    folder.rename(tmp_path / f"luce-numba-{other}")  # as if another user had made it
    assert module._private_folder(tmp_path) is None


@posix
def test_a_folder_in_a_directory_of_another_user_is_not_private(tmp_path, monkeypatch):
    read_status = Path.stat

    def foreign(path, **options):
        found = read_status(path, **options)
        return os.stat_result((*found[:4], os.getuid() + 1, *found[5:10])) if path == tmp_path else found

    assert module._private_folder(tmp_path) is not None
    monkeypatch.setattr(Path, "stat", foreign)
    assert module._private_folder(tmp_path) is None


@posix
def test_a_cache_that_cannot_be_written_to_is_copied(read_only, tmp_path_factory, monkeypatch):
    image = tmp_path_factory.mktemp("image")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(image))
    assert module.compiled(double)(2) == 4

    def refuse(locator):
        if locator.get_cache_path().startswith(str(image)):
            raise OSError("Read-only file system")

    monkeypatch.setattr(UserProvidedCacheLocator, "ensure_cache_path", refuse)
    again = module.compiled(double)
    assert again(2) == 4
    assert sum(again.stats.cache_hits.values()) == 1
    (folder,) = read_only.iterdir()
    names = {file.name for file in image.rglob("*") if file.is_file()}
    assert {file.name for file in folder.rglob("*") if file.is_file()} == names
