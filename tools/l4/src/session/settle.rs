//! The end of a machine, and what every case must always show (invariant H5: release balance,
//! counts equal on all three sides, exit code).

use super::{ClientCounts, Counting, SLOW_HOST, Session};
use crate::evidence::{Evidence, ListenerCount};
use crate::exit_code::MachineExit;
use crate::failure::Failure;
use crate::guest::Guest;
use crate::lane::Lane;

impl Session<'_> {
    /// Waits until nothing is on its way to the service, until it is quiescent, has every
    /// permit back and agrees with `clients`; ends the machine in order, and asserts what every
    /// case must always show. Tells the last evidence.
    pub(crate) fn settle(
        &mut self,
        mut guest: Guest,
        clients: &ClientCounts,
    ) -> Result<Evidence, Failure> {
        self.step("settle and compare the counts");
        let within = self.patience();
        let flows_ended = guest.machine().await_no_flow(within);
        self.check(
            "every connection of the clients' has ended",
            flows_ended,
            format_args!("within {within:?}"),
        );
        let evidence = self.at_rest(&mut guest, clients)?;
        // A connection whose client was reset may still be on its way through QEMU: the counts
        // are final when the service takes no more.
        if clients.counting == Counting::AtMost && evidence.enabled(Lane::LocalHealth) {
            guest.drain()?;
            return self.drained(guest, clients);
        }
        guest.ask_to_end()?;
        self.ended(guest, &evidence, clients)?;
        Ok(evidence)
    }

    /// The service's evidence once it is quiescent, has every permit back and agrees with
    /// `clients`.
    pub(crate) fn at_rest(
        &self,
        guest: &mut Guest,
        clients: &ClientCounts,
    ) -> Result<Evidence, Failure> {
        guest.quiescent(self.patience(), |evidence| {
            let rests = |lane| evidence.all_released(lane) && clients.agree(evidence, lane);
            Lane::ALL.into_iter().all(rests)
        })
    }

    /// Asserts the same of a machine that ends by itself, because its service was drained.
    pub(crate) fn settle_drained(
        &mut self,
        guest: Guest,
        clients: &ClientCounts,
    ) -> Result<Evidence, Failure> {
        self.step("await the end of the drain and compare the counts");
        self.drained(guest, clients)
    }

    fn drained(&mut self, mut guest: Guest, clients: &ClientCounts) -> Result<Evidence, Failure> {
        let exit = guest.machine_mut().wait_exit(SLOW_HOST)?;
        self.note_end(&guest, exit);
        let lines = guest.machine().console().lines();
        let last = lines
            .iter()
            .rev()
            .find_map(|line| Evidence::parse(&line.text));
        let evidence = last.ok_or_else(|| Failure::MissingLine {
            what: "an evidence line".into(),
            last: guest.machine().console().tail(),
        })?;
        self.ended(guest, &evidence, clients)?;
        Ok(evidence)
    }

    /// Awaits the end of a machine and judges it.
    fn ended(
        &mut self,
        mut guest: Guest,
        evidence: &Evidence,
        clients: &ClientCounts,
    ) -> Result<(), Failure> {
        let exit = guest.machine_mut().wait_exit(SLOW_HOST)?;
        self.note_end(&guest, exit);
        guest
            .machine_mut()
            .await_exit(MachineExit::Success, SLOW_HOST)?;
        self.judge(&guest, evidence, clients)
    }

    /// The common assertions of every case.
    fn judge(
        &mut self,
        guest: &Guest,
        evidence: &Evidence,
        clients: &ClientCounts,
    ) -> Result<(), Failure> {
        self.check_equal("outstanding is 0", evidence.count("outstanding")?, 0);
        self.check_equal("leaked is 0", evidence.count("leaked")?, 0);
        self.check_equal("faults is 0", evidence.count("faults")?, 0);
        let balanced = evidence.text("release_balanced")?.to_owned();
        self.check_equal("release_balanced", balanced.as_str(), "true");
        let faults = guest.socket_faults();
        self.check(
            "the kernel's accounts of its sockets add up",
            faults == Some(0),
            format_args!("{faults:?} faults"),
        );
        let listeners = guest.listeners();
        for lane in Lane::ALL {
            self.judge_lane(lane, evidence, clients, &listeners)?;
        }
        Ok(())
    }

    fn judge_lane(
        &mut self,
        lane: Lane,
        evidence: &Evidence,
        clients: &ClientCounts,
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
            self.check_equal(
                format!("{}: absent, nothing charged", lane.key()),
                charged,
                0,
            );
            self.check_equal(
                format!("{}: absent, nothing accepted", lane.key()),
                accepted,
                0,
            );
            return Ok(());
        }
        let admitted = evidence.lane("admitted", lane)?;
        let ended = evidence.lane("completed", lane)? + evidence.lane("cancelled", lane)?;
        self.check_equal(
            format!("{}: completed + cancelled == admitted", lane.key()),
            ended,
            admitted,
        );
        let seen = clients.lanes.get(&lane).cloned().unwrap_or_default();
        self.check(
            match clients.counting {
                Counting::Exact => format!("{}: responses equal the client's", lane.key()),
                Counting::AtMost => {
                    format!(
                        "{}: the client saw no response that was not sent",
                        lane.key()
                    )
                }
            },
            clients.agree(evidence, lane),
            format_args!(
                "client {:?}, service {:?}",
                seen.statuses,
                evidence.statuses(lane)
            ),
        );
        let permits = evidence.lane("conns_admitted", lane)?
            + evidence.lane("conns_refused", lane)?
            + evidence.lane("conns_turned_away", lane)?;
        self.check_equal(
            format!("{}: kernel accepts equal permits", lane.key()),
            accepted,
            permits,
        );
        Ok(())
    }
}
