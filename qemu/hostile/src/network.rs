//! Deeds with connections: one process leaves everything open behind it, and
//! another finds the place free again.

use capos_rt::{
    ClientError, ExceptionType, NetworkManagerClient, OwnedCapability, Runtime, RuntimeRingClient,
    TcpAcceptResult, TcpListenAuthorityClient, TcpListenResult, TcpListenerClient, TcpSocket,
    TcpSocketClient, TimerClient,
};

use crate::faults;

const BROKEN: i64 = 1;
const NO_GRANT: i64 = 2;
const FOR_EVER: u64 = u64::MAX;
/// The loopback's own address; the port is that of the manifest's grant.
const ADDRESS: [u8; 4] = [127, 0, 0, 1];
const CONNECTIONS: usize = 8;
/// How often, and at what distance, the second process asks for the port.
const TRIES: u32 = 20;
const PAUSE_NANOSECONDS: u64 = 10_000_000;
/// How long the first process keeps it.
const HOLD_NANOSECONDS: u64 = 30_000_000;

struct Grants {
    authority: TcpListenAuthorityClient,
    network: NetworkManagerClient,
    timer: TimerClient,
}

fn grants(runtime: &Runtime) -> Option<Grants> {
    let capset = runtime.capset();
    Some(Grants {
        authority: capset.get_client(b"listen").ok()?,
        network: capset.get_client(b"network").ok()?,
        timer: capset.get_client(b"timer").ok()?,
    })
}

/// Listens, connects to itself, leaves calls waiting on all of it, and faults.
pub(crate) fn leave_connections(runtime: &mut Runtime) -> i64 {
    let Some(mut grants) = grants(runtime) else {
        return NO_GRANT;
    };
    let Ok(mut ring) = runtime.ring_client() else {
        return NO_GRANT;
    };
    let Some(listened) = listen(&mut grants, &mut ring) else {
        return BROKEN;
    };
    let mut listener = TcpListenerClient::new(listened.listener.capability());
    for _ in 0..CONNECTIONS {
        if !leave_one(&mut grants, &mut ring, &mut listener, listened.port) {
            return BROKEN;
        }
    }
    let waiting = listener.accept(&mut ring).is_ok();
    let slept = grants
        .timer
        .sleep_wait(&mut ring, HOLD_NANOSECONDS, FOR_EVER);
    if waiting && slept.is_ok() {
        faults::read(0);
    }
    BROKEN
}

/// Opens a connection to itself: both ends.
fn open_pair(
    grants: &mut Grants,
    ring: &mut RuntimeRingClient<'_>,
    listener: &mut TcpListenerClient,
    port: u16,
) -> Option<(OwnedCapability<TcpSocket>, TcpAcceptResult)> {
    let near = grants
        .network
        .connect_tcp_wait(ring, &ADDRESS, port, FOR_EVER)
        .ok()?;
    let far = listener.accept_wait(ring, FOR_EVER).ok()?;
    Some((near, far))
}

/// Opens a connection, with data on its way and a receive waiting.
fn leave_one(
    grants: &mut Grants,
    ring: &mut RuntimeRingClient<'_>,
    listener: &mut TcpListenerClient,
    port: u16,
) -> bool {
    let Some((near, far)) = open_pair(grants, ring, listener, port) else {
        return false;
    };
    let mut near_client = TcpSocketClient::new(near.capability());
    let mut far_client = TcpSocketClient::new(far.socket.capability());
    let sent = near_client.send_wait(ring, b"never read", FOR_EVER);
    let waiting = near_client.recv(ring, 100);
    let ended = far_client.close(ring);
    // The handles' ends would give the capabilities back.
    core::mem::forget((near, far));
    sent.is_ok() && waiting.is_ok() && ended.is_ok()
}

/// Takes the port as soon as it is free, and uses it: one connection that ends in
/// order, and one that is reset.
pub(crate) fn take_over(runtime: &mut Runtime) -> i64 {
    let Some(mut grants) = grants(runtime) else {
        return NO_GRANT;
    };
    let Ok(mut ring) = runtime.ring_client() else {
        return NO_GRANT;
    };
    // First of all the other process gets the time to take the port.
    let slept = grants
        .timer
        .sleep_wait(&mut ring, PAUSE_NANOSECONDS, FOR_EVER);
    let Some(listened) = listen(&mut grants, &mut ring).filter(|_| slept.is_ok()) else {
        return BROKEN;
    };
    let mut listener = TcpListenerClient::new(listened.listener.capability());
    let used = use_once(&mut grants, &mut ring, &mut listener, listened.port)
        && give_back_open(&mut grants, &mut ring, &mut listener, listened.port);
    if used { 0 } else { BROKEN }
}

/// Listens as soon as the port is free: whichever process comes first, the other
/// finds it given back.
fn listen(grants: &mut Grants, ring: &mut RuntimeRingClient<'_>) -> Option<TcpListenResult> {
    for _ in 0..TRIES {
        if let Ok(listened) = grants.authority.listen_wait(ring, FOR_EVER) {
            return Some(listened);
        }
        grants
            .timer
            .sleep_wait(ring, PAUSE_NANOSECONDS, FOR_EVER)
            .ok()?;
    }
    None
}

/// One connection, one message, and its end.
fn use_once(
    grants: &mut Grants,
    ring: &mut RuntimeRingClient<'_>,
    listener: &mut TcpListenerClient,
    port: u16,
) -> bool {
    let Some((near, far)) = open_pair(grants, ring, listener, port) else {
        return false;
    };
    let mut near_client = TcpSocketClient::new(near.capability());
    let mut far_client = TcpSocketClient::new(far.socket.capability());
    let sent = near_client.send_wait(ring, b"mine now", FOR_EVER);
    let received = far_client.recv_wait(ring, 100, FOR_EVER);
    let ended = near_client.close_wait(ring, FOR_EVER);
    let end = far_client.recv_wait(ring, 100, FOR_EVER);
    sent == Ok(8)
        && received.is_ok_and(|bytes| *bytes == *b"mine now")
        && ended.is_ok()
        && end.is_ok_and(|bytes| bytes.is_empty())
}

/// A connection that is given back without a close: its peer sees a reset, and
/// not an end in order.
fn give_back_open(
    grants: &mut Grants,
    ring: &mut RuntimeRingClient<'_>,
    listener: &mut TcpListenerClient,
    port: u16,
) -> bool {
    let Some((near, far)) = open_pair(grants, ring, listener, port) else {
        return false;
    };
    let given_back = ring.release_wait(near.capability().cap_id(), FOR_EVER);
    // The handle's end would give the capability back a second time.
    core::mem::forget(near);
    let mut far_client = TcpSocketClient::new(far.socket.capability());
    let end = far_client.recv_wait(ring, 100, FOR_EVER);
    given_back == Ok(0)
        && matches!(end, Err(ClientError::Application(raised))
            if raised.exception_type() == ExceptionType::Disconnected)
}
