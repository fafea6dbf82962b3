//! The end of a machine, and what every case must always show (invariant H5: release balance,
//! counts equal on all three sides, exit code).

use super::{Counting, Trial};
use crate::evidence::{Evidence, ListenerCount};
use crate::exit_code::MachineExit;
use crate::failure::Failure;
use crate::lane::Lane;
use crate::session::SLOW_HOST;

impl Trial<'_, '_> {
    /// Waits until nothing is on its way to the service, until it is quiescent, has every
    /// permit back and agrees with the clients; ends the machine in order, and asserts what
    /// every case must always show. Tells the last evidence.
    pub(crate) fn settle(mut self) -> Result<Evidence, Failure> {
        self.session.step("settle and compare the counts");
        let within = self.session.patience();
        let flows_ended = self.guest.machine().await_no_flow(within);
        self.session.check(
            "every connection of the clients' has ended",
            flows_ended,
            format_args!("within {within:?}"),
        );
        let evidence = self.at_rest()?;
        // A connection whose client was reset may still be on its way through QEMU: the counts
        // are final when the service takes no more.
        let may_differ = self.clients.counting == Counting::AtMost;
        if may_differ && evidence.enabled(Lane::LocalHealth) {
            self.guest.drain()?;
            return self.drained();
        }
        self.guest.ask_to_end()?;
        self.ended(&evidence)?;
        Ok(evidence)
    }

    /// The service's evidence once it is quiescent, has every permit back and agrees with the
    /// clients.
    pub(crate) fn at_rest(&mut self) -> Result<Evidence, Failure> {
        let clients = &self.clients;
        self.guest.quiescent(self.session.patience(), |evidence| {
            let rests = |lane| evidence.all_released(lane) && clients.agree(evidence, lane);
            Lane::ALL.into_iter().all(rests)
        })
    }

    /// Asserts the same of a machine that ends by itself, because its service was drained.
    pub(crate) fn settle_drained(self) -> Result<Evidence, Failure> {
        self.session
            .step("await the end of the drain and compare the counts");
        self.drained()
    }

    fn drained(mut self) -> Result<Evidence, Failure> {
        let exit = self.guest.machine_mut().wait_exit(SLOW_HOST)?;
        self.session.note_end(&self.guest, exit);
        let console = self.guest.machine().console();
        let lines = console.lines();
        let last = lines
            .iter()
            .rev()
            .find_map(|line| Evidence::parse(&line.text));
        let evidence = last.ok_or_else(|| Failure::MissingLine {
            what: "an evidence line".into(),
            last: console.tail(),
        })?;
        self.ended(&evidence)?;
        Ok(evidence)
    }

    /// Awaits the end of the machine and judges it.
    fn ended(&mut self, evidence: &Evidence) -> Result<(), Failure> {
        let machine = self.guest.machine_mut();
        let exit = machine.wait_exit(SLOW_HOST)?;
        let as_expected = machine.await_exit(MachineExit::Success, SLOW_HOST);
        self.session.note_end(&self.guest, exit);
        as_expected?;
        self.judge(evidence)
    }

    /// The common assertions of every case.
    fn judge(&mut self, evidence: &Evidence) -> Result<(), Failure> {
        for counter in ["outstanding", "leaked", "faults"] {
            let count = evidence.count(counter)?;
            self.session
                .check_equal(format!("{counter} is 0"), count, 0);
        }
        let balanced = evidence.text("release_balanced")?;
        self.session
            .check_equal("release_balanced", balanced, "true");
        let faults = self.guest.socket_faults();
        self.session.check(
            "the kernel's accounts of its sockets add up",
            faults == Some(0),
            format_args!("{faults:?} faults"),
        );
        let listeners = self.guest.listeners();
        for lane in Lane::ALL {
            self.judge_lane(lane, evidence, &listeners)?;
        }
        Ok(())
    }

    fn judge_lane(
        &mut self,
        lane: Lane,
        evidence: &Evidence,
        listeners: &[ListenerCount],
    ) -> Result<(), Failure> {
        let accepted: u64 = listeners
            .iter()
            .filter(|count| count.port == lane.port())
            .map(|count| count.accepted)
            .sum();
        if !evidence.enabled(lane) {
            let charged =
                evidence.lane("admitted", lane)? + evidence.lane("conns_admitted", lane)?;
            self.session.check_equal(
                format!("{}: absent, nothing charged", lane.key()),
                charged,
                0,
            );
            self.session.check_equal(
                format!("{}: absent, nothing accepted", lane.key()),
                accepted,
                0,
            );
            return Ok(());
        }
        let admitted = evidence.lane("admitted", lane)?;
        let ended = evidence.lane("completed", lane)? + evidence.lane("cancelled", lane)?;
        self.session.check_equal(
            format!("{}: completed + cancelled == admitted", lane.key()),
            ended,
            admitted,
        );
        let seen = self.clients.lanes.get(&lane).cloned().unwrap_or_default();
        self.session.check(
            match self.clients.counting {
                Counting::Exact => format!("{}: responses equal the client's", lane.key()),
                Counting::AtMost => {
                    format!(
                        "{}: the client saw no response that was not sent",
                        lane.key()
                    )
                }
            },
            self.clients.agree(evidence, lane),
            format_args!(
                "client {:?}, service {:?}",
                seen.statuses,
                evidence.statuses(lane)
            ),
        );
        let permits = evidence.lane("conns_admitted", lane)?
            + evidence.lane("conns_refused", lane)?
            + evidence.lane("conns_turned_away", lane)?;
        self.session.check_equal(
            format!("{}: kernel accepts equal permits", lane.key()),
            accepted,
            permits,
        );
        Ok(())
    }
}
