// SPDX-License-Identifier: GPL-2.0
/*
 * icprof: a QEMU TCG plugin that counts executed guest instructions per
 * translated block, between marker instructions the guest executes.
 *
 * Debian's qemu packages ship neither the plugin header nor the sample
 * plugins, but the binary exports the plugin interface; the few functions
 * used are declared here by hand (interface version 1, QEMU 6.0 to 8.x).
 *
 * Markers (10-byte no-ops on real hardware, see perf.h):
 *   66 2e 0f 1f 84 00 <01 53 44 52>   start of a phase
 *   66 2e 0f 1f 84 00 <02 53 44 52>   end of a phase
 *
 * Output (argument out=FILE): for each phase a line
 *   PHASE <k> <total> <kernel> <user>
 * and, with blocks=1, lines "B <address> <instructions> <executions>".
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct {
	const char *target_name;
} qemu_info_head;
enum { CB_NO_REGS = 0 };
enum { INLINE_ADD_U64 = 0 };
typedef void (*tb_trans_cb)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*udata_cb)(qemu_plugin_id_t, void *);
typedef void (*exec_cb)(unsigned int, void *);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, tb_trans_cb);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int op, void *ptr,
					      uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, exec_cb, int flags,
					    void *udata);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, udata_cb, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

#define BUCKETS (1u << 18)
struct ent {
	struct ent *next;
	uint64_t va, n, cnt, base;
};
static struct ent *tab[BUCKETS];
static FILE *out;
static int want_blocks, phase;

static struct ent *find(uint64_t va, uint64_t n)
{
	unsigned int h = (va * 0x9e3779b97f4a7c15ull + n * 0xc2b2ae35ull) >> 46;
	struct ent *e;

	for (e = tab[h]; e; e = e->next)
		if (e->va == va && e->n == n)
			return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		abort();
	e->va = va;
	e->n = n;
	e->next = tab[h];
	return tab[h] = e;
}

static void mark(unsigned int cpu, void *u)
{
	uint64_t k = 0, us = 0;
	unsigned int i;
	struct ent *e;

	(void)cpu;
	if ((uintptr_t)u == 1) {
		for (i = 0; i < BUCKETS; i++)
			for (e = tab[i]; e; e = e->next)
				e->base = e->cnt;
		return;
	}
	for (i = 0; i < BUCKETS; i++)
		for (e = tab[i]; e; e = e->next)
			*((e->va >> 63) ? &k : &us) += e->cnt - e->base;
	fprintf(out, "PHASE %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", phase++, k + us, k, us);
	if (want_blocks)
		for (i = 0; i < BUCKETS; i++)
			for (e = tab[i]; e; e = e->next)
				if (e->cnt != e->base)
					fprintf(out, "B %" PRIx64 " %" PRIu64 " %" PRIu64 "\n",
						e->va, e->cnt - e->base, (e->cnt - e->base) / e->n);
	fflush(out);
}

static void trans(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	static const unsigned char pre[6] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0};
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct ent *e = find(qemu_plugin_tb_vaddr(tb), n);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &e->cnt, n);
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(tb, i);
		const unsigned char *d = qemu_plugin_insn_data(in);

		if (qemu_plugin_insn_size(in) == 10 && !memcmp(d, pre, 6) && d[7] == 0x53 &&
		    d[8] == 0x44 && d[9] == 0x52)
			qemu_plugin_register_vcpu_insn_exec_cb(in, mark, CB_NO_REGS,
							       (void *)(uintptr_t)d[6]);
	}
}

__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	out = stderr;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4)) {
			out = fopen(argv[i] + 4, "w");
			if (!out)
				return -1;
		} else if (!strcmp(argv[i], "blocks=1")) {
			want_blocks = 1;
		}
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, trans);
	return 0;
}
