"""Finds phrases that an engineer would not say, in documentation, docstrings, comments and messages.

`python tests/phrases.py` prints each with its place and what to write instead, and fails if there are any. `make lint`
runs it, after codespell. A phrase that keeps coming back belongs in `PHRASES`.
"""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDERS = ("codegen", "dialects", "runtime", "tools", "hlograph")
PHRASES = {
    r"\b(nobody|no one)'s\b": "name the owner, or say that there is none",
    r"\bsomebody else('s)?\b": "another module, another jax.jit, someone's",
    r"\bfor ever\b": "forever",
    r"\bby turns\b": "alternately, interleaved",
    r"\b(at least|at most|up to|of|to) so many\b": "this many",
    r"\bopen sizes?\b": "dynamic, symbolic or unknown sizes",
    r"\b(say|says|said) of (?!which)": "say about, say for each",
    r"\b(is|are) looked at\b": "is checked, is examined",
    r"\b(is|are) met (at|by|exactly|as|in)\b": "sizes are handled, padded, compiled",
    r"\bof one's own\b": "your own",
    r"\b(is|are) none of\b": "is not one of",
    r"\bas ever\b": "as usual",
    r"\bat a glance\b": "at once",
    r"\bthat (is|are) not there\b": "missing, absent, that do not exist",
    r"\bas (it comes|they come)\b(?! in)": "unchanged",
    r"\bno matter of\b": "does not concern",
    r"\bis no other\b": "is the same",
    r"\bwho (asks|wants)\b": "the caller, a user who",
    r"\bis no (predictor|parameter|rewrite|pass|scalar)\b": "is not a",
    r"\bcomes? to rest\b": "terminates",
    r"\bNaN over\b": "ignores NaN",
    r"\btells? by\b": "returns, reports by",
    r"\bof a (program|function|process|trace|context|place) of its own\b": "its own",
}


def main() -> int:
    """How many lines have one of the phrases."""
    command = ["git", "ls-files", "*.md", *(f"{folder}/*.py" for folder in FOLDERS)]
    found = 0
    for name in subprocess.check_output(command, cwd=REPOSITORY, text=True).split():
        for number, line in enumerate((REPOSITORY / name).read_text().splitlines(), 1):
            for phrase, instead in PHRASES.items():
                if match := re.search(phrase, line):
                    found += 1
                    print(f"{name}:{number}: {match[0]!r}: {instead}")
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main())
