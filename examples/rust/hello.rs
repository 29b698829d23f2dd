// SPDX-License-Identifier: GPL-2.0
//! hello: sends itself a message over loopback, and receives it.
//!
//!     rustc --edition 2021 hello.rs && ./hello
//!
//! Nothing but std, and libc's functions, which std links anyway: std's own sockets are those of
//! TCP and UDP. See rds(7).
use std::io::{Error, Result};
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::raw::{c_int, c_void};
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd};

const AF_INET: u16 = 2;
const PF_RDS: c_int = 21;
const SOCK_SEQPACKET: c_int = 5;
const SOCK_CLOEXEC: c_int = 0o2000000;

/// struct sockaddr_in of <netinet/in.h>; port and address are in network order.
#[repr(C)]
#[derive(Default)]
struct SockaddrIn {
    family: u16,
    port: [u8; 2],
    address: [u8; 4],
    zero: [u8; 8],
}

const NAME_SIZE: u32 = size_of::<SockaddrIn>() as u32;

extern "C" {
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn bind(fd: c_int, name: *const SockaddrIn, size: u32) -> c_int;
    fn getsockname(fd: c_int, name: *mut SockaddrIn, size: *mut u32) -> c_int;
    fn sendto(
        fd: c_int,
        data: *const c_void,
        size: usize,
        flags: c_int,
        to: *const SockaddrIn,
        to_size: u32,
    ) -> isize;
    fn recvfrom(
        fd: c_int,
        room: *mut c_void,
        size: usize,
        flags: c_int,
        from: *mut SockaddrIn,
        from_size: *mut u32,
    ) -> isize;
}

impl From<SocketAddrV4> for SockaddrIn {
    fn from(name: SocketAddrV4) -> Self {
        SockaddrIn {
            family: AF_INET,
            port: name.port().to_be_bytes(),
            address: name.ip().octets(),
            ..Default::default()
        }
    }
}

impl From<SockaddrIn> for SocketAddrV4 {
    fn from(name: SockaddrIn) -> Self {
        SocketAddrV4::new(Ipv4Addr::from(name.address), u16::from_be_bytes(name.port))
    }
}

/// The number that a system call returned, or the error that errno tells.
fn checked(returned: isize) -> Result<usize> {
    usize::try_from(returned).map_err(|_| Error::last_os_error())
}

/// An RDS socket of IPv4, which closes itself.
struct RdsSocket(OwnedFd);

impl RdsSocket {
    /// Port 0 is a free one.
    fn bind(here: SocketAddrV4) -> Result<Self> {
        // SAFETY: the call touches no memory of ours.
        let fd = unsafe { socket(PF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) };
        checked(fd as isize)?;
        // SAFETY: nobody else has this descriptor.
        let sock = RdsSocket(unsafe { OwnedFd::from_raw_fd(fd) });
        let name = SockaddrIn::from(here);
        // SAFETY: the kernel reads NAME_SIZE bytes, which are name's.
        checked(unsafe { bind(fd, &name, NAME_SIZE) } as isize)?;
        Ok(sock)
    }

    fn local(&self) -> Result<SocketAddrV4> {
        let (mut name, mut size) = (SockaddrIn::default(), NAME_SIZE);
        // SAFETY: the kernel writes at most size bytes, which are name's.
        checked(unsafe { getsockname(self.0.as_raw_fd(), &mut name, &mut size) } as isize)?;
        Ok(name.into())
    }

    /// Queues one message, whole.
    fn send_to(&self, data: &[u8], there: SocketAddrV4) -> Result<()> {
        let (fd, name) = (self.0.as_raw_fd(), SockaddrIn::from(there));
        // SAFETY: the kernel reads data and name, and keeps neither.
        let sent = unsafe {
            sendto(fd, data.as_ptr().cast(), data.len(), 0, &name, NAME_SIZE)
        };
        checked(sent).map(|_| ())
    }

    /// The next message's length and sender. What does not fit into the room is lost.
    fn receive_from(&self, room: &mut [u8]) -> Result<(usize, SocketAddrV4)> {
        let (mut name, mut size) = (SockaddrIn::default(), NAME_SIZE);
        let fd = self.0.as_raw_fd();
        // SAFETY: the kernel writes at most room.len() and size bytes, which are room's and name's.
        let got = unsafe {
            recvfrom(fd, room.as_mut_ptr().cast(), room.len(), 0, &mut name, &mut size)
        };
        Ok((checked(got)?, name.into()))
    }
}

fn main() -> Result<()> {
    let sock = RdsSocket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    let here = sock.local()?;
    let mut room = [0; 64];

    sock.send_to(b"hello", here)?;
    let (size, sender) = sock.receive_from(&mut room)?;
    assert_eq!((&room[..size], sender), (&b"hello"[..], here));
    println!("{} from {}", String::from_utf8_lossy(&room[..size]), sender.ip());
    Ok(())
}
