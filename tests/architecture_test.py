"""ARCHITECTURE.md tells the truth: the files on the path of a turn exist, hold the functions it names, and are few."""
import re
import unittest

from treaty_binary import ROOT

MOST_FILES = 35
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)


def path_of_a_turn():
    """(step, file, function) of every row of the table."""
    section = re.search(r"^## The life of a turn\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL).group(1)
    return ROW.findall(section)


class LifeOfATurn(unittest.TestCase):
    def test_it_names_few_files_and_each_step_in_order(self):
        rows = path_of_a_turn()
        self.assertGreater(len(rows), 10)
        self.assertLessEqual(len({file for _, file, _ in rows}), MOST_FILES)
        steps = [int(step) for step, _, _ in rows]
        self.assertEqual(steps, sorted(steps))

    def test_every_file_exists_and_holds_the_function_that_hands_over(self):
        for _, file, function in path_of_a_turn():
            with self.subTest(file=file):
                path = ROOT / "src" / "treaty" / file
                self.assertTrue(path.is_file(), file)
                name = function.split("::")[-1].removesuffix("()")
                self.assertRegex(path.read_text(encoding="utf-8"), rf"\b{re.escape(name)}\b")


class Tree(unittest.TestCase):
    def test_every_folder_of_the_source_is_on_the_map(self):
        tree = re.search(r"^## The tree\n+```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL).group(1)
        named = set(re.findall(r"([a-z_]+)/ ", tree))
        source = ROOT / "src" / "treaty"
        folders = {path.relative_to(source) for path in source.rglob("*") if path.is_dir()}
        # A command has a folder of its name below cli/, and what a database needs lies below its own folder.
        hidden = {path for path in folders if path.parts[0] == "cli" or len(path.parts) > 2}
        self.assertEqual(sorted(str(path) for path in folders - hidden if path.name not in named), [])


if __name__ == "__main__":
    unittest.main()
