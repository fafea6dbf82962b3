//! What goes out in a turn: clock, console, accepts, then actions and releases.
//!
//! Every call's memory belongs to a static and stays as it is until the call's
//! completion is taken (INV-SOCKETS), which is what each `SAFETY` note refers to.

use remote_session_web_ui::action::Action;
use remote_session_web_ui::ids::{ConnId, JobId};
use remote_session_web_ui::request::job::Job;
use remote_session_web_ui::tag::Tag;
use remote_session_web_ui::wire;

use super::fatal::Fatal;
use super::ring::{Call, Memory};
use super::serve::Service;
use super::sockets;

/// Public actions that one entry carries, and slots given back beside them. The kernel handles
/// every call of an entry before it looks at a card again, so these are what a probe that has just
/// come in waits for; fewer gain nothing that can be measured.
const PUBLIC_CALLS: usize = 8;
/// Places that the protected lanes leave in an entry that carries public work.
const PUBLIC_PLACES: u32 = 4;

impl Service<'_> {
    /// Fills the submission queue: clock, console, accepts, the protected lanes' actions, and
    /// unless these are in a hurry a few public ones.
    pub(super) fn submit(&mut self) -> Result<(), Fatal> {
        self.read_clock()?;
        self.console.pump(self.ring)?;
        self.start_accepts()?;
        let carries_public = self.hurry == 0;
        let kept = if carries_public { PUBLIC_PLACES } else { 0 };
        while self.ring.space() > kept
            && let Some(action) = self.server.next_protected_action()
        {
            self.act(action)?;
        }
        if carries_public {
            self.submit_public()?;
        }
        Ok(())
    }

    /// Releases and public actions in turn, so that neither waits for all of the other.
    fn submit_public(&mut self) -> Result<(), Fatal> {
        for _ in 0..PUBLIC_CALLS {
            if self.ring.space() > 0
                && let Some(conn) = self.releases.pop()
            {
                self.abort(conn)?;
            }
            if self.ring.space() > 0
                && let Some(action) = self.server.next_public_action()
            {
                self.act(action)?;
            }
        }
        Ok(())
    }

    fn read_clock(&mut self) -> Result<(), Fatal> {
        if self.ring.space() == 0 {
            return Ok(());
        }
        let Some(call) = self.clock.ask() else {
            return Ok(());
        };
        // SAFETY: the clock is part of the service, which does not move while it
        // runs; its result is read when the completion is there.
        unsafe { self.ring.push(call) }
    }

    fn start_accepts(&mut self) -> Result<(), Fatal> {
        let now = self.clock.now();
        while self.ring.space() > 0 {
            let server = &mut self.server;
            let Some(call) = self
                .listeners
                .next_call(|lane| server.start_accept(lane, now))
            else {
                break;
            };
            // SAFETY: the listeners are a static; an accept's result is read
            // when its completion is there, and it is not started before.
            unsafe { self.ring.push(call) }?;
        }
        Ok(())
    }

    /// Does one thing that the server asks for; takes one place in the ring.
    fn act(&mut self, action: Action) -> Result<(), Fatal> {
        match action {
            Action::Receive(conn) => self.receive(conn),
            Action::Send(conn) => self.send(conn),
            Action::Start(id, job) => self.start_job(id, job),
            Action::Close(conn) => self.close(conn),
            Action::Abort(conn) => self.abort(conn),
        }
    }

    fn start_job(&mut self, id: JobId, job: Job) -> Result<(), Fatal> {
        let call = self.jobs.start(id, job).ok_or(Fatal::Jobs)?;
        // SAFETY: INV-JOBS, the jobs are a static, and a job's memory stays as it is until its
        // completion is taken.
        unsafe { self.ring.push(call) }
    }

    fn receive(&mut self, conn: ConnId) -> Result<(), Fatal> {
        let (socket, cap) = self.sockets.open_of(conn).ok_or(Fatal::Sockets)?;
        let window = self.server.receive_window(conn).ok_or(Fatal::Sockets)?;
        let payload_max = u64::try_from(window.payload_max).unwrap_or(0);
        let params = socket.receive_params(wire::one_word(payload_max & 0xffff_ffff));
        let call = Call {
            cap,
            method: sockets::RECV,
            params: Memory::read(params),
            result: Memory::write(window.message),
            tag: Tag::Receive(conn),
        };
        // SAFETY: INV-SOCKETS, parameters and window belong to the connection's
        // record, which stays as it is until this receive has completed.
        unsafe { self.ring.push(call) }?;
        socket.receive_started();
        Ok(())
    }

    fn send(&mut self, conn: ConnId) -> Result<(), Fatal> {
        let (socket, cap) = self.sockets.open_of(conn).ok_or(Fatal::Sockets)?;
        let window = self.server.send_window(conn).ok_or(Fatal::Sockets)?;
        let message = wire::frame_data(window.message, window.payload)
            .ok()
            .and_then(|framed| window.message.get(..framed))
            .ok_or(Fatal::Sockets)?;
        let params = Memory::read(message);
        let call = Call {
            cap,
            method: sockets::SEND,
            params,
            result: Memory::write(socket.send_result()),
            tag: Tag::Send(conn),
        };
        // SAFETY: INV-SOCKETS, window and result room belong to the connection,
        // which keeps them as they are until this send has completed.
        unsafe { self.ring.push(call) }?;
        socket.send_started();
        Ok(())
    }

    fn close(&mut self, conn: ConnId) -> Result<(), Fatal> {
        let (socket, cap) = self.sockets.open_of(conn).ok_or(Fatal::Sockets)?;
        let call = Call {
            cap,
            method: sockets::CLOSE,
            params: Memory::read(&wire::NO_PARAMS),
            result: Memory::NONE,
            tag: Tag::Close(conn),
        };
        // SAFETY: the parameters are a constant, and there is no result memory.
        unsafe { self.ring.push(call) }?;
        socket.close_started();
        Ok(())
    }

    /// Gives the socket's slot back, which resets a connection that is still open.
    fn abort(&mut self, conn: ConnId) -> Result<(), Fatal> {
        let cap = self
            .sockets
            .of(conn)
            .and_then(|socket| socket.give_back())
            .ok_or(Fatal::Sockets)?;
        self.ring.push_release(cap)?;
        self.settle(conn);
        Ok(())
    }
}
