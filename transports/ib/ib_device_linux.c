// SPDX-License-Identifier: GPL-2.0
/*
 * ib_device_linux.c: adapters come and go.
 *
 * One goes when the last path has given it up: its removal drops them all and waits.  A path ties
 * itself to an adapter when it makes its queue pair, and unties itself when that is destroyed.
 */
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/slab.h>

#include "ib_linux.h"

static DEFINE_SPINLOCK(rds_ib_devs_lock); /* bh */
static LIST_HEAD(rds_ib_devs);
/* Paths with a queue pair, by their own address: so the adapter of an address is found. */
static DEFINE_HASHTABLE(rds_ib_paths, 8); /* rds_ib_devs_lock */

static bool rds_ib_usable(const struct ib_device *ibdev)
{
	return (ibdev->node_type == RDMA_NODE_IB_CA || ibdev->node_type == RDMA_NODE_RNIC) &&
	       ibdev->attrs.max_send_sge >= RDS_IB_SGES && ibdev->attrs.max_recv_sge >= 2;
}

static int rds_ib_add(struct ib_device *ibdev)
{
	struct rds_ib_dev *dev;
	int err;

	if (!rds_ib_usable(ibdev))
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	dev->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dev->pd)) {
		err = PTR_ERR(dev->pd);
		kfree(dev);
		return err;
	}
	dev->mrs = rds_ib_mrs_create(dev);
	if (!dev->mrs) {
		ib_dealloc_pd(dev->pd);
		kfree(dev);
		return -ENOMEM;
	}
	refcount_set(&dev->users, 1);
	init_completion(&dev->unused);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->paths);
	spin_lock_bh(&rds_ib_devs_lock);
	list_add_tail(&dev->all, &rds_ib_devs);
	spin_unlock_bh(&rds_ib_devs_lock);
	return 0;
}

static struct rds_ib_dev *rds_ib_dev_find(const struct ib_device *ibdev)
{
	struct rds_ib_dev *dev;

	list_for_each_entry(dev, &rds_ib_devs, all)
		if (dev->ibdev == ibdev)
			return dev;
	return NULL;
}

void rds_ib_dev_put(struct rds_ib_dev *dev)
{
	if (refcount_dec_and_test(&dev->users))
		complete(&dev->unused);
}

/* Connecting to another host is the workers' business, they find another way or none. */
static void rds_ib_remove(struct ib_device *ibdev, void *data)
{
	struct rds_ib_path *tp;
	struct rds_ib_dev *dev;

	spin_lock_bh(&rds_ib_devs_lock);
	dev = rds_ib_dev_find(ibdev);
	if (dev)
		list_del(&dev->all);
	spin_unlock_bh(&rds_ib_devs_lock);
	if (!dev)
		return;
	rds_ib_count(RDS_IB_S_device_removals);
	spin_lock_bh(&dev->lock);
	list_for_each_entry(tp, &dev->paths, on_dev)
		rds_path_drop(tp->path, RDS_DROP_ERROR);
	spin_unlock_bh(&dev->lock);
	rds_ib_dev_put(dev);
	wait_for_completion(&dev->unused);
	rds_ib_mrs_end(dev->mrs);
	ib_dealloc_pd(dev->pd);
	kfree(dev);
}

static struct ib_client rds_ib_client = {
	.name = "rds_ib",
	.add = rds_ib_add,
	.remove = rds_ib_remove,
};

int rds_ib_devices_start(void)
{
	return ib_register_client(&rds_ib_client);
}

void rds_ib_devices_stop(void)
{
	ib_unregister_client(&rds_ib_client);
}

bool rds_ib_is_ours(const struct ib_device *ibdev)
{
	bool found;

	spin_lock_bh(&rds_ib_devs_lock);
	found = rds_ib_dev_find(ibdev);
	spin_unlock_bh(&rds_ib_devs_lock);
	return found;
}

/* Its addresses are this host's; still, nobody is to know which of them share a chain. */
static u32 rds_ib_addr_hash(const struct rds_addr *addr)
{
	static u32 seed __read_mostly;

	get_random_once(&seed, sizeof(seed));
	return jhash(addr, sizeof(*addr), seed);
}

bool rds_ib_dev_attach(struct rds_ib_path *tp, struct ib_device *ibdev)
{
	struct rds_ib_dev *dev;

	spin_lock_bh(&rds_ib_devs_lock);
	dev = rds_ib_dev_find(ibdev);
	if (dev) {
		/* Inside: the removal that begins when we leave finds it on the list. */
		refcount_inc(&dev->users);
		spin_lock(&dev->lock);
		list_add_tail(&tp->on_dev, &dev->paths);
		spin_unlock(&dev->lock);
		hash_add(rds_ib_paths, &tp->by_laddr, rds_ib_addr_hash(rds_path_laddr(tp->path)));
	}
	tp->dev = dev;
	spin_unlock_bh(&rds_ib_devs_lock);
	return dev;
}

void rds_ib_dev_detach(struct rds_ib_path *tp)
{
	struct rds_ib_dev *dev = tp->dev;

	if (!dev)
		return;
	spin_lock_bh(&rds_ib_devs_lock);
	hash_del(&tp->by_laddr);
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
	spin_lock_bh(&rds_ib_devs_lock);
	dev = id->device ? rds_ib_dev_find(id->device) : NULL;
	if (dev)
		refcount_inc(&dev->users); /* of the list, so it is not being removed */
	spin_unlock_bh(&rds_ib_devs_lock);
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
