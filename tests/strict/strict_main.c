// SPDX-License-Identifier: GPL-2.0
/*
 * strict_main.c: adapters come and go, see strict.h.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "strict.h"

static char *profile = "";
module_param(profile, charp, 0444);
MODULE_PARM_DESC(profile, "Family of adapters whose limits and refusals it has");

DEFINE_SPINLOCK(strict_lock);
const struct strict_profile *strict_profile;
static LIST_HEAD(devs); /* strict_lock */

struct strict_dev *strict_dev_of(const struct ib_device *dev)
{
	struct strict_dev *d;

	list_for_each_entry_rcu(d, &devs, on, lockdep_is_held(&strict_lock))
		if (d->dev == dev)
			return d;
	return NULL;
}

/* The caller of an adapter's operation keeps the adapter, and so us. */
const struct ib_device_ops *strict_ops(const struct ib_device *dev)
{
	const struct strict_dev *d;

	rcu_read_lock();
	d = strict_dev_of(dev);
	rcu_read_unlock();
	return &d->was;
}

void strict_happens(enum ib_event_type type)
{
	struct ib_event event = {.element.port_num = 1, .event = type};
	struct strict_dev *d;

	rcu_read_lock();
	list_for_each_entry_rcu(d, &devs, on) {
		event.device = d->dev;
		ib_dispatch_event(&event);
	}
	rcu_read_unlock();
}

/* The adapter's operations that are to pass by us. */
static void stand_before(struct ib_device_ops *ops)
{
	ops->create_qp = strict_create_qp;
	ops->destroy_qp = strict_destroy_qp;
	ops->post_send = strict_post_send;
	ops->post_recv = strict_post_recv;
	ops->destroy_cq = strict_destroy_cq;
	ops->poll_cq = strict_poll_cq;
	ops->req_notify_cq = strict_req_notify_cq;
	ops->alloc_mr = strict_alloc_mr;
	ops->dereg_mr = strict_dereg_mr;
	ops->map_mr_sg = strict_map_mr_sg;
}

static int add(struct ib_device *dev)
{
	struct strict_dev *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	d->dev = dev;
	d->was = dev->ops;
	d->attrs = dev->attrs;
	spin_lock_irq(&strict_lock);
	list_add_rcu(&d->on, &devs);
	spin_unlock_irq(&strict_lock);
	strict_lower(dev, strict_profile);
	stand_before(&dev->ops);
	return 0;
}

/* Those that came after us have left it; but the queue pair for management goes on, and who came in
 * by our operations is to find the way out: what we know of it stays until we are unloaded. */
static void remove(struct ib_device *dev, void *data)
{
	struct strict_dev *d;

	rcu_read_lock();
	d = strict_dev_of(dev);
	rcu_read_unlock();
	if (!d)
		return;
	dev->ops = d->was;
	dev->attrs = d->attrs;
	if (d->mrs)
		strict_wrong("%d memory regions are left", d->mrs);
}

static struct ib_client client = {.name = "rds_strict", .add = add, .remove = remove};

static int __init strict_init(void)
{
	strict_profile = strict_find_profile(profile);
	if (!strict_profile)
		return -EINVAL;
	return ib_register_client(&client);
}
module_init(strict_init);

static void __exit strict_exit(void)
{
	struct strict_dev *d, *next;

	ib_unregister_client(&client);
	synchronize_rcu();
	list_for_each_entry_safe(d, next, &devs, on)
		kfree(d);
}
module_exit(strict_exit);

MODULE_DESCRIPTION("An adapter's limits and bad days over one in software");
MODULE_LICENSE("GPL");
