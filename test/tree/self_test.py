#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that the checks of the tree fail: each violation is planted in a small tree of its own and must be named."""

import contextlib
import io
import pathlib
import subprocess
import tempfile
import unittest

import arrows
import headers
import links
import style
import symbols
import tree

HEAD = "// SPDX-FileCopyrightText: The Tessera authors\n// SPDX-License-Identifier: Apache-2.0\n"
OPENING = "//\n// For:  a test.\n// Used: by it.\n// Must not know: anything.\n#pragma once\n"

ARROW_CASES = [  # file, what it includes, part of the complaint ("" = must pass)
    ("core/base/a.hpp", "<vector>", ""),
    ("core/base/a.hpp", '"mpi/native.hpp"', "core must not include mpi/native.hpp"),
    ("core/base/a.hpp", '"core/mesh/mesh.hpp"', "core/base comes before core/mesh"),
    ("core/train/a.cpp", '"core/base/error.hpp"', ""),
    ("core/graph/ops/a.cpp", '"core/host/a.hpp"', "core/graph comes before core/host"),
    ("core/graph/a.cpp", '"core/graph/ops/b.hpp"', ""),
    ("core/attic/a.cpp", '"core/base/error.hpp"', "core/attic has no place"),
    ("core/base/a.hpp", "<nlohmann/json.hpp>", "a header must not include nlohmann"),
    ("core/base/a.hpp", "<boost/program_options.hpp>", "a header must not include Boost"),
    ("core/base/a.hpp", "<dnnl.hpp>", "a header must not include oneDNN"),
    ("core/base/a.hpp", "<fmt/core.h>", "a header must not include fmt"),
    ("core/base/a.cpp", "<fmt/core.h>", ""),
    ("core/base/a.cpp", "<mpi.h>", "core must not know MPI"),
    ("core/base/a.cpp", "<hdf5.h>", "core must not know HDF5"),
    ("core/base/a.cpp", "<cuda_runtime.h>", "core must not know CUDA"),
    ("core/base/a.cpp", "<core/base/error.hpp>", "is our own header"),
    ("core/base/a.cpp", '"error.hpp"', "does not start at the root"),
    ("mpi/native.hpp", "<mpi.h>", ""),
    ("mpi/a.hpp", "<mpi.h>", "a header must not include MPI"),
    ("mpi/a.cpp", '"io/file.hpp"', "mpi must not include io/file.hpp"),
    ("io/a.cpp", '"mpi/native.hpp"', ""),
    ("io/a.cpp", '"mpi/environment.hpp"', "io must not include mpi/environment.hpp"),
    ("gpu/a.hpp", "<cuda_runtime.h>", ""),
    ("modules/strategy/zero/a.cpp", '"core/scheduler/strategy.hpp"', ""),
    ("modules/strategy/zero/a.cpp", '"modules/strategy/zero/b.hpp"', ""),
    ("modules/strategy/zero/a.cpp", '"modules/strategy/ring/b.hpp"', "modules must not include modules/strategy/ring"),
    ("modules/strategy/zero/a.cpp", '"io/file.hpp"', "modules must not include io/file.hpp"),
    ("modules/offload/nvme/a.cpp", '"io/file.hpp"', ""),
    ("apps/main.cpp", '"io/file.hpp"', ""),
    ("apps/main.cpp", '"modules/strategy/zero/b.hpp"', "apps must not include modules"),
    ("core/train/a.cpp", '"apps/main.hpp"', "core must not include apps/main.hpp"),
    ("test/unit/a.cpp", '"apps/main.hpp"', ""),
    ("io/a.cpp", '"apps/main.hpp"', "io must not include apps/main.hpp"),
    ("test/unit/a.cpp", '"fixture.hpp"', ""),
    ("test/install/a/main.cpp", "<core/base/error.hpp>", ""),
]

