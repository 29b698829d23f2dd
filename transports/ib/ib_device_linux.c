// SPDX-License-Identifier: GPL-2.0
/*
 * ib_device_linux.c: adapters come and go.
 *
 * One goes when the last path has given it up: its removal drops them all and waits.  A path ties
 * itself to an adapter when it makes its queue pair, and unties itself when that is destroyed.
 *
 * Each namespace has a part of an adapter for itself (struct rds_ib_dev), for keys are valid in all
 * of a protection domain.  The first namespace's is there as long as the adapter; others' are made
 * when they are wanted, and end with the namespace's connections.
 */
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/slab.h>

#include "ib_linux.h"

static DEFINE_SPINLOCK(rds_ib_devs_lock); /* bh */
static LIST_HEAD(rds_ib_devs);
/* Paths with a queue pair, by their own address: so the adapter of an address is found. */
static DEFINE_HASHTABLE(rds_ib_paths, 8); /* rds_ib_devs_lock */
/* And by their peer's. */
static DEFINE_HASHTABLE(rds_ib_paths_to, 8); /* rds_ib_devs_lock */

static bool rds_ib_usable(const struct ib_device *ibdev)
{
	return (ibdev->node_type == RDMA_NODE_IB_CA || ibdev->node_type == RDMA_NODE_RNIC) &&
	       ibdev->attrs.max_send_sge >= (int)RDS_IB_SGES(0) && ibdev->attrs.max_recv_sge >= 2;
}

/* After a switch was down hundreds of calls are out whose requests were lost: as soon as one gets
 * through, the others are made anew. */
static void rds_ib_dev_look(struct work_struct *work)
{
	struct rds_ib_dev *dev = container_of(to_delayed_work(work), struct rds_ib_dev, look);
	struct rds_ib_path *tp;

	spin_lock_bh(&dev->lock);
	list_for_each_entry(tp, &dev->paths, on_dev)
		rds_ib_others_got_through(tp);
	spin_unlock_bh(&dev->lock);
	if (time_before(jiffies, READ_ONCE(dev->through) + RDS_IB_THROUGH))
		queue_delayed_work(rds_ib_wq, &dev->look, RDS_IB_LOOK);
}

void rds_ib_dev_through(struct rds_ib_dev *dev)
{
	WRITE_ONCE(dev->through, jiffies);
	queue_delayed_work(rds_ib_wq, &dev->look, RDS_IB_LOOK);
}

static struct rds_ib_dev *rds_ib_dev_make(struct ib_device *ibdev, struct rds_os_net *os)
{
	struct rds_ib_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->ibdev = ibdev;
	dev->os = os;
	dev->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dev->pd)) {
		err = PTR_ERR(dev->pd);
		kfree(dev);
		return ERR_PTR(err);
	}
	dev->mrs = rds_ib_mrs_create(dev);
	if (!dev->mrs) {
		ib_dealloc_pd(dev->pd);
		kfree(dev);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&dev->users, 1);
	init_completion(&dev->unused);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->paths);
	INIT_DELAYED_WORK(&dev->look, rds_ib_dev_look);
	return dev;
}

/* Process: the kernel tells of events by work of its own. */
static void rds_ib_dev_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct rds_ib_path *tp;
	struct rds_ib_dev *dev;

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_GID_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		break;
	default:
		return;
	}
	rds_ib_count(RDS_IB_S_port_events);
	spin_lock_bh(&rds_ib_devs_lock);
	list_for_each_entry(dev, &rds_ib_devs, all) {
		if (dev->ibdev != event->device)
			continue;
		spin_lock(&dev->lock);
		list_for_each_entry(tp, &dev->paths, on_dev)
			rds_ib_happened(tp, event);
		spin_unlock(&dev->lock);
	}
	spin_unlock_bh(&rds_ib_devs_lock);
}

static int rds_ib_add(struct ib_device *ibdev)
{
	struct rds_ib_dev *dev;

	if (!rds_ib_usable(ibdev))
		return -EOPNOTSUPP;
	dev = rds_ib_dev_make(ibdev, rds_os_net(&init_net));
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	spin_lock_bh(&rds_ib_devs_lock);
	list_add_tail(&dev->all, &rds_ib_devs);
	spin_unlock_bh(&rds_ib_devs_lock);
	INIT_IB_EVENT_HANDLER(&dev->events, ibdev, rds_ib_dev_event);
	ib_register_event_handler(&dev->events);
	return 0;
}

/* @os' part of @ibdev, NULL: of any. */
static struct rds_ib_dev *rds_ib_dev_find(const struct ib_device *ibdev,
					  const struct rds_os_net *os)
{
	struct rds_ib_dev *dev;

	list_for_each_entry(dev, &rds_ib_devs, all)
		if (dev->ibdev == ibdev && (!os || dev->os == os))
			return dev;
	return NULL;
}

