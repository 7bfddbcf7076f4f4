# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that were not started alike, options and layouts that make no sense, and surroundings that lack something."""

import os
import pathlib
import shutil

import case as c
from case import After, Case, Subset
from cases.files import may_not_mount

QUICK = {"after": After.UNTOUCHED, "seconds": 10}
ON_RANK_1 = 'if [[ $RANK == 1 ]]; then {}; fi; exec "$@"'


def cases():
    yield from ranks_that_differ()
    yield from options()
    yield from resumed()
    yield from layouts()
    yield from surroundings()


def ranks_that_differ():
    yield Case("other-environment", c.DISAGREEMENT,
               (r"rank 1: the environment here differs from that of rank 0", r"TESSERA__TRAIN__STEPS=9", r"hint: "),
               shell=ON_RANK_1.format("export TESSERA__TRAIN__STEPS=9"), **QUICK)
    yield Case("other-command-line", c.DISAGREEMENT, (r"rank 1: the command line here differs",),
               shell=ON_RANK_1.format('set -- "$@" --log.level=debug'), **QUICK)
    yield Case("other-program", c.DISAGREEMENT,
               (r"rank 1: the program here differs from that of rank 0", r"libtessera_io", r"hint: install the same build"),
               prepare=other_library, shell=ON_RANK_1.format("export LD_LIBRARY_PATH=lib"), **QUICK)
    yield Case("other-module", c.DISAGREEMENT, (r"rank 1: the modules here differ from those of rank 0", r"hint: "),
               prepare=other_module, shell=ON_RANK_1.format("export TESSERA_MODULE_PATH=own"), **QUICK)
    yield Case("other-clock", c.DONE, environment={"SHIM_RANK": "1", "SHIM_CLOCK": "5400"}, after=After.FINISHED)
    yield Case("other-clock-time-limit", c.STOPPED, (r"stopped after step \d by the time limit",), fault="at=step do=pause",
               options={"train.stop_after": "0.2s"}, environment={"SHIM_RANK": "1", "SHIM_CLOCK": "-5400"},
               subset=Subset.ALL)
    yield Case("other-monotonic-clock", c.DONE, after=After.FINISHED, needs=may_not_mount, subset=Subset.ALL,
               shell=ON_RANK_1.format('exec unshare --time --fork --monotonic 100000 -- "$@"'))
    yield Case("other-time-zone", c.DONE, shell=ON_RANK_1.format("export TZ=Pacific/Auckland LC_ALL=de_DE.UTF-8"),
               after=After.FINISHED, subset=Subset.ALL)
    yield Case("other-folder", c.NOT_FOUND, (r"rank 1: cannot open train\.h5",), shell=ON_RANK_1.format("cd /"), **QUICK)


