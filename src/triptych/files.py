"""Writing files and folders atomically, checking beforehand that a folder can be written, and linking files."""

from __future__ import annotations

import errno
import glob
import gzip
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, cast

from filelock import FileLock, SoftFileLock

from triptych.errors import UserError

RUN_FILE = "run.json"
"""The file that says what a run is, written when it starts. Folders of triptych 0.1 do not have it."""
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO)
"""Error numbers of writes that fail because of the disk, and not because of the path."""
STREAMS = {"/dev/stdin": "0", "/dev/stdout": "1", "/dev/stderr": "2"}
"""Names of the streams that every process has, and their numbers."""
RECENT_SECONDS = 60
"""Seconds in which a file that is being made need not be locked yet."""
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""Error numbers of file systems without locks, such as NFS without its lock service."""


def file_stem(path: str) -> str:
    """Return the name of a text's file without its ending."""
    return Path(path.removesuffix(".gz")).stem


def require_folder(path: Path, key: str = "") -> None:
    """Check that a folder exists or could be created. Nothing is left there.

    Args:
        path: of the folder.
        key: of the configuration that names it, if one does.

    Raises:
        UserError: the folder, or its nearest existing parent, cannot be written.
    """
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK) or not _takes_folders(nearest):
        given, wanted = (f"{key}={path}", f"{key}=FOLDER, a folder") if key else (path, "a folder")
        raise UserError(f"{given} cannot be written, because of {nearest}; give {wanted} that can.")


def _takes_folders(folder: Path) -> bool:
    """Whether a folder can be made in another, which the system's own, such as /proc, may say of themselves in vain.

    One on a full disk counts: what fails there says so itself.
    """
    probe = folder / f".write.{secrets.token_hex(4)}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return True


def require_current_folder() -> None:
    """Check that the folder in which the program was started is still there.

    Raises:
        UserError: it has been removed.
    """
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise UserError("the current folder has been removed; change to one that exists: cd FOLDER.") from error


def require_file(key: str, path: Path) -> None:
    """Check that a file can be read. ``key`` is the one that names it.

    Raises:
        UserError: it is not there, is a folder, or cannot be read.
    """
    reason = "there is no such file" if not path.exists() else "it is a folder" if path.is_dir() else None
    if reason is None and not os.access(path, os.R_OK):
        reason = "it cannot be read"
    if reason:
        raise UserError(f"{key}={path}: {reason}; give a file of one sentence a line.")


