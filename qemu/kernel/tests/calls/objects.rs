//! Every kind of object: what it answers, and what it does with calls that it
//! cannot answer.

use capos_config::capos_capnp::{
    ExceptionType, console, entropy_source, log_sink, terminal_session, timer,
};
use capos_config::ring::{
    CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED, CAP_ERR_INVALID_PARAMS_BUFFER,
    CAP_ERR_INVALID_RESULT_BUFFER, CapSqe,
};
use harness_kernel::call::kinds::Object;
use harness_kernel::call::scratch::ANSWER_MAX;
use harness_kernel::platform::Moment;

use crate::memory::{END, READ_ONLY};
use crate::rig::{RESULT, Rig, call};

const SIMPLE: [Object; 9] = [
    Object::Console,
    Object::Terminal,
    Object::Timer,
    Object::WallClock,
    Object::Entropy,
    Object::NetworkManager,
    Object::SystemInfo,
    Object::LogSink,
    Object::Discriminator,
];

#[test]
fn a_method_that_an_object_does_not_have_is_raised() {
    let others = [Object::Endpoint(1), Object::ListenAuthority(0)];
    for object in SIMPLE.into_iter().chain(others) {
        let mut rig = Rig::of(1);
        let cap = rig.grant(0, object);
        for method in [3, 99, u16::MAX] {
            let (kind, text) = rig.raised(0, call(cap, method, 0));
            assert_eq!(kind, ExceptionType::Unimplemented, "{object:?} {method}");
            assert_eq!(text, "no such method");
        }
    }
}

#[test]
fn parameters_that_are_none_are_raised() {
    for (object, method) in [
        (Object::Console, 0),
        (Object::Terminal, 2),
        (Object::Timer, 1),
        (Object::Entropy, 0),
        (Object::LogSink, 0),
        (Object::Discriminator, 1),
        (Object::NetworkManager, 2),
    ] {
        let mut rig = Rig::of(1);
        let cap = rig.grant(0, object);
        let (kind, text) = rig.raised(0, call(cap, method, 0));
        assert_eq!(kind, ExceptionType::InvalidArgument, "{object:?}");
        assert_eq!(text, "parameters are not the method's");
    }
}

#[test]
fn buffers_are_checked_before_anything_is_done() {
    let mut rig = Rig::of(1);
    let cap = rig.grant(0, Object::Console);
    let bytes = rig.params(0, |message| {
        message
            .init_root::<console::write_line_params::Builder<'_>>()
            .set_text("hello");
    });
    let good = call(cap, 1, bytes);
    for (wrong, code) in [
        (
            CapSqe {
                addr: END - 8,
                ..good
            },
            CAP_ERR_INVALID_PARAMS_BUFFER,
        ),
        (CapSqe { addr: 8, ..good }, CAP_ERR_INVALID_PARAMS_BUFFER),
        (
            CapSqe {
                addr: u64::MAX - 7,
                ..good
            },
            CAP_ERR_INVALID_PARAMS_BUFFER,
        ),
        (
            CapSqe {
                len: 64 * 1024 + 8,
                ..good
            },
            CAP_ERR_INVALID_PARAMS_BUFFER,
        ),
        (
            CapSqe {
                result_addr: READ_ONLY,
                ..good
            },
            CAP_ERR_INVALID_RESULT_BUFFER,
        ),
        (
            CapSqe {
                result_addr: READ_ONLY - 8,
                ..good
            },
            CAP_ERR_INVALID_RESULT_BUFFER,
        ),
        (
            CapSqe {
                result_len: u32::MAX,
                ..good
            },
            CAP_ERR_INVALID_RESULT_BUFFER,
        ),
    ] {
        assert_eq!(rig.code(0, wrong), code);
    }
    assert!(rig.world.platform.written.is_empty());
    assert_eq!(rig.world.platform.told.len(), 7, "each is complained of");
    assert_eq!(rig.code(0, good), 0);
    assert_eq!(rig.world.platform.written, [(0, "hello\n".to_owned())]);
}

#[test]
fn a_result_that_its_buffer_has_no_room_for_is_no_success() {
    let mut rig = Rig::of(1);
    let cap = rig.grant(0, Object::Timer);
    for result_len in [0, 8, 24] {
        let now = CapSqe {
            result_len,
            ..call(cap, 0, 0)
        };
        assert_eq!(
            rig.code(0, now),
            CAP_ERR_INVALID_RESULT_BUFFER,
            "{result_len}"
        );
    }
    let now = CapSqe {
        result_len: 32,
        ..call(cap, 0, 0)
    };
    assert_eq!(rig.code(0, now), 32);
    let wrong = CapSqe {
        result_len: 32,
        ..call(cap, 7, 0)
    };
    assert_eq!(rig.code(0, wrong), CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED);
}

