#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""An example in a manual page is taken by a compiler, against our <linux/rds.h>.

examples.py CC DIRECTORY: the literal blocks under EXAMPLES of every page in section 7. A block that
includes what it needs is a file; any other one is what stands in a function.
"""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c",
         f"-I{TOP}/include/uapi", "-"]
FRAME = """#include <arpa/inet.h>
#include <err.h>
#include <linux/rds.h>
#include <netinet/in.h>
#include <sys/socket.h>
int main(void)
{
%s
}
"""


def blocks(page):
    section = page.read_text().split("\n.Sh EXAMPLES\n")[1:]
    found = re.findall(r"^\.Bd -literal.*\n((?s:.*?))^\.Ed$", section[0].split("\n.Sh ")[0], re.M) \
        if section else []
    return [block.replace("\\e", "\\") for block in found]


def main():
    compiler, pages = sys.argv[1], sorted(pathlib.Path(sys.argv[2]).glob("*.7"))
    number, failed = 0, False
    for page in pages:
        for block in blocks(page):
            number += 1
            text = block if "#include" in block else FRAME % block
            done = subprocess.run([compiler, *FLAGS], input=text, text=True)
            if done.returncode:
                print(f"{page.name}: its example {number} is not taken")
                failed = True
    if number < len(pages):
        print(f"{number} examples in {len(pages)} pages: there must be one in each")
        failed = True
    print(f"{number} examples in {len(pages)} pages")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