def other_library(place):
    """One of the program's libraries as another build would have made it: with another id."""
    lib = pathlib.Path(place.program).parent.parent / "lib"
    source = next(path for path in lib.glob("libtessera_io.so.*") if not path.is_symlink())
    (place.folder / "lib").mkdir()
    content = bytearray(source.read_bytes())
    note = content.find(b"GNU\0", content.find(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"))
    content[note + 4] ^= 255
    for name in {path.name for path in lib.glob("libtessera_io.so.*")}:
        (place.folder / "lib" / name).write_bytes(content)


def other_module(place):
    built = pathlib.Path(place.program).parent.parent / "lib/tessera/modules"
    (place.folder / "own").mkdir()
    for suffix in (".so", ".json"):
        shutil.copy(built / f"optimizer_adamw{suffix}", place.folder / "own")
    with open(place.folder / "own/optimizer_adamw.so", "ab") as library:
        library.write(b"\0")


def options():
    """All are refused before anything is made."""
    def refused(name, words, given=None, **more):
        return Case(f"option-{name}", more.pop("code", c.CONFIGURATION), words, options=given or {},
                    ranks=more.pop("ranks", 0), **(QUICK | more))

    yield refused("misspelt", (r"unknown key train\.global_batsch", r"did you mean train\.global_batch\?"),
                  {"train.global_batsch": 8}, ranks=2)
    yield refused("misspelt-section", (r"unknown key trian\.steps", r"did you mean train\.steps\?"), {"trian.steps": 8})
    yield refused("unused", (r"lr\.min is not used, since lr\.schedule is constant",), {"lr.min": 1e-5})
    yield refused("out-of-range", (r"train\.micro_batch must be from 1",), {"train.micro_batch": 0})
    yield refused("negative", (r"optimizer\.lr must be from 0",), {"optimizer.lr": -1})
    yield refused("not-a-number", (r"optimizer\.lr must be .*not 'nan'|optimizer\.lr",), {"optimizer.lr": "nan"})
    yield refused("wrong-type", (r"train\.steps must be an integer, not 'many'",), {"train.steps": "many"})
    yield refused("unknown-choice", (r"lr\.schedule must be .*'cosin'",), {"lr.schedule": "cosin"})
    yield refused("empty", (r"train\.steps must be an integer, not ''",), {"train.steps": ""})
    yield refused("twice", (r"train\.steps",), verb=("train", "--train.steps=7"))
    yield refused("twice-in-a-run-file", (r"run\.ini:3: .*train\.steps",), verb=("train", "run.ini"),
                  prepare=lambda place: (place.folder / "run.ini").write_text("[train]\nsteps = 3\nsteps = 4\n"))
    yield refused("alias-and-name", (r"train\.steps",), verb=("train", "--train-iters=7"))
    yield refused("run-file-missing", (r"nowhere\.ini",), verb=("train", "nowhere.ini"), code=c.NOT_FOUND)
    yield refused("run-file-broken", (r"run\.ini:2: ",), verb=("train", "run.ini"),
                  prepare=lambda place: (place.folder / "run.ini").write_text("[train]\nsteps\n[\n"))
    yield refused("run-file-too-large", (r"large\.ini: 1099511627776 bytes are too many for a run file",), code=c.DATA,
                  verb=("train", "large.ini"), prepare=lambda place: sparse(place.folder / "large.ini"))
    yield refused("path-too-long", (r"cannot open a{900}a*… \(\d+ bytes\) …a+: File name too long", r"hint: Check the path"),
                  {"data.train": "a" * 5000}, code=c.NOT_FOUND)
    yield refused("control-characters", (r"unknown flag --\\x1b\[31mred",), verb=("train", "--\x1b[31mred"))
    yield refused("fault-variable", (r"TESSERA_FAULT: 'do=jump' makes no sense",), code=c.USAGE,
                  environment={"TESSERA_FAULT": "at=step do=jump"})


def sparse(path):
    path.touch()
    os.truncate(path, 1 << 40)


def resumed():
    yield Case("resumed-with-other-options", c.DONE,
               (r"options that were others when it was saved: .*optimizer\.lr = 0\.002 \(0\.001 before\), "
                r"train\.steps = 9 \(8 before\)",), options={"optimizer.lr": 2e-3, "train.steps": 9}, after=After.NOTHING,
               subset=Subset.ALL)


def layouts():
    """On two ranks; each within seconds, and before weights are there."""
    huge = {"model.hidden": 16384, "model.heads": 64, "model.kv_heads": 64, "model.layers": 80}
    for name, words, given in (
            ("tensor-does-not-divide-ranks", r"2 ranks are not a multiple of parallel\.tensor", {"parallel.tensor": 3}),
            ("more-stages-than-ranks", r"2 ranks are not a multiple of parallel\.tensor", {"parallel.pipeline": 4}),
            ("more-stages-than-layers", r"parallel\.(pipeline|chunks)|model\.layers",
             {"parallel.pipeline": 2, "model.layers": 1}),
            ("tensor-does-not-divide-heads", r"model\.heads", {"parallel.tensor": 2, "model.heads": 1, "model.kv_heads": 1}),
            ("batch-does-not-divide", r"train\.global_batch = 9 is not a multiple", {"train.global_batch": 9}),
            ("context-does-not-divide", r"model\.sequence|parallel\.context", {"parallel.context": 2, "model.sequence": 31}),
            ("experts-without-experts", r"parallel\.expert", {"parallel.expert": 2}),
            ("layers-of-another-sum", r"parallel\.layers", {"parallel.pipeline": 2, "parallel.layers": "2, 2"}),
            ("heads-do-not-divide", r"model\.heads", {"model.heads": 5})):
        yield Case(f"layout-{name}", c.CONFIGURATION, (r"error: ", words), options=huge | given if {"model.layers", "model.sequence"}.isdisjoint(given)
                   else given, **QUICK, subset=Subset.ALWAYS if name.startswith("more") else Subset.ALL)
    yield Case("layout-does-not-fit", c.RESOURCES, (r"error: ", r"hint: "), options=huge, **QUICK)


def surroundings():
    yield Case("root-is-not-wanted", 1, (r"mpirun has detected an attempt to run as root",),
               environment={"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "0"}, after=After.UNTOUCHED, needs=not_root)
    yield Case("not-root", c.DONE, after=After.FINISHED, needs=not_root, user="nobody")
    yield Case("not-root-alone", c.DONE, ranks=0, after=After.FINISHED, needs=not_root, user="nobody", subset=Subset.ALL)
    yield Case("folder-of-another-user", c.PERMISSION, (r"error: rank 0: .*run.*Permission denied", r"hint: Check owner"),
               needs=not_root, user="nobody", prepare=lambda place: place.give("run", "root"), after=After.UNTOUCHED)
    yield Case("dataset-of-another-user", c.PERMISSION, (r"error: rank 0: .*train\.h5: Permission denied",),
               needs=not_root, user="nobody", prepare=lambda place: (place.give("train.h5", "root"),
                                                                     (place.folder / "train.h5").chmod(0o600)),
               after=After.UNTOUCHED)
    default = {"OMPI_MCA_btl_vader_backing_directory": "/dev/shm"}
    yield Case("no-shared-memory", c.DONE, needs=may_not_mount, after=After.FINISHED, environment=default,
               shell=mounted("mount -t tmpfs -o ro,size=4k tmpfs /dev/shm"))
    yield Case("missing-shared-memory", c.DONE, needs=may_not_mount, after=After.FINISHED, environment=default,
               shell=WITHOUT_SHARED_MEMORY, subset=Subset.ALL)
    yield Case("strict-umask", c.DONE, shell='umask 0077; exec "$@"', after=After.FINISHED, subset=Subset.ALL)
    yield Case("checkpoints-of-another-user", c.PERMISSION, (r"step-00000004.*Permission denied", r"hint: "),
               needs=not_root, user="nobody", prepare=foreign_checkpoints, after=After.UNTOUCHED, subset=Subset.ALL)
    yield Case("little-shared-memory", c.DONE, needs=may_not_mount, after=After.FINISHED, environment=default,
               shell=mounted("mount -t tmpfs -o size=64k tmpfs /dev/shm"), subset=Subset.ALL)
    yield Case("no-files-in-memory", c.DONE, after=After.FINISHED,
               environment={"SHIM_RANK": "1", "SHIM_FAIL": "memfd_create:1:38"}, subset=Subset.ALL)
    yield Case("little-address-space", (c.RESOURCES, c.DONE), shell='ulimit -v 1500000; exec "$@"')
    yield Case("too-little-address-space-on-one", (c.RESOURCES,), (r"error: rank 1( of 2)?: ", r"hint: "),
               shell=ON_RANK_1.format("ulimit -v 900000"), options={"model.hidden": 1024, "model.layers": 8},
               after=After.NOTHING)
    yield Case("little-stack", c.RESOURCES, (r"error: the stack may have only 65536 bytes", r"hint: Raise its limit"),
               shell='ulimit -s 64; exec "$@"', **QUICK)
    yield Case("tiny-address-space", c.RESOURCES, (r"error: the address space may have only 307200000 bytes",
                                                   r"hint: Raise its limit: `ulimit -v`"),
               shell='ulimit -v 300000; exec "$@"', **QUICK)
    yield Case("too-few-descriptors", c.RESOURCES, (r"error: only 24 files may be open", r"hint: Raise its limit"),
               shell='ulimit -n 24; exec "$@"', **QUICK)
    yield Case("too-few-threads", c.RESOURCES, (r"error: no thread or process can be made", r"hint: Raise the limits"),
               needs=not_root, user="nobody", shell='ulimit -u 2; exec "$@"', **QUICK)
    yield Case("bare-environment", c.DONE, ranks=0, after=After.FINISHED, subset=Subset.ALL,
               shell='exec env -i PATH=/usr/bin:/bin TMPDIR="$TMPDIR" TESSERA_TEST_MARK="$TESSERA_TEST_MARK" "$@"')
    yield Case("narrow-terminal-pipe", c.IO, (r"standard output could not be written",), ranks=0, after=After.FINISHED,
               shell='"$@" | head -1; exit ${PIPESTATUS[0]}')
    yield Case("odd-folder", c.DONE, options={"checkpoint.dir": "run/checkpoints", "log.dir": "größer als, nichts"},
               after=After.FINISHED, subset=Subset.ALL)


# A /dev that has all but the folder shm.
WITHOUT_SHARED_MEMORY = r"""exec unshare -m bash -c '
  new=$(mktemp -d) && mount -t tmpfs tmpfs "$new" && mkdir "$new/pts" && mount --rbind /dev/pts "$new/pts"
  for file in null zero full random urandom; do touch "$new/$file" && mount --bind "/dev/$file" "$new/$file"; done
  ln -s /proc/self/fd "$new/fd" && mount --rbind "$new" /dev && umount -l "$new" && rmdir "$new"
  [[ ! -e /dev/shm ]] && exec "$@"' x "$@"
"""


def foreign_checkpoints(place):
    place.give("run/checkpoints/step-00000004", "root")
    for path in (place.folder / "run/checkpoints/step-00000004").iterdir():
        path.chmod(0o600)


def mounted(command):
    return f"exec unshare -m bash -c '{command}; exec \"$@\"' x \"$@\""


def not_root():
    return None if os.geteuid() == 0 else "only root can be another user"
