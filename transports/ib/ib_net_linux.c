// SPDX-License-Identifier: GPL-2.0
/*
 * ib_net_linux.c: namespaces.
 *
 * Each rdma_cm id holds its namespace.  An id that peers use must not keep a namespace whose
 * programs are gone, so one has listeners and connections from the first socket that is bound to an
 * adapter there until the last such socket is closed.  Programs may come back at once, hence the
 * work: it looks again.
 */
#include <net/netns/generic.h>

#include "ib_linux.h"

static unsigned int rds_ib_net_id;

/* No call is on its way to a path when connections are killed: none is made after that. */
static void rds_ib_net_idle(struct work_struct *work)
{
	struct rds_ib_net *in = container_of(work, struct rds_ib_net, idle);
	struct net *net = in->net;
	bool ends;

	mutex_lock(&in->lock);
	ends = in->open && !in->users;
	if (ends) {
		rds_ib_listen_stop(in);
		rds_transport_net_exit(rds_net_of(net), &rds_ib_transport);
		if (net != &init_net)
			rds_ib_devices_net_idle(rds_os_net(net));
		in->open = false;
	}
	mutex_unlock(&in->lock);
	if (ends)
		put_net(net);
}

static int rds_ib_net_use(struct rds_ib_net *in)
{
	int err = 0;

	mutex_lock(&in->lock);
	in->users++;
	if (!in->open) {
		get_net(in->net);
		in->open = true;
		err = rds_ib_listen_start(in);
	}
	mutex_unlock(&in->lock);
	return err;
}

static void rds_ib_net_unuse(struct rds_ib_net *in)
{
	mutex_lock(&in->lock);
	if (!--in->users)
		queue_work(rds_ib_slow_wq, &in->idle);
	mutex_unlock(&in->lock);
}

static struct rds_ib_net *rds_ib_net_of(struct rds_os_net *os)
{
	return net_generic(rds_os_net_to_net(os), rds_ib_net_id);
}

/* Nobody can call us here?  We can still call. */
void rds_ib_use(struct rds_os_net *os)
{
	if (rds_ib_net_use(rds_ib_net_of(os)))
		pr_warn_once("rds_rdma: cannot listen in a network namespace\n");
}

void rds_ib_unuse(struct rds_os_net *os)
{
	rds_ib_net_unuse(rds_ib_net_of(os));
}

static int __net_init rds_ib_net_init(struct net *net)
{
	struct rds_ib_net *in = net_generic(net, rds_ib_net_id);

	in->net = net;
	mutex_init(&in->lock);
	INIT_WORK(&in->idle, rds_ib_net_idle);
	rds_ib_peers_start(in);
	return 0;
}

/* It is not open; the work may have been queued for nothing. */
static void __net_exit rds_ib_net_exit(struct net *net)
{
	struct rds_ib_net *in = net_generic(net, rds_ib_net_id);

	cancel_work_sync(&in->idle);
	WARN_ON_ONCE(in->open);
	rds_ib_peers_stop(in);
}

static struct pernet_operations rds_ib_net_ops = {
	.init = rds_ib_net_init,
	.exit = rds_ib_net_exit,
	.id = &rds_ib_net_id,
	.size = sizeof(struct rds_ib_net),
};

int rds_ib_nets_start(void)
{
	return register_pernet_device(&rds_ib_net_ops);
}

void rds_ib_nets_stop(void)
{
	unregister_pernet_device(&rds_ib_net_ops);
}

int rds_ib_nets_open(void)
{
	struct rds_ib_net *in = net_generic(&init_net, rds_ib_net_id);
	int err = rds_ib_net_use(in);

	if (!err)
		return 0;
	pr_warn("rds_rdma: cannot listen on port %d\n", RDS_IB_PORT_V4);
	rds_ib_nets_close();
	return err;
}

void rds_ib_nets_close(void)
{
	rds_ib_net_unuse(net_generic(&init_net, rds_ib_net_id));
	flush_workqueue(rds_ib_slow_wq);
}
