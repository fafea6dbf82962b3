//! What the process refuses to serve with, and what ends it.

use capos_config::CONSOLE_INTERFACE_ID;

use harness_kernel::call::kinds::Object;

use crate::kernel::{Kernel, MARKER};
use crate::scenarios::{
    GET_HEALTH, LOCAL, PROVIDER, PUBLIC, bare, binding, drain, ends_well, three_lanes,
};

const FAULT: i64 = 70;
const REFUSED: i64 = 78;

fn is_refused(kernel: Kernel, reason: &str) -> Kernel {
    let (code, kernel) = kernel.run();
    assert_eq!(code, REFUSED);
    assert_eq!(kernel.lines(), [format!("[web-ui] refused: {reason}")]);
    kernel
}

fn is_refused_unbound(kernel: Kernel, reason: &str) {
    let kernel = is_refused(kernel, reason);
    assert!(kernel.listeners.is_empty(), "something was bound");
}

pub(crate) fn one_object() {
    let mut kernel = bare();
    kernel
        .grant("ui_listener", binding(10, 1, PUBLIC))
        .grant("ui_local_listener", binding(10, 1, PUBLIC));
    is_refused_unbound(
        kernel,
        "ui_listener and ui_local_listener are the same object",
    );
}

pub(crate) fn one_transport() {
    let mut kernel = bare();
    kernel
        .grant("ui_local_listener", binding(10, 2, LOCAL))
        .grant("ui_provider_health_listener", binding(11, 2, PROVIDER));
    is_refused_unbound(
        kernel,
        "ui_local_listener and ui_provider_health_listener are on the same transport",
    );
}

pub(crate) fn one_port() {
    let mut kernel = bare();
    kernel
        .grant("ui_listener", binding(10, 1, PUBLIC))
        .grant("ui_provider_health_listener", binding(11, 2, PUBLIC));
    is_refused_unbound(
        kernel,
        "ui_listener and ui_provider_health_listener are on the same port",
    );
}

pub(crate) fn a_wildcard() {
    let mut kernel = bare();
    kernel
        .grant("ui_listener", binding(10, 0xffff, PUBLIC))
        .grant("ui_provider_health_listener", binding(11, 2, PROVIDER));
    is_refused_unbound(
        kernel,
        "ui_listener and ui_provider_health_listener overlap: a binding covers every transport",
    );
}

pub(crate) fn without_a_discriminator() {
    let mut kernel = Kernel::new();
    kernel
        .grant("console", Object::Console)
        .grant("timer", Object::Timer)
        .grant("ui_listener", binding(10, 1, PUBLIC))
        .grant("ui_provider_health_listener", binding(11, 2, PUBLIC));
    kernel.then(|kernel| {
        kernel.request(PUBLIC, GET_HEALTH);
    });
    let (code, kernel) = kernel.run();
    assert_eq!(code, REFUSED);
    let last = kernel.lines().last().unwrap();
    assert_eq!(
        last,
        "[web-ui] refused: ui_listener and ui_provider_health_listener are on the same port"
    );
    assert!(!kernel.lines().iter().any(|line| line.contains("ready")));
    assert!(
        kernel
            .listeners
            .iter()
            .all(|listener| listener.accepted == 0)
    );
}

pub(crate) fn distinct_ports_serve() {
    let mut kernel = Kernel::new();
    kernel
        .grant("console", Object::Console)
        .grant("timer", Object::Timer)
        .grant("ui_listener", binding(10, 1, PUBLIC))
        .grant("ui_local_listener", binding(11, 0, LOCAL));
    kernel.then(|kernel| {
        kernel.request(PUBLIC, GET_HEALTH);
    });
    kernel.then(|kernel| {
        assert_eq!(kernel.connections[0].statuses(), [200]);
        assert!(
            !kernel.connections[0].text().contains("\r\nDate:"),
            "no clock, no date"
        );
        kernel.connections[0].client_closed = true;
    });
    drain(&mut kernel);
    ends_well(kernel);
}

pub(crate) fn a_name_twice() {
    let mut kernel = three_lanes();
    kernel.grant("ui_listener", binding(13, 3, 9_000));
    is_refused_unbound(kernel, "two grants are named ui_listener");
}

pub(crate) fn a_wrong_interface() {
    let mut kernel = bare();
    kernel.grant_as("ui_listener", binding(10, 1, PUBLIC), CONSOLE_INTERFACE_ID);
    is_refused_unbound(kernel, "grant ui_listener has the wrong interface");
}

pub(crate) fn an_unknown_marker() {
    let mut kernel = three_lanes();
    kernel.grant("ingress_public_speed=9", MARKER);
    let (code, kernel) = kernel.run();
    assert_eq!(code, REFUSED);
    assert_eq!(kernel.lines().len(), 1);
    assert!(kernel.lines()[0].starts_with("[web-ui] refused: marker ingress_public_speed=9 "));
    assert!(kernel.listeners.is_empty());
}

pub(crate) fn markers_set_the_policy() {
    let mut kernel = three_lanes();
    kernel
        .grant("ingress_provider_conns=33", MARKER)
        .grant("ingress_local_rate=exempt", MARKER);
    kernel.then(|kernel| {
        let policy = &kernel.lines()[0];
        assert!(policy.contains(" provider_conns=33 "), "{policy}");
        assert!(policy.contains(" local_rate=exempt "), "{policy}");
    });
    drain(&mut kernel);
    ends_well(kernel);
}

pub(crate) fn no_listener() {
    is_refused_unbound(bare(), "no lane has a listener");
}

pub(crate) fn a_false_console() {
    let mut kernel = Kernel::new();
    kernel
        .grant("console", Object::Timer)
        .grant("timer", Object::Timer);
    let (code, kernel) = kernel.run();
    assert_eq!(code, REFUSED);
    assert!(kernel.lines().is_empty());
}

pub(crate) fn no_clock_at_all() {
    let mut kernel = three_lanes();
    kernel.between.clock_lost = true;
    is_refused_unbound(kernel, "timer cannot be read: exception Failed");
}

pub(crate) fn a_rejected_ring() {
    let mut kernel = three_lanes();
    kernel.then(|kernel| kernel.reject = true);
    kernel.then(|kernel| {
        kernel.request(PUBLIC, GET_HEALTH);
    });
    let (code, _) = kernel.run();
    assert_eq!(code, FAULT);
}

pub(crate) fn a_forged_completion() {
    let mut kernel = three_lanes();
    kernel.then(|kernel| {
        kernel.between.forge = true;
        kernel.request(PUBLIC, GET_HEALTH);
    });
    let (code, kernel) = kernel.run();
    assert_eq!(code, FAULT);
    let last = kernel.lines().last().unwrap();
    assert_eq!(last, "[web-ui] fault: a completion answers no call");
}