void rds_ib_dev_put(struct rds_ib_dev *dev)
{
	if (refcount_dec_and_test(&dev->users))
		complete(&dev->unused);
}

static bool rds_ib_is_known(struct ib_device *ibdev)
{
	return rds_ib_dev_find(ibdev, rds_os_net(&init_net));
}

/* @os' part of @ibdev, made if there is none, for the caller to use; NULL: it is none of ours, or
 * goes; or ERR_PTR(-ENOMEM).  The caller has an id that is bound to it. */
static struct rds_ib_dev *rds_ib_dev_want(struct ib_device *ibdev, struct rds_os_net *os)
{
	struct rds_ib_dev *dev, *fresh = NULL;
	bool known;

	for (;;) {
		spin_lock_bh(&rds_ib_devs_lock);
		known = rds_ib_is_known(ibdev);
		dev = known ? rds_ib_dev_find(ibdev, os) : NULL;
		if (known && !dev && fresh) {
			list_add_tail(&fresh->all, &rds_ib_devs);
			swap(dev, fresh);
		}
		if (dev)
			refcount_inc(&dev->users); /* it is on the list, so it is not ending */
		spin_unlock_bh(&rds_ib_devs_lock);
		if (dev || !known || fresh)
			break;
		fresh = rds_ib_dev_make(ibdev, os);
		if (IS_ERR(fresh))
			return ERR_PTR(-ENOMEM);
	}
	if (fresh) {
		rds_ib_mrs_end(fresh->mrs);
		ib_dealloc_pd(fresh->pd);
		kfree(fresh);
	}
	return dev;
}

/* It is off the list.  Connecting to another host is the workers' business, they find another way
 * or none. */
static void rds_ib_dev_end(struct rds_ib_dev *dev)
{
	struct rds_ib_path *tp;

	if (dev->events.device)
		ib_unregister_event_handler(&dev->events);
	spin_lock_bh(&dev->lock);
	list_for_each_entry(tp, &dev->paths, on_dev)
		rds_path_drop(tp->path, RDS_DROP_ERROR);
	spin_unlock_bh(&dev->lock);
	rds_ib_dev_put(dev);
	wait_for_completion(&dev->unused);
	cancel_delayed_work_sync(&dev->look);
	rds_ib_mrs_end(dev->mrs);
	ib_dealloc_pd(dev->pd);
	kfree(dev);
}

/* Of one ender at a time: the removal of an adapter waits for a part that ends with its namespace,
 * too. */
static DEFINE_MUTEX(rds_ib_devs_ending);

/* One of @ibdev's or of @os' parts, off the list; NULL: there is none.  The first namespace's comes
 * first, so that no more are made. */
static struct rds_ib_dev *rds_ib_dev_take_off(const struct ib_device *ibdev,
					      const struct rds_os_net *os)
{
	struct rds_ib_dev *dev, *found = NULL;

	spin_lock_bh(&rds_ib_devs_lock);
	list_for_each_entry(dev, &rds_ib_devs, all) {
		if (dev->ibdev != ibdev && dev->os != os)
			continue;
		found = dev;
		list_del_init(&dev->all);
		break;
	}
	spin_unlock_bh(&rds_ib_devs_lock);
	return found;
}

/* All of @ibdev, or of @os, goes: so many parts. */
static unsigned int rds_ib_devs_end(const struct ib_device *ibdev, const struct rds_os_net *os)
{
	struct rds_ib_dev *dev;
	unsigned int n = 0;

	mutex_lock(&rds_ib_devs_ending);
	for (; (dev = rds_ib_dev_take_off(ibdev, os)); n++)
		rds_ib_dev_end(dev);
	mutex_unlock(&rds_ib_devs_ending);
	return n;
}

static void rds_ib_remove(struct ib_device *ibdev, void *data)
{
	if (rds_ib_devs_end(ibdev, NULL))
		rds_ib_count(RDS_IB_S_device_removals);
}

void rds_ib_devices_net_idle(struct rds_os_net *os)
{
	rds_ib_devs_end(NULL, os);
}

static struct ib_client rds_ib_client = {
	.name = "rds_ib",
	.add = rds_ib_add,
	.remove = rds_ib_remove,
};

int rds_ib_devices_start(void)
{
	int err = ib_register_client(&rds_ib_client);

	if (!err)
		rds_ib_moves_start();
	return err;
}

void rds_ib_devices_stop(void)
{
	rds_ib_moves_stop();
	ib_unregister_client(&rds_ib_client);
}

bool rds_ib_is_ours(const struct ib_device *ibdev)
{
	bool found;

	spin_lock_bh(&rds_ib_devs_lock);
	found = rds_ib_dev_find(ibdev, NULL);
	spin_unlock_bh(&rds_ib_devs_lock);
	return found;
}

