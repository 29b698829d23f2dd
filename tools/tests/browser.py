#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""browser.py REPORT_PAGES DIR: rdsctl report's pages in headless Chromium (make test-report).

Each page is shown at a phone's width and at a desk's, by day and by night. Nothing may be said in the
console, and nothing be wider than the screen. Pictures are left in DIR, for people to look at.
Chromium has no network but a proxy that does not exist.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SIZES = {"phone": (390, 2400), "desk": (1280, 1800)}
SCHEMES = {"day": [], "night": ["--blink-settings=preferredColorScheme=0"]}
# A page may run no script; a copy of it is made that may, and tells what is too wide for it.
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*/>')
MEASURE = """<script>
const wide = [...document.querySelectorAll('html, .card')].filter(e => e.scrollWidth > e.clientWidth + 1);
document.body.setAttribute('data-wide', wide.map(e => e.tagName + ': ' + e.textContent.slice(0, 60)).join('; '));
</script>"""
# Chromium's own complaints are about the machine; these are about the page.
ABOUT_THE_PAGE = re.compile(r"CONSOLE|Refused to|Mixed Content|net::ERR|blocked")


def chromium(profile, *words):
    ran = subprocess.run(
        [shutil.which("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu",
         "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--enable-logging=stderr",
         "--disable-background-networking", "--proxy-server=127.0.0.1:9", f"--user-data-dir={profile}",
         "--virtual-time-budget=2000", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=180)
    said = [line for line in ran.stderr.splitlines() if ABOUT_THE_PAGE.search(line)]
    return ran, said


def faults(profile, page, into):
    for size, (width, height) in SIZES.items():
        for scheme, words in SCHEMES.items():
            picture = into / f"{page.stem}-{size}-{scheme}.png"
            ran, said = chromium(profile, *words, f"--window-size={width},{height}",
                                 f"--screenshot={picture}", page.as_uri())
            if said:
                yield f"{picture.stem}: {said}"
            if not picture.exists():
                yield f"{picture.stem}: no picture: {ran.stderr[-500:]}"


def too_wide(profile, page):
    text = POLICY.sub("", page.read_text())
    copy = page.with_name(f"{page.stem}-measured.html")
    copy.write_text(text.replace("</body>", MEASURE + "</body>"))
    for size, (width, height) in SIZES.items():
        ran, _ = chromium(profile, f"--window-size={width},{height}", "--dump-dom", copy.as_uri())
        found = re.search(r'data-wide="([^"]*)"', ran.stdout)
        # A hostile name may be as long as it likes, and is then pushed about in its card.
        if not found or (found[1] and (page.stem != "hostile" or "HTML" in found[1])):
            yield f"{page.stem}-{size}: too wide: {found and found[1]}"


def main():
    if not shutil.which("chromium"):
        print("skip  there is no chromium: scripts/deps.sh --report\n0 passed, 0 failed, 1 skipped")
        return 0
    into = pathlib.Path(sys.argv[2])
    into.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as where:
        made = subprocess.run([sys.argv[1], where], check=True, stdout=subprocess.PIPE, text=True)
        for name in made.stdout.split():
            page, profile = pathlib.Path(where) / f"{name}.html", where + "/profile"
            found = [*faults(profile, page, into), *too_wide(profile, page)]
            print("\n".join(f"FAIL  {f}" for f in found) or f"ok    {name}", flush=True)
            failed, passed = failed + bool(found), passed + (not found)
    print(f"pictures are in {into}\n{passed} passed, {failed} failed, 0 skipped")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
