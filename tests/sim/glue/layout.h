/* SPDX-License-Identifier: GPL-2.0 */
/* layout.h: the parts of net/linux/glue.h that glue.cc calls. */
#ifndef SIM_GLUE_LAYOUT_H
#define SIM_GLUE_LAYOUT_H

#include "kernel.h"
#include "net/rds/rds_core.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const size_t glue_sock_bytes;
struct sock *glue_sk(const struct rds_socket *s);
struct rds_socket *glue_core(const struct sock *sk);

/* net/linux/wait.c */
struct rds_send_call;
int rds_send_once(struct sock *sk, struct rds_send_call *call);
bool rds_send_may_wait(const struct rds_send_call *call, int err);
int rds_wait_and_send(struct sock *sk, struct rds_send_call *call, long *timeo);
int rds_wait_to_recv(struct sock *sk, long *timeo);
__poll_t rds_poll_socket(struct file *file, struct socket *sock, struct poll_table_struct *wait);
void rds_wake_sleepers(struct sock *sk, unsigned int what);

#ifdef __cplusplus
}
#endif
#endif
