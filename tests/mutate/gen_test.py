#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""gen.py on a source that was made up: what it finds, what it leaves alone, what it writes."""
import collections
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import gen  # noqa: E402
import handmade  # noqa: E402
import sites  # noqa: E402
import table  # noqa: E402

SOURCE = """
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define TWICE(x) ((x) + (x))
enum { RDS_WAKE_READ = 1, RDS_WAKE_WRITE = 2, kLabel = 3 + 1 };
constexpr int kBound = 2 + 2;
static_assert(kBound > 3);
constexpr int half(int x) { return x - 1; }
template <int N> struct Box { int at[N + 1]; };
void wake(int);
struct Thing {
	int n = 7 + 1;
	Box<3 + 4> box;
	bool more(int x = 5 + 5);
	void count() { n += 2; }
};
bool Thing::more(int x)
{
	static const int kTable[2 + 1] = {};

	switch (x) {
	case 1 + 1:
		break;
	}
	if (LIKELY(x < n && !half(x)))
		wake(RDS_WAKE_READ); // done
	else
		return false;
	n = TWICE(x);
	return x != /* never */
	       kTable[0];
}
void leave(Thing *t, bool now)
{
	if (t)
		if (now)
			return;
	auto later = [&] { t->count(); };
	later();
}
bool never(Thing *)
{
	return false; /* whatever it is */
}
"""


# Every function of SOURCE, called; the exit status says what became of it.
PLAY = """
unsigned int rds_mutant; unsigned char rds_mutant_seen[999]; static int woken;
void wake(int which) { woken = which; }
extern "C" int atoi(const char *);
int main(int, char **argv)
{
	Thing t;

	rds_mutant = atoi(argv[1]);
	bool more = t.more(1);
	leave(&t, true);
	return woken * 100 + t.n * 10 + more;
}"""
Written = collections.namedtuple("Written", "name file old new")


class Gen(unittest.TestCase):
    def setUp(self):
        self.room = tempfile.TemporaryDirectory()
        self.addCleanup(self.room.cleanup)
        self.root = Path(self.room.name)
        (self.root / "it.cc").write_text(SOURCE)
        self.found = sites.find("it.cc", self.root)
        self.all = gen.numbered(self.found)

    def texts(self, function):
        return [s.text for s in self.found if s.function == function]

    def id(self, text):
        return next(i for i, s in self.all.items() if s.text == text)

    def compiled(self, more="", **only):
        text = gen.rewrite(SOURCE.encode(), only.get("mutants", self.all)).decode()
        mutant_h = (gen.HERE / "mutant.h").read_text()
        (self.root / "new.cc").write_text(mutant_h.replace("#pragma once", "") + text + more)
        p = subprocess.run(["c++", "-std=gnu++20", "-w", "-o", self.root / "new",
                            self.root / "new.cc"], capture_output=True, text=True)
        self.assertEqual(p.stderr, "")
        return text

    def test_sites_of_a_function(self):
        self.assertEqual(self.texts("Thing::more"), [
            "at once:  => return {};", "drop: break",
            "operator: x < n && !half(x) => x < n || !half(x)",
            "operator: x < n => x <= n", "operator: x < n => x >= n",
            "not: !half(x) => (bool)(half(x))", "drop: wake(RDS_WAKE_READ)",
            "wake: RDS_WAKE_READ => RDS_WAKE_WRITE",
            "constant: false => true in return false;",
            "drop: n = TWICE(x)", "operator: x != kTable[0] => x == kTable[0]",
            "constant: 0 => 0 + 1 in kTable[0];"])

    def test_what_is_nothing_returns_at_once(self):
        self.assertEqual(self.texts("never"), [
            "constant: false => true in return false;"])

    def test_members_and_lambdas(self):
        self.assertIn("operator: n += 2 => n -= 2", self.texts("Thing::count"))
        self.assertEqual(self.texts("leave").count("drop: t->count()"), 1)

    def test_what_the_compiler_must_know_stays(self):
        self.assertEqual({s.function for s in self.found}, {"Thing::more", "Thing::count", "leave",
                                                           "never"})
        self.assertFalse([s for s in self.found if "2 + 1" in s.old or s.old in ("5", "7", "3")])

    def test_lines_stay_and_all_compile(self):
        text = self.compiled("\nunsigned int rds_mutant; unsigned char rds_mutant_seen[999];"
                             "void wake(int) {} int main() {}")
        self.assertEqual(text.count("\n"), SOURCE.count("\n"))
        self.assertEqual(sum(f"rds_mut({i})" in text for i in self.all), len(self.all))

    def test_one_at_a_time(self):
        self.compiled(PLAY)
        for text, status in {
                None: 121, "drop: wake(RDS_WAKE_READ)": 21, "drop: return": 141,
                "wake: RDS_WAKE_READ => RDS_WAKE_WRITE": 221, "not: now => !(now)": 141,
                "operator: x < n => x >= n": 80,
                "operator: x != kTable[0] => x == kTable[0]": 120,
                "at once:  => return {};": 80}.items():
            i = self.id(text) if text else 0
            p = subprocess.run([self.root / "new", str(i)])
            self.assertEqual(p.returncode, status, text)

    def test_those_that_somebody_wrote_down(self):
        """Of the text once more, changed, in the same function; not what lies outside of one."""
        written = [Written("waker", "it.cc", "wake(RDS_WAKE_READ); // done", "wake(RDS_WAKE_WRITE);"),
                   Written("leaver", "it.cc", "if (now)\n return;", ";"),
                   Written("bound", "it.cc", "kBound = 2 + 2", "kBound = 5")]
        found = [handmade.site(m, handmade.bodies("it.cc", self.root), self.root) for m in written]
        self.assertEqual([s.function if s else None for s in found], ["Thing::more", "leave", None])
        text = self.compiled(PLAY, mutants={**self.all, 901: found[0], 902: found[1]})
        self.assertEqual(text.count("\n"), SOURCE.count("\n"))
        for i, status in {0: 121, 901: 221, 902: 141}.items():
            self.assertEqual(subprocess.run([self.root / "new", str(i)]).returncode, status, i)

    def test_nothing_chosen_nothing_changed(self):
        self.assertEqual(gen.rewrite(SOURCE.encode(), {}), SOURCE.encode())

    def test_what_does_not_compile_is_left_out(self):
        bad = self.all[self.id("operator: x < n => x <= n")]._replace(new="x <<< n")
        mutants = {**self.all, 500: bad}
        src = self.root / "src"
        (src / "tests/mutate").mkdir(parents=True)
        (src / "tests/mutate/mutant.h").write_text((gen.HERE / "mutant.h").read_text())
        left, dropped = gen.settle(mutants, src, self.root, ["it.cc"])
        self.assertEqual(set(dropped), {500})
        self.assertEqual(set(left), set(self.all))

    def test_verdicts_of_old_text_are_forgotten(self):
        new = {"file": "it.cc", "function": "f", "text": "drop: g()", "by": "", "reason": None}
        file = self.root / "verdicts.json"
        table.remember(file, [new, {**new, "text": "old"}], set(), "1")
        known = table.remember(file, [], {table.key(new)}, "2")
        self.assertEqual([(r["text"], r["commit"]) for r in known], [("drop: g()", "1")])
        self.assertTrue(table.is_hole(new))
        self.assertFalse(table.is_hole({**new, "reason": "the same"}))


if __name__ == "__main__":
    unittest.main()
