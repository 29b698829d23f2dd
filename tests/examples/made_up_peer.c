// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel in the place of the real one, linked with a program of examples/ that receives: its
 * socket gets the messages of the file MADE_UP_PEER, each behind its length (u32), one a call.
 * RDS_RECV_BATCH is known.  A length with COOKIE is of a message that brings one, with CUT half of
 * one, as the kernel cuts it for want of room.  Sends come to nothing, and sleeping takes no time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rds.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define COOKIE (1U << 31)
#define CUT (1U << 30)

static FILE *messages;
static int batch;

int socket(int domain, int type, int protocol)
{
	(void)domain, (void)type, (void)protocol;
	messages = fopen(getenv("MADE_UP_PEER"), "re");
	return messages ? open("/dev/null", O_RDWR) : -1;
}

int bind(int fd, const struct sockaddr *name, socklen_t size)
{
	(void)fd, (void)name, (void)size;
	return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	(void)fd, (void)size;
	if (level == SOL_RDS && name == RDS_RECV_BATCH)
		memcpy(&batch, value, sizeof(batch));
	return 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	(void)fd, (void)level, (void)name;
	memset(value, 0, *size);
	return 0;
}

static void tell(struct msghdr *msg, int type, const void *what, size_t size)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	c->cmsg_level = SOL_RDS;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), what, size);
	msg->msg_controllen = CMSG_SPACE(size);
}

static void tell_cookie(struct msghdr *msg, uint32_t how)
{
	uint64_t cookie = 0x1234567890abcdef;

	tell(msg, RDS_CMSG_RDMA_DEST, &cookie, how & CUT ? sizeof(cookie) / 2 : sizeof(cookie));
	if (how & CUT)
		msg->msg_flags |= MSG_CTRUNC;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(4000)};
	uint32_t length, how, n;

	(void)fd, (void)flags;
	if (!fread(&length, sizeof(length), 1, messages)) {
		errno = EAGAIN;
		return -1;
	}
	how = length & (COOKIE | CUT);
	length -= how;
	n = length < msg->msg_iov->iov_len ? length : msg->msg_iov->iov_len;
	if (fread(msg->msg_iov->iov_base, 1, n, messages) != n)
		abort();
	fseek(messages, length - n, SEEK_CUR);
	msg->msg_flags = n < length ? MSG_TRUNC : 0;
	inet_pton(AF_INET, "192.0.2.2", &from.sin_addr);
	memcpy(msg->msg_name, &from, sizeof(from));
	msg->msg_namelen = sizeof(from);
	/* The whole length, which with the option is told also of a message that is cut. */
	if (batch)
		tell(msg, RDS_CMSG_RECV_BATCH, &length, sizeof(length));
	else if (how)
		tell_cookie(msg, how);
	else
		msg->msg_controllen = 0;
	return n;
}

ssize_t recvfrom(int fd, void *room, size_t size, int flags, struct sockaddr *from, socklen_t *len)
{
	struct iovec iov = {room, size};
	struct msghdr msg = {.msg_name = from, .msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n = recvmsg(fd, &msg, flags);

	*len = msg.msg_namelen;
	return n;
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to,
	       socklen_t len)
{
	(void)fd, (void)data, (void)flags, (void)to, (void)len;
	return size;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	(void)fd, (void)flags;
	return msg->msg_iov->iov_len;
}

unsigned int sleep(unsigned int seconds)
{
	return 0 * seconds;
}

int usleep(useconds_t micro)
{
	return 0 * micro;
}