def require_output(given: str, inputs: Mapping[str, str], option: str = "output=") -> None:
    """Check that a file can be written, and is none of those that are read.

    Args:
        given: the path.
        inputs: paths of the files that are read, by their keys.
        option: what stands before the path on the command line.

    Raises:
        UserError: it cannot, or is one, or a file that is there already in the folder of a run.
    """
    path = Path(given).expanduser()
    if path.is_dir():
        raise UserError(f"{option}{given} is a folder; give the name of a file.")
    require_folder(path.parent)
    if path.is_file() and any((folder / RUN_FILE).is_file() for folder in path.resolve().parents):
        raise UserError(
            f"{option}{given} is there already, in the folder of a run, and may be a file of it; give another."
        )
    for key, other in inputs.items():
        if path.is_file() and path.samefile(Path(other).expanduser()):
            raise UserError(f"{option}{given} is {key}={other} itself, and would replace it; give another name.")


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files and folders that killed processes left beside ``path`` and inside it.

    Call it only while no other process can write there.
    """
    for leftover in [*path.parent.glob(f".{glob.escape(path.name)}.*"), *path.rglob(".*")]:
        if re.fullmatch(r"\..+\.[0-9a-f]{8}", leftover.name):
            _remove(leftover)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


@contextmanager
def error_names(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Let an error of the system name the file or folder that is written, as that of a full disk does not.

    Args:
        path: that is written.
        temporary: under which name, if not its own.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in DISK_ERRORS:
            error.filename = str(path)
        elif temporary and str(error.filename).startswith(str(temporary)):
            error.filename = f"{path}{str(error.filename).removeprefix(str(temporary))}"
        raise


@contextmanager
def replacing(path: Path, *, keep_folder: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` to write to, and rename it to ``path`` when the block ends.

    The block creates a file or a folder at the temporary path. If the block raises, ``path`` stays as it was.

    Args:
        path: of a file, or of a folder.
        keep_folder: let an existing folder stay, and discard the new one: another process has written the same.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with error_names(path, temporary):
            yield temporary
        try:
            with error_names(path, temporary):
                os.replace(temporary, path)
        except OSError:
            if not (temporary.is_dir() and path.is_dir()):
                raise
            if not keep_folder:
                _take_the_place_of(path, temporary)
    finally:
        with suppress(OSError):  # on a disk that cannot be written, there is none, and its own error is on its way
            _remove(temporary)


def _take_the_place_of(path: Path, new: Path) -> None:
    """Put a new folder in the place of an old one, which is removed; if that fails, the old one stays."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    path.rename(aside)
    try:
        new.rename(path)
    except OSError:
        aside.rename(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Give a file that appears under its name once it is complete. What is written to ``NAME.gz`` is compressed.

    A device or a pipe is written to directly, and a link leads to the file that it names. An open stream, such as
    ``/dev/stdout``, goes on where it is: opening it again would empty the file behind it.
    """
    if path.is_relative_to("/dev") or (path.exists() and not path.is_file()):
        with error_names(path), _open_device(path) as file, _compressing(file, path) as text:
            yield text
        return
    place = path.resolve()
    _remove_abandoned(place)
    with replacing(place) as beside, beside.open("wb") as file, _compressing(file, path) as text:
        _try_lock(file)
        yield text


def _try_lock(file: BinaryIO) -> bool:
    """Lock a file for as long as it is open; return False if another process holds it, or the system keeps no locks."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _remove_abandoned(path: Path) -> None:
    """Remove what killed processes have left half-written beside a file: nobody holds it, and it is not new."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
        if not re.fullmatch(r"\.[0-9a-f]{8}", leftover.suffix) or not leftover.is_file():
            continue
        with suppress(OSError), leftover.open("rb") as file:
            if time.time() - leftover.stat().st_mtime > RECENT_SECONDS and _try_lock(file):
                leftover.unlink()


def remove_abandoned_folders(path: Path) -> None:
    """Remove what killed processes have left half-written beside a folder, if it has not been touched for an hour."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
        if re.fullmatch(r"\.[0-9a-f]{8}", leftover.suffix) and leftover.is_dir():
            touched = max(file.stat().st_mtime for file in (leftover, *leftover.rglob("*")))
            if time.time() - touched > 60 * RECENT_SECONDS:
                shutil.rmtree(leftover, ignore_errors=True)


def _open_device(path: Path) -> BinaryIO:
    """Open a device or a pipe to write to, or a stream of this process by another number."""
    number = STREAMS.get(str(path), str(path).removeprefix("/dev/fd/"))
    if not number.isdigit():
        return path.open("wb")
    try:
        return os.fdopen(os.dup(int(number)), "wb")
    except OSError as error:
        error.filename = str(path)
        raise


def _compressing(file: BinaryIO, path: Path) -> AbstractContextManager[BinaryIO]:
    """Give a file to write to, with gzip in between if the name ends so. The same text gives the same bytes."""
    if path.suffix != ".gz":
        return nullcontext(file)
    return cast(AbstractContextManager[BinaryIO], gzip.GzipFile("", "wb", fileobj=file, mtime=0))


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold a lock, against processes of this machine and of others that share the disk, until the block ends.

    The system releases it when its process dies.

    Args:
        path: of the lock, a file.
        wait: until another process releases it.

    Raises:
        filelock.Timeout: another process holds it, and ``wait`` is False.
        UserError: the file system keeps no locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        raise _without_locks(path) from error
    try:
        if isinstance(lock, SoftFileLock):  # what filelock takes instead: a killed process would keep it
            raise _without_locks(path)
        yield
    finally:
        lock.release()


@contextmanager
def made_once(path: Path) -> Iterator[bool]:
    """Say whether the block must make a folder that is missing. While one process makes it, others wait for it.

    Raises:
        UserError: the file system keeps no locks.
    """
    if path.exists():
        yield False
        return
    with locked(path.with_name(f".{path.name}.lock"), wait=True):
        yield not path.exists()


@contextmanager
def build_folder_once(folder: Path) -> Iterator[Path | None]:
    """Yield an unfinished folder to fill, and rename it to ``folder`` when the block ends.

    If the block raises, the unfinished folder stays, so that the next call can resume. Yield None if ``folder`` exists
    already. Only one process builds the folder; another one waits until the first has finished, and then gets None.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{folder.name}")
    with made_once(folder) as is_missing:
        if not is_missing:
            yield None
            return
        unfinished.mkdir(exist_ok=True)
        with error_names(folder):
            yield unfinished
        for journal in unfinished.glob("*.journal"):
            journal.unlink()
        unfinished.rename(folder)


def _without_locks(path: Path) -> UserError:
    return UserError(
        f"{path.parent}: its file system keeps no locks, so two processes could write the same files; give an output=… "
        "and a cache=… on another one."
    )


def link(source: str | Path, target: str | Path) -> None:
    """Give a file a second name, or copy it where the file system has no links. The file must never be changed."""
    try:
        os.link(Path(source).resolve(), target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)