/* Nobody is to know which addresses share a chain. */
static u32 rds_ib_addr_hash(const struct rds_addr *addr)
{
	static u32 seed __read_mostly;

	get_random_once(&seed, sizeof(seed));
	return jhash(addr, sizeof(*addr), seed);
}

bool rds_ib_dev_attach(struct rds_ib_path *tp, struct ib_device *ibdev)
{
	struct rds_ib_dev *dev = rds_ib_dev_want(ibdev, rds_path_os_net(tp->path));
	bool goes;

	if (IS_ERR_OR_NULL(dev))
		return false;
	spin_lock_bh(&rds_ib_devs_lock);
	goes = list_empty(&dev->all);
	if (!goes) {
		/* Inside: the removal that begins when we leave finds it on the list. */
		spin_lock(&dev->lock);
		list_add_tail(&tp->on_dev, &dev->paths);
		spin_unlock(&dev->lock);
		hash_add(rds_ib_paths, &tp->by_laddr, rds_ib_addr_hash(rds_path_laddr(tp->path)));
		hash_add(rds_ib_paths_to, &tp->by_faddr,
			 rds_ib_addr_hash(rds_path_faddr(tp->path)));
		tp->dev = dev;
		tp->moved = false;
	}
	spin_unlock_bh(&rds_ib_devs_lock);
	if (goes)
		rds_ib_dev_put(dev);
	return !goes;
}

void rds_ib_dev_detach(struct rds_ib_path *tp)
{
	struct rds_ib_dev *dev = tp->dev;

	if (!dev)
		return;
	spin_lock_bh(&rds_ib_devs_lock);
	hash_del(&tp->by_laddr);
	hash_del(&tp->by_faddr);
	spin_lock(&dev->lock);
	list_del(&tp->on_dev);
	spin_unlock(&dev->lock);
	tp->dev = NULL;
	spin_unlock_bh(&rds_ib_devs_lock);
	rds_ib_dev_put(dev);
}

/* Of a connection from there; most ask for memory that the peer of one is to use. */
static struct rds_ib_dev *rds_ib_dev_of_path(struct rds_os_net *os, const struct rds_addr *addr,
					     u32 scope)
{
	struct rds_ib_dev *dev = NULL;
	struct rds_ib_path *tp;

	spin_lock_bh(&rds_ib_devs_lock);
	hash_for_each_possible(rds_ib_paths, tp, by_laddr, rds_ib_addr_hash(addr)) {
		if (memcmp(rds_path_laddr(tp->path), addr, sizeof(*addr)) ||
		    rds_path_scope(tp->path) != scope || rds_path_os_net(tp->path) != os ||
		    !refcount_inc_not_zero(&tp->dev->users))
			continue;
		dev = tp->dev;
		break;
	}
	spin_unlock_bh(&rds_ib_devs_lock);
	return dev;
}

struct rds_ib_dev *rds_ib_dev_get(struct rds_os_net *os, const struct rds_addr *addr, u32 scope)
{
	struct rds_ib_dev *dev = rds_ib_dev_of_path(os, addr, scope);
	struct rdma_cm_id *id;

	if (dev)
		return dev;
	id = rds_ib_bound(os, addr, scope);
	if (IS_ERR(id))
		return PTR_ERR(id) == -ENOMEM ? ERR_CAST(id) : ERR_PTR(-ENODEV);
	dev = id->device ? rds_ib_dev_want(id->device, os) : NULL;
	rdma_destroy_id(id);
	return dev ?: ERR_PTR(-ENODEV);
}

void rds_ib_each_path(void (*fn)(void *arg, struct rds_ib_path *tp), void *arg)
{
	struct rds_ib_path *tp;
	struct rds_ib_dev *dev;

	spin_lock_bh(&rds_ib_devs_lock);
	list_for_each_entry(dev, &rds_ib_devs, all) {
		spin_lock(&dev->lock);
		list_for_each_entry(tp, &dev->paths, on_dev)
			fn(arg, tp);
		spin_unlock(&dev->lock);
	}
	spin_unlock_bh(&rds_ib_devs_lock);
}

void rds_ib_each_path_to(const struct rds_addr *faddr,
			 void (*fn)(void *arg, struct rds_ib_path *tp), void *arg)
{
	struct rds_ib_path *tp;

	spin_lock_bh(&rds_ib_devs_lock);
	hash_for_each_possible(rds_ib_paths_to, tp, by_faddr, rds_ib_addr_hash(faddr))
		if (!memcmp(rds_path_faddr(tp->path), faddr, sizeof(*faddr)))
			fn(arg, tp);
	spin_unlock_bh(&rds_ib_devs_lock);
}
