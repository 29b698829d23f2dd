// SPDX-License-Identifier: GPL-2.0
/*
 * faults.c: what goes wrong, as the parameters say, see strict.h.
 */
#include <linux/module.h>

#include "strict.h"

int strict_dereg_fails;
module_param_named(dereg_fails, strict_dereg_fails, int, 0644);
int strict_events_lost;
module_param_named(events_lost, strict_events_lost, int, 0644);
unsigned int strict_late_sends;
module_param_named(late_sends, strict_late_sends, uint, 0644);
unsigned int strict_late_recvs;
module_param_named(late_recvs, strict_late_recvs, uint, 0644);
unsigned int strict_flushed_as = IB_WC_WR_FLUSH_ERR;
module_param_named(flushed_as, strict_flushed_as, uint, 0644);
unsigned int strict_slow_end;
module_param_named(slow_end, strict_slow_end, uint, 0644);
unsigned int strict_qp_most;
module_param_named(qp_most, strict_qp_most, uint, 0644);
bool strict_one_at_a_time;
module_param_named(one_at_a_time, strict_one_at_a_time, bool, 0644);
bool strict_shuffle;
module_param_named(shuffle, strict_shuffle, bool, 0644);

static unsigned int refused;
module_param(refused, uint, 0444);

/* ---- which work requests are refused ---- */

enum kind { OF_ANY, OF_SEND, OF_WRITE, OF_READ, OF_ATOMIC, OF_MASKED, OF_REG, OF_INV, KINDS };
static const char *const kinds[KINDS] = {"any",	   "send",   "write", "read",
					 "atomic", "masked", "reg",   "inv"};

static struct {
	enum kind kind;
	int error; /* 0: none is */
	unsigned int after;
	int left; /* < 0: for ever */
	int at;	  /* < 0: anywhere */
} rule;		  /* strict_lock */

static enum kind kind_of(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
		return OF_SEND;
	case IB_WR_RDMA_WRITE:
		return OF_WRITE;
	case IB_WR_RDMA_READ:
		return OF_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return OF_ATOMIC;
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return OF_MASKED;
	case IB_WR_REG_MR:
		return OF_REG;
	case IB_WR_LOCAL_INV:
		return OF_INV;
	default:
		return KINDS;
	}
}

static int by_profile(const struct ib_send_wr *wr)
{
	enum kind kind = kind_of(wr);

	if (kind == OF_ATOMIC)
		return strict_profile->atomics_refused;
	if (kind == OF_MASKED)
		return strict_profile->masked_refused ?: strict_profile->atomics_refused;
	if (kind == OF_REG && reg_wr(wr)->access & IB_ACCESS_REMOTE_ATOMIC)
		return strict_profile->atomic_rights_refused;
	return 0;
}

static int by_rule(const struct ib_send_wr *wr, unsigned int at)
{
	if (!rule.error || !rule.left || (rule.kind != OF_ANY && rule.kind != kind_of(wr)) ||
	    (rule.at >= 0 && at != rule.at))
		return 0;
	if (rule.after) {
		rule.after--;
		return 0;
	}
	if (rule.left > 0)
		rule.left--;
	return rule.error;
}

int strict_refuses(const struct ib_send_wr *wr, unsigned int at)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&strict_lock, flags);
	err = by_profile(wr) ?: by_rule(wr, at);
	refused += err != 0;
	spin_unlock_irqrestore(&strict_lock, flags);
	return -err;
}

static int set_refuse(const char *text, const struct kernel_param *kp)
{
	unsigned int after = 0;
	int i, n, error = 0, times = 0, at = -1;
	char kind[16] = "";

	n = sscanf(text, "%15[^:\n]:%d:%u:%d:%d", kind, &error, &after, &times, &at);
	i = match_string(kinds, KINDS, kind);
	if (n > 0 && (i < 0 || error <= 0))
		return -EINVAL;
	spin_lock_irq(&strict_lock);
	rule.kind = max(i, 0);
	rule.error = error;
	rule.after = after;
	rule.left = times ?: -1;
	rule.at = at;
	spin_unlock_irq(&strict_lock);
	return 0;
}

static int get_refuse(char *to, const struct kernel_param *kp)
{
	return sysfs_emit(to, "%s:%d:%u:%d:%d\n", kinds[rule.kind], rule.error, rule.after,
			  rule.left, rule.at);
}

static const struct kernel_param_ops refuse_ops = {.set = set_refuse, .get = get_refuse};
module_param_cb(refuse, &refuse_ops, NULL, 0644);

/* Something happens to all adapters, IB_EVENT_*; 8: they are beyond repair. */
static int set_happens(const char *text, const struct kernel_param *kp)
{
	int event, err = kstrtoint(text, 0, &event);

	if (!err)
		strict_happens(event);
	return err;
}

static const struct kernel_param_ops happens_ops = {.set = set_happens};
module_param_cb(happens, &happens_ops, NULL, 0200);

bool strict_one_of(int *left)
{
	unsigned long flags;
	bool is;

	spin_lock_irqsave(&strict_lock, flags);
	is = *left != 0;
	if (*left > 0)
		(*left)--;
	spin_unlock_irqrestore(&strict_lock, flags);
	return is;
}
