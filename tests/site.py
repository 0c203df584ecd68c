"""Looks at the site that `make docs` built, in a headless Chromium, and leaves pictures in build/docs-shots/.

    python tests/site.py [--chromium PATH]

For each page what must be in it once its scripts have run; a search that finds its page; then pictures on a wide and on
a narrow screen, light and dark.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE, SHOTS = ROOT / "build/docs/html", ROOT / "build/docs-shots"
PAGES = {
    "index.html": ("Sizes may be symbols", "PyMC and PyTensor", "toctree-wrapper"),
    "tutorials/eight_schools.html": ("runs without Python: True", 'src="../_images/', "How long it takes"),
    "reference/api.html": ("hlograph.emit_stablehlo", "parameter_limit", "[source]"),
    "reference/command_line.html": ("hlograph explain", "--policy TEXT"),
    "reference/glossary.html": ('id="term-live-part"',),
    "search.html?q=ragged": ("how-to/ragged.html", "matching the search query"),
}
WIDE, NARROW = "1400,1200", "480,1000"
DARK = ("--blink-settings=preferredColorScheme=0",)


def chromium(program: str, page: str, *options: str) -> str:
    """Standard output of Chromium that has opened a page, and run its scripts for some seconds of its own time."""
    quiet = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=8000")
    command = [program, *quiet, *options, f"{SITE.as_uri()}/{page}"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chromium", default=next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), ""))
    program = parser.parse_args().chromium
    if not program:
        print("no Chromium here: apt install chromium, or --chromium PATH", file=sys.stderr)
        return 2
    SHOTS.mkdir(parents=True, exist_ok=True)
    missing = []
    for page, texts in PAGES.items():
        found = chromium(program, page, "--dump-dom")
        missing += [f"{page}: no {text!r}" for text in texts if text not in found]
        name = page.partition("?")[0].replace("/", "-").removesuffix(".html")
        for look, options in {"wide": (WIDE,), "narrow": (NARROW,), "dark": (WIDE, *DARK)}.items():
            shot = SHOTS / f"{name}-{look}.png"
            chromium(program, page, f"--window-size={options[0]}", f"--screenshot={shot}", *options[1:])
        print(f"{page}: looked at")
    print(*missing, f"pictures in {SHOTS.relative_to(ROOT)}", sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
