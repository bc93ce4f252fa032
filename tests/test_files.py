"""Files: replaced in one step, written through where they are devices or pipes, and by one process at a time."""

import io
import os
import socket
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from luce.errors import DataError
from luce.files import atomic_write, exclusive_lock


def test_a_crash_while_writing_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as partial:
        partial.write_text("half of the n")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["kept.txt"]


def test_a_failed_write_says_that_the_old_file_is_untouched(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")
    untouched = r"kept\.txt was not written; the previous file, if any, is unchanged: .*full"
    with pytest.raises(DataError, match=untouched), atomic_write(path):
        raise OSError(28, "disk full")
    assert path.read_text() == "old"


def test_replacing_takes_the_place_of_the_old_file(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(str(path)) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["kept.txt"]


def test_replacing_refuses_a_directory_and_a_missing_one(tmp_path):
    with pytest.raises(DataError, match="is a directory"), atomic_write(tmp_path):
        pass
    with pytest.raises(DataError, match="there is no directory"), atomic_write(tmp_path / "no" / "file"):
        pass


# The terminals and pipes of these tests are their own: code that replaces what it should write to must find no device
# of the system, such as /dev/null.


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
def test_a_device_is_written_through_and_stays_a_device(tmp_path):
    terminal, other_end = os.openpty()
    path, link = Path(os.ttyname(other_end)), tmp_path / "link"
    link.symlink_to(path)
    for name in (path, link):
        with atomic_write(name) as partial:
            partial.write_text("hello\n")
        assert os.read(terminal, 100) == b"hello\r\n"
    assert stat.S_ISCHR(path.stat().st_mode) and link.is_symlink()
    os.close(terminal)
    os.close(other_end)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no sockets by name")
def test_what_cannot_be_written_through_is_an_error_and_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        with pytest.raises(DataError, match="socket was not written: "), atomic_write("socket") as partial:
            partial.write_text("something")
        assert Path("socket").is_socket()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_gets_what_was_written_with_seeks(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    with atomic_write(pipe) as partial, zipfile.ZipFile(partial, "w") as archive:
        archive.writestr("note", "complete")
    reader.join(30)
    assert zipfile.ZipFile(io.BytesIO(read[0])).read("note") == b"complete"
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system has no /proc")
def test_an_open_file_is_appended_to_and_not_replaced(tmp_path):
    path = tmp_path / "log"
    path.write_text("before\n")
    with open(path, "a") as log:
        with atomic_write(f"/proc/self/fd/{log.fileno()}") as partial:
            partial.write_text("new\n")
        log.write("after\n")
    assert path.read_text() == "before\nnew\nafter\n"


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="this system has no /dev/stdout")
def test_standard_output_redirected_to_a_file_is_appended_to(tmp_path):
    path, stdout = tmp_path / "log", os.dup(1)
    path.write_text("before\n")
    try:
        with open(path, "a") as log:
            os.dup2(log.fileno(), 1)
        with atomic_write("/dev/stdout") as partial:
            partial.write_text("new\n")
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
    assert path.read_text() == "before\nnew\n"


def test_of_a_link_the_file_it_points_to_is_replaced(tmp_path):
    (tmp_path / "store").mkdir()
    link, file = tmp_path / "link.txt", tmp_path / "store" / "file.txt"
    link.symlink_to(Path("store") / "file.txt")
    for text in ("new", "newer"):  # the first time there is no file yet
        with atomic_write(link) as partial:
            partial.write_text(text)
            assert partial.parent == file.parent  # or the move would not be one step
        assert link.is_symlink() and file.read_text() == text
    link.unlink()
    link.symlink_to(tmp_path / "none" / "file.txt")
    with pytest.raises(DataError, match=r"there is no directory .*none"), atomic_write(link):
        pass


def test_what_a_killed_process_left_unfinished_is_removed(tmp_path):
    pytest.importorskip("fcntl")
    path, left, other = (
        tmp_path / name for name in ("a[1].txt", ".a[1].txt.0badcafe.partial", ".b.txt.0badcafe.partial")
    )
    left.write_text("half")
    other.write_text("of another file")
    with atomic_write(path) as first:
        first.write_text("first")
        with atomic_write(path) as second:  # does not take the first for one that was left
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert sorted(tmp_path.iterdir()) == sorted([path, other])


def test_without_file_locks_unfinished_files_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("luce.files.fcntl", None)
    path = tmp_path / "a.txt"
    with atomic_write(path) as first:
        first.write_text("first")
        with atomic_write(path) as second:
            second.write_text("second")
        assert first.exists()
    assert path.read_text() == "first"


def test_a_file_is_written_by_one_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    path, link = tmp_path / "model.luce", tmp_path / "link.luce"
    link.symlink_to(path)
    (tmp_path / ".model.luce.lock").write_text("1")  # left by a process that was killed
    refused = rf"is being written by process {os.getpid()}\. Wait until it has ended, or choose another"
    with exclusive_lock(path):
        for same in (path, link):
            with pytest.raises(DataError, match=refused), exclusive_lock(same):
                pass
        with exclusive_lock(tmp_path / "other.luce"):
            pass
    with exclusive_lock(link):
        pass
    assert list(tmp_path.iterdir()) == [link]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_may_have_several_writers(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with exclusive_lock(tmp_path / "pipe"), exclusive_lock(tmp_path / "pipe"):
        assert [file.name for file in tmp_path.iterdir()] == ["pipe"]


def test_another_process_holds_the_file_until_it_ends(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "model.luce"
    code = "import sys\nfrom luce.files import exclusive_lock\n"
    code += "with exclusive_lock(sys.argv[1]): print('held', flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, path], **pipes) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(DataError, match=rf"by process {other.pid}\."), exclusive_lock(path):
            pass
        other.kill()
    with exclusive_lock(path):
        pass
