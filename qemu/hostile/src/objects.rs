//! A deed that is none: uses every simple object through the runtime's own
//! clients, and holds what it gets against what the interfaces promise.

use capos_rt::{
    ClientError, ClockProvenance, EntropySourceClient, EntropyStatus, ExceptionType, LogSeverity,
    LogSinkClient, Runtime, RuntimeRingClient, SystemInfoClient, TimerClient, WallClockClient,
};

const FOR_EVER: u64 = u64::MAX;
const NO_GRANT: i64 = 2;
/// 2020-01-01, before which no machine of ours boots.
const EARLIEST_SECONDS: i64 = 1_577_836_800;
const ENTROPY_BYTES: u32 = 32;
const TOO_MUCH_ENTROPY: u32 = 100_000;
const SLEEP_NANOSECONDS: u64 = 3_000_000;

/// Uses the objects one after the other; the exit code tells the first that
/// was not as it should be.
pub(crate) fn use_objects(runtime: &mut Runtime) -> i64 {
    let capset = runtime.capset();
    let (Ok(mut timer), Ok(mut date), Ok(mut entropy), Ok(mut system), Ok(mut log)) = (
        capset.get_client::<TimerClient>(b"timer"),
        capset.get_client::<WallClockClient>(b"wall_clock"),
        capset.get_client::<EntropySourceClient>(b"entropy"),
        capset.get_client::<SystemInfoClient>(b"system_info"),
        capset.get_client::<LogSinkClient>(b"log"),
    ) else {
        return NO_GRANT;
    };
    let Ok(mut ring) = runtime.ring_client() else {
        return NO_GRANT;
    };
    let checks = [
        (10, time_passes(&mut timer, &mut ring)),
        (11, date_is_plausible(&mut date, &mut ring)),
        (12, entropy_differs(&mut entropy, &mut ring)),
        (13, system_is_named(&mut system, &mut ring)),
        (14, log_has_levels(&mut log, &mut ring)),
    ];
    checks
        .iter()
        .find(|(_, holds)| !holds)
        .map_or(0, |(number, _)| *number)
}

fn time_passes(timer: &mut TimerClient, ring: &mut RuntimeRingClient<'_>) -> bool {
    let before = timer.now_wait(ring, FOR_EVER);
    let slept = timer.sleep_wait(ring, SLEEP_NANOSECONDS, FOR_EVER);
    let after = timer.now_wait(ring, FOR_EVER);
    match (before, after) {
        (Ok(before), Ok(after)) => {
            let passed = after.monotonic_ns.saturating_sub(before.monotonic_ns);
            slept.is_ok() && passed >= SLEEP_NANOSECONDS && after.tick >= before.tick
        }
        _ => false,
    }
}

fn date_is_plausible(date: &mut WallClockClient, ring: &mut RuntimeRingClient<'_>) -> bool {
    date.wall_time_wait(ring, FOR_EVER).is_ok_and(|time| {
        time.provenance == ClockProvenance::MeasuredBootMonotonic
            && time.utc_seconds > EARLIEST_SECONDS
            && time.utc_nanos < 1_000_000_000
    })
}

fn entropy_differs(entropy: &mut EntropySourceClient, ring: &mut RuntimeRingClient<'_>) -> bool {
    let mut draw = || entropy.fill_wait(ring, ENTROPY_BYTES, FOR_EVER);
    let (Ok(first), Ok(second)) = (draw(), draw()) else {
        return false;
    };
    let honest = match first.status {
        EntropyStatus::Ok => first.data.len() == 32 && first.data != second.data,
        EntropyStatus::Unavailable => first.data.is_empty(),
    };
    let too_much = entropy.fill_wait(ring, TOO_MUCH_ENTROPY, FOR_EVER);
    honest
        && matches!(too_much, Err(ClientError::Application(raised)) if raised.exception_type() == ExceptionType::InvalidArgument)
}

fn system_is_named(system: &mut SystemInfoClient, ring: &mut RuntimeRingClient<'_>) -> bool {
    system
        .hostname_wait(ring, FOR_EVER)
        .is_ok_and(|name| name == "hostile")
        && system
            .motd_wait(ring, FOR_EVER)
            .is_ok_and(|text| text == "be kind")
}

fn log_has_levels(log: &mut LogSinkClient, ring: &mut RuntimeRingClient<'_>) -> bool {
    let mut write = |level, text| log.write_wait(ring, level, "hostile", 1, text, FOR_EVER);
    write(LogSeverity::Debug, "below the level") == Ok(false)
        && write(LogSeverity::Error, "one line\nand no second") == Ok(true)
}
