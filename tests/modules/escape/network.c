// SPDX-License-Identifier: Apache-2.0
//
// Attempts at the network, and at sockets of this machine.
#include <arpa/inet.h>
#include <linux/if_alg.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "escape.h"

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

// The neighbour notes who connects, and bytes that come without a connection.
static int32_t connects(int fd, const void *address, socklen_t size) {
  if (fd < 0) return errno;
  int32_t result = error_of(connect(fd, address, size));
  if (!result) (void)!send(fd, "escaped", 7, MSG_NOSIGNAL);
  close(fd);
  return result;
}
static struct sockaddr_in neighbour(uint16_t port) {
  return (struct sockaddr_in){.sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}
KIND(tcp) {
  struct sockaddr_in to = neighbour(PORT);
  return connects(socket(AF_INET, SOCK_STREAM, 0), &to, sizeof to);
}
KIND(tcp6) {
  struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                            .sin6_port = htons(PORT),
                            .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  return connects(socket(AF_INET6, SOCK_STREAM, 0), &to, sizeof to);
}
KIND(udp) {
  struct sockaddr_in to = neighbour(PORT);
  return connects(socket(AF_INET, SOCK_DGRAM, 0), &to, sizeof to);
}
KIND(listen_tcp) {
  struct sockaddr_in at = neighbour(PORT + 1);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return errno;
  int32_t result = error_of(bind(fd, (void *)&at, sizeof at));
  if (!result) result = error_of(listen(fd, 1));
  close(fd);
  return result;
}
static int32_t connects_to_file(const char *path) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  strcpy(to.sun_path, path);
  return connects(socket(AF_UNIX, SOCK_STREAM, 0), &to, sizeof to);
}
KIND(unix_file) { return connects_to_file(PLACE "neighbour.sock"); }
KIND(admin_socket) { return connects_to_file(PLACE "http.sock"); }
KIND(unix_abstract) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  strcpy(to.sun_path + 1, "farcall-neighbour");
  return connects(socket(AF_UNIX, SOCK_STREAM, 0), &to,
                  offsetof(struct sockaddr_un, sun_path) + 1 + 17);
}
KIND(netlink) {
  struct {
    struct nlmsghdr head;
    struct rtgenmsg body;
  } ask = {{sizeof ask, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0},
           {AF_UNSPEC}};
  char answer[4096];
  int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  if (fd < 0) return errno;
  int32_t result = error_of(send(fd, &ask, sizeof ask, 0));
  if (!result) result = error_of(recv(fd, answer, sizeof answer, 0));
  close(fd);
  return result;
}
KIND(raw) { return gets(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)); }
KIND(ping) { return gets(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP)); }
KIND(packet) { return gets(socket(AF_PACKET, SOCK_RAW, 0)); }
KIND(vsock) { return gets(socket(AF_VSOCK, SOCK_STREAM, 0)); }
KIND(kernel_crypto) { return gets(socket(AF_ALG, SOCK_SEQPACKET, 0)); }
KIND(ring) {
  struct io_uring_params parameters = {0};
  return gets((int)syscall(SYS_io_uring_setup, 1, &parameters));
}
// A pair of sockets reaches no other process, unless one of them may be connected
// again.
KIND(pair_reconnected) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) return errno;
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  strcpy(to.sun_path, PLACE "neighbour.dgram");
  int32_t result = connects(ends[0], &to, sizeof to);
  close(ends[1]);
  return result;
}
