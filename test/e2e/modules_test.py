#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""`tessera modules` with modules that are sound, foreign, cut and hidden.

modules_test.py PROGRAM
"""

import json
import pathlib
import shutil

import program


class ModulesTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.built = pathlib.Path(program.TESSERA).parent.parent / "lib" / "tessera" / "modules"
        if not list(self.built.glob("*.so")):
            self.skipTest("modules are linked into the program")
        self.own = self.folder / "own"
        self.own.mkdir()

    def copy(self, module, to=None):
        """A copy of a built module, under another name if `to` is given; its manifest as an object."""
        for suffix in (".so", ".json"):
            shutil.copy(self.built / f"{module}{suffix}", self.own / f"{to or module}{suffix}")
        manifest = json.loads((self.own / f"{to or module}.json").read_text())
        manifest["library"] = f"{to or module}.so"
        return manifest

    def write_manifest(self, name, manifest):
        (self.own / f"{name}.json").write_text(json.dumps(manifest))

    def listed(self, *arguments, environment=None):
        outcome = self.run_program("modules", "list", "--json", *arguments, environment=environment)
        return json.loads(outcome.out)["modules"]

    def test_the_built_ones_are_listed(self):
        modules = {(m["kind"], m["name"]): m for m in self.listed()}
        adamw = modules[("optimizer", "adamw")]
        self.assertEqual((adamw["state"], adamw["reason"]), ("listed", ""))
        self.assertEqual(pathlib.Path(adamw["path"]).resolve(), (self.built / "optimizer_adamw.so").resolve())
        self.assertIn(("strategy", "data_parallel"), modules)
        self.assertIn("adamw", self.run_program("modules", "list").out)

    def test_one_of_another_build_is_refused_with_the_reason(self):
        manifest = self.copy("optimizer_lion", "optimizer_foreign")
        manifest.update(name="foreign", build_tag=manifest["build_tag"].replace("interface ", "interface 0"))
        self.write_manifest("optimizer_foreign", manifest)
        (foreign,) = [m for m in self.listed("--module-path", "own") if m["name"] == "foreign"]
        self.assertEqual(foreign["state"], "refused")
        self.assertIn("interface", foreign["reason"])
        text = self.run_program("modules", "list", "--module-path=own").out
        self.assertRegex(text, r"(?m)^ +optimizer +foreign .* refused ")
        self.assertIn(f"reason: {foreign['reason']}", text)
        outcome = self.run_program("modules", "check", "own/optimizer_foreign.so", code=program.CONFIGURATION)
        self.assertIn("refused", outcome.out)

    def test_a_manifest_that_is_damaged_or_missing(self):
        self.copy("optimizer_lion", "optimizer_torn")
        (self.own / "optimizer_torn.json").write_text('{"kind": "optimizer", ')
        self.copy("optimizer_lion", "optimizer_bare")
        (self.own / "optimizer_bare.json").unlink()
        found = {m["name"]: m for m in self.listed("--module-path", "own")}
        for name in ("torn", "bare"):
            self.assertEqual(found[name]["state"], "refused")
            self.assertIn(f"optimizer_{name}.json", found[name]["reason"])

    def test_a_library_that_is_cut_is_refused_before_it_is_opened(self):
        self.copy("optimizer_lion")
        library = self.own / "optimizer_lion.so"
        library.write_bytes(library.read_bytes()[:4000])
        outcome = self.run_program("modules", "check", "own/optimizer_lion.so", code=program.CONFIGURATION)
        self.assertIn("optimizer_lion.so", outcome.err)
        (found,) = [m for m in self.listed("--module-path", "own") if m["state"] == "refused"]
        self.assertIn("the library is cut short", found["reason"])
        library.unlink()
        (found,) = [m for m in self.listed("--module-path", "own") if m["state"] == "refused"]
        self.assertIn("the library does not exist", found["reason"])

    def test_a_file_without_a_manifest_is_no_module(self):
        self.write("a.h5", "x")
        outcome = self.run_program("modules", "check", "a.h5", code=program.NOT_FOUND)
        self.assertIn("a.h5 is no module: it has no manifest a.json", outcome.err)

    def test_a_sound_one_is_checked_by_loading_it(self):
        outcome = self.run_program("modules", "check", self.built / "optimizer_adamw.json")
        self.assertRegex(outcome.out, r"(?m)^  state +loaded$")
        self.run_program("modules", "check", "nowhere.so", code=program.NOT_FOUND)

    def test_the_first_of_a_name_hides_the_others(self):
        self.copy("optimizer_lion")
        first, second = [m for m in self.listed(environment={"TESSERA_MODULE_PATH": "own"}) if m["name"] == "lion"]
        self.assertEqual((first["state"], second["state"]), ("listed", "hidden"))
        self.assertEqual(pathlib.Path(first["path"]).parent.resolve(), self.own.resolve())
        self.assertIn("own/optimizer_lion.json", second["reason"])

    def test_the_path_is_shown_in_order(self):
        outcome = self.run_program(
            "modules", "path", "--json", "--module-path=own:none", environment={"TESSERA_MODULE_PATH": "third"}
        )
        folders = json.loads(outcome.out)["folders"]
        self.assertEqual([pathlib.Path(f["path"]).name for f in folders], ["own", "none", "third", "modules"])
        self.assertEqual([f["from"] for f in folders][:3], ["--module-path", "--module-path", "TESSERA_MODULE_PATH"])
        self.assertEqual([f["exists"] for f in folders], [True, False, False, True])

    def test_one_is_shown_with_its_options(self):
        self.assertIn("--sgd.momentum", self.run_program("modules", "show", "sgd").out)
        (shown,) = json.loads(self.run_program("modules", "show", "optimizer/sgd", "--json").out)
        self.assertEqual([option["name"] for option in shown["options"]], ["sgd.momentum"])
        outcome = self.run_program("modules", "show", "adamv", code=program.NOT_FOUND)
        self.assertIn("did you mean adamw?", outcome.err)

    def test_mistakes_of_the_command_line(self):
        self.assertIn("did you mean list?", self.run_program("modules", "lits", code=program.USAGE).err)
        self.run_program("modules", code=program.USAGE)
        self.run_program("modules", "show", code=program.USAGE)
        self.run_program("modules", "list", "more", code=program.USAGE)
        self.run_program("modules", "list", "--jsn", code=program.USAGE)


if __name__ == "__main__":
    program.main()
