#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""`tessera prepare` on good and nasty inputs.

prepare_test.py PROGRAM
"""

import json
import random
import time

import h5py

import program

EOD = 256


def documents_of(path):
    """The texts of a dataset, each checked to end with one end of document."""
    with h5py.File(path) as file:
        tokens, starts = file["tokens"][:], file["documents"][:]
    assert starts[0] == 0 and starts[-1] == len(tokens)
    texts = [tokens[begin:end] for begin, end in zip(starts[:-1], starts[1:])]
    assert all(text[-1] == EOD and (text[:-1] < EOD).all() for text in texts)
    return [bytes(text[:-1].astype("u1")) for text in texts]


class PrepareTest(program.ProgramTest):
    def prepare(self, *inputs, code=program.DONE):
        return self.run_program("prepare", "--output", "out.h5", *inputs, code=code)

    def documents(self):
        return documents_of(self.folder / "out.h5")

    def test_texts_come_back_in_the_order_of_the_inputs(self):
        self.write("b.txt", b"second\r\n\0\xff")
        self.write("a.txt", b"\xef\xbb\xbffirst")
        outcome = self.prepare("b.txt", "a.txt")
        self.assertEqual(self.documents(), [b"second\r\n\0\xff", b"first"])
        self.assertIn("2 documents, 17 tokens from 2 files", outcome.out)

    def test_empty_texts_first_middle_and_last(self):
        rows = ["", "one", "", "two", ""]
        self.write("in.jsonl", "\n".join(json.dumps({"text": row}) for row in rows))
        outcome = self.prepare("in.jsonl")
        self.assertEqual(self.documents(), [b"one", b"two"])
        self.assertIn("skipped: 3 empty texts, 0 blank lines, 0 bad lines", outcome.out)

    def test_marks_blanks_line_ends_and_keys_that_come_twice(self):
        lines = [
            b'\xef\xbb\xbf{"text": "mark"}\r\n',
            b"\n   \t\r\n",
            b'{"id": {"text": "inner"}, "text": "outer \\u00e9\\n"}\r\n',
            b'{"text": "lost", "text": "kept"}\n',
            b'{"text": "no end of line"}',
        ]
        self.write("in.jsonl", b"".join(lines))
        outcome = self.prepare("in.jsonl")
        self.assertEqual(self.documents(), [b"mark", "outer é\n".encode(), b"kept", b"no end of line"])
        self.assertIn("0 empty texts, 2 blank lines, 0 bad lines", outcome.out)

    def test_a_bad_line_is_an_error_with_its_number_and_leaves_nothing(self):
        cases = {
            "no text": b'{"other": "x"}',
            "null": b'{"text": null}',
            "a number": b'{"text": 3}',
            "a list": b'["text"]',
            "cut off": b'{"text": "x',
            "not UTF-8": b'{"text": "\xff"}',
            "two values": b'{"text": "x"} {"text": "y"}',
        }
        for name, line in cases.items():
            with self.subTest(name):
                self.write("in.jsonl", b'{"text": "good"}\n' + line + b'\n{"text": "good"}\n')
                outcome = self.prepare("in.jsonl", code=program.DATA)
                self.assertIn("in.jsonl:2 (byte 17):", outcome.err)
                self.assertEqual([path.name for path in self.folder.iterdir()], ["in.jsonl"])

    def test_some_bad_lines_may_be_skipped_and_are_counted(self):
        self.write("in.jsonl", '{"text": "a"}\n{}\n{"text": "b"}\n[]\n')
        self.prepare("in.jsonl", "--max-bad=1", code=program.DATA)
        outcome = self.prepare("in.jsonl", "--max-bad=2")
        self.assertEqual(self.documents(), [b"a", b"b"])
        self.assertIn("2 bad lines", outcome.out)
        self.assertIn("in.jsonl:2", outcome.err)
        self.assertIn("in.jsonl:4", outcome.err)

    def test_a_line_of_ten_mebibytes(self):
        text = random.Random(1).randbytes(10 << 20).decode("latin-1")
        self.write("in.jsonl", json.dumps({"text": text}, ensure_ascii=False) + "\n" + json.dumps({"text": "end"}))
        self.prepare("in.jsonl")
        self.assertEqual(self.documents(), [text.encode(), b"end"])

    def test_the_output_depends_on_the_inputs_only(self):
        self.write("in.jsonl", "\n".join(json.dumps({"text": "x" * n}) for n in range(1000)))
        self.prepare("in.jsonl")
        first = (self.folder / "out.h5").read_bytes()
        time.sleep(1.1)  # a time of creation would be another one
        self.run_program("prepare", "--output", "other.h5", "in.jsonl", environment={"OMP_NUM_THREADS": "4"})
        self.assertEqual((self.folder / "other.h5").read_bytes(), first)
        self.assertEqual(len(self.documents()), 999)

    def test_another_key(self):
        self.write("in.jsonl", '{"body": "here", "text": "not here"}\n')
        self.prepare("in.jsonl", "--key", "body")
        self.assertEqual(self.documents(), [b"here"])

    def test_directories_are_walked_in_order(self):
        self.write("data/b/1.txt", "b1")
        self.write("data/a.txt", "a")
        self.write("data/.hidden.txt", "hidden")
        self.write("data/b/2.png", "picture")
        self.prepare("data")
        self.assertEqual(self.documents(), [b"a", b"b1"])

    def test_an_output_is_replaced_only_when_asked(self):
        self.write("a.txt", "old")
        self.prepare("a.txt")
        self.write("a.txt", "new")
        outcome = self.prepare("a.txt", code=program.CANNOT_CREATE)
        self.assertIn("--overwrite", outcome.err)
        self.assertEqual(self.documents(), [b"old"])
        self.prepare("a.txt", "--overwrite")
        self.assertEqual(self.documents(), [b"new"])

    def test_places_that_cannot_be(self):
        self.write("a.txt", "text")
        self.run_program("prepare", "--output", ".", "a.txt", code=program.CANNOT_CREATE)
        self.prepare("missing.txt", code=program.NOT_FOUND)
        self.prepare("*.md", code=program.NOT_FOUND)
        self.run_program("prepare", "--output", "no/such/folder/out.h5", "a.txt", code=program.CANNOT_CREATE)

    def test_inputs_without_text_are_refused(self):
        self.write("empty.txt", "")
        self.prepare("empty.txt", code=program.DATA)
        self.write("packed.jsonl", b"\x1f\x8b\x08" + bytes(40))
        self.assertIn("gunzip", self.prepare("packed.jsonl", code=program.DATA).err)
        self.assertFalse((self.folder / "out.h5").exists())

    def test_all_mistakes_of_a_command_line_at_once(self):
        outcome = self.run_program("prepare", "--outptu", "x", "--max-bad", "few", "a.txt", code=program.USAGE)
        self.assertIn("did you mean output?", outcome.err)
        self.assertIn("max-bad must be", outcome.err)
        self.assertIn("--output FILE is missing", self.run_program("prepare", "a", code=program.USAGE).err)
        self.assertIn("no INPUT", self.prepare(code=program.USAGE).err)

    def test_help_lists_every_flag(self):
        outcome = self.run_program("prepare", "--help")
        for flag in ("--output", "--overwrite", "--key", "--max-bad", "--tokenizer"):
            self.assertIn(flag, outcome.out)
        self.assertEqual(outcome.err, "")


if __name__ == "__main__":
    program.main()