#[test]
fn an_answer_that_is_too_large_is_raised_and_never_empty() {
    let mut rig = Rig::of(1);
    let cap = rig.grant(0, Object::SystemInfo);
    assert_eq!(rig.code(0, call(cap, 0, 0)), 40);
    let fits = ANSWER_MAX - 32;
    for (bytes, fault) in [(fits, None), (ANSWER_MAX, Some("the result is too large"))] {
        rig.world.facts.motd = "x".repeat(bytes);
        let asked = CapSqe {
            result_len: 0x2000,
            ..call(cap, 0, 0)
        };
        match fault {
            None => assert!(rig.code(0, asked) > bytes as i32),
            Some(text) => {
                let raised = rig.raised(0, asked);
                assert_eq!(raised, (ExceptionType::Failed, text.to_owned()));
            }
        }
    }
}

#[test]
fn a_date_that_the_machine_does_not_have_is_not_trusted() {
    let mut rig = Rig::of(1);
    let cap = rig.grant(0, Object::WallClock);
    rig.code(0, call(cap, 0, 0));
    assert_eq!((rig.word(0, 0), rig.word(0, 1)), (0, 0));
    rig.world.platform.date = Some(Moment {
        unix_seconds: 7,
        nanoseconds: 8,
        monotonic: 9,
    });
    rig.code(0, call(cap, 0, 0));
    assert_eq!((rig.word(0, 0), rig.word(0, 2)), (7, 9));
}

#[test]
fn random_bytes_are_drawn_or_told_to_be_none() {
    let mut rig = Rig::of(1);
    let cap = rig.grant(0, Object::Entropy);
    let ask = |rig: &mut Rig, count| {
        let bytes = rig.params(0, |message| {
            message
                .init_root::<entropy_source::fill_params::Builder<'_>>()
                .set_bytes(count);
        });
        call(cap, 0, bytes)
    };
    let none = ask(&mut rig, 12);
    assert_eq!(rig.code(0, none), 32, "no bytes");
    rig.world.platform.random = Some(u64::MAX);
    let some = ask(&mut rig, 12);
    assert_eq!(rig.code(0, some), 48);
    assert_eq!(rig.word(0, 2), u64::MAX);
    let many = ask(&mut rig, 257);
    assert_eq!(rig.raised(0, many).0, ExceptionType::InvalidArgument);
}

#[test]
fn a_record_below_the_least_level_is_not_taken() {
    use capos_config::capos_capnp::LogLevel;
    let mut rig = Rig::of(1);
    let cap = rig.grant(0, Object::LogSink);
    for (level, accepted) in [(LogLevel::Debug, 0), (LogLevel::Warn, 1)] {
        let bytes = rig.params(0, |message| {
            let root = message.init_root::<log_sink::write_params::Builder<'_>>();
            let mut record = root.init_record();
            record.set_level(level);
            record.set_component("net");
            record.set_message("late\nforged");
        });
        rig.code(0, call(cap, 0, bytes));
        assert_eq!(rig.word(0, 0), accepted);
    }
    let expected = (0, "[log] warn net: late".to_owned());
    assert_eq!(rig.world.platform.written, [expected]);
}

#[test]
fn a_process_sleeps_as_often_as_it_may_and_is_woken() {
    let mut rig = Rig::of(1);
    let cap = rig.grant(0, Object::Timer);
    let bytes = rig.params(0, |message| {
        message
            .init_root::<timer::sleep_params::Builder<'_>>()
            .set_duration_ns(50_000_000);
    });
    let limit = capos_abi::PROCESS_TIMER_SLEEP_WAITER_LIMIT;
    for _ in 0..limit {
        assert!(rig.at_once(0, call(cap, 1, bytes)).is_empty());
    }
    let (kind, _) = rig.raised(0, call(cap, 1, bytes));
    assert_eq!(kind, ExceptionType::Overloaded);
    rig.world.platform.now += 50_000_000;
    rig.enter(0, 0, 0);
    assert_eq!(rig.take(0).len(), limit);
}

#[test]
fn one_call_reads_the_terminal_and_an_ended_process_leaves_it() {
    let mut rig = Rig::of(2);
    let caps = [
        rig.grant(0, Object::Terminal),
        rig.grant(1, Object::Terminal),
    ];
    let read = |rig: &mut Rig, who: usize| {
        let bytes = rig.params(who, |message| {
            let root = message.init_root::<terminal_session::read_line_params::Builder<'_>>();
            let mut request = root.init_request();
            request.set_prompt("> ");
            request.set_max_bytes(80);
        });
        call(caps[who], 2, bytes)
    };
    let first = read(&mut rig, 0);
    assert!(rig.at_once(0, first).is_empty());
    let second = read(&mut rig, 1);
    assert_eq!(rig.raised(1, second).0, ExceptionType::Overloaded);
    let index = rig.processes[0].index;
    rig.world.forget(index);
    assert!(rig.at_once(1, second).is_empty(), "it is free again");
    rig.world.platform.typed.extend(b"hey\r");
    rig.world.terminal.has_input();
    rig.enter(1, 0, 0);
    assert_eq!(rig.take(1).len(), 1);
    assert_eq!(rig.processes[1].space.get(RESULT + 32, 3), b"hey");
    assert!(rig.take(0).is_empty());
    assert!(rig.world.platform.shown.starts_with("> "));
}
