"""The installed library: its public headers stand alone, and programs outside the tree, the examples in C++ among them,
are built with them and run."""
import pathlib
import re
import subprocess
import tempfile
import unittest

from treaty_binary import BINARY, EXAMPLES, ROOT, SANITIZED

INCLUDE = re.compile(r'^\s*#\s*include\s+"(treaty/[^"]+)"', re.MULTILINE)
PUBLIC = [line for line in (ROOT / "cmake" / "public_headers.txt").read_text(encoding="utf-8").splitlines()
          if line.startswith("treaty/")]

SHIPPED = sorted(EXAMPLES.glob("*/*.cpp"))
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(treaty REQUIRED)
link_libraries(treaty::treaty)
add_executable(outside outside.cpp)
""" + "".join(f'add_executable({example.stem} "{example}")\n' for example in SHIPPED)

# Has the whole API at hand, reads a document and prints its verdict, as a user of the library would write it.
PROGRAM = "".join(f"#include <{header}>\n" for header in PUBLIC) + """
#include <fstream>
#include <iostream>
#include <sstream>

int main(int count, char** words) {
  std::ostringstream text;
  if (count > 1) text << std::ifstream(words[1]).rdbuf();
  const auto request = treaty::contracts::decode_agent_execute_request(text.str());
  if (!request) {
    std::cout << "refused at " << request.error().front().where << '\\n';
    return 1;
  }
  std::cout << "session " << request->session_id << '\\n';
}
"""


class PublicHeaders(unittest.TestCase):
    def test_the_list_is_sorted_and_every_header_is_there(self):
        self.assertEqual(PUBLIC, sorted(set(PUBLIC)))
        self.assertEqual([header for header in PUBLIC if not (ROOT / "src" / header).is_file()], [])

    def test_a_public_header_includes_only_public_headers(self):
        private = [f"{header} includes {other}" for header in PUBLIC
                   for other in INCLUDE.findall((ROOT / "src" / header).read_text(encoding="utf-8"))
                   if other not in PUBLIC]
        self.assertEqual(private, [])

    def test_what_documents_and_examples_include_is_public(self):
        named = {header for page in (ROOT / "docs").glob("**/*.md")
                 for header in re.findall(r"`(treaty/[a-z_/]+\.h)`", page.read_text(encoding="utf-8"))}
        included = {header for example in SHIPPED for header in INCLUDE.findall(example.read_text(encoding="utf-8"))}
        self.assertTrue(named and included)
        self.assertEqual(sorted((named | included) - set(PUBLIC)), [])


@unittest.skipIf(SANITIZED, "an instrumented library is not installed")
class InstalledLibrary(unittest.TestCase):
    def run_in(self, folder, *command):
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(ran.returncode, 0, f"{command}\n{ran.stdout}\n{ran.stderr}")
        return ran.stdout

    def test_programs_outside_the_tree_are_built_with_it_and_run(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            prefix = folder / "prefix"
            self.run_in(BINARY.parent, "cmake", "--install", ".", "--prefix", str(prefix))
            installed = sorted(str(path.relative_to(prefix / "include")) for path in prefix.glob("include/**/*.h"))
            self.assertEqual(installed, PUBLIC)

            (folder / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
            (folder / "outside.cpp").write_text(PROGRAM, encoding="utf-8")
            self.run_in(folder, "cmake", "-S", ".", "-B", "out", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
                        "-DCMAKE_CXX_COMPILER=clang++-19")
            self.run_in(folder, "cmake", "--build", "out")
            said = self.run_in(folder, "out/outside", str(EXAMPLES / "request-user-turn.json"))
            self.assertRegex(said, r"^session \S+\n$")
            said = self.run_in(folder, "out/careful_machine", str(EXAMPLES / "hooks" / "careful_machine.yml"),
                               '{"question": "Why?"}')
            self.assertIn("An answer of", said)


if __name__ == "__main__":
    unittest.main()
