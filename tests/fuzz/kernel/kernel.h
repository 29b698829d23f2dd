/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel.h: as much of the kernel as net/linux/cmsg*.c and sockopt.c need to be compiled,
 * unchanged, in user space.  CMakeLists.txt makes every kernel header that they include an alias of
 * this one.
 *
 * User memory is one block (user_memory()): copies from or to anything else fault.  The macros that
 * walk control messages say what the kernel's say (include/linux/socket.h), not what glibc's do.
 */
#ifndef FUZZ_KERNEL_H
#define FUZZ_KERNEL_H

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <linux/sockios.h>
#include <linux/time_types.h>
#include <linux/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;

#define __user
#define __percpu
#define __aligned(n) __attribute__((aligned(n)))
#define likely(x) (x)
#define unlikely(x) (x)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define S32_MAX 0x7fffffff
#define CAP_NET_ADMIN 12
#define BUILD_BUG_ON(x) ((void)sizeof(char[1 - 2 * !!(x)]))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define array_index_nospec(i, n) ((i) < (n) ? (i) : 0)
#define s6_addr32 __in6_u.__u6_addr32
#define fallthrough __attribute__((fallthrough))
#ifndef __cplusplus
#define static_assert(x) _Static_assert(x, #x)
#endif

/* ---- what only has to be there ---- */
struct xarray {
	void *none;
};
struct list_head {
	struct list_head *next, *prev;
};
typedef struct {
	int dummy;
} spinlock_t;
typedef struct {
	spinlock_t lock;
} seqlock_t;
typedef struct {
	unsigned int val;
} kuid_t, kgid_t;
struct __kernel_sockaddr_storage {
	unsigned short ss_family;
	char data[126];
} __aligned(8);
struct module;
struct user_namespace;
struct net {
	struct user_namespace *user_ns;
};
struct socket;
struct sockaddr;
struct proto_ops {
	int (*bind)(struct socket *sock, struct sockaddr *name, int len);
};
struct sk_buff;
struct iov_iter;
struct ctl_table;
struct ctl_table_header;
enum hrtimer_restart { HRTIMER_NORESTART };
struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *t);
};
enum { HRTIMER_MODE_REL };
void hrtimer_init(struct hrtimer *t, int clock, int mode);
struct ctl_table_header *register_net_sysctl(struct net *net, const char *path,
					     struct ctl_table *table);
struct shrink_control;
struct shrinker {
	unsigned long (*count_objects)(struct shrinker *s, struct shrink_control *sc);
	unsigned long (*scan_objects)(struct shrinker *s, struct shrink_control *sc);
	int seeks;
};
enum { DEFAULT_SEEKS = 2, GFP_KERNEL };
int register_shrinker(struct shrinker *s, const char *format, ...);
void unregister_shrinker(struct shrinker *s);
#ifdef __cplusplus
extern "C++" {
/* void *, as C has it: any pointer may be initialised with it. */
struct void_pointer {
	template <typename T>
	operator T *() const;
};
struct void_pointer kzalloc(size_t n, int flags);
}
#else
void *kzalloc(size_t n, int flags);
#endif

/* ---- sockets ---- */
enum sock_flags { SOCK_RCVTSTAMP, SOCK_TSTAMP_NEW, SOCK_ZEROCOPY };
struct socket_wq;
struct sock {
	unsigned long sk_flags;
	int locked;
	struct socket_wq *sk_wq;
};
struct socket {
	struct sock *sk;
};
static inline bool sock_flag(const struct sock *sk, enum sock_flags flag)
{
	return sk->sk_flags >> flag & 1;
}
static inline void sock_valbool_flag(struct sock *sk, enum sock_flags flag, int on)
{
	sk->sk_flags = (sk->sk_flags & ~(1ul << flag)) | (unsigned long)(on != 0) << flag;
}
struct net *sock_net(const struct sock *sk);
bool ns_capable(struct user_namespace *ns, int cap);
void lock_sock(struct sock *sk);
void release_sock(struct sock *sk);

/* ---- control messages ---- */
#undef CMSG_DATA
#undef CMSG_NXTHDR
#undef CMSG_FIRSTHDR
#define CMSG_DATA(c) ((void *)((char *)(c) + sizeof(struct cmsghdr)))
#define CMSG_FIRSTHDR(m)                                                                           \
	((m)->msg_controllen >= sizeof(struct cmsghdr) ? (struct cmsghdr *)(m)->msg_control        \
						       : (struct cmsghdr *)0)
#define CMSG_OK(m, c)                                                                              \
	((c)->cmsg_len >= sizeof(struct cmsghdr) &&                                                \
	 (c)->cmsg_len <=                                                                          \
		 (size_t)((m)->msg_controllen - ((char *)(c) - (char *)(m)->msg_control)))
static inline struct cmsghdr *CMSG_NXTHDR(struct msghdr *m, struct cmsghdr *c)
{
	char *next = (char *)c + CMSG_ALIGN(c->cmsg_len);

	if ((size_t)(next + sizeof(*c) - (char *)m->msg_control) > m->msg_controllen)
		return (struct cmsghdr *)0;
	return (struct cmsghdr *)next;
}
#define for_each_cmsghdr(c, m) for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
int put_cmsg(struct msghdr *m, int level, int type, int len, void *data);

/* ---- user memory ---- */
typedef struct {
	void *user;
} sockptr_t;
unsigned long copy_from_user(void *to, const void *from, unsigned long n);
unsigned long copy_to_user(void *to, const void *from, unsigned long n);
static inline int copy_from_sockptr(void *to, sockptr_t from, size_t n)
{
	return copy_from_user(to, from.user, n) ? -EFAULT : 0;
}
#define u64_to_user_ptr(x) ((void *)(uintptr_t)(x))
#define get_user(x, p) (copy_from_user(&(x), p, sizeof(x)) ? -EFAULT : 0)
#define put_user(x, p)                                                                             \
	({                                                                                         \
		__typeof__(*(p)) value_ = (x);                                                     \
		copy_to_user(p, &value_, sizeof(value_)) ? -EFAULT : 0;                            \
	})

/* A copy of @n bytes, or a number that IS_ERR() knows. */
void *memdup_user(const void *from, size_t n);
void kfree(const void *p);
#define IS_ERR(p) ((uintptr_t)(p) >= (uintptr_t)-4095)
#define PTR_ERR(p) ((int)(intptr_t)(p))

/* ---- time and addresses ---- */
#define NSEC_PER_USEC 1000
struct timespec64 {
	int64_t tv_sec;
	long tv_nsec;
};
static inline struct timespec64 ns_to_timespec64(u64 ns)
{
	struct timespec64 t = {(int64_t)(ns / 1000000000), (long)(ns % 1000000000)};

	return t;
}
static inline void ipv6_addr_set_v4mapped(const __be32 v4, struct in6_addr *a)
{
	memset(a, 0, sizeof(*a));
	a->s6_addr32[2] = htonl(0xffff);
	a->s6_addr32[3] = v4;
}
static inline bool ipv6_addr_v4mapped(const struct in6_addr *a)
{
	return !a->s6_addr32[0] && !a->s6_addr32[1] && a->s6_addr32[2] == htonl(0xffff);
}

#ifdef __cplusplus
}
#endif
#endif
