//! A peer on the public NIC that is played by hand: each frame is sent and read as such,
//! through a stream that neither loses nor reorders any. While nobody reads, the stream fills
//! up, and then the NIC stands still.

use std::io::{ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::frames::{PEER_MAC, Segment, build};
use crate::http::PATIENCE;
use crate::machine::nic::Backend;

/// Before each frame stands its length, in so many bytes.
const LENGTH_BYTES: usize = 4;

/// How long the wire may take nothing until it counts as full.
const FULL: Duration = Duration::from_millis(5);

/// The peer. Its socket is removed when it is dropped.
pub(crate) struct Peer {
    folder: PathBuf,
    listener: UnixListener,
    stream: Option<UnixStream>,
    /// What was read and not asked for yet.
    pending: Vec<u8>,
    /// What the wire has not taken yet.
    unsent: Vec<u8>,
    /// Whether it reads nothing, not even to get its own frames through.
    deaf: bool,
}

impl Peer {
    /// Makes the socket that the emulator is to connect to.
    pub(crate) fn open() -> Result<(Self, Backend), Failure> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("l4-frames-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let failed = |error| Failure::host("making the socket of a wire", error);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let path = folder.join("wire");
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let peer = Self {
            folder,
            listener,
            stream: None,
            pending: Vec::new(),
            unsent: Vec::new(),
            deaf: false,
        };
        Ok((peer, Backend::Frames(path)))
    }

    /// From now on it reads what the guest sends, or nothing of it: then the guest's card
    /// stands still as soon as the wire is full.
    pub(crate) fn set_deaf(&mut self, deaf: bool) {
        self.deaf = deaf;
    }

    /// The emulator's end, once it has connected.
    fn stream(&mut self) -> Result<&mut UnixStream, Failure> {
        let failed = |error| Failure::host("carrying frames", error);
        if self.stream.is_none() {
            let (stream, _) = self.listener.accept().map_err(failed)?;
            stream.set_write_timeout(Some(FULL)).map_err(failed)?;
            self.stream = Some(stream);
        }
        let none = || Failure::host("carrying frames", "the emulator has not connected");
        self.stream.as_mut().ok_or_else(none)
    }

    /// Sends a frame. Where the wire is full both ways, what comes is read to make room; a deaf
    /// peer only waits.
    pub(crate) fn send_frame(&mut self, frame: &[u8]) -> Result<(), Failure> {
        let length = u32::try_from(frame.len()).unwrap_or_default();
        self.unsent.extend(length.to_be_bytes());
        self.unsent.extend(frame);
        let deadline = patience();
        while !self.flush()? {
            if !self.deaf {
                self.fill(Instant::now() + FULL)?;
            }
            if Instant::now() > deadline {
                return Err(Failure::host("sending a frame", "the emulator takes none"));
            }
        }
        Ok(())
    }

    /// Sends what the wire takes; whether that was all.
    fn flush(&mut self) -> Result<bool, Failure> {
        while !self.unsent.is_empty() {
            let unsent = std::mem::take(&mut self.unsent);
            let sent = self.stream()?.write(&unsent);
            self.unsent = unsent;
            match sent {
                Ok(count) => drop(self.unsent.drain(..count.min(self.unsent.len()))),
                Err(error) if is_wait(&error) => return Ok(false),
                Err(error) => return Err(Failure::host("sending a frame", error)),
            }
        }
        Ok(true)
    }

    pub(crate) fn send(&mut self, segment: &Segment) -> Result<(), Failure> {
        self.send_frame(&segment.frame())
    }

    /// The next segment of the guest's, if one comes until `deadline`. Whoever asks for the
    /// peer's hardware address in between is answered.
    pub(crate) fn receive(&mut self, deadline: Instant) -> Result<Option<Segment>, Failure> {
        self.flush()?;
        while let Some(frame) = self.frame(deadline)? {
            let ours = |ip: Ipv4Addr| ip.octets()[3] >= 64;
            if let Some(reply) = build::arp_reply(&frame, PEER_MAC, ours) {
                self.send_frame(&reply)?;
            } else if let Some(segment) = Segment::parse(&frame) {
                return Ok(Some(segment));
            }
        }
        Ok(None)
    }

    /// The next frame.
    fn frame(&mut self, deadline: Instant) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            if let Some(frame) = self.whole() {
                return Ok(Some(frame));
            }
            if Instant::now() > deadline || !self.fill(deadline)? {
                return Ok(None);
            }
        }
    }

    /// Reads once, if anything comes until `deadline`.
    fn fill(&mut self, deadline: Instant) -> Result<bool, Failure> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let mut chunk = [0; 16 << 10];
        let stream = self.stream()?;
        let read = stream
            .set_read_timeout(Some(left))
            .and_then(|()| stream.read(&mut chunk));
        match read {
            Ok(0) => Err(Failure::host("reading frames", "the emulator has ended")),
            Ok(count) => {
                self.pending.extend(chunk.iter().take(count));
                Ok(true)
            }
            Err(error) if is_wait(&error) => Ok(false),
            Err(error) => Err(Failure::host("reading frames", error)),
        }
    }

    /// The first frame of what is pending, if it is whole.
    fn whole(&mut self) -> Option<Vec<u8>> {
        let length = self.pending.get(..LENGTH_BYTES)?.try_into().ok()?;
        let end = LENGTH_BYTES + usize::try_from(u32::from_be_bytes(length)).ok()?;
        self.pending.get(..end)?;
        let mut frame: Vec<u8> = self.pending.drain(..end).collect();
        frame.drain(..LENGTH_BYTES);
        Some(frame)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Whether nothing has failed but the wait has ended.
fn is_wait(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// As long as a client waits for anything.
pub(crate) fn patience() -> Instant {
    Instant::now() + PATIENCE
}

/// A moment, for what should not come.
pub(crate) fn moment() -> Instant {
    Instant::now() + Duration::from_millis(100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Flags;

    #[test]
    fn frames_come_whole_however_the_stream_is_cut_and_arp_is_answered_in_passing() {
        let (mut peer, backend) = Peer::open().unwrap();
        let Backend::Frames(path) = backend else {
            panic!("a frame socket");
        };
        let mut guest = UnixStream::connect(&path).unwrap();
        let segment = Segment {
            flags: Flags::SYN,
            ..Segment::default()
        };
        peer.send(&segment).unwrap();
        let mut sent = [0; 58];
        guest.read_exact(&mut sent).unwrap();
        assert_eq!(sent[..4], 54_u32.to_be_bytes());
        assert_eq!(Segment::parse(&sent[4..]), Some(segment.clone()));

        let mut request = vec![0xff; 6];
        request.extend([4; 6]);
        request.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
        request.extend([4; 10]);
        request.extend([0, 0, 0, 0, 0, 0, 10, 0, 2, 77]);
        let mut stream = 42_u32.to_be_bytes().to_vec();
        stream.extend(&request);
        stream.extend(&sent);
        let (first, second) = stream.split_at(70);
        guest.write_all(first).unwrap();
        assert_eq!(peer.receive(moment()).unwrap(), None);
        guest.write_all(second).unwrap();
        assert_eq!(peer.receive(patience()).unwrap(), Some(segment));
        let mut reply = [0; 64];
        guest.read_exact(&mut reply).unwrap();
        assert_eq!(reply[32..36], [10, 0, 2, 77]);
        drop(guest);
        assert!(peer.receive(patience()).is_err());
        assert!(path.exists());
        drop(peer);
        assert!(!path.exists());
    }
}
