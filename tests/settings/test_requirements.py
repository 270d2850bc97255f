"""Requirements: what is one, what is refused, and which Python a file fits."""

from __future__ import annotations

import unittest

from server.settings.requirements import (
    MAX_CHARS,
    MOST,
    accepts_python,
    normal_requirement,
    normal_requirements,
    tool_mistakes,
)


class Requirements(unittest.TestCase):
    def test_one_spelling_of_each(self) -> None:
        for text, expected in (
            ("numpy", "numpy"),
            ("Num_Py.x >= 2 , <3", "num-py-x<3,>=2"),
            (" a[ Extra_1 , b ](>=1.0) ", "a[b,extra-1]>=1.0"),
            ("a~=2.1", "a~=2.1"),
            ("a == 2.*", "a==2.*"),
            ("a===1.0+local.7", "a===1.0+local.7"),
            ("a>=1!2.0rc1.post2.dev3", "a>=1!2.0rc1.post2.dev3"),
            ("a != 1.0 ; python_version<'3.13'", "a!=1.0; python_version<'3.13'"),
            ('a; (os_name == "nt" or extra  in "x") and "3" not in python_version',
             'a; (os_name == "nt" or extra in "x") and "3" not in python_version'),
            # pip would take these for files
            ("a.whl", "a-whl"),
            ("a.tar.gz", "a-tar-gz"),
        ):  # fmt: skip
            with self.subTest(text):
                self.assertEqual(normal_requirement(text), expected)
                self.assertEqual(normal_requirement(expected), expected)

    def test_what_is_none(self) -> None:
        for text, said in (
            ("--index-url=https://evil.example", "an option of pip"),
            ("  -r other.txt", "an option of pip"),
            ("-e .", "an option of pip"),
            ("a --hash=sha256:00", "is no version"),
            ("a --index-url https://evil.example", "an address or a path"),
            ("a @ https://evil.example/a.whl", "an address or a path"),
            ("a@file:///etc", "an address or a path"),
            ("git+https://evil.example/a.git", "an address or a path"),
            ("https://evil.example/a.whl", "an address or a path"),
            ("./a", "an address or a path"),
            ("../a", "an address or a path"),
            (".", "an address or a path"),
            ("/etc/a.whl", "an address or a path"),
            ("~/a", "an address or a path"),
            ("C:\\a", "an address or a path"),
            ("a\n--index-url=x", "that is not shown"),
            ("a\0", "that is not shown"),
            ("a\r", "that is not shown"),
            ("a" * (MAX_CHARS + 1), f"more than {MAX_CHARS} characters"),
            ("", "is written like"),
            (" ", "is written like"),
            ("größe", "is no version"),
            ("a b", "is no version"),
            ("a=1", "is no version"),
            ("a>=", "is no version"),
            ("a>=2.*", "is no version"),
            ("a>=1,,<2", "is no version"),
            ("a~=2", "needs two numbers"),
            ("a[b c]", "no name of an extra"),
            ("a[b", "is no version"),
            ("a;", "wanted a condition"),
            ("a; os_name", "wanted a condition"),
            ("a; C", "wanted a condition"),
            ("a; os_name == 'nt' or", "wanted a condition"),
            ("a; (os_name == 'nt'", "wanted a condition"),
            ("a; __import__('os').system('x') == 'y'", "wanted a condition"),
            ("a; unknown == 'y'", "wanted a condition"),
            (5, "is no text"),
            (None, "is no text"),
            (["a"], "is no text"),
        ):
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                normal_requirement(text)
            self.assertIn(said, str(caught.exception), text)

    def test_lists(self) -> None:
        self.assertEqual(normal_requirements(["B", "a >1", "a>1", "b"]), ("a>1", "b"))
        for wrong in ("numpy", {"a": 1}, None, ["a"] * (MOST + 1), ["a", 5]):
            with self.subTest(wrong), self.assertRaises(ValueError):
                normal_requirements(wrong)

    def test_long_ones_take_no_time_that_grows_with_their_square(self) -> None:
        for text in ("a;" + "(" * 490, "a[" + "," * 490, "a" + ",>=1" * 120, "a;" + "''" * 240):
            with self.subTest(text[:9]), self.assertRaises(ValueError):
                normal_requirement(text)


class Python(unittest.TestCase):
    def test_what_a_version_fits(self) -> None:
        for wanted, expected in (
            ("", True),
            (">=3.11", True),
            (">= 3.11 , < 4", True),
            (">=3.12", False),
            ("<3.11", False),
            ("<=3.11", False),
            ("<=3.11.7", True),
            (">3.11.7", False),
            (">3.11", True),
            ("~=3.10", True),
            ("~=3.11.5", True),
            ("~=3.11.8", False),
            ("~=2.7", False),
            ("==3.11.*", True),
            ("==3.1.*", False),
            ("==3.11", False),
            ("===3.11.7", True),
            ("!=3.11.7", False),
            ("!=3.12.*", True),
            ("!=3.11.*", False),
            (">=3.12.0a1", False),
            ("<3.11.8rc1", True),
            (">=3.11.7rc1", True),
            ("<3.11.7rc1", False),
            (">=3.11,", True),
        ):
            with self.subTest(wanted):
                self.assertEqual(accepts_python(wanted, (3, 11, 7)), expected)

    def test_what_is_no_version(self) -> None:
        for wanted in ("3.11", "=>3.11", ">=three", ">=3.11;", "~=3", ">=3.*", ">=3.11 <4"):
            with self.subTest(wanted), self.assertRaisesRegex(ValueError, "no version|two numbers"):
                accepts_python(wanted, (3, 11, 7))


class Configuration(unittest.TestCase):
    def test_mistakes_name_their_place(self) -> None:
        own = {"ceiling": "ask"}
        fine = {"python": {"requirements": ["numpy"]}, "shell": {"requirements": []}, "x": own}
        self.assertEqual(list(tool_mistakes(fine)), [])
        wrong = {"python": {"requirements": ["-r x"]}, "calculator": {"requirements": ["a"]}}
        first, second = tool_mistakes(wrong)
        self.assertIn("server.tools.python.requirements: '-r x' is an option of pip", first)
        self.assertIn("server.tools.calculator.requirements: only python and shell", second)


if __name__ == "__main__":
    unittest.main()
