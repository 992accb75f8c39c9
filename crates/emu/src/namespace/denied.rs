//! Messages on steps that the system refused, with a remedy.

use std::fs;
use std::io;

use nix::libc::{EACCES, ENODEV, ENOENT, ENOSPC, ENXIO, EPERM};

use super::build::Step;
use crate::EmulateError;

/// The error of a step.
pub(super) fn explain(step: Step, error: io::Error) -> EmulateError {
    let code = error.raw_os_error().unwrap_or_default();
    let (name, advice) = match step {
        Step::Start => ("starting a process that makes a namespace", None),
        Step::User | Step::UserMap => {
            ("making a user namespace, as this user has no privileges", Some(allow_user_namespaces(code)))
        }
        Step::JoinUser => ("entering the user namespace", None),
        Step::JoinHost => ("entering the namespace of a host", None),
        Step::Network => ("making a network namespace", Some(more_privileges())),
        Step::Mount => ("making a mount namespace", Some(more_privileges())),
        Step::OpenDevice if matches!(code, ENOENT | ENODEV | ENXIO) => (
            "opening /dev/net/tun, the kernel's TUN driver",
            Some(
                "load it with `modprobe tun`; in a container, start that with `--device /dev/net/tun`"
                    .to_owned(),
            ),
        ),
        Step::OpenDevice if matches!(code, EACCES | EPERM) => (
            "opening /dev/net/tun, the kernel's TUN driver",
            Some("allow it with `chmod 666 /dev/net/tun`, or run as root".to_owned()),
        ),
        Step::OpenDevice => ("opening /dev/net/tun, the kernel's TUN driver", None),
        Step::CreateDevice => ("making a TUN device", Some(more_privileges())),
        Step::Configure => ("configuring a TUN device", None),
        Step::PassOn => ("passing on a namespace", None),
    };
    let step = name.to_owned();
    match advice {
        Some(advice) => EmulateError::Denied { step, error, advice },
        None => EmulateError::System { doing: name, error },
    }
}

fn more_privileges() -> String {
    "run as root, or as a user that may make user namespaces; in a container, start that with \
     `--cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun`"
        .to_owned()
}

/// The line that allows user namespaces on this system.
fn allow_user_namespaces(code: i32) -> String {
    let value = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default();
    let is = |name: &str, wanted: &str| value(name).trim() == wanted;
    let line = if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    } else if is("kernel/unprivileged_userns_clone", "0") {
        "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    } else if is("user/max_user_namespaces", "0") || code == ENOSPC {
        "sudo sysctl -w user.max_user_namespaces=10000"
    } else {
        return "run as root: the system does not allow user namespaces here".to_owned();
    };
    format!("allow it with `{line}`, or run as root")
}