STYLE_CASES = [  # file, text, part of the complaint ("" = must pass)
    ("core/a.hpp", HEAD + OPENING, ""),
    ("core/a.cpp", HEAD, ""),
    ("core/a.cpp", "int a;\n", "SPDX"),
    ("share/dev/a.sh", "#!/bin/sh\n" + HEAD.replace("//", "#"), ""),
    ("share/dev/a.sh", "#!/bin/sh\n", "SPDX"),
    ("core/CMakeLists.txt", "add_library(a)\n", "SPDX"),
    ("core/a.hpp", HEAD + OPENING.replace("// Used: by it.\n", ""), "lacks the line 'Used:'"),
    ("core/a.hpp", HEAD + "#pragma once\n", "lacks the line 'For:'"),
    ("core/a.cpp", HEAD + "// TO" "DO\n", "a loose end"),
    ("share/doc/a.md", "FIX" "ME later\n", "a loose end"),
    ("core/a.cpp", HEAD + "int a;\n" * 600, "602 lines (at most 600)"),
    ("share/a.json", "1\n" * 700, ""),
    ("core/a.cpp", HEAD + "int f() {\n" + "  g();\n" * 58 + "}\n", ""),
    ("core/a.cpp", HEAD + "int f() {\n" + "  g();\n" * 59 + "}\n", "a function of 61 lines"),
    ("core/a.cpp", HEAD + "// " + "x" * 5200 + "\n", "the median source has"),
    ("share/doc/a.md", "Co-Authored" "-By: x\n", "the mark of a tool"),
    ("share/doc/a.md", "see /ho" "me/somebody/notes\n", "a path of one machine"),
    ("share/doc/a.md", "see ~/notes, https://example.org/home/x\n", ""),
]

LINK_CASES = [
    ("core/README.md", "[core](README.md), `core/README.md`, `core/<folder>/x.cpp`\n", ""),
    ("core/README.md", "[a](absent.md)\n", "links to absent.md"),
    ("core/README.md", "`core/absent.cpp`\n", "names core/absent.cpp"),
    ("core/README.md", "a\n" * 26, "26 lines"),
]


class Planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, check, complaint):
        violations, checked = check(self.root)
        self.assertGreater(checked, 0)
        if complaint:
            self.assertTrue(any(complaint in violation for violation in violations), violations)
        else:
            self.assertEqual(violations, [])

    def run_cases(self, check, cases, text_of):
        for name, content, complaint in cases:
            with self.subTest(file=name, content=content[:80]):
                self.write(name, text_of(content))
                self.expect(check, complaint)
                (self.root / name).unlink()

    def test_arrows(self):
        self.run_cases(arrows.check, ARROW_CASES, lambda include: f"#include {include}\n")

    def test_own_header_comes_first(self):
        self.write("core/base/a.hpp", "")
        self.write("core/base/a.cpp", '#include "core/base/a.hpp"\n#include <vector>\n')
        self.expect(arrows.check, "")
        self.write("core/base/a.cpp", '#include <vector>\n#include "core/base/a.hpp"\n')
        self.expect(arrows.check, "must be the first include")

    def test_style(self):
        self.run_cases(style.check, STYLE_CASES, lambda text: text)

    def test_links(self):
        for folder in tree.FOLDERS:
            self.write(f"{folder}/README.md", "a folder\n")
        self.run_cases(links.check, LINK_CASES, lambda text: text)
        self.expect(links.check, "core/README.md is not there")

    def exit_of(self, main, *arguments):
        """Exit code and output of a check's main function."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output), self.assertRaises(SystemExit) as left:
            main(*arguments)
        return left.exception.code, output.getvalue()

    def run_headers(self):
        return self.exit_of(headers.main, str(self.root), str(self.root), "c++", "cc", [])

    def test_headers(self):
        self.write("core/a.hpp", '#pragma once\n#include "core/b.hpp"\ninline int a() { return b; }\n')
        self.write("core/b.hpp", "#pragma once\ninline constexpr int b = 1;\n")
        self.assertEqual(self.run_headers()[0], 0)
        self.assertIn("compiled 0 units of 2", self.run_headers()[1])
        self.write("core/b.hpp", "#pragma once\n")  # breaks a.hpp, which did not change itself
        code, output = self.run_headers()
        self.assertEqual(code, 1)
        self.assertIn("core/a.hpp does not compile alone", output)
        self.assertNotIn("core/b.hpp does not compile alone", output)
        self.assertEqual(self.run_headers()[0], 1)  # a failure is not remembered as a success

    def test_c_header_is_c(self):
        text = "#pragma once\nnamespace tessera {}\n"
        self.write("core/abi.h", text)
        self.assertEqual(self.run_headers()[0], 0)
        self.write("core/abi.h", text + '#ifdef __cplusplus\nextern "C" {}\n#endif\n')
        self.assertEqual(self.run_headers()[0], 1)

    def test_symbols(self):
        self.assertEqual(self.exit_of(symbols.main, [self.root])[0], symbols.SKIPPED)
        for source, code in (
            ("const int tessera_module_v1 = 1;", 0),
            ("const int tessera_module_v1 = 1; void helper(void) {}", 1),
            ("void helper(void) {}", 1),
            ("static int nothing;", 1),
        ):
            with self.subTest(source=source):
                command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(self.root / "module.so")]
                subprocess.run(command, input=source, text=True, check=True)
                self.assertEqual(self.exit_of(symbols.main, [self.root])[0], code)


if __name__ == "__main__":
    unittest.main()
