# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Datasets and checkpoints that are unreadable, cut, changed or empty, on all ranks or on one; disks that are full,
read-only, gone or broken."""

import ctypes
import errno
import json
import os
import shutil
import struct
import subprocess

import case as c
from case import After, Case, Subset

DATA = "train.h5"
NEWEST = "run/checkpoints/step-00000004"
OLDER = "run/checkpoints/step-00000002"
WHERE_TO_LOOK = r"hint: "


def may_not_mount():
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    return None if done.returncode == 0 else "this user may not mount"


def change(path, byte, mask=1):
    """Flips bits of one byte; negative: counted from the end."""
    content = bytearray(path.read_bytes())
    content[byte] ^= mask
    path.write_bytes(content)


def cut(path, share=0.5):
    os.truncate(path, int(path.stat().st_size * share))


DAMAGES = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: os.truncate(path, 0),
    "cut": cut,
    "header-flipped": lambda path: change(path, 3),
    "text": lambda path: path.write_text("this is no such file\n" * 50),
    "folder": lambda path: (path.unlink(), path.mkdir()),
}


def cases():
    yield from datasets()
    yield from checkpoints()
    yield from disks()
    yield from broken_disks()


def datasets():
    codes = {"missing": c.NOT_FOUND, "folder": c.NOT_FOUND}
    for name, damage in DAMAGES.items():
        yield Case(f"dataset-{name}", codes.get(name, c.DATA), (rf"error: rank 0: .*{DATA}", WHERE_TO_LOOK),
                   prepare=lambda place, damage=damage: damage(place.folder / DATA), after=After.UNTOUCHED, seconds=10,
                   subset=Subset.ALWAYS if name in ("missing", "cut") else Subset.ALL)
        if name in ("missing", "folder"):
            continue
        yield Case(f"dataset-{name}-on-one", codes.get(name, c.DATA), (rf"error: rank 1: .*{DATA}", WHERE_TO_LOOK),
                   prepare=lambda place, damage=damage: (shutil.copy(place.folder / DATA, place.folder / "other.h5"),
                                                         damage(place.folder / "other.h5")),
                   shell=seen_by_rank_1("other.h5", DATA), needs=may_not_mount, after=After.UNTOUCHED, seconds=10,
                   subset=Subset.ALWAYS if name == "cut" else Subset.ALL)
    for error, code, name in ((2, c.NOT_FOUND, "missing"), (13, c.PERMISSION, "unreadable")):
        yield Case(f"dataset-{name}-on-one", code, (r"error: rank 1: .*train\.h5: ", WHERE_TO_LOOK), seconds=10,
                   environment={"SHIM_RANK": "1", "SHIM_FAIL": f"open:1:{error}", "SHIM_PATHS": DATA},
                   after=After.UNTOUCHED, subset=Subset.ALL)
    yield Case("dataset-broken-disk-on-one", c.IO, (r"error: rank 1: .*train\.h5.*Input/output error", WHERE_TO_LOOK),
               environment={"SHIM_RANK": "1", "SHIM_FAIL": "pread:1:5", "SHIM_PATHS": DATA}, after=After.UNTOUCHED,
               seconds=10, subset=Subset.ALL)
    yield Case("dataset-broken-disk-while-training", c.IO, (r"error: rank 1 of 2: .*train\.h5.*Input/output error",),
               environment={"SHIM_RANK": "1", "SHIM_FAIL": "pread:40:5", "SHIM_PATHS": DATA}, subset=Subset.ALL)
    yield Case("dataset-left-open", c.DATA, (r"error: rank 0: .*train\.h5.*already open for write", WHERE_TO_LOOK),
               prepare=lambda place: left_open(place.folder / DATA), after=After.UNTOUCHED, seconds=10,
               subset=Subset.ALL)
    yield Case("dataset-token-flipped", c.DATA, (r"train\.h5 .* the checksum of the tokens differs", WHERE_TO_LOOK),
               prepare=lambda place: flip_token(place.folder / DATA), after=After.UNTOUCHED, seconds=10)
    yield Case("dataset-other-on-one", c.DISAGREEMENT, (r"rank 1: data.train or data.valid is not the same dataset",),
               prepare=other_dataset, shell=seen_by_rank_1("other.h5", DATA), needs=may_not_mount,
               after=After.UNTOUCHED, seconds=10)
    yield Case("token-beyond-the-vocabulary", c.DATA,
               (r"rank \d of 2: train\.h5 is not a sound dataset: document \d+ has id 60000 as its token \d+, the "
                r"vocabulary has \d+",), options={"checkpoint.dir": "fresh"}, prepare=lambda place: large_token(place.folder / DATA),
               after=After.NOTHING, seconds=10)
    yield Case("vocabulary-too-small", c.CONFIGURATION,
               (r"model\.vocab = 20 is smaller than the vocabulary of the data, 257", WHERE_TO_LOOK),
               options={"model.vocab": 20}, after=After.UNTOUCHED, seconds=10)
    yield Case("dataset-cut-while-training", c.DATA, (r"rank \d of 2: .*train\.h5 has \d+ bytes, \d+ at byte \d+ were expected",),
               fault="rank=0 at=step step=5 do=pause; at=step do=pause", options={"train.steps": 400},
               meanwhile=cut_later, after=After.NOTHING, subset=Subset.ALL)
    yield Case("dataset-of-documents-cut-while-training", c.DATA, (r"rank \d of 2: .*train\.h5",),
               fault="rank=0 at=step step=5 do=pause; at=step do=pause", prepare=many_documents, meanwhile=cut_later,
               options={"train.steps": 400, "data.isolate_documents": "on", "checkpoint.dir": "fresh"},
               after=After.NOTHING, subset=Subset.ALL)


def many_documents(place):
    """So many that where they begin fills pages of the file."""
    (place.folder / "many.jsonl").write_text("".join(f'{{"text": "document {i}"}}\n' for i in range(3000)))
    subprocess.run([place.program, "prepare", "--overwrite", "--output", DATA, "many.jsonl"], cwd=place.folder, check=True,
                   capture_output=True)


def cut_later(place, job):
    job.wait_for(lambda: "iteration        5/" in job.text(), "step 5")
    cut(place.folder / DATA, 0.05)


def seen_by_rank_1(file, instead_of):
    return f'if [[ $RANK == 1 ]]; then exec unshare -m bash -c \'mount --bind {file} {instead_of}; exec "$@"\' x "$@"; ' \
           'fi; exec "$@"'


def other_dataset(place):
    (place.folder / "other.txt").write_text("other words of another text " * 800)
    subprocess.run([place.program, "prepare", "--output", "other.h5", "other.txt"], cwd=place.folder, check=True,
                   capture_output=True)


def tokens_of(path):
    """Where the tokens begin: the text in 16 bits per byte."""
    start = (path.parent / "text.txt").read_bytes()[:16]
    place = path.read_bytes().find(b"".join(struct.pack("<H", byte) for byte in start))
    assert place > 0
    return place


def flip_token(path):
    change(path, tokens_of(path) + 2000)


def left_open(path):
    """As a program leaves a file that was killed while it wrote: with the mark of that in the superblock."""
    checksum = ctypes.CDLL("libhdf5_openmpi.so.103").H5_checksum_lookup3
    checksum.restype, checksum.argtypes = ctypes.c_uint32, (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32)
    content = bytearray(path.read_bytes())
    content[11] |= 1
    content[44:48] = struct.pack("<I", checksum(bytes(content[:44]), 44, 0))
    path.write_bytes(content)


def large_token(path):
    """A token that no tokenizer made, in a file whose checksum is right."""
    hashed = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    hashed.restype, hashed.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    begin, text = tokens_of(path), (path.parent / "text.txt").read_bytes()
    content = path.read_bytes()
    for size in range(2 * len(text), 2 * len(text) + 64, 2):  # with the marks of document ends
        old = struct.pack("<Q", hashed(content[begin:begin + size], size))
        if content.count(old) == 1:
            break
    else:
        raise AssertionError("the checksum of the tokens was not found")
    tokens = bytearray(content[begin:begin + size])
    for at in range(0, len(tokens), 64):
        tokens[at:at + 2] = struct.pack("<H", 60000)
    content = content[:begin] + bytes(tokens) + content[begin + size:]
    path.write_bytes(content.replace(old, struct.pack("<Q", hashed(bytes(tokens), size))))


def checkpoints():
    files = ("manifest.json", "model.h5", "optimizer.h5", "state.json")
    damages = DAMAGES | {"flipped-late": lambda path: change(path, -40)}
    for file in files:
        for name, damage in damages.items():
            some = (file, name) in (("model.h5", "cut"), ("manifest.json", "empty"), ("optimizer.h5", "flipped-late"))
            rare = Subset.ALWAYS if some else Subset.ALL
            passed_over = (rf"warning .*checkpoint: .*step-00000004", r"resumed from run/checkpoints/step-00000002: step 2")
            yield Case(f"newest-{file}-{name}", c.DONE, passed_over, after=After.FINISHED, subset=rare,
                       prepare=lambda place, file=file, damage=damage: damage(place.folder / NEWEST / file))
            yield Case(f"all-{file}-{name}", c.DATA, (r"no checkpoint in run/checkpoints is whole", WHERE_TO_LOOK),
                       after=After.UNTOUCHED, seconds=10, subset=rare, prepare=lambda place, file=file, damage=damage:
                       [damage(place.folder / folder / file) for folder in (NEWEST, OLDER)])
    for file in files:
        yield Case(f"newest-{file}-on-one", c.DONE, (r"warning .*step-00000004 was passed over: rank 1: ",
                                                     r"resumed from run/checkpoints/step-00000002: step 2"),
                   prepare=lambda place, file=file: (shutil.copy(place.folder / NEWEST / file, place.folder / "other"),
                                                     cut(place.folder / "other", 0.7)),
                   shell=seen_by_rank_1("other", f"{NEWEST}/{file}"), needs=may_not_mount, after=After.NOTHING,
                   subset=Subset.ALL)
    yield Case("latest-is-nonsense", c.DONE, (r"resumed from run/checkpoints/step-00000004",), after=After.FINISHED,
               prepare=lambda place: (place.folder / "run/checkpoints/latest").write_bytes(b"\0../../etc/x" * 99),
               subset=Subset.ALL)
    yield Case("shard-of-another-step", c.DONE, (r"warning .*step-00000004", r"resumed from .*step-00000002"),
               prepare=lambda place: shutil.copy(place.folder / OLDER / "model.h5", place.folder / NEWEST / "model.h5"),
               after=After.FINISHED, subset=Subset.ALL)
    yield Case("leftovers-of-a-save", c.DONE, prepare=half_a_save, after=After.FINISHED)
    yield Case("no-checkpoint-where-one-is-named", c.NOT_FOUND, (r"run/nowhere",),
               options={"checkpoint.resume": "run/nowhere"}, after=After.UNTOUCHED, seconds=10, subset=Subset.ALL)


def half_a_save(place):
    shutil.copytree(place.folder / NEWEST, place.folder / "run/checkpoints/step-00000006.tmp")
    (place.folder / "run/checkpoints/step-00000006.tmp/manifest.json").unlink()


def small_disk(place, size="16m", folder="run/checkpoints"):
    """The checkpoints so far on a small file system of their own."""
    target = place.folder / folder
    kept = place.root / "kept"
    target.rename(kept)
    target.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(target)], check=True)
    place.mounts.append(target)
    shutil.copytree(kept, target, dirs_exist_ok=True)


def fill(folder, leave):
    room = os.statvfs(folder)
    try:
        (folder / "hog").write_bytes(b"x" * (room.f_bavail * room.f_frsize - leave))
    except OSError as error:  # the run was quicker, and the disk is as full
        if error.errno != errno.ENOSPC:
            raise


def fill_later(place, job):
    job.wait_for(lambda: (place.folder / "run/checkpoints/step-00000006.tmp/optimizer.h5").exists(), "a save")
    fill(place.folder / "run/checkpoints", 0)


def disks():
    make_room = lambda place: (place.folder / "run/checkpoints/hog").unlink()
    yield Case("disk-full", c.IO, (r"error: rank 0: .*(are free|No space left on device)", r"hint: Free space"),
               prepare=lambda place: (small_disk(place), fill(place.folder / "run/checkpoints", 200 << 10)),
               needs=may_not_mount, repair=make_room)
    yield Case("disk-fills-up-while-saving", c.IO, (r"error: rank 0: .*No space left on device",),
               prepare=small_disk, needs=may_not_mount, meanwhile=fill_later, repair=make_room,
               fault="at=save.agree step=6 do=pause; at=save.sync step=6 do=pause")
    yield Case("file-size-limit", c.IO, (r"error: .*step-00000006.*File too large", r"hint: "),
               ranks=1, shell='ulimit -f 300; exec "$@"')
    yield Case("file-size-limit-of-memory", c.RESOURCES, (r"error: rank \d: .*shared memory: File too large",
                                                          r"hint: Raise the limit of the size of a file"),
               shell='ulimit -f 100; exec "$@"', subset=Subset.ALL)
    yield Case("read-only-from-the-start", c.CANNOT_CREATE, (r"error: rank 0: .*run/checkpoints.*Read-only file system",),
               shell='unshare -m bash -c \'mount --bind run run; mount -o remount,bind,ro run; exec "$@"\' x "$@"',
               needs=may_not_mount, seconds=10)
    yield Case("read-only-while-training", (c.CANNOT_CREATE, c.IO), (r"error: rank 0: .*Read-only file system",),
               needs=may_not_mount, meanwhile=make_read_only, repair=make_writable,
               fault="at=step step=5 do=pause; at=step step=6 do=pause")
    yield Case("checkpoints-vanish", c.DONE, meanwhile=vanish, fault="at=step step=5 do=pause; at=step step=6 do=pause",
               after=After.FINISHED)
    yield Case("everything-vanishes", c.DONE, meanwhile=lambda place, job: vanish(place, job, "run"),
               fault="at=step step=5 do=pause; at=step step=6 do=pause", after=After.FINISHED, subset=Subset.ALL)
    yield Case("disk-of-metrics-full", c.DONE, (r"warning .*metrics",), options={"log.dir": "log"},
               prepare=lambda place: ((place.folder / "log").mkdir(), small_disk(place, "64k", "log"),
                                      fill(place.folder / "log", 4096)), needs=may_not_mount, after=After.FINISHED)
    yield Case("disk-of-timeline-full", c.DONE, (r"warning .*trace: the timeline ends here",),
               options={"train.trace": "log/trace.json"}, needs=may_not_mount, after=After.FINISHED,
               prepare=lambda place: ((place.folder / "log").mkdir(), small_disk(place, "64k", "log"),
                                      fill(place.folder / "log", 4096)))
    yield Case("folder-of-logs-in-a-circle", c.DONE, options={"log.dir": "log"},
               prepare=lambda place: (place.folder / "log").mkdir(), meanwhile=circle, after=After.FINISHED,
               fault="at=step step=5 do=pause; at=step step=6 do=pause")
    yield Case("no-inodes", c.IO, (r"error: rank 0: .*(files|No space left on device)", WHERE_TO_LOOK),
               prepare=lambda place: small_disk(place, "16m,nr_inodes=13"), needs=may_not_mount, repair=more_inodes,
               subset=Subset.ALL)
    yield Case("metrics-torn", c.DONE, prepare=lambda place: tear(place.folder / "run/metrics.jsonl"),
               after=After.FINISHED, repair=lambda place: whole_lines(place.folder / "run/metrics.jsonl"),
               subset=Subset.ALL)
    yield Case("disk-of-trace-full", (c.DONE, c.IO), (r"No space left on device|are free",), needs=may_not_mount,
               options={"train.trace": "trace/trace.json"}, after=After.NOTHING, subset=Subset.ALL,
               prepare=lambda place: ((place.folder / "trace").mkdir(), small_disk(place, "64k", "trace"),
                                      fill(place.folder / "trace", 4096)))
    yield Case("last-one-is-kept", c.IO, (r"error: rank 1: .*Input/output error",), options={"checkpoint.keep": 1},
               environment={"SHIM_RANK": "1", "SHIM_FAIL": "pread:1:5", "SHIM_PATHS": "step-00000006"},
               subset=Subset.ALL)
    yield Case("few-descriptors", (c.RESOURCES, c.DONE), shell='ulimit -n 40; exec "$@"', ranks=2, subset=Subset.ALL)


def more_inodes(place):
    subprocess.run(["mount", "-o", "remount,nr_inodes=100", str(place.folder / "run/checkpoints")], check=True)


def tear(path):
    """As a run leaves it that was killed while it wrote a line."""
    content = path.read_bytes()
    path.write_bytes(content[:content.rindex(b"\n", 0, -1) + 20])


def whole_lines(path):
    steps = [json.loads(line)["step"] for line in path.read_text().splitlines() if '"step"' in line]
    assert steps == sorted(set(steps)) and steps[-1] == 8, steps


def vanish(place, job, folder="run/checkpoints"):
    job.wait_for(lambda: "iteration        5/" in job.text(), "step 5")
    shutil.rmtree(place.folder / folder)


def circle(place, job):
    """Nobody can look for a STOP there any more; metrics are written where they were."""
    job.wait_for(lambda: "iteration        5/" in job.text(), "step 5")
    (place.folder / "log").rename(place.folder / "log.away")
    (place.folder / "log").symlink_to("log")


def make_read_only(place, job):
    job.wait_for(lambda: "iteration        5/" in job.text(), "step 5")
    folder = place.folder / "run/checkpoints"
    for options in ((), ("-o", "remount,ro")):
        subprocess.run(["mount", "--bind", *options, str(folder), str(folder)], check=True)
    place.mounts.append(folder)


def make_writable(place):
    subprocess.run(["umount", str(place.mounts.pop())], check=True)


def broken_disks():
    """Calls of the operating system that fail on one rank, from the first or a later one on."""
    for call, number, code, words in (
            ("pwrite", 28, c.IO, "No space left on device"), ("pwrite", 122, c.IO, "Disk quota exceeded"),
            ("write", 5, c.IO, "Input/output error"), ("fsync", 5, c.IO, "Input/output error"),
            ("close", 28, c.IO, "No space left on device"), ("rename", 5, c.IO, "Input/output error"),
            ("fallocate", 28, c.IO, "No space left on device"), ("pread", 5, c.IO, "Input/output error")):
        for rank in (0, 1):
            if rank == 1 and call in ("write", "rename", "fallocate", "close"):
                continue  # rank 0 alone does it
            yield Case(f"{call}-fails-{number}-on-{rank}", code, (rf"error: rank {rank}: .*{words}", WHERE_TO_LOOK),
                       environment={"SHIM_RANK": str(rank), "SHIM_FAIL": f"{call}:1:{number}",
                                    "SHIM_PATHS": "step-00000006"},
                       subset=Subset.ALWAYS if (call, rank) in (("pwrite", 1), ("fsync", 0)) else Subset.ALL)
    yield Case("reading-fails-while-resuming", c.DATA,
               (r"error: no checkpoint in run/checkpoints is whole:", r"rank 1: cannot read .*Input/output error"),
               environment={"SHIM_RANK": "1", "SHIM_FAIL": "pread:1:5"})
    for call in ("pwrite", "pread", "write"):
        yield Case(f"short-{call}s", c.DONE, environment={"SHIM_FAIL": f"{call}:1:short"}, after=After.FINISHED,
                   subset=Subset.ALL)
