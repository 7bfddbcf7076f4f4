#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes that must cost nothing: absurd sizes, outputs that would destroy something, commands that do not belong
together, runs that would be lost or mixed.

mistakes_test.py PROGRAM
"""

import os
import signal
import subprocess
import time

import program
import training

RESOURCES, NUMERICS = 71, 79
LARGEST = 9223372036854775807
MOST_SECONDS = 10


class OutputTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("in/a.txt", "some text")
        self.run_program("prepare", "--output", "data.h5", "in")
        self.run_options = ["--data.train=data.h5", "--model.layers=1", "--model.hidden=16", "--model.heads=2",
                            "--model.sequence=4", "--train.global_batch=1", "--train.steps=1"]

    def test_an_input_is_never_the_output(self):
        os.link(self.folder / "in/a.txt", self.folder / "other-name.h5")
        for output, source in (("in/a.txt", "in/a.txt"), ("in/a.txt", "in"), ("other-name.h5", "in/a.txt")):
            outcome = self.run_program("prepare", "--output", output, "--overwrite", source, code=program.CANNOT_CREATE)
            self.assertIn("is an input", outcome.err)
            self.assertEqual((self.folder / "in/a.txt").read_text(), "some text")
        self.write("run.ini", "[model]\nlayers = 1\n")
        self.write("kernels.txt", "tessera kernels 1\nend\n")
        kept = {name: (self.folder / name).read_bytes() for name in ("data.h5", "run.ini", "kernels.txt")}
        run = ["run.ini", *self.run_options, "--train.kernels=kernels.txt"]
        for command in (["train", *run, "--train.trace"], ["plan", *run, "--world=1", "--timeline"],
                        ["bench", "kernels", *run, "--table"], ["bench", "step", *run, "--json"]):
            for name in kept:
                outcome = self.run_program(*command[:-1], f"{command[-1]}={name}", code=program.CANNOT_CREATE)
                self.assertIn(f"{name} is an input", outcome.err)
        self.assertEqual({name: (self.folder / name).read_bytes() for name in kept}, kept)

    def test_outputs_without_a_place_are_refused_before_anything_is_measured(self):
        for command in (["bench", "gemm", "--json"], ["bench", "step", *self.run_options, "--json"],
                        ["bench", "kernels", *self.run_options, "--table"]):
            self.run_program(*command[:-1], f"{command[-1]}=missing/out", code=program.CANNOT_CREATE)

    def test_devices_and_pipes_are_no_outputs(self):
        os.mkfifo(self.folder / "pipe")
        self.run_program("prepare", "--output", "pipe", "--overwrite", "in", code=program.CANNOT_CREATE)
        self.assertTrue((self.folder / "pipe").is_fifo())
        self.run_program("train", *self.run_options, "--train.trace=pipe", code=program.CANNOT_CREATE)
        self.run_program("bench", "gemm", "--m=8", "--n=8", "--k=8", "--threads=1", "--json=pipe",
                         code=program.CANNOT_CREATE)

    def test_folders_that_cannot_be_made(self):
        for option in ("log.dir", "checkpoint.dir"):
            for place in ("data.h5", "data.h5/inside"):
                self.run_program("train", *self.run_options, f"--{option}={place}", code=program.CANNOT_CREATE)

    def test_folders_where_files_are_written(self):
        for option, name in (("log.dir", "metrics.jsonl"), ("checkpoint.dir", "latest")):
            (self.folder / "taken" / name).mkdir(parents=True)
            outcome = self.run_program("train", *self.run_options, f"--{option}=taken", code=program.CANNOT_CREATE)
            self.assertIn(f"taken/{name} is a folder", outcome.err)
            self.assertNotIn("step", outcome.out)

    def test_a_pipe_as_input_keeps_nobody_waiting(self):
        os.mkfifo(self.folder / "pipe")
        self.run_program("prepare", "--output", "out.h5", "pipe", code=program.NOT_FOUND)
        self.run_program("inspect", "pipe", code=program.NOT_FOUND)
        self.run_program("train", *self.run_options[1:], "--data.train=pipe", code=program.NOT_FOUND)

    def test_links_in_a_circle(self):
        os.symlink("circle", self.folder / "in/circle")
        self.run_program("prepare", "--output", "out.h5", "in")
        os.symlink("b.txt", self.folder / "in/b.txt")
        outcome = self.run_program("prepare", "--output", "other.h5", "in", code=program.NOT_FOUND)
        self.assertIn("in/b.txt", outcome.err)

    def test_output_that_is_lost_is_an_error(self):
        for arguments in (["--help"], ["train", "--help"], ["inspect", "data.h5"], ["modules", "list"],
                          ["train", *self.run_options]):
            with self.subTest(arguments[0]), open("/dev/full", "wb") as full:
                finished = subprocess.run([program.TESSERA, *arguments], cwd=self.folder, stdout=full,
                                          stderr=subprocess.PIPE, timeout=program.SECONDS, check=False)
                self.assertEqual(finished.returncode, program.IO, finished.stderr)

    def test_a_killed_prepare_leaves_no_tokens(self):
        self.write("large.txt", b"word " * 20_000_000)
        with subprocess.Popen([program.TESSERA, "prepare", "--output", "large.h5", "large.txt"], cwd=self.folder) as job:
            while job.poll() is None and not (self.folder / "large.h5.lock").exists():
                time.sleep(0.001)
            second = self.run_program("prepare", "--output", "large.h5", "in", code=program.CANNOT_CREATE)
            job.kill()
        self.assertIn(f"large.h5 is in use by process {job.pid} on", second.err)
        left = {path.name for path in self.folder.glob("large.h5*")}
        self.assertLessEqual(left, {"large.h5.lock", "large.h5.tmp"})
        self.run_program("prepare", "--output", "large.h5", "in")
        self.assertEqual([path.name for path in self.folder.glob("large.h5*")], ["large.h5"])


class SizeTest(training.TrainingTest):
    def refuse(self, code, **more):
        options = self.options("run") | {"train.steps": 2} | {key.replace("__", "."): value for key, value in more.items()}
        begin = time.monotonic()
        outcome = self.run_program("train", *training.flags(options), code=code)
        self.assertLess(time.monotonic() - begin, MOST_SECONDS)
        self.assertFalse((self.folder / "run").exists())
        return outcome.err

    def test_numbers_that_nobody_means(self):
        for option in ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "sequence"):
            self.assertIn(f"model.{option} must be from", self.refuse(program.CONFIGURATION, **{f"model__{option}": LARGEST}))
        error = self.refuse(program.CONFIGURATION, train__global_batch=LARGEST, train__micro_batch=LARGEST)
        self.assertIn("train.global_batch must be from", error)
        self.assertIn("train.micro_batch must be from", error)
        error = self.refuse(program.CONFIGURATION, optimizer__beta2=1, optimizer__epsilon=0, optimizer__lr=1e10)
        for option in ("beta2", "epsilon", "lr"):
            self.assertIn(f"optimizer.{option} must be from", error)

    def test_what_can_never_fit_is_refused_before_plans_are_made(self):
        limit = {"train.memory_limit": "4GiB"}
        error = self.refuse(RESOURCES, model__layers=10000, model__hidden=1024, **limit)
        self.assertIn("Use a smaller model", error)
        error = self.refuse(RESOURCES, train__global_batch=1000000, model__sequence=256, **limit)
        self.assertIn("Use a smaller train.global_batch", error)
        error = self.refuse(RESOURCES, train__micro_batch=65536, train__global_batch=65536, model__hidden=4096, **limit)
        self.assertIn("Use a smaller train.micro_batch", error)
        error = self.refuse(program.CONFIGURATION, train__steps=1000000000, train__global_batch=1000000,
                            train__micro_batch=64, model__sequence=16384, train__memory_limit="1000TiB")
        self.assertIn("train.steps x train.global_batch x model.sequence is too large to be counted", error)

    def test_flags_of_other_verbs_have_limits_too(self):
        for arguments in (["bench", "gemm", "--threads=1000000", "--m=7", "--n=5", "--k=3"],
                          ["bench", "gemm", f"--m={LARGEST}", "--n=3", "--k=3"],
                          ["generate", "--checkpoint=x", f"--tokens={LARGEST}"]):
            self.run_program(*arguments, code=program.USAGE)
        self.run_program("bench", "gemm", "--m=1000000000", "--n=1000000000", "--k=3", code=RESOURCES)
        self.run_program("bench", "experts", "--hidden=1000000000", "--ffn=1000000000", code=RESOURCES)


class CommandTest(training.TrainingTest):
    def together(self, code, *commands):
        """Several command lines in one job, one rank each."""
        launcher = ["timeout", "-k", "5", str(program.SECONDS), "mpirun", "--oversubscribe", "--bind-to", "none"]
        for number, command in enumerate(commands):
            launcher += [":"] * (number > 0) + ["-n", "1", program.TESSERA, *command]
        return self.run_command(launcher, code, program.MPI_ENVIRONMENT)

    def test_ranks_have_one_command_line(self):
        train = ["train", *training.flags(self.options("run", train__steps=1))]
        outcome = self.together(training.DISAGREEMENT, train, ["train", "--bogus=1"])
        self.assertIn("here: tessera train --bogus=1", outcome.err)
        self.together(training.DISAGREEMENT, train, ["bench", "step"])
        self.together(program.USAGE, train, ["inspect", "train.h5"])
        self.assertFalse((self.folder / "run").exists())

    def test_verbs_of_one_process_refuse_several(self):
        outcome = self.run_ranks(2, "prepare", "--output", "out.h5", "text.txt", code=program.USAGE)
        self.assertIn("works in one process, but was started as 2", outcome.err)
        self.run_ranks(2, "generate", "--checkpoint=x", code=program.USAGE)

    def test_benchmarks_of_several_ranks_refuse_one(self):
        for name in ("collectives", "pipeline"):
            self.assertIn("two ranks or more", self.run_program("bench", name, code=program.USAGE).err)

    def test_a_bad_command_line_is_64_for_all_verbs(self):
        for verb in ("prepare", "inspect", "modules", "generate", "bench"):
            outcome = self.run_program(verb, "--bogus", code=program.USAGE)
            self.assertIn(f"tessera {verb} --help", outcome.err)
        for arguments in (["-h"], ["--help"], ["train", "-h"], ["prepare", "-h"]):
            self.assertIn("usage: tessera", self.run_program(*arguments).out)


class MessageTest(training.TrainingTest):
    """What is said names what is wrong."""

    def alone(self, folder, code=program.DONE, **more):
        return self.run_program("train", *training.flags(self.options(folder, **more)), code=code)

    def test_data_that_are_too_short(self):
        outcome = self.alone("run", code=program.DATA, model__sequence=1000000)
        self.assertIn("a sample needs model.sequence + 1 = 1000001", outcome.err)
        outcome = self.alone("run", code=program.NOT_FOUND, data__train=".")
        self.assertIn("Name a file, not a folder.", outcome.err)

    def test_a_loss_that_is_not_finite_is_never_saved(self):
        diverging = {"optimizer.name": "sgd", "optimizer.lr": 1000, "optimizer.weight_decay": 1000,
                     "model.dropout": 0}
        options = self.options("run", train__steps=12, checkpoint__interval=1) | diverging
        outcome = self.run_program("train", *training.flags(options), code=NUMERICS)
        self.assertIn("the loss of the last step, 12, is not finite", outcome.err)
        self.assertIn("lm loss: nan |", outcome.out)
        losses = [line["loss"] for line in self.metrics("run")]
        sound = losses.index("None")
        self.assertEqual(len(self.checkpoints("run")), sound)
        self.assertIn(f"step {sound + 1} is not saved: its loss is not finite", outcome.err)

    def test_text_needs_the_model_only(self):
        self.alone("run", train__steps=1)
        checkpoint = self.folder / "run/checkpoints/step-00000001"
        (checkpoint / "optimizer.h5").unlink()
        self.run_program("generate", "--checkpoint", checkpoint, "--tokens=3")
        self.run_program("train", *training.flags(self.options("other", train__steps=2, checkpoint__resume=checkpoint)),
                         code=program.NOT_FOUND)
        (checkpoint / "model.h5").unlink()
        self.run_program("generate", "--checkpoint", checkpoint, "--tokens=3", code=program.NOT_FOUND)

    def test_metrics_go_on_when_their_folder_is_removed(self):
        options = training.flags(self.options("run", train__steps=1000000))
        with subprocess.Popen([program.TESSERA, "train", *options], cwd=self.folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as job:
            for _ in range(2):
                deadline = time.monotonic() + 30
                while self.steps("run") < 2:
                    self.assertLess(time.monotonic(), deadline, "no step was logged")
                    time.sleep(0.02)
                (self.folder / "run/metrics.jsonl").rename(self.folder / "moved.jsonl")
                (self.folder / "moved.jsonl").unlink()
            job.send_signal(signal.SIGUSR1)
            _, err = job.communicate(timeout=program.SECONDS)
        self.assertEqual(job.returncode, training.STOPPED)
        self.assertIn(b"was removed while the run goes on", err)

    def test_run_files_that_are_none(self):
        self.write("empty.ini", "")
        options = training.flags(self.options("run", train__steps=1))
        self.run_program("train", "empty.ini", *options)
        outcome = self.run_program("train", "train.h5", code=program.DATA)
        self.assertIn("train.h5: this is no text", outcome.err)
        self.write("many.ini", "x\n" * 1000)
        outcome = self.run_program("train", "many.ini", code=program.CONFIGURATION)
        self.assertIn("and 951 more", outcome.err)
        outcome = self.run_program("train", *options, code=program.CONFIGURATION, environment={"TESSERA_TRAIN_STEPS": "3"})
        self.assertIn("TESSERA_TRAIN_STEPS has no effect", outcome.err)


class LostRunTest(training.TrainingTest):
    """Nothing that was trained is thrown away, replaced, or continued as something else."""

    def alone(self, folder, code=program.DONE, **more):
        return self.run_program("train", *training.flags(self.options(folder, **more)), code=code)

    def test_the_end_is_saved_whatever_the_interval(self):
        self.alone("run", train__steps=3)
        self.assertEqual(self.checkpoints("run"), ["step-00000003"])
        self.alone("start", train__steps=0, checkpoint__interval=1)
        self.assertEqual(self.checkpoints("start"), ["step-00000000"])
        options = training.flags(self.options("none", train__steps=1))
        outcome = self.run_program("train", *(flag for flag in options if "checkpoint.dir" not in flag))
        self.assertIn("the trained model will not be saved", outcome.err)

    def test_a_stop_without_a_place_to_save_to_is_not_resumable(self):
        options = self.options("run", train__steps=1000000, train__stop_after="0.5s")
        del options["checkpoint.dir"]
        outcome = self.run_program("train", *training.flags(options), code=training.UNSAVED)
        self.assertIn("nothing was saved: the same command begins anew", outcome.err)

    def test_files_of_others_stay(self):
        self.write("mine.txt", "mine")
        self.write("run/checkpoints/lock", "notes")
        self.write("run/metrics.jsonl", "notes")
        outcome = self.alone("run", code=program.CANNOT_CREATE, train__steps=1)
        self.assertIn("run/checkpoints/lock is no lock of this program", outcome.err)
        (self.folder / "run/checkpoints/lock").unlink()
        (self.folder / "run/checkpoints/lock").symlink_to(self.folder / "mine.txt")
        self.alone("run", code=program.CANNOT_CREATE, train__steps=1)
        (self.folder / "run/checkpoints/lock").unlink()
        self.assertIn("it is metrics.jsonl.1 now", self.alone("run", train__steps=1).err)
        for name, text in (("mine.txt", "mine"), ("run/metrics.jsonl.1", "notes")):
            self.assertEqual((self.folder / name).read_text(), text)

    def test_a_finished_run_has_nothing_left(self):
        self.alone("run", train__steps=3)
        outcome = self.alone("run", train__steps=2)
        self.assertIn("the checkpoint is of step 3, train.steps is 2: there is nothing left to train", outcome.err)
        self.alone("copy", train__steps=3, checkpoint__resume="run/checkpoints")
        self.assertEqual(self.checkpoints("copy"), ["step-00000003"])

    def test_another_model_is_not_continued(self):
        self.alone("run", train__steps=2)
        outcome = self.alone("run", code=program.CONFIGURATION, train__steps=4, model__heads=8, model__norm_epsilon=0.1,
                             model__rope_theta=500, data__isolate_documents="on")
        for line in ("model.heads is 8, the checkpoint has 4", "model.norm_epsilon is 0.1, the checkpoint has 1e-05",
                     "model.rope_theta is 500.0, the checkpoint has 10000.0",
                     "data.isolate_documents is on, the checkpoint has off"):
            self.assertIn(line, outcome.err)
        outcome = self.alone("run", code=program.CONFIGURATION, train__steps=4, data__split="9,1")
        self.assertIn("data.split and model.sequence leave", outcome.err)
        self.assertNotIn("is not the dataset", outcome.err)

    def test_checkpoints_of_another_run_are_in_the_way(self):
        self.alone("run", train__steps=4, checkpoint__interval=2)
        outcome = self.alone("run", code=program.CONFIGURATION, train__steps=3, checkpoint__resume="none")
        self.assertIn("run/checkpoints holds step-00000004 of another run, and this one starts anew", outcome.err)
        older = "run/checkpoints/step-00000002/"
        outcome = self.alone("run", code=program.CONFIGURATION, train__steps=3, checkpoint__resume=older)
        self.assertIn("begins behind step 2", outcome.err)
        self.alone("other", train__steps=3, checkpoint__resume=older)
        self.assertEqual(self.checkpoints("other"), ["step-00000003"])

    def test_damaged_checkpoints_are_not_replaced(self):
        self.alone("run", train__steps=4, checkpoint__interval=2)
        for step in (2, 4):
            (self.folder / "run/checkpoints" / f"step-{step:08d}" / "manifest.json").write_text("")
        outcome = self.alone("run", code=program.DATA, train__steps=4)
        self.assertIn("no checkpoint in run/checkpoints is whole", outcome.err)
        self.assertEqual((self.folder / "run/checkpoints/step-00000004/manifest.json").read_text(), "")

    def test_two_runs_do_not_share_a_folder(self):
        command = [program.TESSERA, "train", *training.flags(self.options("run", train__steps=1000000))]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            deadline = time.monotonic() + 30
            while self.steps("run") < 2:
                self.assertLess(time.monotonic(), deadline, "no step was logged")
                time.sleep(0.02)
            outcome = self.alone("run", code=program.CANNOT_CREATE, train__steps=5)
            self.assertIn(f"run/checkpoints is in use by process {job.pid} on", outcome.err)
            outcome = self.alone("run", code=program.CANNOT_CREATE, train__steps=5, checkpoint__dir="other")
            self.assertIn(f"run is in use by process {job.pid} on", outcome.err)
            job.send_signal(signal.SIGINT)
        self.assertEqual(job.returncode, training.STOPPED)
        self.assertEqual(len(self.checkpoints("run")), 1)
        self.assertEqual(list(self.folder.rglob("lock")), [])
        self.alone("run", train__steps=1, checkpoint__dir="run", log__dir="run/")


if __name__ == "__main__":
    program.main()
