//! HAProxy before the guest, as a provider's load balancer: public traffic to the public
//! lane, health checks to the provider lane's own port.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::child;
use crate::failure::Failure;
use crate::http::PATIENCE;
use crate::machine::ports::Reserved;
use crate::tool::failed;

/// A running HAProxy. Dropping it ends it.
pub(crate) struct Haproxy {
    child: Child,
    port: Reserved,
    socket: PathBuf,
}

impl Haproxy {
    /// Starts it before a guest; its files go to `folder`.
    pub(crate) fn start(
        folder: &Path,
        public: SocketAddr,
        provider: SocketAddr,
    ) -> Result<Self, Failure> {
        let failed_io = |error: std::io::Error| failed("haproxy", error.to_string());
        let port = Reserved::tcp()?;
        let address = port.address();
        // A Unix socket's path is short, and the output folder's may not be.
        let socket = std::env::temp_dir().join(format!("l4-haproxy-{}", address.port()));
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, configuration(address, public, provider, &socket))
            .map_err(failed_io)?;
        let child = child::leashed("haproxy")
            .map_err(failed_io)?
            .args(["-db", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.join("haproxy.log")).map_err(failed_io)?)
            .spawn()
            .map_err(failed_io)?;
        Ok(Self {
            child,
            port,
            socket,
        })
    }

    /// Where clients reach it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The state of the guest as HAProxy sees it: `UP`, `DOWN`, or a transition.
    pub(crate) fn state(&self) -> Option<String> {
        let text = self.ask("show stat")?;
        let mut lines = text.lines();
        let names = lines.next()?.trim_start_matches("# ");
        let column = names.split(',').position(|name| name == "status")?;
        let server = lines.find(|line| line.starts_with("guests,guest,"))?;
        server.split(',').nth(column).map(str::to_owned)
    }

    /// Waits for a state that starts with `state`, as long as a client waits for anything;
    /// tells how long it took.
    pub(crate) fn await_state(&self, state: &str) -> Option<Duration> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if self.state().is_some_and(|now| now.starts_with(state)) {
                return Some(begun.elapsed());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }

    fn ask(&self, command: &str) -> Option<String> {
        let mut stream = UnixStream::connect(&self.socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(format!("{command}\n").as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_file(&self.socket));
    }
}

/// A usual set-up: checks every 200 ms on the provider lane, down after three failures, and
/// no retries that would hide a lost request. Only its patience is longer than usual: it is
/// to judge the guest, and not the host that both run on.
fn configuration(
    address: SocketAddr,
    public: SocketAddr,
    provider: SocketAddr,
    socket: &Path,
) -> String {
    format!(
        "global\n    maxconn 2048\n    stats socket {} mode 600 level admin\n\
         defaults\n    mode http\n    timeout connect 60s\n    timeout client 60s\n    \
         timeout server 60s\n    timeout check 60s\n    retries 0\n\
         frontend public\n    bind {address}\n    default_backend guests\n\
         backend guests\n    option httpchk GET /healthz\n    http-check expect status 200\n    \
         server guest {public} check addr {} port {} inter 200ms fall 3 rise 2 maxconn 512\n",
        socket.display(),
        provider.ip(),
        provider.port()
    )
}
